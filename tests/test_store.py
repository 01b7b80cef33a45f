"""The store: what is appended is there once, whole, and read without opening what is not asked."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from collectors.frames import JOBS, LABEL, SAMPLES, conform
from collectors.readings import FRAMES, Reading, join_readings, reading_of
from collectors.storage.store import Store, Wanted, is_store
from collectors.storage.store_commits import (
    NoStoreError,
    Place,
    StoreBusyError,
    StoreWriteError,
    commit_part,
    retried,
)
from collectors.storage.store_migrations import NewerStoreError
from collectors.storage.store_tables import TABLES
from collectors.storage.store_upkeep import drop_unread_files

DAY = datetime(2026, 1, 5, tzinfo=UTC)
SCHEMAS = Path(__file__).parent / "data" / "store_schemas"


def samples(*minutes: int, host: str = "n1", value: float = 1.0) -> Reading:
    """One sample of a GPU at each minute after DAY."""
    times = [DAY + timedelta(minutes=minute) for minute in minutes]
    kept = pl.DataFrame({"time": times}).with_columns(
        pl.lit(host).alias("host"),
        value=pl.lit(value),
        device_kind=pl.lit("gpu"),
        device=pl.lit("GPU-1"),
        signal=pl.lit("power_watts"),
        source=pl.lit("s"),
    )
    return reading_of(samples=kept)


def minutes_of(store: Store, wanted: Wanted | None = None) -> list[int]:
    """The minutes after DAY of all samples, in order."""
    times = store.read("samples", wanted).collect()["time"].sort()
    return [int((time - DAY) / timedelta(minutes=1)) for time in times]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store.open_at(str(tmp_path / "store"), create=True)


def everything() -> Reading:
    """A row in each frame: every text is 'x', every number 1, every list has one entry."""
    values = {
        pl.String: "x",
        pl.Float64: 1.0,
        pl.Int32: 1,
        pl.Int64: 1,
        pl.UInt64: 2**64 - 1,
        pl.Datetime: DAY,
    }
    lists = {
        pl.List(pl.String): ["x"],
        pl.List(pl.Int32): [1],
        pl.List(LABEL): [{"key": "k", "value": "v"}],
    }
    frames = {
        name: pl.DataFrame(
            {
                column: [lists[kind] if kind.is_nested() else values[kind.base_type()]]
                for column, kind in schema.items()
            },
            schema=schema,
        )
        for name, schema in FRAMES.items()
    }
    return reading_of(**frames)


def test_what_is_stored_comes_back(store: Store) -> None:
    """Each frame comes back with its schema and its values, also counts of 64 bits and lists."""
    store.append(everything(), "file", 1)

    found = store.read_all()
    assert {name: found.frame(name).to_dicts() for name in FRAMES} == {
        name: everything().frame(name).to_dicts() for name in FRAMES
    }
    assert {name: found.frame(name).schema for name in FRAMES} == dict(FRAMES)


def test_rows_without_time_are_stored(store: Store) -> None:
    """A row of which no time is known is read when no span is asked, and in no span."""
    undated = reading_of(events=pl.DataFrame({"kind": ["oom"], "source": ["s"]}))
    store.append(undated, "file", 1)
    store.append_new(undated, "other")

    whole = store.read("events").collect()["kind"].to_list()
    spans = [Wanted(since=DAY), Wanted(until=DAY)]
    assert whole == ["oom"]
    assert [store.read("events", span).collect().height for span in spans] == [0, 0]


def test_a_part_is_stored_once(store: Store) -> None:
    """The same part of the same origin again has no effect; another part, or origin, has."""
    added = [
        store.append(samples(1), "a", 1),
        store.append(samples(1), "a", 1),
        store.append(samples(2), "a", 2),
        store.append(samples(1), "a", 1),
        store.append(samples(3), "b", 1),
    ]

    assert added == [{"samples": 1}, {}, {"samples": 1}, {}, {"samples": 1}]
    assert minutes_of(store) == [1, 2, 3]


def test_a_cut_between_two_tables_heals(store: Store) -> None:
    """When only some tables got a part, the same part again fills the others and no more."""
    both = join_readings([samples(1), everything()])
    table = TABLES["samples"]
    commit_part(store.place, "samples", table.to_stored(both.samples), "a", 1)

    added = store.append(both, "a", 1)

    assert added == {name: 1 for name in FRAMES if name != "samples"}
    assert store.read("samples").collect().height == 2


def test_only_new_rows_are_appended(store: Store) -> None:
    """Of rows that come again in other company only those that are new are stored."""
    added = [
        store.append_new(samples(1, 3), "a"),
        store.append_new(samples(1, 2, 3, value=9.0), "a"),
        store.append_new(samples(2, 2, host="n2"), "a"),
    ]

    assert added == [{"samples": 2}, {"samples": 1}, {"samples": 1}]
    assert store.read("samples").collect().sort("host", "time")["value"].to_list() == [1, 9, 1, 1]


def test_an_event_counted_again_is_one(store: Store) -> None:
    """An event whose count and place in the answer changed with the span is the same event."""
    event = {"time": [DAY], "kind": ["xid"], "code": ["79"], "source": ["s"]}
    store.append_new(reading_of(events=pl.DataFrame(event | {"count": [1], "position": [4]})), "a")
    store.append_new(reading_of(events=pl.DataFrame(event | {"count": [3], "position": [9]})), "a")

    assert store.read("events").collect()["count"].to_list() == [1]


def test_statements_are_kept_when_they_change(store: Store) -> None:
    """A name that still means the same device is stored once a day; one that moves, each time."""
    devices = [(0, "A"), (5, "A"), (10, "B"), (15, "A"), (20, "A"), (1455, "A"), (1460, "A")]
    for minute, device in devices:
        row = {
            "time": [DAY + timedelta(minutes=minute)],
            "host": ["n1"],
            "device_kind": ["gpu"],
            "device": [device],
            "alias_kind": ["index"],
            "alias": ["0"],
        }
        store.append_new(reading_of(aliases=pl.DataFrame(row)), "a")
        store.append_new(reading_of(aliases=pl.DataFrame(row)), "a")

    kept = store.read("aliases").collect().sort("time")
    minutes = [int((time - DAY) / timedelta(minutes=1)) for time in kept["time"]]
    assert list(zip(minutes, kept["device"], strict=True)) == [
        (0, "A"),
        (10, "B"),
        (15, "A"),
        (1460, "A"),
    ]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(Wanted(), [1, 2, 1500, 3000], id="no condition reads all"),
        pytest.param(Wanted(since=DAY + timedelta(minutes=2)), [2, 1500, 3000], id="since is in"),
        pytest.param(Wanted(until=DAY + timedelta(minutes=2)), [1], id="until is not"),
        pytest.param(Wanted(hosts=["n2"]), [1500], id="one host"),
        pytest.param(Wanted(sources=["t"]), [], id="no such source"),
        pytest.param(Wanted(signals=["power_watts"], hosts=["n1"]), [1, 2, 3000], id="a signal"),
    ],
)
def test_conditions(store: Store, wanted: Wanted, expected: list[int]) -> None:
    """A read returns the rows that fulfil each condition."""
    store.append(samples(1, 2, 3000), "a", 1)
    store.append(samples(1500, host="n2"), "a", 2)

    assert minutes_of(store, wanted) == expected


def scanned_files(plan: str) -> set[str]:
    """The days of the files that a plan opens."""
    return set(re.findall(r"day=(\d{4}-\d\d-\d\d)", plan))


def test_a_span_opens_its_days_only(store: Store) -> None:
    """A read of a span opens the files of its days, and of files within a day those that fit."""
    for part, start in enumerate((0, 600, 1440, 2880), start=1):
        store.append(samples(start, start + 1), "a", part)
    span = Wanted(since=DAY + timedelta(days=1), until=DAY + timedelta(days=2))
    morning = Wanted(until=DAY + timedelta(hours=1))

    assert scanned_files(store.read("samples", span).explain()) == {"2026-01-06"}
    assert store.read("samples", morning).explain().count(".parquet") == 1


def test_tables_of_a_store_without_rows(store: Store) -> None:
    """An empty store has every frame, empty."""
    assert all(store.read_all().frame(name).is_empty() for name in FRAMES)


def test_compaction_keeps_all_and_its_marks(store: Store) -> None:
    """Small files become one a day; the rows stay, and a part stored before is still known."""
    for part in range(1, 6):
        store.append(samples(part, 1440 + part), "a", part)
    fewer = store.compact()

    assert fewer == {"samples": 8}
    assert minutes_of(store) == [*range(1, 6), *range(1441, 1446)]
    assert store.append(samples(5), "a", 5) == {}
    assert store.compact() == {}


def test_forgetting_is_by_whole_days(store: Store) -> None:
    """Days before the moment's go; its own day, rows without a time and jobs stay."""
    store.append(everything(), "a", 1)
    store.append(samples(1440, 2880), "b", 1)
    undated = reading_of(samples=pl.DataFrame({"signal": ["x"]}))
    store.append(undated, "c", 1)
    fewer = store.forget_before(DAY + timedelta(days=1, hours=5))

    expected = {name for name, table in TABLES.items() if table.clock and name in FRAMES}
    assert fewer == dict.fromkeys(expected, 1)
    left = store.read("samples").collect()["time"].sort()
    assert left.to_list() == [None, DAY + timedelta(days=1), DAY + timedelta(days=2)]
    assert store.read("jobs").collect().height == 1
    with pytest.raises(ValueError, match="zone"):
        store.forget_before(datetime(2026, 1, 5))  # noqa: DTZ001 -- what is refused


def test_files_that_no_table_names_go(store: Store, tmp_path: Path) -> None:
    """What a killed writer or a compaction left goes after its time, and not before."""
    for part in range(1, 4):
        store.append(samples(part), "a", part)
    (tmp_path / "store" / "samples" / "day=2026-01-05" / "part-torn.parquet").write_bytes(b"PAR1")
    store.compact()

    assert drop_unread_files(store.place) == 0
    assert drop_unread_files(store.place, 0) >= 3
    assert minutes_of(store) == [1, 2, 3]


def test_no_store_is_an_error(tmp_path: Path) -> None:
    """A folder that is none is told from one that is, and reading it names the way out."""
    made = Store.open_at(str(tmp_path / "store"), create=True)
    Store.open_at(str(tmp_path / "store"), create=True)

    assert [is_store(tmp_path / "store"), is_store(tmp_path), is_store(tmp_path / "no")] == [
        True,
        False,
        False,
    ]
    with pytest.raises(NoStoreError, match="paceline collect"):
        Store.open_at(str(tmp_path))
    with pytest.raises(NoStoreError, match="no table 'gone'"):
        made.place.open("gone")


def test_a_store_by_address(tmp_path: Path) -> None:
    """An address of a storage is taken like a folder, with the options of the storage."""
    root = (tmp_path / "far").as_uri()
    store = Store.open_at(root, {"timeout": "30s"}, create=True)
    store.append(samples(1), "a", 1)

    assert minutes_of(Store.open_at(root, {"timeout": "30s"})) == [1]
    assert is_store(tmp_path / "far")


WRITER = """
import sys
from datetime import UTC, datetime, timedelta
import polars as pl
from collectors.readings import reading_of
from collectors.storage.store import Store
store = Store.open_at(sys.argv[1], create=True)
for part in range(1, 13):
    times = [datetime(2026, 1, 5, part, tzinfo=UTC) + timedelta(minutes=m) for m in range(50)]
    rows = reading_of(samples=pl.DataFrame({"time": times}).with_columns(signal=pl.lit("a")),
                      events=pl.DataFrame({"time": times}).with_columns(kind=pl.lit("b")))
    store.append(rows, "origin", part)
    store.append_new(reading_of(links=pl.DataFrame({"time": times})), "origin")
    if part % 6 == 0 and sys.argv[2] == "0":
        store.compact()
print("done")
"""


def test_writers_at_once(tmp_path: Path) -> None:
    """Writers of the same parts at the same time, one of them compacting, store each row once."""
    root = tmp_path / "store"
    command = [sys.executable, "-c", WRITER, str(root)]
    writers = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE) for number in range(3)
    ]
    said = [writer.communicate(timeout=120)[0] for writer in writers]

    store = Store.open_at(str(root))
    frames = [store.read(name).collect()["time"] for name in ("samples", "events", "links")]
    assert said == [b"done\n"] * 3
    assert [(times.len(), times.n_unique()) for times in frames] == [(600, 600)] * 3


def test_a_stale_writer_loses(store: Store) -> None:
    """A part that another writer committed since a table was opened is refused by Delta itself."""
    stale = store.place.open("samples")
    store.append(samples(1), "a", 1)

    def late(_: DeltaTable) -> int:
        transaction = CommitProperties(app_transactions=[Transaction("a", 1)])
        rows = TABLES["samples"].to_stored(samples(1).samples)
        write_deltalake(stale, rows, mode="append", commit_properties=transaction)
        return 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("collectors.storage.store_commits.MAX_WAIT_SECONDS", 0.0)
        patch.setattr("collectors.storage.store_commits.FIRST_WAIT_SECONDS", 0.0)
        with pytest.raises(StoreBusyError, match="in a row"):
            retried(store.place, "samples", late)
    assert minutes_of(store) == [1]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount the small disk that this test fills")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    """A full disk is one clear error; what was stored is readable, and the rest comes later."""
    filler = small_disk / "filler"
    store = Store.open_at(str(small_disk / "store"), create=True)
    store.append(samples(1), "a", 1)
    free = os.statvfs(small_disk)
    filler.write_bytes(b"0" * (free.f_bavail - 1) * free.f_frsize)

    with pytest.raises(StoreWriteError, match="its disk is full"):
        store.append(samples(*range(2, 3000)), "a", 2)
    with pytest.raises(StoreWriteError, match="its disk is full"):
        Store.open_at(str(small_disk / "other"), create=True)
    assert minutes_of(Store.open_at(str(small_disk / "store"))) == [1]

    filler.unlink()
    assert store.append(samples(2, 3), "a", 2) == {"samples": 2}
    assert minutes_of(store) == [1, 2, 3]


def stored_columns(name: str) -> dict[str, str]:
    """The columns of a table as text."""
    return {column: str(kind) for column, kind in TABLES[name].stored_schema.items()}


@pytest.mark.parametrize("name", TABLES, ids="table {}".format)
def test_a_changed_schema_is_a_migration(name: str) -> None:
    """Today's schema of each table is the recorded one of its version.

    When this fails, a frame changed: raise its version in store_tables, add the migration, and
    record the new schema; the old record stays, and with it the test of the migration.
    """
    path = SCHEMAS / f"{name}-{TABLES[name].version}.json"
    if os.environ.get("PACELINE_REWRITE_GOLDEN") == "1" and not path.exists():
        path.write_text(json.dumps(stored_columns(name), indent=1) + "\n", encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == stored_columns(name)


def test_samples_of_the_first_schema(tmp_path: Path) -> None:
    """Samples that were stored before `exact` and `wraps_at` stay, with nulls for both."""
    root = tmp_path / "store"
    old = {name: kind for name, kind in SAMPLES.items() if name not in {"exact", "wraps_at"}}
    rows = conform(samples(1).samples.lazy(), pl.Schema(old)).with_columns(day=date(2026, 1, 5))
    write_deltalake(
        str(root / "samples"),
        rows.collect(),
        partition_by=["day"],
        description="schema 1",
        commit_properties=CommitProperties(app_transactions=[Transaction("a", 1)]),
    )
    store = Store.open_at(str(root), create=True)
    exact = samples(2).samples.with_columns(
        exact=pl.lit(2**63, pl.UInt64), wraps_at=pl.lit(2.0**64)
    )
    added = [store.append(samples(1), "a", 1), store.append(reading_of(samples=exact), "a", 2)]

    found = store.read("samples").collect().sort("time")
    assert added == [{}, {"samples": 1}]
    assert found["exact"].to_list() == [None, 2**63]
    assert found.schema == SAMPLES
    assert store.place.open("samples").metadata().description == "schema 2"


def test_jobs_of_the_first_schema(tmp_path: Path) -> None:
    """Jobs that were stored before `gpus` stay, with null for it."""
    root = tmp_path / "store"
    old = pl.Schema({name: kind for name, kind in JOBS.items() if name != "gpus"})
    rows = conform(pl.LazyFrame({"run": ["7"], "world": [8]}), old).collect()
    write_deltalake(str(root / "jobs"), rows, description="schema 1")
    found = Store.open_at(str(root), create=True).read("jobs").collect()

    assert (found.schema, found.select("run", "world", "gpus").rows()) == (
        JOBS,
        [("7", 8, None)],
    )


def test_a_cut_migration_heals(tmp_path: Path) -> None:
    """A migration that was killed before the new version was written is taken again."""
    root = tmp_path / "store"
    store = Store.open_at(str(root), create=True)
    store.append(samples(1), "a", 1)
    store.place.open("samples").alter.set_table_description("schema 1")

    again = Store.open_at(str(root))
    assert again.place.open("samples").metadata().description == "schema 2"
    assert minutes_of(again) == [1]


def test_a_newer_store_is_refused(store: Store) -> None:
    """A store that a newer Paceline wrote is not read wrongly."""
    store.place.open("events").alter.set_table_description("schema 99")

    with pytest.raises(NewerStoreError, match="use a newer Paceline"):
        Store.open_at(store.place.root)


def test_a_store_that_may_not_be_written(tmp_path: Path) -> None:
    """A root below a file is one clear error."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(StoreWriteError, match="cannot write to the store"):
        Store.open_at(str(tmp_path / "file" / "store"), create=True)
    assert not Place(root=str(tmp_path / "file")).is_there("windows")
