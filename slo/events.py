"""Events of an indicator: which series are good, bad and all, from the queries of a spec.

Sources: OpenSLO v1, `ratioMetric` and `thresholdMetric`; Sloth, `error_query` and `total_query`;
Prometheus' histograms, whose bucket counts what lies at or below its bound. Bad events that are
written as all but the good ones are those good ones, so that no difference is taken twice.
"""

from dataclasses import dataclass
from typing import Final, Literal

import promql_parser

from slo.objectives import Counting, SampleBound
from slo.queries import GROWTHS, Counted, QueryError, bare, counted, is_zero, parse_expression
from slo.selectors import Matcher, Selector, SelectorError, parse_selector

Operator = Literal["lt", "lte", "gt", "gte"]

_SIGNS: Final[dict[Operator, Literal["<", "<=", ">", ">="]]] = {
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
}
_COUNTER_ENDS: Final = ("_total", "_count", "_bucket", "_sum")
"""Ends of names that only counters have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What an indicator counts.

    Attributes:
        total: All events.
        bad: Bad events; null when `good` is given.
        good: Good events; null when `bad` is given.
        group_labels: Labels that the queries group by; empty for none.
        counting: How series become events.
        sample_bound: When a sample is good; null unless samples are judged.
    """

    total: Selector
    bad: Selector | None = None
    good: Selector | None = None
    group_labels: tuple[str, ...] = ()
    counting: Counting = Counting.COUNTER
    sample_bound: SampleBound | None = None


def ratio_events(
    part: str, total: str, *, part_is_bad: bool, is_counter: bool | None, where: str
) -> Events:
    """Return the events of two queries.

    Args:
        part: Query of the bad events, or of the good ones.
        total: Query of all events.
        part_is_bad: Which of the two `part` is.
        is_counter: Whether the bare metrics only grow; null is not said.
        where: What messages call the indicator.

    Raises:
        QueryError: The two do not count the same kind of events.
        SelectorError: A selector looks at another time, or names no metric.
    """
    try:
        expressions = parse_expression(part), parse_expression(total)
        return events_of(expressions, part_is_bad=part_is_bad, is_counter=is_counter)
    except (QueryError, SelectorError) as error:
        raise type(error)(f"{where}: {error}") from error


def raw_events(query: str, *, is_bad: bool, where: str) -> Events:
    """Return the events of a query that divides them already.

    Args:
        query: Bad or good over all events, or one less that; or the mean of a gauge over time.
        is_bad: Whether the query is the bad share.
        where: What messages call the indicator.

    Raises:
        QueryError: The query cannot be taken apart into events.
        SelectorError: A selector looks at another time, or names no metric.
    """
    try:
        part, total, is_inverted = _divided(parse_expression(query))
        return events_of((part, total), part_is_bad=is_bad != is_inverted, is_counter=None)
    except (QueryError, SelectorError) as error:
        raise type(error)(f"{where}: {error}") from error


def threshold_events(query: str, operator: Operator, bound: float, where: str) -> Events:
    """Return the samples of a gauge as events, good where they meet a bound.

    Raises:
        QueryError: The query is anything but the bare selector of the gauge.
    """
    found = parse_expression(query)
    if not isinstance(found, promql_parser.VectorSelector):
        raise QueryError(
            f"{where}: wanted the bare selector of a gauge, whose samples are compared with "
            f"the bound, found {query!r}; record the query first, or for a histogram annotate "
            "paceline/threshold: histogram"
        )
    selector = parse_selector(query)
    return Events(
        total=selector,
        good=selector,
        counting=Counting.SAMPLES,
        sample_bound=SampleBound(sign=_SIGNS[operator], value=bound),
    )


def histogram_events(query: str, operator: Operator, bound: str, where: str) -> Events:
    """Return the observations of a histogram as events, good at or below (or above) a bound.

    Args:
        query: Selector of the histogram, without `_bucket`.
        operator: `lte` or `gt`: a bucket holds its own bound.
        bound: Upper bound of a bucket that the histogram has.
        where: What messages call the indicator.

    Raises:
        QueryError: The operator cuts inside of a bucket.
        SelectorError: The query is not the bare selector of a histogram.
    """
    if operator not in ("lte", "gt"):
        raise QueryError(
            f"{where}: wanted op lte (or gt) for a histogram, whose buckets hold their own bound, "
            f"found {operator}"
        )
    base = parse_selector(query)
    metric = base.metric.removesuffix("_bucket").removesuffix("_count")
    total = Selector(metric=f"{metric}_count", matchers=base.matchers)
    # Parsed again, so that both spellings of the bound are matched.
    bounded = Matcher(label="le", sign="=", value=bound)
    bucket = parse_selector(
        Selector(metric=f"{metric}_bucket", matchers=(*base.matchers, bounded)).text
    )
    is_good = operator == "lte"
    return Events(total=total, good=bucket if is_good else None, bad=None if is_good else bucket)


def events_of(
    expressions: tuple[promql_parser.Expr, promql_parser.Expr],
    *,
    part_is_bad: bool,
    is_counter: bool | None,
) -> Events:
    """Return the events of a part and of all.

    Raises:
        QueryError: The two do not count the same kind of events.
        SelectorError: A selector looks at another time, or names no metric.
    """
    part, total = counted(expressions[0]), counted(expressions[1])
    if total.minus is not None:
        raise QueryError(
            f"wanted one metric for all events, found {expressions[1].prettify()!r}; record it "
            "first"
        )
    if part.minus is not None:
        _refuse_other_whole(part, total)
        part, part_is_bad = part.minus, not part_is_bad
    return Events(
        total=total.selector,
        bad=part.selector if part_is_bad else None,
        good=None if part_is_bad else part.selector,
        group_labels=_group_labels(part, total),
        counting=_counting(part, total, is_counter=is_counter),
    )


def _refuse_other_whole(part: Counted, total: Counted) -> None:
    """Refuse a difference that is not all events less some."""
    if (part.selector, part.function) != (total.selector, total.function):
        raise QueryError(
            f"wanted a difference from all events ({total.selector.text}), found one from "
            f"{part.selector.text}; record the difference first"
        )


def _group_labels(part: Counted, total: Counted) -> tuple[str, ...]:
    """Return the labels that both queries group by."""
    named = [one.group_labels for one in (part, total) if one.group_labels is not None]
    if len({frozenset(labels) for labels in named}) > 1:
        raise QueryError(
            f"wanted the same labels behind by in both queries, found {list(named[0])} and "
            f"{list(named[1])}: they would not match"
        )
    return named[0] if named else ()


def _counting(part: Counted, total: Counted, *, is_counter: bool | None) -> Counting:
    """Return how the series of two queries become events."""
    functions = part.function, total.function
    if functions == ("sum_over_time", "count_over_time") and part.selector == total.selector:
        return Counting.SAMPLES
    if functions == (None, None):
        return _bare_counting(part, total, is_counter=is_counter)
    if any(one is not None and one not in GROWTHS for one in functions):
        raise QueryError(
            f"wanted sum_over_time over count_over_time of one gauge, or rates of counters, found "
            f"{functions[0]}({part.selector.text}) over {functions[1]}({total.selector.text})"
        )
    if functions[0] != functions[1] or part.window != total.window:
        raise QueryError(
            "wanted the same function and window in both queries, found "
            f"{_shown(part)} over {_shown(total)}"
        )
    return Counting.COUNTER


def _bare_counting(part: Counted, total: Counted, *, is_counter: bool | None) -> Counting:
    """Return how bare metrics become events."""
    if is_counter is None:
        names = part.selector.metric, total.selector.metric
        if not all(name.endswith(_COUNTER_ENDS) for name in names):
            raise QueryError(
                f"wanted counter: true or false for {names[0]} and {names[1]}, found neither; "
                "false is for totals that the source keeps over the window already"
            )
        return Counting.COUNTER
    return Counting.COUNTER if is_counter else Counting.WINDOWED


def _shown(one: Counted) -> str:
    """Return a part of a query in short."""
    text = one.selector.text
    return f"{one.function}({text}[{one.window}])" if one.function else text


def _divided(
    expression: promql_parser.Expr,
) -> tuple[promql_parser.Expr, promql_parser.Expr, bool]:
    """Return the two sides of a quotient, and whether it is taken from one."""
    found = bare(expression)
    if isinstance(found, promql_parser.Call) and found.func.name == "avg_over_time":
        over_time = promql_parser.parse(str(found.args[0].prettify())).prettify()
        sides = (f"{name}({over_time})" for name in ("sum_over_time", "count_over_time"))
        part, total = (promql_parser.parse(f"sum({side})") for side in sides)
        return part, total, False
    if isinstance(found, promql_parser.BinaryExpr):
        lhs = bare(found.lhs)
        is_one = isinstance(lhs, promql_parser.NumberLiteral) and lhs.val == 1
        if str(found.op) == "-" and is_one:
            part, total, is_inverted = _divided(found.rhs)
            return part, total, not is_inverted
        if str(found.op) == "/":
            return found.lhs, _unguarded(found.rhs), False
    raise QueryError(
        f"wanted a quotient of events, as in sum(rate(bad_total[5m])) / sum(rate(all_total[5m])), "
        f"found {found.prettify()!r}; a ratio that is recorded already cannot be averaged rightly: "
        "name its two counters"
    )


def _unguarded(total: promql_parser.Expr) -> promql_parser.Expr:
    """Return a divisor without the `> 0` that keeps it from being none."""
    found = bare(total)
    if isinstance(found, promql_parser.BinaryExpr) and str(found.op) in (">", "!="):
        return found.lhs if is_zero(found.rhs) else total
    return total
