"""How near a finding is to not being one: each threshold is drawn tighter until it is gone.

A verdict that stands by a hair and one that stands by a mile read alike. So the detector that gave
it is asked again, with one threshold at a time made stricter.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final

REACH: Final = 8.0
"""How many times as strict a threshold is made at the most."""

HALVINGS: Final = 6
"""Steps of the search: the turning point is known to three percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """One threshold of a detector.

    Attributes:
        path: Names of the fields that lead to it, as in `("suspects", "min_slowdown")`.
        value: What it is set to.
    """

    path: tuple[str, ...]
    value: float

    @property
    def name(self) -> str:
        """The path as people write it."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """How far a threshold may be drawn tighter.

    Attributes:
        threshold: The threshold.
        stands_to: The strictest value tried at which the finding stands.
        gone_at: The mildest value tried at which it is gone; null: it stands however strict.
    """

    threshold: Threshold
    stands_to: float
    gone_at: float | None

    @property
    def reach(self) -> float:
        """How many times as strict the threshold may be, at least; 1 is a hair."""
        value = self.threshold.value
        return max(self.stands_to, value) / min(self.stands_to, value)


def thresholds_of(params: object) -> Iterator[Threshold]:
    """Yield the thresholds of frozen parameters: numbers called `min_` or `max_`, also nested."""
    for item in fields(params):  # type: ignore[arg-type] # any frozen dataclass
        value = getattr(params, item.name)
        if is_dataclass(value):
            inner = thresholds_of(value)
            yield from (replace(one, path=(item.name, *one.path)) for one in inner)
        elif _is_number(value) and item.name.startswith(("min_", "max_")) and value > 0:
            yield Threshold(path=(item.name,), value=float(value))


def with_threshold(params: Any, path: tuple[str, ...], value: float) -> Any:  # noqa: ANN401 -- any params
    """Return parameters in which one threshold has another value.

    Raises:
        ValueError: The parameters refuse it.
    """
    name, *rest = path
    old = getattr(params, name)
    if rest:
        return replace(params, **{name: with_threshold(old, tuple(rest), value)})
    return replace(params, **{name: round(value) if isinstance(old, int) else value})


def margin_of(stands: Callable[[Any], bool], params: object, threshold: Threshold) -> Margin:
    """Return how far a threshold may be drawn tighter before a finding is gone.

    Args:
        stands: Says of parameters whether the finding is still found.
        params: Those that it was found with.
        threshold: One of theirs.
    """

    def is_found(value: float) -> bool:
        try:
            tighter = with_threshold(params, threshold.path, value)
        except ValueError:
            return False
        return stands(tighter)

    near, far = threshold.value, _strictest(threshold)
    if is_found(far):
        return Margin(threshold=threshold, stands_to=far, gone_at=None)
    for _ in range(HALVINGS):
        middle = (near * far) ** 0.5
        if is_found(middle):
            near = middle
        else:
            far = middle
    return Margin(threshold=threshold, stands_to=near, gone_at=far)


def _strictest(threshold: Threshold) -> float:
    """Return the strictest value that is tried: no share is above all."""
    name, value = threshold.path[-1], threshold.value
    if name.startswith("max_"):
        return value / REACH
    is_share = value <= 1.0 and name.endswith(("_share", "_ratio"))
    return min(1.0, value * REACH) if is_share else value * REACH


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
