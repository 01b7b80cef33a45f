"""Find the lines of a kernel log that say something of ours, among all its other lines.

Source: formats of GPU and host streams, section 5. Words are looked for in the raw text first: the
layers of a line are only opened where one of them stands.
"""

import re
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from collectors.hosts.fabric_manager import MANAGER_HINTS, find_manager_lines
from collectors.hosts.host_faults import HOST_HINTS, find_host_faults
from collectors.hosts.kernel_clocks import Clocks, set_clocks
from collectors.hosts.kernel_envelopes import JOURNAL_START, open_envelopes
from collectors.hosts.kernel_records import RECORDS, labels
from collectors.hosts.nvrm_lines import FALLEN, find_gpu_names, find_nvrm_lines
from collectors.hosts.pcie_errors import PCIE_HINTS, find_pcie_errors
from collectors.hosts.sxids import find_sxids
from collectors.hosts.xid_links import LINK_XIDS
from collectors.hosts.xid_table import XidTable, load_xid_table
from collectors.hosts.xids import find_xids
from collectors.port_logs.kernel_links import LINK_HINTS, find_link_moves
from collectors.sniffing import ReadOptions

_HINTS: Final = (
    "NVRM",
    "Xid (",
    FALLEN,
    "(PCI ID: ",
    "installed in this system ",
    *PCIE_HINTS,
    *HOST_HINTS,
    *LINK_HINTS,
    *MANAGER_HINTS,
)

KERNEL_HINT: Final = "|".join(re.escape(word) for word in _HINTS)
"""A log without any of these has no line of ours."""

_BANNER: Final = "Linux version "

_JOURNAL_BYTES: Final = r'"MESSAGE"\s*:\s*\[\d'
"""A message in bytes hides its words."""

_YEARLESS: Final = r"^(?:<\d+>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"

MAX_SAMPLED_STAMPS: Final = 2_000
"""Stamps of other lines that are read to follow a log over New Years."""

_NO_DRIVERS: Final = pl.Schema({"host": pl.String, "driver": pl.String})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What some lines of a kernel log say.

    Attributes:
        records: `RECORDS`, without those that a replay repeats.
        aliases: `ALIASES`.
        used: The `line` numbers that ended in either, or repeat what did.
        told: What the log has told so far, for its next lines.
    """

    records: pl.DataFrame
    aliases: pl.DataFrame
    used: pl.Series
    told: "Told"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a log has told so far.

    Attributes:
        clocks: Of its clocks.
        drivers: `host`, `driver`: the version last loaded.
    """

    clocks: Clocks = field(default_factory=Clocks)
    drivers: pl.DataFrame = field(default_factory=_NO_DRIVERS.to_frame)


def find_kernel_lines(
    lines: pl.DataFrame, options: ReadOptions, told: Told, host: str | None = None
) -> Found:
    """Return what lines of a log say that a kernel printed.

    Args:
        lines: `line`, `position`, `time`, `host`, `text`, in the order of the log.
        options: What the log cannot say of itself.
        told: What it has told before these lines.
        host: Of lines that name none.

    Raises:
        OSError: The table of Xids cannot be read.
        XidTableError: It is none.
    """
    table = load_xid_table(options.xid_table)
    chosen = _chosen(lines).with_columns(pl.col("host").fill_null(pl.lit(host, dtype=pl.String)))
    dated, clocks = set_clocks(open_envelopes(chosen), options, told.clocks)
    ours = dated.filter(pl.col("message").str.contains(KERNEL_HINT))
    aliases, named = find_gpu_names(ours, "")
    every = _every(ours, options, table)
    used = pl.concat([every["line"], named.cast(pl.Int64)]).unique()
    replayed = ours.filter("is_replayed")["line"]
    fresh = every.filter(~pl.col("line").is_in(replayed.implode()))
    records, drivers = _with_drivers(fresh, told.drivers)
    after = Told(clocks=clocks, drivers=drivers)
    return Found(records=records, aliases=aliases, used=used, told=after)


def _chosen(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with a word of interest, and those by which the clocks are followed."""
    text = pl.col("text")
    every = max(1, lines.height // MAX_SAMPLED_STAMPS)
    sampled = (pl.int_range(pl.len()) % every == 0) & text.str.contains(_YEARLESS)
    wanted = text.str.contains(KERNEL_HINT) | text.str.contains(_BANNER, literal=True)
    bytes_ = text.str.contains(JOURNAL_START) & text.str.contains(_JOURNAL_BYTES)
    columns = ("line", "position", "time", "host", "text")
    return lines.select(columns).filter(wanted | sampled | bytes_)


def _every(lines: pl.DataFrame, options: ReadOptions, table: XidTable) -> pl.DataFrame:
    """Return the records of all kinds; a line is of the first kind that wants it."""
    kinds = [
        find_xids(lines, table),
        find_sxids(lines, table),
        find_nvrm_lines(lines),
        find_manager_lines(lines, options),
        find_pcie_errors(lines),
        find_host_faults(lines),
        find_link_moves(lines),
    ]
    return pl.concat(kinds).unique("line", keep="first", maintain_order=True).sort("position")


def _with_drivers(
    records: pl.DataFrame, drivers: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return records with the driver's version beside codes whose words depend on it."""
    loaded = pl.when(pl.col("kind") == "driver_loaded").then(pl.col("code"))
    known = (
        records.join(drivers, on="host", how="left", nulls_equal=True, maintain_order="left")
        .with_columns(now=loaded.forward_fill().over("host"))
        .with_columns(driver=pl.coalesce("now", "driver"))
    )
    is_link = (pl.col("kind") == "xid") & pl.col("code").is_in(LINK_XIDS)
    both = pl.concat_str("attributes", labels({"driver": pl.col("driver")}))
    whole = known.with_columns(attributes=pl.when(is_link).then(both).otherwise("attributes"))
    last = (
        known.drop_nulls("driver")
        .group_by("host", maintain_order=True)
        .agg(pl.col("driver").last())
    )
    after = pl.concat([drivers, last]).group_by("host", maintain_order=True).last()
    return whole.select(RECORDS.names()), after
