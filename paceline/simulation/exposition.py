"""Recorded scrapes of an exporter: every scrape's page, one after another, in one file.

The grammar is Prometheus' text exposition format: name, labels, value, milliseconds. HELP and TYPE
stand above a family's first samples and are left out afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from paceline.simulation.draws import Bools, Ints

_LONGEST_PLAIN = 6
"""Go's shortest form of a float turns to an exponent from a million on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One metric family over all scrapes of a target.

    Attributes:
        name: The metric's name.
        kind: The declared type: gauge, counter or untyped.
        help: The text after HELP.
        labels: By series, the text between the braces.
        values: By scrape and series.
        decimals: Digits after the point; null writes whole numbers the way Go writes floats.
    """

    name: str
    kind: str
    help: str
    labels: Sequence[str]
    values: npt.NDArray[np.float64] | npt.NDArray[np.int64]
    decimals: int | None = 0


def label_text(**labels: str) -> str:
    """Return labels as they stand between the braces; values need no escapes here."""
    return ",".join(f'{name}="{value}"' for name, value in labels.items())


def decimal_text(values: npt.ArrayLike, decimals: int) -> pl.Series:
    """Return non-negative numbers as text with a fixed number of digits after the point."""
    scale = 10**decimals
    scaled: Ints = np.rint(np.asarray(values, dtype=np.float64).ravel() * scale).astype(np.int64)
    if decimals == 0:
        return pl.Series("text", scaled).cast(pl.String)
    whole = pl.Series("whole", scaled // scale).cast(pl.String)
    rest = pl.Series("rest", scaled % scale).cast(pl.String).str.zfill(decimals)
    return pl.select(pl.concat_str(whole, pl.lit("."), rest).alias("text")).to_series()


def go_text(values: npt.ArrayLike) -> pl.Series:
    """Return non-negative whole numbers below 2^53 as Go's shortest form of a float."""
    digits = pl.Series("digits", np.asarray(values, dtype=np.int64).ravel()).cast(pl.String)
    text = pl.col("digits")
    rest = text.str.slice(1).str.strip_chars_end("0")
    exponent = (text.str.len_chars() - 1).cast(pl.String).str.zfill(2)
    point = pl.when(rest == "").then(pl.lit("")).otherwise(pl.lit("."))
    short = pl.concat_str(text.str.head(1), point, rest, pl.lit("e+"), exponent)
    longer = text.str.len_chars() > _LONGEST_PLAIN
    chosen = pl.when(longer).then(short).otherwise(text)
    return digits.to_frame().select(chosen.alias("text")).to_series()


def write_scrapes(path: Path, families: Sequence[Family], times_ms: Ints, kept: Bools) -> None:
    """Write a target's scrapes as one text file.

    Args:
        path: The file to write.
        families: The page's families, in its order.
        times_ms: By scrape, epoch milliseconds; ascending.
        kept: By scrape, whether it was recorded; the first must be.
    """
    lines = pl.concat([_sample_lines(family, times_ms) for family in families])
    order = _page_order(families, len(times_ms))
    chosen = order[np.repeat(kept, len(order) // len(times_ms))]
    lines.gather(chosen).to_frame().write_csv(path, include_header=False, quote_style="never")


def _sample_lines(family: Family, times_ms: Ints) -> pl.Series:
    """Return a family's lines by scrape and series; the first bears HELP and TYPE."""
    series = len(family.labels)
    heads = pl.Series("head", [f"{family.name}{{{labels}}} " for labels in family.labels])
    value = (
        go_text(family.values)
        if family.decimals is None
        else decimal_text(family.values, family.decimals)
    )
    frame = pl.DataFrame(
        {
            "head": heads.gather(np.tile(np.arange(series), len(times_ms))),
            "value": value,
            "ms": pl.Series(np.repeat(times_ms, series)).cast(pl.String),
        }
    )
    lines = frame.select(
        pl.concat_str("head", "value", pl.lit(" "), "ms").alias("line")
    ).to_series()
    intro = f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n"
    return pl.concat([intro + lines.head(1), lines.tail(-1)])


def _page_order(families: Sequence[Family], scrapes: int) -> Ints:
    """Return the rows of the families' lines in the order of the pages."""
    blocks: list[Ints] = []
    offset = 0
    for family in families:
        size = scrapes * len(family.labels)
        blocks.append(np.arange(offset, offset + size).reshape(scrapes, len(family.labels)))
        offset += size
    return np.concatenate(blocks, axis=1).ravel()
