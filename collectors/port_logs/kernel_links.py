"""Find what a host's log says of its links: the driver's word, and that of its network manager.

Source: Linux `drivers/net/ethernet` (mlx5_core and others print `Link down` behind the PCI address)
and systemd-networkd; formats of fabric counters, section 4. Both tell of the same change within a
second, so the manager's line only says more of the driver's.
"""

from typing import Final

import polars as pl

from collectors.hosts.kernel_records import labels, matched, records
from collectors.port_logs.port_kinds import device_kind_of
from collectors.texts.templates import filled

_DRIVER: Final = (
    r"(?:\b(?P<pci>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"(?P<own>[A-Za-z][\w.-]*\d[\w.-]*)"
    r"|(?:^|\s)(?P<bare>(?:swp|eth|en|ib)\w*\d\w*)): "
    r"(?:NIC )?[Ll]ink (?:is )?(?P<state>[Dd]own|[Uu]p)\b"
)

_MANAGER: Final = r"(?:^|\s)(?P<name>[A-Za-z][\w.-]*\d[\w.-]*): (?P<state>Lost|Gained) carrier\b"

LINK_HINTS: Final = (
    "Link down",
    "Link up",
    "link down",
    "link up",
    "Link is",
    "link is",
    "Lost carrier",
    "Gained carrier",
)
"""Words one of which each of these lines holds."""

_SAME_MICROS: Final = 1_000_000


def find_link_moves(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the records of links that went down or came up.

    Args:
        lines: `KERNEL_LINES`.

    Returns:
        `RECORDS` of kind link_down and link_up, each a change of its own: links that flap are no
        storm of equal faults.
    """
    driver = matched(lines, _DRIVER).with_columns(name=pl.coalesce("own", "bare"))
    manager = matched(lines, _MANAGER)
    pci = {"attributes": labels({"pci": pl.col("pci")}), "code": pl.lit("driver")}
    more = {
        "code": pl.lit("carrier"),
        "is_part": pl.lit(value=True),
        "reach": pl.lit(_SAME_MICROS),
        "grade": pl.lit(1),
    }
    return pl.concat([records(driver, _moves() | pci), records(manager, _moves() | more)])


def _moves() -> dict[str, pl.Expr]:
    """Return the columns that both kinds of lines share."""
    is_down = pl.col("state").str.to_lowercase().is_in(["down", "lost"])
    kind = pl.when(is_down).then(pl.lit("link_down")).otherwise(pl.lit("link_up"))
    return {
        "kind": kind,
        "severity": pl.when(is_down).then(pl.lit("warning")).otherwise(pl.lit("info")),
        "device_kind": device_kind_of(pl.col("name")),
        "device": pl.col("name"),
        "thread": filled("link {} {}", "name", kind),
        "fold": filled("{} at line {}", kind, "position"),
    }
