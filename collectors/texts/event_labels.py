"""Attributes of an event, from expressions by name."""

from collections.abc import Mapping

import polars as pl

from collectors.frames import LABEL


def event_labels(values: Mapping[str, pl.Expr]) -> pl.Expr:
    """Return `attributes` of `EVENTS`.

    Args:
        values: Expressions by the name of the attribute; one that is null is left out of a row.

    Returns:
        The pairs in the order given; null where none is left.
    """
    pairs = [
        pl.struct(key=pl.lit(name), value=value.cast(pl.String)) for name, value in values.items()
    ]
    said = pl.element().filter(pl.element().struct.field("value").is_not_null())
    kept = pl.concat_list(pairs).list.eval(said)
    return pl.when(kept.list.len() > 0).then(kept).cast(pl.List(LABEL))
