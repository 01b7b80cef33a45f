"""Histograms' buckets as events: one bound whatever its spelling, and none that is not there.

Source: Prometheus, "Histograms and summaries"; "Migration to 3.0": `le="1"` became `le="1.0"`.
Both spellings are one bound: read as one series, they are never both counted.
"""

import re
from typing import Final

import polars as pl

from slo.selectors import Selector, select_series

BOUND_LABEL: Final = "le"
_EITHER_SPELLING: Final = r"(\.0)?"
"""End of the pattern by which a selector accepts both spellings of a whole bound."""
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d+)?(e[+-]?\d+)?|Inf)", re.IGNORECASE)


def pick_series(series: pl.DataFrame, selector: Selector, *, as_one: bool) -> pl.DataFrame:
    """Return the rows of the series that a selector picks.

    Args:
        series: `metric`, labels (null: absent), `time`, `value`.
        selector: What to pick.
        as_one: Whether the spellings of one bound are one series. Of two values at one time the
            larger is kept: both counted the same events, and one of them a little earlier.
    """
    picked = select_series(series, selector)
    bound = bound_of(selector)
    if not as_one or bound is None or BOUND_LABEL not in picked.columns:
        return picked
    if picked[BOUND_LABEL].n_unique() <= 1:
        return picked
    merged = picked.with_columns(pl.lit(f"{bound:.17g}").alias(BOUND_LABEL))
    keys = [name for name in merged.columns if name != "value"]
    return merged.group_by(keys, maintain_order=True).agg(pl.col("value").max())


def bound_of(selector: Selector) -> float | None:
    """Return the one bound of a bucket that a selector asks for; null when it asks for none.

    A pattern asks for one bound when all of its alternatives are spellings of it.
    """
    for matcher in selector.matchers:
        if matcher.label == BOUND_LABEL and matcher.sign in {"=", "=~"}:
            texts = matcher.value.removesuffix(_EITHER_SPELLING).replace("\\", "").split("|")
            bounds = {float(text) if _NUMBER.fullmatch(text) else None for text in texts}
            return bounds.pop() if len(bounds) == 1 else None
    return None


def has_other_bounds(series: pl.DataFrame, selector: Selector) -> bool:
    """Return whether there is such a histogram, whatever its bounds."""
    if bound_of(selector) is None or BOUND_LABEL not in series.columns:
        return False
    return not select_series(series, without_bound(selector)).is_empty()


def bounds_of(series: pl.DataFrame, selector: Selector) -> dict[float, list[str]]:
    """Return the bounds that a histogram has, each with its spellings."""
    if BOUND_LABEL not in series.columns:
        return {}
    buckets = select_series(series, without_bound(selector))
    bounds: dict[float, list[str]] = {}
    for text in buckets[BOUND_LABEL].drop_nulls().unique().sort():
        bounds.setdefault(float(text), []).append(text)
    return bounds


def without_bound(selector: Selector) -> Selector:
    """Return the selector of all buckets of a histogram."""
    matchers = tuple(each for each in selector.matchers if each.label != BOUND_LABEL)
    return Selector(metric=selector.metric, matchers=matchers)
