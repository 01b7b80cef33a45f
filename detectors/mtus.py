"""Find ends that disagree on how long a packet may be: a setting, never a link's fault.

Source: fabric reference, sections 3.5, 3.6 and 6.2 (M). Too long a message fails with a length
error at the receiver and an invalid request at the sender; too long a frame is counted as oversize
or by its length, with a clean line.
"""

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from detectors.dirty_bins import LINE_LIMITS
from detectors.fabric import Fabric
from detectors.growth import PORT
from detectors.link_words import MAX_LISTED, End, end_text, far_end, link_subject, row_end
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_PATH_ERRORS: Final = ("remote_invalid_requests_total", "local_length_errors_total")
_FRAME_ERRORS: Final = (
    "oversize_packets_total",
    "length_errors_total",
    "neighbor_mtu_discards_total",
)
_PATH_MTU: Final = "active_mtu_bytes"
_FRAME_MTU: Final = "mtu_bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class MtuParams:
    """When lengths do not fit.

    Attributes:
        min_errors: Errors of length in all below which it may be one odd packet.
    """

    min_errors: float = 10.0


def find_mtu_faults(fabric: Fabric, params: MtuParams) -> pl.DataFrame:
    """Return the hosts and links whose ends are set to different lengths, where it shows.

    Args:
        fabric: Errors of length, and the MTU of each port where it is told.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind config_drift: cause `path_mtu`, one row a host that differs from most
        (or one for all of them where nobody is the majority), and cause `mtu`, one row a port that
        receives frames of wrong length. Partition key: fabric.
    """
    return verdict_frame([*_paths(fabric, params), *_frames(fabric, params)])


def _grown(fabric: Fabric, signals: tuple[str, ...]) -> pl.DataFrame:
    """Return how much such errors grew in all, by port and signal."""
    return (
        fabric.intervals.filter(
            pl.col("signal").is_in(signals), pl.col("delta") > 0, ~pl.col("settling")
        )
        .group_by(*PORT, "signal")
        .agg(grown=pl.col("delta").sum(), first=pl.col("end").min())
        .sort(*PORT, "signal")
    )


def _paths(fabric: Fabric, params: MtuParams) -> list[Verdict]:
    """Return the verdicts on hosts whose path MTU differs while messages fail by their length."""
    errors = _grown(fabric, _PATH_ERRORS)
    if float(errors["grown"].sum()) < params.min_errors:
        return []
    mtus = (
        fabric.readings.filter(pl.col("signal").is_in([_PATH_MTU, _FRAME_MTU]), pl.col("value") > 0)
        .filter(pl.col("signal") == pl.col("signal").min().over("host"))
        .sort("time")
        .group_by("host")
        .agg(mtu=pl.col("value").last())
        .sort("host")
    )
    counts = mtus.group_by("mtu").agg(pl.len()).sort("len", "mtu", descending=[True, False])
    if counts.height < 2:  # noqa: PLR2004 -- two sides make a difference
        return []
    seen = _path_evidence(errors)
    first = errors.select(pl.col("first").min()).item()
    majority = counts["mtu"][0] if 2 * counts["len"][0] > mtus.height else None
    odd = mtus if majority is None else mtus.filter(pl.col("mtu") != majority)
    words = ", ".join(f"{host} {mtu:.0f}" for host, mtu in odd.head(MAX_LISTED).rows())
    usual = f"; {counts['len'][0]} others {majority:.0f}" if majority is not None else ""
    told = Evidence(source=_PATH_MTU, what=f"path MTU differs: {words}{usual}")
    hosts: list[str] = odd["host"].to_list()
    subjects = [None] if majority is None else hosts
    return [
        Verdict(
            kind="config_drift",
            level="host" if host else "job",
            subject=Subject(host=host),
            onset=first,
            detected=first,
            cause="path_mtu",
            confidence="high",
            evidence=(told, *seen),
            alternatives=() if host else tuple(hosts[:MAX_LISTED]),
            action="set one path MTU on these hosts and their switches; the links are sound",
            needed=None if host else "which of the two is meant: no side is the majority",
        )
        for host in subjects
    ]


def _path_evidence(errors: pl.DataFrame) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            source=end_text(row_end(row)),
            time=row["first"],
            what=f"{row['signal']} +{row['grown']:.0f}",
        )
        for row in errors.head(MAX_LISTED).to_dicts()
    )


def _frames(fabric: Fabric, params: MtuParams) -> list[Verdict]:
    """Return the verdicts on ports that receive frames of wrong length over a clean line."""
    errors = _grown(fabric, _FRAME_ERRORS)
    dirty = _grown(fabric, tuple(LINE_LIMITS)).select(PORT).unique()
    ports = (
        errors.join(dirty, on=PORT, how="anti")
        .group_by(PORT)
        .agg(grown=pl.col("grown").sum(), first=pl.col("first").min())
        .filter(pl.col("grown") >= params.min_errors)
        .sort(PORT)
    )
    return [_frame_verdict(row, errors, fabric) for row in ports.to_dicts()]


def _frame_verdict(row: dict[str, Any], errors: pl.DataFrame, fabric: Fabric) -> Verdict:
    near = row_end(row)
    far = far_end(fabric.ends, near)
    mine = errors.filter(*(pl.col(name) == row[name] for name in PORT))
    sizes = [size for end in (near, far) if end for size in _mtu_words(fabric, end)]
    return Verdict(
        kind="config_drift",
        level="link",
        subject=link_subject(near, row["port_kind"], far),
        onset=row["first"],
        detected=row["first"],
        cause="mtu",
        confidence="medium",
        evidence=(*_path_evidence(mine), *sizes),
        action="compare the MTU of both ends of this cable; the line itself is clean",
        needed=None if far else "the topology would name the other end",
    )


def _mtu_words(fabric: Fabric, end: End) -> list[Evidence]:
    told = fabric.readings.filter(
        pl.col("host") == end[0],
        pl.col("port") == end[1],
        pl.col("signal") == _FRAME_MTU,
        pl.col("value") > 0,
    ).sort("time")
    last = told.tail(1).to_dicts()
    return [
        Evidence(source=end_text(end), time=one["time"], what=f"MTU {one['value']:.0f} bytes")
        for one in last
    ]
