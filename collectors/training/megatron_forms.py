"""Read iteration lines that differ in their numbers alone, as columns of bytes.

A log repeats the words between its numbers millions of times. Lines of one length are laid one
below the other: a column of bytes that never changes is looked at once, and where the numbers stand
is learned from one line. What does not fit is left to `megatron_layouts`, which says the same of
any line, in more time.
"""

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import TIME, conform
from collectors.line_reading import UsualLines
from collectors.sniffing import ReadOptions
from collectors.training.byte_columns import (
    MAX_DIGITS,
    STAMP,
    ByteColumns,
    Mask,
    are_same,
    byte_columns,
    decimals_at,
    integers_at,
    spread,
    times_at,
)
from collectors.training.megatron_fields import HEAD, NUMBERS, column_of
from collectors.training.megatron_records import whole_records

MAX_FORMS: Final = 8
"""A log has one form, and some for numbers of other lengths."""

MIN_LINES: Final = 256
"""Fewer lines are not worth learning from."""

_MIN_FITTING: Final = 0.25
"""Share of the lines of one length that a form has to fit for another to be tried."""

_CANDIDATES: Final = 16
"""Lines among which a whole record is looked for, to learn from."""

_PIECE_LINES: Final = 16_384
"""Lines that are laid out at once: memory for all of a block would be fetched anew each time."""

_HEAD: Final = re.compile(HEAD)

READ_PARTS: Final = pl.Schema(
    {"step": pl.Int64(), "own_time": TIME, **dict.fromkeys(NUMBERS, pl.Float64())}
)
"""What is read of a line that has a form; null: it does not say that."""


@dataclass(frozen=True, slots=True)
class _Gap:
    """Where a value stands in a line, and the column that it is for; null: nobody needs it."""

    place: slice
    column: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """Where the numbers of a line stand.

    Attributes:
        text: The line that it was learned from.
        stamp: Place of its stamp; null without one.
        step: Place of the step's digits.
        gaps: Places of the fields' values.
    """

    text: str
    stamp: slice | None
    step: slice
    gaps: list[_Gap]


def usual_iterations(
    texts: pl.Series, signs: str, options: ReadOptions, min_lines: int = MIN_LINES
) -> UsualLines:
    """Return the lines that have a usual form; their parts are `READ_PARTS`.

    Args:
        texts: Plain lines of a file.
        signs: What records hold that may stand anywhere in a line, iterations among them.
        options: The zone of stamps.
        min_lines: See `MIN_LINES`.
    """
    lines = texts.alias("text").to_frame()
    formed, fits = read_forms(lines, options.time_zone, min_lines, signs)
    return UsualLines(fits=fits, parts=conform(formed.lazy(), READ_PARTS).collect())


def read_forms(
    lines: pl.DataFrame, time_zone: str, min_lines: int = MIN_LINES, signs: str | None = None
) -> tuple[pl.DataFrame, pl.Series]:
    """Return the records of lines that have a usual form, and which of the lines those are.

    Args:
        lines: `text`, and whatever else is to be kept.
        time_zone: IANA zone of stamps.
        min_lines: See `MIN_LINES`.
        signs: Of what a line may hold no more than one; null: of nothing.

    Returns:
        First those lines with `step`, `own_time` and the columns of `NUMBERS` that they have, in
        the order given: each is a whole record. Second a flag a line.
    """
    rest = lines.with_row_index("row").filter(pl.col("text").str.ends_with("|"))
    found = list[pl.DataFrame]()
    for _ in range(MAX_FORMS):
        group = _of_usual_length(rest)
        form = _form_of(group["text"]) if group.height >= min_lines else None
        if form is None or not _is_one(form, signs):
            break
        pieces = group.iter_slices(_PIECE_LINES)
        found.append(pl.concat([_records(piece, form, time_zone) for piece in pieces]))
        if found[-1].height < _MIN_FITTING * group.height:
            break
        rest = rest.filter(~pl.col("row").is_in(found[-1]["row"].implode()))
    records = pl.concat([rest.clear(), *found], how="diagonal").sort("row")
    fits = pl.repeat(value=False, n=lines.height, dtype=pl.Boolean, eager=True)
    return records.drop("row"), fits.scatter(records["row"], values=True)


def _is_one(form: _Form, signs: str | None) -> bool:
    """Return whether a form holds no more than one sign of a record."""
    return signs is None or pl.Series([form.text]).str.count_matches(signs)[0] <= 1


def _of_usual_length(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines that have the length, in bytes, that most have."""
    length = lines["text"].str.len_bytes()
    is_usual = length == (length.mode().max() or 0)
    return lines if is_usual.all() else lines.filter(is_usual)


def _form_of(texts: pl.Series) -> _Form | None:
    """Return the form of the first whole record among lines of one length; null without one."""
    first = texts.head(_CANDIDATES)
    whole = first.filter(whole_records(first))
    text: str = whole[0] if len(whole) else ""
    head, *fields = text.split("|")
    known = _HEAD.search(head)
    if known is None or not text.isascii():
        return None
    stamp, step = (slice(*known.span(group)) for group in (1, 2))
    gaps = _gaps(fields[:-1], len(head) + 1)
    is_odd = known[1] is not None and STAMP.fullmatch(known[1]) is None
    if is_odd or not _are_numbers([text[place] for place in (step, *(gap.place for gap in gaps))]):
        return None
    return _Form(text=text, stamp=stamp if known[1] else None, step=step, gaps=gaps)


def _are_numbers(values: list[str]) -> bool:
    """Return whether a line has values, and all of them are numbers, and no longer than usual."""
    numbers = pl.Series(values).cast(pl.Float64, strict=False)
    is_long = any(len(value) > MAX_DIGITS for value in values if value.isdigit())
    return len(values) > 1 and not numbers.null_count() and not is_long


def _gaps(fields: list[str], start: int) -> list[_Gap]:
    """Return where the values of fields are that begin somewhere; none if a name is odd."""
    gaps, known = list[_Gap](), set[str | None]()
    for field in fields:
        name, _, value = field.rpartition(":")
        if not name.strip() or ":" in name:
            return []
        at, column = start + len(field) - len(value.lstrip(" ")), column_of(name)
        place = slice(at, at + len(value.strip(" ")))
        gaps.append(_Gap(place, None if column in known else column))
        known.add(column)
        start += len(field) + 1
    return gaps


def _records(group: pl.DataFrame, form: _Form, time_zone: str) -> pl.DataFrame:
    """Return the lines that have a form, with their numbers.

    Args:
        group: Lines as long as the form's.
        form: The form.
        time_zone: IANA zone of stamps.
    """
    columns = byte_columns(group["text"], len(form.text))
    step, fits = integers_at(columns, range(form.step.start, form.step.stop))
    told = {"step": spread(step, group.height)}
    if form.stamp is not None:
        told["own_time"], is_stamp = times_at(columns, form.stamp, time_zone)
        fits = fits & is_stamp
    for gap in form.gaps:
        numbers, is_number = _numbers(group["text"], columns, form.text, gap.place)
        fits = fits & is_number
        if gap.column is not None:
            told[gap.column] = numbers
    is_record = spread(fits & are_same(columns, form.text, _words(form)), group.height)
    records = group.with_columns(**told)
    return records if is_record.all() else records.filter(is_record)


def _words(form: _Form) -> list[int]:
    """Return the places of a form where no number is."""
    words = np.ones(len(form.text), np.bool_)
    for place in (form.step, form.stamp or form.step, *(gap.place for gap in form.gaps)):
        words[place] = False
    return np.flatnonzero(words).tolist()


def _numbers(
    texts: pl.Series, columns: ByteColumns, text: str, place: slice
) -> tuple[pl.Series, Mask]:
    """Return the numbers in a gap, and where there is one that needs no closer look."""
    if not columns.varies[place].any():
        same = pl.Series([text[place]]).cast(pl.Float64)
        return same.new_from_index(0, len(texts)), np.ones(1, np.bool_)
    read = decimals_at(columns, text, place)
    if read is not None:
        return spread(read[0], len(texts)), read[1]
    told = texts.str.slice(place.start, place.stop - place.start).cast(pl.Float64, strict=False)
    return told, told.is_not_null().to_numpy()
