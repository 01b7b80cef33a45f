"""Read how long something has run, as trainers write it for people.

Source: formats of progress streams, section 5: `1h 2m 3s` (ms-swift), `1 day, 1:02:03`
(LLaMA-Factory, Python's timedelta), `02:03` (tqdm).
"""

from typing import Final

import polars as pl

_WORDS: Final = r"^\s*(?:(\d+)d\w*,? ?)?(?:(\d+)h ?)?(?:(\d+)m ?)?(?:(\d+(?:\.\d+)?)s)\s*$"

_CLOCK: Final = r"^\s*(?:(\d+) days?, )?(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)\s*$"

_SIZES: Final = (86_400.0, 3600.0, 60.0, 1.0)


def elapsed_seconds(text: pl.Expr) -> pl.Expr:
    """Return the seconds of a text that is a duration; null for any other text."""
    words, clock = (
        pl.sum_horizontal(
            text.str.extract(pattern, group).cast(pl.Float64, strict=False).fill_null(0.0) * size
            for group, size in enumerate(_SIZES, 1)
        )
        for pattern in (_WORDS, _CLOCK)
    )
    return (
        pl.when(text.str.contains(_CLOCK)).then(clock).when(text.str.contains(_WORDS)).then(words)
    )
