"""Read histories of W&B runs: JSON lines, CSV or parquet with a row each `_step`.

Source: formats of progress streams, section 12: `_step`, `_runtime` (seconds), `_timestamp` (unix
seconds), and a column a series; rows are sparse.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import MAX_REJECT_CHARACTERS, Reading, count_lines, reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.texts.csv_rows import csv_fields, fits, header_fields
from collectors.texts.json_lines import read_json_lines
from collectors.texts.plain_lines import judged_lines, plain_lines
from collectors.texts.stamps import epoch_time
from collectors.training.metric_names import metric_column
from collectors.training.store_rows import read_store_rows

STEP: Final = "_step"

CLOCKS: Final = ("_timestamp", "_runtime")

_JSON: Final = re.compile(r'"_step"\s*:')

_CLOCK_KEY: Final = re.compile(r'"_(?:timestamp|runtime)"\s*:')

_KEY: Final = re.compile(rb'"([^"\\\x00-\x1f]{1,100})"\s*:')

_MISFIT: Final = "not a row of the history"


def wants_wandb_history(head: Head) -> float:
    """Return how sure it is that a head is a history: `_step` beside a clock of W&B."""
    lines = judged_lines(head)
    if not lines:
        return 0.0
    names = {name.strip().strip('"') for name in lines[0].split(",")}
    is_table = STEP in names and bool(names.intersection(CLOCKS))
    rows = [line for line in lines if _JSON.search(line) and _CLOCK_KEY.search(line)]
    is_lines = lines[0].lstrip().startswith("{") and 2 * len(rows) >= len(lines)
    return 0.97 if is_table or is_lines else 0.0


def read_wandb_history(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the steps in a history as JSON lines or CSV.

    Args:
        path: The file.
        source: The name to quote.

    Returns:
        `STEPS` and `EVENTS` as of `read_store_rows`; a line that is no row is a reject.

    Raises:
        OSError: The file cannot be read.
    """
    data = path.read_bytes()
    headers = 0
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        keys = {key.decode(errors="replace") for key in _KEY.findall(data)}
        rows, rejects = read_json_lines(data, _wanted(keys))
    else:
        rows, rejects, headers = _table(plain_lines(data))
    lost = pl.concat([rejects, _misfits(rows)]).unique("position").sort("position")
    return _read(rows, lost, source, headers)


def read_history_frame(frame: pl.DataFrame, source: str) -> Reading:
    """Return the steps in a history that came as a table with typed columns.

    Args:
        frame: With `_step`; columns that are no numbers are left out.
        source: The name to quote.
    """
    columns = pl.col(_wanted(frame.columns)).cast(pl.String, strict=False)
    rows = frame.select(columns).with_row_index("position", offset=1)
    empty = _misfits(rows.clear().with_columns(text=pl.lit("")))
    return _read(rows.with_columns(pl.col("position").cast(pl.Int64)), empty, source)


def _wanted(names: Iterable[str]) -> list[str]:
    """Return the columns worth taking: clocks, steps and the series that are ours."""
    own = {STEP, *CLOCKS}
    return sorted(name for name in set(names) if name in own or metric_column(name) is not None)


def _table(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Return the rows of a CSV, the lines that are none, and how often its header is there."""
    header = next(iter(lines["text"].to_list()), "")
    names = header_fields(header)
    body = lines.filter(pl.col("text") != header).with_columns(fields=csv_fields(pl.col("text")))
    sound = fits(pl.col("fields"), len(names))
    wanted = {name: names.index(name) for name in _wanted(names)}
    cells = {
        name: pl.col("fields").list.get(at, null_on_oob=True).replace("", None)
        for name, at in wanted.items()
    }
    rows = body.filter(sound).with_columns(**cells).drop("fields")
    torn = body.filter(~sound).select("position", "text", reason=pl.lit("not as many columns"))
    return rows, torn, lines.height - body.height


def _misfits(rows: pl.DataFrame) -> pl.DataFrame:
    whole = _number(rows, STEP).cast(pl.Int64, strict=False)
    return rows.filter(whole.is_null()).select("position", "text", reason=pl.lit(_MISFIT))


def _number(rows: pl.DataFrame, name: str) -> pl.Expr:
    known = pl.col(name) if name in rows.columns else pl.lit(None, dtype=pl.String)
    return known.cast(pl.Float64, strict=False)


def _read(rows: pl.DataFrame, lost: pl.DataFrame, source: str, headers: int = 0) -> Reading:
    told = rows.with_columns(
        step=_number(rows, STEP).cast(pl.Int64, strict=False),
        time=epoch_time(_number(rows, CLOCKS[0])),
        runtime=_number(rows, CLOCKS[1]),
    ).drop("text", STEP, *CLOCKS, strict=False)
    steps, events = read_store_rows(told, None)
    named = pl.lit(source)
    reading = reading_of(
        steps=steps.with_columns(source=named),
        events=events.with_columns(source=named),
        rejects=lost.with_columns(pl.col("text").str.slice(0, MAX_REJECT_CHARACTERS), source=named),
    )
    known = rows.select("position").unique().join(lost, on="position", how="anti")
    return count_lines(reading, known.height + headers)
