"""Tests of how the incident database is opened and migrated."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Event

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, func, insert, select, text

from alerts.storing.databases import (
    DatabaseUnreachableError,
    DatabaseUrlError,
    DatabaseVersionError,
    downgrade,
    open_database,
    reading,
    writing,
)
from alerts.storing.tables import CURSORS, LEASES, METADATA
from alerts.zoned_times import ZonelessTimeError

NOON = datetime(2026, 1, 5, 12, 0, 0, 123456, tzinfo=UTC)


def lease(connection: Connection, name: str, until: datetime = NOON) -> None:
    """Write a lease, as the smallest row with a time."""
    connection.execute(insert(LEASES).values(name=name, holder="a", until=until))


def test_tables(database_url: str) -> None:
    """The steps make the tables that the code has, down to indexes, and can take them away."""
    engine = open_database(database_url)
    with writing(engine) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        told = compare_metadata(context, METADATA)
        downgrade(connection, "base")
        left = compare_metadata(MigrationContext.configure(connection), METADATA)
    engine.dispose()

    added = [one for one in left if one[0] == "add_table"]
    assert (told, len(added)) == ([], len(METADATA.tables))


def test_two_at_once(database_url: str) -> None:
    """Several processes that open an empty database at once all find it made, once."""
    with ThreadPoolExecutor(4) as pool:
        engines = list(pool.map(open_database, [database_url] * 4))
    with reading(engines[0]) as connection:
        versions = connection.execute(text("SELECT version_num FROM alembic_version")).all()
    for engine in engines:
        engine.dispose()

    assert [tuple(one) for one in versions] == [("0002",)]


def test_values(database_url: str) -> None:
    """Times keep their microseconds and come back in UTC; what is no number is null."""
    engine = open_database(database_url)
    eastern = NOON.astimezone(timezone(timedelta(hours=-5)))
    body = {"nan": float("nan"), "text": "a\x00b ☃", "list": [1, 0.1]}
    with writing(engine) as connection:
        lease(connection, "a\x00", eastern)
        connection.execute(insert(CURSORS).values(name="watch", body=body))
    with reading(engine) as connection:
        row = connection.execute(select(LEASES).where(LEASES.c.until == NOON)).one()
        told = connection.execute(select(CURSORS.c.body)).scalar_one()
    engine.dispose()

    assert (row.name, row.until, row.until.tzinfo) == ("a�", NOON, UTC)
    assert told == {**body, "nan": None}


def test_naive_times(tmp_path: Path) -> None:
    """A time without a zone is refused before it reaches the database."""
    engine = open_database(f"sqlite:///{tmp_path / 'incidents.db'}")
    with pytest.raises(ZonelessTimeError), writing(engine) as connection:
        lease(connection, "a", NOON.replace(tzinfo=None))
    engine.dispose()


def test_writers(database_url: str) -> None:
    """Writers wait for each other and none is lost; a reader waits for none, and sees one state."""
    engine = open_database(database_url)
    with writing(engine) as connection:
        connection.execute(insert(CURSORS).values(name="n", body=0))

    def add(_: int) -> None:
        with writing(engine) as connection:
            count = connection.execute(select(CURSORS.c.body)).scalar_one()
            connection.execute(CURSORS.update().values(body=count + 1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(12)))
    begun, done = Event(), Event()

    def hold() -> None:
        with writing(engine) as connection:
            connection.execute(CURSORS.update().values(body=99))
            begun.set()
            done.wait(10)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold)
        begun.wait(10)
        with reading(engine) as connection:
            first = connection.execute(select(CURSORS.c.body)).scalar_one()
            done.set()
            pool.shutdown()
            second = connection.execute(select(CURSORS.c.body)).scalar_one()
    with reading(engine) as connection:
        last = connection.execute(select(CURSORS.c.body)).scalar_one()
    engine.dispose()

    assert (first, second, last) == (12, 12, 99)


def test_all_or_nothing(database_url: str) -> None:
    """A block that raises leaves nothing behind."""
    engine = open_database(database_url)

    def fail() -> None:
        with writing(engine) as connection:
            lease(connection, "a")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with reading(engine) as connection:
        count = connection.execute(select(func.count()).select_from(LEASES)).scalar_one()
    engine.dispose()

    assert count == 0


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        pytest.param("incidents.db", DatabaseUrlError, "no URL", id="a path"),
        pytest.param("mysql://a:hush@b/c", DatabaseUrlError, "kind 'mysql'", id="another kind"),
        pytest.param("sqlite://", DatabaseUrlError, "in memory", id="nowhere"),
        pytest.param("sqlite:///:memory:", DatabaseUrlError, "in memory", id="memory"),
        pytest.param(
            "sqlite:////nowhere/a.db", DatabaseUnreachableError, "may write", id="no folder"
        ),
        pytest.param(
            "postgresql://a:hush@127.0.0.1:1/c",
            DatabaseUnreachableError,
            "a:\\*\\*\\*@127.0.0.1",
            id="no server",
        ),
    ],
)
def test_refusals(url: str, error: type[Exception], message: str) -> None:
    """What cannot be opened is refused with the way out and without the password."""
    with pytest.raises(error, match=message) as told:
        open_database(url)

    assert "hush" not in str(told.value)


def test_a_later_release(tmp_path: Path) -> None:
    """A database that a later release has migrated is left alone."""
    url = f"sqlite:///{tmp_path / 'incidents.db'}"
    engine = open_database(url)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()

    with pytest.raises(DatabaseVersionError, match="newer release"):
        open_database(url)


def test_no_database(tmp_path: Path) -> None:
    """A file that is no database is not written over."""
    path = tmp_path / "notes.txt"
    path.write_text("a shopping list, long enough to be no header of anything", encoding="utf-8")

    with pytest.raises(DatabaseUnreachableError, match="not a database"):
        open_database(f"sqlite:///{path}")
    assert path.read_text(encoding="utf-8").startswith("a shopping list")


def test_sqlite_settings(tmp_path: Path) -> None:
    """SQLite keeps what was committed when the power goes, and checks what names what."""
    engine = open_database(f"sqlite:///{tmp_path / 'incidents.db'}")
    with reading(engine) as connection:
        names = ("journal_mode", "synchronous", "foreign_keys")
        told = [connection.exec_driver_sql(f"PRAGMA {one}").scalar_one() for one in names]
    engine.dispose()

    assert told == ["wal", 2, 1]


def test_backup_of_sqlite(tmp_path: Path) -> None:
    """The backup that the guide tells of holds what was committed, while a writer is at work."""
    engine = open_database(f"sqlite:///{tmp_path / 'incidents.db'}")
    with writing(engine) as connection:
        lease(connection, "kept")
    with writing(engine) as connection:
        lease(connection, "not yet")
        with (
            sqlite3.connect(tmp_path / "incidents.db") as source,
            sqlite3.connect(tmp_path / "backup.db") as target,
        ):
            source.backup(target)
    source.close()
    target.close()
    engine.dispose()

    copy = open_database(f"sqlite:///{tmp_path / 'backup.db'}")
    with reading(copy) as connection:
        names = connection.execute(select(LEASES.c.name)).scalars().all()
    copy.dispose()
    assert names == ["kept"]
