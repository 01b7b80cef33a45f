"""Tests of what ticks and people do to the incidents that are kept, and what is sent of it."""

import random
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select

from alerts.blast_radii import RunFacts
from alerts.faults import JoinParams
from alerts.firings import Firing
from alerts.incidents import Incident, join_incidents
from alerts.lifecycle import AlreadyResolvedError
from alerts.policies.policy_files import parse_policy
from alerts.storing.databases import open_database, reading, writing
from alerts.storing.incident_store import IncidentStore
from alerts.storing.maintenance_rows import MaintenanceError
from alerts.storing.notifying import Telling, notify
from alerts.storing.records import (
    IncidentFilters,
    IncidentRecord,
    MaintenanceWindow,
    PageRequest,
)
from alerts.storing.refreshing import take_tick
from alerts.storing.refusals import (
    RefusedMergeError,
    RefusedSplitError,
    ReusedKeyError,
    StaleVersionError,
    UnknownIncidentError,
)
from alerts.storing.tables import METADATA, OUTBOX
from detectors.verdicts import Subject, Verdict

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
POLICY = parse_policy(
    """
version: 1
receivers: [{name: oncall, repeat: 4h}, {name: chat}]
routes:
  - {match: {severity: page}, receivers: [oncall], continue: true}
  - {receivers: [chat]}
""",
    "policy.yml",
)


def minute(count: int) -> datetime:
    """Return a time some minutes after the start."""
    return START + timedelta(minutes=count)


def slow(rank: int, onset: int = 0, cleared: int | None = None, **other: Any) -> Verdict:
    """Return that a rank of run `orion` is slow from a minute on."""
    told: dict[str, Any] = {"kind": "slow", "level": "rank", "confidence": "high"}
    told["subject"] = Subject(run="orion", rank=rank, host=f"h{rank}")
    over = None if cleared is None else minute(cleared)
    found = minute(onset + 3)
    return Verdict(**{**told, **other}, onset=minute(onset), detected=found, cleared=over)


def burning(active: int = 5, resolved: int | None = None) -> Firing:
    """Return a burn of run `orion` that pages."""
    return Firing(
        objective="steps",
        title="steps",
        promise="99 %",
        run="orion",
        severity="page",
        long_seconds=3600,
        short_seconds=300,
        factor=14.4,
        active_at=minute(active),
        fired_at=minute(active),
        resolved_at=None if resolved is None else minute(resolved),
    )


def found(at: int, *verdicts: Verdict, burns: Sequence[Firing] = ()) -> list[Incident]:
    """Return the incidents of a tick at a minute."""
    return join_incidents(verdicts, burns, RunFacts.unknown(), JoinParams(), now=minute(at))


def listed(store: IncidentStore, **filters: Any) -> list[IncidentRecord]:
    """Return the incidents, oldest first."""
    page = store.find(IncidentFilters(**filters), PageRequest())
    return list(page.records[::-1])


def sent(store: IncidentStore) -> list[tuple[str, str, str]]:
    """Return action, receiver and severity of each message, in their order."""
    with reading(store.engine) as connection:
        rows = connection.execute(select(OUTBOX).order_by(OUTBOX.c.id)).mappings().all()
    return [(row["action"], row["receiver"], row["body"]["severity"]) for row in rows]


def kinds(store: IncidentStore, incident: str) -> list[tuple[str, str]]:
    """Return who did what to an incident, in order."""
    return [(one.actor, one.kind) for one in store.history(incident)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database, made once: tests take copies."""
    path = tmp_path_factory.mktemp("made") / "incidents.db"
    open_database(f"sqlite:///{path}").dispose()
    return path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Iterator[IncidentStore]:
    """A store in a SQLite file that tells of what the policy says."""
    path = shutil.copy(made, tmp_path)
    engine = open_database(f"sqlite:///{path}")
    yield IncidentStore(engine, telling=Telling(policy=POLICY))
    engine.dispose()


def test_a_whole_life(database_url: str) -> None:
    """From a ticket to a page, to its end and back: each step once, in either database."""
    engine = open_database(database_url)
    store = IncidentStore(engine, telling=Telling(policy=POLICY))
    store.refresh(found(3, slow(12)), now=minute(3))
    store.refresh(found(7, slow(12, onset=1), burns=[burning()]), now=minute(7))
    (record,) = listed(store)
    store.act(record.id, "acknowledge", actor="ann", at=minute(8), key="1")
    store.act(record.id, "note", actor="ann", at=minute(9), key="2", note="fan")
    over = found(20, slow(12, onset=1, cleared=15), burns=[burning(resolved=18)])
    store.refresh(over, now=minute(20))
    (ended,) = listed(store)
    store.refresh(found(40, slow(12, onset=30)), now=minute(40))
    (back,) = listed(store)
    told = (sent(store), kinds(store, record.id))
    engine.dispose()

    assert (ended.onset, ended.ttd_seconds, ended.ttm_seconds, ended.ttr_seconds) == (
        minute(1),
        120,
        840,
        840,
    )
    assert (ended.state, ended.assignee, back.state, back.assignee) == (
        "resolved",
        "ann",
        "open",
        "ann",
    )
    assert (back.onset, back.severity, back.reopened_count) == (minute(1), "ticket", 1)
    assert told == (
        [
            ("trigger", "chat", "ticket"),
            ("resolve", "chat", "page"),
            ("trigger", "chat", "page"),
            ("trigger", "oncall", "page"),
            ("acknowledge", "chat", "page"),
            ("acknowledge", "oncall", "page"),
            ("resolve", "chat", "page"),
            ("resolve", "oncall", "page"),
            ("trigger", "chat", "ticket"),
        ],
        [
            ("data", "opened"),
            ("data", "escalated"),
            ("ann", "acknowledge"),
            ("ann", "note"),
            ("data", "resolved"),
            ("data", "reopened"),
            ("data", "eased"),
        ],
    )


def test_two_instances(database_url: str) -> None:
    """Two instances that take the same tick at once keep each incident once, and tell it once."""
    engines = [open_database(database_url) for _ in range(2)]
    tick = found(60, slow(1), slow(3, onset=50))

    def take(number: int) -> int:
        store = IncidentStore(engines[number], telling=Telling(policy=POLICY))
        return len(store.refresh(tick, now=minute(60)))

    with ThreadPoolExecutor(2) as pool:
        changed = sorted(pool.map(take, range(2)))
    store = IncidentStore(engines[0])
    told = ([one.number for one in listed(store)], sent(store))
    for engine in engines:
        engine.dispose()

    assert (changed, told) == ([0, 2], ([1, 2], [("trigger", "chat", "ticket")] * 2))


def test_seen_before(store: IncidentStore) -> None:
    """What comes back too late is a new incident that knows of the old one."""
    store.refresh(found(20, slow(12, cleared=15)), now=minute(20))
    store.refresh(found(300, slow(12, onset=290)), now=minute(300))

    first, second = listed(store)
    assert [one.number for one in store.similar(second.id)] == [first.number]
    assert store.similar(first.id) == []


def test_the_same_tick(store: IncidentStore) -> None:
    """A tick that is taken again changes nothing and sends nothing."""
    tick = found(7, slow(12), slow(40, kind="lemon"), burns=[burning()])
    store.refresh(tick, now=minute(7))
    before = (listed(store), sent(store))

    assert (store.refresh(tick, now=minute(7)), listed(store), sent(store)) == ([], *before)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("ann", "ann", id="the same key"),
        pytest.param("merge", "merge", id="the same merge"),
        pytest.param("split", "split", id="the same split"),
    ],
)
def test_keys(store: IncidentStore, first: str, second: str) -> None:
    """What is asked twice under one key is done once."""
    store.refresh(found(9, slow(1), slow(2, onset=5)), now=minute(9))
    store.refresh(found(60, slow(1), slow(2, onset=5), slow(3, onset=50)), now=minute(60))
    joined, other = listed(store)

    def ask(what: str) -> IncidentRecord:
        by: dict[str, Any] = {"actor": "ann", "at": minute(61), "key": "k"}
        if what == "merge":
            return store.merge(joined.id, other.id, **by)
        if what == "split":
            last = store.verdicts(joined.id)[-1].id if not splits else splits[0]
            splits.append(last)
            return store.split(joined.id, [last], **by)
        return store.act(joined.id, "acknowledge", **by)

    splits: list[str] = []
    done = ask(first)
    before = (kinds(store, joined.id), sent(store))

    assert (ask(second), kinds(store, joined.id), sent(store)) == (done, *before)


def test_merge(store: IncidentStore) -> None:
    """What people merged stays one through all ticks, with all its history."""
    parts = (slow(1), slow(3, onset=50))
    store.refresh(found(60, *parts), now=minute(60))
    first, second = listed(store)
    store.act(second.id, "note", actor="bob", at=minute(61), key="1", note="same rack")
    whole = store.merge(first.id, second.id, actor="ann", at=minute(62), key="2")
    moved = (slow(1, onset=1), slow(3, onset=52))
    changes = store.refresh(found(63, *moved), now=minute(63))
    store.refresh(found(80, slow(1, onset=1, cleared=70), moved[1]), now=minute(80))
    (half,) = listed(store)
    store.refresh(
        found(90, slow(1, onset=1, cleared=70), slow(3, onset=52, cleared=85)), now=minute(90)
    )
    (over,) = listed(store)

    assert (whole.id, [one.after.id for one in changes]) == (first.id, [first.id])
    assert (half.state, over.state, over.resolved_at) == ("open", "resolved", minute(85))
    assert store.get(second.id).merged_into == first.id
    assert [one.body["subject"]["rank"] for one in store.verdicts(first.id)] == [1, 3]
    assert ("bob", "note") in kinds(store, first.id)
    assert [one.id for one in listed(store, merged=True)] == [first.id, second.id]
    assert sent(store)[-2:] == [("resolve", "chat", "ticket"), ("resolve", "chat", "ticket")]


def test_split(store: IncidentStore) -> None:
    """What people took apart stays apart through all ticks, until they put it together."""
    tick = (slow(1), slow(2, onset=5))
    store.refresh(found(9, *tick, burns=[burning()]), now=minute(9))
    (first,) = listed(store)
    taken = [one for one in store.verdicts(first.id) if one.body["subject"]["rank"] == 2]
    made = store.split(first.id, [taken[0].id], actor="ann", at=minute(10), key="1")
    store.refresh(found(12, slow(1, onset=1), slow(2, onset=6), burns=[burning()]), now=minute(12))
    told = {
        one.number: (
            [each.body["subject"]["rank"] for each in store.verdicts(one.id)],
            one.severity,
        )
        for one in listed(store)
    }
    store.merge(first.id, made.id, actor="ann", at=minute(13), key="2")
    store.refresh(found(14, *tick, burns=[burning()]), now=minute(14))

    assert told == {1: ([1], "page"), 2: ([2], "ticket")}
    assert [one.number for one in listed(store)] == [1]
    assert len(store.verdicts(first.id)) == 2


def test_joined_by_data(store: IncidentStore) -> None:
    """Two incidents that turn out to be one become one; the page keeps its name."""
    store.refresh(found(60, slow(1), slow(3, onset=50)), now=minute(60))
    first, second = listed(store)
    link = Verdict(
        kind="link_fault",
        level="link",
        subject=Subject(run="orion", link="h1:a - h3:b"),
        confidence="high",
        onset=minute(0),
        detected=minute(60),
    )
    changes = store.refresh(found(70, slow(1), slow(3, onset=50), link), now=minute(70))

    assert [(one.kind, one.after.number) for one in changes] == [("updated", 1), ("merged", 2)]
    assert (store.get(second.id).merged_into, kinds(store, first.id)[-2:]) == (
        first.id,
        [("data", "merged"), ("data", "retitled")],
    )


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        pytest.param(
            lambda s, _: s.act("gone", "resolve", actor="a", at=minute(9), key="2"),
            UnknownIncidentError,
            id="an incident that is not there",
        ),
        pytest.param(
            lambda s, one: s.act(one, "resolve", actor="a", at=minute(9), key="2", version=9),
            StaleVersionError,
            id="a version that is not the newest",
        ),
        pytest.param(
            lambda s, one: s.act(one, "resolve", actor="a", at=minute(9), key="1"),
            ReusedKeyError,
            id="a key that named something else",
        ),
        pytest.param(
            lambda s, one: s.act(one, "note", actor="b", at=minute(9), key="1", note="x"),
            ReusedKeyError,
            id="a key of somebody else",
        ),
        pytest.param(
            lambda s, one: s.merge(one, one, actor="a", at=minute(9), key="2"),
            RefusedMergeError,
            id="a merge with itself",
        ),
        pytest.param(
            lambda s, one: s.split(one, ["gone"], actor="a", at=minute(9), key="2"),
            RefusedSplitError,
            id="a split of what is not there",
        ),
        pytest.param(
            lambda s, one: s.split(
                one, [each.id for each in s.verdicts(one)], actor="a", at=minute(9), key="2"
            ),
            RefusedSplitError,
            id="a split that leaves nothing",
        ),
        pytest.param(
            lambda s, _: s.history("gone"), UnknownIncidentError, id="a history of nothing"
        ),
    ],
)
def test_refusals(store: IncidentStore, ask: Any, error: type[Exception]) -> None:
    """What cannot be done is refused by name, and nothing of it is kept."""
    store.refresh(found(9, slow(1)), now=minute(9))
    (record,) = listed(store)
    store.act(record.id, "note", actor="a", at=minute(9), key="1", note="x")
    before = (listed(store), kinds(store, record.id), sent(store))

    with pytest.raises(error):
        ask(store, record.id)
    assert (listed(store), kinds(store, record.id), sent(store)) == before


def test_a_refused_step(store: IncidentStore) -> None:
    """A step that the state does not allow is refused, and by the name of what it became."""
    store.refresh(found(60, slow(1), slow(3, onset=50)), now=minute(60))
    first, second = listed(store)
    store.merge(first.id, second.id, actor="ann", at=minute(61), key="1")
    store.act(second.id, "resolve", actor="ann", at=minute(62), key="2")

    assert store.get(first.id).state == "resolved"
    with pytest.raises(AlreadyResolvedError):
        store.act(first.id, "mitigate", actor="ann", at=minute(63), key="3")


def test_find(store: IncidentStore) -> None:
    """Incidents are found by state, severity, run, host, kind and time, page by page."""
    store.refresh(
        found(
            60,
            slow(1, cleared=5),
            slow(3, onset=50),
            slow(4, onset=20, kind="crash", cleared=21),
            slow(9, kind="lemon", subject=Subject(host="h9"), level="host"),
        ),
        now=minute(60),
    )

    def numbers(**filters: Any) -> list[int]:
        return [one.number for one in listed(store, **filters)]

    asked = [
        numbers(states=["resolved"]),
        numbers(severity="page"),
        numbers(run="orion", states=["open"]),
        numbers(host="h3"),
        numbers(kind="lemon"),
        numbers(since=minute(20)),
    ]
    first = store.find(IncidentFilters(), PageRequest(limit=3))
    second = store.find(IncidentFilters(), PageRequest(limit=3, before=first.next_before))
    assert asked == [[1, 3], [3], [4], [4], [2], [3, 4]]
    assert [[one.number for one in page.records] for page in (first, second)] == [[4, 3, 2], [1]]
    assert second.next_before is None
    with pytest.raises(ValueError, match="1 to 500"):
        PageRequest(limit=0)


def test_maintenance(store: IncidentStore) -> None:
    """Nothing is sent in a window of maintenance; the incident is kept, marked, and told after."""
    window = MaintenanceWindow(
        id="w", matchers={"host": "h1*"}, starts=minute(0), ends=minute(30), who="ann", why="fans"
    )
    store.put_maintenance(replace(window, why="tests"))
    store.put_maintenance(window)
    store.refresh(found(8, slow(1, onset=-60, cleared=2)), now=minute(8))
    store.act(listed(store)[0].id, "note", actor="ann", at=minute(8), key="1", note="over")
    store.refresh(found(9, slow(12)), now=minute(9))
    during = listed(store)[-1]
    quiet = sent(store)
    store.refresh(found(31, slow(12)), now=minute(31))
    after = listed(store)[-1]

    assert (during.maintenance, quiet, after.maintenance, sent(store)) == (
        "w",
        [],
        None,
        [("trigger", "chat", "ticket")],
    )
    assert store.maintenance(after=minute(29)) == [window]
    assert store.maintenance(after=minute(30)) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"matchers": {}}, "hide every fault", id="everything"),
        pytest.param({"matchers": {"cluster": "a"}}, "run, host and rack", id="another name"),
        pytest.param({"ends": minute(0)}, "after the start", id="no time"),
        pytest.param({"who": " "}, "who answers", id="nobody"),
    ],
)
def test_refused_maintenance(store: IncidentStore, change: dict[str, Any], message: str) -> None:
    """A window that is a mistake is refused."""
    window = MaintenanceWindow(
        id="w", matchers={"host": "h1"}, starts=minute(0), ends=minute(30), who="ann", why="fans"
    )

    with pytest.raises(MaintenanceError, match=message):
        store.put_maintenance(replace(window, **change))


def test_people_and_data(store: IncidentStore) -> None:
    """What people resolved stays so with the same evidence, and what they reopen stays open."""
    store.refresh(found(9, slow(1)), now=minute(9))
    (record,) = listed(store)
    store.act(record.id, "resolve", actor="ann", at=minute(10), key="1")
    store.refresh(found(11, slow(1)), now=minute(11))
    (resolved,) = listed(store)
    store.refresh(found(30, slow(1, cleared=25)), now=minute(30))
    store.act(record.id, "reopen", actor="ann", at=minute(31), key="2")
    store.refresh(found(32, slow(1, cleared=25)), now=minute(32))
    (reopened,) = listed(store)

    assert (resolved.state, resolved.resolved_by, reopened.state) == ("resolved", "ann", "open")


def test_taken_back(store: IncidentStore) -> None:
    """A clearing that newer data take back opens the incident again; older data do not."""
    store.refresh(found(9, slow(1)), now=minute(9))
    store.refresh(found(20, slow(1, cleared=15)), now=minute(20))
    store.refresh(found(12, slow(1)), now=minute(21))
    (stale,) = listed(store)
    store.refresh(found(22, slow(1)), now=minute(22))
    (back,) = listed(store)

    assert (stale.state, back.state) == ("resolved", "open")


Tick = tuple[int, tuple[Verdict, ...]]
STORY: list[Tick] = [
    (3, (slow(1),)),
    (9, (slow(1, onset=1), slow(2, onset=4))),
    (30, (slow(1, onset=1, cleared=20), slow(2, onset=4), slow(5, onset=25, kind="lemon"))),
    (45, (slow(2, onset=4, cleared=40), slow(1, onset=42), slow(7, onset=44))),
    (200, (slow(1, onset=42, cleared=60), slow(1, onset=190), slow(5, onset=25, kind="lemon"))),
]


def crash(store: IncidentStore, incidents: list[Incident], now: datetime) -> None:
    """Take a tick and fail at its very end, before it is kept."""
    with suppress(KeyError), writing(store.engine) as connection:
        changes = take_tick(connection, incidents, store.params, now=now)
        notify(connection, changes, store.telling, now=now)
        raise KeyError


def outcome(
    store: IncidentStore,
    steps: Sequence[tuple[list[Incident], datetime]],
    crashes: Sequence[bool] = (),
) -> Any:
    """Return what is kept and sent after some ticks, in a database that was emptied before.

    A tick that crashes is taken again.
    """
    with writing(store.engine) as connection:
        for table in reversed(METADATA.sorted_tables):
            connection.execute(delete(table))
    for (incidents, now), crashes_first in zip_longest(steps, crashes[: len(steps)]):
        if crashes_first:
            crash(store, incidents, now)
        store.refresh(incidents, now=now)
    records = [replace(one, updated=START, version=0) for one in listed(store, merged=True)]
    return records, [kinds(store, one.id) for one in records], sent(store)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    repeats=st.lists(st.integers(1, 2), min_size=5, max_size=5),
    crashes=st.lists(st.booleans(), min_size=5, max_size=10),
    seed=st.integers(0, 1000),
)
def test_any_order_repeats_and_crashes(
    store: IncidentStore, repeats: list[int], crashes: list[bool], seed: int
) -> None:
    """Shuffled rows, repeated ticks and crashes give the same incidents, histories, messages."""
    shuffler = random.Random(seed)
    steps: list[tuple[list[Incident], datetime]] = []
    for (at, verdicts), repeat in zip(STORY, repeats, strict=True):
        for _ in range(repeat):
            tick = found(at, *shuffler.sample(verdicts, len(verdicts)))
            steps.append((shuffler.sample(tick, len(tick)), minute(at)))
    straight = [(found(at, *verdicts), minute(at)) for at, verdicts in STORY]

    assert outcome(store, steps, crashes) == outcome(store, straight)


def test_one_incident_a_fault(store: IncidentStore) -> None:
    """What comes back soon is the same incident from its first onset on; what comes late is not."""
    records, _, _ = outcome(store, [(found(at, *rows), minute(at)) for at, rows in STORY])

    assert [(one.number, one.state, one.onset) for one in records] == [
        (1, "resolved", minute(1)),
        (2, "open", minute(25)),
        (3, "open", minute(190)),
    ]


def test_what_delivery_repeats(store: IncidentStore) -> None:
    """What the delivery repeats by itself is no message of the policy's."""
    store.refresh(found(9, slow(1)), now=minute(9))
    (record,) = listed(store)
    with writing(store.engine) as connection:
        row = dict(connection.execute(select(OUTBOX)).mappings().one())
        own = {**row, "id": None, "key": "chat:x:renew", "action": "renew"}
        connection.execute(insert(OUTBOX).values(**{k: v for k, v in own.items() if k != "id"}))
    store.act(record.id, "resolve", actor="ann", at=minute(10), key="1")

    assert sent(store)[-1] == ("resolve", "chat", "ticket")
