"""What a watched source is: it gives what is new, says what went wrong, and can go on later."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from collectors.readings import Reading
from paceline.naming import Origin

State = Mapping[str, Any]
"""How far a source was taken, as JSON has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """What one look at a source gave.

    Attributes:
        reading: Rows that were not told before.
        problems: What could not be taken, and why, one a line; the rest was taken.
        left_bytes: What is there and was left for the next look.
        is_pending: The source is still being asked: nothing is known of this look yet.
    """

    reading: Reading = field(default_factory=Reading)
    problems: tuple[str, ...] = ()
    left_bytes: int = 0
    is_pending: bool = False


class WatchedSource(Protocol):
    """One source of the settings."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def max_age(self) -> timedelta:
        """How old its newest row may be before it counts as silent."""
        ...

    def poll(self, now: datetime, patience_seconds: float) -> Polled:
        """Return what is new.

        Args:
            now: The tick's time; with a zone.
            patience_seconds: How long the tick may wait for an answer; an answer that comes later
                is given to a later look.
        """
        ...

    def standing(self) -> Reading:
        """Return what holds until the source says otherwise: documents that are read as a whole."""
        ...

    def origins(self) -> Mapping[str, Origin]:
        """Return where each `source` of its rows lies."""
        ...

    def path_of(self, source: str) -> Path | None:
        """Return the file that evidence calls so; null when it is none of this source's."""
        ...

    def state(self) -> State:
        """Return how far it was taken."""
        ...

    def restore(self, state: State) -> None:
        """Go on where a state says."""
        ...

    def remember(self, reading: Reading) -> None:
        """Know rows that were told before the start, so that they are not told again."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...
