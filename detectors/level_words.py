"""Put the levels of a slow stretch into words: one ratio hides that it came in steps.

Source: `detectors/change_points.py`, on the logarithms of the stretch alone. A level counts from
the change that an episode needs itself (methods reference, section 5).
"""

from itertools import pairwise
from math import log
from typing import Final

import numpy as np
import polars as pl

from detectors.change_points import ChangePointParams, find_change_points
from detectors.verdicts import Evidence

LEVELS: Final = ChangePointParams(min_ticks=10, min_shift=log(1.10))
"""Ten steps and a ratio of 1.10, as a strong episode needs."""


def level_evidence(rows: pl.DataFrame) -> tuple[Evidence, ...]:
    """Return one row a level of a stretch, in order; none where it has one level only.

    Args:
        rows: `JOB_PACES` of the stretch, by step; all `step_seconds` are known and above zero.
    """
    seconds, steps = rows["step_seconds"].to_numpy(), rows["step"].to_list()
    changes = find_change_points(np.log(seconds), LEVELS)
    if not changes:
        return ()
    bounds = [0, *(one.at for one in changes), rows.height]
    found: list[Evidence] = []
    for start, stop in pairwise(bounds):
        usual = float(np.median(seconds[start:stop]))
        what = f"steps {steps[start]} to {steps[stop - 1]}: {usual:.4g} s"
        found.append(Evidence(source="steps", time=rows["end_time"][start], what=what))
    return tuple(found)
