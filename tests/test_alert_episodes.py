"""Episodes from messages that come twice, late and in no order."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.alert_episodes import (
    EndKind,
    Episode,
    EpisodeParams,
    Recurrence,
    expire_episodes,
    fold_alert,
    recurrences,
)
from alerts.notifications import NotifiedAlert

DAY = datetime(2026, 1, 5, tzinfo=UTC)
PARAMS = EpisodeParams()


def at(clock: str) -> datetime:
    """A time of the day, as in `10:08`, or of a later day, as in `4 09:00`."""
    day, _, hour = clock.rpartition(" ")
    parts = [int(part) for part in hour.split(":")]
    return DAY + timedelta(days=int(day or 0), hours=parts[0], minutes=parts[1])


def message(status: str, start: str, end: str | None = None) -> NotifiedAlert:
    """One message about the alert with fingerprint `f`."""
    return NotifiedAlert.model_validate(
        {
            "status": status,
            "labels": {"alertname": "Burn"},
            "startsAt": at(start),
            "endsAt": at(end) if end else None,
            "fingerprint": "f",
        }
    )


def folded(*messages: tuple[NotifiedAlert, str]) -> tuple[Episode, ...]:
    """The episodes after messages and the times that they came at."""
    history: tuple[Episode, ...] = ()
    for alert, received in messages:
        history = fold_alert(history, alert, received=at(received))
    return history


def spans(history: tuple[Episode, ...]) -> list[tuple[datetime, datetime | None, EndKind | None]]:
    """When each episode began and ended, and why."""
    return [(episode.starts_at, episode.ends_at, episode.end_kind) for episode in history]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param(
            [(message("firing", "10:00"), "10:01")],
            [("10:00", None, None)],
            id="a firing message opens an episode",
        ),
        pytest.param(
            [
                (message("resolved", "10:00", "10:08"), "10:09"),
                (message("firing", "10:00"), "10:10"),
                (message("firing", "10:20"), "10:21"),
            ],
            [("10:00", "10:08", EndKind.RESOLVED), ("10:20", None, None)],
            id="resolved beats a firing that comes later, and a later beginning opens the next",
        ),
        pytest.param(
            [(message("firing", "10:20"), "10:21"), (message("firing", "10:00"), "10:22")],
            [("10:20", None, None)],
            id="an older beginning that nobody knew is history",
        ),
        pytest.param(
            [
                (message("firing", "10:00"), "10:01"),
                (message("firing", "10:20"), "10:21"),
                (message("resolved", "10:00", "10:08"), "10:22"),
            ],
            [("10:00", "10:08", EndKind.RESOLVED), ("10:20", None, None)],
            id="a late end is told of the episode that it belongs to",
        ),
        pytest.param(
            [(message("firing", "10:00"), "10:01"), (message("firing", "10:20"), "10:21")],
            [("10:00", "10:20", EndKind.SUPERSEDED), ("10:20", None, None)],
            id="a new beginning ends what nobody resolved",
        ),
        pytest.param(
            [
                (message("firing", "10:00"), "10:01"),
                (message("firing", "10:20"), "10:21"),
                (message("firing", "10:00"), "10:22"),
            ],
            [("10:00", "10:20", EndKind.SUPERSEDED), ("10:20", None, None)],
            id="an old firing message opens nothing again",
        ),
        pytest.param(
            [
                (message("resolved", "10:00", "10:08"), "10:09"),
                (message("resolved", "10:00", "10:09"), "10:10"),
            ],
            [("10:00", "10:08", EndKind.RESOLVED)],
            id="of two ends the earlier is kept",
        ),
        pytest.param(
            [(message("firing", "10:00"), "10:01"), (message("resolved", "10:00"), "10:05")],
            [("10:00", "10:05", EndKind.RESOLVED)],
            id="an end without a time is when it was told",
        ),
    ],
)
def test_fold(
    messages: list[tuple[NotifiedAlert, str]],
    expected: list[tuple[str, str | None, EndKind | None]],
) -> None:
    """Messages of one alert become its episodes."""
    wanted = [(at(start), at(end) if end else None, kind) for start, end, kind in expected]
    assert spans(folded(*messages)) == wanted


def test_expiry() -> None:
    """An episode that nobody renews ends as it was sent to, and comes back if renewed."""
    renewed = message("firing", "10:00", "10:10")
    history = folded((renewed, "10:06"))

    quiet = expire_episodes(history, PARAMS, now=at("10:26"))
    expired = expire_episodes(history, PARAMS, now=at("10:27"))
    back = fold_alert(expired, message("firing", "10:00", "10:40"), received=at("10:30"))

    assert quiet == history
    assert spans(expired) == [(at("10:00"), at("10:10"), EndKind.EXPIRED)]
    assert spans(back) == [(at("10:00"), None, None)]


def test_silence_is_no_end() -> None:
    """Without an announced end, silence alone ends nothing."""
    history = folded((message("firing", "10:00"), "10:01"))

    assert expire_episodes(history, PARAMS, now=at("3 10:00")) == history


def test_renewal() -> None:
    """The newest firing message says what is known; an older one that comes late does not."""
    newest = message("firing", "10:00", "10:30")
    history = folded(
        (message("firing", "10:00", "10:10"), "10:01"),
        (newest, "10:20"),
        (message("firing", "10:00", "10:15"), "10:05"),
    )

    assert [(each.seen_at, each.due_at) for each in history] == [(at("10:20"), at("10:30"))]


def test_break_and_return() -> None:
    """Ten minutes between two episodes are a break of one incident; days are a second one."""
    history = folded(
        (message("firing", "12:00"), "12:00"),
        (message("resolved", "12:00", "12:31"), "12:31"),
        (message("firing", "12:36"), "12:36"),
        (message("resolved", "12:36", "13:00"), "13:00"),
        (message("firing", "4 09:00"), "4 09:00"),
    )

    assert recurrences(history, PARAMS) == [
        Recurrence(episodes=history[:2], breaks=((at("12:31"), at("12:36")),), seen_before=0),
        Recurrence(episodes=history[2:], breaks=(), seen_before=1),
    ]


def test_lost_end_and_return() -> None:
    """Monday's alert whose end was lost is not Friday's: nobody told of it in between."""
    history = folded(
        (message("firing", "10:00"), "10:00"), (message("firing", "4 09:00"), "4 09:00")
    )

    assert [each.seen_before for each in recurrences(history, PARAMS)] == [0, 1]


def test_superseded_has_no_break() -> None:
    """An episode that the next one ended leaves no pause to note; an open one joins nothing."""
    history = folded((message("firing", "12:00"), "12:20"), (message("firing", "12:36"), "12:36"))
    open_twice = (history[1], history[1])

    assert [each.breaks for each in recurrences(history, PARAMS)] == [()]
    assert [len(each.episodes) for each in recurrences(open_twice, PARAMS)] == [1, 1]


STARTS = ("10:00", "10:20", "11:00")
MESSAGES = st.lists(
    st.tuples(
        st.sampled_from([message("firing", start) for start in STARTS])
        | st.sampled_from([message("resolved", start, "11:30") for start in STARTS]),
        st.sampled_from(["11:40", "11:50"]),
    ),
    min_size=1,
    max_size=8,
)


@given(messages=MESSAGES)
def test_any_messages(messages: list[tuple[NotifiedAlert, str]]) -> None:
    """Whatever comes: episodes in order, at most the newest open, and twice is as good as once."""
    history = folded(*messages)
    starts = [episode.starts_at for episode in history]

    assert starts == sorted(set(starts))
    assert not any(episode.is_open for episode in history[:-1])
    assert folded(*messages, messages[-1]) == history


@given(messages=MESSAGES, other=st.randoms(use_true_random=False))
def test_order_of_the_newest(messages: list[tuple[NotifiedAlert, str]], other: Random) -> None:
    """Whether and when the newest episode ended does not depend on the order of messages."""
    shuffled = sorted(messages, key=lambda _: other.random())

    newest, again = folded(*messages)[-1], folded(*shuffled)[-1]

    assert (newest.starts_at, newest.ends_at) == (again.starts_at, again.ends_at)
