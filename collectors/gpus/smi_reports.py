"""Read the report of `nvidia-smi -q`: indented sections of `Key : Value`.

Source: nvidia-smi manual; public captures of drivers 450 to 590. Sections and keys were renamed
over the drivers, and a MIG instance has sections whose keys are the GPU's, so a value is known by
the whole way down to it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.gpus.smi_fields import SmiColumn, query_column
from collectors.gpus.smi_report_keys import RENAMED, REPORT_KEYS
from collectors.gpus.smi_rows import SmiPart, cells_of, identify, join_parts, part_of
from collectors.sniffing import ReadOptions
from collectors.texts.yearless_stamps import local_time

REPORT_TITLE: Final = r"^=+\s*NVSMI LOG\s*=+"
NOT_READ: Final = "a key of the report that is not read"

_GPU: Final = r"^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])"
_PAIR: Final = r"^\s*(.*?)\s*:(?: (.*))?$"
_INSTANCE: Final = r"^mig devices/mig device(?:/|$)"
_STAMP: Final = "%a %b %e %H:%M:%S %Y"
_MAX_DEPTHS: Final = 16
"""More levels of indentation than a report has; a text with more is none."""


def read_reports(lines: pl.DataFrame, source: str, options: ReadOptions) -> SmiPart:
    """Return what reports say of GPUs and of their MIG instances.

    Args:
        lines: `position` and `text` of the file, without its sentences.
        source: The file's name.
        options: Zone of the stamps; host that the text does not say.
    """
    keyed = _keyed(lines, options)
    read = keyed.filter(pl.col("query").is_not_null() & pl.col("value").is_not_null())
    whole = _values(read.filter(pl.col("instance").is_null()))
    parts = _values(read.filter(pl.col("instance").is_not_null()))
    is_frame = pl.col("value").is_null() | (pl.col("key").is_in(["timestamp", "attached gpus"]))
    told = pl.col("query").is_not_null() & pl.col("gpu").is_not_null()
    used = keyed.filter(is_frame | told | pl.col("is_name"))["position"]
    rest = keyed.select("position", reason=pl.lit(NOT_READ))
    about = SmiPart(used=used, reasons=rest)
    columns = [query_column(name) for name in _NAMES]
    gpus = part_of(whole, columns, source, options)
    cards = identify(whole, columns, source, options).select("section", "device")
    made = _instances(identify(parts, columns, source, options), cards, columns)
    return join_parts([replace(gpus, reasons=gpus.reasons.clear()), made, about])


_NAMES: Final = tuple(dict.fromkeys(["uuid", "pci.bus_id", *REPORT_KEYS.values()]))


def _keyed(lines: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return the lines with key, value, the way to it, its GPU, MIG instance and time."""
    text = pl.col("text")
    pair = text.str.extract_groups(_PAIR).struct
    split = lines.with_columns(
        depth=text.str.len_chars() - text.str.strip_chars_start().str.len_chars(),
        gpu=text.str.extract(_GPU, 1).forward_fill(),
        is_gpu=text.str.contains(_GPU),
        key=pl.coalesce(pair["1"], text.str.strip_chars()).str.to_lowercase().replace(RENAMED),
        value=pl.when(~text.str.contains(_GPU)).then(pair["2"].fill_null("")),
        has_value=pair["1"].is_not_null(),
    ).with_columns(value=pl.when("has_value").then("value"))
    depths = split["depth"].unique().sort().head(_MAX_DEPTHS).to_list()
    placed = split.with_columns(way=_way(depths), section=pl.col("is_gpu").cum_sum())
    printed = pl.when(pl.col("key") == "timestamp").then("value")
    stamp = printed.str.to_datetime(_STAMP, time_unit="us", strict=False)
    is_instance = pl.col("way").str.contains(_INSTANCE)
    inner = pl.col("way").str.replace(_INSTANCE, "")
    name = pl.when(pl.col("key") == "gpu instance id", is_instance).then("value")
    opened = (pl.col("way") == "mig devices/mig device").cum_sum()
    return placed.with_columns(
        query=inner.replace_strict(REPORT_KEYS, default=None, return_dtype=pl.String),
        stamp=local_time(stamp, options.time_zone).forward_fill(),
        instance=pl.when(is_instance).then(name.forward_fill().over("section", opened)),
        is_name=is_instance & (pl.col("key") == "gpu instance id"),
    )


def _way(depths: Sequence[int]) -> pl.Expr:
    """Return the keys of the sections that a line stands in, and its own, with slashes between.

    A section of a depth is open until a line of less depth comes.
    """
    depth, line = pl.col("depth"), pl.int_range(pl.len())
    parts: list[pl.Expr] = []
    for level in (level for level in depths if level > 0):
        here = pl.when(depth == level)
        opened = here.then(line).forward_fill()
        closed = pl.when(depth < level).then(line).forward_fill()
        is_open = (depth >= level) & (opened > closed.fill_null(-1))
        parts.append(pl.when(is_open).then(here.then("key").forward_fill()))
    if not parts:
        return pl.lit("")
    return pl.concat_list(parts).list.drop_nulls().list.join("/")


def _values(read: pl.DataFrame) -> pl.DataFrame:
    """Return one row a GPU or instance of a report, its values in the order of `_NAMES`."""
    value = [pl.col("value").filter(pl.col("query") == name).first().alias(name) for name in _NAMES]
    return (
        read.group_by("section", "instance", "gpu", maintain_order=True)
        .agg(pl.col("position", "stamp").first(), *value)
        .with_columns(
            pl.coalesce("pci.bus_id", "gpu").alias("pci.bus_id"), pl.col("stamp").cast(TIME)
        )
        .with_columns(cells=pl.concat_list(_NAMES))
        .filter(pl.col("gpu").is_not_null())
        .select("position", "section", "instance", "stamp", "cells")
    )


def _instances(told: pl.DataFrame, cards: pl.DataFrame, columns: Sequence[SmiColumn]) -> SmiPart:
    """Return what MIG instances say.

    Args:
        told: Their rows, identified as if they were GPUs.
        cards: `section` and `device` of the GPUs that they are parts of.
        columns: What the cells are.
    """
    named = (
        told.drop("device")
        .join(cards, on="section", how="inner", maintain_order="left")
        .with_columns(device=pl.concat_str("device", pl.lit("/gi"), "instance"))
    )
    parts = [replace(column, kind=column.kind or "mig") for column in columns]
    return SmiPart(cells=cells_of(named, parts))
