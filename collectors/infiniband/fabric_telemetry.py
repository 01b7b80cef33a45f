"""Read UFM telemetry as CSV: one row a port and time, one column a field.

Source: Mellanox/ufm_sdk_3.0. Which columns there are differs from set to set; a file may hold
several fetches below each other, each with its header. An empty cell is a field that the port does
not have, or a port that is down: it is not known, never 0 and never the last value.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from collectors.infiniband.telemetry_columns import CONTEXT, plain_name, telemetry_columns
from collectors.infiniband.telemetry_records import CELLS, RECORDS, WORDS, read_records
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.csv_rows import csv_fields, fits
from collectors.texts.plain_lines import account, plain_lines

_HEADER: Final = r"(?i)^[^=:{}]*\btimestamp\b[^={}]*$"
_NODE: Final = r"(?i)(?:^|,)\s*\"?(?:node_guid|source_id)\"?\s*(?:,|$)"
_PORT: Final = r"(?i)(?:^|,)\s*\"?port_num(?:ber)?\"?\s*(?:,|$)"


def is_header(text: pl.Expr) -> pl.Expr:
    """Return whether a line names the columns of telemetry."""
    return text.str.contains(_HEADER) & text.str.contains(_NODE) & text.str.contains(_PORT)


def wants_fabric_telemetry(head: Head) -> float:
    """Return how sure it is that a file is telemetry of UFM in CSV."""
    if head.is_binary or not head.lines:
        return 0.0
    first = pl.DataFrame({"text": head.lines[:5]}).select(is_header(pl.col("text")).any())
    return 0.97 if first.item() else 0.0


def read_fabric_telemetry(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a file of telemetry says.

    Args:
        path: The file.
        source: The name to quote.
        options: The zone of stamps that are text; numbers are epochs in us or ms.

    Returns:
        Samples, cables, further names and reasons of link-downs. The aggregation node of a switch
        and logical planes are left out, and so is a copy under a time stamp that was there before.
    """
    lines = plain_lines(path.read_bytes()).with_columns(head=is_header(pl.col("text")))
    numbered = lines.with_columns(fetch=pl.col("head").cum_sum())
    parts = numbered.partition_by("fetch", maintain_order=True)
    taken = [_taken_apart(part) for part in parts]
    records = pl.concat([RECORDS.to_frame(), *(record for record, _ in taken)])
    cells = pl.concat([CELLS.to_frame(), *(cell for _, cell in taken)])
    told = read_records(records, cells, options.time_zone)
    heads = numbered.filter("head")["position"]
    reasoned = numbered.join(told.reasons, on="position", how="left", maintain_order="left")
    used = pl.concat([told.used, heads])
    return account(reasoned.select("position", "text", "reason"), used, source, **told.frames)


def _taken_apart(part: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `RECORDS` and `CELLS` of the lines below one header; none above the first."""
    headers = part.filter("head").select(csv_fields(pl.col("text")).alias("fields"))
    if headers.is_empty():
        return RECORDS.to_frame(), CELLS.to_frame()
    names = [str(name) for name in headers["fields"][0]]
    rows = part.filter(~pl.col("head")).select("position", fields=csv_fields(pl.col("text")))
    fitting = rows.filter(fits(pl.col("fields"), len(names))).with_columns(record="position")
    return _records(fitting, names), pl.concat([CELLS.to_frame(), *_cells(fitting, names)])


def _records(rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    plain = pl.Series(names, dtype=pl.String).to_frame("name").select(plain_name(pl.col("name")))
    words = [CONTEXT.get(str(name)) for name in plain["name"]]
    cells = {
        word: pl.col("fields").list.get(words.index(word), null_on_oob=True)
        if word in words
        else pl.lit(None, pl.String)
        for word in WORDS
    }
    return rows.with_columns(**cells).select(RECORDS.names())


def _cells(rows: pl.DataFrame, names: list[str]) -> Iterator[pl.DataFrame]:
    """Yield `CELLS` of each column that measures; an empty cell is none."""
    for name in telemetry_columns(pl.Series("name", names))["name"]:
        text = pl.col("fields").list.get(names.index(str(name)), null_on_oob=True)
        yield rows.select("record", name=pl.lit(str(name)), text=text).filter(pl.col("text") != "")
