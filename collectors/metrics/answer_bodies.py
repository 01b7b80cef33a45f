"""Take the points out of an answer's body in one go, instead of a list of lists a point.

Nearly all of a range answer is `[[1767585600,"61"],[1767585615,"62"], ...]`. Inside a JSON string a
quote is escaped, so the bytes `"values":[[` can only be the start of such a list, and `]]` its
end: between them stands a table with two columns. What is left is small and parsed as JSON. A
body in any other form is left to the parser that reads everything. Source: Prometheus HTTP API;
the measurement that led here is `benchmarks/pull_speed.py`.
"""

from dataclasses import dataclass
from typing import Any, Final

import orjson
import polars as pl
from polars.exceptions import PolarsError

from collectors.frames import schema_of

PRINTED: Final = schema_of({"series": pl.UInt32, "seconds": pl.Float64, "text": pl.String})
"""Points as printed: the number of their label set, the time, the value; null is a missing one."""

_OPEN: Final = b'"values":[['
_CLOSE: Final = b"]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A body with its points taken out.

    Attributes:
        document: The rest of it, parsed; in place of its n-th list of values stands `[n]`.
        points: `PRINTED`; `series` is that n.
    """

    document: Any
    points: pl.DataFrame


def take_points(data: bytes) -> Body | None:
    """Return the body with its points apart; null if it does not have the usual form."""
    first, *pieces = data.split(_OPEN)
    blocks, rests = list[bytes](), [first]
    for number, piece in enumerate(pieces):
        block, close, rest = piece.partition(_CLOSE)
        if not close:
            return None
        blocks.append(block)
        rests.append(b'"values":[%d]' % number + rest)
    points = _table(blocks)
    try:
        document = orjson.loads(b"".join(rests))
    except orjson.JSONDecodeError:
        return None
    return Body(document=document, points=points) if points is not None else None


def _table(blocks: list[bytes]) -> pl.DataFrame | None:
    """Return the points of the lists; null if one is no list of pairs of a number and a text."""
    if not blocks:
        return PRINTED.to_frame()
    lines = b"\n".join(blocks).replace(b"],[", b"\n")
    counts = pl.Series([block.count(b"[") + 1 for block in blocks], dtype=pl.UInt32)
    rows = int(counts.sum())
    if lines.count(b'"') != 2 * rows or lines.count(b",") != rows or b"[" in lines:
        return None
    schema = pl.Schema({"seconds": pl.Float64, "text": pl.String})
    try:
        table = pl.read_csv(lines, has_header=False, schema=schema)
    except PolarsError:
        return None
    if table.height != rows or table["seconds"].null_count():
        return None
    owner = pl.int_range(len(counts), dtype=pl.UInt32, eager=True)
    series = pl.select(owner.repeat_by(counts).explode(empty_as_null=False)).to_series()
    return table.select(series.alias("series"), "seconds", "text")
