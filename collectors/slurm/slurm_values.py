"""Read the scalars of Slurm's text: spans of time, sizes, counts of devices.

Source: formats of GPU and host streams, section 7.1; Slurm `src/common/parse_time.c` and sacct(1),
sinfo(1) for the printed forms. A span is read from its right: `00:36.857` is 36.857 s, no minutes.
"""

from typing import Final

import polars as pl

SPAN: Final = r"(?:\d+-)?(?:\d+:)?\d+:\d\d(?:\.\d+)?"
"""`[D-]HH:MM:SS`, `MM:SS`, with a fraction where a span is short."""

_SPAN_PARTS: Final = r"^(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d\d(?:\.\d+)?)$"

_DAYS_ONLY: Final = r"^(\d{1,9})-(\d\d?)(?::(\d\d))?$"
"""`1-02:03` is a day, two hours, three minutes: how limits may be written."""

_SIZES: Final = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
"""Powers of two of the letters behind a size; memory without a letter counts megabytes."""

_SIZE: Final = r"^(\d+(?:\.\d+)?)([KMGTP])?(?:i?B)?[cn]?$"

_PLACES: Final = r"\((?:[^()]*)\)"
"""Where devices are, `(S:0-1)` or `(IDX:0-2,5)`: commas in there separate no items."""


def span_seconds(text: pl.Expr) -> pl.Expr:
    """Return the seconds of a span; null for `UNLIMITED`, `INVALID`, nothing and other words."""
    whole = text.str.strip_chars()
    days, hours, minutes = (
        whole.str.extract(_SPAN_PARTS, group).cast(pl.Float64, strict=False).fill_null(0)
        for group in (1, 2, 3)
    )
    seconds = whole.str.extract(_SPAN_PARTS, 4).cast(pl.Float64, strict=False)
    day, hour, minute = (
        whole.str.extract(_DAYS_ONLY, group).cast(pl.Float64, strict=False) for group in (1, 2, 3)
    )
    short = (day * 24 + hour) * 3600 + minute.fill_null(0) * 60
    return short.fill_null(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def whole_seconds(text: pl.Expr) -> pl.Expr:
    """Return a count of seconds as sacct's raw columns print it; null for anything else."""
    return text.str.extract(r"^\s*(\d{1,15})\s*$", 1).cast(pl.Float64, strict=False)


def size_bytes(text: pl.Expr, unit: str = "M") -> pl.Expr:
    """Return the bytes of a size of base 1024.

    Args:
        text: `3623244K`, `62500G`, `400Gn`; the `c` and `n` of old releases (a core, a node) are
            left to who reads them.
        unit: The letter of numbers without one.

    Returns:
        Bytes as Float64; null for nothing, `?` and other words.
    """
    whole = text.str.strip_chars()
    letter = whole.str.extract(_SIZE, 2).fill_null(unit)
    factor = letter.replace_strict(
        {name: 2.0**power for name, power in _SIZES.items()}, default=None, return_dtype=pl.Float64
    )
    return whole.str.extract(_SIZE, 1).cast(pl.Float64, strict=False) * factor


def resource_count(text: pl.Expr, name: str) -> pl.Expr:
    """Return how much of a trackable resource a list like `cpu=64,mem=1000G,gres/gpu=8` holds.

    Args:
        text: The list.
        name: `gres/gpu`, `cpu`, `node`. Where only types are listed (`gres/gpu:h100=8`) they are
            added up; beside the sum, a type is the same devices again and not added.
    """
    escaped = name.replace("/", r"\/")
    total = text.str.extract(rf"(?:^|,)\s*{escaped}=(\d+)(?:,|$)", 1).cast(pl.Int64, strict=False)
    typed = text.str.extract_all(rf"(?:^|,)\s*{escaped}:[^=,]+=\d+")
    return total.fill_null(_summed(typed, r"=(\d+)$"))


def device_count(text: pl.Expr, name: str = "gpu") -> pl.Expr:
    """Return how many devices a list like `gpu:h100:8(S:0-1),nic:2` names; null for `(null)`.

    Args:
        text: A node's `Gres` or `GresUsed`.
        name: The kind of device.
    """
    plain = text.str.strip_chars().str.replace_all(_PLACES, "")
    items = plain.str.extract_all(rf"(?:^|,)\s*(?:gres[:/])?{name}(?::[^:,=]+)?[:=]\d+")
    return _summed(items, r"[:=](\d+)$")


def _summed(items: pl.Expr, pattern: str) -> pl.Expr:
    """Return the sum of the numbers in lists of texts; null for an empty list."""
    numbers = items.list.eval(pl.element().str.extract(pattern, 1).cast(pl.Int64, strict=False))
    return pl.when(items.list.len() > 0).then(numbers.list.sum())
