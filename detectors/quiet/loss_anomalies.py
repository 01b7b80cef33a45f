"""Find runs whose loss or gradient norm leaves its own trend: spikes that recover, and divergence.

Source: field reference (silent data corruption raises no error: loss and gradient-norm anomalies
are what shows); PaLM, section 5.1 (arXiv 2204.02311): spikes came with some batches in some states
of the model, and restoring an earlier checkpoint and skipping those batches helped; OPT-175B,
section 2.5 (arXiv 2205.01068). A spike that all replicas share is most likely of the data, so no
host is named here: see `detectors.quiet.replica_values` for what one replica alone shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from typing import Any, Final

import numpy as np
import polars as pl

from detectors.panels import Floats
from detectors.quiet.excursions import ExcursionParams, Rise, Spike, lasting_rise, spikes_of
from detectors.quiet.loss_series import job_losses
from detectors.quiet.restoring import proven_saves, restore_words
from detectors.verdicts import Confidence, Evidence, Subject, Verdict, verdict_frame

MAX_QUOTED: Final = 4

_JOB: Final = ("run", "attempt")

_NEEDED: Final = (
    "loss of each replica at the same step, or a replay of the same batches on other hosts, tells "
    "a sick device from bad data"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossParams:
    """When a loss or a gradient norm has left its trend.

    Attributes:
        loss: For the loss.
        gradients: For the gradient norm, which is rougher.
        min_gradient_growth: Ratio of the gradient norm, after over before, that says that a higher
            loss is no easier or harder data.
        min_dead_loss: A loss that was above this and is exactly 0 from there on is no success.
        dead_reports: So many reports in a row.
    """

    loss: ExcursionParams = field(default_factory=ExcursionParams)
    gradients: ExcursionParams = field(
        default_factory=lambda: ExcursionParams(
            min_ratio=10.0, min_scales=10.0, min_ratio_alone=10.0
        )
    )
    min_gradient_growth: float = 1.5
    min_dead_loss: float = 0.1
    dead_reports: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rising:
    """What rises: its name, the cause that this is, what is said beside it, and how sure it is."""

    name: str
    cause: str
    beside: str = ""
    is_sure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Life:
    """Reports at which something began, could be told, and ended; the last is null if it lasts."""

    start: int
    seen: int
    stop: int | None = None


def find_loss_anomalies(
    steps: pl.LazyFrame, events: pl.LazyFrame, params: LossParams
) -> pl.DataFrame:
    """Return the runs whose loss or gradient norm left its own trend.

    Args:
        steps: `STEPS`; a null loss or gradient norm was not told, and one that is no number is
            left to `detectors.numerical`. Losses of 0 and below have no ratio: where a run has
            more than a few, its loss is not judged.
        events: `EVENTS`; checkpoints tell where to go back to.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind numerical at level job, one row a run and attempt, the gravest cause of
        loss_diverged, loss_vanished, gradients_grow, gradients_vanished, loss_spike and
        gradient_spike. Nobody is named. Partition key: run and attempt.

    Raises:
        SchemaError: A frame lacks a column.
    """
    saves = proven_saves(events)
    parts = job_losses(steps).collect().partition_by(*_JOB, maintain_order=True)
    told = (_judge(part, params) for part in parts)
    return verdict_frame(_with_way_back(one, saves) for one in told if one is not None)


def _judge(part: pl.DataFrame, params: LossParams) -> Verdict | None:
    """Return the gravest finding on an attempt, with the others as evidence."""
    loss, gradients = _known(part, "loss"), _known(part, "grad_norm")
    found = [
        _divergence(loss, gradients, params),
        _death(loss, "loss_vanished", params.min_dead_loss, params),
        _growth(gradients, params),
        _death(gradients, "gradients_vanished", 0.0, params),
        _spikes(loss, "loss", params.loss),
        _spikes(gradients, "gradient", params.gradients),
    ]
    told = [one for one in found if one is not None]
    if not told:
        return None
    first, rest = told[0], told[1:]
    seen = [piece for one in rest for piece in one.evidence[:1]]
    return replace(first, evidence=(*first.evidence, *seen))


def _known(part: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the reports that have a value, as `value`."""
    return part.with_columns(value=pl.col(name)).drop_nulls("value")


def _logs(rows: pl.DataFrame) -> tuple[pl.DataFrame, Floats]:
    """Return the reports with a positive value, and the logs; none where many are not positive."""
    positive = rows.filter(pl.col("value") > 0)
    kept = positive if 20 * positive.height >= 19 * rows.height else positive.clear()
    return kept, np.log(kept["value"].to_numpy())


def _divergence(loss: pl.DataFrame, gradients: pl.DataFrame, params: LossParams) -> Verdict | None:
    rows, values = _logs(loss)
    rise = lasting_rise(values, params.loss)
    if rise is None:
        return None
    growth = _ratio_since(gradients, int(rows["step"][rise.start]))
    grew = growth is not None and growth >= params.min_gradient_growth
    if not (grew or rise.goes_on or rise.height >= log(params.loss.min_ratio_alone)):
        return None
    is_sure = rise.height >= log(params.loss.min_ratio_alone) and (grew or rise.goes_on)
    beside = f"; gradient norm x{growth:.3g} since" if growth is not None else ""
    told = _Rising(name="loss", cause="loss_diverged", beside=beside, is_sure=is_sure)
    return _lasting(rows, rise, told, params.loss)


def _growth(gradients: pl.DataFrame, params: LossParams) -> Verdict | None:
    rows, values = _logs(gradients)
    rise = lasting_rise(values, params.gradients)
    if rise is None:
        return None
    told = _Rising(name="gradient norm", cause="gradients_grow")
    return _lasting(rows, rise, told, params.gradients)


def _ratio_since(rows: pl.DataFrame, step: int) -> float | None:
    """Return the median from a step on over the median before; null where either is not known."""
    is_after = pl.col("step") >= step
    after, before = (rows.filter(side)["value"].median() for side in (is_after, ~is_after))
    if not (isinstance(after, float) and isinstance(before, float)) or before <= 0.0:
        return None
    return after / before


def _lasting(rows: pl.DataFrame, rise: Rise, told: _Rising, params: ExcursionParams) -> Verdict:
    """Return the verdict on a rise that lasts."""
    last = float(rows["value"].tail(params.lasting_reports).to_numpy().mean())
    what = (
        f"{told.name} {last:.4g} over the last {params.lasting_reports} reports, "
        f"x{exp(rise.height):.3g} of its best level {exp(rise.best):.4g}, and it has not come back"
        f"{told.beside}"
    )
    seen = min(rise.start + params.lasting_reports, rows.height) - 1
    life = _Life(start=rise.start, seen=seen)
    return _verdict(rows, life, told.cause, [what], "high" if told.is_sure else "medium")


def _death(rows: pl.DataFrame, cause: str, least: float, params: LossParams) -> Verdict | None:
    """Return the verdict on a value that is exactly 0 to the end, after it was something.

    Beside a figure that is no number it is another finding's matter.
    """
    count = params.dead_reports
    values = rows["value"].to_numpy()
    alive = np.flatnonzero(values != 0.0)
    start = int(alive.max(initial=-1)) + 1
    if start < count or values.size - start < count or np.median(values[:start]) <= least:
        return None
    if not rows["is_number"][start:].all():
        return None
    what = (
        f"{cause.split('_', maxsplit=1)[0]} exactly 0 in {values.size - start} reports to the end, "
        f"{values[start - 1]:.4g} before: training does nothing any more"
    )
    life = _Life(start=start, seen=start + count - 1)
    return _verdict(rows, life, cause, [what], "medium")


def _spikes(rows: pl.DataFrame, name: str, params: ExcursionParams) -> Verdict | None:
    """Return the verdict on the spikes of a series; they say little, and name nobody."""
    kept, values = _logs(rows)
    # What stays up so long without another sign of trouble is other data, not a spike.
    spikes = [
        one
        for one in spikes_of(values, params)
        if one.height >= log(params.min_spike_ratio)
        and (one.stop is not None or values.size - one.start < params.lasting_reports)
    ]
    if not spikes:
        return None
    words = [_spike_words(kept, spike, name) for spike in spikes[:MAX_QUOTED]]
    if len(spikes) > 1:
        words = [*words, f"{len(spikes)} spikes in all"]
    life = _Life(start=spikes[0].start, seen=spikes[0].start, stop=spikes[-1].stop)
    verdict = _verdict(kept, life, f"{name}_spike", words, "low")
    return replace(verdict, action=_ONCE if len(spikes) == 1 else _AGAIN)


def _spike_words(rows: pl.DataFrame, spike: Spike, name: str) -> str:
    what = "loss" if name == "loss" else "gradient norm"
    back = (
        "not back when the data ended"
        if spike.stop is None
        else f"back at step {rows['step'][spike.stop]}"
    )
    return (
        f"{what} {rows['value'][spike.peak]:.4g} at step {rows['step'][spike.peak]}, "
        f"x{exp(spike.height):.3g} of its trend {exp(spike.trend):.4g}, {back}"
    )


def _verdict(
    rows: pl.DataFrame, life: _Life, cause: str, words: Sequence[str], confidence: Confidence
) -> Verdict:
    first: dict[str, Any] = rows.row(life.start, named=True)
    return Verdict(
        kind="numerical",
        level="job",
        subject=Subject(run=first["run"], attempt=first["attempt"]),
        onset=first["end_time"],
        detected=rows["end_time"][life.seen],
        cleared=None if life.stop is None else rows["end_time"][life.stop],
        onset_step=first["step"],
        cleared_step=None if life.stop is None else rows["step"][life.stop],
        cause=cause,
        confidence=confidence,
        peers="the run's own earlier reports",
        peer_count=0,
        evidence=tuple(
            Evidence(source=first["source"] or "steps", time=first["end_time"], what=what)
            for what in words
        ),
        needed=_NEEDED,
    )


_AGAIN: Final = (
    "training goes on; spikes that come again want a lower learning rate, clipping, or a look at "
    "the batches of these steps. No device is to be drained for them"
)

_ONCE: Final = (
    "training goes on: nothing to do for one spike; look at the batch of this step if it comes "
    "again"
)


def _with_way_back(verdict: Verdict, saves: pl.DataFrame) -> Verdict:
    """Return the verdict with where to go back to; a spike that is over needs nothing."""
    if verdict.action is not None:
        return verdict
    way = restore_words(saves, verdict.subject.run, verdict.onset_step or 0)
    action = f"stop the run, {way}, and go on with other batches; if it comes again, on other hosts"
    return replace(verdict, action=action)
