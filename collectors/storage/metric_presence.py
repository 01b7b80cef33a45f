"""Remember which metrics a source had, and when: one that vanished is not one that never was."""

from datetime import datetime
from typing import Final

import polars as pl
from deltalake import DeltaTable

from collectors.frames import conform, schema_of
from collectors.metrics.series import Series
from collectors.storage.store import Store, Wanted
from collectors.storage.store_commits import retried
from collectors.storage.store_tables import METRICS

METRIC_STATES: Final = schema_of(METRICS.schema | {"state": pl.String})
"""`METRICS` with a `state`: present or vanished. A metric without a row was never there."""

_KEY: Final = list(METRICS.identity)


def metrics_seen(series: Series, source: str) -> pl.DataFrame:
    """Return `METRICS` of some series: the first and the last time of each of their metrics."""
    named = series.points.join(series.identities.select("series", "name"), on="series")
    seen = named.group_by("name").agg(
        first_seen=pl.col("time").min(), last_seen=pl.col("time").max()
    )
    named_rows = seen.rename({"name": "metric"}).with_columns(source=pl.lit(source))
    return conform(named_rows.drop_nulls().lazy(), METRICS.schema).sort(_KEY).collect()


def remember_metrics(store: Store, seen: pl.DataFrame) -> int:
    """Widen the times in the store by what was seen.

    Args:
        store: Where.
        seen: `METRICS`; in any order of time, and again at will.

    Returns:
        How many metrics are new or were seen at earlier or later times than before.
    """
    if seen.is_empty():
        return 0

    def widen(table: DeltaTable) -> int:
        known = pl.scan_delta(table).select(METRICS.schema.names()).collect()
        both = (
            pl.concat([known, seen])
            .group_by(_KEY)
            .agg(pl.col("first_seen").min(), pl.col("last_seen").max())
        )
        changed = both.join(known, on=METRICS.schema.names(), how="anti")
        if changed.height:
            _merge(table, changed)
        return changed.height

    return retried(store.place, METRICS.name, widen)


def _merge(table: DeltaTable, changed: pl.DataFrame) -> None:
    merger = table.merge(
        changed.select(METRICS.schema.names()),
        predicate="kept.source = seen.source AND kept.metric = seen.metric",
        source_alias="seen",
        target_alias="kept",
    )
    merger.when_matched_update_all().when_not_matched_insert_all().execute()


def read_metric_states(store: Store, source: str, since: datetime) -> pl.DataFrame:
    """Return which metrics a source has and had.

    Args:
        store: Where.
        source: Its name in evidence.
        since: A metric without a sample from then on has vanished; with a zone.

    Returns:
        `METRIC_STATES` by metric.
    """
    state = pl.when(pl.col("last_seen") < since).then(pl.lit("vanished"))
    found = store.read(METRICS.name, Wanted(sources=[source])).sort(_KEY)
    return found.with_columns(state=state.otherwise(pl.lit("present"))).collect()
