"""Find hosts that reach the others in another way: plugin, transport, version, device, address.

Source: methods of the NCCL and PyTorch reference, sections 3.1, 3.2, 4.3 and 12.5. What most hosts
do is the yardstick; with as many on one side as on the other none is odd. Where a host differs it
is a setting of that host, not a bad link.
"""

from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from detectors.quotes import quoted
from detectors.verdicts import Confidence, Subject, Verdict

_NETWORK: Final = r"^NET/(.+?)/\d+(?:\(\d+\))?(?:/|\(|$)"
"""Plugin of a channel over the network: what stands before the last number."""

_NIC: Final = r"^(NET/.+?/\d+)(?:/|$)"
"""The device of such a channel; one reached through another GPU is not the printing GPU's own."""

_ACTION: Final = "compare environment, image and driver of this host with the others'"

MAX_LISTED: Final = 16


def find_odd_settings(events: pl.DataFrame) -> list[Verdict]:
    """Return the verdicts on hosts whose communication is set up unlike the others'.

    Args:
        events: `EVENTS` of one run.
    """
    settings: tuple[tuple[str, pl.DataFrame, Confidence], ...] = (
        ("network_plugin", _plugins(events), "high"),
        ("nccl_version", _versions(events), "high"),
        ("gpudirect", _gpudirect(events), "medium"),
        ("peer_to_peer", _transports(events), "medium"),
    )
    found = [
        verdict
        for cause, values, confidence in settings
        for verdict in _odd_hosts(cause, values, confidence)
    ]
    return [*_bridges(events), *found, *_shared_nics(events), *_told_errors(events)]


_QUOTE: Final = ("time", "source", "position", "message")


def _values(rows: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    """Return one row a host: what it uses, several uses in alphabetical order, and where said."""
    return (
        rows.with_columns(value=value)
        .drop_nulls(["host", "value"])
        .sort("host", "value", *_QUOTE[:3], nulls_last=True)
        .group_by("host", maintain_order=True)
        .agg(pl.col("value").unique().sort().str.join(" and "), pl.col(_QUOTE).first())
    )


def _of_kind(events: pl.DataFrame, kind: str) -> pl.DataFrame:
    return events.filter(pl.col("kind") == kind)


def _plugins(events: pl.DataFrame) -> pl.DataFrame:
    chosen = _values(_of_kind(events, "net_choice"), pl.col("code"))
    if chosen.height:
        return chosen
    return _values(_of_kind(events, "channel"), pl.col("code").str.extract(_NETWORK))


def _versions(events: pl.DataFrame) -> pl.DataFrame:
    return _values(_of_kind(events, "version"), pl.col("code"))


def _gpudirect(events: pl.DataFrame) -> pl.DataFrame:
    """Return whether a host's channels go from the GPU to the NIC directly: any, or none."""
    code = pl.col("code")
    channels = _of_kind(events, "channel").filter(
        code.str.contains(_NETWORK), ~code.str.starts_with("NET/Socket")
    )
    direct = code.str.contains("/GDRDMA").any().over("host")
    words = pl.when(direct).then(pl.lit("GPUDirect")).otherwise(pl.lit("no GPUDirect"))
    return _values(channels, words)


def _transports(events: pl.DataFrame) -> pl.DataFrame:
    """Return how the GPUs of a host reach each other: through host memory at all, or never."""
    code = pl.col("code")
    is_shared = code.str.contains(r"^SHM|^direct shared memory")
    channels = _of_kind(events, "channel").filter(is_shared | code.str.starts_with("P2P"))
    words = pl.when(is_shared.any().over("host")).then(pl.lit("SHM")).otherwise(pl.lit("P2P"))
    return _values(channels, words)


def _odd_hosts(cause: str, values: pl.DataFrame, confidence: Confidence) -> Iterator[Verdict]:
    """Yield one verdict a host of the minority; without a majority one that lists both sides."""
    counts = values.group_by("value").agg(pl.len(), pl.col("host").sort())
    ordered = counts.sort(["len", "value"], descending=[True, False]).to_dicts()
    if len(ordered) < 2:  # noqa: PLR2004 -- two sides make a difference
        return
    usual = ordered[0]
    if 2 * usual["len"] <= values.height:
        yield _two_sides(cause, values, ordered)
        return
    for row in values.filter(pl.col("value") != usual["value"]).to_dicts():
        what = f"{row['host']} uses {row['value']}, {usual['len']} others {usual['value']}"
        yield _drift(
            Subject(host=row["host"]),
            cause,
            (row, what),
            confidence=confidence,
            peer_count=values.height - 1,
        )


def _two_sides(cause: str, values: pl.DataFrame, sides: list[dict[str, Any]]) -> Verdict:
    rows = values.sort("value", "host").group_by("value", maintain_order=True).first().to_dicts()
    told = tuple(f"{side['value']}: {', '.join(side['host'][:MAX_LISTED])}" for side in sides)
    return Verdict(
        kind="config_drift",
        level="job",
        subject=Subject(),
        confidence="medium",
        cause=cause,
        evidence=tuple(quoted(row, f"{row['host']} uses {row['value']}") for row in rows),
        alternatives=told,
        action=_ACTION,
        needed="which of the two is meant: no side is the majority",
    )


def _drift(
    subject: Subject,
    cause: str,
    seen: tuple[dict[str, Any], str | None],
    *,
    confidence: Confidence,
    peer_count: int | None = None,
) -> Verdict:
    return Verdict(
        kind="config_drift",
        level="host" if subject.host else "job",
        subject=subject,
        confidence=confidence,
        cause=cause,
        peers="hosts of the run" if peer_count is not None else None,
        peer_count=peer_count,
        onset=seen[0]["time"],
        detected=seen[0]["time"],
        evidence=(quoted(*seen),),
        action=_ACTION,
    )


def _bridges(events: pl.DataFrame) -> list[Verdict]:
    """Return the verdict on hosts that bootstrap over an address which means nothing elsewhere."""
    sound = _of_kind(events, "oob_address")["host"].unique()
    local = (
        _of_kind(events, "oob_bridge")
        .drop_nulls("host")
        .filter(~pl.col("host").is_in(sound.implode()))
        .sort("peer", "host", *_QUOTE[:3], nulls_last=True)
    )
    shared = local.filter(pl.col("host").n_unique().over("peer") > 1)
    if shared.height:
        hosts = sorted(shared["host"].unique().to_list())
        row = shared.row(0, named=True)
        what = f"{len(hosts)} hosts bootstrap over the same {row['code']} {row['peer']}"
        found = _drift(Subject(), "bridge_interface", (row, what), confidence="high")
        return [found]
    rows = local.unique("host", keep="first", maintain_order=True).to_dicts() if len(sound) else []
    return [
        _drift(
            Subject(host=row["host"]),
            "bridge_interface",
            (row, f"{row['host']} bootstraps over {row['code']} {row['peer']}, others do not"),
            confidence="high",
        )
        for row in rows
        if len(sound) > len(rows)
    ]


def _shared_nics(events: pl.DataFrame) -> list[Verdict]:
    """Return the verdicts on hosts on which more GPUs share a NIC than on others."""
    sharing = _sharing(events)
    if sharing.height < 2:  # noqa: PLR2004 -- a host has no peers alone
        return []
    odd = sharing.filter(pl.col("gpus") > pl.col("gpus").quantile(0.5, "lower"))
    return [
        _drift(
            Subject(host=row["host"]),
            "shared_nic",
            (row, f"GPUs {', '.join(row['device'])} of {row['host']} share {row['nic']}"),
            confidence="medium",
            peer_count=sharing.height - 1,
        )
        for row in odd.to_dicts()
    ]


def _sharing(events: pl.DataFrame) -> pl.DataFrame:
    """Return of each host the NIC that most of its GPUs share, with them."""
    rows = (
        _of_kind(events, "channel")
        .with_columns(nic=pl.col("code").str.extract(_NIC))
        .drop_nulls(["host", "device", "nic"])
    )
    return (
        rows.group_by("host", "nic")
        .agg(pl.col("device").unique().sort(), pl.col(_QUOTE).sort_by(_QUOTE[1:3]).first())
        .with_columns(gpus=pl.col("device").list.len())
        .sort("host", "gpus", "nic", descending=[False, True, False])
        .unique("host", keep="first", maintain_order=True)
        .sort("host")
    )


def _told_errors(events: pl.DataFrame) -> list[Verdict]:
    """Return what NCCL itself calls wrong in the set-up, one verdict an error."""
    kind, code = pl.col("kind"), pl.col("code")
    build = (kind == "comm_error") & (code == "wrong_type")
    told = (
        events.filter(((kind == "config_error") & (code != "rails")) | build)
        .sort("code", "time", "host", "source", "position", nulls_last=True)
        .with_columns(hosts=pl.col("host").n_unique().over("code"))
        .unique("code", keep="first", maintain_order=True)
    )
    return [
        _drift(
            Subject(host=row["host"] if row["hosts"] == 1 else None),
            _CAUSES.get(row["code"], "set_up"),
            (row, None),
            confidence="medium",
        )
        for row in told.to_dicts()
    ]


_CAUSES: Final = {
    "Duplicate GPU detected": "duplicate_gpu",
    "Mismatched NCCL version": "nccl_version",
    "Failed to open libibverbs": "libibverbs",
    "shared memory": "shared_memory",
    "wrong_type": "nccl_version",
}
