"""Findings of two kinds of sources on the same rank are one."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from collectors.frames import EVENTS
from detectors.corroboration import corroborated
from detectors.verdicts import Evidence, Kind, Level, Subject, Verdict


def finding(
    kind: Kind = "hang", cause: str | None = None, level: Level = "rank", **subject: Any
) -> Verdict:
    """Return a finding."""
    return Verdict(
        kind=kind,
        level=level,
        subject=Subject(**subject),
        confidence="medium",
        cause=cause,
        evidence=(Evidence(source=cause or "count", what="seen"),),
        needed="more",
    )


def event(kind: str, **more: Any) -> dict[str, Any]:
    """Return an event; what is no column is an attribute."""
    columns = {name: value for name, value in more.items() if name in EVENTS}
    labels = [{"key": name, "value": value} for name, value in more.items() if name not in EVENTS]
    return {"kind": kind, "source": "ras", "position": 1, "attributes": labels, **columns}


def join(verdicts: list[Verdict], events: list[dict[str, Any]] | None = None) -> list[Verdict]:
    """Return the findings joined."""
    return corroborated(verdicts, pl.DataFrame(events or [], schema=EVENTS).lazy())


def test_same_rank() -> None:
    """The rank that does not answer and has no dump: one finding, sure, with its host."""
    counted = finding(run="r", rank=0)
    silent = finding(cause="silent", rank=0, host="h1", gpu=3)

    (one,) = join([silent, counted])

    assert one.subject == Subject(run="r", rank=0, host="h1", gpu=3)
    assert (one.kind, one.cause, one.confidence, one.needed) == ("hang", "silent", "high", None)
    assert [seen.source for seen in one.evidence] == ["count", "silent"]


def test_dead_rank() -> None:
    """A process that is taken for dead is a crash, whatever waits for it."""
    (one,) = join([finding("crash", "process_dead", rank=0), finding(rank=0)])

    assert (one.kind, one.cause) == ("crash", "process_dead")


def test_whole_host() -> None:
    """The ranks that RAS misses on a silent host are the host's."""
    rows = [event("rank_missing", host="h1", rank=rank) for rank in (0, 1)]
    host = finding(cause="silent", level="host", host="h1")

    joined = join([host, finding(run="r", rank=0), finding(run="r", rank=1)], rows)

    assert [(one.level, one.subject) for one in joined] == [
        ("host", Subject(run="r", host="h1")),
    ]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(finding(rank=1), id="another rank"),
        pytest.param(finding(run="b", rank=0), id="another run"),
        pytest.param(finding("slow", rank=0), id="another kind"),
        pytest.param(finding(level="job"), id="nobody in particular"),
        pytest.param(finding(cause="behind", rank=0), id="another word of the same source"),
    ],
)
def test_different(other: Verdict) -> None:
    """Findings on others stay as they are."""
    silent = finding(cause="silent", run="a", rank=0)

    assert join([silent, other]) == [silent, other]


def test_silent_host_without_ranks() -> None:
    """A silent host whose ranks nobody names joins nothing."""
    host = finding(cause="silent", level="host")

    assert join([host, finding(rank=0)]) == [host, finding(rank=0)]


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        ([event("ras_group", code="RUNNING", errors="OK")], 1),
        ([event("ras_group", code="RUNNING", size="4", missing="0")], 1),
        ([event("ras_group", code="RUNNING", errors="MISMATCH")], 0),
        ([event("ras_group", code="ABORT", errors="OK")], 0),
        ([event("ras_group", code="RUNNING", size="4", missing="1")], 0),
        ([event("ras_group", code="RUNNING", errors="OK", invalid="size")], 0),
        ([], 0),
    ],
    ids=["even", "even document", "odd", "aborted", "one missing", "garbage", "no report"],
)
def test_even_reports(rows: list[dict[str, Any]], more: int) -> None:
    """That all have launched stands beside a hang that names nobody, and beside nothing else."""
    job, rank = finding(level="job", run="r"), finding(rank=0)

    joined = join([job, rank], rows)

    assert [len(one.evidence) for one in joined] == [1 + more, 1]


def test_failed_test() -> None:
    """A test that only says that it failed adds nothing beside what failed."""
    failed = finding("crash", "benchmark_failed", level="job")
    fault = finding("link_fault", "link_down", level="nic")

    assert join([failed]) == [failed]
    assert join([failed, fault]) == [fault]


def test_only_ones() -> None:
    """The only process that is dead and the only rank that does not come are one."""
    dead = finding("crash", "process_dead", level="gpu", host="h1", gpu=3)

    (one,) = join([dead, finding(run="r", rank=0)])

    assert (one.kind, one.level, one.confidence) == ("crash", "rank", "high")
    assert one.subject == Subject(run="r", rank=0, host="h1", gpu=3)


@pytest.mark.parametrize(
    "others",
    [
        [finding(rank=0), finding(rank=1)],
        [finding(rank=0, host="h2")],
        [finding(level="host", host=None)],
        [],
    ],
    ids=["two ranks", "a rank elsewhere", "no rank", "nobody"],
)
def test_not_the_only_ones(others: list[Verdict]) -> None:
    """Where it could be another, nothing is joined."""
    dead = finding("crash", "process_dead", level="gpu", host="h1", gpu=3)

    assert join([dead, *others]) == [dead, *others]


@pytest.mark.parametrize(
    ("listed", "host"),
    [("rank 21 on h1", "h1"), ("rank 21", None)],
    ids=["with its host", "without"],
)
def test_doubtful_count(listed: str, host: str | None) -> None:
    """A count that alone decides nothing supports who is accused already."""
    doubt = replace(finding("unknown", "launch_counts", level="group"), alternatives=(listed,))
    other = replace(doubt, alternatives=("rank 2 on h1",))

    joined = join([finding(rank=21), doubt, other])

    assert [(one.kind, one.subject.host, len(one.evidence)) for one in joined] == [
        ("hang", host, 2),
        ("unknown", None, 1),
    ]
