"""Take the envelope off the lines of a switch's log: stamp, name of the switch, program.

Source: RFC 3164 and the forms of it that switches write (formats of fabric counters, section 4):
SONiC may put the year in front, others a sequence number, a star for an unset clock, a zone behind.
Stamps without a year get it from the order of the log.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.identity import canonical_host
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import iso_time
from collectors.texts.yearless_stamps import YEARLESS_STAMP, yearless_times

_ISO: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"

_HEAD: Final = (
    r"^\s*(?:<\d{1,3}>(?:1 )?)?(?:\d+: )?[*.]?"
    r"(?:(?P<bsd>(?:\d{4} )?[A-Z][a-z]{2} {1,2}\d{1,2} (?:\d{4} )?\d\d:\d\d:\d\d(?:[.,]\d+)?)"
    rf"|(?P<iso>{_ISO}))"
    r"(?: (?P<zone>UTC|GMT|[A-Z]{2,3}T|[+-]\d{4}))?:?\s+(?P<rest>.*)$"
)

_HOST: Final = r"^([A-Za-z0-9][\w.-]*)\s+(.*)$"

_NAMED_FIRST: Final = r"^([A-Za-z][\w.-]*\d[\w.-]*): (\d{4} [A-Z][a-z]{2} .*)$"
"""NX-OS, as other hosts' files keep it: the switch's name stands before the stamp."""

_NO_HOST: Final = r"^(?:mlx5_core|kernel|systemd|Timestamp|Port|Received|Reporting)\b"
"""First words of messages that stand where the host does in other lines."""

_YEAR_BEHIND: Final = r"([A-Z][a-z]{2} {1,2}\d{1,2}) (\d{4}) (\d\d:)"


def switch_lines(lines: pl.DataFrame, hits: pl.Expr, options: ReadOptions) -> pl.DataFrame:
    """Return the lines of interest without their envelopes.

    Args:
        lines: `LINES`, the whole log: stamps without a year count by their order in it.
        hits: Which lines are of interest.
        options: Zone and year of the stamps.

    Returns:
        The lines with `message`; `time` and `host` of the line itself win over those of an outer
        layer. A line without any of this is its own message.
    """
    named = pl.col("text").str.replace(_NAMED_FIRST, "${2}")
    moved = named.str.replace(_YEAR_BEHIND, "${2} ${1} ${3}")
    first = pl.col("text").str.extract(_NAMED_FIRST, 1)
    opened = lines.with_columns(text=moved, first=first)
    stamp = pl.col("text").str.extract(rf"^.{{0,24}}?({YEARLESS_STAMP})", 1)
    stamps = opened.select(stamp.alias("stamp")).to_series()
    has_stamp = stamps.drop_nulls().len() > 0
    told = {"own": options, "own_utc": replace(options, time_zone="UTC")}
    times = {
        name: yearless_times(stamps, one) if has_stamp else pl.lit(None, TIME)
        for name, one in told.items()
    }
    ours = opened.with_columns(**times).filter(hits)
    groups = ours.select(pl.col("text").str.extract_groups(_HEAD).alias("head")).unnest("head")
    return _without_hosts(ours.hstack(groups), options)


def _without_hosts(lines: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return lines whose stamp is known apart, with the host taken off what is behind it."""
    is_stamped = pl.col("rest").is_not_null() | pl.col("time").is_not_null()
    rest = pl.col("rest").fill_null(pl.col("text"))
    is_host = is_stamped & rest.str.contains(_HOST) & ~rest.str.contains(_NO_HOST)
    first = pl.when(is_host).then(rest.str.extract(_HOST, 1))
    iso = iso_time(pl.col("iso"), options.time_zone)
    is_utc = pl.col("zone").is_in(["UTC", "GMT"]).fill_null(value=False)
    stamp = pl.when(is_utc).then("own_utc").otherwise("own")
    own = pl.when(pl.col("bsd").is_not_null()).then(stamp)
    return lines.with_columns(
        message=pl.when(is_host).then(rest.str.extract(_HOST, 2)).otherwise(rest),
        host=canonical_host(pl.coalesce("first", first, pl.col("host"))),
        time=pl.coalesce(own, iso, pl.col("time")),
    ).drop("bsd", "iso", "zone", "rest", "own", "own_utc", "first")
