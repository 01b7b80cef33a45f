"""What is said of a traced job: the figures of its simulation, and whom they name.

Source: methods reference, section 9 (how to read S, S_w, M_W and M_S).
"""

from typing import Final

import numpy as np

from detectors.verdicts import Evidence, Kind, Subject, Verdict
from detectors.what_if import WhatIf

SOURCE: Final = "what-if"

MAX_MAPPED: Final = 32
"""Workers above which the map of S_w is left out."""

_JOBS: Final[dict[str | None, tuple[Kind, str, str | None]]] = {
    "sequence_lengths": (
        "imbalance",
        "no device to drain: spread long sequences evenly over replicas and micro-batches",
        None,
    ),
    "communication": (
        "group_slow",
        "no worker to drain: look at what all transfers share",
        "counters of the fabric at the same time tell which part of it",
    ),
    None: (
        "unknown",
        "drain nobody; collect the input named below",
        "device signals of all workers, or a trace of more steps",
    ),
}
"""Kind, next step and needed input of verdicts on whole jobs, by cause."""


def figures_of(job: WhatIf) -> tuple[Evidence, ...]:
    """Return what the simulation says of the whole job: S, the shares of the loss, a map of S_w."""
    shares = {
        f"M_W {{}} (the worst {len(job.top)} of {job.slowdowns.size} workers)": job.top_share,
        "M_S {} (the last stage)": job.stage_share,
        "all compute {}": job.compute_share,
        "all communication {}": job.transfer_share,
        "the longest link {}": job.link_share,
    }
    told = [words.format(_number(one)) for words, one in shares.items() if one is not None]
    alike = _number(job.ways_alike) if job.ways_alike is not None else "unknown"
    what = (
        f"S {job.slowdown:.4f}: a step takes {job.step_seconds:.4g} s, its ideal would be "
        f"{job.ideal_seconds:.4g} s; of the loss, ideal times would mend {', '.join(told)}; "
        f"correlation of forward and backward {alike}"
    )
    return (Evidence(source=SOURCE, what=what), *_map(job))


def _number(share: float) -> str:
    """Return a share with three decimals; what rounds to zero has no sign."""
    return f"{round(share, 3) + 0.0:.3f}"


def _map(job: WhatIf) -> tuple[Evidence, ...]:
    """Return S_w of every worker, a line a stage, where they are few."""
    if job.slowdowns.size > MAX_MAPPED:
        return ()
    rows = (
        f"stage {stage}: " + " ".join(f"{one:.2f}" for one in row)
        for stage, row in zip(job.trace.stages.tolist(), job.slowdowns, strict=True)
    )
    return (Evidence(source=SOURCE, what=f"S_w by replica; {'; '.join(rows)}"),)


def worker_of(job: WhatIf, place: tuple[int, int], excess: float) -> Verdict:
    """Return the verdict on a worker that makes up most of the loss."""
    stage, replica = place
    rank = int(job.trace.ranks[place])
    what = (
        f"computes {job.paces[place]:.4g} s a step, x{excess:.2f} of the others of its stage; "
        f"alone it would slow the job x{job.slowdowns[place]:.2f} (S_w)"
    )
    return Verdict(
        kind="slow",
        level="rank",
        subject=Subject(
            run=job.trace.run,
            attempt=job.trace.attempt,
            rank=None if rank < 0 else rank,
            worker=None if rank < 0 else rank,
            dp=int(job.trace.replicas[replica]),
            pp=int(job.trace.stages[stage]),
        ),
        onset_before_data=True,
        slowdown=excess,
        cause="compute",
        confidence="medium",
        peers="the other replicas of its stage, and the ideal job",
        peer_count=job.slowdowns.shape[1] - 1,
        evidence=(Evidence(source=SOURCE, what=what),),
        action="look at the device signals of this worker's GPUs and host; swap the node out if "
        "they confirm",
    )


def stage_of(job: WhatIf, stage: int) -> Verdict:
    """Return the verdict on a stage that has more work than the others."""
    others = np.delete(job.paces, stage, axis=0)
    ratio = float(np.median(job.paces[stage]) / np.median(others))
    name = int(job.trace.stages[stage])
    what = f"stage {name} computes x{ratio:.2f} of the other {len(others)} stages"
    return Verdict(
        kind="imbalance",
        level="group",
        subject=Subject(run=job.trace.run, attempt=job.trace.attempt, pp=name),
        onset_before_data=True,
        slowdown=ratio,
        cause="partitioning",
        confidence="medium" if job.slowdowns.shape[1] > 1 else "low",
        peers="the other stages of the same attempt",
        peer_count=len(others),
        evidence=(Evidence(source=SOURCE, what=what),),
        alternatives=_lone(job, stage),
        action="no device to drain: move layers (or the loss head) off this stage",
    )


def _lone(job: WhatIf, stage: int) -> tuple[str, ...]:
    """Return whom else it could be where the stage has one worker: nothing tells the two apart."""
    return (f"worker {job.trace.ranks[stage, 0]}",) if job.slowdowns.shape[1] == 1 else ()


def link_of(job: WhatIf, link: tuple[int, int]) -> Verdict:
    """Return the verdict on a link between two stages whose transfers make up most of the loss."""
    stage, replica = link
    ends = [
        f"stage {job.trace.stages[at]} of replica {job.trace.replicas[replica]}"
        for at in (stage, stage + 1)
    ]
    return Verdict(
        kind="slow",
        level="link",
        subject=Subject(run=job.trace.run, attempt=job.trace.attempt, link=" - ".join(ends)),
        onset_before_data=True,
        slowdown=job.slowdown,
        cause="slow_link",
        confidence="medium",
        peers="the links between the other stages and replicas",
        peer_count=(job.slowdowns.shape[0] - 1) * job.slowdowns.shape[1] - 1,
        action="look at the ports and counters of both workers' NICs, and of what lies between",
        needed="counters of both ends tell which end it is",
    )


def job_of(job: WhatIf, cause: str | None) -> Verdict:
    """Return the verdict on a job that straggles by no single worker, stage or link.

    Args:
        job: Its figures.
        cause: `sequence_lengths`, `communication`, or null where nothing explains it.
    """
    kind, action, needed = _JOBS[cause]
    return Verdict(
        kind=kind,
        level="job",
        subject=Subject(run=job.trace.run, attempt=job.trace.attempt),
        onset_before_data=True,
        slowdown=job.slowdown,
        cause=cause,
        confidence="low" if cause is None else "medium",
        peers="the same job with ideal operations",
        action=action,
        needed=needed,
    )
