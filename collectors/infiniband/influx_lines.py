"""Read Telegraf's `infiniband` input in InfluxDB line protocol.

`infiniband,device=mlx5_4,port=1,host=gpu-r3-n07 port_xmit_data=1203344i,symbol_error=0i 1764...`:
the kernel's names and words. Hardware counters come as a second line of the same port. Source:
influxdata/telegraf `plugins/inputs/infiniband`, InfluxDB line protocol reference.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.identity import canonical_host
from collectors.infiniband.node_names import port_device
from collectors.infiniband.port_counters import counter_key, port_counters
from collectors.infiniband.port_tokens import TOKENS, samples_of_tokens
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_at, taken_on
from collectors.texts.plain_lines import account, judged_lines, plain_lines
from collectors.texts.stamps import epoch_time

_PART: Final = r"[^\s,=]+=(?:\\.|[^\s,\\])+"
_LINE: Final = (
    rf"^(?:> )?(?P<measurement>infiniband)(?P<tags>(?:,{_PART})*) "
    r"(?P<fields>[^\s=]+=\S+)(?: (?P<stamp>-?\d+))?$"
)
_OTHER: Final = rf"^(?:> )?[A-Za-z_][\w.\-]*(?:,{_PART})* [^\s=]+=\S+(?: -?\d+)?$"
_TRAFFIC: Final = r"data|packets|pkts"


def wants_influx_lines(head: Head) -> float:
    """Return how sure it is that a file holds InfiniBand counters in line protocol."""
    return 0.93 if any(re.match(_LINE, line.strip()) for line in judged_lines(head)) else 0.0


def read_influx_lines(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the InfiniBand counters in a file of line protocol.

    Args:
        path: The file.
        source: The name to quote; a host or a time in it is believed where lines have none.
        options: Host and time of lines that do not say them.

    Returns:
        Samples of NICs; lines of other measurements are left out with that reason.
    """
    lines = plain_lines(path.read_bytes())
    tokens = _tokens(lines, source, options)
    counters = pl.col("key").is_in(port_counters()["key"].implode())
    known = tokens.with_columns(key=counter_key(pl.col("name"))).filter(counters)
    is_other = pl.col("text").str.strip_chars().str.contains(_OTHER)
    reason = pl.when(is_other).then(pl.lit("another measurement, or no known counter"))
    return account(
        lines.select("position", "text", reason=reason),
        known["position"],
        source,
        samples=samples_of_tokens(known.select(TOKENS.names())),
    )


def _tokens(lines: pl.DataFrame, source: str, options: ReadOptions) -> pl.DataFrame:
    """Return `TOKENS` of the fields of all lines."""
    parts = pl.col("text").str.strip_chars().str.extract_groups(_LINE).struct
    taken = pl.lit(taken_at(source, options), pl.Datetime("us", "UTC"))
    own = pl.lit(taken_on(source, options), pl.String)

    def tag(name: str) -> pl.Expr:
        plain = pl.col("tags").str.extract(rf",{name}=((?:\\.|[^\s,\\])+)", 1)
        return plain.str.replace_all(r"\\(.)", "${1}")

    found = lines.with_columns(parts.field("tags", "fields", "stamp")).drop_nulls("fields")
    each = (
        found.with_columns(pair=pl.col("fields").str.split(","))
        .explode("pair", empty_as_null=True)
        .drop_nulls("pair")
    )
    name = pl.col("pair").str.extract(r"^([^=]+)=", 1)
    return each.with_columns(
        time=pl.coalesce(epoch_time(pl.col("stamp").cast(pl.Float64, strict=False)), taken),
        host=pl.coalesce(canonical_host(tag("host")), own),
        device_kind=pl.lit("nic"),
        device=port_device(tag("device"), tag("port").fill_null("1")),
        name=name,
        text=pl.col("pair").str.extract(r"=(.*)$", 1).str.replace(r"^(\d+)[iu]$", "${1}"),
        wide=name.str.contains(_TRAFFIC),
        reason=pl.lit(None, pl.String),
    ).select(TOKENS.names())
