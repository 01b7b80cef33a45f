"""Collectives and the network as NCCL and PyTorch tell of them."""
