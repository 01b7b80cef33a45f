"""Children that are bad together speak as their parent; times and verdict rows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from detectors.episodes import Episode
from detectors.promotion import PromotionParams, overlap, promote, rack_of
from detectors.timelines import Timeline, clock_timeline, step_timeline
from detectors.verdicts import (
    VERDICTS,
    Evidence,
    Level,
    Subject,
    Verdict,
    sort_verdicts,
    verdict_frame,
    verdict_json,
)

START = datetime(2026, 1, 5, tzinfo=UTC)
PARAMS = PromotionParams()


def slow(rank: int, host: str | None = "n1", slowdown: float = 1.2, since: int = 10) -> Verdict:
    """A verdict on one rank."""
    return Verdict(
        kind="slow",
        level="rank",
        subject=Subject(run="r", rank=rank, host=host),
        slowdown=slowdown,
        confidence="high",
        onset=START + timedelta(seconds=since),
        onset_step=since,
        q_value=0.01,
        cause="compute",
    )


def told(verdicts: list[Verdict]) -> list[tuple[str, int | None, float | None]]:
    """Level, rank and slowdown."""
    return [(one.level, one.subject.rank, one.slowdown) for one in verdicts]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param(
            [slow(at) for at in range(5)], [("host", None, 1.2)], id="five of eight are the host"
        ),
        pytest.param(
            [slow(at) for at in range(4)],
            [("rank", at, 1.2) for at in range(4)],
            id="half speak for themselves",
        ),
        pytest.param(
            [*[slow(at) for at in range(5)], slow(5, slowdown=2.0)],
            [("host", None, 1.2), ("rank", 5, 2.0)],
            id="one far beyond the others stays",
        ),
        pytest.param(
            [replace(slow(at), cleared_step=20) for at in range(4)] + [slow(4, since=50)],
            [("rank", at, 1.2) for at in range(5)],
            id="at different times is not together",
        ),
        pytest.param(
            [slow(at, host=None) for at in range(5)],
            [("rank", at, 1.2) for at in range(5)],
            id="without a host there is no parent",
        ),
    ],
)
def test_promote(
    verdicts: list[Verdict], expected: list[tuple[str, int | None, float | None]]
) -> None:
    """A host of eight is named when 60 % of its ranks are slow at once."""
    assert told(promote(verdicts, {"n1": 8}, "host", PARAMS)) == expected


def test_other_kinds() -> None:
    """A finding that is no slowness stays as it is."""
    stage = replace(slow(1), kind="imbalance")

    assert promote([stage], {"n1": 1}, "host", PARAMS) == [stage]


def test_mixed_causes() -> None:
    """Children with different causes are a parent without one."""
    family = [slow(0), slow(1), replace(slow(2), cause="data", q_value=None)]
    (parent,) = promote(family, {"n1": 3}, "host", PARAMS)

    assert (parent.cause, parent.q_value, parent.subject) == (
        None,
        0.01,
        Subject(run="r", host="n1"),
    )


@pytest.mark.parametrize(
    ("host", "rack"),
    [
        pytest.param("gpu-r3-n07", "r3", id="a short rack"),
        pytest.param("rack12-node4", "rack12", id="a long rack"),
        pytest.param("node07", None, id="no rack"),
        pytest.param("server3-n1", None, id="a letter is no rack"),
    ],
)
def test_rack_of(host: str, rack: str | None) -> None:
    """Racks are read from names that have them."""
    assert rack_of(host) == rack


def test_rack() -> None:
    """Hosts that are slow at once are their rack; ranks are not promoted past their host."""
    level: Level = "host"
    hosts = [
        replace(slow(0), level=level, subject=Subject(run="r", host=f"gpu-r3-n{at}"))
        for at in range(3)
    ]
    rank = slow(7, host="gpu-r3-n9")
    nameless = replace(hosts[0], subject=Subject(run="r", host="x"))
    lost = replace(hosts[0], subject=Subject(run="r"))

    found = promote([*hosts, rank, nameless, lost], {"r3": 4}, "rack", PARAMS)

    assert found[:3] == [rank, nameless, lost]
    assert [(one.level, one.subject) for one in found[3:]] == [
        ("rack", Subject(run="r", rack="r3"))
    ]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        pytest.param((0, 10), (5, None), True, id="the second begins before the first ends"),
        pytest.param((0, 10), (10, None), False, id="ends are not part of a stretch"),
        pytest.param((None, None), (99, 100), True, id="unknown bounds are open"),
    ],
)
def test_overlap(
    one: tuple[int | None, int | None],
    other: tuple[int | None, int | None],
    together: bool,
) -> None:
    """Findings overlap by time where they have no steps."""

    def at(seconds: int | None) -> datetime | None:
        return None if seconds is None else START + timedelta(seconds=seconds)

    spans = [
        replace(slow(0), onset_step=None, onset=at(start), cleared=at(stop))
        for start, stop in (one, other)
    ]

    assert overlap(spans[0], spans[1]) is together


EPISODE = Episode(
    start=1, stop=3, detected=2, effect=0.2, runs=1, bad_ticks=2, from_level=False, p_value=0.0
)


def test_step_timeline() -> None:
    """Steps end at the median of their ranks' ends; one wrong clock is outvoted."""
    rows = pl.DataFrame(
        {
            "step": [1, 1, 1, 2, 3],
            "end_time": pl.Series(
                [START, START, START + timedelta(hours=5), START + timedelta(seconds=9), None],
                dtype=VERDICTS["onset"],
            ),
        }
    )
    line = step_timeline(rows, np.array([1, 2, 3]))
    first = replace(EPISODE, start=0, detected=0)

    assert line.span(EPISODE) == {
        "onset": START,
        "onset_before_data": False,
        "detected": None,
        "cleared": None,
        "onset_step": 2,
        "cleared_step": None,
    }
    assert line.span(replace(first, stop=2)) == {
        "onset": None,
        "onset_before_data": True,
        "detected": START,
        "cleared": START + timedelta(seconds=9),
        "onset_step": None,
        "cleared_step": 3,
    }


def test_clock_timeline() -> None:
    """Ticks that are times begin where they begin and count no steps."""
    base = int(START.timestamp() * 1e6)
    line: Timeline = clock_timeline(np.array([base, base + 15_000_000]), 15_000_000)

    assert line.span(replace(EPISODE, stop=2, detected=1)) == {
        "onset": START + timedelta(seconds=15),
        "onset_before_data": False,
        "detected": START + timedelta(seconds=30),
        "cleared": None,
    }


def test_verdict_rows() -> None:
    """Verdicts are rows in reading order, and JSON with only what is known of the subject."""
    crash = replace(slow(3), kind="crash", evidence=(Evidence(source="log", what="x"),), onset=None)
    stage = replace(slow(2), kind="imbalance", cleared=START)

    assert sort_verdicts([stage, slow(1), crash]) == [crash, slow(1), stage]
    assert verdict_frame([stage, crash])["kind"].to_list() == ["crash", "imbalance"]
    assert verdict_frame([]).schema == VERDICTS
    told = verdict_json(replace(crash, onset=START))
    assert (told["subject"], told["onset"], told["cleared"]) == (
        {"run": "r", "host": "n1", "rank": 3},
        "2026-01-05T00:00:00Z",
        None,
    )
    assert told["evidence"] == [{"source": "log", "time": None, "what": "x"}]


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        pytest.param(Subject(rank=5, host="n1"), "rank 5 on n1", id="a rank on its host"),
        pytest.param(Subject(host="n1"), "n1", id="a host"),
        pytest.param(Subject(link="a:1 - b:2", host="n1"), "link a:1 - b:2", id="a link"),
        pytest.param(Subject(group="fabric"), "fabric", id="a group"),
        pytest.param(Subject(run="r"), "run r", id="a run"),
        pytest.param(Subject(), "unnamed", id="nobody"),
        pytest.param(Subject(device="disk3", host="h1"), "disk3 on h1", id="a device"),
        pytest.param(Subject(worker=4), "worker 4", id="a worker of a trace"),
        pytest.param(Subject(pp=3), "stage 3", id="a stage"),
    ],
)
def test_phrase(subject: Subject, words: str) -> None:
    """A subject is said in as few words as name it."""
    assert subject.phrase() == words
