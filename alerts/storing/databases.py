"""Open the incident database: SQLite by default, PostgreSQL by URL; its tables are made up to date.

Source: SQLAlchemy, "SQLite: Serializable isolation, savepoints, transactional DDL": the driver's
own idea of transactions is switched off, and we say when one begins. A writer says so at once
(`BEGIN IMMEDIATE`): one that reads first and writes later may find that it cannot (SQLITE_BUSY
without waiting). In PostgreSQL a lock of the transaction has the same effect: writers of incidents
go one after the other, so that two instances never make two incidents of one fault.
"""

import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import orjson
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

BUSY_SECONDS: Final = 30.0
"""How long a writer waits for the one before it."""

_POLL_SECONDS: Final = 0.05

_LOCK: Final = 0x7061_6365
"""Number of the lock of writers in PostgreSQL; any that nobody else in the database uses."""

_READS: Final = "paceline_reads"
"""Execution option of a connection that begins without the lock of writers."""

_HAS_TURN: Final = "paceline_has_turn"
"""Key of a connection's `info`: it writes."""

_DRIVERS: Final = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+pg8000"}


class DatabaseUrlError(ValueError):
    """A URL names no database that incidents can be kept in."""


class DatabaseBusyError(RuntimeError):
    """Somebody else holds the database for longer than we wait."""


class DatabaseUnreachableError(ConnectionError):
    """A database does not answer, or its file cannot be opened."""


class DatabaseVersionError(RuntimeError):
    """A database was made by a later release."""


def open_database(url: str) -> Engine:
    """Return an engine over a database whose tables are up to date; the caller disposes of it.

    Several processes may open one at the same time: the first migrates, the others wait.

    Args:
        url: `sqlite:////absolute/path.db`, `sqlite:///relative.db` or
            `postgresql+pg8000://user:password@host/name`.

    Raises:
        DatabaseUrlError: The URL is none, names another kind of database, or one in memory.
        DatabaseUnreachableError: It does not answer, or its file cannot be opened.
        DatabaseVersionError: A later release has migrated it.
        DatabaseBusyError: Another process held the database for `BUSY_SECONDS`.
    """
    parsed = _checked(url)
    engine = _engine(parsed)
    try:
        _use_wal(engine)
        with writing(engine) as connection:
            migrate(connection)
    except (DBAPIError, sqlite3.Error) as error:
        engine.dispose()
        found = error.orig if isinstance(error, DBAPIError) else error
        raise DatabaseUnreachableError(
            f"wanted a database at {parsed.render_as_string(hide_password=True)}, found: {found}; "
            "check that it is there and that this user may write to it"
        ) from error
    return engine


def migrate(connection: Connection, revision: str = "head") -> None:
    """Bring the tables to a revision, within the transaction that the connection is in.

    Raises:
        DatabaseVersionError: The tables are at a revision that this release does not know.
    """
    try:
        command.upgrade(_config(connection), revision)
    except CommandError as error:
        raise DatabaseVersionError(
            f"wanted a database of this release or an earlier one, found: {error}; "
            "run the newer release, or restore a backup from before it"
        ) from error


def downgrade(connection: Connection, revision: str) -> None:
    """Bring the tables back to a revision, within the transaction that the connection is in."""
    command.downgrade(_config(connection), revision)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", "alerts.storing:migrations")
    config.attributes["connection"] = connection
    return config


@contextmanager
def reading(engine: Engine) -> Generator[Connection, None, None]:
    """Give a connection that sees one state of the database and waits for no writer."""
    options: dict[str, Any] = {_READS: True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Generator[Connection, None, None]:
    """Give a connection whose writes are all kept when the block ends, or none when it raises.

    One block at a time, over all processes. What needs no such order, as the claim of one row, may
    use `engine.begin()`; in SQLite that is the same.
    """
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        yield connection


def _checked(url: str) -> URL:
    """Return a URL with the driver that we ship, or refuse it."""
    wanted = "wanted sqlite:///PATH or postgresql+pg8000://USER:PASSWORD@HOST/NAME"
    try:
        parsed = make_url(url)
    except ArgumentError:
        # The text may hold a password: neither it nor the error that quotes it is passed on.
        raise DatabaseUrlError(f"{wanted}, found what is no URL of a database") from None
    backend = parsed.get_backend_name()
    if backend not in _DRIVERS:
        raise DatabaseUrlError(f"{wanted}, found a database of kind '{backend}'")
    if backend == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise DatabaseUrlError(f"{wanted}, found a database in memory: it would forget incidents")
    return parsed.set(drivername=_DRIVERS[backend])


def _engine(url: URL) -> Engine:
    is_sqlite = url.get_backend_name() == "sqlite"
    engine = create_engine(
        url,
        json_serializer=_json_text,
        json_deserializer=_json_value,
        connect_args={"timeout": BUSY_SECONDS},
        pool_pre_ping=not is_sqlite,
    )
    if is_sqlite:
        queue = _WriterQueue()
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", queue.begin)
        event.listen(engine, "checkin", queue.leave)
    return engine


class _WriterQueue:
    """Writers of this process, one after the other.

    SQLite lets one write at a time and has the others sleep, ever longer, up to 100 ms a look: a
    sender of alerts would notice. Here the next is woken when the one before it is done.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def begin(self, connection: Connection) -> None:
        """Begin a transaction; one that writes says so at once, when it is its turn."""
        if connection.get_execution_options().get(_READS, False):
            connection.exec_driver_sql("BEGIN")
            return
        # Whoever waits longer than this hears from SQLite that the database is busy.
        connection.info[_HAS_TURN] = self._turn.acquire(timeout=BUSY_SECONDS)
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def leave(self, _connection: object, record: ConnectionPoolEntry) -> None:
        """Let the next one write, when a transaction is over and its connection given back."""
        if record.info.pop(_HAS_TURN, False):
            self._turn.release()


def _json_text(value: Any) -> str:  # noqa: ANN401 -- any JSON
    """Return JSON; what is no number is null, as PostgreSQL takes no NaN."""
    return orjson.dumps(value).decode()


def _json_value(kept: Any) -> Any:  # noqa: ANN401 -- any JSON
    """Return what JSON says; SQLite hands a bare number over as that number."""
    return orjson.loads(kept) if isinstance(kept, str | bytes) else kept


def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # With WAL, NORMAL may lose the newest commits when the power goes.
    connection.execute("PRAGMA synchronous = FULL")


def _use_wal(engine: Engine) -> None:
    """Let readers and the writer of a SQLite file pass each other; the file remembers it.

    The change needs the file for itself, and SQLite does not wait for that.
    """
    if engine.dialect.name != "sqlite":
        return
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        driver = engine.raw_connection()
        try:
            driver.cursor().execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            if time.monotonic() > give_up:
                raise DatabaseBusyError(
                    f"the database was held by others for {BUSY_SECONDS:.0f} s; "
                    "stop what has it open"
                ) from error
            time.sleep(_POLL_SECONDS)
        else:
            return
        finally:
            driver.close()
