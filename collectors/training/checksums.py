"""Read checksums that ranks tell beside a step, of weights or of gradients, in plain words.

Source: field reference (cross-replica checksums tell silent corruption). There is no common form,
so a line counts that names a step and a rank, or comes from a known rank, and has a checksum or a
hash of something with its value. A hash of a file, a commit or a package has no step.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels

CHECKSUM_HINT: Final = r"hecksum|heckSum|CHECKSUM|[_ ](?:hash|crc32)[=: ]"

_WORD: Final = r"(?:check_?sum|hash|crc32)"

_NUMBER: Final = r"(?:0x)?[0-9a-f]{4,64}|-?[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?"

_VALUE: Final = rf"(?i)\b(?:[a-z][a-z_]*[_ ])?{_WORD}['\"]?(?: ?[=:] ?| )['\"]?({_NUMBER})\b"

_NAME: Final = rf"(?i)\b([a-z][a-z_]*?)[_ ]{_WORD}\b"

_STEP: Final = r"(?i)\b(?:global_)?(?:step|iteration|iter)['\"]?[ =:#\[]+([0-9]+)\b"

_RANK: Final = r"(?i)\b(?:global_)?rank['\"]?[ =:#]+([0-9]+)\b"

_OTHERS: Final = r"(?i)loss"
"""Such lines are progress as well, and left to whoever reads that."""


def read_checksums(lines: pl.DataFrame, _options: ReadOptions) -> LineReading:
    """Return the checksums that ranks tell.

    Args:
        lines: `LINES`.

    Returns:
        `EVENTS` of kind checksum: `code` is the value in lower case, attributes `step` and `name`
        (of what it is, null if it is not said).
    """
    text = pl.col("text")
    told = text.str.extract(_RANK).cast(pl.Int32, strict=False)
    events = (
        lines.filter(text.str.contains(CHECKSUM_HINT))
        .with_columns(
            rank=pl.coalesce(told, pl.col("rank").cast(pl.Int32)),
            code=text.str.extract(_VALUE).str.to_lowercase(),
            step=text.str.extract(_STEP),
        )
        .drop_nulls(["rank", "code", "step"])
        .with_columns(
            kind=pl.lit("checksum"),
            severity=pl.lit("info"),
            count=pl.lit(1),
            message="text",
            attributes=event_labels(
                {"step": pl.col("step"), "name": text.str.extract(_NAME).str.to_lowercase()}
            ),
        )
    )
    alone = events.filter(~text.str.contains(_OTHERS))
    return LineReading(reading=reading_of(events=events), claimed=alone["line"])
