"""What the indicator of an OpenSLO document counts.

Source: OpenSLO v1, SLI. `counter: false` is for totals that a source keeps over the window already;
a query that rates its metric says that it is a counter, whatever the field does.
"""

from collections.abc import Mapping

from slo.documents import DocumentError
from slo.events import Events, histogram_events, ratio_events, raw_events, threshold_events
from slo.openslo_parts import PROMETHEUS_TYPES, IndicatorSpec, Metric, Ratio, SloSpec, Target
from slo.openslo_shared import Shared


def indicator_events(
    spec: SloSpec, target: Target, shared: Shared, *, is_histogram: bool, where: str
) -> Events:
    """Return what the indicator of an objective counts for one of its targets.

    Args:
        spec: What is promised.
        target: The target.
        shared: What the document may refer to.
        is_histogram: Whether a threshold is a bound of a histogram.
        where: What messages call the objective.

    Raises:
        DocumentError: The indicator is nobody's, or is not one of ratio and threshold.
        QueryError: A query counts something that no selector says.
        SelectorError: A selector looks at another time, or names no metric.
    """
    indicator = _indicator(spec, shared.indicators, where)
    ratio, threshold = indicator.ratio_metric, indicator.threshold_metric
    if (ratio is None) == (threshold is None):
        raise DocumentError(f"{where}: wanted either ratioMetric or thresholdMetric")
    if threshold is not None:
        query = _query(threshold, shared, where)
        return _threshold_events(query, target, where, is_histogram=is_histogram)
    if target.op in ("lt", "lte"):
        raise DocumentError(
            f"{where}: wanted op with a thresholdMetric, found {target.op} with a ratioMetric, "
            "whose ratio is at least its target"
        )
    return _ratio_events(ratio or Ratio(), shared, where)


def _threshold_events(query: str, target: Target, where: str, *, is_histogram: bool) -> Events:
    """Return what a threshold metric counts."""
    if target.op is None or target.value is None:
        raise DocumentError(f"{where}: wanted op and value with a thresholdMetric")
    if is_histogram:
        return histogram_events(query, target.op, f"{target.value:f}", where)
    return threshold_events(query, target.op, float(target.value), where)


def _ratio_events(ratio: Ratio, shared: Shared, where: str) -> Events:
    """Return what a ratio metric counts."""
    if ratio.raw is not None:
        if ratio.raw_type is None or ratio.good or ratio.bad or ratio.total:
            raise DocumentError(f"{where}: wanted rawType beside raw, and no good, bad or total")
        is_bad = ratio.raw_type == "failure"
        return raw_events(_query(ratio.raw, shared, where), is_bad=is_bad, where=where)
    part = ratio.bad or ratio.good
    if part is None or (ratio.good and ratio.bad):
        raise DocumentError(f"{where}: wanted either good or bad events, found both or neither")
    if ratio.total is None or ratio.raw_type is not None:
        raise DocumentError(f"{where}: wanted total events beside the part, and no rawType")
    return ratio_events(
        _query(part, shared, where),
        _query(ratio.total, shared, where),
        part_is_bad=ratio.bad is not None,
        is_counter=ratio.counter,
        where=where,
    )


def _indicator(spec: SloSpec, indicators: Mapping[str, IndicatorSpec], where: str) -> IndicatorSpec:
    """Return the indicator that stands inline or in another document."""
    if spec.indicator is not None:
        return spec.indicator.spec
    found = indicators.get(spec.indicator_ref or "")
    if found is not None:
        return found
    raise DocumentError(
        f"{where}: wanted an indicator, found no document of kind SLI named "
        f"{spec.indicator_ref!r}; known: {sorted(indicators)}"
    )


def _query(metric: Metric, shared: Shared, where: str) -> str:
    """Return the PromQL of a metric, or refuse a source that answers none."""
    source = metric.metric_source
    known = shared.source_types.get(source.metric_source_ref or "", "Prometheus")
    type_ = source.type or known
    if type_.casefold() not in PROMETHEUS_TYPES:
        raise DocumentError(
            f"{where}: wanted a source that answers PromQL ({', '.join(PROMETHEUS_TYPES)}), found "
            f"{type_!r}"
        )
    query = source.spec.query or source.spec.promql
    if not query:
        raise DocumentError(f"{where}: wanted a query in metricSource.spec, found none")
    return query
