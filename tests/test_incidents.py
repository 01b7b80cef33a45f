"""One incident a fault: what joins, what stays apart, what pages, and the clock from the onset."""

import itertools
import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.blast_radii import BlastRadius, RunFacts
from alerts.faults import JoinParams
from alerts.firings import Firing, firings_of
from alerts.incidents import Incident, incident_json, join_incidents
from collectors.frames import SchemaError, conform
from detectors.verdicts import Evidence, Kind, Level, Subject, Verdict
from slo.alert_states import BURN_ALERTS
from slo.burns import BURNS
from slo.losses import RUN_SIZES
from slo.specs import load_ready
from slo.training import STEP_EVENTS

UNTIMED = settings(deadline=None)  # a busy machine is no failure
START = datetime(2026, 1, 5, tzinfo=UTC)
RUN = "W-TRAIN"
GPU = Subject(run=RUN, host="hx8-004", gpu=5)


def at(minutes: float) -> datetime:
    """Return a time so many minutes after the start."""
    return START + timedelta(minutes=minutes)


NOW = at(120)


def finding(
    kind: Kind,
    onset: float | None,
    cleared: float | None,
    *,
    subject: Subject = GPU,
    level: Level = "gpu",
    **rest: Any,
) -> Verdict:
    """Return a finding that was made four minutes after its onset."""
    fields: dict[str, Any] = {
        "onset": None if onset is None else at(onset),
        "detected": None if onset is None else at(onset + 4),
        "cleared": None if cleared is None else at(cleared),
        "confidence": "high",
    }
    return Verdict(kind=kind, level=level, subject=subject, **(fields | rest))


def burn(active: float, resolved: float | None, *, run: str | None = RUN, **rest: Any) -> Firing:
    """Return a firing of the 1h/5m page two minutes after its condition held."""
    fields: dict[str, Any] = {
        "objective": "training-steps",
        "title": "Training steps keep their pace",
        "promise": "99 % over 30d",
        "severity": "page",
        "long_seconds": 3600,
        "short_seconds": 300,
        "factor": 14.4,
        "fired_at": at(active + 2),
    }
    end = None if resolved is None else at(resolved)
    return Firing(run=run, active_at=at(active), resolved_at=end, **(fields | rest))


def join(
    verdicts: list[Verdict],
    firings: list[Firing] | None = None,
    **rest: Any,
) -> list[Incident]:
    """Return the incidents of findings and firings."""
    facts = rest.get("facts", RunFacts.unknown())
    params, now = rest.get("params", JoinParams()), rest.get("now", NOW)
    return join_incidents(verdicts, firings or [], facts, params, now=now)


THERMAL = finding("slow", 35, 60, cause="thermal", slowdown=1.31)
HOST = finding(
    "slow", 36, 61, subject=Subject(run=RUN, host="hx8-004"), level="host", slowdown=1.33
)
WHOLE = finding("group_slow", 37, 61, subject=Subject(run=RUN), level="job", slowdown=1.18)
ELSEWHERE = finding("slow", 37, 58, subject=Subject(run=RUN, host="hx8-009", gpu=1))
LATER = finding("slow", 52, 90, subject=Subject(run=RUN, host="hx8-009", gpu=1))
OTHER_RUN = finding("slow", 35, 60, subject=Subject(run="B", host="hx8-020", gpu=1))
UNEVEN = finding("imbalance", 35, 60, subject=Subject(run=RUN, pp=3), level="group")
LEMON = finding("lemon", None, None, subject=Subject(host="hx8-004"), level="host")
UNKNOWN = finding(
    "unknown",
    36,
    60,
    subject=Subject(run=RUN),
    level="group",
    confidence="low",
    alternatives=("rank 0", "rank 1"),
    needed="a third peer",
)
CABLE = finding(
    "link_fault", 34, None, subject=Subject(link="hx8-004:nic3 - leaf-3:p7"), level="link"
)
CONGESTED = finding("congestion", 36, 61, subject=Subject(run=RUN, switch="leaf-3"), level="link")
GROWING = finding("degrading", 5, 61, subject=Subject(run=RUN, host="hx8-009", gpu=1), slowdown=1.1)
CHRONIC = finding("slow", None, None, onset_before_data=True, detected=at(4))


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param([], [], id="nothing found is no incident"),
        pytest.param([THERMAL, HOST], [([THERMAL, HOST], [])], id="a gpu and its host are one"),
        pytest.param([THERMAL, WHOLE], [([THERMAL], [WHOLE])], id="a suspect explains the job"),
        pytest.param(
            [THERMAL, replace(WHOLE, kind="slow", cause="gpu 5")],
            [([THERMAL], [replace(WHOLE, kind="slow", cause="gpu 5")])],
            id="a part explains a job whose cause is known",
        ),
        pytest.param([WHOLE], [([], [WHOLE])], id="a slow job alone accuses nobody"),
        pytest.param(
            [THERMAL, ELSEWHERE], [([THERMAL, ELSEWHERE], [])], id="what began together is one"
        ),
        pytest.param(
            [THERMAL, LATER], [([THERMAL], []), ([LATER], [])], id="a later fault elsewhere is two"
        ),
        pytest.param(
            [THERMAL, OTHER_RUN], [([THERMAL], []), ([OTHER_RUN], [])], id="two runs are two"
        ),
        pytest.param(
            [THERMAL, UNEVEN], [([THERMAL], []), ([UNEVEN], [])], id="imbalance stands alone"
        ),
        pytest.param([THERMAL, LEMON], [([LEMON], []), ([THERMAL], [])], id="a lemon stands alone"),
        pytest.param([UNKNOWN], [([], [UNKNOWN])], id="unknown accuses nobody"),
        pytest.param([UNKNOWN, HOST], [([HOST], [UNKNOWN])], id="a suspect explains the unknown"),
        pytest.param(
            [CABLE, CONGESTED, WHOLE],
            [([CABLE], [WHOLE, CONGESTED])],
            id="a cable explains congestion",
        ),
        pytest.param(
            [CONGESTED, WHOLE], [([CONGESTED], [WHOLE])], id="congestion explains a slow job"
        ),
        pytest.param(
            [GROWING, WHOLE],
            [([GROWING], [WHOLE])],
            id="a slow decline is felt long after it began",
        ),
        pytest.param(
            [CHRONIC, WHOLE],
            [([CHRONIC], []), ([], [WHOLE])],
            id="what was slow all along explains no change",
        ),
        pytest.param(
            [replace(THERMAL, cleared=at(36)), WHOLE],
            [([replace(THERMAL, cleared=at(36))], []), ([], [WHOLE])],
            id="what ended before explains nothing",
        ),
        pytest.param(
            [
                replace(THERMAL, subject=replace(GPU, attempt=0)),
                replace(HOST, subject=replace(HOST.subject, attempt=1)),
            ],
            [
                ([replace(THERMAL, subject=replace(GPU, attempt=0))], []),
                ([replace(HOST, subject=replace(HOST.subject, attempt=1))], []),
            ],
            id="two attempts are two",
        ),
    ],
)
def test_what_is_one_fault(
    verdicts: list[Verdict], expected: list[tuple[list[Verdict], list[Verdict]]]
) -> None:
    """Findings of one run join when they overlap and share a place or began together."""
    found = [(list(one.suspects), list(one.context)) for one in join(verdicts, facts=FACTS)]

    assert found == expected


@pytest.mark.parametrize(
    ("verdicts", "firings", "expected"),
    [
        pytest.param([THERMAL], [], [("ticket", None, 0)], id="no burn is a ticket"),
        pytest.param([THERMAL], [burn(36, 65)], [("page", at(38), 1)], id="a page-tier burn pages"),
        pytest.param(
            [THERMAL],
            [burn(36, None, severity="ticket")],
            [("ticket", None, 1)],
            id="a ticket-tier burn does not",
        ),
        pytest.param(
            [THERMAL],
            [burn(37, None, long_seconds=21600), burn(36, 65)],
            [("page", at(38), 2)],
            id="two pairs of one fault are one page",
        ),
        pytest.param([], [burn(36, 65)], [("page", at(38), 1)], id="a burn alone pages"),
        pytest.param(
            [],
            [burn(36, 65), burn(40, 80), burn(100, 110)],
            [("page", at(38), 2), ("page", at(102), 1)],
            id="burns alone join while they overlap",
        ),
        pytest.param([UNKNOWN], [], [("ticket", None, 0)], id="unknown never pages by itself"),
        pytest.param([UNEVEN], [], [("ticket", None, 0)], id="imbalance never pages"),
        pytest.param(
            [UNEVEN],
            [burn(36, 65)],
            [("page", at(38), 1), ("ticket", None, 0)],
            id="imbalance explains no burn",
        ),
        pytest.param(
            [finding("hang", 30, None, level="rank")],
            [],
            [("page", at(34), 0)],
            id="a run that stops pages without a burn",
        ),
        pytest.param(
            [finding("crash", None, None, level="job")],
            [],
            [("page", None, 0)],
            id="a crash without a clock still is a page",
        ),
        pytest.param(
            [THERMAL, LATER],
            [burn(36, 64), burn(70, None)],
            [("page", at(38), 1), ("page", at(72), 1)],
            id="each burn goes to the last fault before it",
        ),
        pytest.param(
            [LATER], [burn(51, 80)], [("page", at(53), 1)], id="a burn may lead its fault's onset"
        ),
        pytest.param(
            [THERMAL],
            [burn(61.5, None)],
            [("page", at(63.5), 1)],
            id="an alert may come a little late",
        ),
        pytest.param(
            [THERMAL],
            [burn(80, 90)],
            [("page", at(82), 1), ("ticket", None, 0)],
            id="an alert long after the fault is another one",
        ),
        pytest.param(
            [THERMAL],
            [burn(36, 65, run="B")],
            [("page", at(38), 1), ("ticket", None, 0)],
            id="another run's burn is another one",
        ),
    ],
)
def test_severity(
    verdicts: list[Verdict],
    firings: list[Firing],
    expected: list[tuple[str, datetime | None, int]],
) -> None:
    """Only a page-tier burn, or a run that stops, wakes someone."""
    found = [(one.severity, one.paged_at, len(one.burns)) for one in join(verdicts, firings)]

    assert found == expected


def test_clock() -> None:
    """Times to detect, page and resolve count from the first onset."""
    (incident,) = join([THERMAL, WHOLE], [burn(36, 65)])

    assert (incident.onset, incident.detected, incident.paged_at, incident.cleared) == (
        at(35),
        at(38),
        at(38),
        at(61),
    )
    assert (incident.ttd_seconds, incident.ttp_seconds, incident.ttr_seconds) == (180, 180, 1560)
    assert incident.state == "resolved"


def test_open_incident() -> None:
    """While one finding lasts the incident is open and has no time to resolve."""
    (incident,) = join([THERMAL, replace(WHOLE, cleared=None)])

    assert (incident.state, incident.cleared, incident.ttr_seconds) == ("open", None, None)


def test_burn_alone() -> None:
    """A burn without a finding counts from its condition, and says what would decide."""
    (incident,) = join([], [burn(36, 65)])

    assert (incident.onset, incident.cleared, incident.suspects) == (at(36), at(65), ())
    assert incident.title == "W-TRAIN burns its error budget, suspect unknown"
    assert incident.needed is not None
    assert incident.needed.startswith("step records of each rank")


def test_open_burn_alone() -> None:
    """A burn that still fires is an open incident."""
    (incident,) = join([], [burn(36, None)])

    assert (incident.state, incident.cleared) == ("open", None)


def test_undecided_says_what_it_needs() -> None:
    """An unknown finding's own words say what would decide."""
    (incident,) = join([UNKNOWN])

    assert (incident.needed, incident.title) == (
        "a third peer",
        "W-TRAIN shows something undecided, suspect unknown",
    )


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        pytest.param(THERMAL, "W-TRAIN runs slow: gpu 5 on hx8-004 (thermal)", id="a part"),
        pytest.param(HOST, "W-TRAIN runs slow: host hx8-004", id="a host"),
        pytest.param(WHOLE, "W-TRAIN runs slow, suspect unknown", id="a job that nothing explains"),
        pytest.param(
            replace(WHOLE, kind="slow", cause="fabric"),
            "W-TRAIN runs slow as a whole (fabric)",
            id="a job with a cause",
        ),
        pytest.param(LEMON, "Cluster runs on a repeat offender: host hx8-004", id="no run"),
    ],
)
def test_title(verdict: Verdict, expected: str) -> None:
    """A title says what is hurt, how and where, and holds no measurement."""
    (incident,) = join([verdict])

    assert incident.title == expected


def test_no_clock() -> None:
    """Findings that count steps alone have no times, and clear by their step."""
    traced = finding(
        "slow", None, None, onset_step=10, cleared_step=20, subject=Subject(run=RUN, rank=5)
    )
    (incident,) = join([traced], facts=FACTS, now=None)

    assert (incident.state, incident.onset, incident.cleared, incident.ttd_seconds) == (
        "resolved",
        None,
        None,
        None,
    )


def test_same_rank_is_one_place() -> None:
    """Two findings on one rank are one fault, even where no host is known."""
    first = finding("slow", 10, 60, subject=Subject(run=RUN, rank=5), level="rank")
    second = finding("flapping", 40, 60, subject=Subject(run=RUN, rank=5), level="rank")

    assert len(join([first, second])) == 1


def test_surest_and_smallest_suspect_first() -> None:
    """A sure small domain comes before a sure large one, and that before a doubtful small one."""
    doubtful = replace(THERMAL, confidence="medium", subject=replace(GPU, gpu=6))
    (incident,) = join([HOST, doubtful, THERMAL])

    assert incident.suspects == (THERMAL, HOST, doubtful)


SIZES = pl.DataFrame(
    {
        "run": ["B", RUN],
        "ranks": [8, 64],
        "hosts": [["hx8-020"], ["hx8-004", "hx8-009"]],
        "host_count": [1, 8],
        "gpus": [None, None],
    },
    schema=RUN_SIZES,
)
STEPS = conform(
    pl.LazyFrame(
        {
            "run": RUN,
            "step": [1, 2, 3],
            "interval_steps": [1, 1, 1],
            "end_time": [at(36), at(37), at(99)],
            "step_seconds": [28.125, 28.125, 28.125],
            "baseline_seconds": [0.0, 0.0, 0.0],
        }
    ),
    STEP_EVENTS,
).collect()
FACTS = RunFacts(sizes=SIZES, events=STEPS)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param(
            [replace(THERMAL, victims=("rank 10", "rank 9"))],
            BlastRadius(
                jobs=(RUN,), ranks=64, hosts=8, gpu_hours_lost=1.0, victims=("rank 9", "rank 10")
            ),
            id="the whole run waits, until the fault ends",
        ),
        pytest.param(
            [replace(THERMAL, cleared=None)],
            BlastRadius(jobs=(RUN,), ranks=64, hosts=8, gpu_hours_lost=1.5),
            id="the loss of an open fault grows to the end of the data",
        ),
        pytest.param(
            [finding("hang", 60, None)],
            BlastRadius(jobs=(RUN,), ranks=64, hosts=8, gpu_hours_lost=64 * (28.125 + 1260) / 3600),
            id="a stopped run loses all its time since the last step",
        ),
        pytest.param(
            [CABLE],
            BlastRadius(jobs=(RUN,), ranks=64, hosts=8, gpu_hours_lost=1.5),
            id="a cable hurts the run on its host",
        ),
        pytest.param(
            [replace(CABLE, subject=Subject(link="leaf-1:p1 - spine-1:p1"))],
            BlastRadius(jobs=()),
            id="a cable between switches hurts nobody by name",
        ),
        pytest.param(
            [OTHER_RUN], BlastRadius(jobs=("B",), ranks=8, hosts=1), id="no judged steps, no loss"
        ),
        pytest.param(
            [replace(THERMAL, subject=Subject(run="C"))],
            BlastRadius(jobs=("C",)),
            id="a run of unknown size",
        ),
        pytest.param(
            [CHRONIC], BlastRadius(jobs=(RUN,), ranks=64, hosts=8), id="no onset, no loss"
        ),
    ],
)
def test_blast_radius(verdicts: list[Verdict], expected: BlastRadius) -> None:
    """All ranks of a lockstep run are hurt; what is not known is null."""
    (incident,) = join(verdicts, facts=FACTS)

    assert incident.blast_radius == expected


def test_host_of_two_runs() -> None:
    """A fault on a host that two runs share hurts both, and their sizes add up."""
    shared = SIZES.with_columns(hosts=pl.lit(["hx8-004"]))
    fault = replace(THERMAL, subject=Subject(host="hx8-004"))
    (incident,) = join([fault], facts=RunFacts(sizes=shared, events=STEPS))

    assert (incident.run, incident.blast_radius) == (
        None,
        BlastRadius(jobs=("B", RUN), ranks=72, hosts=9),
    )


def test_only_run_there_is() -> None:
    """With one run in the data, findings and burns that name none are about it."""
    only = RunFacts(sizes=SIZES.tail(1), events=STEPS)
    fabric = replace(CABLE, subject=Subject(link="leaf-1:p1 - spine-1:p1"))
    (incident,) = join([fabric], [burn(36, None, run=None)], facts=only)

    assert (incident.run, len(incident.burns)) == (RUN, 1)


def test_burn_of_no_run() -> None:
    """A burn over all runs joins a fault that names no run."""
    (incident,) = join([replace(THERMAL, subject=Subject(host="x"))], [burn(36, 65, run=None)])

    assert (incident.run, len(incident.burns)) == (None, 1)


ALL = [THERMAL, HOST, WHOLE, LATER, OTHER_RUN, UNEVEN, LEMON, UNKNOWN, CABLE, CONGESTED]
BURNS_HELD = [burn(36, 64), burn(37, None, long_seconds=21600), burn(70, 75, run="B")]


@UNTIMED
@given(st.integers(0, 2**32))
def test_order_does_not_matter(seed: int) -> None:
    """The same findings and firings in any order are the same incidents."""
    shuffle = random.Random(seed)
    verdicts, firings = shuffle.sample(ALL, len(ALL)), shuffle.sample(BURNS_HELD, 3)

    assert join(verdicts, firings, facts=FACTS) == join(ALL, BURNS_HELD, facts=FACTS)


@UNTIMED
@given(st.sets(st.sampled_from(range(len(ALL)))), st.sets(st.sampled_from(range(3))))
def test_nothing_is_lost_or_told_twice(findings: set[int], fired: set[int]) -> None:
    """Each finding and each firing is in exactly one incident, and ids differ."""
    verdicts = [ALL[index] for index in sorted(findings)]
    firings = [BURNS_HELD[index] for index in sorted(fired)]
    incidents = join(verdicts, firings, facts=FACTS)

    told = list(itertools.chain.from_iterable((*one.suspects, *one.context) for one in incidents))
    assert sorted(map(repr, told)) == sorted(map(repr, verdicts))
    assert sum(len(one.burns) for one in incidents) == len(firings)
    assert len({one.id for one in incidents}) == len(incidents)


def test_id_is_stable() -> None:
    """The id depends on run, onset, kind and subject, not on what was measured or when it ended."""
    (first,) = join([THERMAL], [burn(36, 65)])
    (second,) = join([replace(THERMAL, slowdown=1.5, cleared=None)])
    (third,) = join([replace(THERMAL, onset=at(34))])

    assert first.id == second.id != third.id
    assert len(first.id) == 16


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param({"max_onset_gap_seconds": -1.0}, "0 s or longer", id="a gap into the past"),
        pytest.param({"max_alert_lag_seconds": -1.0}, "0 s or longer", id="a lag into the past"),
        pytest.param({"paging_kinds": frozenset({"unknown"})}, "'unknown'", id="paging unknown"),
    ],
)
def test_refused_parameters(wrong: dict[str, Any], message: str) -> None:
    """Parameters that cannot be meant are refused when they are built."""
    with pytest.raises(ValueError, match=message):
        JoinParams(**wrong)


def test_json() -> None:
    """An incident's JSON has times as RFC 3339, findings in full, and null for not known."""
    seen = replace(THERMAL, evidence=(Evidence(source="dcgm", time=at(35), what="clock low"),))
    (incident,) = join([seen], [burn(36, 65)])
    told = json.loads(json.dumps(incident_json(incident)))

    assert list(told) == [item for item in Incident.__slots__ if not item.startswith("__")]
    assert (told["onset"], told["ttd_seconds"], told["blast_radius"]["ranks"]) == (
        "2026-01-05T00:35:00Z",
        180.0,
        None,
    )
    assert told["suspects"][0]["evidence"][0]["time"] == "2026-01-05T00:35:00Z"
    assert told["burns"][0]["fired_at"] == "2026-01-05T00:38:00Z"


OBJECTIVE = load_ready()
LABELS = {"cluster": "orion", "run": RUN, "severity": "page"}
PAIR = {"long_seconds": 3600, "short_seconds": 300}


def labelled(rows: list[dict[str, Any]], schema: pl.Schema) -> pl.DataFrame:
    """Return rows as a schema with the objective's group labels before it."""
    whole = {"cluster": pl.String(), "run": pl.String(), **schema}
    return pl.DataFrame(rows, schema=whole)


def test_firings_carry_their_counts() -> None:
    """A firing knows its objective, and the counts of both windows at the time it fired."""
    alert = LABELS | PAIR | {"active_at": at(36), "fired_at": at(38), "resolved_at": None}
    counts: dict[str, Any] = {
        "long_bad": 9.0,
        "long_total": 60.0,
        "short_bad": 5.0,
        "short_total": 9.0,
    }
    rates: dict[str, Any] = {
        "long_burn_rate": 15.0,
        "short_burn_rate": 55.6,
        "budget_left_ratio": -0.5,
    }
    rows = [LABELS | PAIR | {"time": at(minute)} | counts | rates for minute in (37, 38)]
    rows[0] |= {"long_bad": 1.0}
    (found,) = firings_of(labelled([alert], BURN_ALERTS), labelled(rows, BURNS), OBJECTIVE)

    assert found == replace(burn(36, None), **counts, **rates)
    assert (found.pair, Decimal(str(found.factor))) == ("1h/5m", OBJECTIVE.windows[0].factor)


def test_firing_without_its_burn() -> None:
    """Counts that nobody kept are null."""
    alert = LABELS | PAIR | {"active_at": at(36), "fired_at": at(38), "resolved_at": at(65)}
    (found,) = firings_of(labelled([alert], BURN_ALERTS), labelled([], BURNS), OBJECTIVE)

    assert found == burn(36, 65)


def test_firings_of_another_frame_are_refused() -> None:
    """A frame that is no burn frame is refused at the door."""
    with pytest.raises(SchemaError, match="fires: wanted Boolean"):
        firings_of(labelled([], BURN_ALERTS), labelled([], BURN_ALERTS), OBJECTIVE)


@pytest.mark.parametrize(
    ("cause", "severity"),
    [
        pytest.param("operator", "ticket", id="a run that somebody stopped wakes nobody"),
        pytest.param("scheduler", "ticket", id="a run that the scheduler stopped wakes nobody"),
        pytest.param("oom", "page", id="a run that died by itself does"),
    ],
)
def test_planned_stops(cause: str, severity: str) -> None:
    """A crash pages unless somebody chose it."""
    crash = Verdict(
        kind="crash", level="job", subject=Subject(run="r"), cause=cause, confidence="high"
    )
    found = join_incidents([crash], [], RunFacts.unknown(), JoinParams(), now=None)

    assert [one.severity for one in found] == [severity]
