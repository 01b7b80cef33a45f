"""Several watches over one fleet: who owns what, who is there, fences, kills of real processes."""

import argparse
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from alerts.storing.databases import open_database, writing
from alerts.storing.tables import MEMBERS
from benchmarks.watch_shards import record, watched
from paceline.watching.cursors import write_cursor
from paceline.watching.fences import PREFIX, Fences
from paceline.watching.groups import FLEET
from paceline.watching.rendezvous import owner_of
from paceline.watching.roster import Roster

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
TICK = timedelta(seconds=15)
GROUPS = [f"run/{number}" for number in range(300)]

names = st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=6, unique=True)


def at(ticks: float) -> datetime:
    """A time, in ticks after noon."""
    return NOON + ticks * TICK


@contextmanager
def opened(url: str) -> Generator[Engine]:
    """An incident database for as long as a block lasts."""
    engine = open_database(url)
    yield engine
    engine.dispose()


@settings(max_examples=20, deadline=None)
@given(members=names)
def test_minimal_movement(members: list[str]) -> None:
    """A member that goes gives away its own groups, and no other group moves."""
    gone, *left = members
    before = {group: owner_of(group, members) for group in GROUPS[:60]}
    after = {group: owner_of(group, left) for group in GROUPS[:60]}

    assert {group for group in before if before[group] != after[group]} == {
        group for group in before if before[group] == gone
    }


@settings(max_examples=20, deadline=None)
@given(members=names)
def test_order_does_not_matter(members: list[str]) -> None:
    """All come to the same owner, in whatever order they know each other."""
    assert owner_of("run/a", members) == owner_of("run/a", reversed(members))


def test_balance() -> None:
    """Three members have a third of many groups each, to within a quarter of it."""
    shares = Counter(owner_of(group, ["one", "two", "three"]) for group in GROUPS)

    assert all(abs(count - 100) <= 25 for count in shares.values())


def test_nobody() -> None:
    """Without members nobody owns anything."""
    assert owner_of("fleet", []) is None


def test_silence(database_url: str) -> None:
    """One who is silent for two ticks of another is gone, whatever its clock said."""
    one, two = (Roster(name=name, every=TICK) for name in ("one", "two"))
    told = list[list[str]]()
    with opened(database_url) as engine, writing(engine) as connection:
        one.look(connection, at(100_000))
        for tick in range(4):
            told.append(sorted(two.look(connection, at(tick))))
        one.look(connection, at(-50))
        told.append(sorted(two.look(connection, at(4))))
        one.leave(connection)
        told.append(sorted(two.look(connection, at(5))))

    both = ["one", "two"]
    assert told == [both, both, ["two"], ["two"], both, ["two"]]


def test_a_step_back_kills_nobody(database_url: str) -> None:
    """Members whose clocks jump to and fro stay, as long as they tick."""
    one, two = (Roster(name=name, every=TICK) for name in ("one", "two"))
    told = set[tuple[str, ...]]()
    with opened(database_url) as engine, writing(engine) as connection:
        for tick in (0, 1, -240, 500, 3, 2):
            one.look(connection, at(tick))
            told.add(tuple(sorted(two.look(connection, at(-tick)))))
        beats = connection.execute(select(MEMBERS.c.beat)).scalars().all()

    assert (told, list(beats)) == ({("one", "two")}, [6, 6])


def test_since(database_url: str) -> None:
    """A member says from which tick on it has seen every one: a tick left out begins anew."""
    one = Roster(name="one", every=TICK)
    with opened(database_url) as engine, writing(engine) as connection:
        told = [one.look(connection, at(tick))["one"] for tick in (0, 1, 2, 4, 5)]

    assert told == [at(0), at(0), at(0), at(4), at(4)]


def claimed(
    engine: Engine,
    member: Fences,
    members: Mapping[str, float],
    cursors: Mapping[str, float] | None = None,
) -> dict[str, int]:
    """What a member holds after a claim; times are ticks."""
    with writing(engine) as connection:
        member.claim(
            connection,
            {FLEET},
            {name: at(tick) for name, tick in members.items()},
            {name: at(tick) for name, tick in (cursors or {}).items()},
            at(0),
        )
    return dict(member.held)


@pytest.fixture
def pair() -> tuple[Fences, Fences]:
    """The member that owns the fleet among two, and the other."""
    first = owner_of(FLEET, ["one", "two"])
    assert first is not None
    second = "two" if first == "one" else "one"
    return Fences(name=first, every=TICK), Fences(name=second, every=TICK)


def held(engine: Engine, *members: Fences) -> list[bool]:
    """Whose fence stands."""
    with writing(engine) as connection:
        return [one.holds(connection, FLEET) for one in members]


def test_fence(database_url: str, pair: tuple[Fences, Fences]) -> None:
    """Whoever was thought dead and was not, commits nothing after its group was taken."""
    owner, other = pair
    both = {owner.name: 0.0, other.name: 0.0}
    with opened(database_url) as engine:
        first = claimed(engine, owner, both)
        nothing = claimed(engine, other, both)
        before = held(engine, owner, other)
        taken = claimed(engine, other, {other.name: 0.0})
        after = held(engine, owner, other)

    assert (first, nothing, before) == ({FLEET: 1}, {}, [True, False])
    assert (taken, after) == ({FLEET: 2}, [False, True])


def test_living_holders_are_waited_for(database_url: str, pair: tuple[Fences, Fences]) -> None:
    """A newcomer takes its group when the holder has given it up, and not before."""
    owner, other = pair
    both = {owner.name: 0.0, other.name: 0.0}
    with opened(database_url) as engine:
        alone = claimed(engine, other, {other.name: 0.0})
        waits = claimed(engine, owner, both)
        given = claimed(engine, other, both)
        taken = claimed(engine, owner, both)
        shares = owner.shares()

    assert (alone, waits, given, taken) == ({FLEET: 1}, {}, {}, {FLEET: 2})
    assert shares == {owner.name: 1}


def test_who_missed_ticks_does_not_follow(database_url: str, pair: tuple[Fences, Fences]) -> None:
    """A group goes to one who has seen the tick it needs next; if nobody has, to its owner."""
    owner, other = pair
    back = {owner.name: 7.0, other.name: 0.0}
    with opened(database_url) as engine:
        first = claimed(engine, owner, {owner.name: 0.0, other.name: 0.0})
        again = Fences(name=owner.name, every=TICK)
        late = claimed(engine, again, back, {FLEET: 4.0})
        follows = claimed(engine, other, back, {FLEET: 4.0})
        moved = claimed(engine, other, back, {FLEET: 6.0})
        returns = claimed(engine, again, back, {FLEET: 6.0})
        nobody = claimed(engine, again, {owner.name: 90.0}, {FLEET: 6.0})

    assert (first, late, follows) == ({FLEET: 1}, {}, {FLEET: 2})
    assert (moved, returns, nobody) == ({}, {FLEET: 3}, {FLEET: 3})


def test_a_new_life_has_a_new_fence(database_url: str) -> None:
    """A member that starts again under its name is not the one before it."""
    with opened(database_url) as engine:
        lives = [Fences(name="one", every=TICK) for _ in range(2)]
        fences = [claimed(engine, life, {"one": 0.0}) for life in lives]
        stands = held(engine, *lives)
        with writing(engine) as connection:
            lives[1].leave(connection)
        left = held(engine, *lives)

    assert (fences, stands, left) == ([{FLEET: 1}, {FLEET: 2}], [False, True], [False, False])


def test_runs_that_are_over_are_forgotten(database_url: str) -> None:
    """The lease of a group that is not there any more goes, when all of it is joined."""
    one = Fences(name="one", every=TICK)
    members = {"one": at(0)}
    told = list[list[str]]()
    with opened(database_url) as engine, writing(engine) as connection:
        write_cursor(connection, f"{PREFIX}run/a", {"tick": at(3).isoformat()})
        one.claim(connection, {FLEET, "run/a"}, members, {}, at(0))
        told.append(sorted(one.holders))
        for joined in (2, 3):
            one.claim(connection, {FLEET}, members, {"run/a": at(3), FLEET: at(joined)}, at(4))
            told.append(sorted(one.holders))

    assert told == [[FLEET, "run/a"], [FLEET, "run/a"], [FLEET]]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three jobs on hosts of their own."""
    folder = tmp_path_factory.mktemp("fleet")
    record(folder, asked())
    return folder


def asked() -> argparse.Namespace:
    """What the benchmark is asked for: few ticks, before and after the onset."""
    return argparse.Namespace(
        nodes=4,
        tick=180.0,
        first=72.0,
        last=87.0,
        minutes=90.0,
        onset=75.0,
        fault_minutes=12.0,
        seed=3,
        prometheus="",
    )


def test_kills(recording: Path, postgres: Callable[[], str]) -> None:
    """Two processes share a fleet, are killed on the way, and keep what one alone does."""
    alone = watched(asked(), recording, ("alone",), 0, "")
    shared = watched(asked(), recording, ("one", "two"), 2, postgres())

    assert shared["killed"] > 0
    assert shared["kept"] == alone["kept"]
    assert len(alone["kept"]) > 0
