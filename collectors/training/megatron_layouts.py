"""Read iteration lines by their layout: the names of their fields, which a log repeats.

A log of one version prints the same fields in the same order millions of times. The names are
learned from one line and checked on all others; a line that has them holds its values in known
places, and no pattern is searched in it.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.training.megatron_fields import HEAD, column_of

MAX_LAYOUTS: Final = 12
"""A log has one layout, and some for lines without a loss or with another optional field."""


@dataclass(frozen=True, slots=True)
class _Field:
    prefix: str
    column: str | None


def read_layouts(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the iteration lines whose layout is known, with their fields, and the other lines.

    Args:
        lines: `text` of whole iteration lines, each up to its last bar.

    Returns:
        First the lines with `stamp`, `step` and the columns of `NUMBERS` that they have, as text,
        in the order given; second the lines that are not made of names and values.
    """
    found, odd, rest = list[pl.DataFrame](), list[pl.DataFrame](), lines
    for _ in range(MAX_LAYOUTS):
        if rest.is_empty():
            break
        fitting = _fitting(rest, _layout_of(rest["text"][0]))
        if fitting is None:
            odd.append(rest.head(1))
            rest = rest.slice(1)
        else:
            found.append(fitting[0])
            rest = fitting[1]
    none = lines.clear().with_columns(stamp=pl.lit("")).with_columns(step="stamp")
    known = pl.concat([none, *found], how="diagonal").sort("line")
    return known, pl.concat([lines.clear(), *odd, rest])


def _layout_of(text: str) -> list[_Field]:
    """Return the fields of a line; none if it is not made of names and values."""
    pieces = text.split("|")
    names = [piece.rpartition(":")[0] for piece in pieces[1:-1]]
    if pieces[-1].strip() or not all(name.strip() for name in names):
        return []
    return [_Field(f"{name}:", column_of(name)) for name in names]


def _fitting(lines: pl.DataFrame, layout: list[_Field]) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """Return the lines that have a layout, with their fields, and the others.

    Null: the layout is none, so that not even the line it was learned from has it.
    """
    end = f"field_{len(layout) + 1}"
    fields = lines["text"].str.splitn("|", len(layout) + 2).struct.unnest()
    named = [
        pl.col(f"field_{at}").str.starts_with(field.prefix) for at, field in enumerate(layout, 1)
    ]
    head = fields["field_0"].str.extract_groups(HEAD).struct.rename_fields(["stamp", "step"])
    read = fields.hstack(head.struct.unnest())
    fits = read.select(
        pl.all_horizontal(pl.col("step").is_not_null(), pl.col(end) == "", *named).fill_null(
            value=False
        )
    ).to_series()
    if not layout or not fits[0]:
        return None
    if fits.all():
        return lines.hstack(read.select("stamp", "step", *_values(layout))), lines.clear()
    values = read.filter(fits).select("stamp", "step", *_values(layout))
    return lines.filter(fits).hstack(values), lines.filter(~fits)


def _values(layout: list[_Field]) -> list[pl.Expr]:
    """Return the texts of the fields that have a column; of two that share one, the first's."""
    columns: dict[str, pl.Expr] = {}
    for at, field in enumerate(layout, 1):
        if field.column is not None and field.column not in columns:
            text = pl.col(f"field_{at}").str.strip_prefix(field.prefix).str.strip_chars(" ")
            columns[field.column] = text.alias(field.column)
    return list(columns.values())
