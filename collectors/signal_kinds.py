"""What a signal is: its name, how it behaves, and which way is bad.

Units are base units as Prometheus has them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["gauge", "counter", "state"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing that is measured.

    Attributes:
        name: Our name; its end is the unit.
        kind: `gauge` is a level, `counter` only grows until it is reset, `state` is a code, flag
            or mask, which has no mean.
        bad: +1 if more is worse, -1 if less is worse, 0 if neither.
        quantum: Smallest step the source reports, in the signal's unit; 0 if it has none.
    """

    name: str
    kind: Kind
    bad: int
    quantum: float = 0.0


def signal_table(*signals: Signal) -> Mapping[str, Signal]:
    """Return the signals by their names."""
    return {signal.name: signal for signal in signals}
