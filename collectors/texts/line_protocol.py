"""InfluxDB's line protocol: a measurement with tags, a blank, fields, a blank, nanoseconds.

`infiniband,device=mlx5_4,host=gpu-r3-n07 symbol_error=0i,state="4: ACTIVE" 1764100000123456789`:
commas, blanks and equals signs stand behind a backslash, or in the quotes of a field. Telegraf
prints `> ` before a line in its trial runs. Source: InfluxDB line protocol reference.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.texts.stamps import epoch_time

_WORD: Final = r"(?:\\.|[^\s,=\\])+"
_FIELD: Final = rf'({_WORD})=("(?:\\.|[^"\\])*"|[^,\s"]+)'

PROTOCOL_LINE: Final = (
    rf"^(?:> )?(?P<measurement>{_WORD})(?P<tags>(?:,{_WORD}=(?:\\.|[^\s,\\])+)*) "
    rf"(?P<fields>{_FIELD}(?:,{_FIELD})*)(?: (?P<stamp>-?\d+))?$"
)

MIN_NANOSECONDS: Final = 100_000_000_000_000_000
"""Smaller stamps are of a coarser unit: as nanoseconds they would lie in 1973."""


def protocol_fields(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the fields of lines, one row each, in their order; other lines have none.

    Args:
        lines: `PLAIN_LINES`.

    Returns:
        The columns of `lines` with `measurement`, `tags` (see `tag_of`), `time` (cut to
        microseconds, null without a stamp), `field` and its `value` without type and quotes.
    """
    parts = pl.col("text").str.strip_chars().str.extract_groups(PROTOCOL_LINE).struct
    pair = pl.col("pair")
    return (
        lines.with_columns(parts.field("measurement", "tags", "fields", "stamp"))
        .drop_nulls("fields")
        .with_columns(time=_time(), pair=pl.col("fields").str.extract_all(_FIELD))
        .explode("pair", empty_as_null=True)
        .with_columns(field=pair.str.extract(_FIELD, 1), value=_plain(pair.str.extract(_FIELD, 2)))
        .drop("fields", "stamp", "pair")
    )


def tag_of(name: str) -> pl.Expr:
    """Return the value of a tag, its escapes undone; null without it."""
    text = pl.col("tags").str.extract(rf",{name}=((?:\\.|[^\s,\\])+)", 1)
    return text.str.replace_all(r"\\(.)", "${1}")


def _time() -> pl.Expr:
    stamp = pl.col("stamp").cast(pl.Int64, strict=False)
    cut = pl.when(stamp >= MIN_NANOSECONDS).then(stamp // 1000).cast(TIME)
    return pl.coalesce(cut, epoch_time(stamp.cast(pl.Float64)))


def _plain(value: pl.Expr) -> pl.Expr:
    """Return `5` of `5i` and `5u`, `UP` of `"UP"`."""
    quoted = value.str.extract(r'^"(.*)"$', 1)
    return quoted.fill_null(value.str.replace(r"^(-?\d+)[iu]$", "${1}"))
