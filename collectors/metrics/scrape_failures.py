"""Read what exporters say of their own failures: a collector that failed has no data, not zeros.

Source: Prometheus (`up`), prometheus/node_exporter (`node_scrape_collector_success`),
treydock/infiniband_exporter (`collect_error`, `collect_timeout`, and `last_execution` for its
text-file mode).
"""

from typing import Final

import polars as pl

from collectors.frames import COVERAGE, EVENTS, conform
from collectors.identity import node_guid
from collectors.infiniband.subnet import guid_directory
from collectors.metrics.series import Series, label_of
from collectors.metrics.target_labels import fill_hosts, host_label
from collectors.readings import Reading, reading_of

MAX_AGE_SECONDS: Final = 900.0
"""Values that were collected longer ago than this are stale. Source: the exporter's own advice."""

_SUCCESS: Final = "node_scrape_collector_success"
_FAILURE: Final = r"^infiniband_(?:switch|hca)_collect_(?:error|timeout)$"
_UP: Final = "up"
"""What Prometheus itself says of a target: 0 if it did not answer."""

_EXECUTION: Final = "infiniband_exporter_last_execution"


def failure_names() -> pl.Series:
    """Return the names of all metrics that `read_failures` understands."""
    kinds = [f"infiniband_{kind}_collect_" for kind in ("switch", "hca")]
    failures = [kind + what for kind in kinds for what in ("error", "timeout")]
    infos = ["node_uname_info", "infiniband_switch_info", "infiniband_hca_info"]
    return pl.Series("name", [_SUCCESS, _UP, _EXECUTION, *failures, *infos])


def read_failures(series: Series, source: str) -> Reading:
    """Return which collectors failed, on which host, and how often.

    Args:
        series: Series whose names are among `failure_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        A reading with one event for each collector of a host that failed (`collector_failed`) or
        whose values are old (`stale_source`), and how many scrapes a failed one was in.
    """
    outcomes = _outcomes(series, source)
    failed = outcomes.filter(pl.col("failed").any().over("host", "collector"))
    by_collector = failed.group_by("host", "collector", maintain_order=True)
    events = by_collector.agg(
        time=pl.col("time").filter("failed").min(),
        position=pl.col("position").filter("failed").min(),
        count=pl.col("failed").sum(),
        kind=pl.col("kind").first(),
        message=pl.col("message").first(),
    ).with_columns(code="collector", severity=pl.lit("medium"), source=pl.lit(source))
    coverage = by_collector.agg(
        start=pl.col("time").min(),
        end=pl.col("time").max() + pl.duration(microseconds=1),
        seen=(~pl.col("failed")).sum(),
        expected=pl.len(),
    ).with_columns(
        entity="host",
        signal=pl.concat_str(pl.lit("collector "), pl.col("collector")),
        source=pl.lit(source),
    )
    return reading_of(
        events=conform(events.lazy(), EVENTS).collect(),
        coverage=conform(coverage.lazy(), COVERAGE).collect(),
    )


def _outcomes(series: Series, source: str) -> pl.DataFrame:
    """Return one row a report of a collector, with whether it is one of failure."""
    name = pl.col("name")
    is_report = name.is_in([_SUCCESS, _UP, _EXECUTION]) | name.str.contains(_FAILURE)
    labelled = (
        series.identities.filter(is_report)
        .with_columns(
            host=host_label(),
            target=label_of("instance"),
            guid=node_guid(label_of("guid")),
            collector=_collector(),
        )
        .join(guid_directory(series.identities), on="guid", how="left", maintain_order="left")
        .with_columns(host=pl.coalesce("node", "guid", "host"))
    )
    hosted = fill_hosts(labelled, series.identities, source)
    value, is_age = pl.col("value"), name == _EXECUTION
    age_seconds = pl.col("time").dt.timestamp("us") / 1e6 - value
    failed = (
        pl.when(name.is_in([_SUCCESS, _UP]))
        .then(value == 0)
        .when(is_age)
        .then(age_seconds > MAX_AGE_SECONDS)
        .otherwise(value > 0)
    )
    return (
        series.points.join(
            hosted.select("series", "name", "host", "collector"), on="series", maintain_order="left"
        )
        .with_columns(
            failed=failed.fill_null(value=False),
            kind=pl.when(is_age).then(pl.lit("stale_source")).otherwise(pl.lit("collector_failed")),
            message=pl.when(is_age)
            .then(pl.format("the values of {} were collected long before the scrape", "collector"))
            .otherwise(
                pl.format("the {} collector failed: no data of it, which is not zero", "collector")
            ),
        )
        .sort("time", "position")
    )


def _collector() -> pl.Expr:
    """Return what a report is about: a collector, or the whole scrape of a job."""
    scrape = pl.format("scrape {}", label_of("job").fill_null("of unknown job"))
    return (
        pl.when(pl.col("name") == _UP)
        .then(scrape)
        .otherwise(label_of("collector").fill_null("unknown"))
    )
