"""The metric contract as Prometheus reads it.

The text is prometheus-client's; what stands in it is made at a tick, so that a scrape costs nothing
and never sees half of one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import (
    Metric as Family,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from paceline.watching.gauges import Measured
from paceline.watching.run_counts import BUCKETS
from paceline.watching.totals import Key
from slo.metrics import METRICS, Metric

_INFINITY: Final = "+Inf"


def exposition(gauges: Iterable[Measured], totals: Mapping[Key, float]) -> bytes:
    """Return the text of `/metrics`: every metric of the contract that has a series.

    Args:
        gauges: Samples of now.
        totals: Counters, and the parts of histograms.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Contract(list(gauges), totals))
    return generate_latest(registry)


@dataclass(frozen=True, slots=True, eq=False)
class _Contract(Collector):
    """The families of the contract, in its order."""

    gauges: list[Measured]
    totals: Mapping[Key, float]

    def collect(self) -> Iterator[Family]:
        """Yield each family that has a sample."""
        for metric in METRICS:
            family = self._family(metric)
            if family.samples:
                yield family

    def _family(self, metric: Metric) -> Family:
        if metric.kind == "gauge":
            gauge = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
            for one in self.gauges:
                if one.metric is metric:
                    gauge.add_metric(one.labels, one.value)
            return gauge
        if metric.kind == "counter":
            counter = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
            for (name, labels), value in sorted(self.totals.items()):
                if name == metric.name:
                    counter.add_metric(labels, value)
            return counter
        return self._histogram(metric)

    def _histogram(self, metric: Metric) -> Family:
        family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        bounds = [f"{bound:g}" for bound in BUCKETS[metric.name]] + [_INFINITY]
        whole = sorted(labels for name, labels in self.totals if name == f"{metric.name} sum")
        for labels in whole:
            buckets = [
                (bound, self.totals.get((f"{metric.name} {bound}", labels), 0.0))
                for bound in bounds
            ]
            family.add_metric(
                labels, buckets=buckets, sum_value=self.totals[f"{metric.name} sum", labels]
            )
        return family
