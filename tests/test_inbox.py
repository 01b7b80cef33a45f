"""Messages become episodes, however often and in whichever order they come."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.exc import OperationalError

from alerts.delivery.http_calls import NoAnswerError
from alerts.intake.inbox import InboxParams
from alerts.intake.queueing import BodyError, queue_notification
from alerts.intake.working import run_inbox, work_inbox
from alerts.notifications import Notification, NotifiedAlert, parse_notification
from alerts.storing.databases import open_database
from alerts.storing.tables import ALERT_EPISODES, INBOX, LEASES

DAY = datetime(2026, 1, 5, tzinfo=UTC)
NEVER = "0001-01-01T00:00:00Z"
Row = tuple[str, str, str | None, str | None]


def clock(text: str) -> datetime:
    """A time of the day, as in `10:08`."""
    hour, minute = text.split(":")
    return DAY + timedelta(hours=int(hour), minutes=int(minute))


def alert(status: str, start: str, end: str | None = None, name: str = "f") -> dict[str, Any]:
    """An alert of a message."""
    return {
        "status": status,
        "labels": {"alertname": "Burn", "name": name},
        "startsAt": clock(start).isoformat(),
        "endsAt": clock(end).isoformat() if end else NEVER,
        "fingerprint": name,
    }


def body(*alerts: dict[str, Any], truncated: int = 0) -> bytes:
    """A message."""
    told = {
        "version": "4",
        "groupKey": "{}:{}",
        "status": "firing",
        "receiver": "paceline",
        "alerts": alerts,
        "truncatedAlerts": truncated,
        "of_a_later_version": True,
    }
    return json.dumps(told).encode()


@dataclass
class Source:
    """An Alertmanager that lists what a test says, or does not answer."""

    alerts: list[dict[str, Any]] | None = None
    asked: list[str] = field(default_factory=list)

    def group(self, notification: Notification, *, now: datetime) -> tuple[NotifiedAlert, ...]:
        """List a group."""
        del now
        return self.listed(notification.receiver)

    def everything(self, *, now: datetime) -> tuple[NotifiedAlert, ...]:
        """List everything."""
        del now
        return self.listed("everything")

    def listed(self, what: str) -> tuple[NotifiedAlert, ...]:
        """List what there is."""
        self.asked.append(what)
        if self.alerts is None:
            raise NoAnswerError("no answer: TimeoutError")
        return parse_notification(body(*self.alerts)).alerts


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An incident database for the module."""
    engine = open_database(f"sqlite:///{tmp_path_factory.mktemp('inbox') / 'paceline.db'}")
    yield engine
    engine.dispose()


@pytest.fixture
def engine(database: Engine) -> Engine:
    """An empty incident database."""
    return emptied(database)


def emptied(engine: Engine) -> Engine:
    """The database without messages, episodes and rests."""
    with engine.begin() as connection:
        connection.execute(delete(INBOX))
        connection.execute(delete(ALERT_EPISODES))
        connection.execute(delete(LEASES))
    return engine


def told(engine: Engine, *bodies: bytes, now: str = "12:00", source: Source | None = None) -> None:
    """Queue messages, and work the inbox after each."""
    for each in bodies:
        queue_notification(engine, each, now=clock(now))
        work_inbox(engine, now=clock(now), source=source)


def episodes(engine: Engine) -> list[Row]:
    """The episodes: fingerprint, beginning, end, why it ended."""
    columns = (
        ALERT_EPISODES.c[name] for name in ("fingerprint", "starts_at", "ends_at", "end_kind")
    )
    query = select(*columns).order_by(ALERT_EPISODES.c.starts_at, ALERT_EPISODES.c.fingerprint)
    with engine.begin() as connection:
        rows = connection.execute(query).all()
    return [(row[0], f"{row[1]:%H:%M}", row[2] and f"{row[2]:%H:%M}", row[3]) for row in rows]


def messages(engine: Engine) -> list[tuple[str, str | None]]:
    """The messages: state and error."""
    query = select(INBOX.c.state, INBOX.c.error).order_by(INBOX.c.id)
    with engine.begin() as connection:
        return [(row.state, row.error) for row in connection.execute(query)]


def test_order_not_kept(engine: Engine) -> None:
    """Case 51: the end comes before its beginning, and a later beginning opens an episode."""
    told(
        engine,
        body(alert("resolved", "10:00", "10:08")),
        body(alert("firing", "10:00")),
        body(alert("firing", "10:20")),
    )

    assert episodes(engine) == [("f", "10:00", "10:08", "resolved"), ("f", "10:20", None, None)]


STORY = [
    body(alert("firing", "10:00"), alert("firing", "10:01", name="g")),
    body(alert("resolved", "10:00", "10:08")),
    body(alert("firing", "10:20")),
    body(alert("resolved", "10:20", "10:30"), alert("resolved", "10:01", "10:09", name="g")),
]


@settings(max_examples=12)
@given(begun=st.permutations(STORY[:2]), repeats=st.lists(st.sampled_from(STORY), max_size=4))
def test_any_order(database: Engine, begun: list[bytes], repeats: list[bytes]) -> None:
    """Messages of one beginning in any order, and any of them again later, change nothing."""
    engine = emptied(database)
    told(engine, *begun, *STORY[2:], *repeats)

    assert episodes(engine) == [
        ("f", "10:00", "10:08", "resolved"),
        ("g", "10:01", "10:09", "resolved"),
        ("f", "10:20", "10:30", "resolved"),
    ]


def test_same_bytes(engine: Engine) -> None:
    """The same bytes are one row, which is looked at again: the alert still fires."""
    told(engine, body(alert("firing", "10:00")), now="10:01")
    told(engine, body(alert("firing", "10:00")), now="10:06")
    with engine.begin() as connection:
        seen = connection.execute(select(ALERT_EPISODES.c.last_seen)).scalar()

    assert (messages(engine), seen) == ([("done", None)], clock("10:06"))


def test_killed_before_it_was_worked(engine: Engine) -> None:
    """What waits when the service starts is worked, and text is read as JSON is."""
    for name in "ab":
        queue_notification(engine, body(alert("firing", "10:00", name=name)), now=clock("10:00"))
    with engine.begin() as connection:
        row = {"key": "x", "received": DAY, "body": body(alert("firing", "10:00")).decode()}
        connection.execute(insert(INBOX).values(**row, state="waiting", attempts=0))
    done = work_inbox(engine, now=clock("10:01"), params=InboxParams(batch_rows=2))

    assert (done.taken_count, [row[0] for row in episodes(engine)]) == (3, ["a", "b", "f"])


def test_refused(engine: Engine) -> None:
    """What is no notification is put aside with the reason, and holds nothing up."""
    told(engine, b'{"version": "5"}', body(alert("firing", "10:00")))
    with pytest.raises(BodyError, match="wanted JSON"):
        queue_notification(engine, b"{", now=DAY)

    states = messages(engine)
    assert [state for state, _ in states] == ["dead", "done"]
    assert str(states[0][1]).startswith("wanted a webhook of Alertmanager")
    assert len(episodes(engine)) == 1


def test_truncated(engine: Engine) -> None:
    """Case 53: what a message leaves out is asked for; until then it says 2 of 3."""
    three = [alert("firing", "10:00", name=name) for name in "abc"]
    source = Source()
    told(engine, body(*three[:2], truncated=1), source=source)
    before = (messages(engine), [row[0] for row in episodes(engine)])
    source.alerts = three
    work_inbox(engine, now=clock("12:01"), source=source)
    work_inbox(engine, now=clock("12:02"), source=source)

    assert before == ([("waiting", "2 of 3")], ["a", "b"])
    assert (messages(engine), [row[0] for row in episodes(engine)]) == (
        [("done", None)],
        ["a", "b", "c"],
    )
    assert source.asked == ["paceline", "paceline"]


@pytest.mark.parametrize(
    "source", [pytest.param(None, id="nobody to ask"), pytest.param(Source(), id="no answer")]
)
def test_stays_truncated(engine: Engine, source: Source | None) -> None:
    """Where nobody answers, how many of how many are known stays to be seen."""
    told(engine, body(alert("firing", "10:00"), truncated=2), source=source)
    for minute in range(30):
        work_inbox(engine, now=clock(f"13:{minute:02d}"), source=source)

    assert messages(engine) == [("done", "1 of 3")]


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        pytest.param([alert("firing", "10:00")], ("10:00", None, None), id="it still fires"),
        pytest.param([], ("10:00", "10:20", "expired"), id="it is not known any more"),
        pytest.param(None, ("10:00", None, None), id="nobody answers, which proves nothing"),
    ],
)
def test_quiet(
    engine: Engine, listed: list[dict[str, Any]] | None, expected: tuple[str, str, str]
) -> None:
    """An alert that nobody renewed for four intervals is looked for."""
    source = Source(alerts=listed)
    told(engine, body(alert("firing", "10:00")), now="10:00", source=source)
    for now in ("10:20", "10:21", "10:21"):
        work_inbox(engine, now=clock(now), source=source)

    assert (episodes(engine), source.asked) == ([("f", *expected)], ["everything"])


def test_quiet_with_an_end(engine: Engine) -> None:
    """Where nobody can be asked, silence ends only what was sent with an end."""
    told(engine, body(alert("firing", "10:00", "10:05"), alert("firing", "10:00", name="g")))
    work_inbox(engine, now=clock("13:00"))

    assert episodes(engine) == [("f", "10:00", "10:05", "expired"), ("g", "10:00", None, None)]


def test_quiet_and_back(engine: Engine) -> None:
    """An alert that was only quiet for a while goes on."""
    source = Source(alerts=[])
    told(engine, body(alert("firing", "10:00")), now="10:00")
    work_inbox(engine, now=clock("10:21"), source=source)
    told(engine, body(alert("firing", "10:00")), now="10:22")

    assert episodes(engine) == [("f", "10:00", None, None)]


def test_old_messages(engine: Engine) -> None:
    """What was folded a week ago is forgotten, once an hour; what is wrong stays to be seen."""
    told(engine, body(alert("firing", "10:00")), b"{}")
    counts = []
    for now in (clock("12:30"), clock("12:30") + timedelta(days=7)):
        work_inbox(engine, now=now)
        counts.append([state for state, _ in messages(engine)])

    assert counts == [["done", "dead"], ["dead"]]
    assert len(episodes(engine)) == 1


def test_loop(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """The loop goes on after a pass that failed, and ends when it is told to."""
    stop = threading.Event()
    times = [clock("10:01")]

    def now() -> datetime:
        if not times:
            stop.set()
            raise RuntimeError
        return times.pop()

    queue_notification(engine, body(alert("firing", "10:00")), now=clock("10:00"))
    run_inbox(engine, stop=stop, now=now)

    assert [row[0] for row in episodes(engine)] == ["f"]
    assert "a pass over the inbox failed: RuntimeError" in caplog.text


def test_many_senders(engine: Engine) -> None:
    """Senders that come at one time are all kept when they are answered, each body once."""
    bodies = [body(alert("firing", "10:00", name=f"{at % 20}")) for at in range(40)]
    counts = []

    def send(each: bytes) -> None:
        key = queue_notification(engine, each, now=clock("10:00"))
        with engine.begin() as connection:
            kept = connection.execute(select(INBOX.c.id).where(INBOX.c.key == key)).all()
        counts.append(len(kept))

    with ThreadPoolExecutor(max_workers=10) as pool:
        list(pool.map(send, bodies))

    assert counts == [1] * 40
    assert messages(engine) == [("waiting", None)] * 20


def test_a_write_that_fails(engine: Engine) -> None:
    """A write that fails is told to its own sender, and the next sender's is written."""
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE inbox RENAME TO away")
    with pytest.raises(OperationalError):
        queue_notification(engine, body(alert("firing", "10:00")), now=DAY)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE away RENAME TO inbox")
    told(engine, body(alert("firing", "10:20")))

    assert episodes(engine) == [("f", "10:20", None, None)]
