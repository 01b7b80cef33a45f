"""Read the SXid lines of NVIDIA's switches: one event a fault, though it takes several lines.

Source: NVIDIA Fabric Manager user guide (SXid lists); formats of GPU and host streams, section 5.6.
The address in the line is the switch's.
"""

from typing import Final

import polars as pl

from collectors.hosts.kernel_records import labels, matched, plain_digits, records
from collectors.hosts.xid_table import UNKNOWN, XidTable, line_severity, plain_word
from collectors.identity import pci_address
from collectors.texts.templates import filled

_SXID: Final = (
    r"(?:nvidia-nvswitch(?P<number>\d+): )?SXid \((?P<place>[^)]*)\): (?P<code>\d{1,6})"
    r"(?:,\s*(?P<text>.*?))?\s*$"
)

_SEVERITY: Final = r"^(?i:(Fatal|Non-?fatal|Correctable))\b"

_MORE: Final = r"^(?:Severity \d+|Data \{)"
"""How the further lines of a fault begin."""


def find_sxids(lines: pl.DataFrame, table: XidTable) -> pl.DataFrame:
    """Return the records of SXid lines.

    Args:
        lines: `KERNEL_LINES`.
        table: Which numbers are fatal.

    Returns:
        `RECORDS` of kind `sxid` on the switch. The line's own word decides how bad it is; without
        one the lists do, and `unknown` is a number in none. Lines of severity and data are parts.
    """
    hits = matched(lines, _SXID).with_columns(
        message=pl.col("text").fill_null(""), device=pci_address(pl.col("place"))
    )
    message, code = pl.col("message"), pl.col("code")
    word = message.str.extract(_SEVERITY)
    is_part = message.str.contains(_MORE)
    attributes = {
        "line_severity": plain_word(word),
        "link": message.str.extract(r"\bLink (\d+)").cast(pl.Int64, strict=False),
        "scope": pl.when(code.is_in(table.always_fatal)).then(pl.lit("fabric")),
        "first": pl.when(message.str.contains(r"\(First\)\s*$")).then(pl.lit("true")),
        "switch_number": pl.col("number"),
        "driver_severity": message.str.extract(r"^Severity (\d+)"),
        "engine_instance": message.str.extract(r"\bEngine instance (\d+)"),
        "sub_engine_instance": message.str.extract(r"Sub-engine instance (\d+)"),
        "data": message.str.extract(r"^Data \{(.*?)\}?$"),
    }
    return records(
        hits,
        {
            "kind": pl.lit("sxid"),
            "device_kind": pl.lit("nvswitch"),
            "severity": pl.coalesce(line_severity(word), _listed(table)),
            "attributes": labels(attributes),
            "thread": filled("sxid {} {}", pl.coalesce("device", "place"), "code"),
            "is_part": is_part,
            "grade": is_part.cast(pl.Int8),
            "count": pl.when(is_part).then(0).otherwise(1),
            "fold": plain_digits(message),
        },
    )


def _listed(table: XidTable) -> pl.Expr:
    """Return how bad a number is that no word in the line judges."""
    code = pl.col("code")
    return (
        pl.when(code.is_in(table.always_fatal))
        .then(pl.lit("critical"))
        .when(code.is_in([*table.maybe_fatal, *table.not_fatal]))
        .then(pl.lit("warning"))
        .otherwise(pl.lit(UNKNOWN))
    )
