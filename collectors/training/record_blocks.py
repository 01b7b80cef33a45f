"""Read records of a header line and one line a value, as Composer and OLMo print them.

Source: formats of progress streams, sections 8 and 9: the values below a header belong to it, until
a line that is none of them.
"""

from collections.abc import Mapping

import polars as pl

from collectors.line_reading import printer
from collectors.training.printed_numbers import printed_number


def read_blocks(lines: pl.DataFrame, header: str, value: str) -> pl.DataFrame:
    """Return the headers and values of records, each with the number of its record.

    Args:
        lines: `LINES`.
        header: Pattern of a header; its only group is the step.
        value: Pattern of a value line; its groups are name and value.

    Returns:
        The lines that are part of a record, with `record`, `step`, `name` and `value` (null on
        headers). Lines of other printers between do not end a record.
    """
    text = pl.col("text")
    laned = lines.with_columns(lane=printer(), is_head=text.str.contains(header))
    marked = laned.with_columns(
        record=pl.col("is_head").cum_sum().cast(pl.Int64), is_value=text.str.contains(value)
    ).with_columns(
        record=pl.when("is_head").then("record").forward_fill().over("lane"),
        strange=(~pl.col("is_head") & ~pl.col("is_value")),
    )
    alone = pl.col("strange").cum_sum().over("lane", "record") == 0
    parts = marked.filter(pl.col("record").is_not_null() & alone)
    step, name = text.str.extract(header), text.str.extract(value, 1)
    return parts.with_columns(
        step=printed_number(step).cast(pl.Int64, strict=False).forward_fill().over("lane"),
        name=pl.when(~pl.col("is_head")).then(name),
        value=pl.when(~pl.col("is_head")).then(printed_number(text.str.extract(value, 2))),
    )


def named(*names: str) -> pl.Expr:
    """Return a value of each record: the first of the names that it holds; null without any."""
    return pl.coalesce(pl.col("value").filter(pl.col("name") == name).first() for name in names)


def first_sound(told: Mapping[str, pl.Expr]) -> tuple[pl.Expr, pl.Expr]:
    """Return the seconds of a step and their `time_kind`: the first that can be; null without any.

    Args:
        told: Seconds by the kind that they are of, the surest first; null, infinite and not
            positive ones are passed over.
    """
    sound = {kind: pl.when(one > 0, one.is_finite()).then(one) for kind, one in told.items()}
    kinds = (pl.when(one.is_not_null()).then(pl.lit(kind)) for kind, one in sound.items())
    return pl.coalesce(*sound.values()), pl.coalesce(kinds)
