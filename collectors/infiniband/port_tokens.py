"""From what a tool prints for a counter of a port to samples: exact, in our unit, with a reason.

InfiniBand counters stop at all ones: one that stands there is blind (`saturated`). Which count that
is depends on the width, and the width on who was asked, so each token says it.
"""

from typing import Final

import polars as pl

from collectors.frames import SAMPLES, TIME, conform, schema_of
from collectors.infiniband.port_counters import WIDE_BITS, counter_key, port_counters

TOKENS: Final = schema_of(
    {
        "time": TIME,
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "name": pl.String,
        "text": pl.String,
        "wide": pl.Boolean,
        "reason": pl.String,
        "position": pl.Int64,
    }
)
"""One printed counter. `wide` tells 64 bits from the classic width; null is not known, so the
counter has no known top. `reason` is why the number is none, if the tool said so."""

MIN_INEXACT: Final = 2**53
"""From here on float64 skips integers."""

_TOP_64: Final = 2**64 - 1

_ABSENT: Final = r"(?i)^(?:n/?a(?: .*)?|-1|none|null|-|\s*)$"
"""What tools write where there is no counter."""

_NEVER: Final = float("inf")

_LANE: Final = r"(?i)_?lane_?(\d+)$"


def whole_number(text: pl.Expr) -> pl.Expr:
    """Return a printed count as UInt64: decimal, `0x` and hex digits, or `1203344i`; else null."""
    plain = text.str.strip_chars().str.replace(r"^(\d+)i$", "${1}")
    hexadecimal = plain.str.extract(r"^0[xX]([0-9a-fA-F]{1,16})$", 1)
    decimal = plain.str.extract(r"^\+?(\d{1,20})(?:\.0*)?$", 1)
    return pl.coalesce(
        decimal.cast(pl.UInt64, strict=False),
        hexadecimal.str.to_integer(base=16, dtype=pl.UInt64, strict=False),
    )


def absent_reason(text: pl.Expr) -> pl.Expr:
    """Return `not_supported` for what tools write where there is no value; null for the rest."""
    is_absent = text.is_null() | text.str.strip_chars().str.contains(_ABSENT)
    return pl.when(is_absent).then(pl.lit("not_supported"))


def known_tokens(tokens: pl.DataFrame) -> pl.DataFrame:
    """Return the tokens whose counter is known, with `signal`, `bits`, `factor` and `lane`.

    A counter of a lane is that of the port with `Lane0` behind it; `lane` is null for the port's.
    """
    name = pl.col("name")
    plain = name.str.replace(_LANE, "")
    keyed = tokens.with_columns(lane=name.str.extract(_LANE, 1), key=counter_key(plain))
    lanes = {"feccorrectablesymbolctr": "portfeccorrectedsymbolctr"}
    lanes |= {"feccorrectedsymbolctr": "portfeccorrectedsymbolctr"}
    return keyed.with_columns(pl.col("key").replace(lanes)).join(
        port_counters(), on="key", how="inner", maintain_order="left"
    )


def samples_of_tokens(tokens: pl.DataFrame, *, has_fillers: bool = False) -> pl.DataFrame:
    """Return `SAMPLES` (without a source) of the tokens whose counter is known.

    Args:
        tokens: `TOKENS`.
        has_fillers: Whether the source writes all ones, or one less, in 64 bits for a counter that
            is not there; no counter ever gets so far by counting.

    Returns:
        One row a token, in its order. Text that is no number is null with the reason `no_number`.
    """
    lane = pl.col("lane")
    device = pl.concat_str("device", pl.lit("/lane"), lane)
    kind = pl.when(lane.is_not_null()).then(pl.lit("lane")).otherwise("device_kind")
    placed = known_tokens(tokens).with_columns(
        device=pl.coalesce(device, "device"), device_kind=kind
    )
    return conform(counted(placed, has_fillers=has_fillers).lazy(), SAMPLES).collect()


def counted(rows: pl.DataFrame, *, has_fillers: bool) -> pl.DataFrame:
    """Return rows with `value`, `exact`, `reason` and `wraps_at` of the count that they print.

    Args:
        rows: `text`, `bits`, `wide`, `factor` (UInt64) and `reason`; see `TOKENS`.
        has_fillers: See `samples_of_tokens`.
    """
    count, factor = pl.col("count"), pl.col("factor")
    is_told = pl.col("reason").is_null()
    fits = count <= pl.lit(_TOP_64, pl.UInt64) // factor
    is_big = count * factor >= MIN_INEXACT
    return (
        rows.with_columns(count=whole_number(pl.col("text")))
        .with_columns(reason=_reason(has_fillers=has_fillers))
        .with_columns(
            value=pl.when(is_told).then(count.cast(pl.Float64) * factor.cast(pl.Float64)),
            exact=pl.when(is_told, fits, is_big).then(count * factor),
            wraps_at=pl.lit(_NEVER),
        )
    )


def _reason(*, has_fillers: bool) -> pl.Expr:
    """Return why a printed count is none: what the tool said, or what its digits say."""
    count = pl.col("count")
    bits = pl.when("wide").then(WIDE_BITS).when(~pl.col("wide")).then(pl.col("bits"))
    top = pl.when(bits < WIDE_BITS).then(2.0 ** bits.cast(pl.Float64) - 1)
    filler = pl.lit(_TOP_64 - 1 if has_fillers else None, pl.UInt64)
    return pl.coalesce(
        "reason",
        absent_reason(pl.col("text")),
        pl.when(count.is_null()).then(pl.lit("no_number")),
        pl.when(count == top).then(pl.lit("saturated")),
        pl.when(count >= filler).then(pl.lit("not_supported")),
        pl.when(count == _TOP_64).then(pl.lit("saturated")),
    )
