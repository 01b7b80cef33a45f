"""Seeded draws: one independent stream for each purpose, so that no draw disturbs another."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return the random stream of one purpose.

    Args:
        seed: The simulation's seed, 0 or above.
        purpose: What is drawn; another word is another stream.
    """
    return np.random.default_rng([seed, *purpose.encode()])
