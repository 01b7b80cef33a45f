"""Letters reach their receivers at least once, in order, whatever happens in between."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, delete, insert, select

from alerts.delivery.answers import Answer, Delivered, Later, Refused
from alerts.delivery.couriers import CourierParams, Pass, deliver_due, run_couriers
from alerts.delivery.dead_letters import backlogs, dead_letters, revive_letters
from alerts.delivery.letters import Letter, Renewal
from alerts.incidents import Incident, incident_json
from alerts.storing.databases import open_database
from alerts.storing.tables import LEASES, OUTBOX

START = datetime(2026, 1, 5, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)
PARAMS = CourierParams(draw=lambda: 1.0)


@dataclass
class Clock:
    """A clock that a test sets."""

    time: datetime = START

    def __call__(self) -> datetime:
        """Return the time."""
        return self.time

    def pass_by(self, seconds: float) -> None:
        """Let time pass; below zero it is set back."""
        self.time += timedelta(seconds=seconds)


@dataclass
class Fake:
    """A receiver that answers as told and keeps what it got."""

    answers: list[Answer | BaseException] = field(default_factory=list)
    got: list[Letter] = field(default_factory=list)
    min_gap_seconds: float = 0.0
    renewal: Renewal | None = None
    meanwhile: Callable[[], object] = bool
    is_down: bool = False

    def send(self, letter: Letter, *, now: datetime) -> Answer:
        """Keep a letter and answer."""
        del now
        self.got.append(letter)
        self.meanwhile()
        answer = self.answers.pop(0) if self.answers else Delivered()
        if isinstance(answer, BaseException):
            raise answer
        return Later(reason="down") if self.is_down else answer

    @property
    def told(self) -> list[str]:
        """What it got, as `key action`."""
        return [f"{letter.dedup_key} {letter.action}" for letter in self.got]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An incident database for the module."""
    engine = open_database(f"sqlite:///{tmp_path_factory.mktemp('outbox') / 'paceline.db'}")
    yield engine
    engine.dispose()


@pytest.fixture
def engine(database: Engine) -> Engine:
    """An empty incident database."""
    with database.begin() as connection:
        for table in (OUTBOX, LEASES):
            connection.execute(delete(table))
    return database


@pytest.fixture
def write(engine: Engine, slow_host_incident: Incident) -> Callable[..., None]:
    """A writer of letters: `write("a trigger", "a resolve")`."""
    body = {"incident": incident_json(slow_host_incident), "severity": "page"}

    def write_letters(*letters: str, created: datetime = START, **columns: Any) -> None:
        with engine.begin() as connection:
            for text in letters:
                dedup_key, action = text.split()
                row = {
                    "key": f"{dedup_key}:{action}:{created.isoformat()}",
                    "receiver": "team",
                    "dedup_key": dedup_key,
                    "action": action,
                    "body": body,
                    "due": created,
                    "created": created,
                    "attempts": 0,
                    "state": "waiting",
                }
                connection.execute(insert(OUTBOX).values(row | columns))

    return write_letters


def one_pass(engine: Engine, receiver: Fake, clock: Clock, claim_as: str = "one") -> Pass:
    """A pass to the only receiver there is."""
    return deliver_due(engine, {"team": receiver}, now=clock, claim_as=claim_as, params=PARAMS)


def states(engine: Engine) -> list[str]:
    """The letters' states, oldest first."""
    with engine.begin() as connection:
        return list(connection.execute(select(OUTBOX.c.state).order_by(OUTBOX.c.id)).scalars())


def test_delivered_once(engine: Engine, write: Callable[..., None]) -> None:
    """What was taken is not sent again, and says what the policy filed."""
    write("a trigger")
    team, clock = Fake(), Clock()

    passes = [one_pass(engine, team, clock), one_pass(engine, team, clock)]

    assert passes == [Pass(delivered=1), Pass()]
    assert [(one.dedup_key, one.incident.severity) for one in team.got] == [("a", "page")]


def test_order(engine: Engine, write: Callable[..., None]) -> None:
    """A resolve waits for its trigger; letters about other things do not."""
    write("a trigger", "a resolve", "b trigger")
    team, clock = Fake(answers=[Later(reason="busy")]), Clock()

    one_pass(engine, team, clock)
    one_pass(engine, team, clock)
    clock.pass_by(2)
    one_pass(engine, team, clock)

    assert team.told == ["a trigger", "b trigger", "a trigger", "a resolve"]


def test_down_for_an_hour(engine: Engine, write: Callable[..., None]) -> None:
    """A receiver that is down costs one try a pass, loses nothing, and soon hears everything."""
    write(*(f"{name} trigger" for name in "abcdefgh"), "a resolve")
    team, clock = Fake(is_down=True), Clock()
    for _ in range(60):
        one_pass(engine, team, clock)
        clock.pass_by(60)
    tries = len(team.got)
    team.is_down = False
    for _ in range(3):
        one_pass(engine, team, clock)
        clock.pass_by(60)

    assert tries <= 60
    assert set(states(engine)) == {"delivered"}
    assert sorted(team.told[tries:]) == sorted(
        [*(f"{one} trigger" for one in "abcdefgh"), "a resolve"]
    )
    assert team.told.index("a resolve") > max(
        place for place, told in enumerate(team.told) if told == "a trigger"
    )


def test_rest(engine: Engine, write: Callable[..., None]) -> None:
    """A receiver that asks for a rest is left alone by every letter, and no longer than that."""
    write("a trigger", "b trigger")
    team, clock = Fake(answers=[Later(reason="answered 429", rest_seconds=60.0)]), Clock()

    one_pass(engine, team, clock)
    clock.pass_by(59)
    during = one_pass(engine, team, clock)
    clock.pass_by(1)
    after = one_pass(engine, team, clock)

    assert (during, after) == (Pass(), Pass(delivered=2))


def test_gap(engine: Engine, write: Callable[..., None]) -> None:
    """A receiver that takes one letter a second gets one a second."""
    write("a trigger", "b trigger", "c trigger")
    team, clock = Fake(min_gap_seconds=1.0), Clock()
    counts = []
    for _ in range(6):
        one_pass(engine, team, clock)
        counts.append(len(team.got))
        clock.pass_by(0.5)

    assert counts == [1, 1, 2, 2, 3, 3]


def test_dead(engine: Engine, write: Callable[..., None]) -> None:
    """What is refused is put aside with the reason, holds nothing up, and can be tried again."""
    write("a trigger", "a resolve")
    team, clock = Fake(answers=[Refused(reason="answered 400: no such key")]), Clock()

    one_pass(engine, team, clock)
    (dead,) = dead_letters(engine)
    before = backlogs(engine)
    revived = revive_letters(engine, [dead.key], now=clock())
    one_pass(engine, team, clock)

    assert (dead.receiver, dead.action, dead.reason, revived) == (
        "team",
        "trigger",
        "answered 400: no such key",
        1,
    )
    assert [(one.receiver, one.waiting_count, one.dead_count) for one in before] == [("team", 0, 1)]
    assert team.told == ["a trigger", "a resolve", "a trigger"]
    assert (dead_letters(engine), backlogs(engine)) == ([], [])


def test_killed_while_sending(engine: Engine, write: Callable[..., None]) -> None:
    """A worker that dies between sending and writing leaves a letter that another sends again."""
    write("a trigger", "a resolve")
    team, clock = Fake(answers=[SystemExit()]), Clock()
    with pytest.raises(SystemExit):
        one_pass(engine, team, clock)

    at_once = one_pass(engine, team, clock, "two")
    clock.pass_by(PARAMS.claims.lease_seconds)
    later = one_pass(engine, team, clock, "two")

    assert (at_once, later) == (Pass(), Pass(delivered=2))
    assert team.told == ["a trigger", "a trigger", "a resolve"]
    assert len({letter.key for letter in team.got[:2]}) == 1


def test_slept_through_its_lease(engine: Engine, write: Callable[..., None]) -> None:
    """A worker whose claim went to another writes nothing about the letter any more."""
    write("a trigger")
    clock, fast = Clock(), Fake()

    def sleep() -> None:
        clock.pass_by(PARAMS.claims.lease_seconds)
        one_pass(engine, fast, clock, "two")

    slow = Fake(answers=[Refused(reason="late")], meanwhile=sleep)
    one_pass(engine, slow, clock)

    assert (slow.told, fast.told, states(engine)) == (["a trigger"], ["a trigger"], ["delivered"])


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Later(reason="busy"), id="while a letter waits for another try"),
        pytest.param(Later(reason="busy", rest_seconds=3000), id="while a receiver rests"),
        pytest.param(SystemExit(), id="while a dead worker's lease lasts"),
    ],
)
def test_clock_set_back(
    engine: Engine, write: Callable[..., None], answer: Answer | BaseException
) -> None:
    """A clock that is set back by an hour neither stalls letters nor sends them twice."""
    write("a trigger")
    team, clock = Fake(answers=[answer]), Clock()
    with suppress(SystemExit):
        one_pass(engine, team, clock)
    clock.time -= HOUR
    write("b trigger", created=START + timedelta(seconds=1))
    for _ in range(4):
        one_pass(engine, team, clock)
        clock.pass_by(1)

    assert sorted(team.told) == ["a trigger", "a trigger", "b trigger"]
    assert set(states(engine)) == {"delivered"}


def test_quiet_hours_are_kept(engine: Engine, write: Callable[..., None]) -> None:
    """A letter that the policy wants sent later is sent then."""
    write("a trigger", due=START + 8 * HOUR)
    team, clock = Fake(), Clock()
    before = one_pass(engine, team, clock)
    clock.time += 8 * HOUR

    assert (before, one_pass(engine, team, clock)) == (Pass(), Pass(delivered=1))


def test_renewals(engine: Engine, write: Callable[..., None]) -> None:
    """A forgetful receiver is told again until the end, and of the end a few times."""
    write("a trigger")
    team, clock = Fake(renewal=Renewal(every_seconds=60, resolve_count=2)), Clock()
    for at in range(60):
        if at == 25:
            write("a resolve", created=clock())
        one_pass(engine, team, clock)
        clock.pass_by(20)

    firing = [letter for letter in team.got if letter.action == "trigger"]
    ended = [letter for letter in team.got if letter.action == "resolve"]
    assert (len(firing), len(ended)) == (1 + 500 // 60, 1 + 2)
    assert team.told[: len(firing)] == ["a trigger"] * len(firing)
    assert [letter.standing is None for letter in ended] == [False] * 3


def test_renewals_and_clock(engine: Engine, write: Callable[..., None]) -> None:
    """A clock that is set back brings one reminder early, and then the usual ones."""
    write("a trigger")
    team, clock = Fake(renewal=Renewal(every_seconds=60)), Clock()
    one_pass(engine, team, clock)
    clock.time -= HOUR
    for _ in range(12):
        one_pass(engine, team, clock)
        clock.pass_by(10)

    assert len(team.got) == 1 + 1 + 1


def test_killed_while_renewing(engine: Engine, write: Callable[..., None]) -> None:
    """A reminder that a dead worker held keeps no resolve waiting, wherever the clock goes."""
    write("a trigger")
    team, clock = Fake(renewal=Renewal(every_seconds=60)), Clock()
    one_pass(engine, team, clock)
    clock.pass_by(60)
    team.answers = [SystemExit()]
    with suppress(SystemExit):
        one_pass(engine, team, clock)
    write("a resolve", created=clock())
    held = one_pass(engine, team, clock)
    clock.time -= HOUR
    one_pass(engine, team, clock)

    assert held == Pass()
    assert team.told == ["a trigger", "a trigger", "a resolve"]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Delivered(), id="was told"),
        pytest.param(Refused(reason="no"), id="was refused"),
    ],
)
def test_no_reminder_after_the_end(
    engine: Engine, write: Callable[..., None], answer: Answer
) -> None:
    """Whoever is reminded of what has ended would be woken again: after the end nothing is said."""
    write("a trigger")
    team, clock = Fake(), Clock()
    one_pass(engine, team, clock)
    team.answers = [Later(reason="down"), answer]
    write("a renew")
    one_pass(engine, team, clock)
    write("a resolve")
    for _ in range(3):
        clock.pass_by(200)
        one_pass(engine, team, clock)

    assert team.told == ["a trigger", "a trigger", "a resolve"]


def test_acknowledgement_keeps_renewals(engine: Engine, write: Callable[..., None]) -> None:
    """That somebody is at it does not end the reminders, and a second trigger begins them anew."""
    write("a trigger", "a acknowledge", "a resolve")
    team, clock = Fake(renewal=Renewal(every_seconds=60, resolve_count=1)), Clock()
    one_pass(engine, team, clock)
    write("a trigger", created=START + timedelta(seconds=1))
    clock.pass_by(60)
    one_pass(engine, team, clock)
    clock.pass_by(60)
    one_pass(engine, team, clock)

    assert team.told == [
        "a trigger",
        "a acknowledge",
        "a resolve",
        "a trigger",
        "a trigger",
    ]


def test_unreadable(engine: Engine, write: Callable[..., None]) -> None:
    """A letter that holds no incident, or asks for what nobody knows, is dead and says why."""
    write("a trigger", body={"incident": {"title": "x"}})
    write("b shout")
    write("c trigger", body={"incident": "an id"})

    done = one_pass(engine, Fake(), Clock())

    assert done == Pass(refused=3)
    assert [letter.reason[:39] for letter in dead_letters(engine)] == [
        "wanted an incident, found wrong or miss",
        "wanted trigger, acknowledge or resolve,",
        "wanted an incident, found wrong or miss",
    ]


def test_fault_of_ours(
    engine: Engine, write: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """A fault in a receiver's code is told by its name alone, and loses no letter."""
    write("a trigger", "b trigger")
    team, clock = Fake(answers=[KeyError("s3cret")]), Clock()
    with caplog.at_level(logging.DEBUG):
        first = one_pass(engine, team, clock)
    clock.pass_by(2)

    assert (first, one_pass(engine, team, clock)) == (Pass(later=1), Pass(delivered=2))
    assert "KeyError" in caplog.text
    assert "s3cret" not in caplog.text


def test_nobody_of_that_name(engine: Engine, write: Callable[..., None]) -> None:
    """A letter to a receiver that is not configured waits and is seen to wait."""
    write("a trigger")

    done = deliver_due(engine, {"other": Fake()}, now=Clock(), claim_as="one")

    assert (done, [one.waiting_count for one in backlogs(engine)]) == (Pass(), [1])


def test_threads(
    engine: Engine, write: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """Each receiver has a thread; one that is stuck, or whose pass fails, holds up no other."""
    write("a trigger")
    write("b trigger", receiver="stuck")
    write("c trigger", receiver="broken")
    stop, freed = threading.Event(), threading.Event()
    team = Fake(meanwhile=freed.set)
    receivers = {
        "team": team,
        "stuck": Fake(meanwhile=lambda: (freed.wait(10), stop.set())),
        "broken": None,
    }
    run_couriers(engine, receivers, stop=stop, now=Clock(), claim_as="one")

    assert (team.told, freed.is_set()) == (["a trigger"], True)
    assert "a pass to receiver broken failed: AttributeError" in caplog.text


def test_lease_rows_are_few(engine: Engine, write: Callable[..., None]) -> None:
    """A rest takes one row a receiver, however often it begins."""
    write("a trigger", "b trigger")
    team, clock = Fake(min_gap_seconds=1.0), Clock()
    for _ in range(2):
        one_pass(engine, team, clock)
        clock.pass_by(1)
    with engine.begin() as connection:
        names = list(connection.execute(select(LEASES.c.name)).scalars())

    assert names == ["rest of receiver team"]
