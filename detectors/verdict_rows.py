"""From rows back to verdicts: what detectors hand over as a frame, as objects for words."""

from typing import Any

import polars as pl

from collectors.frames import require
from detectors.verdicts import VERDICTS, Evidence, Subject, Verdict


def verdicts_of(frame: pl.DataFrame) -> list[Verdict]:
    """Return the verdicts of a frame, in its order.

    Args:
        frame: `VERDICTS`.

    Raises:
        SchemaError: `frame` is not a `VERDICTS`.
    """
    rows = frame.lazy().pipe(require, VERDICTS).collect()
    return [_verdict(row) for row in rows.iter_rows(named=True)]


def _verdict(row: dict[str, Any]) -> Verdict:
    parts: dict[str, Any] = {
        "subject": Subject(**row["subject"]),
        "evidence": tuple(Evidence(**seen) for seen in row["evidence"]),
        "victims": tuple(row["victims"]),
        "alternatives": tuple(row["alternatives"]),
    }
    return Verdict(**(row | parts))
