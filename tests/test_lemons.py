"""Tests of the search for lemons: planted fleets, moved parts, and what changes no answer."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import ALIASES, EVENTS, JOBS, PLACEMENTS, SchemaError, conform
from collectors.readings import Reading
from detectors.lemon_histories import HistoryParams, Records
from detectors.lemon_params import GateParams, LemonParams
from detectors.lemons import find_lemons, review_lemons
from detectors.verdicts import VERDICTS, Verdict

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
BASE_RATE = 0.0065
XID = {"kind": "xid", "code": "79", "severity": "critical", "source": "kern.log"}
GPU = {"device_kind": "gpu", "device": "GPU-g"}
Rows = Sequence[dict[str, Any]]


def records(jobs: Rows, events: Rows = (), aliases: Rows = (), placements: Rows = ()) -> Records:
    """The frames of rows that name only what they need."""
    frames = [
        conform(pl.LazyFrame(list(rows), schema_overrides=schema), schema)
        for rows, schema in (
            (jobs, JOBS),
            (placements, PLACEMENTS),
            (events, EVENTS),
            (aliases, ALIASES),
        )
    ]
    return Records(jobs=frames[0], placements=frames[1], events=frames[2], aliases=frames[3])


def job(run: int, begin: float, end: float, state: str, hosts: Sequence[str]) -> dict[str, Any]:
    """One attempt; times are days from the start."""
    times = {"start": START + begin * DAY, "end": START + end * DAY}
    return {"run": str(run), "attempt": 0, "state": state, "hosts": list(hosts), **times}


def told(host: str, day: float, **what: Any) -> dict[str, Any]:
    """An Xid on a host, or whatever else is said."""
    return {"host": host, "time": START + day * DAY, **XID, **what}


class Failure(NamedTuple):
    """When a host ends its job, in days, and what the Xid says beside; null for a silent end."""

    day: float
    said: dict[str, Any] | None


def single_jobs(
    failures: dict[str, list[Failure]], hosts: int, days: int = 60
) -> tuple[Rows, Rows]:
    """Jobs and events of hosts `n0` to `nN` that run one job a day each, alone."""
    jobs, events = [], []
    for at in range(hosts):
        host = f"n{at}"
        ends = {one.day: one for one in failures.get(host, [])}
        begin = 0.0
        for end in sorted({*ends, *(float(day) for day in range(1, days + 1))}):
            failed = end in ends
            state = "NODE_FAIL" if failed else "COMPLETED"
            jobs.append(job(len(jobs), begin, end, state, [host]))
            if failed and ends[end].said is not None:
                events.append(told(host, end - 0.001, **(ends[end].said or {})))
            begin = end
    return jobs, events


def fails(*days: float, said: dict[str, Any] | None = None) -> list[Failure]:
    """Failures on some days, each with an Xid."""
    return [Failure(day + 0.5, said or {}) for day in days]


def found(told_records: Records, day: float | None = None) -> list[tuple[str, str, str]]:
    """Kind, level and subject of what is found as of a day."""
    as_of = None if day is None else START + day * DAY
    params = LemonParams(history=HistoryParams(as_of=as_of))
    return [
        (one.kind, one.level, one.subject.phrase())
        for one in review_lemons(told_records, params).verdicts
    ]


class Fleet(NamedTuple):
    """A planted fleet of 2,048 nodes over 60 days, and who its 20 lemons are."""

    records: Records
    lemons: set[str]


def fleet(seed: int, ratio: float, named_share: float) -> Fleet:
    """Nodes that are always in a job of at most a day that ends at its first failure."""
    rng = np.random.default_rng(seed)
    rates = np.full(2048, BASE_RATE)
    bad = rng.choice(2048, 20, replace=False)
    rates[bad] *= ratio
    jobs: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for day in range(60):
        for group in groups(rng):
            names = [f"node{at:04d}" for at in group]
            begin, total = float(day), rates[group].sum()
            while begin < day + 1:
                end = begin + rng.exponential(1.0 / total)
                state = "NODE_FAIL" if end < day + 1 else "COMPLETED"
                jobs.append(job(len(jobs), begin, min(end, day + 1.0), state, names))
                culprit = rng.choice(group, p=rates[group] / total)
                if end < day + 1 and rng.random() < named_share:
                    events.append(told(f"node{culprit:04d}", end))
                begin = end
    return Fleet(records(jobs, events), {f"node{at:04d}" for at in bad})


def groups(rng: np.random.Generator) -> Iterator[np.ndarray[Any, Any]]:
    """All nodes of a day, in jobs of 1, 8, 64 or 256 nodes."""
    order, at = rng.permutation(2048), 0
    while at < order.size:
        size = int(rng.choice([1, 8, 64, 256], p=[0.9, 0.05, 0.03, 0.02]))
        yield order[at : at + size]
        at += size


class Score(NamedTuple):
    """How a search did: right among the flagged, found among the lemons, lemons in the top 20."""

    precision: float
    recall: float
    top: float


def scored(ratio: float, named_share: float, seeds: range) -> Score:
    """The mean over some seeds."""
    rows = []
    for seed in seeds:
        planted = fleet(seed, ratio, named_share)
        review = review_lemons(planted.records, LemonParams())
        flagged = {one.subject.host for one in review.verdicts if one.kind == "lemon"}
        hits = len(flagged & planted.lemons)
        top = set(review.ranking["host"].head(20)) & planted.lemons
        rows.append((hits / max(len(flagged), 1), hits / 20, len(top)))
    return Score(*np.mean(rows, axis=0).tolist())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "named_share", "least"),
    [
        pytest.param(30.0, 0.8, Score(0.95, 0.8, 16), id="four of five failures name the node"),
        pytest.param(30.0, 0.5, Score(0.95, 0.57, 0), id="half of the failures name the node"),
        pytest.param(20.0, 0.5, Score(0.95, 0.25, 0), id="half of them, of milder lemons"),
    ],
)
def test_lemons_among_the_lucky(ratio: float, named_share: float, least: Score) -> None:
    """Lemons are found among nodes that failed by bad luck, and hardly any of these is flagged."""
    reached = scored(ratio, named_share, range(3))

    assert [one >= bar for one, bar in zip(reached, least, strict=True)] == [True] * 3, reached


@pytest.mark.slow
def test_fleets_without_a_lemon() -> None:
    """Where all nodes are alike nobody is flagged, however unlucky; 20 fleets are a yardstick."""
    verdicts = [review_lemons(fleet(seed, 1.0, 0.8).records, LemonParams()) for seed in range(2)]

    assert [review.verdicts for review in verdicts] == [[], []]


@pytest.mark.slow
def test_failures_that_name_nobody() -> None:
    """Where jobs of many nodes just die nobody is flagged, and it is said why."""
    answers = [
        find_lemons(fleet(seed, 8.0, 0.0).records, LemonParams())
        .select("kind", "cause", pl.col("needed").is_not_null())
        .rows()
        for seed in range(3)
    ]

    assert answers == [[("unknown", "failures_name_nobody", True)]] * 3


SWAPPED = [
    {"kind": "part_removed", "host": "n1", "time": START + 30 * DAY, **GPU},
    {"kind": "part_installed", "host": "n2", "time": START + 33 * DAY, **GPU},
]
SEEN = [
    {
        "time": START + day * DAY,
        "host": host,
        "device_kind": "gpu",
        "device": "0000:9b:00.0",
        "alias_kind": "uuid",
        "alias": "GPU-g",
    }
    for host, day in (("n1", 0), ("n2", 31))
]
EARLY, LATE = (2, 9, 15, 21, 27), (36, 41, 48, 57)


@pytest.mark.parametrize(
    ("early", "late", "moves", "aliases", "at_30"),
    [
        pytest.param(
            GPU, GPU, SWAPPED, (), ("gpu", "GPU-g on n1"), id="told, and the part always named"
        ),
        pytest.param(
            {}, GPU, SWAPPED, (), ("host", "n1"), id="told, and the part named after it moved only"
        ),
        pytest.param(GPU, GPU, (), (), ("gpu", "GPU-g on n1"), id="seen by the Xids alone"),
        pytest.param(
            {"device_kind": "gpu", "device": "0000:9b:00.0"},
            {"device_kind": "gpu", "device": "0000:9b:00.0"},
            (),
            SEEN,
            ("gpu", "GPU-g on n1"),
            id="Xids name the slot, and aliases say which part is in it",
        ),
    ],
)
def test_moved_part(
    early: dict[str, Any], late: dict[str, Any], moves: Rows, aliases: Rows, at_30: tuple[str, str]
) -> None:
    """The part is followed to its new node, and the node that it left is forgiven."""
    planted = {"n1": fails(*EARLY, said=early), "n2": fails(*LATE, said=late)}
    jobs, events = single_jobs(planted, hosts=64)
    whole = records(jobs, [*events, *moves], aliases)

    assert [found(whole, day) for day in (30, 60)] == [
        [("lemon", *at_30)],
        [("lemon", "gpu", "GPU-g on n2")],
    ]


def test_both_slots_are_shown() -> None:
    """The evidence of a moved part tells where it was, and what it did there."""
    jobs, events = single_jobs(
        {"n1": fails(*EARLY, said=GPU), "n2": fails(*LATE, said=GPU)}, hosts=64
    )
    (lemon,) = review_lemons(records(jobs, [*events, *SWAPPED]), LemonParams()).verdicts

    assert [one.what for one in lemon.evidence if one.source == "stints"] == [
        "the part was in n1 until 2026-01-31: 5 jobs failed there, 5 of them naming it",
        "the part was in n2 now: 4 jobs failed there, 4 of them naming it",
    ]


def test_a_repaired_node_that_fails_on() -> None:
    """A node that two repairs did not help is returned, and its evidence tells of the repairs."""
    days = (1, 5, 12, 14, 22, 25, 42, 45, 48, 51, 54, 57)
    jobs, events = single_jobs({"n1": fails(*days)}, hosts=64)
    repairs = [told("n1", day, kind="repair", code=None) for day in (20, 40)]
    (lemon,) = review_lemons(records(jobs, [*events, *repairs]), LemonParams()).verdicts

    assert (
        lemon.action,
        [one.what for one in lemon.evidence if one.source == "repairs"],
    ) == (
        "open a return with these events as evidence: repairs did not help",
        ["repair; what was before counts less"] * 2,
    )


CALM: dict[str, list[Failure]] = {}


@pytest.mark.parametrize(
    ("failures", "hosts", "days"),
    [
        pytest.param(CALM, 64, 60, id="nothing failed"),
        pytest.param({"n1": fails(0)}, 64, 60, id="one failure of a node"),
        pytest.param({"n1": fails(3, 40)}, 2048, 20, id="two failures among thousands of nodes"),
        pytest.param(
            {f"n{at}": fails(at % 50, at % 50 + 7) for at in range(64)}, 64, 60, id="all fail alike"
        ),
        pytest.param({"n1": fails(1, 2, 3, 4, 5)}, 64, 10, id="too short a history"),
    ],
)
def test_no_lemons(failures: dict[str, list[Failure]], hosts: int, days: int) -> None:
    """Bad luck, a bad fleet and a short history flag nobody."""
    jobs, events = single_jobs(failures, hosts, days)

    assert found(records(jobs, events)) == []


@pytest.mark.parametrize(
    ("users", "expected"),
    [
        pytest.param(["ada"], [], id="one of four users, who holds a quarter of its time"),
        pytest.param(["ada", "bob"], [("lemon", "host", "n1")], id="two users"),
        pytest.param([None], [("lemon", "host", "n1")], id="users that are not told"),
    ],
)
def test_whose_jobs_fail(users: list[str | None], expected: list[tuple[str, str, str]]) -> None:
    """A node on which one user's jobs alone fail, while others use it well, is no lemon."""
    jobs, events = single_jobs({"n1": fails(*EARLY, *LATE)}, hosts=64)
    everybody = ["ada", "bob", "cyd", "dan"]
    failed = 0
    for at, row in enumerate(jobs):
        row["user"] = everybody[at % 4]
        if row["state"] == "NODE_FAIL":
            row["user"] = users[failed % len(users)]
            failed += 1

    assert found(records(jobs, events)) == expected


def test_a_new_node() -> None:
    """A node in use for two days that failed once has the highest rate, and is not flagged."""
    jobs, events = single_jobs({"n5": fails(9), "n1": fails(3), "n2": fails(20)}, hosts=64)
    new = [
        job(10**6, 58, 59.5, "NODE_FAIL", ["n99"]),
        job(10**6 + 1, 59.5, 60, "COMPLETED", ["n99"]),
    ]
    whole = records([*jobs, *new], [*events, told("n99", 59.5)])

    assert found(whole) == []


def test_a_chain_of_retries() -> None:
    """One job that fails again and again on its node is one failure, however often it says so."""
    jobs, events = single_jobs(CALM, hosts=64)
    chain = [
        {**job(7, 50 + at / 10, 50 + (at + 1) / 10, "NODE_FAIL", ["n1"]), "attempt": at}
        for at in range(35)
    ]
    named = [told("n1", 50 + (at + 1) / 10) for at in range(35)]
    review = review_lemons(records([*jobs, *chain], [*events, *named]), LemonParams())

    assert (review.verdicts, review.history.failures.height if review.history else 0) == ([], 1)


def test_failures_of_programs() -> None:
    """Jobs that fail without a word of the hardware, or with an Xid of a program, blame nobody."""
    jobs, _ = single_jobs(CALM, hosts=16)
    broken = [job(10**6 + at, at, at + 0.5, "FAILED", ["n1"]) for at in range(18)]
    xids = [told("n1", at + 0.5, code="31", severity="error") for at in range(18)]

    assert found(records([*jobs, *broken], xids)) == []


def test_failed_jobs_with_hardware_errors() -> None:
    """A job that failed beside an Xid of hardware was ended by it."""
    jobs, _ = single_jobs(CALM, hosts=16)
    days = (3, 11, 19, 28, 40)
    broken = [job(10**6 + at, at, at + 0.5, "FAILED", ["n1", "n2", "n3"]) for at in days]
    xids = [told("n1", at + 0.5) for at in days]

    assert found(records([*jobs, *broken], xids)) == [("lemon", "host", "n1")]


def test_failures_without_a_word() -> None:
    """Many failed jobs, and nothing that says why: nobody can be told, and that is said."""
    jobs, _ = single_jobs(CALM, hosts=16)
    broken = [job(10**6 + at, at, at + 0.5, "FAILED", ["n1", "n2"]) for at in range(30)]

    assert found(records([*jobs, *broken])) == [("unknown", "group", "all nodes")]


def test_other_signals_corroborate() -> None:
    """Jobs on pairs name nobody, but a node that is drained again and again is told by that."""
    jobs, _ = single_jobs(CALM, hosts=32)
    days = range(1, 57, 4)
    pairs = [job(10**6 + at, at, at + 0.5, "NODE_FAIL", ["n1", f"n{2 + at % 29}"]) for at in days]
    drains = [
        told(
            "n1", at + 0.8, kind="node_state", code="IDLE+DRAIN", severity="warning", message="bad"
        )
        for at in days
    ]

    assert [found(records([*jobs, *pairs], told_events)) for told_events in ((), drains)] == [
        [],
        [("lemon", "host", "n1")],
    ]


def test_not_too_many_at_once() -> None:
    """Of four lemons in a rack of ten and a pool of a hundred, two are drained and two watched."""
    names = [f"gpu-r{at // 10}-n{at}" for at in range(100)]
    failures = {f"n{at}": fails(*range(at, 57, 3 + at)) for at in range(4)}
    jobs, events = single_jobs(failures, hosts=100)
    for row in jobs:
        row["hosts"] = [names[int(host[1:])] for host in row["hosts"]]
    for row in events:
        row["host"] = names[int(row["host"][1:])]
    ranking = review_lemons(records(jobs, events), LemonParams()).ranking

    assert ranking.filter("is_lemon").select("host", "tier").rows() == [
        (names[0], "drain"),
        (names[1], "drain"),
        (names[2], "watch"),
        (names[3], "watch"),
    ]


def test_placements_tell_hosts() -> None:
    """Where a launcher names no hosts, the placements of its ranks do."""
    jobs, events = single_jobs({"n1": fails(*EARLY)}, hosts=32)
    placements = [
        {"run": row["run"], "attempt": 0, "rank": 0, "host": row["hosts"][0]} for row in jobs
    ]
    bare = [{name: value for name, value in row.items() if name != "hosts"} for row in jobs]

    assert found(records(bare, events, placements=placements)) == [("lemon", "host", "n1")]


PLANTED = {"n1": fails(*EARLY, *LATE), "n7": fails(20), "n9": fails(31, said=GPU)}
JOBS_64, EVENTS_64 = single_jobs(PLANTED, hosts=64)


def verdicts(jobs: Rows, events: Rows, params: LemonParams | None = None) -> list[Verdict]:
    """What is found, whole."""
    return review_lemons(records(jobs, events), params or LemonParams()).verdicts


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000))
def test_row_order(seed: int) -> None:
    """The same rows in another order give the same findings."""
    shuffled = random.Random(seed)
    jobs, events = list(JOBS_64), list(EVENTS_64)
    shuffled.shuffle(jobs)
    shuffled.shuffle(events)

    assert verdicts(jobs, events) == verdicts(JOBS_64, EVENTS_64)


def test_delivery_twice() -> None:
    """Rows that arrive twice change nothing."""
    twice = verdicts([*JOBS_64, *JOBS_64], [*EVENTS_64, *EVENTS_64])

    assert twice == verdicts(JOBS_64, EVENTS_64)


@settings(max_examples=5, deadline=None)
@given(st.integers(-(10**6), 10**6))
def test_time_shift(minutes: int) -> None:
    """All times moved alike move the findings, and change nothing else."""
    by = timedelta(minutes=minutes)
    jobs = [{**row, "start": row["start"] + by, "end": row["end"] + by} for row in JOBS_64]
    events = [{**row, "time": row["time"] + by} for row in EVENTS_64]
    moved, plain = verdicts(jobs, events), verdicts(JOBS_64, EVENTS_64)

    assert [(one.subject, one.onset, one.action) for one in moved] == [
        (one.subject, one.onset + by if one.onset else None, one.action) for one in plain
    ]


def test_renaming() -> None:
    """Hosts that are called otherwise are found under their other names."""
    names = {f"n{at}": f"box{63 - at:02d}" for at in range(64)}
    jobs = [{**row, "hosts": [names[row["hosts"][0]]]} for row in JOBS_64]
    events = [{**row, "host": names[row["host"]]} for row in EVENTS_64]

    assert [one.subject.host for one in verdicts(jobs, events)] == [names["n1"]]


@settings(max_examples=10, deadline=None)
@given(st.floats(1e-12, 0.5), st.floats(1e-12, 0.5))
def test_stricter_threshold(one: float, other: float) -> None:
    """A lower false-discovery rate never flags more."""
    flagged = [
        {found.subject for found in verdicts(JOBS_64, EVENTS_64, gated(share))}
        for share in sorted((one, other))
    ]

    assert flagged[0] <= flagged[1]


def gated(share: float) -> LemonParams:
    """The thresholds with another false-discovery rate."""
    return replace(LemonParams(), gate=GateParams(max_false_share=share))


def test_no_jobs() -> None:
    """Without jobs there is no history, and no finding."""
    assert find_lemons(Records.of(Reading()), LemonParams()).schema == VERDICTS


def test_wrong_frame() -> None:
    """A frame that lacks a column is refused."""
    wrong = replace(Records.of(Reading()), jobs=pl.LazyFrame({"run": ["1"]}))

    with pytest.raises(SchemaError, match="start"):
        find_lemons(wrong, LemonParams())
