"""Read Telegraf's `infiniband` input in InfluxDB line protocol.

`infiniband,device=mlx5_4,port=1,host=gpu-r3-n07 port_xmit_data=1203344i,symbol_error=0i 1764...`:
the kernel's names and words. Hardware counters come as a second line of the same port. Source:
influxdata/telegraf `plugins/inputs/infiniband`.
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
from collectors.texts.line_protocol import PROTOCOL_LINE, protocol_fields, tag_of
from collectors.texts.plain_lines import account, judged_lines, plain_lines

_OURS: Final = r"^(?:> )?infiniband[, ]"
_TRAFFIC: Final = r"data|packets|pkts"


def wants_influx_lines(head: Head) -> float:
    """Return how sure it is that a file holds InfiniBand counters in line protocol."""
    ours = (line.strip() for line in judged_lines(head) if re.match(_OURS, line.strip()))
    return 0.93 if any(re.match(PROTOCOL_LINE, line) for line in ours) else 0.0


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
    is_other = pl.col("text").str.strip_chars().str.contains(PROTOCOL_LINE)
    reason = pl.when(is_other).then(pl.lit("another measurement, or no known counter"))
    return account(
        lines.select("position", "text", reason=reason),
        known["position"],
        source,
        samples=samples_of_tokens(known.select(TOKENS.names())),
    )


def _tokens(lines: pl.DataFrame, source: str, options: ReadOptions) -> pl.DataFrame:
    """Return `TOKENS` of the fields of all lines."""
    taken = pl.lit(taken_at(source, options), pl.Datetime("us", "UTC"))
    own = pl.lit(taken_on(source, options), pl.String)
    each = protocol_fields(lines).filter(pl.col("measurement") == "infiniband")
    return each.with_columns(
        time=pl.coalesce("time", taken),
        host=pl.coalesce(canonical_host(tag_of("host")), own),
        device_kind=pl.lit("nic"),
        device=port_device(tag_of("device"), tag_of("port").fill_null("1")),
        name="field",
        text="value",
        wide=pl.col("field").str.contains(_TRAFFIC),
        reason=pl.lit(None, pl.String),
    ).select(TOKENS.names())
