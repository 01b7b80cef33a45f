"""Join a process that died with the rank that does not come: one fault, seen from both sides.

Source: methods of the NCCL and PyTorch reference, sections 12.1 and 12.7. A kernel log knows a host
and a GPU and no rank, collectives know a rank and no host. A hard fault outranks what came after it
if it lies on a member of the group that stands; a rank is absent because its process is dead.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

import polars as pl

from detectors.verdicts import Verdict

MAX_SKEW: Final = timedelta(seconds=60)
"""By so much a fault may be stamped later than the complaint that follows it: clocks differ."""

_OUTSIDE: Final = ("operator", "scheduler")
"""Causes that are nobody's death."""


def named_deaths(verdicts: Sequence[Verdict], roles: pl.DataFrame) -> list[Verdict]:
    """Return the findings, a crash and the absence that follows from it as one.

    Args:
        verdicts: Of all detectors over the same inputs.
        roles: `ROLES`: a host on which none of the run's ranks is has no part in its hang.

    Returns:
        The findings in order. A hang of ranks of a host, or GPU, on which a process died before is
        left out; where ranks have no known host, one that is absent and one process that died, if
        there are no others, are the same: the crash has its rank.
    """
    found = [one for one in verdicts if not any(_is_there(one, other) for other in verdicts)]
    for crash in [one for one in found if _is_death(one)]:
        hangs = [one for one in found if one.kind == "hang" and _is_of_run(one, crash)]
        rivals = [one for one in found if one.kind == "crash" and _is_of_run(one, crash)]
        if len(hangs) == len(rivals) == 1 and _may_be(crash, hangs[0], roles):
            found = _joined(found, crash, hangs[0])
    return found


def _is_death(verdict: Verdict) -> bool:
    """Return whether a process died on a host, and nobody knows which rank it was."""
    who = verdict.subject
    is_known = who.host is not None or who.gpu is not None
    return (
        verdict.kind == "crash"
        and verdict.cause not in _OUTSIDE
        and who.rank is None
        and is_known
        and verdict.level != "job"
    )


def _is_of_run(verdict: Verdict, crash: Verdict) -> bool:
    return None in {verdict.subject.run, crash.subject.run} or (
        verdict.subject.run == crash.subject.run
    )


def _is_there(hang: Verdict, crash: Verdict) -> bool:
    """Return whether a hang is of ranks on the host where a process died before it."""
    if hang.kind != "hang" or not _is_death(crash) or not _is_of_run(hang, crash):
        return False
    mine, its = hang.subject, crash.subject
    same_gpu = None in {mine.gpu, its.gpu} or mine.gpu == its.gpu
    return mine.host is not None and mine.host == its.host and same_gpu and _precedes(crash, hang)


def _precedes(crash: Verdict, hang: Verdict) -> bool:
    """Return whether a fault is not known to have come after the hang was told."""
    if crash.onset is None or hang.detected is None:
        return True
    return crash.onset <= hang.detected + MAX_SKEW


def _may_be(crash: Verdict, hang: Verdict, roles: pl.DataFrame) -> bool:
    """Return whether the process that died may be the rank, of no known host, that is absent."""
    if hang.level != "rank" or hang.subject.host is not None or crash.onset is None:
        return False
    run = pl.lit(hang.subject.run, dtype=pl.String)
    hosts = roles.filter(pl.col("run").eq_missing(run))["host"].drop_nulls()
    is_member = hosts.is_empty() or crash.subject.host in {None, *hosts}
    return is_member and hang.detected is not None and _precedes(crash, hang)


def _joined(verdicts: list[Verdict], crash: Verdict, hang: Verdict) -> list[Verdict]:
    """Return the findings with the crash on the rank, without the hang."""
    told = replace(
        crash,
        subject=replace(crash.subject, rank=hang.subject.rank),
        evidence=(*crash.evidence, *hang.evidence[:1]),
    )
    return [told if one is crash else one for one in verdicts if one is not hang]
