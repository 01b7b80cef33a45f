"""What names a node as faulty: errors of its hardware, failed health checks, leaving the service.

Source: methods reference, section 10 (signals of repeat offenders), after A. Kokolis and others,
"Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (HPCA 2025), who look at
distinct Xids, tickets, times out of service and failed jobs. We leave out what users exclude: it
does not go along with real faults. Xids of programs name nobody.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, TIME, require, schema_of
from collectors.texts.event_labels import label_value
from detectors.faults import HARDWARE_XIDS, LINK_XIDS, is_switch_error

NODE_SIGNALS: Final = schema_of(
    {
        "time": TIME,
        "host": pl.String,
        "family": pl.String,
        "device": pl.String,
        "run": pl.String,
        "what": pl.String,
        "source": pl.String,
    }
)
"""One thing that names a host. `family`: xid, memory, service, health. `device` is the GPU that it
names, null for the host; `run` the job that it names."""

MEMORY_XIDS: Final = ("48", "63", "64", "92", "94", "95", "140", "171", "172")
"""Xids of memory: double-bit errors, remapped rows, many single-bit errors."""

_FURTHER_XIDS: Final = ("61", "63", "92")
"""Of hardware as well, though none of them ends a job by itself."""

_SEVERE: Final = ("critical", "high", "error")

_SLIGHT: Final = ("low", "info")

_MEMORY_KINDS: Final = ("ecc", "memory_error", "gpu_row_remap")

_HEALTH_KINDS: Final = ("gpu_health", "gpu_error", "health_check", "pcie_error")

_OUT_OF_SERVICE: Final = r"\b(?:DOWN|DRAIN|FAIL|ERROR|NOT_RESPONDING)\b"

_PLANNED: Final = r"(?i)mainten|upgrade|update|reserv|firmware|reboot|test"
"""Reasons of people who take a node out with a plan."""

SAME_SECONDS: Final = 5.0
"""Equal Xids this close are one: a driver tells an error once for each channel."""


def node_signals(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return `NODE_SIGNALS`, by host and time.

    Args:
        events: `EVENTS`; without a time or a host they name nobody. A null severity is severe.
    """
    named = events.pipe(require, EVENTS).drop_nulls(["time", "host"])
    known = (
        named.with_columns(family=_family())
        .drop_nulls("family")
        .select(
            "time",
            "host",
            "family",
            "code",
            "run",
            "source",
            device=pl.when(pl.col("device_kind") == "gpu").then("device"),
            what=_words(),
        )
        .unique(maintain_order=False)
    )
    place = ("host", "family", "code", "device")
    gap = pl.col("time").diff().over(place).dt.total_microseconds() / 1e6
    return (
        known.sort(*place, "time", "what", "source", "run", nulls_last=True)
        .with_columns(gap=gap)
        .filter(pl.col("gap").is_null() | (pl.col("gap") > SAME_SECONDS))
        .select(NODE_SIGNALS.names())
        .sort("host", "time", "family", "what", "source", "run", "device", nulls_last=True)
    )


def _family() -> pl.Expr:
    """Return the family of an event; null where it names nobody."""
    kind, code = pl.col("kind"), pl.col("code").fill_null("")
    is_severe = pl.col("severity").is_in(list(_SEVERE)) | pl.col("severity").is_null()
    is_slight = pl.col("severity").is_in(list(_SLIGHT)).fill_null(value=False)
    is_xid = kind == "xid"
    is_memory_xid = is_xid & code.is_in(MEMORY_XIDS)
    is_hardware = code.is_in([*HARDWARE_XIDS, *_FURTHER_XIDS])
    is_link = code.is_in(LINK_XIDS) & (pl.col("severity") == "critical")
    is_error = (is_xid & (is_hardware | is_link)) | (is_switch_error() & is_severe)
    is_out = (
        (kind == "node_state")
        & code.str.contains(_OUT_OF_SERVICE)
        & (label_value("unusable").fill_null("true") == "true")
        & ~pl.col("message").fill_null("").str.contains(_PLANNED)
    )
    return (
        pl.when(is_memory_xid | (kind.is_in(_MEMORY_KINDS) & is_severe))
        .then(pl.lit("memory"))
        .when(is_error.fill_null(value=False))
        .then(pl.lit("xid"))
        .when(kind.is_in(["node_failure", "gpu_lost"]) | is_out)
        .then(pl.lit("service"))
        .when(kind.is_in(_HEALTH_KINDS) & ~is_slight)
        .then(pl.lit("health"))
    )


def _words() -> pl.Expr:
    """Return an event in words: what it is, on which device, and what its source said."""
    kind = pl.col("kind").str.replace_all("_", " ")
    code = pl.format(" {}", "code").fill_null("")
    device = pl.format(" of {}", "device").fill_null("")
    said = pl.format(": {}", pl.col("message").str.slice(0, 120)).fill_null("")
    return pl.concat_str(kind, code, device, said)


def signal_episodes(signals: pl.LazyFrame, max_gap_seconds: float) -> pl.LazyFrame:
    """Return the first signal of each episode: `NODE_SIGNALS`, a family at a time.

    Args:
        signals: `NODE_SIGNALS`.
        max_gap_seconds: Signals of one family on one host that follow so soon are one trouble.
    """
    gap = pl.col("time").diff().over("host", "family").dt.total_microseconds() / 1e6
    ordered = signals.sort("host", "family", "time", "what", nulls_last=True).with_columns(gap=gap)
    return ordered.filter(pl.col("gap").is_null() | (pl.col("gap") > max_gap_seconds)).select(
        NODE_SIGNALS.names()
    )
