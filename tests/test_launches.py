"""What RAS reports accuse: silent and dead processes, ranks that stand apart or have left."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import COLLECTIVES, EVENTS, SchemaError
from detectors.launches import LaunchParams, find_launch_gaps, without_launches
from detectors.placing import ROLES
from detectors.verdicts import Verdict, verdicts_of

START = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)


def event(kind: str, position: int = 1, **more: Any) -> dict[str, Any]:
    """Return an event; what is no column is an attribute."""
    columns = {name: value for name, value in more.items() if name in EVENTS}
    labels = [
        {"key": name, "value": str(value)}
        for name, value in more.items()
        if name not in EVENTS and value is not None
    ]
    base = {"kind": kind, "source": "ras", "position": position, "message": kind}
    return {**base, "attributes": labels, **columns}


def count(position: int, ranks: int, enqueued: int, **more: Any) -> dict[str, Any]:
    """Return so many ranks that have launched up to an operation."""
    told = {"group": "aa", "operation": "AllReduce", "size": 4, **more}
    return event("ras_standing", position, ranks=ranks, enqueued=enqueued, **told)


def launched(position: int, rank: int, enqueued: int, **more: Any) -> dict[str, Any]:
    """Return a rank that a report lists."""
    return {
        "state": "launched",
        "source": "ras",
        "position": position,
        "group": "aa",
        "operation": "AllReduce",
        "group_rank": rank,
        "rank": rank,
        "enqueued": enqueued,
        **more,
    }


def missing(rank: int | None, host: str | None, **more: Any) -> dict[str, Any]:
    """Return a rank that a report misses."""
    return event("rank_missing", 5, rank=rank, host=host, size=8, **more)


def frame(rows: list[dict[str, Any]], schema: pl.Schema) -> pl.LazyFrame:
    """Return rows as a frame."""
    return pl.DataFrame(rows, schema=schema).lazy()


def find(
    collectives: list[dict[str, Any]],
    events: list[dict[str, Any]],
    roles: list[dict[str, Any]] | None = None,
) -> list[Verdict]:
    """Return the findings."""
    placed = frame(roles or [], ROLES)
    found = find_launch_gaps(
        frame(collectives, COLLECTIVES), frame(events, EVENTS), placed, LaunchParams()
    )
    return verdicts_of(found)


def told(verdicts: list[Verdict]) -> list[tuple[object, ...]]:
    """Return kind, level, host, rank, GPU, cause and confidence of each finding."""
    return [
        (
            one.kind,
            one.level,
            one.subject.host,
            one.subject.rank,
            one.subject.gpu,
            one.cause,
            one.confidence,
        )
        for one in verdicts
    ]


OWNER = event("oob_address", host="hx8-018", peer="10.77.3.18")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [missing(3, "10.77.3.18", device="6", pid=9), OWNER],
            [("hang", "rank", "hx8-018", 3, 6, "silent", "medium")],
            id="a silent rank on a host whose address is known",
        ),
        pytest.param(
            [missing(3, None)],
            [("hang", "rank", None, 3, None, "silent", "medium")],
            id="a silent rank on no known host",
        ),
        pytest.param(
            [missing(None, None, group_rank=3)],
            [("hang", "rank", None, None, None, "silent", "low")],
            id="a silent rank of a communicator, nothing more",
        ),
        pytest.param(
            [missing(None, "h1", group_rank=3)],
            [("hang", "host", "h1", None, None, "silent", "medium")],
            id="a host is named where the rank is not the job's",
        ),
        pytest.param(
            [event("process_dead", host="h1", pid=9, gpus="5")],
            [("crash", "gpu", "h1", None, 5, "process_dead", "medium")],
            id="a dead process of one GPU",
        ),
        pytest.param(
            [event("process_missing", host="h1", pid=9, gpus="5,6", time=START)],
            [("hang", "host", "h1", None, None, "silent", "medium")],
            id="a silent process of two GPUs",
        ),
        pytest.param(
            [missing(rank, "h1", pid=rank, code="considered_dead") for rank in (0, 1)],
            [("crash", "host", "h1", None, None, "process_dead", "medium")],
            id="several processes of a host are the host",
        ),
        pytest.param(
            [missing(rank, f"h{rank}", pid=rank) for rank in range(4)],
            [("unknown", "job", None, None, None, "silent", "low")],
            id="where half of the job is silent nobody is named",
        ),
        pytest.param([missing(3, "h1", code="invalid")], [], id="garbage is no evidence"),
        pytest.param(
            [
                event("ras_standing", 1, code="RUNNING", group="aa", size=8),
                event("ras_standing", 2, code="ABORT", group="aa", size=8, host="h1", group_rank=3),
            ],
            [("hang", "rank", "h1", None, None, "left", "medium")],
            id="a rank that has aborted while most run",
        ),
        pytest.param(
            [event("ras_standing", 2, code="ABORT", group="aa", size=8, host="h1", group_rank=3)],
            [],
            id="all that is known has aborted",
        ),
        pytest.param(
            [
                event("ras_error", 1, code="unhandled CUDA error", host="h1", rank=3),
                event("ras_error", 2, code="remote process error", host="h2", rank=4),
            ],
            [("crash", "rank", "h1", 3, None, "cuda", "medium")],
            id="a local error counts, a remote one follows",
        ),
    ],
)
def test_absences(events: list[dict[str, Any]], expected: list[tuple[object, ...]]) -> None:
    """Who does not answer is named as closely as the report allows."""
    assert told(find([], events)) == expected


def test_rank_of_a_gpu() -> None:
    """Where the job's placement is known, a silent GPU is its rank."""
    dead = event("process_dead", host="10.77.3.18", device="5", device_kind="gpu", gpus="5", pid=9)
    placed = [{"run": "r", "rank": 13, "host": "hx8-018", "index": 5}]

    (one,) = find([], [dead, OWNER], placed)

    assert (one.level, one.subject.run, one.subject.rank, one.subject.gpu) == ("rank", "r", 13, 5)


NO_ROWS: list[dict[str, Any]] = []

TABLE = event("ras_group", 0, code="RUNNING", index=0)


def report(at: int, most: int, one: int, *ranks: int) -> tuple[list[Any], list[Any]]:
    """Return a report in which these ranks have launched `one`, the others of 4 `most`."""
    listed = [launched(at + 2 + nth, rank, one) for nth, rank in enumerate(ranks)]
    return listed, [{**TABLE, "position": at}, count(at + 1, 4 - len(ranks), most)]


def both(*reports: tuple[list[Any], list[Any]]) -> tuple[list[Any], list[Any]]:
    """Return several reports as one."""
    return [row for one in reports for row in one[0]], [row for one in reports for row in one[1]]


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        pytest.param(
            both(report(10, 9, 8, 3), report(30, 9, 8, 3)),
            [("hang", "rank", None, 3, None, "behind", "high")],
            id="behind in both",
        ),
        pytest.param(
            both(report(10, 8, 9, 3), report(30, 8, 9, 3)),
            [("mismatch", "rank", None, 3, None, "ahead", "high")],
            id="ahead in both",
        ),
        pytest.param(both(report(10, 9, 8, 3), report(30, 12, 11, 3)), [], id="moving"),
        pytest.param(
            report(10, 9, 8, 3),
            [("unknown", "group", None, None, None, "launch_counts", "low")],
            id="one report, a small difference",
        ),
        pytest.param(
            report(10, 9, -1, 3),
            [("hang", "rank", None, 3, None, "behind", "medium")],
            id="one report, nothing launched at all",
        ),
        pytest.param(
            both(report(10, 9, 8, 2, 3), report(30, 9, 8, 2, 3)),
            [("unknown", "group", None, None, None, "launch_counts", "low")],
            id="as many here as there",
        ),
        pytest.param(
            both(report(10, 9, 5), report(30, 9, 5)),
            [],
            id="all at one number",
        ),
        pytest.param(
            (NO_ROWS, [TABLE, count(11, 3, 9, size=8), count(12, 1, 2, size=8)]),
            [("unknown", "group", None, None, None, "launch_counts", "low")],
            id="the few are not listed",
        ),
        pytest.param(
            both(report(10, 9, 8, 3), (NO_ROWS, [{**TABLE, "position": 40}])),
            [],
            id="gone in the report after",
        ),
        pytest.param(
            (
                [*report(10, 9, 2, 3)[0], launched(20, 3, 2, operation=None)],
                [*report(10, 9, 2, 3)[1], count(21, 3, 9, operation=None)],
            ),
            [("hang", "rank", None, 3, None, "behind", "medium")],
            id="behind in several operations is one finding",
        ),
        pytest.param(
            ([launched(11, rank, 9 - 4 * (rank == 3), host="h") for rank in range(4)], NO_ROWS),
            [("hang", "rank", "h", 3, None, "behind", "medium")],
            id="every rank listed, and no table",
        ),
        pytest.param(
            (
                [launched(11, rank, 9 - (rank == 3), host="h") for rank in range(4)],
                [event("ras_group", 11, size=4, group="aa")],
            ),
            [("unknown", "group", None, None, None, "launch_counts", "low")],
            id="a document with its communicator",
        ),
    ],
)
def test_counts(
    reports: tuple[list[dict[str, Any]], list[dict[str, Any]]], expected: list[tuple[object, ...]]
) -> None:
    """Only a difference that stays, or is large, accuses; who is many does not."""
    assert told(find(*reports)) == expected


def test_order_of_reports() -> None:
    """Reports of several files follow each other by their time."""
    first, second = report(10, 9, 8, 3), report(10, 9, 8, 3)
    later = [{**row, "source": "a", "time": START + timedelta(seconds=30)} for row in second[0]]
    counts = [{**row, "source": "a", "time": START + timedelta(seconds=30)} for row in second[1]]
    timed = (
        [{**row, "time": START} for row in first[0]],
        [{**row, "time": START} for row in first[1]],
    )

    found = find([*timed[0], *later], [*timed[1], *counts])

    assert told(found) == [("hang", "rank", None, 3, None, "behind", "high")]
    assert found[0].onset == START + timedelta(seconds=30)


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_row_order(random: Any) -> None:
    """The same rows in another order, or twice, give the same findings."""
    rows, events = both(report(10, 9, 8, 3), report(30, 9, 8, 3))
    events = [*events, missing(1, "h1", pid=4)]
    mixed_rows, mixed_events = [*rows, rows[0]], [*events, events[0]]
    random.shuffle(mixed_rows)
    random.shuffle(mixed_events)

    assert find(mixed_rows, mixed_events) == find(rows, events)


def test_without_launches() -> None:
    """What RAS counts is nobody's wait."""
    rows = [launched(1, 0, 9), {"state": "timed_out"}, {"state": None}, {"state": "missing"}]

    kept = without_launches(frame(rows, COLLECTIVES)).collect()

    assert kept["state"].to_list() == ["timed_out", None]


def test_other_frames() -> None:
    """A frame of another kind is refused."""
    with pytest.raises(SchemaError, match="columns do not fit"):
        find_launch_gaps(pl.LazyFrame(), frame([], EVENTS), frame([], ROLES), LaunchParams())
