"""Score what is said of real runs, small ones of eight processes, against their `truth.json`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from detectors.attribution import SLOW_KINDS
from detectors.verdicts import Verdict

MAX_ONSET_STEPS: Final = 5
MAX_EFFECT_ERROR: Final = 0.2
"""As for the scenarios: five steps, a fifth of the effect."""

MIN_BURST_RATIO: Final = 1.3
"""Over the median before, from which on a step of a run with bursts was held back."""

_KINDS: Final = {"slow": {"slow"}, "burst": {"flapping"}, "hang": {"hang"}}
"""Kinds of verdicts that name the rank, by the mode of a run; in other modes there is no rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScore:
    """What was said of one run.

    Attributes:
        said: Kind, rank, onset and effect in words.
        holds: Whether all of it is right, and nothing else was said.
    """

    said: str
    holds: bool


def score_run(folder: Path, verdicts: Sequence[Verdict]) -> RunScore:
    """Return the score of a run; a slow rank's true effect is beyond what its peers slowed.

    Args:
        folder: With `truth.json` and the ranks' records.
        verdicts: What the whole product says of the folder.
    """
    truth: dict[str, Any] = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    mode, victim = str(truth["mode"]).split(":")[0], truth.get("victim")
    ranks = [one for one in verdicts if one.subject.rank is not None]
    jobs = [
        one for one in verdicts if one.level == "job" and one.kind in {*SLOW_KINDS, "group_slow"}
    ]
    if victim is None:
        holds = not ranks and bool(jobs) is (mode == "all")
        told = [*ranks, *jobs]
    else:
        told = ranks
        holds = [(one.kind in _KINDS[mode], one.subject.rank) for one in ranks] == [(True, victim)]
    expected = 1.0 if mode in {"hang", "none"} else _slow_ratio(folder, victim or 0, truth)
    if mode == "slow":
        others = [rank for rank in range(int(truth["ranks"])) if rank != victim]
        expected /= median(_slow_ratio(folder, rank, truth) for rank in others)
    near = all(_is_near(one, truth, expected) for one in told)
    words = "; ".join(_words(one) for one in told) or "nothing"
    return RunScore(said=f"{words}; true effect {expected:.2f}", holds=holds and near)


def _is_near(verdict: Verdict, truth: dict[str, Any], ratio: float) -> bool:
    """Return whether a verdict's onset and effect are those of the truth."""
    late = abs((verdict.onset_step or 0) - int(truth["onset_step"]))
    slowdown = verdict.slowdown or 1.0
    return late <= MAX_ONSET_STEPS and abs(slowdown / ratio - 1.0) <= MAX_EFFECT_ERROR


def _words(one: Verdict) -> str:
    return f"{one.kind} {one.subject.phrase()} from {one.onset_step} x{one.slowdown or 1.0:.2f}"


def _slow_ratio(folder: Path, rank: int, truth: dict[str, Any]) -> float:
    """Return how much longer a rank computed while it was held back: a ratio of medians.

    In bursts, of the steps that are clearly longer than before.
    """
    lines = (folder / f"rank{rank}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if "step" in row]
    onset = int(truth["onset_step"])
    before = [float(row["compute_s"]) for row in rows if row["step"] <= onset]
    after = [float(row["compute_s"]) for row in rows if row["step"] > onset]
    slow = (
        [one for one in after if one > MIN_BURST_RATIO * median(before)]
        if "on_s" in truth
        else after
    )
    return median(slow) / median(before)
