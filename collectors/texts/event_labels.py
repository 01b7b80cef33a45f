"""Attributes of an event, from expressions by name."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from collectors.frames import LABEL

_BETWEEN: Final = "\ufdd0"
"""Stands between two attributes. Unicode keeps it for use inside programs: no text has it."""

_NAMED: Final = "\ufdd1"
"""Stands between an attribute's name and its value, and in no text either."""

_KEPT: Final = f"[{_BETWEEN}{_NAMED}]"

_REPLACED: Final = "\ufffd"
"""What stands for a character that no text has: a log of odd bytes may hold it all the same."""


def event_labels(values: Mapping[str, pl.Expr]) -> pl.Expr:
    """Return `attributes` of `EVENTS`.

    One text with all of them, taken apart again, is quicker by far than a list of pairs.

    Args:
        values: Expressions by the name of the attribute; one that is null is left out of a row.

    Returns:
        The pairs in the order given; null where none is left.
    """
    texts = [
        pl.lit(f"{name}{_NAMED}") + value.cast(pl.String).str.replace_all(_KEPT, _REPLACED)
        for name, value in values.items()
    ]
    joined = pl.concat_str(texts, separator=_BETWEEN, ignore_nulls=True)
    pair = pl.element().str.splitn(_NAMED, 2).struct.rename_fields(["key", "value"])
    said = pl.when(joined != "").then(joined).str.split(_BETWEEN)
    return said.list.eval(pair).cast(pl.List(LABEL))


def label_value(name: str) -> pl.Expr:
    """Return what `attributes` of `EVENTS` say under a name; null if they do not.

    Args:
        name: The attribute; of several the first counts.
    """
    pair = pl.element().struct
    value = pl.when(pair.field("key") == name).then(pair.field("value"))
    return pl.col("attributes").list.eval(value).list.drop_nulls().list.first()
