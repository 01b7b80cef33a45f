"""Rows of a frame as JSON has them."""

from typing import Any

import polars as pl

from detectors.verdicts import rfc3339


def json_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame, with times as RFC 3339 in UTC; null stays null."""
    times = [name for name, kind in frame.schema.items() if kind == pl.Datetime]
    return [
        row | {name: None if row[name] is None else rfc3339(row[name]) for name in times}
        for row in frame.iter_rows(named=True)
    ]
