"""Put a suspect device into words: its numbers against its peers', and the cause they show.

Source: clock event reasons of NVIDIA's management library (DCGM field 112): which bits mean a
fault, which a configuration, which nothing.
"""

from dataclasses import dataclass
from math import exp
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from detectors.accusations import FLAP_RUNS, reached, slow_kind
from detectors.panels import Panel
from detectors.suspects import PAIR_MEMBERS, Suspect
from detectors.timelines import Timeline, moment
from detectors.verdicts import Confidence, Evidence, Level, Subject, Verdict

REASON_BITS: Final = (
    (0x80, "power_brake"),
    (0x20 | 0x40, "thermal"),
    (0x4, "power_cap"),
    (0x2, "clock_setting"),
    (0x8, "hardware_slowdown"),
    (0x10, "sync_boost"),
)
"""Bits of the clock event mask and the cause they name, most telling first. 0x8 is an umbrella
over the brake and thermal bits, so it names a cause only when it stands alone."""

MIN_REASON_SHARE: Final = 0.5
"""A reason is the cause when it is set in this share of the stretch's samples, and in at least
twice the peers' share."""

CONFIGURED: Final = frozenset({"clock_setting", "power_cap"})
"""Causes that, from the first reading on, are a setting and no fault."""

LIMITS: Final = ("power_limit_watts", "application_sm_clock_hertz")
"""Signals that show what a device was set to."""

STRONG_RATIO: Final = 1.15
_TOLD: Final = (
    ("gpu_temperature_celsius", "temperature", 1.0, "C"),
    ("power_watts", "power", 1.0, "W"),
    ("sm_active_ratio", "SM activity", 100.0, "%"),
    ("gpu_busy_ratio", "utilisation", 100.0, "%"),
)
"""What is told beside the speed: signal, word, factor and unit for people."""

REASONS: Final = "clock_event_reasons"

EVIDENCE: Final = (REASONS, *LIMITS, *(signal for signal, *_ in _TOLD))
"""The signals that are asked for beside the speed."""

_LEVELS: Final[dict[str, Level]] = {"gpu": "gpu", "nic": "nic", "disk": "host"}

_ACTIONS: Final = {
    "thermal": "drain the node after the next checkpoint; check fans, inlet and thermal paste",
    "power_brake": "check the node's power supplies and the rack feed; drain if it persists",
    "power_cap": "compare the configured power limit with the other nodes'",
    "clock_setting": "reset the application clocks to those of the other nodes",
}
_ACTION: Final = "drain the node after the next checkpoint and run a diagnostic on this device"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCase:
    """What the words are taken from.

    Attributes:
        panel: Logarithms of the speed signal, one row a device.
        rows: `SAMPLES` of the signals in `EVIDENCE`, without the speed signal.
        signal: The speed signal's name.
        bad: Its bad direction.
        timeline: What the panel's ticks mean.
    """

    panel: Panel
    rows: pl.DataFrame
    signal: str
    bad: int
    timeline: Timeline


def accuse_device(case: DeviceCase, suspect: Suspect) -> Verdict:
    """Return the verdict on one device."""
    entity = case.panel.entities.row(suspect.entity, named=True)
    ratio = exp(suspect.episode.effect)
    span = case.timeline.span(suspect.episode)
    inside = _inside(case, suspect, entity)
    cause = _cause(inside)
    return Verdict(
        kind=_kind(suspect, cause, inside),
        level=_LEVELS.get(entity["device_kind"], "host"),
        subject=Subject(
            run=entity["run"], host=entity["host"], gpu=_number(entity), device=entity["device"]
        ),
        slowdown=ratio,
        cause=cause or ("clock" if "clock" in case.signal else None),
        confidence=_confidence(suspect, ratio, cause),
        peers=_peer_words(entity),
        peer_count=suspect.members - 1,
        q_value=suspect.q_value,
        evidence=(_speed(case, suspect, entity, ratio), *_told(inside)),
        action=_ACTIONS.get(cause or "", _ACTION),
        **span,
    )


def _kind(
    suspect: Suspect, cause: str | None, inside: pl.DataFrame
) -> Literal["slow", "degrading", "flapping", "config_drift"]:
    """Return `config_drift` for what was set: from the first reading on, or to a limit it shows."""
    if cause in CONFIGURED and (suspect.episode.from_level or _has_lower_limit(inside)):
        return "config_drift"
    return slow_kind(suspect)


def _has_lower_limit(inside: pl.DataFrame) -> bool:
    """Return whether the suspect's power limit or set clock is below its peers'."""
    limits = (
        inside.filter(pl.col("signal").is_in(LIMITS))
        .drop_nulls("value")
        .group_by("signal")
        .agg(
            own=pl.col("value").filter("own").median(),
            peers=pl.col("value").filter(~pl.col("own")).median(),
        )
    )
    return bool(limits.select((pl.col("own") < pl.col("peers")).any()).item())


def _number(entity: dict[str, Any]) -> int | None:
    return entity["index"] if entity["device_kind"] == "gpu" else None


def _confidence(suspect: Suspect, ratio: float, cause: str | None) -> Confidence:
    if suspect.members <= PAIR_MEMBERS:
        return "low"
    return "high" if cause is not None and ratio >= STRONG_RATIO else "medium"


def _peer_words(entity: dict[str, Any]) -> str:
    if entity["peer_host"] is not None:
        return f"devices of {entity['peer_host']}"
    return f"{entity['model'] or entity['device_kind']} of the same run"


def _inside(case: DeviceCase, suspect: Suspect, entity: dict[str, Any]) -> pl.DataFrame:
    """Return the samples of the suspect's group in the stretch; `own` marks the suspect's."""
    episode, ticks = suspect.episode, case.panel.ticks
    start = moment(int(ticks[episode.start]))
    rows = case.rows.filter(
        pl.col("time") >= start,
        pl.col("device_kind") == entity["device_kind"],
        pl.col("run").eq_missing(pl.lit(entity["run"], dtype=pl.String)),
    )
    if episode.stop < ticks.size:
        rows = rows.filter(pl.col("time") < moment(int(ticks[episode.stop])))
    own = (pl.col("host") == entity["host"]) & (pl.col("device") == entity["device"])
    return rows.with_columns(own=own.fill_null(value=False))


def _cause(inside: pl.DataFrame) -> str | None:
    """Return the clock event reason that is set for the suspect and not for its peers."""
    mask = pl.col("value").cast(pl.Int64)
    shares = (
        inside.filter(pl.col("signal") == REASONS)
        .drop_nulls("value")
        .group_by("own")
        .agg(((mask & bits) != 0).mean().alias(cause) for bits, cause in REASON_BITS)
    )
    by_side = {row["own"]: row for row in shares.iter_rows(named=True)}
    own, peers = by_side.get(True, {}), by_side.get(False, {})
    for _, cause in REASON_BITS:
        share = own.get(cause, 0.0)
        if share >= MIN_REASON_SHARE and share >= 2.0 * peers.get(cause, 0.0):
            return cause
    return None


def _speed(case: DeviceCase, suspect: Suspect, entity: dict[str, Any], ratio: float) -> Evidence:
    """Return the speed signal's numbers of both sides."""
    episode = suspect.episode
    inside = reached(case.panel.values[suspect.entity, episode.start : episode.stop], suspect)
    own = exp(float(np.median(inside)) * case.bad)
    peers = own * exp(-case.bad * episode.effect)
    runs = f" in {episode.runs} separate runs" if episode.runs >= FLAP_RUNS else ""
    what = (
        f"{case.signal} {own:.4g} where {suspect.members - 1} peers have {peers:.4g} "
        f"(x{ratio:.2f}){runs}"
    )
    source = f"{entity['device_kind']} samples"
    return Evidence(source=source, time=moment(int(case.panel.ticks[episode.start])), what=what)


def _told(inside: pl.DataFrame) -> list[Evidence]:
    """Return what the other signals show of the suspect and of its peers."""
    found: list[Evidence] = []
    known = inside.drop_nulls("value").group_by("signal", "own").agg(pl.col("value").median())
    medians = {(signal, own): value for signal, own, value in known.iter_rows()}
    for signal, word, factor, unit in _TOLD:
        if (signal, True) in medians and (signal, False) in medians:
            own, peers = (medians[signal, side] * factor for side in (True, False))
            what = f"{word} {own:.0f} {unit}, peers {peers:.0f} {unit}"
            found.append(Evidence(source=signal, what=what))
    return found
