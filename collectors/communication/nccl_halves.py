"""Take NCCL's usual lines apart: who prints, and what is said.

Source: formats of NCCL logs, section 2. A debug log of one job has few printers, and its ranks say
the same: a category for each half of a line stands for its text, which is looked at once.
"""

from typing import Final

import polars as pl

from collectors.line_reading import UsualLines
from collectors.sniffing import ReadOptions
from collectors.texts.distinct_texts import as_categories, distinct_categories
from collectors.texts.few_texts import matches
from collectors.texts.torn_records import NCCL_RECORD

PLAIN: Final = " NCCL INFO "
"""What stands between the halves of nearly all records."""


def halves_of(texts: pl.Series) -> pl.DataFrame:
    """Return what stands before and behind the first `PLAIN` in each text, all of which have it.

    Returns:
        Categories: `head` and `said`.
    """
    whole, at = pl.col("text").cast(pl.Binary), pl.col("at")
    found = texts.to_frame("text").with_columns(at=texts.str.find(PLAIN, literal=True))
    halves = found.select(
        head=whole.bin.head(at).cast(pl.String),
        said=whole.bin.slice(at + len(PLAIN)).cast(pl.String),
    )
    return pl.DataFrame([as_categories(half) for half in halves])


def usual_records(texts: pl.Series, signs: str, _options: ReadOptions) -> UsualLines:
    """Return the lines that are NCCL's and hold one record; their parts are `halves_of` them.

    Args:
        texts: Plain lines of a file.
        signs: What records hold that may stand anywhere in a line, NCCL's own among them.
    """
    found = texts.str.contains(PLAIN, literal=True)
    halves = halves_of(texts if found.all() else texts.filter(found))
    heads, saids = (distinct_categories(half) for half in halves)
    is_head = matches(heads.texts + PLAIN, f"{NCCL_RECORD}$") & ~matches(heads.texts + " ", signs)
    # A sign may begin with the blank before what is said.
    is_alone = ~matches(" " + saids.texts, signs)
    fits = is_head.gather(heads.numbers) & is_alone.gather(saids.numbers)
    whole = fits if found.all() else found.scatter(found.arg_true(), fits)
    return UsualLines(fits=whole, parts=halves if fits.all() else halves.filter(fits))
