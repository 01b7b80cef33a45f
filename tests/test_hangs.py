"""Whom a standing job waits for, from frames."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import COLLECTIVES, EVENTS, STEPS, SchemaError
from detectors.hangs import HangParams, find_hangs
from detectors.placing import ROLES
from detectors.verdicts import VERDICTS, Verdict, verdicts_of

START = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)
PAIRS = "PIPELINE_MODEL_PARALLEL_GROUP"


def wait(
    rank: int | None, sequence: int, operation: str = "ALLREDUCE", **more: Any
) -> dict[str, Any]:
    """A rank that timed out in a collective of the default group."""
    row = {"rank": rank, "group": "0", "sequence": sequence, "operation": operation}
    standing = {"state": "timed_out", "enqueued": sequence, "completed": sequence - 1}
    return row | standing | {"time": START, "source": "job.log", "position": rank} | more


def rest(rank: int, last: int, **more: Any) -> dict[str, Any]:
    """A rank that has finished all it entered."""
    row = {"rank": rank, "group": "0", "state": "reported", "enqueued": last, "completed": last}
    return row | {"source": "job.log", "position": rank} | more


def pair(rank: int, operation: str, ranks: list[int], **more: Any) -> dict[str, Any]:
    """A rank that waits in a send or a receive of a pipeline."""
    row = {"rank": rank, "group": f"p{ranks}", "group_name": PAIRS, "operation": operation}
    return row | {"group_ranks": ranks, "state": "scheduled", "time": START} | more


def places(*hosts: str) -> pl.DataFrame:
    """Ranks from 0 on, each on the host given."""
    rows = [{"rank": rank, "host": host, "index": rank % 2} for rank, host in enumerate(hosts)]
    return pl.DataFrame(rows, schema=ROLES)


def frame(rows: list[dict[str, Any]], schema: pl.Schema) -> pl.DataFrame:
    """Rows as a frame of a schema."""
    return pl.DataFrame(rows, schema=schema)


def judge(
    collectives: list[dict[str, Any]],
    events: list[dict[str, Any]] | None = None,
    steps: list[dict[str, Any]] | None = None,
    roles: pl.DataFrame | None = None,
    params: HangParams | None = None,
) -> list[Verdict]:
    """The verdicts on some rows."""
    return verdicts_of(
        find_hangs(
            frame(steps or [], STEPS).lazy(),
            frame(collectives, COLLECTIVES).lazy(),
            frame(events or [], EVENTS).lazy(),
            (ROLES.to_frame() if roles is None else roles).lazy(),
            params or HangParams(),
        )
    )


def told(verdicts: list[Verdict]) -> list[tuple[str, str, int | None, str]]:
    """Kind, level, rank and confidence of verdicts."""
    return [(v.kind, v.level, v.subject.rank, v.confidence) for v in verdicts]


@pytest.mark.parametrize(
    ("collectives", "expected"),
    [
        pytest.param([], [], id="nothing said is nothing found"),
        pytest.param([rest(rank, 9) for rank in range(4)], [], id="all at rest is no hang"),
        pytest.param(
            [*(wait(rank, 5) for rank in range(7)), rest(7, 4)],
            [("hang", "rank", 7, "high")],
            id="the one that has not come is the suspect",
        ),
        pytest.param(
            [wait(0, 5), *(rest(rank, 4) for rank in range(1, 8))],
            [("mismatch", "rank", 0, "high")],
            id="one that calls what all others, idle, never called is the odd one",
        ),
        pytest.param(
            [wait(0, 5), *(rest(rank, 4) for rank in range(1, 8)), wait(9, 4, group="9")],
            [("mismatch", "rank", 0, "medium")],
            id="with a rank of which nothing is known the odd one is less sure",
        ),
        pytest.param(
            [wait(0, 5), wait(1, 5), wait(2, 5, "BROADCAST"), wait(3, 5, "BROADCAST")],
            [("hang", "job", None, "low")],
            id="two against two accuse nobody",
        ),
        pytest.param(
            [wait(0, 5), wait(1, 5, "BROADCAST")],
            [("hang", "job", None, "low")],
            id="one against one accuses nobody",
        ),
        pytest.param(
            [
                *(
                    wait(rank, 5, "_ALLGATHER_BASE", input_count=8, output_count=24)
                    for rank in (0, 1)
                ),
                wait(2, 5, "_ALLGATHER_BASE", input_count=4, output_count=24),
            ],
            [("hang", "job", None, "low")],
            id="uneven parts of one whole are no mismatch",
        ),
        pytest.param(
            [wait(0, 5, input_count=8), wait(1, 5, input_count=8), wait(2, 5, input_count=4)],
            [("mismatch", "rank", 2, "high")],
            id="another size at the same reduction is a mismatch",
        ),
        pytest.param(
            [wait(0, 5, "ALLTOALL", input_count=8), wait(1, 5, "ALLTOALL", input_count=9)] * 2,
            [("hang", "job", None, "low")],
            id="an exchange of uneven sizes is no mismatch, nor are doubled lines",
        ),
        pytest.param(
            [wait(0, 5), wait(1, 5), wait(2, 5), wait(2, 5, "BROADCAST")],
            [("hang", "job", None, "low")],
            id="a rank that ran two things at one number has no vote",
        ),
        pytest.param(
            [rest(0, 6), *(wait(rank, 5, "BROADCAST") for rank in range(1, 4))],
            [("hang", "job", None, "low")],
            id="the root of a broadcast may be ahead",
        ),
        pytest.param(
            [wait(0, 5, enqueued=9), *(wait(rank, 7, enqueued=9) for rank in range(1, 4))],
            [("hang", "rank", 0, "medium")],
            id="who has not come through a reduction that others finished is stuck",
        ),
        pytest.param(
            [*(wait(rank, 5) for rank in range(3)), *(rest(rank, 4) for rank in range(3, 6))],
            [("hang", "job", None, "low")],
            id="half of all late is too many to name",
        ),
        pytest.param(
            [wait(0, 5, group_ranks=[0, 1, 2]), wait(2, 5)],
            [("hang", "rank", 1, "high")],
            id="a configured member that nobody heard is the suspect",
        ),
        pytest.param(
            [
                *(wait(rank, 5) for rank in range(4)),
                rest(4, 4),
                rest(5, 4),
                wait(5, 3, group="tp", group_name="TENSOR", group_ranks=[4, 5]),
                rest(4, 2, group="tp"),
            ],
            [("hang", "rank", 4, "high")],
            id="who is late because it waits elsewhere is excused",
        ),
        pytest.param(
            [
                wait(0, 5, group_ranks=[0, 1, 2, 3]),
                wait(3, 5),
                rest(1, 4),
                rest(2, 4),
                pair(1, "recv 0<-1", [1, 2]),
            ],
            [("hang", "rank", 2, "high")],
            id="who is late because it receives from another laggard is excused",
        ),
        pytest.param(
            [
                wait(0, 5, group="tp", group_name="TENSOR", group_ranks=[0, 1]),
                rest(1, 4, group="tp"),
                pair(1, "recv 0<-1", [1, 2]),
                wait(3, 7, group="tp2", group_name="TENSOR", group_ranks=[2, 3]),
                rest(2, 6, group="tp2"),
                *(rest(rank, 9) for rank in range(8)),
            ],
            [("hang", "rank", 1, "high"), ("hang", "rank", 2, "high")],
            id="in lockstep a wait in a pair excuses nobody",
        ),
        pytest.param(
            [wait(None, 5, group_rank=rank) for rank in (0, 1)] + [wait(None, 4, group_rank=3)],
            [("hang", "rank", 3, "medium")],
            id="places in the only group are global ranks",
        ),
        pytest.param(
            [
                wait(10, 5, group="7", group_rank=0),
                wait(20, 5, group="7", group_rank=0),
                wait(11, 4, group="7", group_rank=1),
            ],
            [("hang", "job", None, "low")],
            id="one number for several groups compares nobody",
        ),
    ],
)
def test_who_is_waited_for(
    collectives: list[dict[str, Any]], expected: list[tuple[str, str, int | None, str]]
) -> None:
    """The kind, the level, the rank and how sure that is."""
    assert told(judge(collectives)) == expected


TENSORS = [
    wait(rank, 70, group="tp", group_name="TENSOR", group_rank=rank) for rank in range(4)
] + [wait(rank, 5, group="dp", group_ranks=[0, 4]) for rank in (4,)]


@pytest.mark.parametrize(
    ("rows", "roles", "needed", "alternatives"),
    [
        pytest.param(
            [wait(rank, 5) for rank in range(8)],
            None,
            "network errors, power draw and flight recorder dumps of every host",
            (),
            id="all are in step",
        ),
        pytest.param(
            TENSORS,
            None,
            "network errors, power draw and flight recorder dumps of the hosts of ranks 0 to 3",
            ("ranks 0 to 3, all in TENSOR (tp)",),
            id="all of a group are in step, for which others wait",
        ),
        pytest.param(
            [wait(0, 5, group_ranks=list(range(8))), wait(1, 5)],
            places(*"aaaabbbb"),
            "logs or flight recorder dumps of ranks 2 to 7 on a, b",
            (),
            id="too few were heard",
        ),
        pytest.param(
            [wait(10, 5, group="7", group_rank=0), wait(20, 5, group="7", group_rank=0)],
            None,
            "logs or flight recorder dumps of the ranks that were not heard",
            (),
            id="nobody says who else is in the group",
        ),
        pytest.param(
            [*(wait(rank, 5) for rank in range(3)), *(rest(rank, 4) for rank in range(3, 6))],
            None,
            "stack traces of both sides of collective 5 ALLREDUCE of 0",
            ("ranks 3 to 5: have not come", "ranks 0 to 2: call what the others do not"),
            id="half of all have not come",
        ),
        pytest.param(
            [wait(rank, 5) for rank in (*range(8), *range(12, 16))],
            places(*"aaaabbbb"),
            "logs or flight recorder dumps of ranks 8 to 11",
            (),
            id="nothing was read of as many ranks as a host has",
        ),
    ],
)
def test_what_would_decide(
    rows: list[dict[str, Any]],
    roles: pl.DataFrame | None,
    needed: str,
    alternatives: tuple[str, ...],
) -> None:
    """A hang that names nobody says which input would, and who it may be."""
    (found,) = judge(rows, roles=roles)
    assert (found.level, found.needed, found.alternatives) == ("job", needed, alternatives)


def test_a_silent_host_that_is_known_is_named() -> None:
    """A host of which nothing but its name is known is told, and what is not known of it."""
    rows = [wait(rank, 5) for rank in range(6)]
    (found,) = judge(rows, roles=places(*"aabbccdd"))
    assert (found.level, found.subject.host, found.confidence) == ("host", "d", "medium")
    assert found.needed == "a flight recorder dump or the stack trace of rank 6"


def test_one_of_several_parts_that_names_nobody_adds_nothing() -> None:
    """A group that stands by itself is told, unless another part of the run names somebody."""
    rows = [wait(rank, 5, group="a", group_ranks=[0, 1, 2, 3]) for rank in range(3)]
    rows += [wait(rank, 9, group="b", group_ranks=[4, 5]) for rank in (4, 5)]
    assert told(judge(rows)) == [("hang", "rank", 3, "high")]
    assert told(judge(rows[3:])) == [("hang", "job", None, "low")]


def test_each_part_names_its_own() -> None:
    """Groups that share no rank hang for themselves."""
    rows = [wait(rank, 5, group="a", group_ranks=[0, 1, 2, 3]) for rank in range(3)]
    rows += [wait(rank, 9, group="b", group_ranks=[4, 5, 6, 7]) for rank in (4, 6, 7)]
    assert told(judge(rows)) == [("hang", "rank", 3, "high"), ("hang", "rank", 5, "high")]


def test_each_attempt_names_its_own() -> None:
    """What one attempt left in the log is compared with nothing of the next."""
    later = START + timedelta(hours=1)
    rows = [wait(rank, 90, running_seconds=600.0) for rank in range(16) if rank != 11]
    rows += [wait(rank, 30, running_seconds=600.0, time=later) for rank in range(7)]
    restart = {"kind": "restart", "time": START + timedelta(minutes=1)}
    found = judge(rows, [restart], roles=places(*"aabbccdd"))
    assert told(found) == [("hang", "rank", 11, "high"), ("hang", "rank", 7, "high")]


def test_pairs_of_a_pipeline_are_not_counted() -> None:
    """A watchdog counts sends and receives for its own rank: who is at which compares nobody."""
    name = "PIPELINE_MODEL_PARALLEL_GROUP"
    rows = [
        wait(rank, 40 - rank, call, group="5", group_name=name, group_ranks=[0, 1, 2, 3])
        for rank, call in ((0, "SEND"), (2, "COALESCED"), (3, "RECV"))
    ]
    rows.append(rest(2, 90, group="5", group_name=name))
    assert told(judge(rows)) == [("hang", "rank", 1, "high")]
    in_step = [*rows, wait(1, 2, "RECV", group="5", group_name=name)]
    assert told(judge(in_step)) == [("hang", "job", None, "low")]


def test_who_comes_when_all_have_given_up_is_named() -> None:
    """By the numbers all are in step, but one entered when the others had timed out."""
    rows = [wait(rank, 5, running_seconds=600.0, timeout_seconds=600.0) for rank in range(4)]
    rows[3]["time"] = START + timedelta(seconds=660)
    (found,) = judge(rows)
    assert (found.subject.rank, found.cause, found.confidence) == (3, "late", "medium")


def test_all_ranks_of_a_host_are_their_host() -> None:
    """When exactly the ranks of one host have not come, the host is named."""
    rows = [*(wait(rank, 5) for rank in range(6)), rest(6, 4), rest(7, 4)]
    roles = places("a", "a", "b", "b", "c", "c", "d", "d")
    (verdict,) = judge(rows, roles=roles)
    assert (verdict.level, verdict.subject.host, verdict.subject.rank) == ("host", "d", None)
    assert verdict.evidence[-1].what == "all 2 ranks of d have not come: 6 to 7"


def test_a_culprit_is_placed_and_dated() -> None:
    """Host and GPU come from the roles, onset and step from the last step that ended."""
    rows = [*(wait(rank, 5) for rank in range(3)), rest(3, 4)]
    steps = [{"step": 41, "end_time": START, "step_seconds": 2.0}]
    (verdict,) = judge(rows, steps=steps, roles=places("a", "a", "b", "b"))
    assert (verdict.subject.host, verdict.subject.gpu) == ("b", 1)
    assert (verdict.onset, verdict.onset_step, verdict.detected) == (START, 42, START)
    assert verdict.victims == ("rank 0", "rank 1", "rank 2")
    assert verdict.evidence[0].source == "job.log:3"


def test_without_a_clock_of_steps_the_wait_dates_the_hang() -> None:
    """Steps without times give the number of the step, not the time."""
    rows = [*(wait(rank, 5, running_seconds=600.0) for rank in range(3)), rest(3, 4)]
    (verdict,) = judge(rows, steps=[{"step": 41}])
    assert (verdict.onset, verdict.onset_step) == (START - timedelta(seconds=600), 42)


@pytest.mark.parametrize(
    ("events", "collectives", "expected"),
    [
        pytest.param(
            [{"kind": "gil_blocked", "rank": 2}],
            [wait(rank, 5) for rank in range(4)],
            (2, "gil"),
            id="all in step: the rank that cannot take its lock",
        ),
        pytest.param(
            [],
            [
                *(wait(rank, 5, running_seconds=600.0, timeout_seconds=600.0) for rank in range(3)),
                wait(3, 5, running_seconds=1900.0, timeout_seconds=600.0),
            ],
            (3, "frozen"),
            id="all in step: the rank whose watchdog was itself frozen",
        ),
        pytest.param(
            [{"kind": "gil_blocked", "rank": 3}],
            [*(wait(rank, 5) for rank in range(3)), rest(3, 4)],
            (3, "gil"),
            id="a laggard that cannot take its lock has a cause",
        ),
        pytest.param(
            [{"kind": "heartbeat_stuck", "rank": 3}],
            [*(wait(rank, 5) for rank in range(3)), rest(3, 4)],
            (3, None),
            id="a stuck heartbeat is told and is no cause",
        ),
    ],
)
def test_leads(
    events: list[dict[str, Any]], collectives: list[dict[str, Any]], expected: tuple[int, str]
) -> None:
    """What a process says of itself names it, or says why it did not come."""
    (verdict,) = judge(collectives, events)
    assert (verdict.subject.rank, verdict.cause) == expected


def test_where_a_laggard_stands_is_quoted() -> None:
    """What a rank that has not come says of itself is told behind what the others say."""
    events = [
        {"kind": "stack", "rank": 3, "time": START, "message": "#0 load_batch from data.py:7"},
        {"kind": "gil_blocked", "rank": 3, "time": START + timedelta(seconds=1), "message": "GIL"},
        {"kind": "stack", "rank": 0, "time": START, "message": "#0 all_reduce from model.py:9"},
    ]
    (found,) = judge([*(wait(rank, 5) for rank in range(3)), rest(3, 4)], events)
    assert found.cause == "gil"
    assert [one.what for one in found.evidence[-2:]] == ["#0 load_batch from data.py:7", "GIL"]


@pytest.mark.parametrize(
    ("codes", "barrier", "expected"),
    [
        pytest.param(
            ["timeout"] * 3 + ["peer_closed"], None, 3, id="who comes late lost its peers"
        ),
        pytest.param(["timeout", *["peer_closed"] * 2, None], None, 3, id="who says nothing"),
        pytest.param([None, None, "connect", None], None, None, id="no time-out is no hang"),
        pytest.param([None] * 4, "1", 1, id="whom a barrier names"),
        pytest.param(["timeout", "timeout", "timeout", "timeout"], None, None, id="all wait"),
    ],
)
def test_complaints_alone(
    codes: list[str | None], barrier: str | None, expected: int | None
) -> None:
    """Communication errors without sequence numbers tell who was not there."""
    events = [
        {"kind": "comm_error", "rank": rank, "code": code}
        for rank, code in enumerate(codes)
        if code
    ]
    if barrier:
        events.append({"kind": "comm_error", "rank": 0, "code": "barrier", "peer": barrier})
    found = judge([], events, roles=places("a", "a", "b", "b"))
    assert [v.subject.rank for v in found][:1] == ([expected] if found else [])


def test_a_communicator_that_is_not_made_names_who_did_not_start() -> None:
    """Starts without completions, of all but one member, accuse that one."""
    start = {"group": "0x1", "operation": "init", "state": "started", "group_ranks": [0, 1, 2, 3]}
    rows = [start | {"group_rank": rank, "host": f"h{rank}"} for rank in (0, 1, 3)]
    assert told(judge(rows)) == [("hang", "rank", 2, "high")]


def test_ranks_that_count_inside_a_group_are_named_by_it() -> None:
    """Of two communicators of one size, a member is a place in its group, no global rank."""
    base = {"operation": "init", "group_ranks": [0, 1, 2, 3]}
    done = [base | {"group": "0x1", "group_rank": at, "state": "completed"} for at in range(4)]
    open_ = [base | {"group": "0x2", "group_rank": at, "state": "started"} for at in range(3)]
    (verdict,) = judge([*done, *open_])
    assert (verdict.level, verdict.subject.group, verdict.subject.rank) == ("group", "0x2", None)
    assert verdict.alternatives == ("its rank 3",)


def test_a_communicator_of_a_run_that_trains_is_no_hang() -> None:
    """A log that ends between a start and its completion is no hang while steps are made."""
    start = {"group": "0x1", "operation": "init", "state": "started", "group_ranks": [0, 1]}
    assert judge([start | {"group_rank": 0}], steps=[{"step": 1}]) == []


def step_rows(count: int, seconds: float) -> list[dict[str, Any]]:
    """Steps of equal length from the start on."""
    return [
        {
            "step": at,
            "end_time": START + timedelta(seconds=seconds * at),
            "step_seconds": seconds,
        }
        for at in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("events", "minutes", "seconds", "expected"),
    [
        pytest.param([], 30, 12.0, 600.0, id="no step for ten minutes"),
        pytest.param([], 8, 12.0, None, id="too short a silence"),
        pytest.param([], 30, 120.0, 1200.0, id="ten usual steps where steps are long"),
        pytest.param([], None, 12.0, None, id="the end of the data is not known"),
        pytest.param([{"kind": "run_end"}], 30, 12.0, None, id="an end that was announced"),
        pytest.param(
            [{"kind": "evaluation", "time": START + timedelta(minutes=12)}],
            30,
            12.0,
            600.0 + 600.0,
            id="an evaluation after the last step",
        ),
        pytest.param(
            [{"kind": "oom", "time": START + timedelta(minutes=3)}],
            30,
            12.0,
            None,
            id="a process that died explains the silence",
        ),
        pytest.param(
            [{"kind": "process_exit", "code": "-9", "time": START + timedelta(minutes=29)}],
            30,
            12.0,
            600.0,
            id="a kill after the silence does not",
        ),
    ],
)
def test_silent_jobs(
    events: list[dict[str, Any]], minutes: int | None, seconds: float, expected: float | None
) -> None:
    """A job that reports no step while others still talk hangs, whatever its heartbeats say."""
    steps = step_rows(10, seconds)
    last: datetime = steps[-1]["end_time"]
    end = None if minutes is None else START + timedelta(seconds=seconds * 10, minutes=minutes)
    found = judge([], events, steps, params=HangParams(data_end=end))
    delays = [(v.detected - last).total_seconds() for v in found if v.detected]
    assert delays == ([] if expected is None else [expected])
    assert all(v.level == "job" and v.needed and v.onset_step == 11 for v in found)


def test_steps_without_a_clock_are_never_silent() -> None:
    """Without times nobody can say how long there was no step."""
    assert judge([], steps=[{"step": 1}], params=HangParams(data_end=START)) == []


def test_a_named_hang_is_told_once() -> None:
    """A run whose culprit is known gets no second verdict for its silence or its heartbeats."""
    rows = [*(wait(rank, 5) for rank in range(3)), rest(3, 4)]
    events = [{"kind": "heartbeat_stuck", "rank": 0, "time": START}]
    params = HangParams(data_end=START + timedelta(hours=2))
    found = judge(rows, events, step_rows(10, 2.0), params=params)
    assert told(found) == [("hang", "rank", 3, "high")]


@pytest.mark.parametrize(
    ("stalls", "expected"),
    [
        pytest.param([], ("job", None, "outside_collectives", "low"), id="nothing explains it"),
        pytest.param(["a"], ("host", "a", "storage", "medium"), id="one host's kernel does"),
        pytest.param(["a", "b"], ("job", None, "storage", "medium"), id="storage of several hosts"),
    ],
)
def test_watchdogs_stuck_outside_of_collectives(
    stalls: list[str], expected: tuple[str, str | None, str, str]
) -> None:
    """Watchdogs that stand still before any collective wait for something else: for storage."""
    events: list[dict[str, Any]] = [
        {"kind": "heartbeat_stuck", "rank": 0, "time": START},
        *({"kind": "storage_stall", "host": host, "message": "slow reply"} for host in stalls),
    ]
    (verdict,) = judge([], events)
    assert (verdict.level, verdict.subject.host, verdict.cause, verdict.confidence) == expected


@pytest.mark.parametrize(
    ("holders", "expected"),
    [
        pytest.param([2], ("rank", 2, "gil", "medium"), id="one holds its interpreter's lock"),
        pytest.param([2, 3], ("job", None, "outside_collectives", "low"), id="several do"),
    ],
)
def test_a_lock_explains_stuck_watchdogs(
    holders: list[int], expected: tuple[str, int | None, str, str]
) -> None:
    """Where all watchdogs stand still, the one rank that cannot take its lock is the lead."""
    events = [{"kind": "heartbeat_stuck", "rank": rank, "time": START} for rank in range(4)]
    events += [{"kind": "gil_blocked", "rank": rank, "time": START} for rank in holders]
    (verdict,) = judge([], events)
    assert (verdict.level, verdict.subject.rank, verdict.cause, verdict.confidence) == expected


def test_groups_that_count_for_themselves_are_told_once() -> None:
    """Of groups without global ranks those that name nobody add nothing to one that does."""

    def start(group: str, rank: int) -> dict[str, Any]:
        row = {"group": group, "group_rank": rank, "group_ranks": [0, 1], "operation": "init"}
        return row | {"state": "started", "host": "a", "source": "job.log", "position": rank}

    whole = [start(group, rank) for group in ("0xa", "0xb") for rank in (0, 1)]
    alone = judge(whole)
    assert [(v.level, v.subject.group) for v in alone] == [("job", None)]
    found = judge([*whole, start("0xc", 0)])
    assert [(v.level, v.subject.group) for v in found] == [("group", "0xc")]


def test_another_frame_is_refused() -> None:
    """A frame that lacks columns is refused at the door."""
    empty = pl.LazyFrame()
    with pytest.raises(SchemaError, match="time: wanted"):
        find_hangs(empty, empty, empty, ROLES.to_frame().lazy(), HangParams())


MIXED = [
    *(wait(rank, 5, source=f"{rank}.log") for rank in range(6)),
    rest(6, 4),
    rest(7, 4),
    wait(7, 3, group="tp", group_ranks=[6, 7]),
    rest(6, 2, group="tp"),
]


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(len(MIXED))), twice=st.sets(st.sampled_from(range(len(MIXED)))))
def test_neither_order_nor_doubled_lines_matter(order: list[int], twice: set[int]) -> None:
    """The verdict is the same for any order of the rows, and when some come twice."""
    rows = [MIXED[at] for at in order] + [MIXED[at] for at in sorted(twice)]
    assert judge(rows) == judge(MIXED)


@settings(max_examples=15, deadline=None)
@given(late=st.sets(st.integers(0, 9), min_size=1, max_size=9), share=st.floats(0.1, 0.9))
def test_a_stricter_share_never_names_more(late: set[int], share: float) -> None:
    """Lowering the share of suspects can only take names away."""
    rows = [rest(rank, 4) if rank in late else wait(rank, 5) for rank in range(10)]
    named = [
        {
            v.subject.rank
            for v in judge(rows, params=HangParams(max_suspect_share=one))
            if v.kind == "hang"
        }
        for one in (share / 2, share)
    ]
    assert named[0] - {None} <= named[1] - {None}


def test_verdicts_have_the_schema() -> None:
    """What comes out is a frame of verdicts, even if empty."""
    lazy = [frame([], schema).lazy() for schema in (STEPS, COLLECTIVES, EVENTS, ROLES)]
    assert find_hangs(*lazy, HangParams()).schema == VERDICTS
