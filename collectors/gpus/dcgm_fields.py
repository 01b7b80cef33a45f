"""Which field of DCGM is which signal: the table's rows by number and by metric name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import schema_of
from collectors.gpus.dcgm_field_table import EXPORTER_TABLE, FIELD_TABLE, Scale

PREFIX: Final = "DCGM_FI_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field.

    Attributes:
        number: DCGM's number for it; null for what only the exporter makes.
        signal: Our name for it.
        names: Its names, without `DCGM_FI_`; one that starts with `dcgm_` or `DCGM_` is whole.
        scale: Its unit and range.
    """

    number: int | None
    signal: str
    names: tuple[str, ...]
    scale: Scale


def _all_fields() -> tuple[Field, ...]:
    own = [
        Field(number=int(words[0]), signal=words[1], names=tuple(words[2:]), scale=scale)
        for scale, table in FIELD_TABLE
        for words in (row.split() for row in re.split(r"\n {8}(?=\d)", table))
        if words
    ]
    made = [
        Field(number=None, signal=signal, names=tuple(names.split()), scale=scale)
        for scale, signal, names in EXPORTER_TABLE
    ]
    return (*own, *made)


FIELDS: Final = _all_fields()

BY_NUMBER: Final[Mapping[int, Field]] = {
    field.number: field for field in FIELDS if field.number is not None
}

FIELD_NAMES: Final = schema_of(
    {
        "name": pl.String,
        "signal": pl.String,
        "factor": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "scope": pl.String,
    }
)


def metric_name(name: str) -> str:
    """Return the metric that a name of `FIELDS` is exposed as."""
    whole = name.startswith(("dcgm_", "DCGM_"))
    return name if whole else PREFIX + name


def _exposed(names: tuple[str, ...]) -> list[str]:
    """Return the metrics of a field's names; some exporters print them in lower case."""
    whole = [metric_name(name) for name in names]
    return list(dict.fromkeys([*whole, *(name.lower() for name in whole)]))


def field_names() -> pl.DataFrame:
    """Return `FIELD_NAMES`: one row a metric name."""
    rows = [
        (
            name,
            field.signal,
            field.scale.factor,
            field.scale.low,
            field.scale.high,
            field.scale.scope,
        )
        for field in FIELDS
        for name in _exposed(field.names)
    ]
    return pl.DataFrame(rows, schema=FIELD_NAMES, orient="row")
