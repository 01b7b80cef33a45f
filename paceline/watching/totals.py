"""Counters that only grow, over restarts and over what memory forgets.

What is held is counted anew at each tick. A counter grows by as much as that count grew; when it
falls because something was forgotten, the counter stands. So a restart goes on, and no scrape sees
a total that went back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Key: TypeAlias = tuple[str, tuple[str, ...]]
"""Name of a metric (and of a part of it, such as a bucket), and its labels' values."""


@dataclass(slots=True, kw_only=True)
class Totals:
    """The counters.

    Attributes:
        values: What is exposed.
    """

    values: dict[Key, float] = field(default_factory=dict[Key, float])
    _counted: dict[Key, float] = field(default_factory=dict[Key, float])

    def grow(self, counted: Mapping[Key, float]) -> None:
        """Take what is counted now, before anything is forgotten."""
        for key, value in counted.items():
            grown = value - self._counted.get(key, 0.0)
            self.values[key] = self.values.get(key, 0.0) + max(0.0, grown)
            self._counted[key] = value

    def forgot(self, counted: Mapping[Key, float]) -> None:
        """Take what is counted after something was forgotten: nothing grows by it."""
        self._counted |= counted

    def follow(self, key: Key, counted: float, *, is_counted: bool) -> None:
        """Take what somebody else counts; it begins at 0, and falls when they begin anew.

        Args:
            key: The counter.
            counted: What they say now.
            is_counted: Whether it grows by what it grew there, or only starts from there.
        """
        grown = max(0.0, counted - self._counted.get(key, counted)) if is_counted else 0.0
        self.values[key] = self.values.get(key, 0.0) + grown
        self._counted[key] = counted

    def since(self, key: Key, counted: float) -> float:
        """Return by how much somebody else's count is above what was last taken of it."""
        return counted - self._counted.get(key, counted)

    def keep_only(self, runs: frozenset[str], names: frozenset[str]) -> None:
        """Drop the counters of runs that are over.

        Args:
            runs: Those that are not.
            names: Metrics whose last label names a run.
        """
        for key in list(self.values):
            name, labels = key
            if name.split(" ")[0] in names and labels[-1] not in runs:
                del self.values[key]
                self._counted.pop(key, None)

    def state(self) -> list[list[Any]]:
        """Return what a restart goes on with, as JSON has it."""
        return [
            [name, list(labels), value, self._counted.get((name, labels), 0.0)]
            for (name, labels), value in sorted(self.values.items())
        ]

    def restore(self, state: list[list[Any]]) -> None:
        """Go on with a state."""
        for name, labels, value, counted in state:
            key = (str(name), tuple(labels))
            self.values[key], self._counted[key] = float(value), float(counted)
