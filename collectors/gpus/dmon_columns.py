"""The columns of `dcgmi dmon`: from a short name, or the place in what was asked for, to a field.

Source: NVIDIA/DCGM `dcgm_fields.cpp`. Short names are not unique over all releases.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from collectors.frames import schema_of
from collectors.gpus.dcgm_fields import BY_NUMBER
from collectors.gpus.gpu_cells import CUT

SHORT_NAMES: Final[Mapping[str, int]] = {
    "TMPTR": 150,
    "MMTMP": 140,
    "POWER": 155,
    "TOTEC": 156,
    "SMCLK": 100,
    "MMCLK": 101,
    "SACLK": 110,
    "MACLK": 111,
    "SMMAX": 113,
    "MMMAX": 114,
    "GMMOT": 151,
    "GGMOT": 152,
    "PMLMT": 160,
    "PMMIN": 161,
    "PMMAX": 162,
    "PMDEF": 163,
    "GPUTL": 203,
    "MCUTL": 204,
    "ECUTL": 206,
    "DCUTL": 207,
    "FANSP": 191,
    "TXTPT": 200,
    "RXTPT": 201,
    "FBTTL": 250,
    "FBFRE": 251,
    "FBUSD": 252,
    "FBRSV": 253,
    "FBUSP": 254,
    "RPCTR": 202,
    "XIDER": 230,
    "DVCCTR": 112,
    "PVIOL": 240,
    "TVIOL": 241,
    "SBVIO": 242,
    "BLVIO": 243,
    "LUVIO": 244,
    "RVIOL": 245,
    "ESVTL": 310,
    "EDVTL": 311,
    "ESATL": 312,
    "EDATL": 313,
    "URMPS": 393,
    "CRMPS": 394,
    "RRF": 395,
    "RRP": 396,
    "NBWLT": 449,
    "GRACT": 1001,
    "SMACT": 1002,
    "SMOCC": 1003,
    "TENSO": 1004,
    "DRAMA": 1005,
    "FP64A": 1006,
    "FP32A": 1007,
    "FP16A": 1008,
    "PCITX": 1009,
    "PCIRX": 1010,
    "NVLTX": 1011,
    "NVLRX": 1012,
    "GTLIMIT": 153,
    "SDTMP": 158,
    "SHTMP": 159,
    "EPLMT": 164,
    "PCILG": 237,
    "PCILW": 238,
    "PSTAT": 190,
}
"""Short name of a column to DCGM's number of the field."""

_NUMBERED: Final = schema_of(
    {
        "number": pl.Int64,
        "signal": pl.String,
        "factor": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
    }
)
"""A field by DCGM's number."""


def column_numbers(names: Sequence[str], asked: Sequence[int]) -> list[int | None]:
    """Return the field of each column.

    Args:
        names: The columns' names, which may be cut.
        asked: The numbers that the tool was asked for; empty if that is not known. They win, if
            there is one for each column.

    Returns:
        DCGM's numbers; null for a field that we do not read.
    """
    if len(asked) == len(names):
        return [number if number in BY_NUMBER else None for number in asked]
    return [_column_number(name) for name in names]


def _column_number(name: str) -> int | None:
    if not name.endswith(CUT):
        return SHORT_NAMES.get(name)
    start = name.removesuffix(CUT)
    found = {number for known, number in SHORT_NAMES.items() if known.startswith(start)}
    return found.pop() if len(found) == 1 else None


def field_columns(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of known fields with signal, factor and range.

    Args:
        cells: `number` is DCGM's; cells of others are left out.
    """
    rows = [
        (number, field.signal, field.scale.factor, field.scale.low, field.scale.high)
        for number, field in BY_NUMBER.items()
    ]
    fields = pl.DataFrame(rows, schema=_NUMBERED, orient="row")
    return cells.join(fields, on="number", how="inner", maintain_order="left")
