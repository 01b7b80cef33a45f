"""How long the parts of a tick took; nothing that is found depends on it."""

import time


class Stopwatch:
    """Laps of one piece of work.

    Attributes:
        laps: Seconds of each part, by name.
    """

    def __init__(self) -> None:
        """Begin."""
        self.laps: dict[str, float] = {}
        self._begun = self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """End a part."""
        now = time.perf_counter()
        self.laps[name], self._last = now - self._last, now

    def all(self) -> float:
        """Return the seconds since the beginning."""
        return time.perf_counter() - self._begun
