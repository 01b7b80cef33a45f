from typing import Any

import numpy as np
from tensorboard.compat.proto.tensor_pb2 import TensorProto

def make_ndarray(tensor: TensorProto) -> np.ndarray[Any, np.dtype[Any]]: ...
