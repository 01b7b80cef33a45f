"""Y5: whom flight recorder dumps of jobs with injected faults name; the whole product reads them.

Source: dumps and faults of NVIDIA/nvidia-resiliency-ext (Apache-2.0), 16 ranks a job.
"""

import re
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure
from benchmarks.scenarios import run

YARDSTICK: Final = "Y5 hangs"

BESIDE: Final = {"gpu_error_1st": "12 alone (the analysis of nvidia-resiliency-ext)"}

_TRUTH: Final = re.compile(r"^Fault ranks: \[([\d, ]+)\]", re.MULTILINE)


def figures(data: Path) -> list[Figure]:
    """Return a figure a job: the ranks that are named."""
    logs = sorted((data / "flight-recorder").glob("*/fault_injection.log"))
    return [_figure(log) for log in logs]


def _figure(log: Path) -> Figure:
    told = _TRUTH.search(log.read_text(encoding="utf-8"))
    truth = sorted(int(rank) for rank in told.group(1).split(",")) if told else []
    named = sorted(
        one.subject.rank for one in run(log.parent).verdicts if one.subject.rank is not None
    )
    return Figure(
        yardstick=YARDSTICK,
        what=f"ranks named in {log.parent.name}",
        value=", ".join(map(str, named)) or "none",
        bar=f"exactly {', '.join(map(str, truth))}",
        holds=named == truth,
        beside=BESIDE.get(log.parent.name, ""),
    )
