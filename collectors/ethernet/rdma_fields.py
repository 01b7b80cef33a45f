"""Which hardware counter of an RDMA port is which signal, by the kernel's names.

Source: Linux kernel, `drivers/infiniband/hw/mlx5/counters.c`; NVIDIA's guide to RDMA counters.
"""

from typing import Final

import polars as pl

from collectors.ethernet.roce_fields import HARDWARE
from collectors.frames import schema_of

_MORE: Final = (
    ("rx_write_requests", "rdma_write_requests_total"),
    ("rx_read_requests", "rdma_read_requests_total"),
    ("rx_atomic_requests", "rdma_atomic_requests_total"),
    ("roce_adp_retrans_to", "adaptive_retransmit_timeouts_total"),
    ("roce_slow_restart_used", "slow_restarts_used_total"),
    ("roce_slow_restart_cnps", "slow_restart_notices_total"),
    ("roce_slow_restart_trans", "slow_restart_transitions_total"),
    ("req_cqe_error", "request_completion_errors_total"),
    ("resp_cqe_error", "response_completion_errors_total"),
    ("req_cqe_flush_error", "request_flush_errors_total"),
    ("resp_cqe_flush_error", "response_flush_errors_total"),
    ("req_remote_access_errors", "request_access_errors_total"),
    ("resp_remote_access_errors", "response_access_errors_total"),
    ("req_transport_retries_exceeded", "retries_exceeded_total"),
    ("req_rnr_retries_exceeded", "receiver_not_ready_exceeded_total"),
    ("resp_rnr_nak", "receiver_not_ready_sent_total"),
)

RDMA_FIELDS: Final = schema_of({"key": pl.String, "signal": pl.String, "factor": pl.Float64})


def rdma_fields() -> pl.DataFrame:
    """Return `RDMA_FIELDS`: one row a counter by the kernel's name."""
    rows = [(kernel, f"{signal}_total", 1.0) for _, kernel, signal in HARDWARE]
    rows += [(kernel, signal, 1.0) for kernel, signal in _MORE]
    return pl.DataFrame(
        [*rows, ("lifespan", "counter_lifespan_seconds", 1e-3)], RDMA_FIELDS, orient="row"
    )
