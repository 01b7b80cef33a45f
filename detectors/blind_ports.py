"""Say which ports nobody can judge: counters at their top, ports without counters, short looks.

Source: fabric reference, sections 5.3 and 7.2. A counter at the top of its width counts no more:
flat is blind, never healthy. A port whose counters are all without a value (FEC off on some chips)
is not one without errors. An error ratio over too few bits is no claim.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from detectors.error_ratios import RULE_OF_THREE, duration_text, seconds_to_tell
from detectors.fabric import Fabric
from detectors.growth import PORT
from detectors.link_words import MAX_LISTED, end_text, far_end, link_subject, row_end
from detectors.port_readings import SPEEDS
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

ERRORS: Final = (
    "symbol_errors_total",
    "link_error_recoveries_total",
    "link_downed_total",
    "receive_errors_total",
    "local_link_integrity_errors_total",
    "buffer_overrun_errors_total",
    "transmit_discards_total",
)
"""Counters by which a port is judged. Waits fill their 32 bits in a second and say nothing here."""

_RATIOS: Final = {"post_fec_error_ratio": 1e-11, "symbol_error_ratio": 1e-14}
"""What is left after FEC, and from where on it is an error. Source: UFM bring-up table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindParams:
    """When a port cannot be judged.

    Attributes:
        min_full: Counters at their top from which a port is blind although others still count.
        default_bits_per_second: Rate of a line that nothing tells: 400 Gb/s.
    """

    min_full: int = 3
    default_bits_per_second: float = 4e11


def find_blind_ports(fabric: Fabric, params: BlindParams) -> pl.DataFrame:
    """Return the hosts and switches with ports that cannot be judged, and claims that are none.

    Args:
        fabric: What is known of ports.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind unknown: cause `counters_saturated` and `no_counters`, one row a host or
        switch that lists its ports, and `error_ratio_unconfirmed`, one row a port whose error
        ratio is bad over too short a time. Partition key: host.
    """
    full = [_full_verdict(row) for row in _by_host(_full(fabric, params)).to_dicts()]
    none = [_none_verdict(row) for row in _by_host(_without(fabric)).to_dicts()]
    return verdict_frame([*full, *none, *_unconfirmed(fabric, params)])


def _full(fabric: Fabric, params: BlindParams) -> pl.DataFrame:
    """Return the ports whose counters of errors are at their top at the last reading."""
    last = (
        fabric.intervals.filter(pl.col("signal").is_in(ERRORS))
        .sort("end")
        .group_by(*PORT, "signal")
        .last()
    )
    is_full = pl.col("saturated")
    return (
        last.sort("signal")
        .group_by(PORT)
        .agg(
            full=is_full.sum(),
            counters=pl.len(),
            words=pl.col("signal").filter(is_full).str.join(", "),
            time=pl.col("start").min(),
        )
        .filter(
            (pl.col("full") == pl.col("counters")) | (pl.col("full") >= params.min_full),
            pl.col("full") > 0,
        )
    )


def _without(fabric: Fabric) -> pl.DataFrame:
    """Return the ports that are up and whose counters never had a value, with the reason."""
    down = fabric.readings.filter(
        ((pl.col("signal") == "link_up") & (pl.col("value") == 0))
        | ((pl.col("signal") == "port_state") & (pl.col("value") < 4.0))  # noqa: PLR2004 -- InfiniBand's "active"
    ).select("host", "port")
    live = fabric.uncounted.join(down.unique(), on=["host", "port"], how="anti")
    return live.group_by(PORT).agg(
        words=pl.col("reason").drop_nulls().unique().sort().str.join(", "),
        time=pl.col("time").min(),
    )


def _by_host(ports: pl.DataFrame) -> pl.DataFrame:
    """Return one row a host or switch, with its ports in order."""
    return (
        ports.sort(PORT)
        .group_by("host", "port_kind", maintain_order=True)
        .agg(pl.col("port"), pl.col("words").first(), pl.col("time").min())
    )


def _subject(row: dict[str, Any]) -> Subject:
    is_switch = row["port_kind"] == "switch_port"
    port: str | None = row["port"][0] if len(row["port"]) == 1 else None
    host = row["host"]
    return Subject(switch=host, port=port) if is_switch else Subject(host=host, device=port)


def _ports(row: dict[str, Any]) -> str:
    return ", ".join(row["port"][:MAX_LISTED])


def _full_verdict(row: dict[str, Any]) -> Verdict:
    what = f"counters blind, reset needed: {row['words']} at the top of their width"
    return Verdict(
        kind="unknown",
        level="host" if row["port_kind"] == "nic" else "group",
        subject=_subject(row),
        onset=row["time"],
        onset_before_data=True,
        detected=row["time"],
        cause="counters_saturated",
        confidence="high",
        evidence=(Evidence(source=f"{row['host']} {_ports(row)}", time=row["time"], what=what),),
        action="reset the error counters of these ports, then read them again after some minutes",
        needed="counters that can still count: reset needed",
    )


def _none_verdict(row: dict[str, Any]) -> Verdict:
    reason = f" ({row['words']})" if row["words"] else ""
    what = f"no counter of this port has a value{reason}: that is not 0 errors"
    return Verdict(
        kind="unknown",
        level="host" if row["port_kind"] == "nic" else "group",
        subject=_subject(row),
        onset=row["time"],
        onset_before_data=True,
        detected=row["time"],
        cause="no_counters",
        confidence="high",
        evidence=(Evidence(source=f"{row['host']} {_ports(row)}", time=row["time"], what=what),),
        action="see why this port counts nothing (FEC off, no support, rights)",
        needed="counters of these ports, or those of the other end",
    )


def _unconfirmed(fabric: Fabric, params: BlindParams) -> Iterable[Verdict]:
    """Yield the verdicts on bad error ratios that too few bits stand behind."""
    rows = fabric.readings.filter(pl.col("device") == pl.col("port")).sort("time")
    ages = rows.filter(pl.col("signal") == "seconds_since_clear").drop_nulls("value")
    speeds = rows.filter(pl.col("signal").is_in(SPEEDS), pl.col("value") > 0)
    port = ["host", "port"]
    told = (
        rows.filter(pl.col("signal").is_in(list(_RATIOS)), pl.col("value").is_not_null())
        .group_by(*PORT, "signal")
        .last()
        .join(ages.group_by(port).agg(age=pl.col("value").last()), on=port)
        .join(speeds.group_by(port).agg(speed=pl.col("value").last() * 8), on=port, how="left")
        .with_columns(speed=pl.col("speed").fill_null(params.default_bits_per_second))
        .sort(*PORT, "signal")
    )
    for row in told.to_dicts():
        if row["value"] <= _RATIOS[row["signal"]]:
            continue
        least = seconds_to_tell(row["value"], row["speed"], RULE_OF_THREE)
        if row["age"] < least:
            yield _unconfirmed_verdict(row, least, fabric)


def _unconfirmed_verdict(row: dict[str, Any], least: float, fabric: Fabric) -> Verdict:
    near = row_end(row)
    what = (
        f"{row['signal']} {row['value']:.1e} over {duration_text(row['age'])}: "
        f"a claim of that size takes {duration_text(least)} at this rate"
    )
    return Verdict(
        kind="unknown",
        level="link",
        subject=link_subject(near, row["port_kind"], far_end(fabric.ends, near)),
        onset=row["time"],
        detected=row["time"],
        cause="error_ratio_unconfirmed",
        confidence="low",
        evidence=(Evidence(source=end_text(near), time=row["time"], what=what),),
        action="let it run and read it again; do not mend anything yet",
        needed=f"a reading at least {duration_text(least)} after the counters were cleared",
    )
