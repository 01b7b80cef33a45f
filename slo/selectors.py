"""Selectors of counters: as PromQL text, and as a filter over a frame of series.

Source: Prometheus, "Querying basics": a missing label equals an empty one, and regular expressions
are anchored on both sides. Text is read by promql-parser, so that nothing here guesses a grammar.
Prometheus 3 writes the histogram bound `1` as `1.0` (migration guide, "le and quantile labels").
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl
import promql_parser

MatchSign = Literal["=", "!=", "=~", "!~"]

_SIGNS: dict[str, MatchSign] = {
    "MatchOp.Equal": "=",
    "MatchOp.NotEqual": "!=",
    "MatchOp.Re": "=~",
    "MatchOp.NotRe": "!~",
}

_WHOLE_BOUND: Final = re.compile(r"([0-9]+)(\.0)?")
"""Bounds of buckets that Prometheus 2 and 3 spell differently."""


class SelectorError(ValueError):
    """A query is not the bare selector of one counter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """One condition on a label.

    Attributes:
        label: Name of the label.
        sign: How it is compared.
        value: What it is compared with; for `=~` and `!~` an anchored regular expression.
    """

    label: str
    sign: MatchSign
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """The series of one counter.

    Attributes:
        metric: Name of the metric.
        matchers: Conditions that each series must fulfil, by label.
    """

    metric: str
    matchers: tuple[Matcher, ...] = ()

    @property
    def text(self) -> str:
        """The selector in PromQL."""
        if not self.matchers:
            return self.metric
        inside = ",".join(f"{m.label}{m.sign}{quoted(m.value)}" for m in self.matchers)
        return f"{self.metric}{{{inside}}}"


def quoted(value: str) -> str:
    """Return a label value as a PromQL string."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def parse_selector(query: str) -> Selector:
    """Return the selector that a query is.

    Args:
        query: A metric name with label matchers: no range, function, offset or `or`.

    Raises:
        SelectorError: The query is anything else; rates and sums are added when rules are made.
    """
    wanted = f'wanted the bare selector of a counter, as in up_total{{a="b"}}, found {query!r}'
    try:
        found = promql_parser.parse(query)
    except ValueError as error:
        raise SelectorError(f"{wanted}: {error}") from error
    if not isinstance(found, promql_parser.VectorSelector):
        raise SelectorError(f"{wanted}; leave rate() and sum() out, they are added for you")
    return selector_of(found, wanted)


def selector_of(found: promql_parser.VectorSelector, wanted: str) -> Selector:
    """Return the selector that a part of a query is.

    Args:
        found: The part.
        wanted: How a refusal begins.

    Raises:
        SelectorError: It names no metric, or looks at another time.
    """
    conditions: list[tuple[str, MatchSign, str]] = [
        (m.name, _SIGNS[str(m.op)], m.value) for m in found.matchers.matchers
    ]
    named = [value for label, sign, value in conditions if (label, sign) == ("__name__", "=")]
    names = [found.name, *named] if found.name else named
    others = [one for one in conditions if one[0] != "__name__"]
    if len(names) != 1 or len(others) + len(named) != len(conditions):
        raise SelectorError(f"{wanted}; name the metric, one and as it is")
    if found.offset is not None or found.at is not None or found.matchers.or_matchers:
        raise SelectorError(f"{wanted}; leave offset, @ and or out")
    matchers = sorted((_matcher(*one) for one in others), key=lambda m: (m.label, m.sign, m.value))
    return Selector(metric=names[0], matchers=tuple(matchers))


def _matcher(label: str, sign: MatchSign, value: str) -> Matcher:
    """Return a matcher; one of a bucket's whole bound accepts both of its spellings."""
    whole = _WHOLE_BOUND.fullmatch(value)
    if label == "le" and sign == "=" and whole:
        return Matcher(label=label, sign="=~", value=rf"{whole[1]}(\.0)?")
    return Matcher(label=label, sign=sign, value=value)


def select_series(series: pl.DataFrame, selector: Selector) -> pl.DataFrame:
    """Return the rows of the series that a selector picks.

    Args:
        series: `metric`, labels (null: absent), `time`, `value`.
        selector: What to pick; a label that the frame has no column for is absent everywhere.
    """
    conditions = [_matches(matcher, series.columns) for matcher in selector.matchers]
    return series.filter(pl.col("metric") == selector.metric, *conditions)


def _matches(matcher: Matcher, columns: list[str]) -> pl.Expr:
    """Return whether a row fulfils one condition."""
    known = matcher.label in columns
    label = pl.col(matcher.label).fill_null("") if known else pl.lit("")
    if matcher.sign in {"=", "!="}:
        is_met = label == matcher.value
    else:
        is_met = label.str.contains(f"^(?:{matcher.value})$")
    return is_met if matcher.sign in {"=", "=~"} else ~is_met
