"""How fresh a page is: the first thing to know about everything else on it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from alerts.service.parts import ServiceParts


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the newest tick saw.

    Attributes:
        last_tick: When it was done; null before the first.
        is_fresh: Whether that is recent enough.
        source_count: Sources that are configured.
        current_count: Those with current data.
    """

    last_tick: datetime | None
    is_fresh: bool
    source_count: int
    current_count: int

    @property
    def silent_count(self) -> int:
        """Sources that say nothing now."""
        return self.source_count - self.current_count


def look_of(parts: ServiceParts) -> Look:
    """Return how fresh everything is."""
    tick, sources = parts.live.last_tick(), parts.live.sources()
    oldest = parts.now() - timedelta(seconds=parts.settings.max_tick_age_seconds)
    return Look(
        last_tick=tick,
        is_fresh=tick is not None and tick >= oldest,
        source_count=len(sources),
        current_count=sum(source.state == "current" for source in sources),
    )
