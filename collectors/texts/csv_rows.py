"""Fields of comma-separated lines, a line at a time: a torn line costs that line, not the file."""

from typing import Final

import polars as pl

_FIELD: Final = r',(?:\s*"(?:[^"]|"")*"\s*|[^,]*)'
"""A field with the comma before it; in quotes it may hold commas and doubled quotes."""

_QUOTED: Final = r'^\s*"(.*)"\s*$'


def csv_fields(text: pl.Expr) -> pl.Expr:
    """Return the fields of a line as a list of texts, without quotes and blanks around them."""
    element = pl.element().str.replace(r"^,", "").str.replace(f"(?s){_QUOTED}", "${1}")
    plain = element.str.replace_all('""', '"', literal=True).str.strip_chars()
    return pl.concat_str(pl.lit(","), text).str.extract_all(_FIELD).list.eval(plain)


def header_fields(line: str) -> list[str]:
    """Return the fields of one line, a header perhaps; see `csv_fields`."""
    row = pl.DataFrame({"text": [line]}).select(fields=csv_fields(pl.col("text")))
    fields: list[str] = row["fields"].to_list()[0]
    return fields


def fits(fields: pl.Expr, width: int) -> pl.Expr:
    """Return whether a list of fields has `width` of them; one comma too many at the end is none.

    Args:
        fields: As `csv_fields` gives them.
        width: How many columns the header has.
    """
    extra = (fields.list.len() == width + 1) & (fields.list.last() == "")
    return (fields.list.len() == width) | extra


def column(header: list[str], *names: str) -> pl.Expr:
    """Return the first of the named columns that a header has; null text if it has none.

    Args:
        header: The column names in lower case.
        *names: Names wanted in lower case, best first.
    """
    for name in names:
        if name in header:
            return pl.col("fields").list.get(header.index(name), null_on_oob=True)
    return pl.lit(None, pl.String)
