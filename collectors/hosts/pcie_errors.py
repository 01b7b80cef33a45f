"""Read the reports of PCIe errors (AER) in a kernel log: one event a report of several lines.

Source: Linux `drivers/pci/pcie/aer.c` (old and new wording); formats of GPU and host streams,
section 5.4. The port that heard of an error prints first, then the device that had it.
"""

from typing import Final

import polars as pl

from collectors.hosts.kernel_records import labels, matched, records
from collectors.identity import pci_address

_BDF: Final = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"

_RECEIVED: Final = (
    rf"(?P<port>{_BDF}): AER: (?:Multiple )?(?P<severity>Corrected|Correctable|Uncorrected|"
    r"Uncorrectable)(?P<level> \((?:Non-Fatal|Fatal)\))? error(?: message)? received"
    rf"(?: from)?:? (?P<place>{_BDF}|id=\S+)?"
)

_BUS_ERROR: Final = (
    rf"(?P<driver>[\w-]+) (?P<place>{_BDF}): (?:AER: )?PCIe Bus Error: severity=(?P<severity>\w+)"
    r"(?P<level> \((?:Non-Fatal|Fatal)\))?, type=(?P<type>[^,]+)(?:, .*?\((?P<agent>[^)]+)\))?"
)

_DETAIL: Final = (
    rf"(?P<driver>[\w-]+) (?P<place>{_BDF}):\s+(?:AER:\s+)?(?:device \[(?P<pci_id>[0-9a-f:]+)\] "
    r"error status/mask=(?P<status>[0-9a-f]+)/[0-9a-f]+|\[ ?\d+\] (?P<error>\w+)|TLP Header:)"
)

_KINDS: Final = {"nvidia": "gpu", "mlx5_core": "nic", "bnxt_en": "nic", "nvme": "disk"}
"""Drivers of devices that have a kind of their own; the others are PCI devices."""

PCIE_HINTS: Final = ["AER:", "PCIe Bus Error", "error status/mask=", "TLP Header:", ":    ["]
"""Words one of which each line of interest here holds."""


def find_pcie_errors(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the records of PCIe errors.

    Args:
        lines: `KERNEL_LINES`.

    Returns:
        `RECORDS` of kind `pcie_error`, code corrected, nonfatal or fatal, on the device that had
        the error; on the port, where the source is only a number.
    """
    ours = lines.filter(
        pl.col("message").str.contains_any(PCIE_HINTS)
        | pl.col("message").str.contains(rf"{_BDF}:\s+\[ ?\d+\] ")
    )
    return pl.concat([_received(ours), _bus_errors(ours), _details(ours)])


def _device() -> pl.Expr:
    return pci_address(pl.col("place"))


def _judged() -> dict[str, pl.Expr]:
    """Return code and severity by what a line calls the error."""
    corrected = pl.col("severity").str.starts_with("Correct")
    fatal = pl.col("level").str.contains(r"\(Fatal\)").fill_null(value=False)
    return {
        "code": pl.when(corrected)
        .then(pl.lit("corrected"))
        .when(fatal)
        .then(pl.lit("fatal"))
        .otherwise(pl.lit("nonfatal")),
        "severity": pl.when(corrected)
        .then(pl.lit("warning"))
        .when(fatal)
        .then(pl.lit("critical"))
        .otherwise(pl.lit("error")),
    }


def _thread(device: pl.Expr) -> pl.Expr:
    return pl.format("aer {}", device)


def _received(lines: pl.DataFrame) -> pl.DataFrame:
    device = pl.coalesce(_device(), pci_address(pl.col("port")))
    return records(
        matched(lines, _RECEIVED),
        {
            "kind": pl.lit("pcie_error"),
            **_judged(),
            "device_kind": pl.lit("pci"),
            "device": device,
            "attributes": labels({"reported_by": pci_address(pl.col("port"))}),
            "thread": _thread(device),
            "grade": pl.lit(1),
            "count": pl.lit(0),
            "fold": pl.lit("received"),
        },
    )


def _bus_errors(lines: pl.DataFrame) -> pl.DataFrame:
    kind = pl.col("driver").replace_strict(_KINDS, default="pci", return_dtype=pl.String)
    return records(
        matched(lines, _BUS_ERROR),
        {
            "kind": pl.lit("pcie_error"),
            **_judged(),
            "device_kind": kind,
            "device": _device(),
            "attributes": labels({name: pl.col(name) for name in ("type", "agent", "driver")}),
            "thread": _thread(_device()),
            "is_part": pl.lit(value=True),
            "fold": pl.col("type"),
        },
    )


def _details(lines: pl.DataFrame) -> pl.DataFrame:
    names = ("pci_id", "status", "error")
    return records(
        matched(lines, _DETAIL),
        {
            "kind": pl.lit("pcie_error"),
            "severity": pl.lit("warning"),
            "device_kind": pl.lit("pci"),
            "device": _device(),
            "attributes": labels({name: pl.col(name) for name in names}),
            "thread": _thread(_device()),
            "is_part": pl.lit(value=True),
            "grade": pl.lit(2),
            "count": pl.lit(0),
            "fold": pl.lit("detail"),
        },
    )
