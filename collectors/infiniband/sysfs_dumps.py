"""Read dumps of the kernel's files on InfiniBand ports: `grep . /sys/class/infiniband/...` and kin.

A line is a path and its content (`path:value`), or pairs of one reading (`ts=0 port_xmit_data=1`);
`head` and `tail` put the path on a line of its own. The kernel reads error counters from the narrow
table even where wide ones exist, data in words. Source: Linux `drivers/infiniband/core/sysfs.c`.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import SAMPLES, TIME
from collectors.identity import canonical_host
from collectors.infiniband.lane_rates import GIGABIT_BYTES, lane_count, raw_lane_bytes
from collectors.infiniband.link_texts import melted
from collectors.infiniband.node_names import port_device
from collectors.infiniband.port_counters import counter_key, port_counters
from collectors.infiniband.port_tokens import TOKENS, samples_of_tokens
from collectors.infiniband.wait_ticks import tick_values
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_on
from collectors.texts.line_stamps import stamped
from collectors.texts.plain_lines import account, judged_lines, plain_lines
from collectors.texts.stamps import epoch_time, iso_time

_TREE: Final = r"class/infiniband/(?P<nic>[^/\s:]+)/(?:ports/(?P<port>\d+)/)?(?P<file>[\w/]+)"
_PATH: Final = rf"^(?:==> )?\S*{_TREE}(?: <==$|\s*[:=]\s*|\s+)?(?P<value>.*?)\s*$"
_PAIR: Final = r"([A-Za-z_][\w.]*)=(\"[^\"]*\"|[^\s,\"]+)"
_PAIRS: Final = rf"^\s*(?:\S+[ \t]+){{0,2}}{_PAIR}(?:[,\s]+{_PAIR})*\s*$"
_BARE: Final = r"^\s*([A-Za-z]\w+)(?:\s*:\s*|\s+)(\d+|N/A.*)\s*$"
_KERNEL: Final = (
    r"\b(?:port_(?:xmit|rcv)_\w+|symbol_error|link_(?:downed|error_recovery)|VL15_dropped)\b"
)

_TRAFFIC: Final = r"(?i)(?:data|packets)(?:_64)?$"
_STAMPS: Final = ("ts", "time", "timestamp", "t")
_HOSTS: Final = ("host", "hostname", "node")
_NICS: Final = ("device", "dev", "hca", "nic", "ca", "ibdev")
_MIN_SHARE: Final = 0.5

_LEAST_EPOCH: Final = 1e8
"""Fewer seconds are a clock of their own: as an epoch they would lie in 1973."""

LEVELS: Final = ("state", "phys_state", "rate", "lifespan", "hca_type", "board_id")
"""Files that are no counters and still say something."""


def wants_sysfs_dump(head: Head) -> float:
    """Return how sure it is that a file is a dump of the kernel's InfiniBand files."""
    lines = pl.Series(judged_lines(head), dtype=pl.String)
    paths = int(lines.str.contains(_PATH).sum())
    if paths and paths * 2 >= _MIN_SHARE * len(lines):
        return 0.95
    if not lines.str.contains(_KERNEL).any():
        return 0.0
    told = int((lines.str.contains(_PAIRS) | lines.str.contains(_BARE)).sum())
    return 0.9 if told >= _MIN_SHARE * len(lines) else 0.0


def read_sysfs_dump(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the counters in a dump of the kernel's files.

    Args:
        path: The file.
        source: The name to quote; a host, a NIC or a time in it is believed.
        options: Host and time of a file that does not say them.

    Returns:
        Samples of the host's NICs. A file that says `N/A (no PMA)` is `not_supported`; the rate of
        a port that is not active is a leftover, so it is `port_down`. Seconds that are no epoch
        (`ts=0`) count from when the file was taken, else from 1970: what counts is the difference.
    """
    lines = stamped(plain_lines(path.read_bytes()), source, options)
    told = _files(lines, source, options)
    known = told.filter(_is_known(pl.col("name")))
    samples = [
        samples_of_tokens(known.select(TOKENS.names())),
        _levels(known),
    ]
    marks = lines.filter(pl.col("is_stamp") | pl.col("text").str.contains("^==> .* <==$"))
    used = pl.concat([known["position"], marks["position"]])
    return account(lines.select("position", "text"), used, source, samples=pl.concat(samples))


def _is_known(name: pl.Expr) -> pl.Expr:
    return counter_key(name).is_in(port_counters()["key"].implode()) | name.is_in(LEVELS)


def _files(lines: pl.DataFrame, source: str, options: ReadOptions) -> pl.DataFrame:
    """Return `TOKENS` of every file and pair, whether it is known or not."""
    parts = pl.concat([_paths(lines), _pairs(lines, options), _bare(lines)], how="diagonal")
    nic = re.search(r"(?<![a-z0-9])((?:mlx[45]|bnxt_re|hfi1|irdma|rdma)_?\d+)(?![a-z0-9])", source)
    own = pl.lit(taken_on(source, options), pl.String)
    named = parts.with_columns(
        host=pl.coalesce(canonical_host(pl.col("host")), own),
        nic=pl.coalesce("nic", pl.lit(nic[1] if nic else None, pl.String)),
        is_traffic=pl.col("name").str.contains(_TRAFFIC),
    )
    return named.with_columns(
        device=port_device(pl.col("nic"), pl.col("port").fill_null("1")),
        device_kind=pl.lit("nic"),
        wide=pl.col("is_traffic"),
        reason=pl.lit(None, pl.String),
    ).sort("position", maintain_order=True)


def _paths(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the files whose path stands before their content, or on the line above it."""
    parts = pl.col("text").str.extract_groups(_PATH).struct
    opened = lines.with_columns(parts.field("nic", "port", "file", "value")).with_columns(
        above=pl.col("text").shift().str.contains("^==> .* <==$").fill_null(value=False)
    )
    under = {
        name: pl.coalesce(name, pl.when("above").then(pl.col(name).shift()))
        for name in ("nic", "port", "file")
    }
    value = pl.when(pl.col("file").is_null()).then(pl.col("text")).otherwise("value")
    placed = opened.with_columns(**under, value=value).drop_nulls("file")
    return placed.filter(pl.col("value") != "").select(
        "position",
        "time",
        "nic",
        "port",
        name=pl.col("file").str.extract(r"(\w+)$", 1),
        text="value",
        host=pl.lit(None, pl.String),
    )


def _pairs(lines: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return the pairs of lines like `ts=0 device=mlx5_4 port=1 port_xmit_data=1000`."""
    mine = lines.filter(pl.col("text").str.contains(_PAIRS), ~pl.col("text").str.contains(_TREE))
    each = (
        mine.with_columns(pair=pl.col("text").str.extract_all(_PAIR))
        .explode("pair", empty_as_null=True)
        .drop_nulls("pair")
        .with_columns(
            name=pl.col("pair").str.extract(r"^([^=]+)=", 1),
            text=pl.col("pair").str.extract(r"=(.*)$", 1).str.strip_chars('",'),
        )
    )
    key = pl.col("name").str.to_lowercase()

    def told(names: tuple[str, ...]) -> pl.Expr:
        return pl.col("text").filter(key.is_in(names)).first().over("position")

    return each.with_columns(
        time=pl.coalesce(_clock(told(_STAMPS), options), "time"),
        nic=told(_NICS),
        port=told(("port",)),
        host=told(_HOSTS),
    ).select("position", "time", "nic", "port", "name", "text", "host")


def _clock(text: pl.Expr, options: ReadOptions) -> pl.Expr:
    """Return the time of a stamp: an epoch, a date, or seconds of a clock of its own."""
    number = text.cast(pl.Float64, strict=False)
    taken = options.taken
    start = int(taken.timestamp() * 1e6) if taken else 0
    small = number.is_finite() & (number.abs() < _LEAST_EPOCH)
    own = (
        pl.when(small).then((number * 1e6).round().cast(pl.Int64, strict=False) + start).cast(TIME)
    )
    return pl.coalesce(epoch_time(number), iso_time(text, options.time_zone), own)


def _bare(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the files of lines like `port_xmit_data: 1000`, whose port nothing tells."""
    blank = pl.lit(None, pl.String)
    return (
        lines.with_columns(
            name=pl.col("text").str.extract(_BARE, 1), value=pl.col("text").str.extract(_BARE, 2)
        )
        .drop_nulls("value")
        .select("position", "time", "name", text="value", nic=blank, port=blank, host=blank)
    )


def _levels(known: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of states, rates, the wait counter's tick and the counters' lifespan."""
    mine = known.filter(pl.col("name").is_in(LEVELS), pl.col("device").is_not_null())
    text = pl.col("text")
    number = text.str.extract(r"^(\d+)", 1).cast(pl.Float64, strict=False)
    states = {
        "port_state": _of("state", number),
        "port_physical_state": _of("phys_state", number),
        "counter_lifespan_seconds": _of("lifespan", number / 1e3),
        **{name: _of("hca_type", tick) for name, tick in tick_values(text).items()},
    }
    return pl.concat([melted(mine, states), _rates(mine)])


def _rates(mine: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of `400 Gb/sec (4X NDR)`, null for ports that are not active."""
    text = pl.col("text")
    inside = text.str.extract(r"\((.*)\)", 1)
    rate = text.str.extract(r"(?i)^([\d.]+) Gb/s", 1).cast(pl.Float64, strict=False)
    rates = {
        "port_rate_bytes_per_second": _of("rate", rate * GIGABIT_BYTES),
        "link_width_lanes": _of("rate", lane_count(inside)),
        "lane_rate_bytes_per_second": _of("rate", raw_lane_bytes(inside)),
    }
    port = ["time", "host", "device"]
    is_down = (pl.col("name") == "state") & ~text.str.contains("(?i)active")
    down = mine.filter(is_down).select(*port, down=pl.lit(value=True)).unique()
    told = melted(mine, rates).join(down, on=port, how="left", nulls_equal=True)
    return told.with_columns(
        value=pl.when(pl.col("down").is_null()).then("value"),
        reason=pl.when("down").then(pl.lit("port_down")),
    ).select(SAMPLES.names())


def _of(name: str, value: pl.Expr) -> pl.Expr:
    return pl.when(pl.col("name") == name).then(value)
