"""Types of columns that mean the same in SQLite and in PostgreSQL.

Source: SQLAlchemy, "Augmenting Existing Types" (TypeDecorator). SQLite has no times and takes any
text; PostgreSQL takes no zero byte in a text.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, Text, TypeDecorator
from sqlalchemy.exc import DontWrapMixin

from alerts.zoned_times import ZonelessTimeError, zoned


class NaiveTimeError(ZonelessTimeError, DontWrapMixin):
    """A time without a zone was to be kept; SQLAlchemy leaves this error as it is."""


class UtcTime(TypeDecorator[datetime]):
    """An aware time in UTC, to the microsecond; a naive one is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return what the driver is given.

        Raises:
            NaiveTimeError: The time is naive.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise NaiveTimeError(f"wanted an aware time to keep, found {value.isoformat()}")
        # SQLite keeps the text of a time, and only texts of one zone sort like times.
        return zoned(value).replace(tzinfo=None) if dialect.name == "sqlite" else zoned(value)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


class PlainText(TypeDecorator[str]):
    """Text of any length; a zero byte, which PostgreSQL refuses, becomes a sign of loss."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 -- as SQLAlchemy calls it
        """Return what the driver is given."""
        return None if value is None else value.replace("\x00", "�")

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ANN401, ARG002 -- as SQLAlchemy calls it
        """Return the text."""
        return value


def row_number() -> BigInteger:
    """Return the type of numbers that the database counts up; SQLite counts in `INTEGER` only."""
    return BigInteger().with_variant(Integer(), "sqlite")
