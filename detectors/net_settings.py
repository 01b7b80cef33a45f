"""Find hosts that reach the others in another way: plugin, transport, version, device, address.

Source: methods of the NCCL and PyTorch reference, sections 3.1, 3.2, 4.3 and 12.5. What most hosts
do is the yardstick; with as many on one side as on the other none is odd. Where a host differs it
is a setting of that host, not a bad link.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import polars as pl

from detectors.addresses import known_addresses, with_hosts
from detectors.net_rails import cross_rails, crossing
from detectors.net_uses import (
    QUOTE,
    channel_counts,
    environment,
    gpudirect,
    of_kind,
    plugins,
    transports,
    versions,
)
from detectors.network_words import MAX_QUOTED
from detectors.quotes import quoted
from detectors.verdicts import Confidence, Subject, Verdict

_NIC: Final = r"^(NET/.+?/\d+)(?:/|$)"
"""The device of such a channel; one reached through another GPU is not the printing GPU's own."""

_ACTION: Final = "compare environment, image and driver of this host with the others'"

MAX_LISTED: Final = 16

MIN_AGREEING: Final = 3
"""Hosts below which no variable of the environment is called odd."""


def find_odd_settings(events: pl.DataFrame) -> list[Verdict]:
    """Return the verdicts on hosts whose communication is set up unlike the others'.

    Args:
        events: `EVENTS` of one run.
    """
    settings: tuple[tuple[str, pl.DataFrame, Confidence], ...] = (
        ("network_plugin", plugins(events), "high"),
        ("nccl_version", versions(events), "high"),
        ("gpudirect", gpudirect(events), "medium"),
        ("peer_to_peer", transports(events), "medium"),
        ("channel_count", channel_counts(events), "medium"),
    )
    found = [
        verdict
        for cause, values, confidence in settings
        for verdict in _odd_hosts(cause, values, confidence)
    ]
    for values in environment(events):
        if _has_majority(values):
            found += _odd_hosts("environment", values, "medium")
    crossed = cross_rails(events)
    shared = _shared_nics(events, crossed)
    return [
        *_bridges(events),
        *found,
        *shared,
        *([] if shared else _crossed(crossed)),
        *_told_errors(events),
    ]


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


def _has_majority(values: pl.DataFrame) -> bool:
    """Return whether most of at least three hosts agree: of two nobody is odd."""
    most: int = values["value"].value_counts()["count"].max()  # type: ignore[assignment]  # counts
    return values.height >= MIN_AGREEING and 2 * most > values.height


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
    sound = of_kind(events, "oob_address")["host"].unique()
    local = (
        of_kind(events, "oob_bridge")
        .drop_nulls("host")
        .filter(~pl.col("host").is_in(sound.implode()))
        .sort("peer", "host", *QUOTE[:3], nulls_last=True)
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


def _shared_nics(events: pl.DataFrame, crossed: pl.DataFrame) -> list[Verdict]:
    """Return the verdicts on hosts on which more GPUs share a NIC than on others.

    Channels that such a host's NIC joins to another rail support it.
    """
    sharing = _sharing(events)
    odd = sharing.filter(pl.col("gpus") > pl.col("gpus").quantile(0.5, "lower"))
    verdicts = [
        _drift(
            Subject(host=row["host"]),
            "shared_nic",
            (row, f"GPUs {', '.join(row['device'])} of {row['host']} share {row['nic']}"),
            confidence="medium",
            peer_count=sharing.height - 1,
        )
        for row in odd.to_dicts()
    ]
    return [
        replace(one, evidence=(*one.evidence, *(quoted(row, crossing(row)) for row in rows)))
        for one in verdicts
        for rows in [crossed.filter(pl.col("host") == one.subject.host).head(2).to_dicts()]
    ]


def _crossed(crossed: pl.DataFrame) -> list[Verdict]:
    """Return the verdict on channels whose two ends are on different rails."""
    ends = crossed.select("host", "other").unique().sort("host", "other").rows()
    rows = crossed.head(MAX_QUOTED).to_dicts()
    return [
        Verdict(
            kind="config_drift",
            level="job",
            subject=Subject(),
            confidence="low",
            cause="cross_rail",
            onset=rows[0]["time"],
            detected=rows[0]["time"],
            evidence=tuple(quoted(row, crossing(row)) for row in rows),
            alternatives=tuple(sorted({end for pair in ends for end in pair}))[:MAX_LISTED],
            action=_ACTION,
            needed="the topology: whether device numbers are rails on these hosts",
        )
        for _ in rows[:1]
    ]


def _sharing(events: pl.DataFrame) -> pl.DataFrame:
    """Return of each host the NIC that most of its GPUs share, with them."""
    rows = (
        of_kind(events, "channel")
        .with_columns(nic=pl.col("code").str.extract(_NIC))
        .drop_nulls(["host", "device", "nic"])
    )
    return (
        rows.group_by("host", "nic")
        .agg(pl.col("device").unique().sort(), pl.col(QUOTE).sort_by(QUOTE[1:3]).first())
        .with_columns(gpus=pl.col("device").list.len())
        .sort("host", "gpus", "nic", descending=[False, True, False])
        .unique("host", keep="first", maintain_order=True)
        .sort("host")
    )


_BETWEEN: Final = ("Mismatched NCCL version", "wrong_type")
"""Errors of two ends: who says so need not be the odd one."""

_OWN: Final = ("Duplicate GPU detected", "shared memory")
"""Errors that are of the host that tells them, whatever others do."""

_RELEASES: Final = "the line `NCCL version` of every host"


def _told_errors(events: pl.DataFrame) -> list[Verdict]:
    """Return what NCCL itself calls wrong in the set-up, one verdict an error."""
    kind, code = pl.col("kind"), pl.col("code")
    build = (kind == "comm_error") & (code == "wrong_type")
    errors = events.lazy().filter(((kind == "config_error") & (code != "rails")) | build)
    told = (
        with_hosts(errors, "peer", known_addresses(events.lazy()))
        .collect()
        .sort("code", "time", "host", "source", "position", nulls_last=True)
        .with_columns(hosts=pl.col("host").n_unique().over("code"))
        .unique("code", keep="first", maintain_order=True)
    )
    return [_told_error(row) for row in told.to_dicts()]


def _told_error(row: dict[str, Any]) -> Verdict:
    """Return the verdict on an error of the set-up: on its host where it is of this host alone."""
    between = row["code"] in _BETWEEN
    named = row["host"] if row["hosts"] == 1 and not between else None
    peer = f"rank {row['peer']}" if row["kind"] == "config_error" else row["peer"]
    ends = tuple(end for end in (row["host"], row["peer"] and peer) if end) if between else ()
    found = _drift(
        Subject(host=named),
        _CAUSES.get(row["code"], "set_up"),
        (row, None),
        confidence="high" if named and row["code"] in _OWN else "medium",
    )
    return replace(found, alternatives=ends, needed=_RELEASES if between else None)


_CAUSES: Final = {
    "Duplicate GPU detected": "duplicate_gpu",
    "Mismatched NCCL version": "nccl_version",
    "Failed to open libibverbs": "libibverbs",
    "shared memory": "shared_memory",
    "wrong_type": "nccl_version",
}
