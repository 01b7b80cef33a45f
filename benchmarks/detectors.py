"""The scoreboard of the detectors (`make bench-detectors`): every yardstick, its bar, its figure.

The yardsticks need the public data, which `PACELINE_DATA` names; without it they say "not run". The
figures are MEASURED on this machine in this run. docs/yardsticks.md tells how each is made.
"""

import importlib
import time
from typing import Final

from benchmarks.figures import data_folder, lines_of

YARDSTICKS: Final[tuple[tuple[str, str], ...]] = (
    ("Y1 attribution", "benchmarks.yardstick_attribution"),
    ("Y2 device telemetry", "benchmarks.yardstick_devices"),
    ("Y3 change points", "benchmarks.yardstick_change_points"),
    ("Y4 repeat offenders", "benchmarks.yardstick_repeat_offenders"),
    ("Y5 hangs", "benchmarks.yardstick_hangs"),
    ("Y6 step times", "benchmarks.yardstick_step_times"),
    ("scenarios", "benchmarks.yardstick_scenarios"),
)
"""Name and module of each yardstick; a module has `figures(data) -> list[Figure]`."""


def main() -> None:
    """Print the figures of all yardsticks, one after the other."""
    data = data_folder()
    for name, module in YARDSTICKS:
        if data is None:
            print(f"{name} | not run: PACELINE_DATA is not set")
            continue
        began = time.perf_counter()
        for line in lines_of(importlib.import_module(module).figures(data)):
            print(line, flush=True)
        print(f"{name} | took {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
