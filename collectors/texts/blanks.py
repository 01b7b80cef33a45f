"""What sources write where a value should be: blanks, errors and the sentinels of DCGM.

Source: NVIDIA/DCGM `dcgm_fields.h` and `dcgm_structs.h` (blank values by type), nvidia-smi manual
(bracketed words), dcgm-exporter renderer (the text of a failed conversion).
"""

from typing import Final

import polars as pl

KINDS: Final = ("blank", "not_found", "not_supported", "no_permission")
"""Each type has four sentinels in a row, in this order."""

BLANK_INT64: Final = 9223372036854775792
BLANK_INT32: Final = 2147483632
BLANK_FLOAT64: Final = 140737488355328

MIN_ROUNDED_BLANK: Final = 9.2233720368547e18
"""Below 2**63 by less than float64 rounding and JSON printing can move an int64 sentinel."""

WORDS: Final = {
    "<<<null>>>": "blank",
    "<<<not_found>>>": "not_found",
    "<<<not_supported>>>": "not_supported",
    "<<<not_perm>>>": "no_permission",
    "n/a": "n/a",
    "[n/a]": "n/a",
    "-": "blank",
    "null": "blank",
    "none": "blank",
    "(null)": "blank",
    "unknown": "blank",
    "[unknown]": "blank",
    "not supported": "not_supported",
    "[not supported]": "not_supported",
    "[requested functionality has been deprecated]": "deprecated",
    "[insufficient permissions]": "no_permission",
    "[unknown error]": "error",
    "unknown error": "error",
    "err!": "error",
    "error - failed to convert to string": "error",
    "[gpu requires reset]": "gpu_requires_reset",
    "[gpu is lost]": "gpu_lost",
}
"""Words in lower case to the reason of the null they stand for."""

ERROR_REASONS: Final = ("error", "gpu_requires_reset", "gpu_lost")
"""Reasons that say the source failed, which is a sign of ill health in itself."""


def word_reason(text: pl.Expr) -> pl.Expr:
    """Return the reason of a null that is spelled out; null for any other text."""
    return (
        text.str.strip_chars()
        .str.to_lowercase()
        .replace_strict(WORDS, default=None, return_dtype=pl.String)
    )


def sentinel_reason(value: pl.Expr, text: pl.Expr, *, is_bounded: pl.Expr) -> pl.Expr:
    """Return why a number is none: the kind of DCGM sentinel it is; null for a real number.

    Args:
        value: The number as read, before any change of unit.
        text: Its printed digits where float64 cannot hold them, else null.
        is_bounded: Whether the field cannot legally reach the sentinels of the small types; a
            counter of bytes can.

    Returns:
        The kind; `blank` when the number went through float64, which loses the kind.
    """
    number = text.cast(pl.Int64, strict=False)
    exact = _kinds(number, BLANK_INT64)
    rounded = pl.when(value >= MIN_ROUNDED_BLANK).then(pl.lit(KINDS[0]))
    small = pl.coalesce(
        _kinds(value, BLANK_FLOAT64),
        _kinds(value, BLANK_INT32),
        pl.when(value >= BLANK_FLOAT64).then(pl.lit(KINDS[0])),
    )
    return pl.coalesce(exact, rounded, pl.when(is_bounded).then(small))


def _kinds(number: pl.Expr, first: int) -> pl.Expr:
    offset = pl.when(number.is_between(first, first + 3)).then(number - first)
    names = dict(enumerate(KINDS))
    return offset.cast(pl.Int64).replace_strict(names, default=None, return_dtype=pl.String)
