"""Numbers and times that stand in the same places of many texts, from columns of bytes.

A byte that is the same in all texts is looked at once. Sources: a decimal of at most 15 digits,
divided by a power of ten that a float holds, is the float nearest to it (W. D. Clinger, How to Read
Floating Point Numbers Accurately, 1990), so that it is what a cast of the text says; the days of a
date are those of numpy's `datetime64`, which counts by the Gregorian calendar as Polars does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

Mask = NDArray[np.bool_]

Integers = NDArray[np.int64]

Floats = NDArray[np.float64]

STAMP: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{6})?")
"""Stamps that `times_at` reads."""

MAX_DIGITS: Final = 15
"""Integers of so many digits are floats, too."""

_SIDE_BY_SIDE: Final = 64
"""Rows that are taken for one: numpy is quick over long rows."""

_BASE: Final = 10

_SMALL_DIGITS: Final = 4
"""So many digits fit into 16 bits, with which numpy is quicker than with 64."""

_MAX_POWER: Final = 22
"""Powers of ten up to here are floats."""

_DECIMAL: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+][0-9]{1,3}))?")

_DATE: Final = (range(4), range(5, 7), range(8, 10))
"""Year, month and day of a stamp."""

_CLOCK: Final = (range(11, 13), range(14, 16), range(17, 19))
"""Hour, minute and second of a stamp."""

_FRACTION: Final = range(20, 26)

_MARKS: Final = {4: "-", 7: "-", 10: " ", 13: ":", 16: ":", 19: "."}


@dataclass(frozen=True, slots=True)
class ByteColumns:
    """Texts of one length, one below the other.

    Attributes:
        rows: Their bytes, a row a text.
        varies: Which columns are not the same in all rows.
    """

    rows: Bytes
    varies: Mask


def byte_columns(texts: pl.Series, length: int) -> ByteColumns:
    """Return the columns of texts that all have a length, in bytes."""
    kind = pl.Array(pl.UInt8, length)
    rows = texts.cast(pl.Binary).bin.reinterpret(dtype=kind).to_numpy()
    return ByteColumns(rows, _reduced(rows, np.bitwise_or) != _reduced(rows, np.bitwise_and))


def _reduced(rows: Bytes, bits: np.ufunc) -> Bytes:
    """Return an operation on the bits of all rows, many of them side by side as one long row."""
    count, width = len(rows) // _SIDE_BY_SIDE * _SIDE_BY_SIDE, rows.shape[1]
    wide = bits.reduce(rows[:count].reshape(-1, _SIDE_BY_SIDE * width), axis=0)
    reduced: Bytes = bits.reduce(np.concatenate([wide.reshape(-1, width), rows[count:]]), axis=0)
    return reduced


def are_same(columns: ByteColumns, text: str, places: Sequence[int]) -> Mask:
    """Return which texts are in some places what one of them, `text`, is; see `integers_at`."""
    same, expected = np.ones(1, np.bool_), text.encode("ascii")
    for at in places:
        if columns.varies[at]:
            same = same & (columns.rows[:, at] == expected[at])
    return same


def integers_at(columns: ByteColumns, places: Sequence[int]) -> tuple[Integers, Mask]:
    """Return the numbers that the bytes in some places spell, and where all of them are digits.

    Args:
        columns: The texts.
        places: From the first digit to the last, at most `MAX_DIGITS`.

    Returns:
        A value for each text, or a single one if it is the same for all.
    """
    number, largest = np.zeros(1, np.int64), np.zeros(1, np.uint8)
    for start in range(0, len(places), _SMALL_DIGITS):
        part, small = places[start : start + _SMALL_DIGITS], np.zeros(1, np.uint16)
        for at in part:
            digit = _column(columns, at) - np.uint8(ord("0"))
            small, largest = _BASE * small + digit, np.maximum(largest, digit)
        number = number * _BASE ** len(part) + small
    return number, largest < _BASE


def decimals_at(columns: ByteColumns, text: str, place: slice) -> tuple[Floats, Mask] | None:
    """Return numbers that are written as that of one of the texts, and where there is one.

    Args:
        columns: The texts.
        text: One of them.
        place: Where in it something stands: digits, and maybe a point and an exponent.

    Returns:
        As `integers_at`; null if there is no such number in `text`, or if points and exponents are
        not the same in all texts.
    """
    known = _DECIMAL.fullmatch(text[place])
    if known is None:
        return None
    digits = [
        place.start + at for group in (1, 2) if known[group] for at in range(*known.span(group))
    ]
    power = int(known[3] or 0) - len(known[2] or "")
    others = set(range(place.start, place.stop)).difference(digits)
    is_exact = len(digits) <= MAX_DIGITS and abs(power) <= _MAX_POWER
    if not is_exact or columns.varies[list(others)].any():
        return None
    integers, sound = integers_at(columns, digits)
    numbers, scale = integers.astype(np.float64), float(10 ** abs(power))
    return numbers * scale if power > 0 else numbers / scale, sound


def times_at(columns: ByteColumns, place: slice, time_zone: str) -> tuple[pl.Series, Mask]:
    """Return the times of stamps, and which of the texts have a stamp.

    Args:
        columns: The texts.
        place: Where in one of them a stamp stands that fits `STAMP`.
        time_zone: IANA zone of the stamps. An hour that occurs twice is its first occurrence.

    Returns:
        UTC microseconds, null for an hour that the zone skips; means nothing where no stamp is.
    """
    stamps = ByteColumns(columns.rows[:, place], columns.varies[place])
    days, is_day = _days(stamps)
    seconds, is_clock = _seconds(stamps)
    has_fraction = stamps.rows.shape[1] > _FRACTION.start
    micros, is_fraction = integers_at(stamps, _FRACTION if has_fraction else ())
    marks = {at: mark for at, mark in _MARKS.items() if at < stamps.rows.shape[1]}
    is_stamp = is_day & is_clock & is_fraction
    for at, mark in marks.items():
        is_stamp = is_stamp & (_column(stamps, at) == ord(mark))
    times = (days * 86_400 + seconds) * 1_000_000 + micros
    local = spread(times, len(stamps.rows)).cast(pl.Datetime("us"))
    zoned = local.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    return zoned.dt.convert_time_zone("UTC"), is_stamp


def spread(values: Integers | Floats | Mask, count: int) -> pl.Series:
    """Return a value for each of so many texts, where there may be a single one for all."""
    return pl.Series(np.broadcast_to(values, count))


def _column(columns: ByteColumns, at: int) -> Bytes:
    """Return a column, or its first byte alone if all are the same."""
    return columns.rows[:, at] if columns.varies[at] else columns.rows[:1, at]


def _days(stamps: ByteColumns) -> tuple[Integers, Mask]:
    """Return the days since 1970 of stamps, and which of them have a day that exists."""
    (year, month, day), sound = _parts(stamps, _DATE)
    months = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    first, after = (
        one.astype("datetime64[D]").astype(np.int64) for one in (months, months + np.int64(1))
    )
    exists = (month >= 1) & (month <= 12) & (day >= 1) & (first + day <= after)  # noqa: PLR2004
    return first + day - 1, sound & exists


def _seconds(stamps: ByteColumns) -> tuple[Integers, Mask]:
    """Return the seconds since midnight of stamps, and which of them have a time of day."""
    (hour, minute, second), sound = _parts(stamps, _CLOCK)
    exists = (hour < 24) & (minute < 60) & (second < 60)  # noqa: PLR2004 -- as clocks count
    return (hour * 60 + minute) * 60 + second, sound & exists


def _parts(stamps: ByteColumns, places: Sequence[range]) -> tuple[list[Integers], Mask]:
    """Return the numbers in some places, and where all of them are digits."""
    numbers, sound = zip(*(integers_at(stamps, place) for place in places), strict=True)
    return list(numbers), np.logical_and.reduce(np.broadcast_arrays(*sound))
