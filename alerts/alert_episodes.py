"""Episodes: when an alert fired, from messages that come twice, late and in no order.

Source: Alertmanager's webhook promises delivery at least once and no order (issue 2447), and its
fingerprint is a hash of labels, not of one occasion (issue 4371): an episode is a fingerprint with
the time it began. Prometheus forgets a `for` below ten minutes when it restarts (issue 15175), so
an alert that only seems to have ended comes back with a new beginning.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from alerts.notifications import NotifiedAlert
from slo.bridged_firings import MAX_BREAK_SECONDS


class EndKind(StrEnum):
    """Why an episode is over."""

    RESOLVED = "resolved"
    """A message said so."""
    SUPERSEDED = "superseded"
    """The same alert began anew, so this episode had ended; nobody said when."""
    EXPIRED = "expired"
    """Nobody renewed it, and the end that it was sent with has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeParams:
    """When episodes end without a word, and when two are one incident.

    Attributes:
        interval_seconds: Time between two messages about a firing alert.
        max_silent_intervals: Intervals without a message after which an alert may have expired.
        max_break_seconds: Longest pause between two episodes of one alert that is only a break.
    """

    interval_seconds: float = 300.0
    max_silent_intervals: int = 4
    max_break_seconds: float = MAX_BREAK_SECONDS

    @property
    def silence(self) -> timedelta:
        """Time without a message after which an alert may have expired."""
        return timedelta(seconds=self.interval_seconds * self.max_silent_intervals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One occasion on which an alert fired.

    Attributes:
        fingerprint: Hash of the alert's labels.
        starts_at: When it began.
        ends_at: When it ended; null while it fires.
        end_kind: Why it is over; null while it fires.
        labels: What the alert is about.
        annotations: What the newest message said about it.
        seen_at: When the newest message about it came.
        due_at: End that the newest firing message carried; null when it carried none.
    """

    fingerprint: str
    starts_at: datetime
    ends_at: datetime | None = None
    end_kind: EndKind | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    seen_at: datetime
    due_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether it still fires, as far as is known."""
        return self.end_kind is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """Episodes of one alert that are one incident.

    Attributes:
        episodes: The episodes, in their order.
        breaks: Pauses between them, `[end, next start)`: an alert that a restart forgot.
        seen_before: Incidents of the same alert before this one.
    """

    episodes: tuple[Episode, ...]
    breaks: tuple[tuple[datetime, datetime], ...]
    seen_before: int


def fold_alert(
    history: Sequence[Episode], alert: NotifiedAlert, *, received: datetime
) -> tuple[Episode, ...]:
    """Return the episodes of one fingerprint after one more message.

    A resolved episode stays resolved whatever comes later with the same beginning. A message about
    an earlier beginning than the newest is history: it may end an episode that is known, and opens
    none. A firing message with a later beginning opens the next episode.

    Args:
        history: Episodes of the alert's fingerprint so far, by beginning.
        alert: The message.
        received: When it came.
    """
    known = {episode.starts_at: place for place, episode in enumerate(history)}
    place = known.get(alert.starts_at)
    if place is not None:
        told = _told_again(history[place], alert, received, is_newest=place == len(history) - 1)
        return (*history[:place], told, *history[place + 1 :])
    if history and alert.starts_at < history[-1].starts_at:
        return tuple(history)
    return (*_superseded(history, alert.starts_at), _opened(alert, received))


def expire_episodes(
    history: Sequence[Episode], params: EpisodeParams, *, now: datetime
) -> tuple[Episode, ...]:
    """Return the episodes with those ended that nobody renewed and whose end has passed.

    An episode without an announced end is never ended by silence alone: no message is no proof.
    """
    return tuple(
        replace(episode, ends_at=episode.due_at, end_kind=EndKind.EXPIRED)
        if episode.is_open
        and episode.due_at is not None
        and episode.due_at < now
        and now - episode.seen_at > params.silence
        else episode
        for episode in history
    )


def recurrences(history: Sequence[Episode], params: EpisodeParams) -> list[Recurrence]:
    """Return the incidents that the episodes of one fingerprint make, in their order.

    Episodes at most `max_break_seconds` apart are one incident with a break in it: the alert did
    not really end, its evaluation was interrupted. Any longer apart, the alert came back, and the
    incidents before are counted. Of a superseded episode nobody told the end: it ended at most
    `max_silent_intervals` after the newest message about it.
    """
    groups: list[list[Episode]] = []
    for episode in history:
        if groups and _is_break(groups[-1][-1], episode, params):
            groups[-1].append(episode)
        else:
            groups.append([episode])
    return [
        Recurrence(episodes=tuple(group), breaks=tuple(_breaks(group)), seen_before=number)
        for number, group in enumerate(groups)
    ]


def _told_again(
    episode: Episode, alert: NotifiedAlert, received: datetime, *, is_newest: bool
) -> Episode:
    """Return an episode after another message about it."""
    seen = replace(episode, seen_at=max(episode.seen_at, received))
    if alert.status == "resolved":
        # Two messages may tell two ends; the earlier is kept, so that order does not matter.
        told = [end for end in (alert.ends_at or received, _told_end(episode)) if end is not None]
        return replace(seen, ends_at=min(told), end_kind=EndKind.RESOLVED)
    if episode.end_kind is EndKind.EXPIRED and is_newest:
        # It was only quiet for a while.
        seen = replace(seen, ends_at=None, end_kind=None)
    if not seen.is_open or received < episode.seen_at:
        return seen
    return replace(seen, annotations=alert.annotations, due_at=alert.ends_at)


def _told_end(episode: Episode) -> datetime | None:
    """Return the end that a message told, if one did."""
    return episode.ends_at if episode.end_kind is EndKind.RESOLVED else None


def _superseded(history: Sequence[Episode], begins: datetime) -> Iterable[Episode]:
    """Yield the history with what is open ended where the next episode begins."""
    for episode in history:
        if episode.is_open:
            yield replace(episode, ends_at=begins, end_kind=EndKind.SUPERSEDED)
        else:
            yield episode


def _opened(alert: NotifiedAlert, received: datetime) -> Episode:
    """Return the episode that a first message tells of; it may be over already."""
    is_over = alert.status == "resolved"
    return Episode(
        fingerprint=alert.fingerprint,
        starts_at=alert.starts_at,
        ends_at=(alert.ends_at or received) if is_over else None,
        end_kind=EndKind.RESOLVED if is_over else None,
        labels=alert.labels,
        annotations=alert.annotations,
        seen_at=received,
        due_at=None if is_over else alert.ends_at,
    )


def _is_break(before: Episode, after: Episode, params: EpisodeParams) -> bool:
    """Return whether an episode only goes on with the one before it."""
    if before.ends_at is None:
        return False
    ends_at = before.ends_at
    if before.end_kind is EndKind.SUPERSEDED:
        ends_at = min(ends_at, before.seen_at + params.silence)
    return after.starts_at - ends_at <= timedelta(seconds=params.max_break_seconds)


def _breaks(group: Sequence[Episode]) -> Iterable[tuple[datetime, datetime]]:
    """Yield the pauses between the episodes of one incident."""
    for before, after in pairwise(group):
        if before.ends_at is not None and before.ends_at < after.starts_at:
            yield (before.ends_at, after.starts_at)
