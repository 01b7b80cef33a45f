"""Find exporters whose collectors failed: no data from a host, which is neither faults nor health.

Source: fabric reference, sections 0, 2.1 and 2.2; prometheus/node_exporter issue 3265 (one file
that cannot be read takes all InfiniBand series of a host away).
"""

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.frames import COVERAGE, EVENTS, require
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

WATCHED: Final = (
    r"^(?:infiniband|ethtool|netclass|netdev|dcgm|ib|switch|hca|ca(?:-|$)|perfquery|exporter$"
    r"|scrape )"
)
"""Collectors whose silence blinds us; others of a host fail for ever where the hardware is not."""

_DATA: Final = {"infiniband": "IB", "ethtool": "ethtool"}

_KINDS: Final = ("collector_failed", "stale_source")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorParams:
    """When a collector counts as lost.

    Attributes:
        max_seen_share: Of its scrapes, up to which it is lost; above it a few timed out.
    """

    max_seen_share: float = 0.5


def find_lost_collectors(
    events: pl.LazyFrame, coverage: pl.LazyFrame, params: CollectorParams
) -> pl.DataFrame:
    """Return the hosts and switches without data, because the collector of it failed or is old.

    Args:
        events: `EVENTS`; kinds collector_failed and stale_source, the collector being the code.
        coverage: `COVERAGE`; one without a row for a collector says nothing against its failure.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind telemetry_lost, one row a collector of a host. Partition key: host.
    """
    scrapes = (
        coverage.pipe(require, COVERAGE)
        .group_by("entity", "signal")
        .agg(pl.col("seen").sum(), pl.col("expected").sum())
        .filter(pl.col("expected") > 0)
    )
    failed = (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind").is_in(_KINDS), pl.col("code").str.contains(WATCHED))
        .drop_nulls("host")
        .sort("time", "source", "position", nulls_last=True)
        .group_by("host", "kind", "code", maintain_order=True)
        .agg(pl.col("time", "message", "source").first())
        .with_columns(signal=pl.concat_str(pl.lit("collector "), "code"))
    )
    rows = (
        failed.join(scrapes, left_on=["host", "signal"], right_on=["entity", "signal"], how="left")
        .with_columns(share=(pl.col("seen") / pl.col("expected")).fill_null(0.0))
        .filter((pl.col("share") <= params.max_seen_share) | (pl.col("kind") == "stale_source"))
        .sort("host", "kind", "code")
        .collect()
    )
    return verdict_frame(_verdict(row) for row in rows.to_dicts())


def _verdict(row: dict[str, Any]) -> Verdict:
    data = _DATA.get(row["code"], row["code"])
    is_old = row["kind"] == "stale_source"
    what = (
        f"old {data} data from host {row['host']}"
        if is_old
        else f"no {data} data from host {row['host']}"
    )
    told = f"{what}: {row['message']}" if row["message"] else what
    return Verdict(
        kind="telemetry_lost",
        level="host",
        subject=Subject(host=row["host"]),
        onset=row["time"],
        detected=row["time"],
        cause=row["kind"],
        confidence="high",
        evidence=(Evidence(source=row["source"] or "events", time=row["time"], what=told),),
        action=f"mend the {row['code']} collector of this host; nothing of it is known to be down",
        needed=f"a scrape in which the {row['code']} collector succeeds",
    )
