"""Fill columns into a text, whatever chunks they are in.

`pl.format` of Polars 2.1 panics where one of several columns has an empty chunk that another has
not, as after a `shift` and a filter; what panics is no `Exception`, and would end a whole run.
"""

import polars as pl


def filled(template: str, *columns: pl.Expr | str | int) -> pl.Expr:
    """Return a text with a column's value in each gap, as `pl.format` does; null if one is null.

    Args:
        template: Words, with `{}` for each column.
        columns: Expressions, names of columns, or numbers.

    Raises:
        ValueError: There are more or fewer gaps than columns.
    """
    first, *words = template.split("{}")
    pairs = list(zip(columns, words, strict=True))
    pieces = [piece for column, word in pairs for piece in (column, pl.lit(word))]
    return pl.concat_str(pl.lit(first), *pieces)
