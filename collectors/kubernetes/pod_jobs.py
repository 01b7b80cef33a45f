"""The attempts of runs as their pods tell them: hosts, size, state, how they ended.

Source: Kubernetes API, core/v1 PodStatus.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import polars as pl

from collectors.frames import schema_of
from collectors.kubernetes.pod_ranks import PlacedPod
from collectors.kubernetes.stamps import kubernetes_time
from collectors.readings import reading_of

_OVER: Final = ("Succeeded", "Failed")

_TEXTS: Final = ("run", "phase", "reason", "start", "submit", "end", "exit", "host")

_ROWS: Final = schema_of(dict.fromkeys(_TEXTS, pl.String) | {"attempt": pl.Int32})


def pod_jobs(placed: Sequence[PlacedPod]) -> pl.DataFrame:
    """Return `JOBS`, one row a run and attempt, by run.

    Args:
        placed: The pods. A run has failed when one of its pods has, and is complete when all are.

    Returns:
        `exit` and `reason` are of the pod that ended first with an error; `end` is null until all
        pods are over. How large a run is, its pods do not tell: some may not be listed.
    """
    frame = pl.DataFrame([_row(one) for one in placed if one.run], schema=_ROWS).with_columns(
        *(kubernetes_time(pl.col(name)) for name in ("start", "submit", "end")),
        pl.col("host").str.to_lowercase(),
    )
    phase, hosts = pl.col("phase"), pl.col("host").drop_nulls().unique().sort()
    is_over = phase.is_in(_OVER).fill_null(value=False).all()
    jobs = (
        frame.sort("run", "attempt", "end", "start", nulls_last=True)
        .group_by("run", "attempt", maintain_order=True)
        .agg(
            pl.col("submit", "start").min(),
            pl.when(is_over).then(pl.col("end").max()).alias("end"),
            hosts.alias("hosts"),
            pl.col("exit", "reason").drop_nulls().first(),
            _state().alias("state"),
        )
        .with_columns(
            hosts=pl.when(pl.col("hosts").list.len() > 0).then("hosts"),
        )
    )
    return reading_of(jobs=jobs).jobs


def _row(one: PlacedPod) -> dict[str, Any]:
    pod = one.pod
    states = [state for container in pod.containers for state in container.states[:1]]
    return {
        "run": one.run,
        "attempt": one.attempt,
        "phase": pod.phase,
        "reason": pod.reason or _first(state.reason for state in states if state.code != "0"),
        "submit": pod.created,
        "start": pod.started,
        "end": max((state.finished for state in states if state.finished), default=None),
        "exit": _first(state.code for state in states if state.code != "0"),
        "host": pod.node,
    }


def _first(texts: Iterable[str | None]) -> str | None:
    return next((text for text in texts if text), None)


def _state() -> pl.Expr:
    """Return a run's state in the words of `JOBS` from the phases of its pods."""
    phase = pl.col("phase").fill_null("")
    return (
        pl.when((phase == "Failed").any())
        .then(pl.lit("FAILED"))
        .when((phase == "Succeeded").all())
        .then(pl.lit("COMPLETED"))
        .when((phase == "Running").any())
        .then(pl.lit("RUNNING"))
        .when((phase == "Pending").any())
        .then(pl.lit("PENDING"))
    )
