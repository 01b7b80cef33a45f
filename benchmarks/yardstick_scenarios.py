"""Score the whole chain of detectors on planted jobs: slow devices, and red herrings.

Each scenario runs with five seeds through `paceline.findings`, as a reading of files would. All
figures are SIMULATED: the jobs are made by `benchmarks.planted_jobs`, no data is needed. Run one
alone with `python -m benchmarks.yardstick_scenarios WORDS`.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, median
from typing import Final

from benchmarks.figures import Figure, lines_of
from benchmarks.planted_attempts import ATTEMPT_CASES
from benchmarks.planted_cases import Case
from benchmarks.planted_herrings import HERRING_CASES
from benchmarks.planted_jobs import healthy_job, reading_of_job
from benchmarks.planted_links import LINK_CASES
from benchmarks.planted_slow import SLOW_CASES
from benchmarks.scenario_scores import Score, score
from collectors.readings import Reading, join_readings
from paceline.findings import DetectorParams, find_all

YARDSTICK: Final = "scenarios"
SEEDS: Final = (1, 2, 3, 4, 5)
MIN_MEAN: Final = 0.9
MAX_FALSE_PER_KILODAY: Final = 1.0
MINUTES_A_DAY: Final = 1440

CASES: Final[Mapping[str, Case]] = {**SLOW_CASES, **LINK_CASES, **HERRING_CASES, **ATTEMPT_CASES}


def figures(_: Path) -> list[Figure]:
    """Return a row a scenario, and the false alarms of them all."""
    scores = {name: [run(case, seed)[0] for seed in SEEDS] for name, case in CASES.items()}
    return figures_of(scores)


def run(case: Case, seed: int) -> tuple[Score, str]:
    """Return the score of one run of a scenario, and what was said in it."""
    job = healthy_job(seed, case.shape)
    case.story(job)
    readings = [reading_of_job(job, case.hidden)]
    if case.after is not None:
        readings.append(reading_of_job(case.after(job), case.hidden))
    verdicts = find_all(_joined(readings), DetectorParams(), lambda *_: None)
    said = ", ".join(f"{one.kind} {one.level} {one.subject.phrase()}" for one in verdicts)
    return score(verdicts, case.truth, job), said


def _joined(readings: list[Reading]) -> Reading:
    return join_readings(readings) if len(readings) > 1 else readings[0]


def figures_of(scores: Mapping[str, list[Score]]) -> list[Figure]:
    """Return the figures of scenarios, and of all of them together."""
    found = [_figure(name, told) for name, told in scores.items()]
    wrong = sum(one.extra for told in scores.values() for one in told)
    days = sum(
        len(told) * CASES[name].shape.ranks * CASES[name].shape.minutes / MINUTES_A_DAY
        for name, told in scores.items()
    )
    rate = 1000.0 * wrong / days
    delays = [
        one.delay_seconds
        for told in scores.values()
        for one in told
        if one.delay_seconds is not None
    ]
    late = f", median delay {median(delays):.0f} s, {max(delays):.0f} s at most" if delays else ""
    found.append(
        Figure(
            yardstick=YARDSTICK,
            what=f"false alarms per 1000 device-days over {days:.0f} device-days",
            value=f"{rate:.2f}{late}",
            bar=f"<= {MAX_FALSE_PER_KILODAY}",
            holds=rate <= MAX_FALSE_PER_KILODAY,
        )
    )
    return found


def _figure(name: str, told: list[Score]) -> Figure:
    value = mean(one.value for one in told)
    delays = [one.delay_seconds for one in told if one.delay_seconds is not None]
    why = "; ".join(sorted({one.why for one in told if one.why}))
    late = f", delay {median(delays):.0f} s" if delays else ""
    return Figure(
        yardstick=YARDSTICK,
        what=f"{name}, mean of {len(told)} seeds",
        value=f"{value:.2f}{late}{f' ({why})' if why else ''}",
        bar=f">= {MIN_MEAN}",
        holds=value >= MIN_MEAN,
    )


def main(words: str) -> None:
    """Print the figures of the scenarios whose names hold the words."""
    for name, case in CASES.items():
        if words in name:
            told = [run(case, seed) for seed in SEEDS]
            print(*lines_of([_figure(name, [one for one, _ in told])]), sep="\n", flush=True)
            print(*{f"    {said}" for _, said in told}, sep="\n", flush=True)


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
