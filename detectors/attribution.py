"""Put findings of different detectors together: which device explains which slow rank or job.

Timing says that ranks are slow, and in a tensor-parallel group it says so of all of them alike;
device signals say which GPU. A job that slowed as a whole is explained when something named slowed
with it. Source: methods reference, sections 2, 5 (corroboration by a second family) and 6.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final

import polars as pl

from detectors.deaths import named_deaths
from detectors.placing import ROLES
from detectors.promotion import DRIFT, PromotionParams, overlap, promote, rack_of
from detectors.verdicts import Evidence, Subject, Verdict, sort_verdicts

SLOW_KINDS: Final = frozenset({"slow", "flapping", "degrading"})

EXPLAINING_KINDS: Final = SLOW_KINDS | {"link_fault", "congestion", DRIFT}
"""Findings that can slow a whole job."""

ROOT_KINDS: Final = frozenset({"crash", "mismatch", "link_fault"})
"""Findings that leave others waiting."""

MIN_SICK: Final = 2
"""Devices that must be sick for a host or a rack to be explained by what they share."""

MIN_ALIKE_SHARE: Final = 0.6
"""Share of them that must show the same (methods reference, section 6: 60 % of the children)."""

_TIMED_LEVELS: Final = ("rank", "host", "rack")

_BESIDE_STEPS: Final = frozenset({"checkpoint_writer", "periodic_pauses", "data_stalls"})
"""Causes of moments at which a job waits: they slow no step around them, nor does a GPU."""


def attribute(verdicts: Sequence[Verdict], roles: pl.DataFrame) -> list[Verdict]:
    """Return the findings joined into causes, in reading order.

    Args:
        verdicts: Of all detectors over the same inputs.
        roles: `ROLES`, to know which rank a GPU serves.

    Returns:
        Slow ranks and hosts that one device explains are replaced by a verdict on that device;
        hosts and racks of which several are sick take over what these have in common; jobs that
        slowed while something named did are marked as explained. Nothing else changes.
    """
    places = roles.select(ROLES.names()).to_dicts()
    devices = [_placed(one, places) for one in verdicts if one.level == "gpu"]
    # A device that was set to be slow explains as well; then nobody is sick.
    sick = [one for one in devices if one.kind in SLOW_KINDS | {DRIFT}]
    rest = [one for one in verdicts if one.level != "gpu"]
    timed = [one for one in rest if one.level in _TIMED_LEVELS and _is_speed(one)]
    joined = [_explained(one, _culprits(one, sick), places) for one in timed]
    used = {id(device) for one in timed for device in _culprits(one, sick)}
    alone = [one for one in devices if id(one) not in used]
    named = [*joined, *_in_families(alone, places)]
    others = [one for one in rest if one not in timed]
    joined = named_deaths(_with_jobs([*named, *others]), roles)
    return sort_verdicts(_without_cascades(joined))


def _is_speed(verdict: Verdict) -> bool:
    return verdict.kind in SLOW_KINDS and verdict.cause not in _BESIDE_STEPS


def _in_families(devices: list[Verdict], places: list[dict[str, Any]]) -> list[Verdict]:
    """Return findings on devices with those of whole hosts, and of whole racks, as one."""
    hosts = [row["host"] for row in places if row["host"] is not None]
    racks = Counter(rack for host in set(hosts) if (rack := rack_of(host)) is not None)
    by_host = promote(devices, Counter(hosts), "host", PromotionParams())
    return promote(by_host, racks, "rack", PromotionParams())


def _placed(verdict: Verdict, places: list[dict[str, Any]]) -> Verdict:
    """Return a device's verdict with the rank that it serves, where exactly one is known."""
    subject = verdict.subject
    mine = [
        row
        for row in places
        if row["host"] == subject.host
        and (
            row["gpu"] == subject.device
            or (subject.gpu is not None and row["index"] == subject.gpu)
        )
    ]
    if len({(row["run"], row["attempt"], row["rank"]) for row in mine}) != 1:
        return verdict
    names = ("run", "attempt", "rank", "dp", "pp", "tp", "ep")
    told = {name: mine[0][name] for name in names}
    return replace(verdict, subject=replace(subject, gpu=mine[0]["index"], **told))


def _culprits(timed: Verdict, sick: Sequence[Verdict]) -> list[Verdict]:
    """Return the devices that were slow in the same rack, or on the same host and GPU if named."""
    return [
        one
        for one in sick
        if _is_within(one.subject, timed)
        and overlap(replace(one, onset_step=None), replace(timed, onset_step=None))
    ]


def _explained(timed: Verdict, devices: list[Verdict], places: list[dict[str, Any]]) -> Verdict:
    """Return the timing verdict, on the device if exactly one explains it."""
    if len(devices) != 1 or timed.level == "rack":
        return _with_causes(timed, devices)
    device = devices[0]
    mates = sorted(
        row["rank"]
        for row in places
        if row["host"] == timed.subject.host
        and row["run"] == timed.subject.run
        and row["rank"] not in {None, device.subject.rank}
    )
    starts = [one.onset for one in (timed, device) if one.onset]
    found = [one.detected for one in (timed, device) if one.detected]
    return replace(
        timed,
        kind=device.kind if device.kind == DRIFT else timed.kind,
        level="gpu",
        subject=_union(device.subject, timed.subject),
        onset=min(starts, default=None),
        detected=min(found, default=None),
        cause=device.cause or timed.cause,
        confidence="high",
        evidence=(*timed.evidence[:1], *device.evidence, *timed.evidence[1:]),
        victims=tuple(f"rank {rank}" for rank in mates) if timed.level == "host" else (),
        alternatives=(),
        action=device.action or timed.action,
    )


def _is_within(device: Subject, timed: Verdict) -> bool:
    subject, host = timed.subject, device.host
    if timed.level == "rack":
        return host is not None and rack_of(host) == subject.rack
    if host != subject.host:
        return False
    if subject.gpu is not None:
        return subject.gpu == device.gpu
    return subject.device in {None, device.device}


def _with_causes(timed: Verdict, devices: list[Verdict]) -> Verdict:
    """Return the verdict on a host or a rack with what most of its sick devices have in common."""
    causes = Counter(one.cause for one in devices if one.cause is not None)
    if len(devices) < MIN_SICK or not causes:
        return timed
    cause, count = max(causes.items(), key=lambda item: (item[1], item[0]))
    if count < MIN_ALIKE_SHARE * len(devices):
        return timed
    alike = [one for one in devices if one.cause == cause]
    what = f"{count} of its devices show {cause}"
    seen = Evidence(source="attribution", time=alike[0].onset, what=what)
    return replace(
        timed,
        kind=DRIFT if all(one.kind == DRIFT for one in alike) else timed.kind,
        cause=cause,
        confidence="high",
        evidence=(*timed.evidence[:1], seen, *alike[0].evidence, *timed.evidence[1:]),
        action=alike[0].action or timed.action,
    )


def _union(first: Subject, second: Subject) -> Subject:
    told: dict[str, Any] = {
        item.name: getattr(first, item.name)
        if getattr(first, item.name) is not None
        else getattr(second, item.name)
        for item in fields(Subject)
    }
    return Subject(**told)


def _with_jobs(verdicts: list[Verdict]) -> list[Verdict]:
    """Return the findings with each slow job explained by what was named at the same time."""
    named = [
        one
        for one in verdicts
        if one.kind in EXPLAINING_KINDS and one.level != "job" and one.cause not in _BESIDE_STEPS
    ]
    named += [one for one in verdicts if one.kind == "congestion" and one.level == "job"]
    jobs = [one for one in verdicts if one.kind == "group_slow" and one.level == "job"]
    kept = [one for one in verdicts if one not in jobs]
    by_cause: dict[tuple[str | None, tuple[Verdict, ...]], list[Verdict]] = {}
    for job in jobs:
        causes = tuple(one for one in named if _explains(one, job))
        by_cause.setdefault((job.subject.run, causes), []).append(job)
    for (_, causes), spells in by_cause.items():
        kept += [_caused(spells, causes)] if causes else [_unexplained(one) for one in spells]
    return kept


def _explains(named: Verdict, job: Verdict) -> bool:
    same_run = named.subject.run in {None, job.subject.run}
    is_speed = named.kind != DRIFT or named.slowdown is not None
    return is_speed and same_run and overlap(named, job)


def _caused(spells: list[Verdict], culprits: Sequence[Verdict]) -> Verdict:
    """Return one verdict for all the spells in which the same culprits slowed the job."""
    first, last = spells[0], spells[-1]
    names = ", ".join(dict.fromkeys(one.subject.phrase() for one in culprits))
    what = f"{names} was slow at the same time"
    return replace(
        first,
        kind="slow",
        cause=names,
        cleared=last.cleared,
        cleared_step=last.cleared_step,
        evidence=(*first.evidence, Evidence(source="attribution", time=first.onset, what=what)),
        action=next((one.action for one in culprits if one.action), None),
    )


def _unexplained(job: Verdict) -> Verdict:
    needed = (
        "device and fabric counters of the same time tell what all ranks share; phases of every "
        "rank, where they are not reported, tell one slow rank from all"
    )
    return replace(job, needed=needed)


def _without_cascades(verdicts: list[Verdict]) -> list[Verdict]:
    """Return the findings without hangs that a harder finding of the same run explains.

    A rank that crashed is absent because of that; a hang that names nobody adds nothing beside a
    named fault. Source: methods of the NCCL reference, section 12.1, precedence of evidence.
    """
    roots = [one for one in verdicts if one.kind in ROOT_KINDS and one.confidence != "low"]
    return [one for one in verdicts if not any(_is_cascade(one, root) for root in roots)]


def _is_cascade(verdict: Verdict, root: Verdict) -> bool:
    if verdict.kind != "hang" or root.subject.run not in {None, verdict.subject.run}:
        return False
    same_rank = root.kind == "crash" and verdict.subject.rank == root.subject.rank
    return verdict.level == "job" or same_rank
