"""The words of a page and a timeline, against golden files, and the bounds that they keep."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.blast_radii import BlastRadius
from alerts.firings import Firing
from alerts.incidents import Incident
from alerts.pages import MAX_CHARACTERS, MAX_LINES, page_text, timeline_text
from alerts.wording import amount_text, clock_text, count_text, percent_text, rate_text, span_text
from detectors.verdicts import Evidence, Subject, Verdict

UNTIMED = settings(deadline=None)  # a busy machine is no failure
ONSET = datetime(2026, 1, 5, 1, 15, tzinfo=UTC)


def after(minutes: float) -> datetime:
    """Return a time so many minutes after the onset."""
    return ONSET + timedelta(minutes=minutes)


GPU = Verdict(
    kind="slow",
    level="gpu",
    subject=Subject(run="W-TRAIN", host="hx8-004", gpu=5),
    confidence="high",
    onset=ONSET,
    slowdown=1.3131,
    cause="thermal",
    peer_count=255,
    evidence=(
        Evidence(source="gpu samples", what="SM clock 1.485 GHz where 255 peers have 1.95 GHz"),
        Evidence(source="gpu_temperature_celsius", what="temperature 87 C, peers 55 C"),
    ),
    action="drain the node after the next checkpoint; check fans, inlet and thermal paste",
)
HOST = replace(
    GPU, level="host", subject=Subject(run="W-TRAIN", host="hx8-004", pp=3), cause="compute"
)
WHOLE = Verdict(kind="group_slow", level="job", subject=Subject(run="W-TRAIN"), confidence="medium")
PAIR = Verdict(
    kind="unknown",
    level="group",
    subject=Subject(run="pair"),
    confidence="low",
    evidence=(
        Evidence(source="steps", what="rank 0 takes x1.2 of rank 1, and nobody else is there"),
    ),
    alternatives=("rank 0", "rank 1"),
    action="drain neither; collect the input named above",
)
FAST = Firing(
    objective="training-steps",
    title="Training steps keep their pace",
    promise="99 % over 30d",
    run="W-TRAIN",
    severity="page",
    long_seconds=3600,
    short_seconds=300,
    factor=14.4,
    active_at=after(9),
    fired_at=after(11),
    long_bad=31.2,
    long_total=206.1,
    short_bad=15.0,
    short_total=15.0,
    long_burn_rate=15.14,
    short_burn_rate=100.0,
    long_coverage_ratio=1.0,
    budget_left_ratio=0.8123,
    exhaustion_seconds=139_104.0,
    runbook_url="https://runbooks.example/slow",
    dashboard_url="https://grafana.example/d/aif-job",
)
SLOW = replace(
    FAST,
    severity="ticket",
    long_seconds=86400,
    short_seconds=7200,
    factor=3.0,
    fired_at=after(20),
    budget_left_ratio=None,
    exhaustion_seconds=None,
)
PAGE = Incident(
    id="c085e86fc3fff907",
    title="W-TRAIN runs slow: gpu 5 on hx8-004 (thermal)",
    run="W-TRAIN",
    severity="page",
    state="open",
    as_of=after(25),
    onset=ONSET,
    onset_before_data=False,
    detected=after(4),
    paged_at=after(11),
    cleared=None,
    ttd_seconds=240.0,
    ttp_seconds=660.0,
    ttr_seconds=None,
    suspects=(GPU, HOST),
    context=(WHOLE,),
    burns=(FAST, SLOW),
    blast_radius=BlastRadius(jobs=("W-TRAIN",), ranks=256, hosts=32, gpu_hours_lost=16.66),
    needed=None,
)
RESOLVED = replace(
    PAGE,
    state="resolved",
    as_of=after(300),
    cleared=after(120),
    ttr_seconds=7200.0,
    burns=(replace(FAST, resolved_at=after(124)), replace(SLOW, resolved_at=after(200))),
)
UNKNOWN = replace(
    PAGE,
    title="W-TRAIN runs slow, suspect unknown",
    suspects=(),
    context=(WHOLE,),
    burns=(
        replace(
            FAST,
            long_bad=2.0,
            long_total=9.0,
            short_bad=None,
            short_total=None,
            long_coverage_ratio=0.07,
            budget_left_ratio=-0.5,
            budget_coverage_ratio=0.0016,
            exhaustion_seconds=0.0,
            runbook_url=None,
            dashboard_url=None,
        ),
    ),
    blast_radius=BlastRadius(jobs=()),
    needed="step records of each rank",
)
TICKET = replace(
    PAGE,
    title="pair shows something undecided, suspect unknown",
    severity="ticket",
    as_of=None,
    onset=None,
    onset_before_data=True,
    detected=None,
    paged_at=None,
    ttd_seconds=None,
    ttp_seconds=None,
    suspects=(),
    context=(PAIR,),
    burns=(),
    blast_radius=BlastRadius(
        jobs=("pair",), ranks=2, hosts=1, victims=tuple(f"rank {n}" for n in range(8))
    ),
    needed="a third peer",
)
HANG = replace(
    PAGE,
    blast_radius=replace(PAGE.blast_radius, victims=("rank 8", "rank 10")),
    title="W-TRAIN hangs: gpu 5 on hx8-004",
    suspects=(replace(GPU, kind="hang", cause=None, slowdown=None, peer_count=None),),
    context=(),
    burns=(),
)
CASES = [
    pytest.param("page", PAGE, id="a page with a suspect"),
    pytest.param("resolved", RESOLVED, id="a page that is over"),
    pytest.param("still-firing", replace(RESOLVED, burns=(FAST,)), id="over, and still firing"),
    pytest.param("unknown", UNKNOWN, id="a page without a suspect, on few events"),
    pytest.param("ticket", TICKET, id="a ticket without a clock"),
    pytest.param("hang", HANG, id="a run that stopped"),
    pytest.param(
        "ticket-burn",
        replace(PAGE, severity="ticket", burns=(SLOW,), paged_at=None, ttp_seconds=None),
        id="a slow burn",
    ),
    pytest.param(
        "no-clock",
        replace(RESOLVED, onset=None, cleared=None, ttr_seconds=None, burns=()),
        id="over, without a clock",
    ),
]


@pytest.mark.parametrize(("name", "incident"), CASES)
def test_page(name: str, incident: Incident, golden: Callable[[str, str], None]) -> None:
    """A page says what is hurt, counts, radius, suspect, next step and end, in this order."""
    golden(f"pages/{name}.page.txt", page_text(incident))


@pytest.mark.parametrize(("name", "incident"), CASES)
def test_timeline(name: str, incident: Incident, golden: Callable[[str, str], None]) -> None:
    """A timeline tells UTC moments and their distance from the onset."""
    golden(f"pages/{name}.timeline.txt", timeline_text(incident))


def test_order_of_the_page() -> None:
    """The parts of a page come in the order in which someone woken needs them."""
    heads = ("Hurt", "Blast radius", "Suspect", "Next", "Resolves")
    found = [
        line.split(":")[0] for line in page_text(PAGE).splitlines() if line.split(":")[0] in heads
    ]

    assert tuple(found) == heads


@UNTIMED
@given(st.integers(0, 12), st.integers(0, 12), st.text(max_size=400))
def test_a_page_stays_short(suspects: int, evidence: int, text: str) -> None:
    """Whatever the data say, a page keeps its lines and their length."""
    seen = Evidence(source=text, what=text)
    long = replace(GPU, evidence=(seen,) * evidence, cause=text, action=text)
    lines = page_text(replace(PAGE, title=text, suspects=(long,) * suspects)).split("\n")

    assert len(lines) - 1 <= MAX_LINES
    assert max(map(len, lines)) <= MAX_CHARACTERS
    assert lines[-1] == ""


@pytest.mark.parametrize(
    ("words", "value", "expected"),
    [
        pytest.param(span_text, 59.4, "59s", id="seconds"),
        pytest.param(span_text, 59.6, "1m 0s", id="seconds that round to a minute"),
        pytest.param(span_text, 206, "3m 26s", id="minutes"),
        pytest.param(span_text, 3599.7, "1h 0m", id="minutes that round to an hour"),
        pytest.param(span_text, 86_399, "1d 0h", id="hours that round to a day"),
        pytest.param(span_text, 183_600, "2d 3h", id="days"),
        pytest.param(span_text, None, "not known", id="no span"),
        pytest.param(percent_text, 0.0712, "7.1 %", id="a small share"),
        pytest.param(percent_text, -1.286, "-129 %", id="an overspent budget"),
        pytest.param(percent_text, None, "not known", id="no share"),
        pytest.param(rate_text, 14.4, "14.4x", id="a rate"),
        pytest.param(rate_text, None, "not known", id="no rate"),
        pytest.param(count_text, 30.6, "31", id="a count with an extrapolated part"),
        pytest.param(count_text, None, "?", id="no count"),
        pytest.param(amount_text, 3.94, "3.9", id="a small amount"),
        pytest.param(amount_text, 1234.5, "1,234", id="a large amount"),
        pytest.param(amount_text, None, "not known", id="no amount"),
        pytest.param(clock_text, ONSET, "2026-01-05 01:15:00 UTC", id="a time"),
        pytest.param(clock_text, None, "not known", id="no time"),
    ],
)
def test_words(words: Callable[[Any], str], value: object, expected: str) -> None:
    """Numbers are rounded for people, and what is not known says so."""
    assert words(value) == expected
