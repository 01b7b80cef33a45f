"""Find the iteration records of a log: on one line each, or wrapped into some, or torn.

Source: formats of progress streams, sections 0.8 and 1.1. A record that was cut by a wrap has no
known last field on its first line, and goes on within the next lines that begin nothing else. One
that ends where another begins stays as it is, without the value it was cut in.
"""

from typing import Final

import polars as pl

from collectors.texts.ascii_patterns import ascii_pattern
from collectors.training.megatron_fields import loose_fields, with_numbers
from collectors.training.megatron_layouts import read_layouts

ITERATION_START: Final = (
    r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\] +|Training epoch \d+, )?"
    r"\biteration +\d+/ *\d+ *\|"
)
"""How a record begins, wherever it stands."""

ITERATION_MARK: Final = r"iteration +[0-9]+/ *[0-9]+ *\|"
"""What such a beginning holds once."""

ITERATION_LINE: Final = ascii_pattern(
    r"^\s*(?:\[\d{4}-\d\d-\d\d [0-9:.]+\] +|Training epoch \d+, )?iteration +\d+/ *\d+ *\|"
)
"""A line that is surely such a record's, told at its beginning."""

MAX_WRAPPED_LINES: Final = 6
"""A record that is cut before its last field goes on within so many lines: 400 characters on a
terminal of 80 columns."""

_END: Final = r"iterations: *\d+ *\|"
"""A count of iterations is the last field that every version since 2.0 prints."""

_GOES_ON: Final = r"^[^|\[\]]*\|"

_FIELD: Final = r"^[^|:]*[A-Za-z][^|:]*: *[^ |]+ *\|"

RECORD: Final = ("line", "position", "time", "host")
"""What a record keeps of its line, or of its first."""


def whole_records(text: pl.Series) -> pl.Series:
    """Return which lines hold a record from its head to its last field."""
    ended = text.str.ends_with("|") & text.str.contains(_END)
    return ended & text.str.contains(ITERATION_LINE) if ended.any() else ended


def read_records(
    lines: pl.DataFrame, whole: pl.Series, known: pl.Series, others: pl.Series, time_zone: str
) -> tuple[pl.DataFrame, pl.Series]:
    """Return the iteration records that are still to be read, and the lines they are made of.

    Args:
        lines: `LINES`.
        whole: Which of them are whole records.
        known: Which of those are read already.
        others: The `line` numbers of those known to be something else.
        time_zone: IANA zone of stamps that carry none.

    Returns:
        `RECORD` of each record's first line, `step`, `own_time` and `NUMBERS`, by line; null is not
        printed.
    """
    parts = _loose_parts(lines, whole, others)
    at_once = lines.filter(whole & ~known).select(*RECORD, "text")
    laid_out, odd = read_layouts(at_once.with_columns(record="line"))
    loose = pl.concat([_joined(parts), odd]).sort("line")
    records = [laid_out] if loose.is_empty() else [laid_out, loose_fields(loose)]
    told = pl.concat(records, how="diagonal").sort("line")
    claimed = pl.concat([at_once["line"], parts["line"]])
    return with_numbers(told, time_zone).drop("text", "record"), claimed


def _loose_parts(lines: pl.DataFrame, whole: pl.Series, others: pl.Series) -> pl.DataFrame:
    """Return the lines of records that are not whole on one line, with `record`, their first."""
    text = pl.col("text")
    begins = lines.filter(~whole).select("line", text.str.contains(ITERATION_LINE))
    broken = begins.filter("text")["line"]
    if broken.is_empty():
        return lines.clear().with_columns(record="line")
    starts = whole | lines["line"].is_in(broken.implode())
    first = pl.when("starts").then("line").forward_fill()
    rows = (
        lines.with_columns(starts=starts)
        .with_columns(record=first)
        .filter(
            pl.col("line") - pl.col("record") < MAX_WRAPPED_LINES,
            pl.col("record").is_in(broken.implode()),
        )
    )
    ends_in_bar = text.str.ends_with("|")
    ended = (ends_in_bar & text.str.contains(_END)) | pl.col("is_torn")
    goes_on = text.str.contains(_GOES_ON) & (text.str.contains(_FIELD) | ~ends_in_bar.shift(1))
    is_other = pl.col("line").is_in(others.implode())
    stops = (~pl.col("starts") & (is_other | ~goes_on)) | ended.shift(1, fill_value=False)
    stopped = stops.cum_max().over("record") & ~pl.col("starts")
    return rows.filter(~stopped).drop("starts")


def _joined(parts: pl.DataFrame) -> pl.DataFrame:
    """Return one row a record; a value behind which no bar stands, where it was torn, is left."""
    text = pl.col("text").str.join("")
    is_cut = pl.col("is_torn").last()
    kept = pl.when(is_cut).then(text.str.replace(r"\|[^|]*$", "|")).otherwise(text)
    firsts = pl.col(RECORD).first()
    return (
        parts.group_by("record", maintain_order=True)
        .agg(firsts, kept.alias("text"))
        .select(*RECORD, "text", "record")
    )
