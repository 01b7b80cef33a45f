# What of TensorBoard we call: it has no type hints of its own.
