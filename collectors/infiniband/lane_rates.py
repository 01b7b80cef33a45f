"""How fast a lane of an InfiniBand link is, by the words and codes of the tools.

Source: InfiniBand link rates as linux-rdma/rdma-core and treydock/infiniband_exporter have them;
ibdiagnet's codes are the bits of PortInfo's LinkSpeed and LinkWidth fields.
"""

from typing import Final

import polars as pl

LANES: Final = (
    ("SDR", 2.5, 2.0),
    ("DDR", 5.0, 4.0),
    ("QDR", 10.0, 8.0),
    ("FDR10", 10.3125, 10.0),
    ("FDR", 14.0625, 13.64),
    ("EDR", 25.78125, 25.0),
    ("HDR", 53.125, 50.0),
    ("NDR", 106.25, 100.0),
    ("XDR", 212.5, 200.0),
)
"""Generation, raw and payload rate of one lane in Gbit/s."""

GIGABIT_BYTES: Final = 1.25e8

WIDTH_BITS: Final = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
"""Bit of LinkWidth to lanes."""

SPEED_BITS: Final = {
    1: "SDR",
    2: "DDR",
    4: "QDR",
    256: "FDR",
    512: "EDR",
    1024: "HDR",
    2048: "NDR",
    4096: "XDR",
    65536: "FDR10",
}
"""Bit of ibdiagnet's LinkSpeed to generation."""

_BY_WORD: Final = {name: raw for name, raw, _ in LANES}

_NOMINAL: Final = {2.5: "SDR", 5.0: "DDR", 10.0: "QDR", 14.0: "FDR", 25.0: "EDR", 50.0: "HDR"} | {
    100.0: "NDR",
    200.0: "XDR",
}
"""ibdiagnet prints the payload rate of a lane."""


_WIDTH: Final = r"(?i)\b(\d{1,2})x"


def lane_count(text: pl.Expr) -> pl.Expr:
    """Return the lanes in `4X`, `4x` or `2X HDR`; null if there is no width."""
    return text.str.extract(_WIDTH, 1).cast(pl.Float64, strict=False)


def raw_lane_bytes(text: pl.Expr) -> pl.Expr:
    """Return the raw rate of a lane in bytes per second: `106.25 Gbps`, `NDR`, `10.0 (FDR10)`.

    Null for `???` and any other text.
    """
    plain = text.str.replace(_WIDTH, "")
    word = plain.str.to_uppercase().str.extract(r"\b(FDR10|[SDQFEHNX]DR)\b", 1)
    number = plain.str.extract(r"(\d+(?:\.\d+)?)", 1).cast(pl.Float64, strict=False)
    by_word = word.replace_strict(_BY_WORD, default=None, return_dtype=pl.Float64)
    nominal = number.replace_strict(
        {rate: _BY_WORD[name] for rate, name in _NOMINAL.items()},
        default=None,
        return_dtype=pl.Float64,
    )
    raw = number.replace_strict(
        {raw: raw for raw in _BY_WORD.values()}, default=None, return_dtype=pl.Float64
    )
    return pl.coalesce(by_word, raw, nominal) * GIGABIT_BYTES


def payload_lane_bytes(raw: pl.Expr) -> pl.Expr:
    """Return what a lane of a raw rate carries, both in bytes per second; null if none has it."""
    table = {raw_rate * GIGABIT_BYTES: payload * GIGABIT_BYTES for _, raw_rate, payload in LANES}
    return raw.replace_strict(table, default=None, return_dtype=pl.Float64)


def rate_values(lanes: pl.Expr, raw: pl.Expr) -> dict[str, pl.Expr]:
    """Return the signals of a link's width and rate, with their values.

    Args:
        lanes: How many lanes it runs on.
        raw: The raw rate of each, in bytes per second.
    """
    return {
        "link_width_lanes": lanes,
        "lane_rate_bytes_per_second": raw,
        "port_rate_bytes_per_second": lanes * payload_lane_bytes(raw),
    }


def highest_bit(mask: pl.Expr, table: dict[int, float]) -> pl.Expr:
    """Return the largest of `table`'s values whose bit is set in an integer mask; null if none."""
    return pl.max_horizontal(
        [pl.when(mask & bit > 0).then(pl.lit(float(value))) for bit, value in table.items()]
    )


def speed_bytes(mask: pl.Expr) -> pl.Expr:
    """Return the fastest raw lane rate of a LinkSpeed mask, in bytes per second."""
    rates = {bit: _BY_WORD[name] * GIGABIT_BYTES for bit, name in SPEED_BITS.items()}
    return highest_bit(mask, rates)


def width_lanes(mask: pl.Expr) -> pl.Expr:
    """Return the widest of a LinkWidth mask."""
    return highest_bit(mask, {bit: float(lanes) for bit, lanes in WIDTH_BITS.items()})
