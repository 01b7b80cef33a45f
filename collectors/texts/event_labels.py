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


def label_value(name: str) -> pl.Expr:
    """Return what `attributes` of `EVENTS` say under a name; null if they do not.

    Args:
        name: The attribute; of several the first counts.
    """
    pair = pl.element().struct
    value = pl.when(pair.field("key") == name).then(pair.field("value"))
    return pl.col("attributes").list.eval(value).list.drop_nulls().list.first()
