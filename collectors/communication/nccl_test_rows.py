"""The rows of a table of nccl-tests, read by the names in its own header.

Source: formats of NCCL logs, section 7. Nothing is taken from where a column usually stands: the
subsets differ by test and by release, and rccl-tests and switches add columns.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.texts.stamps import iso_time

_STANDARD: Final = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
"""Taken for rows whose header was lost, if they have as many cells and a type in the third."""

_TYPES: Final = r"^(?:u?int\d+|half|float|double|bfloat16|f(?:p)?8\w*)$"

_SIZES: Final = ("size", "bytes")

_TIMES: Final = ("time", "cputime")

_EXTRAS: Final = ("algo", "proto", "nchannels")

_STAMP: Final = "timestamp"

_GIGA: Final = 1e9

_MICRO: Final = 1e-6

_HALVES: Final = ("out_of_place", "in_place")


def read_rows(marked: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return `TRANSFERS` columns of each half of each row, with `line`, `table`, `second_line`.

    Args:
        marked: All lines of benchmarks with `part` and `table`.
        time_zone: IANA zone of a row's own stamp.

    Returns:
        In the order of lines. `second_line` is the line of a row's second part, where others' lines
        stood in the middle of it. `wrong_count` is null where nothing was checked, and where an old
        table tells a deviation instead of a count.
    """
    is_header = pl.col("part") == "header"
    text = pl.col("text")
    cells = (
        marked.filter(pl.col("part").is_in(["header", "row"]))
        .with_columns(header=pl.when(is_header).then(text).forward_fill().over("table"))
        .filter(~is_header)
        .with_columns(cells=text.str.extract_all(r"\S+"))
        .with_columns(header=pl.coalesce("header", _lost_header()))
        .drop_nulls("header")
        .with_columns(width=pl.col("header").str.replace_all("[#]", " ").str.extract_all(r"\S+"))
        .with_columns(pl.col("width").list.len())
        .pipe(_mended)
    )
    parts = [_halves(part, time_zone) for part in cells.partition_by("header")]
    empty = _halves(cells.clear().with_columns(header=pl.lit(_STANDARD)), time_zone)
    return pl.concat([empty, *parts]).sort("line", "half").drop("half")


def _lost_header() -> pl.Expr:
    cells = pl.col("cells")
    is_plain = (cells.list.len() == len(_STANDARD.split()) - 1) & cells.list.get(
        2, null_on_oob=True
    ).str.contains(_TYPES)
    return pl.when(is_plain).then(pl.lit(_STANDARD))


def _mended(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whole: one that ends early goes on in the next, if both fill the header."""
    count, width = pl.col("cells").list.len(), pl.col("width")
    after = pl.col("cells").shift(-1).over("table")
    goes_on = (count < width) & (count + after.list.len() >= width) & (after.list.len() < width)
    goes_on = goes_on.fill_null(value=False)
    is_rest = goes_on.shift(fill_value=False).over("table")
    is_whole = (count >= width - 1) & pl.col("cells").list.first().str.contains(r"^\d+$")
    return (
        rows.with_columns(goes_on=goes_on, is_rest=is_rest)
        .with_columns(
            cells=pl.when("goes_on").then(pl.concat_list("cells", after)).otherwise("cells"),
            second_line=pl.when("goes_on").then(pl.col("line").shift(-1).over("table")),
        )
        .filter(~pl.col("is_rest"))
        .filter(is_whole)
        .drop("goes_on", "is_rest")
    )


def _halves(rows: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return the rows under one header, one a half."""
    header = str(rows["header"].first() or _STANDARD)
    names = header.removeprefix("#").split()
    starts = [at for at, name in enumerate(names) if name in _TIMES]
    bounds = [*starts[1:], len(names)]
    parts = [
        _half(rows, names, (half, start, end), time_zone)
        for half, (start, end) in enumerate(zip(starts[:2], bounds, strict=False))
    ]
    return pl.concat(parts)


def _half(
    rows: pl.DataFrame, names: list[str], span: tuple[int, int, int], time_zone: str
) -> pl.DataFrame:
    half, start, end = span
    mine = names[start:end]
    at = {name: start + mine.index(name) for name in mine}
    size = next((place for place, name in enumerate(names) if name in _SIZES), 0)
    stamped = _cell(names.index(_STAMP)) if _STAMP in names else pl.lit(None, pl.String)
    clock = _cell(names.index(_STAMP) + 1) if _STAMP in names else pl.lit(None, pl.String)
    extras = [_cell(names.index(name)).str.to_lowercase() for name in _EXTRAS if name in names]
    variant = pl.concat_str([pl.lit(_HALVES[half]), *extras], separator=" ", ignore_nulls=True)
    return rows.select(
        "line",
        "position",
        "table",
        "second_line",
        bytes=_number(_cell(size)).cast(pl.Int64, strict=False),
        seconds=_number(_cell(start)) * _MICRO,
        algorithm_bytes_per_second=_number(_named(at, "algbw")) * _GIGA,
        bus_bytes_per_second=_number(_named(at, "busbw")) * _GIGA,
        wrong_count=_number(_named(at, "#wrong")).cast(pl.Int64, strict=False),
        timing=pl.lit("cpu_time" if names[start] == "cputime" else "wall"),
        variant=variant,
        time=pl.coalesce(
            iso_time(pl.concat_str(stamped, pl.lit(" "), clock), time_zone), pl.col("time")
        ).cast(TIME),
        half=pl.lit(half),
    )


def _cell(place: int) -> pl.Expr:
    return pl.col("cells").list.get(place, null_on_oob=True)


def _named(at: dict[str, int], name: str) -> pl.Expr:
    return _cell(at[name]) if name in at else pl.lit(None, pl.String)


def _number(text: pl.Expr) -> pl.Expr:
    """Return a printed number; null for `N/A` and for what is no number."""
    value = text.cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value)
