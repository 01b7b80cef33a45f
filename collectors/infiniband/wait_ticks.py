"""How many bytes a port could have sent in one tick of its transmit-wait counter, by chip.

The counter counts ticks of the port's clock, not time: 8 bytes of the port's rate on current
switches and NICs, 32 bytes of one lane on Switch-IB and SwitchX. A raw count says nothing across
generations. Source: NVIDIA/ib-traffic-monitor (code and issue 3); device numbers: PCI identifiers.
Older NICs are not known.
"""

from typing import Final

import polars as pl

PORT_TICK_BYTES: Final = 8.0
"""A tick of adapters and of switches of 53 Gb/s lanes and faster."""

LANE_TICK_BYTES: Final = 32.0
"""A tick of older switches, for each lane."""

CHIPS: Final = (
    (r"quantum|\bM?QM[89]\d{3}|\bQ3[24]00", PORT_TICK_BYTES, None),
    (r"switch-?ib|\bM?SB7[78]\d\d|\bCS75\d\d|switch-?x|\bM?S[XB]6\d\d\d", None, LANE_TICK_BYTES),
    (r"connectx-?[678]|bluefield-?[23]|\bMT41(?:23|25|27|29|31)\b", PORT_TICK_BYTES, None),
)
"""Pattern of a chip's or product's name, bytes of a tick of the port, or of each of its lanes."""

DEVICE_NUMBERS: Final = {
    51000: "SwitchX",
    52000: "Switch-IB",
    53000: "Switch-IB 2",
    54000: "Quantum",
    54002: "Quantum-2",
    54004: "Quantum-3",
    4123: "ConnectX-6",
    4125: "ConnectX-6 Dx",
    4127: "ConnectX-6 Lx",
    4129: "ConnectX-7",
    4131: "ConnectX-8",
    41686: "BlueField-2",
    41692: "BlueField-3",
}
"""PCI device number to chip."""


def chip_of(number: pl.Expr) -> pl.Expr:
    """Return the chip of a device number (Int64); null if it is not known."""
    return number.replace_strict(DEVICE_NUMBERS, default=None, return_dtype=pl.String)


def port_tick_bytes(chip: pl.Expr) -> pl.Expr:
    """Return the bytes of one tick of a whole port; null for chips that count by lane, or unknown.

    Args:
        chip: Any text that names a chip or a product: `Quantum-2`, `MQM9700`, `MT4129`.
    """
    return _first(chip, [(pattern, port) for pattern, port, _ in CHIPS])


def lane_tick_bytes(chip: pl.Expr) -> pl.Expr:
    """Return the bytes of one tick of each lane; null for chips that count by port, or unknown."""
    return _first(chip, [(pattern, lane) for pattern, _, lane in CHIPS])


def tick_values(chip: pl.Expr) -> dict[str, pl.Expr]:
    """Return the signals that tell how long a tick is, with their values; see `port_tick_bytes`."""
    return {
        "transmit_wait_tick_bytes": port_tick_bytes(chip),
        "transmit_wait_tick_lane_bytes": lane_tick_bytes(chip),
    }


def _first(chip: pl.Expr, table: list[tuple[str, float | None]]) -> pl.Expr:
    found = [
        pl.when(chip.str.contains(f"(?i){pattern}")).then(pl.lit(size, pl.Float64))
        for pattern, size in table
    ]
    return pl.coalesce(found)
