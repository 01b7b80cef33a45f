"""From the cells of a printed table of GPUs to measured fields.

Source: nvidia-smi manual and help, NVIDIA/DCGM `dcgmi`: a cell is a number with or without its
unit, a mask in hex, a word for yes or no, a word for no value, or cut off by `...`.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from collectors.frames import TIME, conform, schema_of
from collectors.metrics.samples import ENTITY, MEANINGS, measure
from collectors.metrics.series import POINTS, value_columns
from collectors.texts.blanks import word_reason

GPU_CELLS: Final = schema_of(
    {
        "position": pl.Int64,
        "page": pl.UInt32,
        "time": TIME,
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "index": pl.Int32,
        "model": pl.String,
        "signal": pl.String,
        "factor": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "header_unit": pl.String,
        "text": pl.String,
    }
)
"""One cell of a value. `page` numbers the polls of the file from 0. `factor`, `low` and `high` are
of the field's usual unit; a unit in the cell, else in its column's header, wins over that. `text`
is the cell as printed; an absent one is no row."""

UNITS: Final[Mapping[str, float]] = {
    "%": 0.01,
    "c": 1.0,
    "w": 1.0,
    "mw": 1e-3,
    "j": 1.0,
    "mj": 1e-3,
    "mhz": 1e6,
    "b": 1.0,
    "kib": 2.0**10,
    "mib": 2.0**20,
    "gib": 2.0**30,
    "kb/s": 1e3,
    "mb/s": 1e6,
    "gb/s": 1e9,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "x": 1.0,
}
"""From a printed unit, in lower case, to ours. `MB` is not here: nvidia-smi means MiB by it."""

WORDS: Final[Mapping[str, float]] = {
    "active": 1.0,
    "not active": 0.0,
    "enabled": 1.0,
    "disabled": 0.0,
    "yes": 1.0,
    "no": 0.0,
}

_NUMBER: Final = r"^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?) ?([a-z%][a-z/]*)?(?:\(s\))?$"
_MASK: Final = r"^0x([0-9a-f]{1,16})$"
_STATE: Final = r"^p(\d+)$"
CUT: Final = "..."


def measure_cells(cells: pl.DataFrame) -> pl.DataFrame:
    """Return cells as measured fields.

    Args:
        cells: `GPU_CELLS`.

    Returns:
        `MEASURED`, in the order of position. A word for no value is null with its reason, a cell
        that was cut is `cut`, text that is none of these `no_number`.
    """
    whole = conform(cells.lazy(), GPU_CELLS).collect()
    # The same texts come over and over: each is read once.
    texts = whole.select(pl.col("text").unique()).with_columns(_printed())
    read = whole.join(texts, on="text", how="left", nulls_equal=True, maintain_order="left")
    told = _scaled(read)
    identity = [name for name in MEANINGS.names() if name in told.columns]
    known = told.select(identity).unique(maintain_order=True).with_row_index("series")
    numbered = told.join(known, on=identity, how="left", nulls_equal=True, maintain_order="left")
    meanings = conform(known.lazy(), MEANINGS)
    points = conform(numbered.sort("position", *ENTITY).lazy(), POINTS)
    return measure(points.collect(), meanings.collect())


def _printed() -> list[pl.Expr]:
    """Return number, unit and reason of a cell's text."""
    word = pl.col("text").str.strip_chars().str.to_lowercase()
    digits, unit = word.str.extract(_NUMBER, 1), word.str.extract(_NUMBER, 2)
    mask = word.str.extract(_MASK, 1).str.to_integer(base=16, dtype=pl.UInt64, strict=False)
    flag = word.replace_strict(WORDS, default=None, return_dtype=pl.Float64)
    state = word.str.extract(_STATE, 1)
    number = pl.coalesce(digits, state, mask.cast(pl.String), flag.cast(pl.String))
    value, exact, odd = value_columns(number)
    none = (
        pl.when(word.str.ends_with(CUT))
        .then(pl.lit("cut"))
        .when(word == "")
        .then(pl.lit("blank"))
        .otherwise(pl.coalesce(word_reason(word), pl.lit("no_number")))
    )
    reason = pl.when(number.is_null()).then(none).otherwise(odd)
    return [value, exact.alias("digits"), reason.alias("reason"), unit.alias("unit")]


def _scaled(read: pl.DataFrame) -> pl.DataFrame:
    """Return the cells with factor and range in the unit that they are printed in."""

    def known(unit: pl.Expr) -> pl.Expr:
        return unit.replace_strict(UNITS, default=None, return_dtype=pl.Float64)

    header = known(pl.col("header_unit").str.to_lowercase())
    own = pl.coalesce(known(pl.col("unit")), pl.when(pl.col("unit").is_null()).then(header))
    factor = pl.coalesce(own, "factor")
    ratio = pl.col("factor") / factor
    return read.with_columns(
        factor=factor, low=pl.col("low") * ratio, high=pl.col("high") * ratio, text="digits"
    ).drop("unit", "header_unit", "digits")
