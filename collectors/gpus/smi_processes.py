"""The processes that `nvidia-smi pmon` lists: what each takes of its GPU."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from collectors.frames import ALIASES, conform
from collectors.gpus.gpu_tables import poll_time
from collectors.gpus.smi_fields import PMON_FIELDS, SmiColumn
from collectors.gpus.smi_rows import NO_NAME, SmiPart, cells_of, identify
from collectors.sniffing import ReadOptions
from collectors.texts.blanks import word_reason
from collectors.texts.polls import number_polls


def process_part(
    rows: pl.DataFrame, columns: Sequence[SmiColumn], source: str, options: ReadOptions
) -> SmiPart:
    """Return what rows of processes say.

    Args:
        rows: As `identify` takes them.
        columns: What the cells are; utilisations are a process's here, not the GPU's.
        source: The file's name.
        options: Host and time that the text does not say.

    Returns:
        Cells of devices of kind `process`, called by GPU and process number, and their commands
        as aliases. The row of an idle GPU is used and says no process.
    """
    places = {column.name: at for at, column in enumerate(columns)}
    pid = pl.col("cells").list.get(places["pid"])
    told = identify(rows, columns, source, options).with_columns(
        pid=pl.when(word_reason(pid).is_null()).then(pid)
    )
    named = told.filter(pl.col("device").is_not_null())
    busy = (
        number_polls(named.drop_nulls("pid"), "device", "pid")
        .with_columns(time=pl.coalesce("stamp", poll_time(source, options)))
        .with_columns(device=pl.concat_str("device", pl.lit("/pid"), "pid"))
    )
    nameless = told.filter(pl.col("device").is_null())
    return SmiPart(
        cells=cells_of(busy, [_of_process(column) for column in columns]),
        aliases=_commands(busy, places.get("command")),
        used=named["position"],
        reasons=nameless.select("position", reason=pl.lit(NO_NAME)),
    )


def _of_process(column: SmiColumn) -> SmiColumn:
    if column.name not in PMON_FIELDS:
        return replace(column, signal=None)
    signal, scale = PMON_FIELDS[column.name]
    return replace(column, signal=signal, scale=scale, kind="process")


def _commands(rows: pl.DataFrame, at: int | None) -> pl.DataFrame:
    """Return `ALIASES`: the commands as names of their processes."""
    if at is None:
        return ALIASES.to_frame()
    command = pl.col("cells").list.get(at)
    named = rows.lazy().with_columns(
        device_kind=pl.lit("process"),
        alias_kind=pl.lit("name"),
        alias=pl.when(word_reason(command).is_null()).then(command),
    )
    return conform(named, ALIASES).collect()
