"""Take lines out of the boxes that terminal libraries draw, and join what a box has cut.

Source: formats of NCCL and PyTorch-distributed logs, section 1.2. A box pads its lines to its width
and cuts longer ones there, inside words: a line that fills the box goes on in the next.
"""

from typing import Final

import polars as pl

from collectors.texts.file_places import file_number

_SIDES: Final = ("│", "┃")

_INSIDE: Final = r"^[│┃] ?([^│┃]*?) ?[│┃]$"
"""What stands between the sides; a row of a table has more of them."""

MIN_CUT_WIDTH: Final = 40
"""A narrower box that is full is a label, not a text that was cut."""


def unboxed(lines: pl.DataFrame) -> pl.DataFrame:
    """Return lines out of their boxes, those that a box cut put together where they began.

    Args:
        lines: `position`, `is_torn`, `stamp`, `text`, in order.
    """
    text = pl.col("text")
    if not any(lines["text"].str.starts_with(side).any() for side in _SIDES):
        return lines
    boxed = lines.with_columns(text.str.strip_chars_end("\r")).with_columns(
        inside=text.str.extract(_INSIDE), width=text.str.len_chars()
    )
    goes_on = _goes_on().shift(1, fill_value=False).over(file_number())
    begins = ~(goes_on & pl.col("inside").is_not_null())
    return (
        boxed.with_columns(begins.cum_sum().alias("head"))
        .group_by("head", maintain_order=True)
        .agg(
            pl.col("position", "stamp").first(),
            pl.col("is_torn").any(),
            pl.coalesce("inside", "text").str.join("").str.strip_chars_end().alias("text"),
        )
        .drop("head")
        .filter(text != "")
        .select(lines.columns)
    )


def _goes_on() -> pl.Expr:
    """Return whether a line fills its box, which is as wide as that of the next line.

    A blank where it was cut looks like padding.
    """
    inside, width = pl.col("inside"), pl.col("width")
    padding = inside.str.len_chars() - inside.str.strip_chars_end().str.len_chars()
    fills = (padding <= 1) & (inside.str.len_chars() >= MIN_CUT_WIDTH)
    return (fills & (width == width.shift(-1))).fill_null(value=False)
