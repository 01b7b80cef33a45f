"""Every scenario of the simulated cluster at full size, over several seeds: who is named, and when.

Run by hand: `python -m benchmarks.scenarios [SEEDS]`. Prints a line a run. All figures SIMULATED.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from collectors.sniffing import ReadOptions
from detectors.verdicts import rfc3339
from paceline.analysis import Analysis, AnalysisParams, analyze
from paceline.simulation.orion import SCENARIOS, Truth, simulate
from paceline.sources import find_files, read_sources

DEVICE_LEVELS = frozenset({"rank", "gpu", "nic", "link", "host"})


def main(seeds: int) -> None:
    """Run all scenarios over seeds 1..N and print what was named."""
    for name in SCENARIOS:
        for seed in range(1, seeds + 1):
            folder = Path(tempfile.mkdtemp())
            began = time.perf_counter()
            truth = simulate(name, folder, seed=seed)
            analysis = run(folder / "sources")
            print(f"{name} seed {seed}: {told(analysis, truth)}", end="; ")
            print(f"{time.perf_counter() - began:.0f} s", flush=True)
            shutil.rmtree(folder)


def run(sources: Path) -> Analysis:
    """Return the analysis of a folder."""
    reading = read_sources(find_files([sources]), ReadOptions(), lambda *_: None)
    return analyze(reading, AnalysisParams(), lambda *_: None)


def told(analysis: Analysis, truth: Truth) -> str:
    """Return who was named, with the delays, beside the truth."""
    named = [one for one in analysis.verdicts if one.level in DEVICE_LEVELS]
    jobs = [one for one in analysis.verdicts if one.level not in DEVICE_LEVELS]
    parts = [f"named {[one.subject.phrase() for one in named]}"]
    parts += [f"{one.kind} {one.level} x{one.slowdown or 0:.3f}" for one in jobs]
    if truth.culprit is not None:
        wanted = truth.culprit
        parts.append(f"truth {wanted.link or (wanted.host, wanted.gpu, wanted.rank, wanted.pp)}")
    for one in analysis.incidents:
        onset = rfc3339(one.onset) if one.onset else "-"
        parts.append(f"{one.severity} onset {onset} ttd {one.ttd_seconds} ttp {one.ttp_seconds}")
    return ", ".join(parts)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
