"""Times that cross our edge say their zone."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from alerts.zoned_times import ZonelessTimeError, parse_zoned_time, zoned

TEN = datetime(2026, 1, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("2026-01-01T10:00:00Z", id="UTC by its letter"),
        pytest.param("2026-01-01T11:00:00+01:00", id="an hour east"),
        pytest.param("2026-01-01T10:00:00.000000000Z", id="nanoseconds, as Go writes them"),
        pytest.param("2026-01-01t10:00:00z", id="small letters are the same"),
        pytest.param("2026-01-01 10:00:00Z", id="a space before the time"),
        pytest.param("2026-01-01T10:00:00-00:00", id="no offset from UTC"),
    ],
)
def test_zoned_text(text: str) -> None:
    """A time with a zone is read, and told in UTC."""
    assert parse_zoned_time(text) == TEN


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("2026-01-01T10:00:00", "without one", id="no zone"),
        pytest.param("2026-01-01", "without one", id="a day"),
        pytest.param("soon", "wanted a time with its zone", id="no time"),
        pytest.param("2026-02-30T10:00:00Z", "wanted a time with its zone", id="no such day"),
        pytest.param("1767261600", "wanted a time with its zone", id="seconds since the epoch"),
        pytest.param("0001-01-01T00:00:00+08:00", "wanted a time", id="before the first year"),
        pytest.param("9999-12-31T23:59:59-01:00", "wanted a time", id="after the last year"),
        pytest.param("", "wanted a time with its zone", id="nothing"),
    ],
)
def test_zoneless_text(text: str, reason: str) -> None:
    """A time without a zone is refused with what would do."""
    with pytest.raises(ZonelessTimeError, match=reason):
        parse_zoned_time(text)


def test_aware_time() -> None:
    """An aware time is told in UTC, and a naive one refused."""
    assert zoned(TEN.astimezone(timezone(timedelta(hours=5)))).isoformat() == TEN.isoformat()
    with pytest.raises(ZonelessTimeError, match="without a zone"):
        zoned(TEN.replace(tzinfo=None))
