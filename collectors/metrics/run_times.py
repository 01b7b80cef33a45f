"""When the values of a text-file exporter were measured: at its last run, not at the scrape.

Source: treydock/infiniband_exporter, `-runonce`. Its collectors write a file that a node_exporter
serves again and again; `infiniband_exporter_last_execution` says when each of them ran.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.metrics.series import Series, label_of
from collectors.texts.stamps import epoch_time

EXECUTION: Final = "infiniband_exporter_last_execution"

_RUN: Final = r"^(switch|hca|ibswinfo).*-runonce$"


def measured_at(measured: pl.DataFrame, known: pl.DataFrame, series: Series) -> pl.DataFrame:
    """Return samples with the time of the run that measured them.

    Args:
        measured: `MEASURED`.
        known: The label sets that were read: `series`, `name`, `labels`.
        series: All series of the source, among them the times of runs.

    Returns:
        `MEASURED`; scrapes between two runs are copies, so they become samples of one time.
        Exporters that run at each scrape keep the scrape's time.
    """
    runs = _runs(series)
    if runs.is_empty():
        return measured
    kinds = known.select(
        "series",
        kind=pl.col("name").str.extract(r"^infiniband_(switch|hca)_", 1),
        target=label_of("instance"),
    ).drop_nulls("kind")
    keys = ["kind", "scrape_target", "time", "page"]
    tagged = measured.join(
        kinds.rename({"target": "scrape_target"}), on="series", how="left", maintain_order="left"
    )
    joined = tagged.join(runs, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(time=pl.coalesce("ran", "time")).select(measured.columns)


def _runs(series: Series) -> pl.DataFrame:
    """Return by kind, target and scrape when the collector of that kind last ran."""
    collectors = series.identities.filter(pl.col("name") == EXECUTION).select(
        "series",
        kind=label_of("collector").str.extract(_RUN, 1),
        scrape_target=label_of("instance"),
    )
    points = series.points.join(collectors.drop_nulls("kind"), on="series", how="inner")
    keys = ["kind", "scrape_target", "time", "page"]
    return (
        points.with_columns(ran=epoch_time(pl.col("value")).cast(TIME))
        .drop_nulls("ran")
        .group_by(keys)
        .agg(pl.col("ran").max())
    )
