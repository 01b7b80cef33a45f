# The corrections for many tests.

import numpy as np
from numpy.typing import NDArray

def multipletests(
    pvals: NDArray[np.float64], *, method: str
) -> tuple[NDArray[np.bool_], NDArray[np.float64], float, float]: ...
