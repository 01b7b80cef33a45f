"""PagerDuty hears of a group when it begins and when all of it has ended."""

from datetime import UTC, datetime

import pytest

from alerts.pagerduty import MAX_SUMMARY_LENGTH, GroupPage, pagerduty_event

PAGE = GroupPage(
    key="k" * 64,
    summary="Training steps keep their pace: budget burns fast",
    source="orion",
    severity="critical",
    live_url="https://paceline.example/groups/k",
    start=datetime(2026, 1, 1, 10, tzinfo=UTC),
)
A, B = frozenset({"a"}), frozenset({"b"})
NONE: frozenset[str] = frozenset()
HEAD = {"routing_key": "r", "dedup_key": "k" * 64}
TRIGGER = HEAD | {
    "event_action": "trigger",
    "payload": {
        "summary": "Training steps keep their pace: budget burns fast",
        "source": "orion",
        "severity": "critical",
        "timestamp": "2026-01-01T10:00:00Z",
    },
    "links": [{"href": "https://paceline.example/groups/k", "text": "What fires now"}],
}


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param(NONE, A, TRIGGER, id="the first alert opens the incident"),
        pytest.param(A, A | B, None, id="a second alert shows on the live page only"),
        pytest.param(A | B, B, None, id="one that ends does not resolve the group"),
        pytest.param(B, A, None, id="one that takes over from another keeps it open"),
        pytest.param(B, NONE, HEAD | {"event_action": "resolve"}, id="the last end resolves it"),
        pytest.param(NONE, NONE, None, id="nothing before and after is no news"),
    ],
)
def test_events(
    before: frozenset[str], now: frozenset[str], expected: dict[str, object] | None
) -> None:
    """An event is sent when a group begins to fire and when nothing of it fires any more."""
    assert pagerduty_event(PAGE, open_before=before, open_now=now, routing_key="r") == expected


def test_long_summary() -> None:
    """A summary is cut to what the Events API takes, and shows that it was."""
    long = GroupPage(
        key="k",
        summary="x" * 2000,
        source="orion",
        severity="error",
        live_url="https://paceline.example",
        start=PAGE.start,
    )
    event = pagerduty_event(long, open_before=NONE, open_now=A, routing_key="r")

    assert event is not None
    assert event["payload"] == {
        "summary": "x" * (MAX_SUMMARY_LENGTH - 1) + "…",
        "source": "orion",
        "severity": "error",
        "timestamp": "2026-01-01T10:00:00Z",
    }
