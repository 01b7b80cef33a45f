"""One name for each thing: hosts, PCI addresses, GPUs, ports and ranks.

Sources spell the same GPU as `00000000:9B:00.0`, `PCI:0000:9b:00` and index 3; joining evidence
needs one spelling. Rules: formats of DCGM, the NVIDIA kernel driver and sysfs (GPU and host
streams), Quantum-2 port numbering (fabric counters). The expressions work on columns; the plain
functions on one value.
"""

import re
from typing import Final

import polars as pl

PCI_PATTERN: Final = (
    r"(?i)^(?:PCI:)?(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?$"
)
"""`[PCI:][domain:]bus:device[.function]`, as NVML, the kernel driver, sysfs and lspci print it."""

GPU_UUID_PATTERN: Final = r"(?i)^(?:GPU|MIG)-\S+$"


def _hex_pad(expr: pl.Expr, width: int) -> pl.Expr:
    """Return hex text without surplus leading zeros, in lower case, at least `width` long."""
    return expr.str.to_lowercase().str.strip_chars_start("0").str.pad_start(width, "0")


def pci_address(expr: pl.Expr) -> pl.Expr:
    """Return `dddd:bb:dd.f` in lower case; null for text that is no PCI address.

    The domain is kept: on GB200 all GPUs of a host share bus and device and differ by it alone.
    """
    text = expr.str.strip_chars()
    domain, bus, device = (
        text.str.extract(PCI_PATTERN, group).fill_null("0") for group in (1, 2, 3)
    )
    function = text.str.extract(PCI_PATTERN, 4).fill_null("0")
    joined = pl.concat_str(
        _hex_pad(domain, 4),
        pl.lit(":"),
        _hex_pad(bus, 2),
        pl.lit(":"),
        _hex_pad(device, 2),
        pl.lit("."),
        function,
    )
    return pl.when(text.str.contains(PCI_PATTERN)).then(joined)


def canonical_host(expr: pl.Expr) -> pl.Expr:
    """Return a host in lower case without the port of a scrape address; empty text is null.

    Dots stay: whether `hx8-017.cl` is `hx8-017` can only be told against known hosts, which
    `short_hosts` does once they are known. A bare IPv6 address keeps its colons.
    """
    text = expr.str.strip_chars().str.to_lowercase()
    bracketed = text.str.extract(r"^\[([0-9a-f:.%]+[^\]]*)\](?::\d+)?$", 1)
    plain = text.str.replace(r"^([^:]+):\d+$", "${1}")
    host = bracketed.fill_null(plain)
    return pl.when(host.str.len_chars() > 0).then(host)


def short_hosts(expr: pl.Expr, known: pl.Series) -> pl.Expr:
    """Return hosts cut at their first dot where the short form is a known host.

    Args:
        expr: Canonical hosts.
        known: Canonical hosts seen anywhere in the inputs.
    """
    short = expr.str.extract(r"^([^.]+)\.", 1)
    return pl.when(short.is_in(known.unique().implode())).then(short).otherwise(expr)


def gpu_device(uuid: pl.Expr, pci: pl.Expr, index: pl.Expr) -> pl.Expr:
    """Return the canonical name of a GPU: UUID, else PCI address, else its index.

    Args:
        uuid: UUID text as the source has it; MIG instances are devices of their own.
        pci: PCI text in any spelling.
        index: Index text or number; the weakest name, since it moves when a card is lost.
    """
    text = uuid.str.strip_chars()
    good = pl.when(text.str.contains(GPU_UUID_PATTERN)).then(text)
    return pl.coalesce(good, pci_address(pci), index.cast(pl.String))


def node_guid(expr: pl.Expr) -> pl.Expr:
    """Return an InfiniBand GUID as `0x` and 16 lower-case hex digits; null if it is none."""
    digits = expr.str.strip_chars().str.to_lowercase().str.extract(r"^(?:0x)?([0-9a-f]{1,16})$", 1)
    return pl.concat_str(pl.lit("0x"), digits.str.pad_start(16, "0"))


def file_rank(name: str) -> int | None:
    """Return the rank in a file name such as `rank3.out`, `trace_rank_12` or `_dump_7`.

    Only the last number counts, and only when the name says that it is a rank or a dump.
    """
    found = re.findall(r"(?i)(?:rank|dump)[-_]?(\d+)", name)
    return int(found[-1]) if found else None
