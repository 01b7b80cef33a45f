"""Tests of what the watch carries from tick to tick: rows, counters, ages, leases, ticks."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.storing.databases import open_database, writing
from collectors.frames import STEPS, conform
from collectors.readings import Reading, reading_of
from detectors.verdicts import Subject, Verdict
from paceline.burning import replay_burns
from paceline.watching.blames import Blames
from paceline.watching.burn_watch import BurnWatch
from paceline.watching.cursors import read_cursor, write_cursor
from paceline.watching.grid import Due, next_due
from paceline.watching.leases import LEADER, Lease
from paceline.watching.snapshots import Snapshots
from paceline.watching.source_ages import SourceAges
from paceline.watching.spools import MAX_PIECES, Spool, TornPieceError
from paceline.watching.step_memory import empty_steps, fold_steps
from paceline.watching.totals import Totals
from slo.growth import BurnParams
from slo.specs import load_ready
from slo.training import STEP_COLUMNS, JudgeParams, judge_steps

START = datetime(2026, 1, 5, tzinfo=UTC)
TICK = timedelta(seconds=15)


def at(seconds: float) -> datetime:
    """A time, in seconds after the start."""
    return START + timedelta(seconds=seconds)


def events(*seconds: float) -> Reading:
    """A reading with an event at each time."""
    times = [at(one) for one in seconds]
    rows = {"time": times, "kind": ["xid"] * len(times), "source": ["k"] * len(times)}
    return reading_of(events=pl.DataFrame(rows))


def times_of(reading: Reading) -> list[datetime]:
    """The times of a reading's events."""
    return reading.events["time"].to_list()


def test_spool_resumes(tmp_path: Path) -> None:
    """Who starts again has the pieces that were committed, and no other."""
    spool = Spool(tmp_path)
    for number in range(MAX_PIECES + 5):
        spool.add(events(number))
    committed = spool.numbers
    spool.sweep()
    spool.add(events(999))
    again = Spool.load(tmp_path, committed)

    assert times_of(again.joined()) == [at(number) for number in range(MAX_PIECES + 5)]
    assert len(again.numbers) <= MAX_PIECES
    again.add(events(1000))
    assert times_of(again.joined())[-1] == at(1000)


def test_spool_forgets(tmp_path: Path) -> None:
    """Old pieces go, and of the others the rows of before."""
    spool = Spool(tmp_path)
    spool.add(events(0, 10))
    spool.add(events(20, 40))
    spool.forget_before(at(30))

    assert len(spool.pieces) == 1
    assert times_of(spool.joined(at(30))) == [at(40)]
    assert spool.newest == at(40)


def test_torn_piece(tmp_path: Path) -> None:
    """A committed piece that is torn is refused: the window has to be read anew."""
    spool = Spool(tmp_path)
    spool.add(events(0))
    (tmp_path / "0" / "events.arrow").write_bytes(b"torn")

    with pytest.raises(TornPieceError):
        Spool.load(tmp_path, [0])
    with pytest.raises(TornPieceError):
        Snapshots(folder=tmp_path / "none").load(3)


def test_snapshot(tmp_path: Path) -> None:
    """The newest snapshot that was committed is the one that is loaded."""
    frame = pl.DataFrame({"a": [1, None]})
    snapshots = Snapshots(folder=tmp_path)
    snapshots.save({"first": frame})
    snapshots.save({"second": frame})
    number = snapshots.number
    snapshots.save({"uncommitted": frame})
    again = Snapshots(folder=tmp_path)

    assert {name: one.to_dicts() for name, one in again.load(number).items()} == {
        "second": [{"a": 1}, {"a": None}]
    }
    assert [path.name for path in tmp_path.iterdir()] == [str(number)]
    assert Snapshots(folder=tmp_path).load(None) == {}


REPORTS = st.lists(
    st.fixed_dictionaries(
        {
            "run": st.sampled_from(["a", None]),
            "attempt": st.sampled_from([0, 1]),
            "rank": st.sampled_from([None, 0, 1, 2]),
            "step": st.integers(1, 30),
            "interval_steps": st.sampled_from([1, None]),
            "step_seconds": st.sampled_from([20.0, 20.5, 30.0, 0.0, float("nan"), None]),
            "time_kind": st.sampled_from(["single_step", "cumulative", None]),
            "checkpoint_seconds": st.sampled_from([None, 0.0, 4.0, float("nan")]),
            "tokens": st.sampled_from([None, 10.0, 12.0]),
        }
    ),
    max_size=60,
)


def steps(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Reports, each step 20 s after the one before."""
    timed = [row | {"end_time": at(20.0 * row["step"])} for row in rows]
    return conform(pl.LazyFrame(timed, schema=STEP_COLUMNS), STEPS).collect()


@given(rows=REPORTS, cuts=st.lists(st.integers(0, 60), max_size=3))
@settings(max_examples=25)
def test_folded_steps(rows: list[dict[str, Any]], cuts: list[int]) -> None:
    """Steps that are folded piece by piece, some of them twice, are judged like all reports."""
    memory = empty_steps()
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), len(rows)], strict=True):
        memory = fold_steps(memory, steps(rows[max(0, start - 5) : stop]))
    params = JudgeParams(warm_up_steps=2, warm_up_seconds=10.0, baseline_steps=2)
    whole = judge_steps(steps(rows).lazy().select(STEP_COLUMNS.names()), params).collect()

    assert judge_steps(memory.lazy(), params).collect().to_dicts() == whole.to_dicts()


def test_totals() -> None:
    """A counter grows by what grew, stands when something is forgotten, and goes on later."""
    totals, key = Totals(), ("steps", ("c", "run"))
    told = list[float]()
    for counted in (5.0, 8.0, 3.0, 4.0):
        totals.grow({key: counted})
        told.append(totals.values[key])
    totals.forgot({key: 0.0})
    again = Totals()
    again.restore(totals.state())
    again.grow({key: 2.0})

    assert (told, again.values[key]) == ([5.0, 8.0, 8.0, 9.0], 11.0)
    again.keep_only(frozenset({"other"}), frozenset({"steps"}))
    assert again.values == {}


def test_followed() -> None:
    """What somebody else counts begins at 0, and their reset takes nothing away."""
    totals, key = Totals(), ("paused", ("c", "host", "eth0"))
    told = list[float]()
    for counted in (700.0, 705.0, 2.0, 3.0):
        totals.follow(key, counted, is_counted=True)
        told.append(totals.values[key])
    totals.follow(key, 90.0, is_counted=False)

    assert [*told, totals.values[key]] == [0.0, 5.0, 5.0, 6.0, 6.0]


def ages() -> SourceAges:
    """Two sources that are silent after a minute."""
    minute = timedelta(minutes=1)
    return SourceAges(max_ages={"main": minute, "logs": minute}, started=START)


def test_silence() -> None:
    """A source is unknown at first, silent when nothing came for too long, and a finding then."""
    known = ages()
    known.saw("main", at(0), [])
    known.look(at(30))
    first = [(one.name, one.state, one.age_seconds) for one in known.states(at(30))]
    known.saw("main", None, ["main: connection refused"])
    known.look(at(90))
    silent = known.verdicts()
    again = ages()
    again.restore(known.state())
    again.saw("main", at(100), [])
    again.look(at(105))

    assert first == [("main", "current", 30.0), ("logs", "unknown", None)]
    assert [(one.subject.group, one.onset, one.detected) for one in silent] == [
        ("source main", START, at(90)),
        ("source logs", None, at(90)),
    ]
    assert silent[0].evidence[0].what == (
        "unknown: source main silent since 2026-01-05T00:00:00Z; main: connection refused"
    )
    assert [(one.subject.group, one.cleared) for one in again.verdicts()] == [
        ("source main", at(100)),
        ("source logs", None),
    ]
    assert [one.state for one in again.states(at(105))] == ["current", "unknown"]


@pytest.mark.parametrize(
    ("last", "now", "expected"),
    [
        pytest.param(None, 7, Due(at=at(0), skipped=0), id="the first at once"),
        pytest.param(0, 4, Due(at=at(15), skipped=0), id="the next at the next multiple"),
        pytest.param(0, 16, Due(at=at(15), skipped=0), id="one that is a little late is done"),
        pytest.param(0, 52, Due(at=at(45), skipped=2), id="those that were missed are counted"),
        pytest.param(300, 290, Due(at=at(315), skipped=0), id="a clock a little behind waits"),
        pytest.param(3600, 31, Due(at=at(30), skipped=0), id="a clock that was set is believed"),
    ],
)
def test_grid(last: float | None, now: float, expected: Due) -> None:
    """Ticks are at multiples of their distance, and never pile up."""
    assert next_due(None if last is None else at(last), at(now), TICK) == expected


def test_lease(tmp_path: Path) -> None:
    """One holds the lease; another has it two ticks after its holder is gone, or at once."""
    engine = open_database(f"sqlite:///{tmp_path / 'db'}")
    one, two = (Lease(name=LEADER, holder=name, length=2 * TICK) for name in ("one", "two"))
    told = list[tuple[float, bool, bool]]()
    with writing(engine) as connection:
        for seconds in (0, 15):
            told.append(
                (seconds, one.take(connection, at(seconds)), two.take(connection, at(seconds)))
            )
        told += [(seconds, False, two.take(connection, at(seconds))) for seconds in (30, 45)]
        taken_back = one.take(connection, at(46))
        two.give_up(connection, at(47))
        given = one.take(connection, at(47))
    engine.dispose()

    assert told == [(0, True, False), (15, True, False), (30, False, False), (45, False, True)]
    assert (taken_back, given) == (False, True)


def test_cursor(tmp_path: Path) -> None:
    """A cursor is what was written last under its name."""
    engine = open_database(f"sqlite:///{tmp_path / 'db'}")
    with writing(engine) as connection:
        none = read_cursor(connection, "watch/a")
        for body in ({"a": 1}, {"b": [1.5, None]}):
            write_cursor(connection, "watch/a", body)
        found = read_cursor(connection, "watch/a")
    engine.dispose()

    assert (none, found) == (None, {"b": [1.5, None]})


def test_blames() -> None:
    """Failures of a host count once, fade, and are forgotten after four weeks."""
    crash = Verdict(
        kind="crash", level="host", subject=Subject(host="n1"), confidence="high", onset=START
    )
    blames = Blames()
    for _ in range(3):
        blames.take([crash], at(60))
    again = Blames()
    again.restore(blames.state())
    day = 86400.0

    assert again.scores(at(0)) == {"n1": 1.0}
    assert again.scores(at(14 * day)) == {"n1": 0.5}
    again.take([], at(29 * day))
    assert again.scores(at(29 * day)) == {}


def burning_steps(until_minutes: float) -> pl.DataFrame:
    """Steps of 20 s for 100 minutes, slow ones for half an hour, and healthy ones again."""
    ends, seconds = [0.0], [20.0]
    while ends[-1] < 60.0 * until_minutes:
        is_slow = 6000 <= ends[-1] < 7800
        seconds.append(25.0 if is_slow else 20.0)
        ends.append(ends[-1] + seconds[-1])
    rows = {
        "run": ["r"] * len(ends),
        "attempt": [0] * len(ends),
        "step": list(range(len(ends))),
        "end_time": [at(one) for one in ends],
        "step_seconds": seconds,
    }
    return conform(pl.LazyFrame(rows), STEP_COLUMNS).collect()


def test_cold_start() -> None:
    """A watch that starts late knows since when an alert fires, as one that ran all along."""
    now = at(60 * 135)
    steps_so_far = burning_steps(135)
    late = BurnWatch(objectives=[load_ready()], params=BurnParams(), cluster="c")
    burning = late.evaluate(steps_so_far, now)
    told = replay_burns(steps_so_far, [load_ready()], scrape_seconds=15.0, params=BurnParams())
    again = BurnWatch(objectives=[load_ready()], params=BurnParams(), cluster="c")
    again.restore(late.frames())
    healthy = again.evaluate(burning_steps(150), at(60 * 150))

    pages = {one.pair: one for one in burning.firings if one.severity == "page"}
    expected = {one.pair: one for one in told.firings if one.severity == "page"}
    assert pages.keys() == expected.keys()
    for pair, one in pages.items():
        assert abs(one.active_at - expected[pair].active_at) <= timedelta(seconds=30)
    assert [one.resolved_at is None for one in healthy.firings if one.pair == "1h/5m"] == [False]
    assert healthy.rates["training-steps"]["time"].unique().to_list() == [at(60 * 150)]
