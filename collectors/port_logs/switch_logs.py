"""Read the logs of switches and what hosts log of their ports: links, faults, pause storms.

Source: formats of fabric counters, section 4. The texts are in
`collectors.port_logs.switch_phrases`; what several lines say of one change is counted once
(`collectors.port_logs.port_event_folds`).
"""

from dataclasses import replace
from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.line_reading import LineReading
from collectors.port_logs.port_event_folds import PORT_LINES, fold_port_lines
from collectors.port_logs.port_kinds import device_kind_of
from collectors.port_logs.switch_lines import switch_lines
from collectors.port_logs.switch_phrases import SWITCH_HINT, SWITCH_PHRASES
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.phrases import match_phrases
from collectors.texts.yearless_stamps import local_time

_QUEUE: Final = r'(?:queue index |"queue[-_]index"\s*:\s*"?)(\d+)'

_QUEUE_ID: Final = r"queue id (0x[0-9a-fA-F]+)"

_DESCRIPTION: Final = r"Interface [^\s,()]+ \((.*)\), changed state to"

_TOWARDS: Final = r"(?i)^(?:to|link to|->)[:\s]+([A-Za-z][\w.-]*\d[\w.-]*)"
"""A description that names the other end; one without a number in its name is other words."""

_PCI: Final = r"\b([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "

_PUBLISHED_TIME: Final = r'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z?"'


def read_switch_logs(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the port events of a log.

    Args:
        lines: `LINES`.
        options: Zone and year of stamps that carry none.

    Returns:
        `EVENTS` of the kinds link_down, link_up, link_unchanged (a state that was only logged
        again), port_error (`code` names the fault), pfc_storm, pfc_storm_end (attribute `queue`),
        admin_down, admin_up and boot. `host` is who logged it, `device` the port as printed there;
        `peer` is the other end where a description names it.
    """
    dated = replace(options, year=_year(lines, options))
    hits = switch_lines(lines, pl.col("text").str.contains(SWITCH_HINT), dated)
    texts = hits.with_columns(
        text=pl.col("message").str.replace_all('\\"', '"', literal=True)
    ).drop("rank")
    named = match_phrases(texts, SWITCH_PHRASES)
    if named.is_empty():
        return LineReading()
    return LineReading(
        reading=reading_of(events=fold_port_lines(_port_lines(named, options))),
        claimed=named["line"],
    )


def _year(lines: pl.DataFrame, options: ReadOptions) -> int | None:
    """Return the year of stamps without one: as told, else the newest that the log itself shows."""
    if options.year is not None or options.taken is not None:
        return options.year
    inside = pl.col("text").str.extract(_PUBLISHED_TIME, 1).str.slice(0, 4).cast(pl.Int32)
    newest: int | None = lines.select(
        pl.max_horizontal(pl.col("time").dt.year().max(), inside.max())
    ).item()
    return newest


def _port_lines(named: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return `PORT_LINES` of matched lines."""
    text = pl.col("text")
    ours = text.str.extract(r'"ifname"\s*:\s*"([^"]+)"')
    description = text.str.extract(_DESCRIPTION)
    queue = text.str.extract(_QUEUE)
    device = pl.coalesce(ours, pl.col("device"))
    said = {
        "queue": queue,
        "queue_id": text.str.extract(_QUEUE_ID),
        "description": description,
        "pci": text.str.extract(_PCI),
        "numbering": pl.when(pl.col("code") == "logical_port").then(pl.lit("sai")),
    }
    return named.with_columns(
        time=pl.coalesce(_published_time(options), pl.col("time")).cast(TIME),
        device=device,
        device_kind=device_kind_of(device),
        code=pl.when(pl.col("kind") == "link_down")
        .then(pl.col("code").str.to_lowercase())
        .otherwise("code"),
        peer=description.str.extract(_TOWARDS).str.to_lowercase(),
        attributes=event_labels(said),
        part=queue,
    ).select(PORT_LINES.names())


def _published_time(options: ReadOptions) -> pl.Expr:
    """Return the time inside a published event of SONiC.

    Its clock is local in spite of the `Z`, its fraction counts microseconds without leading zeros.
    """
    whole, micros = (pl.col("text").str.extract(_PUBLISHED_TIME, group) for group in (1, 2))
    local = whole.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
    exact = local + pl.duration(microseconds=micros.fill_null("0").cast(pl.Int64))
    return local_time(exact, options.time_zone)
