"""Read what `perfquery` prints: one block of counters a port.

Source: linux-rdma/rdma-core `infiniband-diags/perfquery.c` and `libibmad/dump.c`. A block has
neither names nor a time: host and time come from the caller or the file's name, and a port whose
host nobody tells is named by its LID, which the subnet manager may give away.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.identity import node_guid
from collectors.infiniband.link_texts import lid_name
from collectors.infiniband.node_names import MAX_NIC_PORT
from collectors.infiniband.port_counters import WIDE_BITS
from collectors.infiniband.port_tokens import TOKENS, known_tokens, samples_of_tokens, whole_number
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_on
from collectors.texts.line_stamps import stamped
from collectors.texts.plain_lines import account, judged_lines, plain_lines

_HEADER: Final = (
    r"^#\s*(?P<set>\S.*?counters[^:]*):\s*(?:Lid (?P<lid>\d+)|.*?) port (?P<port>\d+)"
    r"(?:.*CapMask: (?P<mask>0x[0-9A-Fa-f]+))?(?:.*CapMask2: (?P<mask2>0x[0-9A-Fa-f]+))?"
)
_COUNTER: Final = r"^([A-Za-z0-9]+):\.+(\S+)$"
_FRAME: Final = r"^(?:PortSelect|CounterSelect2?|CapMask2?|CounterSelect\w*|Tag)$"

WAIT_CAPABILITY: Final = 1 << 12
"""Bit of CapMask that says the port counts waits; without it the tool prints 0."""

WIDE_ERRORS: Final = 1 << 1
"""Bit of CapMask2 that says the error counters have 64 bits in the extended set."""

ALL_PORTS: Final = "255"

_GUID: Final = r"(?<![0-9a-fA-F])(0x[0-9a-fA-F]{8,16})(?![0-9a-fA-F])"
_NIC: Final = r"(?<![a-z0-9])(mlx[45]_\d+|hfi1_\d+|ibp[0-9a-z]+)(?![a-z0-9_])"


def wants_perfquery(head: Head) -> float:
    """Return how sure it is that a file holds blocks of `perfquery`."""
    if ":." not in head.text:
        return 0.0
    lines = judged_lines(head)
    blocks = any(re.match(_HEADER, line) for line in lines)
    dotted = sum(1 for line in lines if re.match(_COUNTER, line))
    return 0.95 if dotted and (blocks or dotted > 1) else 0.0


def read_perfquery(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the counters in a file of `perfquery` blocks.

    Args:
        path: The file.
        source: The name to quote; a host, a NIC, a GUID or a time in it is believed.
        options: Host and time of a file that does not say them.

    Returns:
        Samples of ports. The sum over all ports (port 255) is left out, and so is a narrow counter
        whose wide form is there too. Waits of a port that cannot count them are `not_supported`.
    """
    lines = stamped(plain_lines(path.read_bytes()), source, options)
    blocks = _blocks(lines)
    tokens = _tokens(_named(blocks, source, options))
    is_counter = pl.col("name").is_not_null() & ~pl.col("is_frame")
    counters = tokens.filter(is_counter, pl.col("port").is_not_null())
    known = known_tokens(counters)
    kept = _widest(known.filter(pl.col("port") != ALL_PORTS))
    samples = samples_of_tokens(kept.select(TOKENS.names()))
    used = pl.concat([kept["position"], _frame_lines(tokens)])
    return account(_reasons(tokens, known, kept), used, source, samples=samples)


def _blocks(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with what the header of their block says."""
    text = pl.col("text")
    head = text.str.extract_groups(_HEADER).struct
    opened = lines.with_columns(head.field("set", "lid", "port", "mask", "mask2"))
    block = pl.col("set").is_not_null().cum_sum()
    whole = ["set", "lid", "port", "mask", "mask2"]
    return opened.with_columns(block=block, is_header=pl.col("set").is_not_null()).with_columns(
        pl.col(whole).first().over("block"),
        name=text.str.extract(_COUNTER, 1),
        value=text.str.extract(_COUNTER, 2),
    )


def _named(blocks: pl.DataFrame, source: str, options: ReadOptions) -> pl.DataFrame:
    """Return the blocks with host, kind and device; see the module for whose word counts."""
    guid = re.search(_GUID, source)
    nic = re.search(_NIC, source.lower())
    one_node = blocks["lid"].drop_nulls().n_unique() <= 1
    told = guid[1] if guid else taken_on(source, options)
    host = pl.lit(told if one_node else None, pl.String)
    own = node_guid(host) if guid else host
    port = pl.col("port").cast(pl.Int64, strict=False).replace({int(ALL_PORTS): None})
    is_switch = (port.max().over("lid") > MAX_NIC_PORT).fill_null(value=False)
    prefix = pl.when(~is_switch).then(pl.lit(f"{nic[1]}/" if nic and one_node else ""))
    return blocks.with_columns(
        host=pl.coalesce(own, lid_name(pl.col("lid"))),
        device_kind=pl.when(is_switch).then(pl.lit("switch_port")).otherwise(pl.lit("nic")),
        device=pl.concat_str(prefix.fill_null(""), pl.col("port")),
    )


def _tokens(named: pl.DataFrame) -> pl.DataFrame:
    """Return the blocks as `TOKENS`, with the columns of the blocks."""
    mask, mask2 = (whole_number(pl.col(name)) for name in ("mask", "mask2"))
    is_extended = pl.col("set").str.to_lowercase().str.contains("extended")
    wide_errors = (mask2 & WIDE_ERRORS) > 0
    is_traffic = pl.col("name").str.contains("(?i)data$|pkts$")
    is_fec = pl.col("name").str.contains("(?i)fec|SyncHeader|UnknownBlock")
    wide = pl.when(is_extended & ~is_traffic).then(wide_errors.fill_null(value=True))
    no_wait = (pl.col("name") == "PortXmitWait") & (pl.col("value") == "0")
    cannot = ((mask & WAIT_CAPABILITY) == 0).fill_null(value=False)
    return named.with_columns(
        wide=wide.fill_null(is_extended | is_fec),
        text=pl.col("value"),
        line=pl.col("text"),
        reason=pl.when(no_wait & cannot).then(pl.lit("not_supported")),
        is_frame=pl.col("name").str.contains(_FRAME).fill_null(value=False),
    )


def _widest(known: pl.DataFrame) -> pl.DataFrame:
    """Return the counters without narrow ones whose wide form is there at the same time."""
    port = ["host", "device", "time", "signal", "lane"]
    has_wide = pl.col("wide").any().over(port)
    return known.filter(pl.col("wide") | ~has_wide | (pl.col("bits") == WIDE_BITS))


def _frame_lines(tokens: pl.DataFrame) -> pl.Series:
    """Return the positions of lines that say what the counters of a block are."""
    is_real = (pl.col("port") != ALL_PORTS) & (pl.col("is_frame") | pl.col("is_header"))
    return tokens.filter(is_real | pl.col("is_stamp"))["position"]


def _reasons(tokens: pl.DataFrame, known: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with the reason of those that are left out."""
    is_known = pl.col("position").is_in(known["position"].implode())
    is_kept = pl.col("position").is_in(kept["position"].implode())
    reason = (
        pl.when(pl.col("port") == ALL_PORTS)
        .then(pl.lit("sum over all ports"))
        .when(is_known & ~is_kept)
        .then(pl.lit("repeats a wider counter"))
        .when(pl.col("name").is_not_null() & pl.col("port").is_null())
        .then(pl.lit("a counter above the first header"))
        .when(pl.col("name").is_not_null())
        .then(pl.lit("unknown counter"))
    )
    return tokens.select("position", text="line", reason=reason)
