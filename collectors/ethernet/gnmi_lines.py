"""Read what Telegraf's `gnmi` input writes in InfluxDB line protocol.

`ifcnt,name=Ethernet12/1,source=leaf-r3-02,path=/interfaces/interface/state/counters in_octets=5i
1764...`: the measurement is the subscription, the tags are the keys, the fields leaves with `_`.
`host` is the machine that collects. Source: influxdata/telegraf `plugins/inputs/gnmi`.
"""

from pathlib import Path
from typing import Final

import polars as pl

from collectors.ethernet.gnmi_leaves import LEAF_NAMES, LEAVES, samples_of_leaves
from collectors.identity import canonical_host
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.line_protocol import PROTOCOL_LINE, protocol_fields, tag_of
from collectors.texts.plain_lines import account, plain_lines

_LEAF: Final = "|".join(name.replace("-", "_") for name in LEAF_NAMES)
_WANTED: Final = (
    rf"^(?:> )?[^\s,]+(?:,[^\s]+)*,source=[^\s]+ (?:[^\s=]+=[^\s]+,)*(?:[\w/:-]*[/:])?(?:{_LEAF})="
)

_JUDGED_LINES: Final = 200

_PORT_TAGS: Final = ("interface_name", "interface_id", "component_name", "name")


def wants_gnmi_lines(head: Head) -> float:
    """Return how sure it is that a file holds lines of Telegraf's gnmi input."""
    lines = head.column.head(_JUDGED_LINES).str.strip_chars()
    return 0.94 if lines.str.contains(_WANTED).any() else 0.0


def read_gnmi_lines(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return what lines of Telegraf say of the ports of switches.

    Args:
        path: The file.
        source: The name to quote in evidence.

    Returns:
        Samples; counts of 64 bits are exact, stamps are cut to microseconds. A line without a leaf
        that is known is a reject.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    leaves = protocol_fields(lines).with_columns(
        host=canonical_host(tag_of("source")),
        port=pl.coalesce(tag_of(name) for name in _PORT_TAGS),
        queue=pl.coalesce(tag_of("queue_name"), tag_of("queue")),
        channel=pl.coalesce(tag_of("channel_index"), tag_of("index")),
        path=_path(),
        text="value",
    )
    samples, used = samples_of_leaves(leaves.select(LEAVES.names()))
    is_line = pl.col("text").str.strip_chars().str.contains(PROTOCOL_LINE)
    reason = pl.when(is_line).then(pl.lit("no leaf that is read"))
    told = lines.select("position", "text", reason=reason)
    return account(told, used, source, samples=samples)


def _path() -> pl.Expr:
    """Return the path of a leaf with dashes, from its tag `path` and the field's name."""
    whole = pl.concat_str(tag_of("path"), "field", separator="/", ignore_nulls=True)
    plain = whole.str.replace_all(r"\[[^\]]*\]", "").str.replace_all(
        r"(^|/)[A-Za-z][\w.-]*:", "${1}"
    )
    return plain.str.strip_chars("/").str.replace_all(r"[/_]", "-").str.to_lowercase()
