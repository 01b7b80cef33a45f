# The special functions that we use.

import numpy as np
from numpy.typing import NDArray

def betainc(
    a: NDArray[np.float64], b: NDArray[np.float64], x: NDArray[np.float64]
) -> NDArray[np.float64]: ...
def gammaincinv(a: NDArray[np.float64], y: float) -> NDArray[np.float64]: ...
