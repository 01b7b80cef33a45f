"""Read lines that list the bandwidth between pairs of hosts, as people note a bisection.

Source: formats of NCCL logs, sections 7 and 12.5; reports of NVIDIA/nccl and NVIDIA/nccl-tests
list what they measured as `pairs busbw GB/s: 1-2 81 · 1-3 80`.
"""

from typing import Final

import polars as pl

from collectors.communication.nccl_test_devices import HOSTS_BETWEEN
from collectors.identity import canonical_host
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions

_NAME: Final = r"[A-Za-z][\w.]*(?:-[A-Za-z]\w*)*-\d+"
"""A host's name that stands without the word pair: with a dash and a number at its end."""

PAIR_HINT: Final = (
    r"(?i)^\W*pairs?\b.*(?:bw|bandwidth|B/s|bps|bit/s)"
    rf"|^{_NAME}(?: ?(?:<-+>|-+>|[-,+|~]) ?| +){_NAME}[:=, ]+(?:(?:bus|alg)?bw[:= ]+)?"
    r"\d+(?:\.\d+)? ?[KMGT]i?(?:B|b|bit)(?:/s|ps)"
)
"""A list of pairs, or a line of one: two hosts and a rate with its unit."""

_UNIT: Final = r"(?i)\b(?:([KMGT])(i)?(b(?:it)?(?:/s|ps)|Bytes?/s|B/s))"

_HOST: Final = r"(?:\d+|[A-Za-z][\w.]*(?:-[A-Za-z][\w.]*)*-?\d+)"

_PAIR: Final = (
    rf"({_HOST}) ?(?:<-+>|-+>|[-\u2013\u2194~/,+|]|\bto\b|\bvs\b) ?({_HOST})"
    r"(?:\s*[:=]?\s*\(?(?:(?:bus|alg)?bw|bandwidth)\)?)?\s*[:=]?\s+"
    r"(\d+(?:\.\d+)?)"
    r"(?:\s|$|[A-Za-z·,;|])"
)

_SIZES: Final = r"(?i)sizes?\s+(?:[\d.]+ ?[KMGT]?i?B? ?[-\u2013] ?)?([\d.]+) ?([KMGT])(i)?B"

_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4}


def read_pair_bandwidths(lines: pl.DataFrame, _options: ReadOptions) -> LineReading:
    """Return the bandwidths between pairs of hosts that lines list.

    Args:
        lines: `LINES`.

    Returns:
        `TRANSFERS`, one a pair, `group` its two hosts with `+` between, in order; `bytes` is the
        largest size that the line tells. A line whose unit is not told is taken as GB/s.
    """
    text = pl.col("text")
    joined = text.str.replace(rf"^({_NAME}) +({_NAME})", "${1},${2}")
    hinted = lines.filter(text.str.contains(PAIR_HINT)).with_columns(joined)
    hits = hinted.filter(text.str.contains(_PAIR))
    pairs = hits.with_columns(
        unit=_unit_bytes(text), bytes=_size_bytes(text), pair=text.str.extract_all(_PAIR)
    ).explode("pair", empty_as_null=False)
    return LineReading(reading=reading_of(transfers=_rows(pairs)), claimed=hits["line"])


def _rows(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return `TRANSFERS` of pairs: their line's `text`, `unit` and `bytes`, and their own text."""
    ends = [canonical_host(pl.col("pair").str.extract(_PAIR, at)) for at in (1, 2)]
    both = pl.concat_list(ends).list.sort().list.join(HOSTS_BETWEEN)
    rate = pl.col("pair").str.extract(_PAIR, 3).cast(pl.Float64, strict=False) * pl.col("unit")
    is_bus = pl.col("text").str.contains("(?i)alg").not_()
    return pairs.select(
        "time",
        "position",
        "bytes",
        group=both,
        nodes=pl.lit(2, pl.Int32),
        bus_bytes_per_second=pl.when(is_bus).then(rate),
        algorithm_bytes_per_second=pl.when(~is_bus).then(rate),
        timing=pl.lit("wall"),
        variant=pl.lit("pair"),
    )


def _unit_bytes(text: pl.Expr) -> pl.Expr:
    """Return how many bytes a second one of the line's unit is; small b and `bit` are bits."""
    word = text.str.extract(_UNIT, 3).fill_null("B/s")
    is_bit = word.str.contains(r"^b")
    power = (
        text.str.extract(_UNIT, 1)
        .fill_null("G")
        .str.to_uppercase()
        .replace_strict(_POWERS, default=3, return_dtype=pl.Int64)
    )
    base = pl.when(text.str.extract(_UNIT, 2).is_not_null()).then(1024.0).otherwise(1000.0)
    return base.pow(power) / pl.when(is_bit).then(8.0).otherwise(1.0)


def _size_bytes(text: pl.Expr) -> pl.Expr:
    number = text.str.extract(_SIZES, 1).cast(pl.Float64, strict=False)
    power = (
        text.str.extract(_SIZES, 2)
        .str.to_uppercase()
        .replace_strict(_POWERS, default=None, return_dtype=pl.Int64)
    )
    base = pl.when(text.str.extract(_SIZES, 3).is_not_null()).then(1024.0).otherwise(1000.0)
    return (number * base.pow(power)).cast(pl.Int64, strict=False)
