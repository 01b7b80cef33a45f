"""Tests of hours in which tickets wait."""

from datetime import UTC, datetime

import pytest

from alerts.policies.quiet_hours import QuietHours, quiet_until

NIGHT = QuietHours.model_validate_json('{"zone": "Europe/Berlin", "from": "22:00", "to": "07:00"}')
WEEKEND = QuietHours.model_validate_json(
    '{"zone": "Europe/Berlin", "from": "00:00", "to": "00:00", "days": ["sat", "sun"]}'
)
LUNCH = QuietHours.model_validate_json(
    '{"zone": "UTC", "from": "12:00", "to": "13:00", "holds": ["page"]}'
)


def at(text: str) -> datetime:
    """Return a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "until"),
    [
        pytest.param("2026-01-05T20:59", None, id="a minute before"),
        pytest.param("2026-01-05T21:00", "2026-01-06T06:00", id="as it begins"),
        pytest.param("2026-01-06T05:59", "2026-01-06T06:00", id="after midnight"),
        pytest.param("2026-01-06T06:00", None, id="as it ends"),
        pytest.param("2026-07-05T20:00", "2026-07-06T05:00", id="by the summer's clock"),
        pytest.param("2026-03-28T22:00", "2026-03-29T05:00", id="a night with an hour less"),
        pytest.param("2026-10-24T21:00", "2026-10-25T06:00", id="a night with an hour more"),
    ],
)
def test_nights(moment: str, until: str | None) -> None:
    """A night ends by the clock of its zone, however long it is."""
    assert NIGHT.until(at(moment)) == (None if until is None else at(until))


@pytest.mark.parametrize(
    ("severity", "moment", "until"),
    [
        pytest.param("ticket", "2026-01-05T23:00", "2026-01-06T06:00", id="a night"),
        pytest.param("ticket", "2026-01-09T22:00", "2026-01-12T06:00", id="nights and a weekend"),
        pytest.param("ticket", "2026-01-05T12:30", None, id="what holds pages holds no ticket"),
        pytest.param("page", "2026-01-05T23:00", None, id="a page does not wait"),
        pytest.param("page", "2026-01-05T12:30", "2026-01-05T13:00", id="unless that is said"),
    ],
)
def test_all_rules(severity: str, moment: str, until: str | None) -> None:
    """Quiet hours that follow each other are one, each for what it holds."""
    told = quiet_until((NIGHT, WEEKEND, LUNCH), severity, at(moment))  # type: ignore[arg-type] -- a table of words

    assert told == (None if until is None else at(until))


def test_always() -> None:
    """Quiet hours without an end do not hang."""
    always = WEEKEND.model_copy(update={"days": ("mon", "tue", "wed", "thu", "fri", "sat", "sun")})

    told = quiet_until((always,), "ticket", at("2026-01-05T12:00"))

    assert told is not None
    assert told > at("2026-01-10T12:00")
