"""Y1: whom operation traces with published answers name, what they cost, and how fast it is told.

Source: traces and metrics of ByteDance-Seed/StragglerAnalysis (Apache-2.0). The wall time is of a
process that starts, reads the trace, judges it and ends; its file cache is warm, and modules are
compiled before, as they are where a wheel is installed. Beside it stands a process that only starts
Python, Polars and NumPy.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.figures import Figure

if TYPE_CHECKING:
    import polars as pl

YARDSTICK: Final = "Y1 attribution"

TRUTH: Final[dict[str, tuple[str, frozenset[tuple[int, int]]]]] = {
    "AR": ("slow", frozenset({(0, 0)})),
    "ST": ("imbalance", frozenset()),
    "SE": ("imbalance", frozenset()),
}
"""Kind of the verdict, and which workers (replica, stage) are at fault."""

REFERENCE_SECONDS: Final = {"AR": 2.0, "ST": 0.9}
"""What the published analysis takes for S alone, as the yardstick's page has it."""

RANK_RATIO: Final = 0.75
"""Below this share of the best rank's speed the rule of nvidia-resiliency-ext flags a worker."""

OURS: Final = "reading and judging"

MAX_SHARE_ERROR: Final = 0.03

RUNS: Final = 5

SEEDS: Final = range(1, 7)
"""Of the rows that are lost, and of the numbers that workers get instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is said of a trace.

    Attributes:
        kinds: Of all verdicts.
        named: Workers that are called slow: (replica, stage).
        figures: S, M_W and M_S.
    """

    kinds: frozenset[str]
    named: frozenset[tuple[int, int]]
    figures: tuple[float, float, float]


def figures(data: Path) -> list[Figure]:
    """Return the figures of all traces in the public data."""
    folder = data / "straggler-traces"
    names = [name for name in TRUTH if (folder / f"trace-{name}.parquet").exists()]
    return [figure for name in names for figure in _figures_of(folder, name)]


def _figures_of(folder: Path, name: str) -> list[Figure]:
    trace, (kind, culprits) = folder / f"trace-{name}.parquet", TRUTH[name]
    answer = answer_of(trace)
    changed = list(_answers_to_changes(trace))
    kept = sum((one.kinds, one.named) == (answer.kinds, answer.named) for one in changed)
    flagged = flagged_by_best_rank(trace)
    return [
        Figure(
            yardstick=YARDSTICK,
            what=f"{name}: kinds of verdicts",
            value=", ".join(sorted(answer.kinds)) or "none",
            bar=kind,
            holds=answer.kinds == {kind},
        ),
        Figure(
            yardstick=YARDSTICK,
            what=f"{name}: Jaccard of the workers named with the truth",
            value=f"{jaccard(answer.named, culprits):.2f}",
            bar="1.00",
            holds=answer.named == culprits,
            beside=f"0.75 of the best rank flags {len(flagged)}: {jaccard(flagged, culprits):.2f}",
        ),
        *_errors(folder, name, answer),
        Figure(
            yardstick=YARDSTICK,
            what=f"{name}: same class and set after shuffling, renumbering, losing 20 % of rows",
            value=f"{kept} of {len(changed)}",
            bar="all",
            holds=kept == len(changed),
        ),
        Figure(
            yardstick=YARDSTICK,
            what=f"{name}: largest error of S in those, per cent",
            value=f"{_worst(answer, changed):.2f}",
            bar="1.00",
            holds=_worst(answer, changed) <= 1.0,
        ),
        *_worst_shares(name, answer, changed),
        *_times(trace, name),
    ]


def _worst(answer: Answer, changed: list[Answer]) -> float:
    return max(abs(one.figures[0] / answer.figures[0] - 1) for one in changed) * 100


def _worst_shares(name: str, answer: Answer, changed: list[Answer]) -> Iterator[Figure]:
    """Yield the largest errors of M_W and M_S in a changed trace."""
    for at, what in enumerate(("M_W", "M_S"), start=1):
        worst = max(abs(one.figures[at] - answer.figures[at]) for one in changed)
        yield Figure(
            yardstick=YARDSTICK,
            what=f"{name}: largest error of {what} in those",
            value=f"{worst:.4f}",
            bar=f"{MAX_SHARE_ERROR}",
            holds=worst <= MAX_SHARE_ERROR,
        )


def jaccard(found: frozenset[tuple[int, int]], truth: frozenset[tuple[int, int]]) -> float:
    """Return the share of two sets that they have in common; 1 for two empty ones."""
    return len(found & truth) / len(found | truth) if found | truth else 1.0


def _errors(folder: Path, name: str, answer: Answer) -> Iterator[Figure]:
    """Yield how far S, M_W and M_S are from the published values, where those are there."""
    try:
        worker, stage = (
            json.loads((folder / f"{kind}-{name}.json").read_text(encoding="utf-8"))
            for kind in ("mw", "ms")
        )
    except FileNotFoundError:
        return
    told = (worker["tori"] / worker["tideal"], worker["Mw"], stage["Ms"])
    error = abs(answer.figures[0] / told[0] - 1) * 100
    value = f"{answer.figures[0]:.5f}, {error:.3f} % off {told[0]:.5f}"
    yield Figure(yardstick=YARDSTICK, what=f"{name}: S", value=value, bar="1 %", holds=error <= 1.0)
    for what, ours, theirs in zip(("M_W", "M_S"), answer.figures[1:], told[1:], strict=True):
        yield Figure(
            yardstick=YARDSTICK,
            what=f"{name}: {what}",
            value=f"{ours:.5f}, {abs(ours - theirs):.5f} off {theirs:.5f}",
            bar=f"{MAX_SHARE_ERROR}",
            holds=abs(ours - theirs) <= MAX_SHARE_ERROR,
        )


def _times(trace: Path, name: str) -> Iterator[Figure]:
    """Yield the wall times of cold processes: of the functions alone, and of the command line."""
    reference = REFERENCE_SECONDS.get(name)
    ways = {
        OURS: ["-m", "benchmarks.yardstick_attribution", str(trace)],
        "importing Polars and NumPy": ["-c", "import numpy, polars"],
        "paceline analyze": ["-m", "paceline", "analyze", str(trace), "--format", "json"],
    }
    for what, arguments in ways.items():
        wall, cpu = _least_seconds(arguments)
        third = reference / 3 if reference and what == OURS else None
        yield Figure(
            yardstick=YARDSTICK,
            what=f"{name}: {what}, cold, best of {RUNS}, s",
            value=f"{wall:.2f}, of which the processor {cpu:.2f}",
            bar=f"{third:.2f}" if third else "",
            holds=wall <= third if third else None,
            beside=f"reference {reference}, for S alone" if reference else "",
        )


def _least_seconds(arguments: list[str]) -> tuple[float, float]:
    """Return the least wall time and processor's time of a process whose modules are compiled."""
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        _seconds(arguments, environment)
        spent = [_seconds(arguments, environment) for _ in range(RUNS)]
    wall, cpu = (min(times) for times in zip(*spent, strict=True))
    return wall, cpu


def _seconds(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the wall time and the processor's time of a process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def answer_of(trace: Path) -> Answer:
    """Return what is said of a trace."""
    import polars as pl

    return _answer(pl.read_parquet(trace))


def _answer(rows: "pl.DataFrame") -> Answer:
    """Return what is said of a trace's rows."""
    from collectors.training.operation_traces import read_operation_frame
    from detectors.traced_arrays import traces_of
    from detectors.traced_stragglers import TraceParams, find_traced_stragglers
    from detectors.verdicts import verdicts_of
    from detectors.what_if import what_if

    ops = read_operation_frame(rows.lazy(), "trace").ops.lazy()
    verdicts = verdicts_of(find_traced_stragglers(ops, TraceParams()))
    job = what_if(traces_of(ops)[0])
    assert job is not None, "the trace contradicts itself"
    places = [(one.subject.dp, one.subject.pp) for one in verdicts if one.level == "rank"]
    return Answer(
        kinds=frozenset(one.kind for one in verdicts),
        named=frozenset((dp, pp) for dp, pp in places if dp is not None and pp is not None),
        figures=(job.slowdown, job.top_share or 0.0, job.stage_share or 0.0),
    )


def _answers_to_changes(trace: Path) -> Iterator[Answer]:
    """Yield what is said of a trace in another order, without some rows, with other numbers."""
    import polars as pl

    rows = pl.read_parquet(trace)
    yield _answer(rows.sample(fraction=1.0, shuffle=True, seed=1))
    replicas = rows["dp_rank"].unique().sort()
    for seed in SEEDS:
        yield _answer(rows.sample(fraction=0.8, shuffle=True, seed=seed))
        others = replicas.sample(fraction=1.0, shuffle=True, seed=seed)
        back = dict(zip(others.to_list(), replicas.to_list(), strict=True))
        dp = pl.col("dp_rank").replace_strict(replicas, others, return_dtype=pl.Int16)
        answer = _answer(rows.with_columns(dp_rank=dp, rank=1000 - pl.col("rank")))
        yield replace(answer, named=frozenset((back[dp], pp) for dp, pp in answer.named))


def flagged_by_best_rank(trace: Path) -> frozenset[tuple[int, int]]:
    """Return whom the rule of nvidia-resiliency-ext flags: compute against the best rank's."""
    import polars as pl

    rows = pl.read_parquet(trace).filter(pl.col("optype").cast(pl.String).str.ends_with("compute"))
    sums = rows.group_by("dp_rank", "stage", "step").agg(pl.col("duration").sum())
    paces = sums.group_by("dp_rank", "stage").agg(pl.col("duration").median())
    slow = paces.filter(pl.col("duration").min() / pl.col("duration") < RANK_RATIO)
    return frozenset(slow.select("dp_rank", "stage").iter_rows())


def main(trace: Path) -> None:
    """Read and judge a trace, and print the verdicts: what a cold process is timed for."""
    import polars as pl

    from collectors.training.operation_traces import read_operation_frame
    from detectors.traced_stragglers import TraceParams, find_traced_stragglers

    reading = read_operation_frame(pl.scan_parquet(trace), trace.name)
    print(find_traced_stragglers(reading.ops.lazy(), TraceParams()).rows())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
