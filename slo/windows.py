"""Burn-rate windows: the table, its thresholds in decimal, and how fast a pair sees and forgets.

Source: Google, The Site Reliability Workbook, chapter 5 "Alerting on SLOs", table 5-8
(https://sre.google/workbook/alerting-on-slos/). `for` follows the kubernetes-mixin's habit for
pages, shortened: a long `for` undoes what the short window is for. We differ in that thresholds are
computed in decimal from the objective's text and turned into a float once: in floats,
14.4 * (1 - 0.999) is 0.014400000000000013, and an alert on the edge would depend on the spelling.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

Severity = Literal["page", "ticket"]

MINUTE_SECONDS: Final = 60
HOUR_SECONDS: Final = 3600
DAY_SECONDS: Final = 86400
WORKBOOK_PERIOD_SECONDS: Final = 30 * DAY_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnWindow:
    """One pair of windows that must both burn faster than `factor`.

    Attributes:
        severity: Whom it reaches: `page` wakes someone, `ticket` waits for the morning.
        long_seconds: Length of the window that makes sure it matters.
        short_seconds: Length of the window that makes sure it still goes on.
        factor: Burn rate that both windows must exceed; 1 empties the budget in just the period.
        budget_ratio: Share of the budget (0-1) that the pair promises to be spent when it fires.
        for_seconds: How long the condition must hold before the alert fires.
        keep_firing_seconds: How long a firing alert outlives its condition; 0 is not at all.
    """

    severity: Severity
    long_seconds: int
    short_seconds: int
    factor: Decimal
    budget_ratio: Decimal
    for_seconds: int
    keep_firing_seconds: int = 0

    def __post_init__(self) -> None:
        """Refuse a pair that Prometheus could not load or that nothing could fire."""
        if not 0 < self.short_seconds < self.long_seconds:
            raise ValueError(
                f"a pair needs 0 < short < long, found short {self.short_seconds} s and "
                f"long {self.long_seconds} s; lengthen the period or choose a fixed table"
            )
        if self.factor <= 0:
            raise ValueError(f"factor must be above 0, found {self.factor}; 1 is an even burn")

    @property
    def name(self) -> str:
        """What people call the pair, as in `page 1h/5m`."""
        return f"{self.severity} {duration(self.long_seconds)}/{duration(self.short_seconds)}"


class PeriodTooShortError(ValueError):
    """A period is too short for windows that are fixed shares of it."""


_WORKBOOK: Final[tuple[tuple[Severity, int, str, str, int], ...]] = (
    ("page", HOUR_SECONDS, "14.4", "0.02", 2 * MINUTE_SECONDS),
    ("page", 6 * HOUR_SECONDS, "6", "0.05", 2 * MINUTE_SECONDS),
    ("ticket", DAY_SECONDS, "3", "0.1", 15 * MINUTE_SECONDS),
    ("ticket", 3 * DAY_SECONDS, "1", "0.1", 15 * MINUTE_SECONDS),
)
RECOMMENDED_WINDOWS: Final = tuple(
    BurnWindow(
        severity=severity,
        long_seconds=long_seconds,
        short_seconds=long_seconds // 12,
        factor=Decimal(factor),
        budget_ratio=Decimal(budget_ratio),
        for_seconds=for_seconds,
    )
    for severity, long_seconds, factor, budget_ratio, for_seconds in _WORKBOOK
)

# Source: pyrra-dev/pyrra, slo/rules.go: windows as shares of the period, rounded to the minute.
# Long, short, factor, `for`.
_PERIOD_SHARES: Final[tuple[tuple[Severity, int, int, int, int], ...]] = (
    ("page", 672, 8064, 14, 20160),
    ("page", 112, 1344, 7, 2688),
    ("ticket", 28, 336, 2, 672),
    ("ticket", 7, 84, 1, 224),
)


def windows_by_share(period_seconds: int) -> tuple[BurnWindow, ...]:
    """Return the recommended windows with the factors that spend the same shares of a period.

    Args:
        period_seconds: Length of the period; 28 days give 13.44, 5.6, 2.8 and 0.9333.
    """
    return tuple(
        BurnWindow(
            severity=window.severity,
            long_seconds=window.long_seconds,
            short_seconds=window.short_seconds,
            factor=window.budget_ratio * period_seconds / window.long_seconds,
            budget_ratio=window.budget_ratio,
            for_seconds=window.for_seconds,
            keep_firing_seconds=window.keep_firing_seconds,
        )
        for window in RECOMMENDED_WINDOWS
    )


def windows_by_period(period_seconds: int, *, scrape_seconds: int) -> tuple[BurnWindow, ...]:
    """Return windows that are fixed shares of the period, rounded to the minute.

    Args:
        period_seconds: Length of the period.
        scrape_seconds: Time between two scrapes; the shortest window must hold four of them.

    Raises:
        PeriodTooShortError: The shortest window would be under a minute or under four scrapes.
    """
    shortest = max(MINUTE_SECONDS, 4 * scrape_seconds)
    least = max(share for _, _, share, _, _ in _PERIOD_SHARES) * shortest
    if period_seconds < least:
        raise PeriodTooShortError(
            f"windows as shares of the period want a period of at least "
            f"{least / DAY_SECONDS:.3g} d ({least} s), so that the shortest holds {shortest} s; "
            f"found {period_seconds} s; lengthen the period or use the recommended windows"
        )
    return tuple(
        BurnWindow(
            severity=severity,
            long_seconds=_whole_minutes(period_seconds, long_share),
            short_seconds=_whole_minutes(period_seconds, short_share),
            factor=Decimal(factor),
            budget_ratio=Decimal(factor) / long_share,
            for_seconds=_whole_minutes(period_seconds, for_share),
        )
        for severity, long_share, short_share, factor, for_share in _PERIOD_SHARES
    )


def _whole_minutes(period_seconds: int, share: int) -> int:
    """Return a share of the period in seconds, rounded half up to the minute."""
    return (2 * period_seconds + share * MINUTE_SECONDS) // (2 * share * MINUTE_SECONDS) * 60


def burn_threshold(window: BurnWindow, target_percent: Decimal) -> Decimal:
    """Return the error ratio that both windows must exceed: factor * (1 - target)."""
    return window.factor * error_budget(target_percent)


def error_budget(target_percent: Decimal) -> Decimal:
    """Return the share of events (0-1) that may be bad under a target in percent."""
    return (100 - target_percent).scaleb(-2)


def spent_budget(window: BurnWindow, period_seconds: int) -> Decimal:
    """Return the share of the budget that is gone when even traffic burnt the long window full."""
    return window.factor * window.long_seconds / period_seconds


def burn_detection_seconds(
    window_seconds: int,
    threshold: float,
    *,
    error_ratio: float,
    before_ratio: float = 0.0,
    traffic_ratio: float = 1.0,
) -> float | None:
    """Return how long after a step in errors a full window exceeds its threshold.

    Args:
        window_seconds: Length of the window; for a pair the long one decides.
        threshold: Error ratio that has to be exceeded.
        error_ratio: Share of bad events after the step.
        before_ratio: Share of bad events before the step.
        traffic_ratio: Traffic after the step over traffic before it.

    Returns:
        Ideal seconds, without `for`, scrape and evaluation; null when it never exceeds.
    """
    if error_ratio <= threshold:
        return None
    missing = max(0.0, threshold - before_ratio)
    return window_seconds * missing / (missing + traffic_ratio * (error_ratio - threshold))


def burn_reset_seconds(
    short_seconds: int, threshold: float, *, error_ratio: float, after_ratio: float = 0.0
) -> float | None:
    """Return how long after recovery the short window lets a firing pair go.

    Args:
        short_seconds: Length of the short window.
        threshold: Error ratio that had to be exceeded.
        error_ratio: Share of bad events before the recovery, above the threshold.
        after_ratio: Share of bad events after it.

    Returns:
        Ideal seconds; null when the recovery is not enough for the pair ever to let go.
    """
    if error_ratio <= threshold:
        return 0.0
    if after_ratio > threshold:
        return None
    return short_seconds * (error_ratio - threshold) / (error_ratio - after_ratio)


def exact(number: float | Decimal) -> str:
    """Return a float's text with 17 significant digits, which reads back as the same float."""
    return format(float(number), ".17g")


def duration(seconds: int) -> str:
    """Return seconds as one Prometheus unit where whole, as in `5m`, `6h`, `3d`."""
    for unit_seconds, unit in ((DAY_SECONDS, "d"), (HOUR_SECONDS, "h"), (MINUTE_SECONDS, "m")):
        if seconds >= unit_seconds and seconds % unit_seconds == 0:
            return f"{seconds // unit_seconds}{unit}"
    return f"{seconds}s"


def open_duration(seconds: int) -> str:
    """Return the Prometheus duration that is a millisecond short of seconds, as in `4m59s999ms`.

    Prometheus 2 selects a sample at the very start of a range, and 3 does not. Neither counts a
    stretch too many when the range is this one, since timestamps are whole milliseconds.
    """
    left, text = seconds - 1, ""
    for unit_seconds, unit in ((DAY_SECONDS, "d"), (HOUR_SECONDS, "h"), (MINUTE_SECONDS, "m")):
        whole, left = divmod(left, unit_seconds)
        text += f"{whole}{unit}" if whole else ""
    return f"{text}{left}s999ms" if left else f"{text}999ms"
