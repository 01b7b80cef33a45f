"""What more an NCCL message says than its kind: one anchored pattern a kind.

Source: formats of NCCL logs, sections 3.1, 3.3, 4.1 and 4.2 (2.10 to 2.30). On an error completion
opcode and length are memory that nobody set; they are kept and marked as such.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from collectors.communication.nccl_channels import via_parts
from collectors.frames import LABEL
from collectors.texts.event_labels import event_labels

LIFE: Final = (
    r"^(?:(?P<function>ncclComm\w+) )?comm (?P<comm>0x[0-9a-fA-F]+|\(nil\)) "
    r"rank (?P<comm_rank>-?\d+) n[rR]anks (?P<world>\d+) cudaDev (?P<cuda_device>-?\d+)"
    r"(?: nvmlDev (?P<nvml_device>-?\d+))?(?: busId (?P<bus>[0-9a-fA-F]{1,16})\b)?"
    r"(?: parent (?P<parent>0x[0-9a-fA-F]+|\(nil\)))?(?: (?:splitCount|childCount) (?P<child>\d+))?"
    r"(?: color (?P<color>-?\d+) key (?P<key>-?\d+))?(?: commId (?P<comm_id>0x[0-9a-fA-F]+))?"
    r"(?: ?- ?(?P<what>Init|Destroy|Abort|Revoke) (?P<phase>START|COMPLETE)"
    r"(?:, result (?P<result>\d+))?)?"
)
"""A line on the life of a communicator; 2.29 has `[Rank r]` before it."""

_COMPLETION: Final = (
    r"(?:(?P<status_name>IBV_[A-Z_]+)\(\d+\)|(?:error |status=)\d+),? "
    r"opcode[ =](?:[A-Za-z_ ]+\()?(?P<opcode>-?\d+)\)?"
    r"(?:,? len[ =](?P<len>-?\d+))?(?: reqSize=(?P<request_bytes>-?\d+))?,? "
    r"vendor[ _]err[ =](?P<vendor>\d+)(?: req_type=(?P<request>\w+)| \((?P<old_request>\w+)\))? *"
    r"(?:localGid (?P<local_gid>\S+))? *(?:remoteGids? ?(?P<remote_gid>[0-9A-Fa-f:.]+))?"
)

_RECOVERING: Final = (
    r"devIndex=(?P<dev_index>\d+), wc->status=\((?P<status_name>[A-Z_]+)\)\d+"
    r"(?:, wc->opcode=\([A-Z_]+\)(?P<opcode>-?\d+))?"
)

_CHANNELS: Final = (
    r"^(?P<coll>\d+) coll channels(?:, (?P<collnet>\d+) collnet channels)?"
    r"(?:, (?P<nvls>\d+) nvls channels)?(?:, (?P<p2p>\d+) p2p channels)?"
    r"(?:, (?P<p2p_per_peer>\d+) p2p channels per peer)?"
)

_NODES: Final = (
    r"comm \S+ rank (?P<comm_rank>\d+) nRanks (?P<world>\d+) nNodes (?P<nodes>\d+) "
    r"localRanks (?P<local_ranks>\d+) localRank (?P<local_rank>\d+)(?: MNNVL (?P<mnnvl>\d+))?"
)

_TIMINGS: Final = (
    r"^Init timings(?: - (?P<function>\w+))?: rank (?P<comm_rank>\d+) nranks (?P<world>\d+) "
    r"total (?P<total>[\d.]+) \((?P<parts>[^)]*)\)"
)

_BOOTSTRAP: Final = r"^Bootstrap timings total (?P<total>[\d.]+) \((?P<parts>[^)]*)\)"

_PORT: Final = r"NET/IB\w* ?: [A-Za-z0-9_.-]+:(?P<port>\d+) "

DETAILS: Final[Mapping[str, tuple[str, ...]]] = {
    "comm_start": (LIFE,),
    "comm_ready": (LIFE,),
    "comm_end": (LIFE,),
    "torn": (LIFE,),
    "net_error": (_COMPLETION, _RECOVERING),
    "net_recovery": (r"(?:devIndex=|[Dd]evice )(?P<dev_index>\d+)",),
    "channel_counts": (_CHANNELS,),
    "comm_nodes": (_NODES,),
    "init_timing": (_TIMINGS, _BOOTSTRAP),
    "setting": (r" set by environment to (?P<value>.*?)\.?$",),
    "rings_connected": (r"use ring PXN (?P<pxn>\d+) GDR (?P<gdr>\d+)",),
    "link_down": (_PORT,),
    "link_up": (_PORT,),
    "nic_fault": (_PORT,),
    "nic_note": (_PORT, r"speed change detected: (?P<from>\S+) -> (?P<to>\S+)"),
    "mismatch": (
        r"local size (?P<local_bytes>\d+) remote (?:size )?(?P<remote_bytes>\d+)",
        r"(?:received|receiving) (?P<remote_bytes>\d+) bytes instead of (?P<local_bytes>\d+)",
    ),
    "comm_error": (
        r"exceeded (?:error )?(?:retries|retry count|timeouts) (?:after |\()(?P<tries>\d+)",
        r"(?:returned|failed :) (?P<error>[A-Z][a-z]+(?: [a-z]+)*)",
        r"from rank (?P<from_rank>\d+), retcode (?P<code>\d+)",
    ),
    "comm_retry": (r"retrying \((?P<tries>\d+)/(?P<max_tries>\d+)\)",),
    "trail": (r"\[(?P<in_thread>[^\]]+)\]$",),
}
"""Patterns by kind; their groups are the attributes' names."""

_UNSET: Final = ("opcode", "len", "request_bytes")

_CUT: Final = r" ?[0-9a-zA-Z]+$"
"""What a cut text ends with may be part of a longer number."""

_LISTED: Final = r"\[[\dd]+\][^\s;]+"
"""A device of a list: `[0]mlx5_0:1/IB`."""


def with_details(events: pl.DataFrame, common: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Return events with `attributes` of what their `text` says, by `line`.

    Args:
        events: Events with `text`; `extra` are attributes that they have already.
        common: What all of them say besides.
    """
    if events.is_empty():
        return events.with_columns(attributes=pl.lit(None, dtype=pl.List(LABEL)))
    parts = [
        part.with_columns(attributes=_attributes(part, str(kind), common))
        for (kind,), part in events.group_by("kind", maintain_order=True)
    ]
    return pl.concat(parts).sort("line", maintain_order=True)


def _attributes(part: pl.DataFrame, kind: str, common: Mapping[str, pl.Expr]) -> pl.Series:
    values = dict(common)
    text = pl.col("text").str.replace(_CUT, "") if kind == "torn" else pl.col("text")
    found = [
        part.select(text.str.extract_groups(pattern)).to_series().struct.unnest()
        for pattern in DETAILS.get(kind, ())
    ]
    for groups in found:
        for name in groups.columns:
            known = values.get(name)
            values[name] = pl.lit(groups[name]) if known is None else known.fill_null(groups[name])
    return part.select(event_labels(_spelled(values, kind))).to_series()


def _spelled(values: dict[str, pl.Expr], kind: str) -> dict[str, pl.Expr]:
    """Return the values in the form in which people look for them."""
    if kind == "net_error":
        request = values.pop("old_request")
        values["request"] = values["request"].fill_null(request)
        values["vendor_hex"] = _hex(values["vendor"])
        unset = [pl.when(values[name].is_not_null()).then(pl.lit(name)) for name in _UNSET]
        values["unreliable"] = pl.concat_str(unset, separator=" ", ignore_nulls=True).replace(
            "", None
        )
    if kind == "torn":
        values |= via_parts(pl.col("code"), pl.lit(value=True))
    if kind == "net_devices":
        values["devices"] = pl.col("text").str.extract_all(_LISTED).list.join(" ")
    if "parts" in values:
        parts = values.pop("parts")
        values |= {f"{name}_seconds": parts.str.extract(rf"\b{name} ([\d.]+)") for name in _PARTS}
    return values


_PARTS: Final = (
    "kernels", "alloc", "bootstrap", "allgathers", "topo", "graphs", "connections", "rest",
    "create", "send", "recv", "ring", "delay",
)  # fmt: skip


def _hex(number: pl.Expr) -> pl.Expr:
    """Return a vendor's code as its documents print it; 129 is 0x81, 81 is 0x51."""
    value = number.cast(pl.Int64, strict=False)
    digits = [
        ((value // 16**place) % 16).replace_strict(
            dict(enumerate("0123456789abcdef")), return_dtype=pl.String
        )
        for place in (1, 0)
    ]
    return pl.when(value < 256).then(pl.concat_str(pl.lit("0x"), *digits))  # noqa: PLR2004 -- one byte
