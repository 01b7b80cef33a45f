"""Find flapping links: down and up again, told by both ends, and nobody's decision.

Source: fabric reference, section 6.6, and there: UFM's link-flapping check (both ends' age of
counters), SONiC's doubled flap count. A reboot, a command and a cable that somebody pulled are no
flaps; a counter's old total is none either, only its growth.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import polars as pl

from detectors.fabric import Fabric
from detectors.flap_counts import Flap, FlapRules, counted_flaps
from detectors.flap_events import LoggedParams, logged_flaps
from detectors.link_words import End, end_text, far_end, link_subject
from detectors.verdicts import Confidence, Evidence, Verdict, verdict_frame

MAX_QUOTED: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class FlapParams:
    """When a link flaps.

    Attributes:
        counts: How growing counters are read.
        logs: How port events are read.
        min_flaps: Flaps within `window_seconds` from which the link is to be mended.
        window_seconds: See there. Source: UFM bring-up, two in 24 h.
    """

    counts: FlapRules = field(default_factory=FlapRules)
    logs: LoggedParams = field(default_factory=LoggedParams)
    min_flaps: int = 2
    window_seconds: float = 86400.0


def find_flaps(fabric: Fabric, params: FlapParams) -> pl.DataFrame:
    """Return the links that went down and came back, and ports that are down for no known reason.

    Args:
        fabric: What is known of ports, with their events and boots.
        params: The thresholds.

    Returns:
        `VERDICTS`: flapping for a link that did it often enough to act on, link_fault with cause
        `flap` for one that did it once, with cause `link_down` for one that stayed down. A link is
        one row, whichever ends told. Partition key: fabric.
    """
    logged = logged_flaps(fabric, params.logs)
    outages = [one for one in logged if one.back is None]
    flaps = [one for one in logged if one.back] + counted_flaps(fabric, params.counts)
    return verdict_frame(
        [
            *(_verdict(group, fabric, params) for group in _by_link(flaps, fabric)),
            *(_outage(one, fabric) for one in outages),
        ]
    )


def _by_link(flaps: Iterable[Flap], fabric: Fabric) -> list[list[Flap]]:
    """Return the flaps of each link, by time."""
    groups: dict[tuple[End, ...], list[Flap]] = {}
    for one in sorted(flaps, key=lambda flap: (flap.time, flap.end, flap.how)):
        far = far_end(fabric.ends, one.end)
        key = tuple(sorted([one.end, far])) if far else (one.end,)
        groups.setdefault(key, []).append(one)
    return [groups[key] for key in sorted(groups)]


def _told(flaps: Sequence[Flap]) -> list[Flap]:
    """Return the flaps as the end and source that saw most of them tells: each was seen twice."""
    sides: dict[tuple[End, str], list[Flap]] = {}
    for one in flaps:
        sides.setdefault((one.end, one.how), []).append(one)
    key = max(sides, key=lambda side: (sum(one.count for one in sides[side]), side[1], side[0]))
    return sides[key]


def _verdict(flaps: Sequence[Flap], fabric: Fabric, params: FlapParams) -> Verdict:
    told = _told(flaps)
    count = sum(one.count for one in told)
    near, kind = told[0].end, told[0].kind
    far = far_end(fabric.ends, near)
    often = _often(told, params)
    return Verdict(
        kind="flapping" if often else "link_fault",
        level="link",
        subject=link_subject(near, kind, far),
        onset=told[0].time,
        detected=told[-1].seen,
        cleared=told[-1].back,
        cause="link_flap" if often else "flap",
        confidence=_confidence(flaps),
        evidence=(
            Evidence(source=end_text(near), time=told[0].time, what=_words(count, told)),
            *(
                Evidence(source=end_text(one.end), time=one.time, what=one.what)
                for one in flaps[:MAX_QUOTED]
            ),
        ),
        action=(
            "reseat and clean both ends, then swap optics and cable; drain the host meanwhile"
            if often
            else "watch this link: a second flap within a day is one to act on"
        ),
        needed=None if far else "the topology and the far end's counters or log",
    )


def _words(count: int, told: Sequence[Flap]) -> str:
    times = "1 flap" if count == 1 else f"{count} flaps"
    seconds = [one.seconds for one in told if one.seconds is not None]
    down = f", down for {sum(seconds):.0f} s in all" if seconds else ""
    return f"{times} of this link{down}; no command and no boot explains it"


def _often(told: Sequence[Flap], params: FlapParams) -> bool:
    """Return whether enough flaps fell into one window."""
    times = [one.time for one in told for _ in range(one.count)]
    window = timedelta(seconds=params.window_seconds)
    least = params.min_flaps - 1
    return any(late - early <= window for early, late in zip(times, times[least:], strict=False))


def _confidence(flaps: Sequence[Flap]) -> Confidence:
    ends = {one.end for one in flaps}
    if len(ends) > 1 or any(one.agreed for one in flaps):
        return "high"
    return "medium" if any(one.how == "log" for one in flaps) else "low"


def _outage(flap: Flap, fabric: Fabric) -> Verdict:
    """Return the verdict on a port that went down and has not come back."""
    far = far_end(fabric.ends, flap.end)
    seen = Evidence(source=end_text(flap.end), time=flap.time, what=flap.what)
    there = end_text(far) if far else "the far end"
    return Verdict(
        kind="link_fault",
        level="link",
        subject=link_subject(flap.end, flap.kind, far),
        onset=flap.time,
        detected=flap.time,
        cause="link_down",
        confidence="medium",
        evidence=(seen,),
        alternatives=(f"{there} is powered off or was shut there",),
        action="see whether the far end lives; then reseat, clean, swap optic and cable",
        needed="the far end's state and log",
    )
