"""Join findings that accuse the same rank from two kinds of sources: they are one, and surer.

Source: methods of the NCCL reference, section 12.7: two absences that know nothing of each other,
a dump that is not there and a rank that RAS does not hear, are high confidence. That all ranks have
launched, and none is done, is said beside a hang that names nobody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from collectors.texts.event_labels import label_value
from detectors.addresses import known_addresses, with_hosts
from detectors.benchmarks import FAILED
from detectors.launch_counts import COUNTS
from detectors.quotes import quoted
from detectors.verdicts import Verdict

_WAITS: Final = ("hang", "crash")

_EXPLAINING: Final = ("crash", "hang", "link_fault")

_REPORTED: Final = ("silent", "process_dead", "behind")
"""Causes that RAS gives."""

_LAUNCHED: Final = (
    "RAS: all ranks have launched their operations and none is done; it counts launches alone"
)


def corroborated(verdicts: Sequence[Verdict], events: pl.LazyFrame) -> list[Verdict]:
    """Return the findings, those on one rank, or on a host and its ranks, joined.

    Args:
        verdicts: Of all detectors over the same inputs.
        events: `EVENTS`; `rank_missing` tells who is on a silent host, `ras_group` what
            communicators do.

    Returns:
        The findings. A test that only says that it failed adds nothing beside a finding on what
        failed.
    """
    silent = _ranks_by_host(events)
    reported = [one for one in verdicts if _is_reported(one)]
    pairs = [
        (one, [other for other in verdicts if _is_same(one, other, silent)] or _sole(one, verdicts))
        for one in reported
    ]
    joined = [_joined(one, others) for one, others in pairs if others]
    gone = {id(one) for first, others in pairs if others for one in (first, *others)}
    rest = _with_counts([one for one in verdicts if id(one) not in gone])
    whole = [_with_launches(one, events) for one in [*rest, *joined]]
    failed = [one for one in whole if one.cause == FAILED]
    told = [one for one in whole if one.cause != FAILED]
    is_explained = any(one.kind in _EXPLAINING and one.confidence != "low" for one in told)
    return told if is_explained else [*told, *failed]


def _ranks_by_host(events: pl.LazyFrame) -> dict[str, set[int]]:
    """Return the ranks that RAS misses, by their host."""
    missing = events.filter(pl.col("kind") == "rank_missing")
    named = with_hosts(missing, "host", known_addresses(events)).select("host", "rank")
    found: dict[str, set[int]] = {}
    for host, rank in named.drop_nulls().collect().iter_rows():
        found.setdefault(host, set()).add(rank)
    return found


def _is_reported(verdict: Verdict) -> bool:
    return verdict.kind in _WAITS and verdict.cause in _REPORTED


def _is_same(reported: Verdict, other: Verdict, silent: Mapping[str, set[int]]) -> bool:
    """Return whether a finding from another source is on whom RAS accuses."""
    mine, theirs = reported.subject, other.subject
    if _is_reported(other) or other.kind != "hang" or theirs.rank is None:
        return False
    if mine.run is not None and theirs.run is not None and mine.run != theirs.run:
        return False
    if mine.rank is not None:
        return mine.rank == theirs.rank
    return theirs.rank in silent.get(mine.host or "", set())


def _sole(reported: Verdict, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the only rank that does not come, if only one process of one GPU is silent."""
    waits = [one for one in verdicts if one.kind in _WAITS and one.level != "job"]
    others = [one for one in waits if one is not reported]
    is_one = reported.level == "gpu" and reported.subject.rank is None and len(others) == 1
    absent = others[:1] if is_one and others[0].subject.host is None else []
    return [one for one in absent if one.subject.rank is not None]


def _with_counts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the findings; a doubtful count is a support where others accuse the same rank."""
    doubts = [one for one in verdicts if one.cause == COUNTS]
    found, used = list[Verdict](), set[int]()
    for one in verdicts:
        name = f"rank {one.subject.rank}"
        mine = [
            (doubt, listed.removeprefix(name).removeprefix(" on "))
            for doubt in doubts
            for listed in doubt.alternatives
            if one.kind == "hang" and (listed == name or listed.startswith(f"{name} on "))
        ]
        used |= {id(doubt) for doubt, _ in mine}
        seen = [evidence for doubt, _ in mine for evidence in doubt.evidence]
        hosts = [host for _, host in mine if host]
        host = one.subject.host or next(iter(hosts), None)
        subject = replace(one.subject, host=host)
        found.append(replace(one, subject=subject, evidence=(*one.evidence, *seen)))
    return [one for one, old in zip(found, verdicts, strict=True) if id(old) not in used]


def _joined(reported: Verdict, others: Sequence[Verdict]) -> Verdict:
    """Return one verdict of a report and what other sources say of the same ranks."""
    first = others[0]
    mine = reported.subject
    is_rank = mine.rank is not None or reported.level == "gpu"
    base = replace(first.subject, host=mine.host, gpu=mine.gpu) if is_rank else mine
    return replace(
        first,
        kind=reported.kind,
        level="rank" if is_rank else reported.level,
        subject=replace(base, run=first.subject.run or mine.run),
        cause=first.cause or reported.cause,
        confidence="high",
        evidence=(*first.evidence, *reported.evidence),
        alternatives=(),
        needed=None,
    )


def _with_launches(verdict: Verdict, events: pl.LazyFrame) -> Verdict:
    """Return a hang that names nobody with what RAS says of all ranks, if it says it."""
    if verdict.kind != "hang" or verdict.level not in {"job", "group"}:
        return verdict
    errors = label_value("errors").fill_null("OK")
    is_even = (pl.col("code") == "RUNNING") & (errors == "OK") & label_value("invalid").is_null()
    rows = (
        events.filter(pl.col("kind") == "ras_group", label_value("invalid").is_null())
        .with_columns(is_even=is_even & (label_value("missing").fill_null("0") == "0"))
        .sort("source", "position")
        .collect()
    )
    if rows.is_empty() or not rows["is_even"].all():
        return verdict
    first = rows.row(0, named=True)
    return replace(verdict, evidence=(*verdict.evidence, quoted(first, _LAUNCHED)))
