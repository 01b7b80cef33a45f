"""Tests of `paceline postmortem`: figures that the frames give, blanks for the rest."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import polars as pl
import pytest
from typer.testing import CliRunner

from alerts.blast_radii import RunFacts
from alerts.faults import JoinParams
from alerts.incidents import join_incidents
from collectors.frames import EVENTS, REJECTS
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from detectors.verdicts import Evidence, Subject, Verdict
from paceline.analysis import Analysis, AnalysisParams, analyze
from paceline.burning import BurnReplay
from paceline.main import app
from paceline.reports.postmortem_text import postmortem_markdown
from paceline.reports.postmortems import Postmortem, postmortem_of
from paceline.simulation.orion import OrionParams, simulate
from paceline.sources import find_files, read_sources
from slo.training import STEP_EVENTS

ONSET = datetime(2026, 1, 5, 1, tzinfo=UTC)
SMALL = OrionParams(nodes=4, minutes=45, onset_minutes=20, fault_minutes=12)


def silent(_part: str, _done: int, _count: int) -> None:
    """Say nothing of the progress."""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of a small cluster with a throttled GPU."""
    folder = tmp_path_factory.mktemp("cluster")
    simulate("throttled-gpu", folder, seed=3, params=SMALL)
    return folder / "sources"


@pytest.fixture(scope="module")
def analysis(sources: Path) -> Analysis:
    """What they say."""
    reading = read_sources(find_files([sources]), ReadOptions(), silent)
    return analyze(reading, AnalysisParams(), silent)


def of_findings(verdicts: list[Verdict], reading: Reading | None = None) -> Postmortem:
    """The postmortem of findings, without any step."""
    now = ONSET + timedelta(hours=1)
    incidents = join_incidents(verdicts, [], RunFacts.unknown(), JoinParams(), now=now)
    analysis = Analysis(
        reading=reading or Reading(),
        verdicts=verdicts,
        replay=BurnReplay(
            events=STEP_EVENTS.to_frame(), series=pl.DataFrame(), burns={}, firings=[]
        ),
        incidents=incidents,
        as_of=now,
    )
    return postmortem_of(analysis, incidents[0])


SLOW = Verdict(
    kind="slow",
    level="gpu",
    subject=Subject(run="r", host="n1", gpu=3),
    confidence="high",
    onset=ONSET,
    detected=ONSET + timedelta(minutes=4),
    slowdown=1.3,
)


def test_figures(analysis: Analysis) -> None:
    """Steps, their slowness and the GPU-hours are those that the frames give."""
    incident = analysis.incidents[0]
    found = postmortem_of(analysis, incident).steps
    rows = [
        row
        for row in analysis.replay.events.iter_rows(named=True)
        if row["reason"] is None and incident.onset < row["end_time"] <= incident.cleared
    ]
    ranks = len({row for row in analysis.reading.steps["rank"].to_list() if row is not None})
    excess = sum(row["step_seconds"] - row["baseline_seconds"] for row in rows)

    assert found is not None
    assert (found.judged, found.slow) == (len(rows), sum(row["slow"] for row in rows))
    assert found.median_seconds == median(row["step_seconds"] for row in rows)
    assert found.baseline_seconds == median(row["baseline_seconds"] for row in rows)
    assert incident.blast_radius.gpu_hours_lost == pytest.approx(excess * ranks / 3600)


def test_timeline(analysis: Analysis) -> None:
    """Each moment is one of a finding, of a firing or of a grave event, in the order of time."""
    incident = analysis.incidents[0]
    moments = postmortem_of(analysis, incident).moments
    told = {
        time
        for one in (*incident.suspects, *incident.context)
        for time in (one.onset, one.detected, one.cleared)
        if time
    }

    assert [one.time for one in moments] == sorted(one.time for one in moments)
    assert {one.time for one in moments} == told


def test_document(golden: Callable[[str, str], None], analysis: Analysis) -> None:
    """The document has the field's form, in Markdown."""
    found = postmortem_of(analysis, analysis.incidents[0])

    golden("postmortem.md", postmortem_markdown(found))


def test_nobody_is_named() -> None:
    """Without a culprit the document says so, and what would decide."""
    needed = "step records of each rank"
    unknown = Verdict(
        kind="unknown",
        level="job",
        subject=Subject(run="r"),
        confidence="low",
        needed=needed,
        evidence=(Evidence(source="steps", what="all ranks wait"),),
    )
    found = of_findings([unknown])
    text = postmortem_markdown(found)

    assert found.steps is None
    assert found.unknown[:2] == (
        f"The culprit. It would be decided by: {needed}.",
        "When it began: no source with a clock says so.",
    )
    assert "Not known: the data names nobody." in text
    assert "- run r: unknown; all ranks wait" in text


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        pytest.param(
            replace(SLOW, onset_before_data=True),
            "it was so already when the data began",
            id="began before",
        ),
        pytest.param(SLOW, "it still lasts at the end of the data", id="still lasts"),
        pytest.param(SLOW, "What it cost in GPU-hours", id="no cost is told"),
    ],
)
def test_not_known(verdict: Verdict, sentence: str) -> None:
    """What the data does not say is said."""
    assert any(sentence in one for one in of_findings([verdict]).unknown)


def test_changes_and_grave_events() -> None:
    """A change before the onset may be the trigger; grave events are told once a kind, escaped."""
    minute = timedelta(minutes=1)
    rows = [
        *((ONSET - 9 * minute, "n1", "restart", "svc", "info", "driver | restarted"),),
        *((ONSET + at * minute, "n1", "xid", "79", "critical", "<b>lost</b>") for at in (1, 2)),
        *((ONSET + minute, "n2", "xid", "48", "critical", "another host"),),
        *((ONSET - 60 * minute, "n1", "restart", "old", "info", "long before"),),
    ]
    names = ["time", "host", "kind", "code", "severity", "message"]
    events = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        source=pl.lit("kern.log"), position=pl.Series([7, 8, 9, 1, 2], dtype=pl.Int64)
    )
    missing = [name for name in EVENTS if name not in events.columns]
    whole = events.with_columns(pl.lit(None, EVENTS[name]).alias(name) for name in missing)
    found = of_findings([SLOW], Reading(events=whole.select(EVENTS.names()).cast(EVENTS)))
    text = postmortem_markdown(found)

    assert [one.what for one in found.changes] == ["restart svc on n1: driver | restarted"]
    assert [(one.what, one.source) for one in found.moments if "xid" in one.what] == [
        ("xid 79 on n1 (2 times): <b>lost</b>", "kern.log:8")
    ]
    assert r"restart svc on n1: driver \| restarted" in text
    assert r"\<b\>lost\</b\>" in text


def test_rejected_lines() -> None:
    """Lines that nobody understood are counted."""
    row = {"source": "a.log", "position": 3, "text": "?", "reason": "unrecognised line", "count": 5}
    found = of_findings([SLOW], Reading(rejects=pl.DataFrame([row], schema=REJECTS)))

    assert found.unknown[-1] == "What 5 rejected lines say: unrecognised line, e.g. a.log:3 ?."


def asked(*arguments: str) -> tuple[int, str]:
    """The exit of the command, and all that it printed."""
    result = CliRunner().invoke(app, ["postmortem", *arguments])
    return result.exit_code, result.output


def test_command(sources: Path, tmp_path: Path, analysis: Analysis) -> None:
    """The document is printed, or written with a page that holds its plots and no script."""
    name = analysis.incidents[0].id
    code, printed = asked(name[:6], str(sources), "--out", str(tmp_path / "out"))
    page = (tmp_path / "out" / "postmortem.html").read_text(encoding="utf-8")
    text = (tmp_path / "out" / "postmortem.md").read_text(encoding="utf-8")

    assert (code, "Wrote" in printed) == (0, True)
    assert text.startswith(f"# Postmortem: {analysis.incidents[0].title}")
    assert (page.count("<svg") > 0, "<script" in page) == (True, False)


def test_refusals(sources: Path, tmp_path: Path) -> None:
    """No such incident, and nothing to read, end in one line that says the way out."""
    (tmp_path / "empty.log").write_text("nothing\n", encoding="utf-8")
    wrong, none = asked("zzz", str(sources)), asked("gravest", str(tmp_path))

    assert (wrong[0], "no incident 'zzz'; known: " in wrong[1]) == (1, True)
    assert (none[0], "no incident there" in none[1]) == (1, True)
