from collections.abc import Sequence

from tensorboard.compat.proto.tensor_pb2 import TensorProto

class Summary:
    class Value:
        tag: str
        simple_value: float
        tensor: TensorProto
        def HasField(self, field_name: str) -> bool: ...

    value: Sequence[Summary.Value]
