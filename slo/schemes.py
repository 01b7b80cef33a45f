"""Windows by the name of a scheme, and pairs as people write them out.

Sources: The Site Reliability Workbook, chapter 5 (`recommended`, `by-share`); pyrra-dev/pyrra,
slo/rules.go (`by-period`); slok/sloth's windows built in for 30 and 28 days and its example for 7
(`sloth`), which have no `for`.
"""

import re
from dataclasses import replace
from decimal import Decimal
from typing import Final, Literal, get_args

from slo.lints import LintParams
from slo.periods import read_seconds, read_wait_seconds
from slo.windows import (
    DAY_SECONDS,
    RECOMMENDED_WINDOWS,
    BurnWindow,
    Severity,
    duration,
    windows_by_period,
    windows_by_share,
)

Scheme = Literal["recommended", "by-share", "by-period", "sloth"]

# Source: slok/sloth, its windows for 30 and 28 days and examples/windows/7d.yaml: the share of the
# budget, in percent, that each pair of the workbook's windows stands for.
_SLOTH_PERCENTS: Final = {
    30: ("2", "5", "10", "10"),
    28: ("2", "5", "10", "10"),
    7: ("8", "12.5", "20", "42"),
}
_PAIR_FORM: Final = "page long=1h short=5m factor=14.4 for=2m"
_PAIR_KEYS: Final = ("long", "short", "factor", "for", "keep")


class SchemeError(ValueError):
    """Windows are asked for by a name that nobody knows, or a pair is not written as one."""


def windows_of(text: str, period_seconds: int, where: str) -> tuple[BurnWindow, ...]:
    """Return the windows of a scheme, or the pairs that are written out.

    Args:
        text: Name of a scheme; or pairs, each on a line or behind a semicolon.
        period_seconds: Length of the period.
        where: What messages call it.

    Raises:
        SchemeError: It is neither.
        PeriodError: A length of a pair cannot be read.
        PeriodTooShortError: The period is too short for windows that are shares of it.
    """
    scheme = text.strip()
    if scheme == "recommended":
        return RECOMMENDED_WINDOWS
    if scheme == "by-share":
        return windows_by_share(period_seconds)
    if scheme == "by-period":
        return windows_by_period(period_seconds, scrape_seconds=LintParams().scrape_seconds)
    if scheme == "sloth":
        return sloth_windows(period_seconds, where)
    if "=" in scheme:
        pairs = [part.strip() for part in scheme.replace(";", "\n").splitlines()]
        return tuple(_pair(pair, period_seconds, where) for pair in pairs if pair)
    raise SchemeError(
        f"{where}: wanted paceline/windows to be {', '.join(get_args(Scheme))} or pairs as in "
        f"{_PAIR_FORM!r}, found {text!r}"
    )


def sloth_windows(period_seconds: int, where: str) -> tuple[BurnWindow, ...]:
    """Return the windows that Sloth has for a period.

    Raises:
        SchemeError: It has none for this length.
    """
    percents = _SLOTH_PERCENTS.get(period_seconds // DAY_SECONDS)
    if percents is None or period_seconds % DAY_SECONDS:
        raise SchemeError(
            f"{where}: wanted a period that Sloth has windows for "
            f"({', '.join(f'{days}d' for days in _SLOTH_PERCENTS)}), found "
            f"{duration(period_seconds)}; write the pairs out, or add its AlertWindows document"
        )
    return tuple(
        window_by_budget(
            window.severity,
            lengths=(window.long_seconds, window.short_seconds),
            budget_percent=Decimal(percent),
            period_seconds=period_seconds,
        )
        for window, percent in zip(RECOMMENDED_WINDOWS, percents, strict=True)
    )


def window_by_budget(
    severity: Severity,
    *,
    lengths: tuple[int, int],
    budget_percent: Decimal,
    period_seconds: int,
) -> BurnWindow:
    """Return the pair that fires when it has spent a share of the budget.

    Args:
        severity: Whom it reaches.
        lengths: Long and short, in seconds.
        budget_percent: The share, in percent.
        period_seconds: Length of the period.
    """
    long_seconds, short_seconds = lengths
    budget_ratio = budget_percent.scaleb(-2)
    return BurnWindow(
        severity=severity,
        long_seconds=long_seconds,
        short_seconds=short_seconds,
        factor=budget_ratio * period_seconds / long_seconds,
        budget_ratio=budget_ratio,
        for_seconds=0,
    )


def window_by_factor(
    severity: Severity,
    *,
    lengths: tuple[int, int],
    factor: Decimal,
    for_seconds: int,
    period_seconds: int,
) -> BurnWindow:
    """Return the pair of a factor; the share of the budget that it promises is its real one.

    Args:
        severity: Whom it reaches.
        lengths: Long and short, in seconds.
        factor: Burn rate that both must exceed.
        for_seconds: How long the condition must hold.
        period_seconds: Length of the period.
    """
    long_seconds, short_seconds = lengths
    return BurnWindow(
        severity=severity,
        long_seconds=long_seconds,
        short_seconds=short_seconds,
        factor=factor,
        budget_ratio=factor * long_seconds / period_seconds,
        for_seconds=for_seconds,
    )


def single_window_lengths(long_seconds: int) -> tuple[int, int]:
    """Return the pair of lengths for a spec that knows the long window only.

    Source: the workbook, chapter 5: the short window is a twelfth of the long one. Rounded up to
    the minute. It lets the alert go soon after recovery and hardly delays it.
    """
    return long_seconds, max(60, -(-long_seconds // (12 * 60)) * 60)


def _pair(text: str, period_seconds: int, where: str) -> BurnWindow:
    """Return one pair that is written out."""
    word, *assigned = text.split()
    severity: Severity = "page" if word == "page" else "ticket"
    given = {key: value for key, _, value in (part.partition("=") for part in assigned)}
    missing = {"long", "short", "factor"} - set(given)
    unknown = set(given) - set(_PAIR_KEYS)
    if word not in get_args(Severity) or missing or unknown or len(given) < len(assigned):
        raise SchemeError(f"{where}: wanted a pair as in {_PAIR_FORM!r}, found {text!r}")
    window = window_by_factor(
        severity,
        lengths=(read_seconds(given["long"], where), read_seconds(given["short"], where)),
        factor=_factor(given["factor"], where),
        for_seconds=read_wait_seconds(given.get("for", "0"), where),
        period_seconds=period_seconds,
    )
    return replace(window, keep_firing_seconds=read_wait_seconds(given.get("keep", "0"), where))


def _factor(text: str, where: str) -> Decimal:
    """Return the factor of a pair."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,20})?", text):
        raise SchemeError(f"{where}: wanted a number as factor, as in 14.4, found {text!r}")
    return Decimal(text)
