"""The writer that all wait for at checkpoints, the store behind many of them, and neither."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import EVENTS, STEPS, SchemaError, conform
from detectors.placing import ROLES
from detectors.quiet.checkpoint_writers import WriterParams, find_slow_writers
from detectors.quiet.rank_saves import save_times
from detectors.verdicts import Verdict, verdicts_of

Floats = npt.NDArray[np.float64]
START = datetime(2026, 1, 5, tzinfo=UTC)
HOSTS, EACH, SAVES = 8, 4, 10
RANKS = HOSTS * EACH
NO_EVENTS, NO_ROLES = EVENTS.to_frame().lazy(), ROLES.to_frame().lazy()


def writes(seed: int = 1) -> Floats:
    """Seconds of each rank at each save: 10 s with 10 % noise."""
    return 10.0 * np.exp(np.random.default_rng(seed).normal(0.0, 0.1, (RANKS, SAVES)))


def changed(where: Any, factor: float) -> Floats:
    """The seconds, some of them multiplied."""
    seconds = writes()
    seconds[where] *= factor
    return seconds


def only(ranks: slice) -> Floats:
    """The seconds where some ranks alone write."""
    seconds = np.zeros((RANKS, SAVES))
    seconds[ranks] = writes()[ranks]
    return seconds


def job(seconds: Floats, *, hosts: bool = True) -> pl.LazyFrame:
    """Steps of all ranks, one every 50 steps with its save, and one without."""
    ranks, saves = RANKS, SAVES
    columns: dict[str, Any] = {
        "run": "r",
        "attempt": 0,
        "rank": np.repeat(np.arange(ranks), saves),
        "host": [f"n{at // EACH}" if hosts else None for at in range(ranks) for _ in range(saves)],
        "step": np.tile(50 * np.arange(1, saves + 1), ranks),
        "end_time": [START + timedelta(minutes=4 * at) for at in range(saves)] * ranks,
        "checkpoint_seconds": seconds.ravel(),
    }
    saving = pl.LazyFrame(columns)
    others = saving.with_columns(
        pl.col("step") + 1, pl.lit(0.0, dtype=pl.Float64).alias("checkpoint_seconds")
    )
    return conform(pl.concat([saving, others]), STEPS)


def verdicts(steps: pl.LazyFrame, params: WriterParams | None = None) -> list[Verdict]:
    """What is found in steps."""
    saves = save_times(steps, NO_EVENTS, NO_ROLES)
    return verdicts_of(find_slow_writers(saves, params or WriterParams()))


Told = tuple[str, str | None, int | None, str, int | None]


def short(found: list[Verdict]) -> list[Told]:
    """Level, host, rank, cause and first step of each."""
    return [
        (one.level, one.subject.host, one.subject.rank, str(one.cause), one.onset_step)
        for one in found
    ]


STORE = [("job", None, None, "storage", 250)]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(writes(), [], id="writers that are alike"),
        pytest.param(
            changed(13, 3.0),
            [("rank", "n3", 13, "checkpoint_writer", None)],
            id="one writer that was slow from the first save on",
        ),
        pytest.param(
            changed((13, slice(4, None)), 2.0),
            [("rank", "n3", 13, "checkpoint_writer", 250)],
            id="one writer that became slow",
        ),
        pytest.param(
            changed(slice(8, 12), 2.5),
            [("host", "n2", None, "checkpoint_writer", None)],
            id="all writers of a host are their host",
        ),
        pytest.param(
            changed([13, 29], 2.5),
            [
                ("rank", "n3", 13, "checkpoint_writer", None),
                ("rank", "n7", 29, "checkpoint_writer", None),
            ],
            id="two writers on two hosts of eight",
        ),
        pytest.param(changed((13, 5), 6.0), [], id="one slow save is nobody's fault"),
        pytest.param(changed((13, [1, 5, 9]), 3.0), [], id="nor is one now and then"),
        pytest.param(changed(0, 2.0), [], id="the first rank gathers what is common"),
        pytest.param(
            changed((0, slice(4, None)), 2.0),
            [("rank", "n0", 0, "checkpoint_writer", 250)],
            id="but it did not do so before",
        ),
        pytest.param(
            changed(slice(0, None, EACH), 1.8), [], id="the first rank of each host writes for it"
        ),
        pytest.param(only(slice(0, 1)), [], id="a job with a single writer"),
        pytest.param(
            only(slice(0, None, EACH)) * np.where(np.arange(RANKS) == 8, 3.0, 1.0)[:, None],
            [("rank", "n2", 8, "checkpoint_writer", None)],
            id="one writer a host",
        ),
        pytest.param(changed((slice(None), slice(4, None)), 2.2), STORE, id="all became slow"),
        pytest.param(
            changed((slice(0, 12), slice(4, None)), 2.2), STORE, id="three hosts of eight did"
        ),
        pytest.param(
            changed((slice(None), slice(4, 6)), 2.2), [], id="two slow saves are no slow store"
        ),
        pytest.param(0.05 * changed(13, 3.0), [], id="nobody minds half a second"),
    ],
)
def test_findings(seconds: Floats, expected: list[Told]) -> None:
    """The writer, the host or the store that is slow in saves after saves is told."""
    assert short(verdicts(job(seconds))) == expected


def test_unknown_hosts() -> None:
    """Where hosts are not told, writers speak for themselves, and many of them for the store."""
    one = job(changed(13, 3.0), hosts=False)
    many = job(changed((slice(0, 12), slice(4, None)), 2.2), hosts=False)

    assert short(verdicts(one)) == [("rank", None, 13, "checkpoint_writer", None)]
    assert short(verdicts(many)) == STORE


def test_words() -> None:
    """The finding says how long the others wait, since when, and for whom it speaks."""
    host, rank = verdicts(job(changed(slice(8, 12), 2.5))) + verdicts(
        job(changed((13, slice(7, None)), 2.0))
    )
    store = verdicts(job(changed((slice(None), slice(4, None)), 1.7)))[0]

    assert host.onset is None
    assert host.onset_before_data
    assert host.slowdown == pytest.approx(2.5, rel=0.1)
    assert host.confidence == "high"
    assert len(host.evidence) == 4
    assert "all wait" in host.evidence[0].what
    assert rank.onset == START + timedelta(minutes=28)
    assert rank.detected == START + timedelta(minutes=36)
    assert (rank.confidence, rank.peer_count) == ("medium", 31)
    assert (store.confidence, store.detected) == ("medium", START + timedelta(minutes=24))


def test_stages_are_peers() -> None:
    """A stage that writes more is compared with itself."""
    seconds = writes()
    seconds[:8] *= 3.0
    roles = conform(
        pl.LazyFrame(
            {"run": "r", "attempt": 0, "rank": range(RANKS), "pp": [at // 8 for at in range(RANKS)]}
        ),
        ROLES,
    )
    seconds[20] *= 3.0
    saves = save_times(job(seconds), NO_EVENTS, roles)

    assert short(verdicts_of(find_slow_writers(saves, WriterParams()))) == [
        ("rank", "n5", 20, "checkpoint_writer", None)
    ]


def logged(seconds: float, number: int, rank: int, *, told: bool) -> list[dict[str, Any]]:
    """The lines of a rank at a save: a start and an end, which may say how long it took."""
    start = START + timedelta(minutes=5 * number)
    end = start + timedelta(seconds=seconds)
    shared = {"run": "r", "rank": rank, "source": f"rank{rank}.log"}
    more = [{"key": "seconds", "value": f"{seconds:.2f}"}] if told else None
    return [
        shared | {"kind": "checkpoint_start", "time": start, "attributes": None},
        shared | {"kind": "checkpoint", "time": end, "attributes": more},
    ]


@pytest.mark.parametrize("told", [True, False], ids=["seconds are told", "stamps tell them"])
def test_saves_of_logs(told: bool) -> None:
    """Logs of ranks tell their saves by the seconds in a line, or by the stamps of two."""
    rows = [
        row
        for rank in range(8)
        for number in range(6)
        for row in logged(30.0 if rank == 5 else 10.0 + 0.1 * rank, number, rank, told=told)
    ]
    events = conform(
        pl.LazyFrame(rows, schema_overrides={"attributes": EVENTS["attributes"]}), EVENTS
    )
    roles = pl.LazyFrame({"run": "r", "attempt": 0, "rank": [5], "host": ["n1"]})
    saves = save_times(STEPS.to_frame().lazy(), events, conform(roles, ROLES))
    found = verdicts_of(find_slow_writers(saves, WriterParams()))

    assert saves.collect().height == 48
    assert short(found) == [("rank", "n1", 5, "checkpoint_writer", None)]


def test_a_store_by_timers() -> None:
    """Megatron's timers tell how long the slowest rank of the job saved."""
    rows = [
        {
            "run": "r",
            "kind": "timers",
            "code": str(100 * at),
            "time": START + timedelta(minutes=at),
            "attributes": [{"key": name, "value": "12.0" if at > 5 else "4.0"}],
        }
        for at in range(1, 11)
        for name in ("max save-checkpoint", "max forward-compute")
    ]
    events = conform(
        pl.LazyFrame(rows, schema_overrides={"attributes": EVENTS["attributes"]}), EVENTS
    )
    saves = save_times(STEPS.to_frame().lazy(), events, NO_ROLES)

    assert short(verdicts_of(find_slow_writers(saves, WriterParams()))) == [
        ("job", None, None, "storage", 600)
    ]


def test_a_save_of_the_job() -> None:
    """A line for the whole job has no rank; a start of another step is not its start."""
    rows = [
        {"kind": "checkpoint_start", "code": "100", "time": START},
        {"kind": "checkpoint", "code": "100", "time": START + timedelta(seconds=9)},
        {"kind": "checkpoint_start", "code": "200", "time": START + timedelta(seconds=60)},
        {"kind": "checkpoint", "code": "300", "time": START + timedelta(seconds=90)},
    ]
    events = conform(pl.LazyFrame(rows).with_columns(run=pl.lit("r")), EVENTS)
    saves = save_times(STEPS.to_frame().lazy(), events, NO_ROLES).collect()

    assert saves.select("rank", "save", "step", "seconds").rows() == [(None, 100, 100, 9.0)]


def test_precision_recall_and_delay() -> None:
    """Of 12 jobs the 6 with a slow writer are told, at the third slow save or the next."""
    found: list[list[Verdict]] = []
    for seed in range(12):
        seconds = writes(seed)
        if seed % 2:
            seconds[2 * seed, 4:] *= 1.9
        found.append(verdicts(job(seconds)))

    assert [len(one) for one in found] == [0, 1] * 6
    assert [one[0].subject.rank for one in found if one] == [2, 6, 10, 14, 18, 22]
    assert {one[0].detected for one in found if one} <= {
        START + timedelta(minutes=minutes) for minutes in (24, 28)
    }


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1), shift=st.integers(0, 10**6), scale=st.floats(1.0, 100.0))
def test_properties(seed: int, shift: int, scale: float) -> None:
    """Order, doubled delivery, another unit, another time and other names change nothing."""
    steps = job(changed((13, slice(4, None)), 2.0))
    moved = steps.with_columns(
        pl.col("end_time") + timedelta(seconds=shift),
        pl.col("checkpoint_seconds") * scale,
        host=pl.lit("x") + pl.col("host"),
        run=pl.lit("s"),
    )
    shuffled = pl.concat([moved, moved]).collect().sample(fraction=1.0, shuffle=True, seed=seed)

    assert short(verdicts(shuffled.lazy())) == [("rank", "xn3", 13, "checkpoint_writer", 250)]


@pytest.mark.parametrize(
    "params",
    [WriterParams(min_ratio=4.0), WriterParams(min_saves=11), WriterParams(min_writers=99)],
)
def test_a_stricter_threshold_finds_no_more(params: WriterParams) -> None:
    """Asking for more than there is finds nothing."""
    assert verdicts(job(changed(13, 3.0)), params) == []


def test_refused() -> None:
    """Thresholds that everybody passes, and frames without saves, are refused."""
    with pytest.raises(ValueError, match="min_ratio must be above"):
        WriterParams(min_ratio=1.0)
    with pytest.raises(ValueError, match="min_saves must be 2"):
        WriterParams(min_saves=1)
    with pytest.raises(SchemaError):
        find_slow_writers(pl.LazyFrame({"rank": [1]}), WriterParams())
