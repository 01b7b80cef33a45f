"""From the rows of an nvidia-smi table to cells, names and an account of its lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from collectors.frames import ALIASES, EVENTS, TIME, conform, schema_of
from collectors.gpus.clock_events import REASONS, THROTTLES
from collectors.gpus.gpu_cells import GPU_CELLS
from collectors.gpus.gpu_tables import poll_time
from collectors.gpus.smi_fields import IDENTITY, SmiColumn
from collectors.identity import gpu_device
from collectors.sniffing import ReadOptions
from collectors.taken import taken_on
from collectors.texts.blanks import word_reason
from collectors.texts.polls import number_polls

REASON: Final = schema_of({"position": pl.Int64, "reason": pl.String})
"""Why a line became nothing else."""

NO_NAME: Final = "no column names the GPU: ask for index, uuid or pci.bus_id as well"

_COLUMNS: Final = schema_of({"position": pl.Int64, "name": pl.String, "number": pl.Int64})

_NAMED: Final = schema_of(
    {
        "time": TIME,
        "host": pl.String,
        "device": pl.String,
        "uuid": pl.String,
        "pci": pl.String,
        "index": pl.String,
        "minor": pl.String,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmiPart:
    """What one reader of nvidia-smi's forms made of a text.

    Attributes:
        cells: `GPU_CELLS`.
        named: One row a sighting of a GPU, as `gpu_aliases` takes it.
        aliases: `ALIASES`: names that are not a GPU's.
        columns: Where columns were seen: `position`, `name`, and `number`, which is null for one
            of which nothing is known.
        events: `EVENTS`; their time and host are filled in later.
        used: Positions of the lines that are rows or parts of rows.
        reasons: `REASON` of lines that are neither.
    """

    cells: pl.DataFrame = field(default_factory=GPU_CELLS.to_frame)
    named: pl.DataFrame = field(default_factory=_NAMED.to_frame)
    aliases: pl.DataFrame = field(default_factory=ALIASES.to_frame)
    columns: pl.DataFrame = field(default_factory=_COLUMNS.to_frame)
    events: pl.DataFrame = field(default_factory=EVENTS.to_frame)
    used: pl.Series = field(default_factory=lambda: pl.Series("position", [], pl.Int64))
    reasons: pl.DataFrame = field(default_factory=REASON.to_frame)


def known_columns(position: int, columns: Sequence[SmiColumn]) -> pl.DataFrame:
    """Return the columns of a header for the account of those that are not read."""
    rows = [(position, column.name, 0 if column.is_known else None) for column in columns]
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


def identify(
    rows: pl.DataFrame, columns: Sequence[SmiColumn], source: str, options: ReadOptions
) -> pl.DataFrame:
    """Return rows with the GPU, the host, the poll and the time of each.

    Args:
        rows: `position`, `cells` (as many as there are columns) and `stamp`, the time that the
            row says, null without one.
        columns: What the cells are.
        source: The file's name, for the host.
        options: Host and time that the text does not say.

    Returns:
        The rows with `uuid`, `pci`, `index`, `minor`, `model`, `device`, `host`, `page`, `time`;
        a null device is a row that names no GPU.
    """
    places = {column.name: at for at, column in enumerate(columns) if column.name in IDENTITY}

    def cell(name: str) -> pl.Expr:
        at = places.get(name)
        text = pl.lit(None, pl.String) if at is None else pl.col("cells").list.get(at)
        return pl.when(word_reason(text).is_null(), text != "").then(text)

    named = rows.with_columns(
        uuid=cell("uuid"),
        pci=cell("pci.bus_id"),
        index=cell("index").str.extract(r"^(\d+)$"),
        minor=cell("minor_number"),
        model=cell("name"),
        host=pl.lit(taken_on(source, options), pl.String),
    ).with_columns(device=gpu_device(pl.col("uuid"), pl.col("pci"), pl.col("index")))
    return number_polls(named, "device").with_columns(
        time=pl.coalesce("stamp", poll_time(source, options))
    )


def cells_of(rows: pl.DataFrame, columns: Sequence[SmiColumn]) -> pl.DataFrame:
    """Return `GPU_CELLS` of identified rows.

    Args:
        rows: As `identify` returns them; `cells` has one text a column.
        columns: What the cells are. Where two are the same field, the first one counts.
    """
    taken: set[tuple[str | None, str | None]] = set()
    parts = [GPU_CELLS.to_frame()]
    for at, column in enumerate(columns):
        key = (column.signal, column.part)
        if column.signal is not None and key not in taken:
            taken.add(key)
            parts.append(_column_cells(rows, at, column))
    mask = _mask_cells(rows, columns)
    return pl.concat([*parts, mask]).filter(pl.col("text").is_not_null())


def _column_cells(rows: pl.DataFrame, at: int, column: SmiColumn) -> pl.DataFrame:
    text = pl.col("cells").list.get(at)
    value = text.str.to_lowercase().replace_strict(
        column.words, default=text, return_dtype=pl.String
    )
    part = pl.concat_str("device", pl.lit(f"/{_separator(column)}{column.part}"))
    cells = rows.lazy().select(
        *("position", "page", "time", "host", "model"),
        index=pl.col("index").cast(pl.Int32, strict=False),
        device_kind=pl.lit(column.kind or "gpu"),
        device=part if column.part else "device",
        signal=pl.lit(column.signal),
        factor=pl.lit(column.scale.factor),
        low=pl.lit(column.scale.low),
        high=pl.lit(column.scale.high),
        header_unit=pl.lit(column.unit, pl.String),
        text=value if column.words else text,
    )
    return conform(cells, GPU_CELLS).collect()


def _separator(column: SmiColumn) -> str:
    return f"{column.kind}:" if column.kind == "clock_event" else ""


def _mask_cells(rows: pl.DataFrame, columns: Sequence[SmiColumn]) -> pl.DataFrame:
    """Return the mask of reasons where each that matters has a column of its own, and it has none.

    The mask needs all reasons that are faults; a harmless one that was not asked for is not set.
    """
    places = {column.part: at for at, column in enumerate(columns) if column.kind == "clock_event"}
    has_mask = any(column.signal == "clock_event_reasons" for column in columns)
    if has_mask or not set(THROTTLES) <= set(places):
        return GPU_CELLS.to_frame()
    text = [pl.col("cells").list.get(at).str.to_lowercase() for at in places.values()]
    is_told = pl.all_horizontal(
        word.is_in(["active", "not active"])
        for part, word in zip(places, text, strict=True)
        if part in THROTTLES
    )
    bits = [
        pl.when(word == "active").then(REASONS[str(part)]).otherwise(0)
        for part, word in zip(places, text, strict=True)
    ]
    mask = pl.when(is_told).then(pl.sum_horizontal(bits))
    whole = rows.with_columns(cells=pl.concat_list(mask.cast(pl.String)))
    return _column_cells(whole, 0, SmiColumn(name="mask", signal="clock_event_reasons"))


def part_of(
    rows: pl.DataFrame, columns: Sequence[SmiColumn], source: str, options: ReadOptions
) -> SmiPart:
    """Return what rows of a table say.

    Args:
        rows: As `identify` takes them.
        columns: What the cells are.
        source: The file's name.
        options: Host and time that the text does not say.
    """
    told = identify(rows, columns, source, options)
    good = told.filter(pl.col("device").is_not_null())
    nameless = told.filter(pl.col("device").is_null())
    return SmiPart(
        cells=cells_of(good, columns),
        named=conform(good.lazy(), _NAMED).collect(),
        used=good["position"],
        reasons=nameless.select("position", reason=pl.lit(NO_NAME)),
    )


def join_parts(parts: Sequence[SmiPart]) -> SmiPart:
    """Return one part that holds all; the polls of each come after those of the one before."""
    numbered, polls = [GPU_CELLS.to_frame()], 0
    for part in parts:
        numbered.append(part.cells.with_columns((pl.col("page") + polls).cast(pl.UInt32)))
        polls += part.cells["page"].n_unique()
    return SmiPart(
        cells=pl.concat(numbered),
        named=pl.concat([part.named for part in parts]),
        columns=pl.concat([part.columns for part in parts]),
        aliases=pl.concat([part.aliases for part in parts]),
        events=pl.concat([part.events for part in parts]),
        used=pl.concat([part.used for part in parts]),
        reasons=pl.concat([part.reasons for part in parts]),
    )
