class TensorProto:
    dtype: int
