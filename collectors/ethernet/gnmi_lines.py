"""Read what Telegraf's `gnmi` input writes in InfluxDB line protocol.

`ifcnt,name=Ethernet12/1,source=leaf-r3-02,path=/interfaces/interface/state/counters in_octets=5i
1764...`: the measurement is the subscription, the tags are the keys, the fields leaves with `_`.
`host` is the machine that collects. Source: influxdata/telegraf `plugins/inputs/gnmi`, InfluxDB
line protocol reference.
"""

from pathlib import Path
from typing import Final

import polars as pl

from collectors.ethernet.gnmi_leaves import LEAF_NAMES, LEAVES, samples_of_leaves
from collectors.frames import TIME
from collectors.identity import canonical_host
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import account, plain_lines

_LINE: Final = (
    r"^(?:> )?(?P<measurement>(?:\\.|[^\s,\\])+)(?P<tags>(?:,[^\s,=]+=(?:\\.|[^\s,\\])+)+) "
    r"(?P<fields>[^\s=]+=.*?)(?: (?P<stamp>\d+))?$"
)

_LEAF: Final = "|".join(name.replace("-", "_") for name in LEAF_NAMES)
_WANTED: Final = (
    rf"^(?:> )?[^\s,]+(?:,[^\s]+)*,source=[^\s]+ (?:[^\s=]+=[^\s]+,)*(?:[\w/:-]*[/:])?(?:{_LEAF})="
)

_JUDGED_LINES: Final = 200

_FIELD: Final = r'([^,\s=]+)=("(?:\\.|[^"\\])*"|[^,\s]+)'

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
    parts = pl.col("text").str.strip_chars().str.extract_groups(_LINE).struct
    found = lines.with_columns(parts.field("tags", "fields", "stamp")).drop_nulls("fields")
    leaves = (
        found.with_columns(
            time=(pl.col("stamp").cast(pl.Int64, strict=False) // 1000).cast(TIME),
            host=canonical_host(_tag("source")),
            port=pl.coalesce(_tag(name) for name in _PORT_TAGS),
            queue=pl.coalesce(_tag("queue_name"), _tag("queue")),
            channel=pl.coalesce(_tag("channel_index"), _tag("index")),
            above=_tag("path"),
            pair=pl.col("fields").str.extract_all(_FIELD),
        )
        .explode("pair", empty_as_null=True)
        .with_columns(leaf=pl.col("pair").str.extract(_FIELD, 1), text=_value())
        .with_columns(path=_path())
    )
    samples, used = samples_of_leaves(leaves.select(LEAVES.names()))
    reason = pl.when(pl.col("text").str.contains(_LINE)).then(pl.lit("no leaf that is read"))
    told = lines.select("position", "text", reason=reason)
    return account(told, used, source, samples=samples)


def _tag(name: str) -> pl.Expr:
    """Return the value of a tag, its escapes undone; null without it."""
    text = pl.col("tags").str.extract(rf",{name}=((?:\\.|[^\s,\\])+)", 1)
    return text.str.replace_all(r"\\(.)", "${1}")


def _value() -> pl.Expr:
    """Return the value of a field without its type: `5i`, `5u`, `"UP"`."""
    text = pl.col("pair").str.extract(_FIELD, 2)
    quoted = text.str.extract(r'^"(.*)"$', 1)
    return quoted.fill_null(text.str.replace(r"^(-?\d+)[iu]$", "${1}"))


def _path() -> pl.Expr:
    """Return the path of a leaf with dashes, from its tag `path` and the field's name."""
    whole = pl.concat_str("above", "leaf", separator="/", ignore_nulls=True)
    plain = whole.str.replace_all(r"\[[^\]]*\]", "").str.replace_all(
        r"(^|/)[A-Za-z][\w.-]*:", "${1}"
    )
    return plain.str.strip_chars("/").str.replace_all(r"[/_]", "-").str.to_lowercase()
