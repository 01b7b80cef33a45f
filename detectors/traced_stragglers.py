"""Find who slows a traced job, by what a simulation of its schedule says would mend it.

Source: ByteDance, Understanding Stragglers in Large Model Training Using What-if Analysis
(arXiv 2505.05713); methods reference, section 9. In health-checked fleets most stragglers are no
sick devices: 1.7 % of straggling jobs have M_W of a half. So nobody is named in a job that does
not straggle, nor for being slow where it costs the job nothing. We differ in that a worker must
also be slower than the others of its stage, which tells a heavy stage of few workers from a sick
one, and in that transfers that make up the loss name a link, or nobody.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import polars as pl

from detectors.attribution import SLOW_KINDS
from detectors.imbalance import ImbalanceParams, find_imbalance
from detectors.paces import PACES, traced_paces
from detectors.recovered_paces import recovered_paces
from detectors.stragglers import StragglerParams, find_stragglers
from detectors.traced_arrays import traces_of
from detectors.traced_words import figures_of, job_of, link_of, stage_of, worker_of
from detectors.verdicts import Verdict, verdict_frame, verdicts_of
from detectors.what_if import WhatIf, what_if

Culprit = Literal["worker", "stage", "communication", "sequences", "unknown"]

ROLE: Final = "role"
"""The cause of verdicts on ranks that are slow alike for a reason that peers do not tell."""

TOLD_BY_PEERS: Final[dict[Culprit, frozenset[str]]] = {
    "worker": SLOW_KINDS,
    "stage": frozenset({"imbalance"}),
    "communication": frozenset(),
    "sequences": SLOW_KINDS | {"imbalance"},
    "unknown": frozenset(),
}
"""Kinds of verdicts that already name the culprit, when peers tell of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceParams:
    """When a traced job straggles, and what makes up its loss.

    Attributes:
        stragglers: Which workers are slow against their peers.
        imbalance: Which stages are heavy against the others.
        min_slowdown: S from which a job straggles, S_w from which a worker costs it anything, and
            ratio to the others of its stage from which a worker is slow.
        min_share: Share of the loss that a culprit makes up.
        min_ways_alike: Correlation of forward and backward from which long sequences explain it.
    """

    stragglers: StragglerParams = field(default_factory=StragglerParams)
    imbalance: ImbalanceParams = field(default_factory=ImbalanceParams)
    min_slowdown: float = 1.1
    min_share: float = 0.5
    min_ways_alike: float = 0.9

    def __post_init__(self) -> None:
        """Refuse a slowdown that every job has."""
        if self.min_slowdown <= 1.0:
            raise ValueError(f"min_slowdown must be above 1.0, got {self.min_slowdown}")


def find_traced_stragglers(ops: pl.LazyFrame, params: TraceParams) -> pl.DataFrame:
    """Return whom or what the jobs in operation traces wait for.

    Args:
        ops: `OPS`; operations without an end, a step or a place (stage and replica) do not count.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow, flapping, degrading (workers, links), imbalance (stages, or the
        lengths of sequences), group_slow or unknown, with S, M_W and M_S in their evidence. Where a
        trace cannot be simulated, for want of places or since its order contradicts itself, workers
        and stages are compared by their compute alone. Partition key: run and attempt.

    Raises:
        SchemaError: `ops` is not an `OPS`.
    """
    jobs = [job for trace in traces_of(ops) if (job := what_if(trace)) is not None]
    judged = {(job.trace.run, job.trace.attempt) for job in jobs}
    slow = [job for job in jobs if job.slowdown >= params.min_slowdown]
    paces = pl.concat([*map(recovered_paces, slow), _other_paces(ops, judged)]).lazy()
    compared = [
        *verdicts_of(find_stragglers(paces, params.stragglers)),
        *verdicts_of(find_imbalance(paces, params.imbalance)),
    ]
    rest = [one for one in compared if _attempt(one) not in judged]
    return verdict_frame([*rest, *(one for job in slow for one in _judged(job, compared, params))])


def _other_paces(ops: pl.LazyFrame, judged: set[tuple[str | None, int | None]]) -> pl.DataFrame:
    """Return the paces of the attempts that cannot be simulated."""
    runs = ops.select("run", "attempt").unique().collect()
    others = [row for row in runs.iter_rows() if row not in judged]
    if not others:
        return pl.DataFrame(schema=PACES)
    told = pl.DataFrame(others, schema=runs.schema, orient="row").lazy()
    rest = ops.join(told, on=["run", "attempt"], how="semi", nulls_equal=True)
    return traced_paces(rest).collect()


def _attempt(verdict: Verdict) -> tuple[str | None, int | None]:
    return verdict.subject.run, verdict.subject.attempt


def _judged(job: WhatIf, compared: Iterable[Verdict], params: TraceParams) -> list[Verdict]:
    """Return the verdicts on one attempt that straggles."""
    culprit = culprit_of(job, params)
    mine = [one for one in compared if _attempt(one) == (job.trace.run, job.trace.attempt)]
    named = [one for one in mine if _stands(one, job, culprit, params)]
    if not {one.kind for one in named} & TOLD_BY_PEERS[culprit]:
        stages = {one.subject.pp for one in named if one.kind == "imbalance"}
        more = _culprits(job, culprit, params)
        named += [one for one in more if one.kind != "imbalance" or one.subject.pp not in stages]
    figures = figures_of(job)
    said = named or [job_of(job, None)]
    return [replace(one, evidence=(*one.evidence, *figures)) for one in said]


def culprit_of(job: WhatIf, params: TraceParams) -> Culprit:
    """Return what makes up most of the loss of a straggling job."""
    parts: tuple[tuple[Culprit, float | None], ...] = (
        ("worker", job.top_share),
        ("stage", job.stage_share),
    )
    if not _is_most(job.compute_share, params) and _is_most(job.transfer_share, params):
        return "communication"
    for culprit, share in parts:
        if _is_most(share, params):
            return culprit
    alike = job.ways_alike
    return "unknown" if alike is None or alike < params.min_ways_alike else "sequences"


def _is_most(share: float | None, params: TraceParams) -> bool:
    return share is not None and share >= params.min_share


def _stands(verdict: Verdict, job: WhatIf, culprit: Culprit, params: TraceParams) -> bool:
    """Return whether what peers say of a worker or stage is what costs the job its time."""
    subject = verdict.subject
    stage = int(np.searchsorted(job.trace.stages, subject.pp or 0))
    is_culprit = culprit == "stage" and stage == len(job.trace.stages) - 1
    if verdict.kind in SLOW_KINDS and subject.dp is not None:
        replica = int(np.searchsorted(job.trace.replicas, subject.dp))
        return not is_culprit and bool(job.slowdowns[stage, replica] >= params.min_slowdown)
    costs = bool(np.median(job.slowdowns[stage]) >= params.min_slowdown)
    if verdict.kind == "imbalance" and verdict.cause != ROLE:
        return is_culprit or costs
    return costs and culprit not in {"worker", "stage"}


def _culprits(job: WhatIf, culprit: Culprit, params: TraceParams) -> Sequence[Verdict]:
    """Return the verdicts on a culprit that no peers tell of."""
    if culprit == "worker":
        return _workers(job, params)
    if culprit == "stage":
        return [stage_of(job, len(job.trace.stages) - 1)]
    if culprit == "communication":
        if job.link is not None and _is_most(job.link_share, params):
            return [link_of(job, job.link)]
        return [job_of(job, "communication")]
    return [job_of(job, "sequence_lengths")] if culprit == "sequences" else []


def _workers(job: WhatIf, params: TraceParams) -> list[Verdict]:
    """Return the verdicts on the workers that make up the loss; on their stage, if they fill it."""
    costly = [place for place in job.top if job.slowdowns[place] >= params.min_slowdown]
    found: list[Verdict] = []
    for stage in sorted({stage for stage, _ in costly}):
        mine = [replica for at, replica in costly if at == stage]
        others = np.delete(job.paces[stage], mine)
        if not others.size:
            found.append(stage_of(job, stage))
            continue
        ratios = job.paces[stage] / np.median(others)
        slow = [replica for replica in mine if ratios[replica] >= params.min_slowdown]
        found += [worker_of(job, (stage, replica), float(ratios[replica])) for replica in slow]
    return found
