"""Read the lines of the NVIDIA driver that have no Xid: lost GPUs, failed starts, names, versions.

Source: formats of GPU and host streams, section 5.4; NVIDIA/NVSentinel #155 and leptonai/gpud #1209
(a GPU that fell off the bus without an Xid). Everything else that the driver prints is noise.
"""

from typing import Final

import polars as pl

from collectors.frames import ALIASES, conform
from collectors.hosts.kernel_records import labels, matched, records
from collectors.identity import GPU_UUID_PATTERN, pci_address

_ADDRESS: Final = r"(?:PCI:)?(?:[0-9a-fA-F]{1,8}:)?[0-9a-fA-F]{1,2}:[0-9a-fA-F]{1,2}(?:\.[0-7])?"

FALLEN: Final = "fallen off the bus"

_LOST: Final = rf"GPU (?:at )?(?P<place>{_ADDRESS}):?,? (?:GPU )?has {FALLEN}"

_PROBED: Final = rf"The NVIDIA GPU (?P<place>{_ADDRESS})(?P<text>.*)$"

_PROBED_MORE: Final = (
    rf"^(?:NVRM: )?(?P<text>(?:\(PCI ID: |installed in this system |{FALLEN} and is not).*)$"
)

_INIT: Final = rf"GPU (?P<place>{_ADDRESS}): (?P<text>RmInitAdapter failed.*)$"

_INIT_CODE: Final = r"\((0x[0-9a-fA-F]+:0x[0-9a-fA-F]+(?::\d+)?)"

_NAMED: Final = rf"GPU at (?P<place>{_ADDRESS}): (?P<uuid>(?:GPU|MIG)-\S+)"

_PCI_ID: Final = pl.col("message").str.extract(r"\(PCI ID: ([0-9a-fA-F:]+)\)")

_SAID: Final = pl.col("message").str.replace("^.*?NVRM: ", "")
"""A line without what stands before the driver's own words."""

_GPU: Final = {
    "severity": pl.lit("critical"),
    "device_kind": pl.lit("gpu"),
    "device": pci_address(pl.col("place")),
}

ADVICE: Final = labels({"class": pl.lit("hardware"), "action": pl.lit("RESTART_BM")})
"""What is known of every lost GPU."""

PROBE: Final = "gpu_probe"
"""Kind of a sentence about a GPU that is not whole yet; see `collectors.hosts.kernel_folds`."""

_DRIVER: Final = r"loading NVIDIA UNIX .*?Kernel Module\b.*?\s(?P<version>\d{3}\.\d+(?:\.\d+)*)\b"


def find_nvrm_lines(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the records of the driver's lines without an Xid that say something.

    Args:
        lines: `KERNEL_LINES`.

    Returns:
        `RECORDS` of kind `gpu_lost`, `gpu_init_failed` and `driver_loaded`. A lost GPU belongs to
        an Xid 79 of it within seconds. A sentence over several lines is of kind `PROBE`.
    """
    ours = lines.filter(pl.col("message").str.contains(rf"NVRM|{FALLEN}|\(PCI ID: "))
    return pl.concat(part(ours) for part in (_lost, _probed, _probed_more, _init, _driver))


def find_gpu_names(lines: pl.DataFrame, source: str) -> tuple[pl.DataFrame, pl.Series]:
    """Return `ALIASES` of GPUs that the driver printed with both names, and the lines used.

    The driver does so once per GPU, before its first Xid: the device is the UUID, the alias the
    PCI address.
    """
    hits = matched(lines.filter(pl.col("message").str.contains("GPU at ")), _NAMED)
    named = hits.with_columns(uuid=pl.col("uuid").str.strip_chars_end(",. ")).filter(
        pl.col("uuid").str.contains(GPU_UUID_PATTERN)
    )
    rows = named.filter(~pl.col("is_replayed")).with_columns(
        device_kind=pl.lit("gpu"),
        device="uuid",
        alias_kind=pl.lit("pci"),
        alias=pci_address(pl.col("place")),
        source=pl.lit(source),
    )
    return conform(rows.lazy(), ALIASES).collect(), named["line"]


def _lost(lines: pl.DataFrame) -> pl.DataFrame:
    """Return GPUs that the running driver lost."""
    return records(
        matched(lines, _LOST),
        {
            "kind": pl.lit("gpu_lost"),
            **_GPU,
            "attributes": ADVICE,
            "message": _SAID,
            "fold": pl.lit(FALLEN),
        },
    )


def _probed(lines: pl.DataFrame) -> pl.DataFrame:
    """Return what the starting driver says of a GPU, to be decided by the lines that follow."""
    return records(
        matched(lines, _PROBED),
        {
            "kind": pl.lit(PROBE),
            **_GPU,
            "attributes": labels({"pci_id": _PCI_ID}),
            "message": _SAID,
            "thread": pl.lit(PROBE),
        },
    )


def _probed_more(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the further lines of such a sentence; they name no GPU."""
    return records(
        matched(lines, _PROBED_MORE),
        {
            "kind": pl.lit(PROBE),
            "severity": pl.lit("critical"),
            "device_kind": pl.lit("gpu"),
            "message": pl.col("text"),
            "attributes": labels({"pci_id": _PCI_ID}),
            "thread": pl.lit(PROBE),
            "is_part": pl.lit(value=True),
            "grade": pl.lit(1),
            "count": pl.lit(0),
        },
    )


def _init(lines: pl.DataFrame) -> pl.DataFrame:
    """Return GPUs that the driver could not start."""
    return records(
        matched(lines, _INIT),
        {
            "kind": pl.lit("gpu_init_failed"),
            **_GPU,
            "code": pl.col("text").str.extract(_INIT_CODE),
            "message": pl.col("text"),
        },
    )


def _driver(lines: pl.DataFrame) -> pl.DataFrame:
    """Return starts of the driver: counters that live in it begin again."""
    return records(
        matched(lines, _DRIVER),
        {
            "kind": pl.lit("driver_loaded"),
            "severity": pl.lit("info"),
            "device_kind": pl.lit("node"),
            "code": pl.col("version"),
            "message": _SAID,
        },
    )
