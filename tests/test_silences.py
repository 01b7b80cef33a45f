"""A silence has times with zones, something to match and somebody behind it."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from alerts.silences import SilenceError, silence_body
from alerts.zoned_times import ZonelessTimeError

TEN = datetime(2026, 1, 1, 10, tzinfo=UTC)
ELEVEN = TEN + timedelta(hours=1)


def test_body() -> None:
    """Times are RFC 3339 in UTC, whatever zone they came in."""
    east = timezone(timedelta(hours=1))

    body = silence_body(
        {"run": "w-train", "node": "n7"},
        start=TEN.astimezone(east),
        end=ELEVEN,
        author="ana",
        comment="swap of a cable",
    )

    assert body == {
        "matchers": [
            {"name": "node", "value": "n7", "isRegex": False, "isEqual": True},
            {"name": "run", "value": "w-train", "isRegex": False, "isEqual": True},
        ],
        "startsAt": "2026-01-01T10:00:00Z",
        "endsAt": "2026-01-01T11:00:00Z",
        "createdBy": "ana",
        "comment": "swap of a cable",
    }


@pytest.mark.parametrize(
    ("labels", "end", "author", "reason"),
    [
        pytest.param({}, ELEVEN, "ana", "silence every alert", id="no label matches every alert"),
        pytest.param(
            {"run": ""}, ELEVEN, "ana", "every alert", id="an empty label matches them too"
        ),
        pytest.param({"run": "a"}, TEN, "ana", "end after the start", id="no length"),
        pytest.param({"run": "a"}, ELEVEN, " ", "wanted an author", id="nobody signs"),
        pytest.param(
            {"run": "a", "job-id": "7"}, ELEVEN, "ana", "found .'job-id'", id="a dash in a name"
        ),
    ],
)
def test_refused(labels: dict[str, str], end: datetime, author: str, reason: str) -> None:
    """What would silence everything, nothing or anonymously is refused."""
    with pytest.raises(SilenceError, match=reason):
        silence_body(labels, start=TEN, end=end, author=author, comment="")


def test_naive_time() -> None:
    """A naive time is refused here, and not by the server."""
    with pytest.raises(ZonelessTimeError):
        silence_body(
            {"run": "a"}, start=TEN.replace(tzinfo=None), end=ELEVEN, author="ana", comment=""
        )
