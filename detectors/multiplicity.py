"""False-discovery rates: how many findings of a fleet would be luck.

Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995).
"""

from collections.abc import Sequence

import numpy as np


def discovery_rates(p_values: Sequence[float], tests: int) -> list[float]:
    """Return the Benjamini-Hochberg q-value of each finding.

    Args:
        p_values: Chances of the findings under noise alone; tests that found nothing are left out.
        tests: How many tests were made in all; at least the number of findings.

    Returns:
        The q-values in the order given; each at most 1.
    """
    if not p_values:
        return []
    values = np.asarray(p_values)
    order = np.argsort(values, kind="stable")
    ranks = np.arange(1, values.size + 1)
    rates = np.minimum(1.0, values[order] * max(tests, values.size) / ranks)
    rates = np.minimum.accumulate(rates[::-1])[::-1]
    result = np.empty_like(rates)
    result[order] = rates
    return [float(rate) for rate in result]
