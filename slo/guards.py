"""What holds a page back where there is little traffic.

Sources: The Site Reliability Workbook, chapter 5, "Low-traffic services and error budget
alerting"; Grafana SLO's `min_failures` (by count); slok/sloth's denominator-corrected plugin and
pyrra-dev/pyrra pull request 1602 (by traffic); Wilson, JASA 22 (1927), for the bound (by
confidence; nobody ships that one). A guard only ever holds back: it never makes a pair fire.
"""

from dataclasses import dataclass
from typing import Final

MIN_CONFIDENCE_RATIO: Final = 0.5
"""Below it a bound would lie on the other side of the ratio that was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What must hold beside the burn rates for a pair to fire.

    Attributes:
        min_bad_count: Bad events that the long window must hold; 0 asks for none.
        by_traffic: Whether the long window must have spent the pair's share of the *real* budget of
            the period, whose traffic may be far from even.
        confidence_ratio: One-sided confidence (0-1) that the long window's true ratio exceeds the
            threshold; null does not ask.
    """

    min_bad_count: int = 0
    by_traffic: bool = False
    confidence_ratio: float | None = None

    def __post_init__(self) -> None:
        """Refuse a count below zero, and a confidence that is none."""
        if self.min_bad_count < 0:
            raise ValueError(f"min_bad_count must not be below 0, found {self.min_bad_count}")
        if self.confidence_ratio is not None and not (
            MIN_CONFIDENCE_RATIO <= self.confidence_ratio < 1
        ):
            raise ValueError(
                f"confidence_ratio must be from {MIN_CONFIDENCE_RATIO} to below 1, found "
                f"{self.confidence_ratio}"
            )


NO_GUARD: Final = Guard()
"""Burn rates alone decide."""
