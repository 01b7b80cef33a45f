"""Webhook bodies of Alertmanager become notifications; anything else is refused."""

import hashlib
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.groups import group_filters, group_view
from alerts.notifications import (
    Notification,
    NotificationError,
    page_key,
    parse_listed_alerts,
    parse_notification,
)

START = "2026-01-01T10:00:00Z"


def alert(fingerprint: str, *, status: str = "firing", end: str = "0001-01-01T00:00:00Z") -> object:
    """One alert of a body."""
    return {
        "status": status,
        "labels": {"alertname": "Burn", "run": fingerprint},
        "annotations": {"summary": "burns"},
        "startsAt": START,
        "endsAt": end,
        "generatorURL": "http://prometheus.example/graph",
        "fingerprint": fingerprint,
        "added_by_a_later_version": 1,
    }


def body(*alerts: object, truncated: int = 0, **changes: object) -> bytes:
    """A webhook body, with some of its keys changed."""
    whole = {
        "receiver": "paceline",
        "status": "firing",
        "alerts": list(alerts),
        "groupLabels": {"objective": 'the "fast" one'},
        "commonLabels": {},
        "commonAnnotations": {},
        "externalURL": "http://alertmanager.example",
        "version": "4",
        "groupKey": '{}:{objective="steps"}',
        "truncatedAlerts": truncated,
        "notification_reason": "new group",
    }
    return json.dumps(whole | changes).encode()


def test_notification() -> None:
    """Keys of later versions are left alone, and a firing alert has no end."""
    found = parse_notification(
        body(alert("a"), alert("b", status="resolved", end="2026-01-01T11:08:00+01:00"))
    )

    assert [(each.episode_key, each.ends_at) for each in found.alerts] == [
        (("a", datetime(2026, 1, 1, 10, tzinfo=UTC)), None),
        (("b", datetime(2026, 1, 1, 10, tzinfo=UTC)), datetime(2026, 1, 1, 10, 8, tzinfo=UTC)),
    ]
    assert found.alerts[0].event_key == ("a", datetime(2026, 1, 1, 10, tzinfo=UTC), "firing")
    assert found.group_hash == hashlib.sha256(b'{}:{objective="steps"}').hexdigest()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(b"{", "body: Invalid JSON", id="no JSON"),
        pytest.param(b"[]", "body: Input should be an object", id="no object"),
        pytest.param(body(version="5"), "version: Input should be '4'", id="another version"),
        pytest.param(body({"status": "firing"}), "alerts.0.labels: Field required", id="no labels"),
        pytest.param(
            body({"status": "firing", "labels": {}, "startsAt": START[:-1], "fingerprint": "f"}),
            "alerts.0.startsAt: Value error, wanted a time with its zone",
            id="a time without a zone",
        ),
        pytest.param(body(truncated=-1), "truncatedAlerts", id="fewer than none left out"),
        pytest.param(
            body({"status": "firing", "labels": {}, "startsAt": "9999-12-31T23:59:59-01:00"}),
            "alerts.0.startsAt: Value error, wanted a time",
            id="a time that no calendar has",
        ),
    ],
)
def test_refused(text: bytes, reason: str) -> None:
    """A body that is no notification is refused with the place that is wrong."""
    with pytest.raises(NotificationError, match=reason):
        parse_notification(text)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("0001-01-01T00:00:00Z", id="zero"),
        pytest.param("0001-01-01T00:00:00.000Z", id="zero to the millisecond"),
        pytest.param("0001-01-01T00:00:00+00:00", id="zero by its offset"),
        pytest.param("0001-01-01T00:00:00+08:00", id="zero in another zone"),
        pytest.param("", id="nothing"),
        pytest.param(None, id="null"),
    ],
)
def test_no_end(end: str | None) -> None:
    """An alert fires without an end, however none is written, and a null says nothing."""
    alert: dict[str, object] = {"labels": {}, "annotations": None, "generatorURL": None}
    alert |= {"status": "firing", "startsAt": START, "endsAt": end, "fingerprint": "f"}
    (found,) = parse_notification(body(alert)).alerts

    assert (found.ends_at, found.annotations, found.generator_url) == (None, {}, "")


@given(text=st.binary(max_size=200))
def test_any_bytes(text: bytes) -> None:
    """No body makes anything but a notification or a refusal."""
    try:
        found = parse_notification(text)
    except NotificationError as refusal:
        assert str(refusal).startswith("wanted a webhook")  # noqa: PT017 - one of two outcomes
    else:
        assert found.version == "4"


def listed(fingerprint: str, end: str) -> dict[str, object]:
    """One alert as the API lists it."""
    return {
        "labels": {"alertname": "Burn", "run": fingerprint},
        "annotations": {},
        "startsAt": START,
        "endsAt": end,
        "updatedAt": START,
        "fingerprint": fingerprint,
        "receivers": [{"name": "paceline"}],
        "status": {"state": "active", "silencedBy": [], "inhibitedBy": []},
    }


def test_listed() -> None:
    """What ends later still fires; what ended is resolved."""
    text = json.dumps(
        [listed("a", "2026-01-01T10:20:00Z"), listed("b", "2026-01-01T10:05:00Z")]
    ).encode()

    found = parse_listed_alerts(text, now=datetime(2026, 1, 1, 10, 10, tzinfo=UTC))

    assert [(each.fingerprint, each.status, each.ends_at) for each in found] == [
        ("a", "firing", None),
        ("b", "resolved", datetime(2026, 1, 1, 10, 5, tzinfo=UTC)),
    ]


def test_listed_refused() -> None:
    """An answer that is no list is refused."""
    with pytest.raises(NotificationError, match="wanted a list of alerts"):
        parse_listed_alerts(b'{"error": "no"}', now=datetime(2026, 1, 1, tzinfo=UTC))


TWO_OF_THREE = parse_notification(body(alert("a"), alert("b"), truncated=1))


@pytest.mark.parametrize(
    ("notification", "others", "known", "text"),
    [
        pytest.param(TWO_OF_THREE, None, "ab", "2 of 3", id="what was left out is said"),
        pytest.param(TWO_OF_THREE, "abc", "abc", "3", id="the API knows the third"),
        pytest.param(TWO_OF_THREE, "", "ab", "2 of 3", id="an API that knows less adds nothing"),
        pytest.param(
            parse_notification(body(alert("a"))), None, "a", "1", id="a whole group is itself"
        ),
    ],
)
def test_group_view(notification: Notification, others: str | None, known: str, text: str) -> None:
    """A group shows the alerts that are known, and of how many."""
    answer = (
        None
        if others is None
        else parse_listed_alerts(
            json.dumps([listed(name, "2026-01-02T00:00:00Z") for name in others]).encode(),
            now=datetime(2026, 1, 1, tzinfo=UTC),
        )
    )

    view = group_view(notification, answer)

    assert ("".join(each.fingerprint for each in view.alerts), view.count_text) == (known, text)


def test_group_filters() -> None:
    """The API is asked for what is notified, with quotes in values escaped."""
    assert group_filters(TWO_OF_THREE) == [
        ("active", "true"),
        ("silenced", "false"),
        ("inhibited", "false"),
        ("receiver", "^paceline$"),
        ("filter", 'objective="the \\"fast\\" one"'),
    ]


def test_page_key() -> None:
    """A page's key rests on objective, group and severity, and no two of them spell the same."""
    key = page_key("steps", {"run": "a", "cluster": "o"}, "page")

    assert len(key) == len("0" * 64)
    assert key == page_key("steps", {"cluster": "o", "run": "a"}, "page")
    assert key != page_key("steps", {"cluster": "o", "run": "a"}, "ticket")
    assert page_key("s", {"a": "bc"}, "page") != page_key("s", {"ab": "c"}, "page")
    assert page_key("s", {"a": "b", "c": ""}, "page") == page_key("s", {"a": "b"}, "page")
