"""What is doubtful about an objective's windows, said before its rules are switched on.

Source: The Site Reliability Workbook, chapter 5 (reachability, low traffic, share of budget), and
the mistakes reported to slok/sloth and pyrra-dev/pyrra that each message is there to prevent.
A lint is a message and never stops generation: people decide.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Literal

from slo.windows import (
    HOUR_SECONDS,
    BurnWindow,
    burn_threshold,
    duration,
    spent_budget,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """One message about one pair of windows.

    Attributes:
        code: Stable name of the rule behind it.
        level: `error` cannot work, `warning` will surprise, `note` is good to know.
        text: What was found, and the way out.
    """

    code: str
    level: Literal["error", "warning", "note"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LintParams:
    """What the windows are judged against.

    Attributes:
        scrape_seconds: Time between two scrapes.
        retention_seconds: How long the server keeps samples; Prometheus' default is 15 d.
        min_scrapes: Scrapes that the short window must hold, for `increase` to mean something.
        min_length_ratio: Long over short window; below it the short one hardly resets sooner.
        max_length_ratio: Long over short window; above it the short one is mostly noise.
    """

    scrape_seconds: int = 15
    retention_seconds: int = 15 * 86400
    min_scrapes: int = 4
    min_length_ratio: float = 6.0
    max_length_ratio: float = 24.0


def lint_windows(
    windows: tuple[BurnWindow, ...],
    *,
    target_percent: Decimal,
    period_seconds: int,
    params: LintParams,
) -> list[Lint]:
    """Return every message about the pairs of an objective, pair by pair in their order."""
    lints: list[Lint] = []
    for window in windows:
        lints += lint_reach(window, target_percent)
        lints += _lint_lengths(window, period_seconds, params)
        lints += _lint_factor(window)
        lints += lint_share(window, period_seconds)
        lints += lint_one_failure(window, target_percent)
    lints += _lint_sum(windows, period_seconds)
    return lints + list(_lint_order(windows))


def lint_reach(window: BurnWindow, target_percent: Decimal) -> list[Lint]:
    """Return an error when even a full outage cannot exceed the pair's threshold."""
    threshold = burn_threshold(window, target_percent)
    if threshold < 1:
        return []
    return [
        Lint(
            code="unreachable",
            level="error",
            text=f"{window.name}: {window.factor.normalize():f} x the budget is an error ratio of "
            f"{threshold.normalize():f}, and none is above 1: it can never fire at a target of "
            f"{target_percent} %; it works from {least_target(window.factor)} % on, or choose "
            "a smaller factor",
        )
    ]


def least_target(factor: Decimal) -> Decimal:
    """Return the least target, in percent with two digits, whose budget a factor can reach."""
    # One hundredth above the floor, so that the edge itself (threshold exactly 1) is not named.
    return (Decimal(math.floor((1 - 1 / factor) * 10000)) + 1).scaleb(-2)


def _lint_lengths(window: BurnWindow, period_seconds: int, params: LintParams) -> Iterator[Lint]:
    """Yield what is wrong with the lengths of a pair's windows."""
    least_short = params.min_scrapes * params.scrape_seconds
    if window.short_seconds < least_short:
        yield Lint(
            code="short-window",
            level="error",
            text=f"{window.name}: the short window holds fewer than {params.min_scrapes} scrapes "
            f"of {params.scrape_seconds} s; scrape more often or use at least {least_short} s",
        )
    if window.long_seconds > period_seconds:
        yield Lint(
            code="longer-than-period",
            level="error",
            text=f"{window.name}: the long window exceeds the period of "
            f"{duration(period_seconds)}; shorten it",
        )
    if window.long_seconds > params.retention_seconds:
        yield Lint(
            code="longer-than-retention",
            level="error",
            text=f"{window.name}: samples are kept for {duration(params.retention_seconds)} only; "
            "keep them longer or shorten the window",
        )
    length_ratio = window.long_seconds / window.short_seconds
    if not params.min_length_ratio <= length_ratio <= params.max_length_ratio:
        yield Lint(
            code="window-ratio",
            level="warning",
            text=f"{window.name}: long over short is {length_ratio:.3g}; about 12 balances noise "
            "and reset",
        )


def _lint_factor(window: BurnWindow) -> Iterator[Lint]:
    """Yield a warning for a factor that alerts on a service which keeps its objective."""
    if window.factor < 1:
        yield Lint(
            code="factor-below-one",
            level="warning",
            text=f"{window.name}: factor {window.factor:.4f} is below 1, so a service that keeps "
            "its objective can hold this alert for ever; use 1 or more",
        )
    elif window.factor == 1 and window.severity == "page":
        yield Lint(
            code="page-at-one",
            level="warning",
            text=f"{window.name}: a page at burn rate 1 wakes people for a budget that lasts the "
            "whole period; make it a ticket",
        )


def _lint_sum(windows: tuple[BurnWindow, ...], period_seconds: int) -> Iterator[Lint]:
    """Yield a warning where the pairs together promise to speak before more is gone than there is.

    Each pair fires when its share is spent. A share of the whole comes too late by itself; shares
    that sum to more than the whole leave the slowest pair nothing to warn of.
    """
    fitting = [window for window in windows if window.long_seconds <= period_seconds]
    shares = [spent_budget(window, period_seconds) for window in fitting]
    for window, share in zip(fitting, shares, strict=True):
        if share >= 1:
            yield Lint(
                code="budget-gone",
                level="warning",
                text=f"{window.name}: fires when {share:.2%} of the budget is gone, too late "
                "to save any; use a smaller factor or a shorter window",
            )
    if sum(shares) > 1 > max(shares):
        yield Lint(
            code="budget-sum",
            level="warning",
            text=f"the pairs fire at {', '.join(f'{share:.2%}' for share in shares)} of the "
            f"{duration(period_seconds)} budget, {sum(shares):.2%} together: what fires one after "
            "the other comes when the budget is gone; use smaller factors or shorter windows",
        )


def lint_share(window: BurnWindow, period_seconds: int) -> list[Lint]:
    """Return the pair's real share of the budget, as a warning when it promises another one."""
    spent = spent_budget(window, period_seconds)
    text = f"{window.name}: fires when {spent:.2%} of the {duration(period_seconds)} budget is gone"
    if math.isclose(spent, window.budget_ratio, rel_tol=0.05):
        return [Lint(code="budget-share", level="note", text=text)]
    factor = window.budget_ratio * period_seconds / window.long_seconds
    return [
        Lint(
            code="budget-share",
            level="warning",
            text=f"{text}, not {window.budget_ratio:.2%}; for that the factor is "
            f"{factor.normalize():.4g}",
        )
    ]


def lint_one_failure(window: BurnWindow, target_percent: Decimal) -> list[Lint]:
    """Return the traffic below which one bad event alone fires the pair, if anything can."""
    if burn_threshold(window, target_percent) >= 1:
        return []
    per_hour = least_events(window, target_percent) * HOUR_SECONDS / window.long_seconds
    return [
        Lint(
            code="one-failure",
            level="note",
            text=f"{window.name}: a single bad event fires it below {float(per_hour):.3g} events "
            "per hour",
        )
    ]


def least_events(window: BurnWindow, target_percent: Decimal) -> Decimal:
    """Return how many events the long window must hold for one bad one not to fire the pair."""
    return 1 / burn_threshold(window, target_percent)


def _lint_order(windows: tuple[BurnWindow, ...]) -> Iterator[Lint]:
    """Yield a warning where a longer window does not have a smaller factor."""
    for before, after in pairwise(sorted(windows, key=lambda window: window.long_seconds)):
        if after.factor >= before.factor:
            yield Lint(
                code="factor-order",
                level="warning",
                text=f"{after.name} has factor {after.factor:.4g} and the shorter {before.name} "
                f"{before.factor:.4g}: it can only fire later; factors fall as windows grow",
            )
