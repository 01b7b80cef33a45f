"""What each detector must be given to answer, and what stays in the dark without it.

The table speaks our language (frames and signals of `collectors.signals`), so it holds for every
vendor and version. A detector with an empty need answers the harmless half of its question at
most; that it found nothing is then no sign of health.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a detector looks at.

    Attributes:
        detector: Its name in `paceline.findings.DETECTORS`.
        what: The thing, in words.
        frame: The frame that holds it.
        names: Signals (of samples) or kinds (of events) of which any one will do; columns (of
            other frames) that a row must have.
        blinds: What nobody can say without it.
    """

    detector: str
    what: str
    frame: str
    names: tuple[str, ...]
    blinds: str


_THROTTLES: Final = (
    "clock_event_reasons",
    "thermal_violation_seconds_total",
    "hw_thermal_slowdown_seconds_total",
    "sw_thermal_slowdown_seconds_total",
    "clock_event_window_count",
)

_LINE_ERRORS: Final = (
    "symbol_errors_total",
    "fec_uncorrected_codewords_total",
    "fec_uncorrected_symbols_total",
    "coding_errors_total",
)

_PAUSES: Final = (
    "pause_received_seconds_total",
    "pause_received_frames_total",
    "pause_sent_seconds_total",
    "pause_sent_frames_total",
    "transmit_wait_ticks_total",
)

NEEDS: Final[tuple[Need, ...]] = (
    Need(
        "stragglers",
        "step times by rank",
        "steps",
        ("rank", "step_seconds"),
        "a slow rank cannot be named: the job's own pace shows that it is slow, not who",
    ),
    Need(
        "stragglers",
        "compute time by rank",
        "steps",
        ("rank", "compute_seconds"),
        "a rank that is slow and ranks that wait for it look alike",
    ),
    Need(
        "scores",
        "scores of nvidia-resiliency-ext",
        "events",
        ("perf_score",),
        "what that tool holds for slow is not passed on; step times by rank say it better",
    ),
    Need(
        "short reports",
        "compute time by rank",
        "steps",
        ("rank", "compute_seconds"),
        "a slow rank in a log of few steps is not named",
    ),
    Need(
        "reported extremes",
        "reports of Megatron's straggler detector",
        "events",
        ("straggler_report",),
        "what the job itself says of its slowest rank is not heard",
    ),
    Need(
        "imbalance",
        "stages of ranks",
        "placements",
        ("rank", "pp"),
        "uneven stages of the model look like slow devices",
    ),
    Need("jobs", "step times", "steps", ("step_seconds",), "a slow job is not seen at all"),
    Need(
        "short jobs",
        "step times",
        "steps",
        ("step_seconds",),
        "a slow job that reports by epochs is not seen",
    ),
    Need(
        "between steps",
        "step times with stamps",
        "steps",
        ("step_seconds", "end_time"),
        "time that a job loses between its steps is not seen",
    ),
    Need(
        "numerical",
        "loss and gradient norm",
        "steps",
        ("loss",),
        "silent data corruption and diverging runs go unnoticed",
    ),
    Need(
        "lost progress",
        "checkpoints that were not found",
        "events",
        ("from_scratch",),
        "a run that began at nothing again looks like one that goes on",
    ),
    Need(
        "loss scales",
        "overflows of the loss scale",
        "events",
        ("loss_scale",),
        "a run that skips every step looks like one that trains",
    ),
    Need(
        "throughput changes",
        "TFLOP/s beside step times",
        "events",
        ("throughput_changed",),
        "a changed formula of TFLOP/s looks like a change of speed",
    ),
    Need(
        "doubtful figures",
        "step times with stamps",
        "steps",
        ("step_seconds", "end_time"),
        "a step timer that does not wait for the device is believed",
    ),
    Need(
        "devices",
        "SM clocks of GPUs",
        "samples",
        ("sm_clock_hertz",),
        "a throttled GPU is found only by the job that it slows",
    ),
    Need(
        "devices",
        "reasons why clocks are low",
        "samples",
        _THROTTLES,
        "a slow GPU is found, but heat, power cap and power brake cannot be told apart",
    ),
    Need(
        "devices",
        "how busy GPUs are",
        "samples",
        ("gpu_busy_ratio", "sm_active_ratio", "tensor_active_ratio"),
        "a GPU that idles and one that is slow look alike",
    ),
    Need(
        "pcie links",
        "PCIe generation and width of GPUs",
        "samples",
        ("pcie_link_generation", "pcie_link_lanes"),
        "a GPU whose PCIe link came up slow is found only by its effects",
    ),
    Need(
        "crashes",
        "errors in job logs",
        "events",
        ("traceback", "process_exit", "oom", "restart", "run_end"),
        "why a job died is not known",
    ),
    Need(
        "crashes",
        "faults in kernel logs",
        "events",
        ("xid", "sxid", "gpu_lost", "fabric_manager"),
        "a GPU fault behind a crash is seen only by the last-Xid gauge, which repeats nothing",
    ),
    Need(
        "hangs",
        "collectives by rank",
        "collectives",
        ("rank", "sequence"),
        "a hang is seen by silence alone, and the rank that everybody waits for is not known",
    ),
    Need(
        "launches",
        "RAS reports of NCCL",
        "events",
        ("ras_group", "rank_missing", "process_missing", "process_dead", "ras_standing"),
        "a process that is gone is known by the complaints of others alone",
    ),
    Need(
        "late ranks",
        "timed collectives by rank",
        "transfers",
        ("group", "rank", "sequence", "seconds"),
        "who comes last to the collectives shows in step phases alone",
    ),
    Need(
        "slow paths",
        "bandwidth between hosts",
        "transfers",
        ("group", "bus_bytes_per_second"),
        "a slow path is seen by its ports' counters alone",
    ),
    Need(
        "benchmarks",
        "ends of communication tests",
        "events",
        ("benchmark_end", "benchmark_failure"),
        "that a test failed is not told",
    ),
    Need(
        "corruption",
        "checked results of communication tests",
        "transfers",
        ("wrong_count",),
        "data that came out wrong looks like any other",
    ),
    Need(
        "network faults",
        "NCCL's network errors",
        "events",
        ("net_error", "net_warning"),
        "which link broke a collective is not known",
    ),
    Need("links", "errors of the line", "samples", _LINE_ERRORS, "dirty links are not seen"),
    Need(
        "links",
        "cables between ports",
        "links",
        ("node_a", "node_b"),
        "an error names the port that counts it, not the link or the end that is damaged",
    ),
    Need(
        "degrading links",
        "bit error ratios before correction",
        "samples",
        ("pre_fec_error_ratio",),
        "a link shows only when correction fails, without early warning",
    ),
    Need(
        "flaps",
        "link state changes",
        "samples",
        ("link_downed_total", "carrier_downs_total", "carrier_changes_total"),
        "flapping links are not seen",
    ),
    Need(
        "widths",
        "rate or width of links",
        "samples",
        ("port_rate_bytes_per_second", "link_width_lanes", "network_speed_bytes_per_second"),
        "a link that came up slower than it can is not seen",
    ),
    Need(
        "travelled errors",
        "CRC and marked-bad packets",
        "samples",
        ("crc_errors_total", "remote_physical_errors_total", "receive_errors_total"),
        "damage that travels cannot be followed to the first hop",
    ),
    Need("congestion", "pauses or waits of ports", "samples", _PAUSES, "congestion is not seen"),
    Need(
        "marks",
        "ECN marks and notifications",
        "samples",
        ("ecn_marked_packets_total", "cnp_sent_total", "cnp_handled_total"),
        "congestion control that is off or ignored is not seen",
    ),
    Need(
        "buffers",
        "drops by port or priority",
        "samples",
        ("receive_discards_total", "priority_discards_total", "buffer_drops_total"),
        "a lossless class that loses packets is not seen",
    ),
    Need(
        "storms",
        "pause storms",
        "samples",
        ("pause_storms_total", "pause_storm_errors_total", "pause_storm_warnings_total"),
        "a pause storm shows only as congestion",
    ),
    Need(
        "unready hosts",
        "receivers that were not ready",
        "samples",
        ("out_of_buffer_total", "receiver_not_ready_sent_total"),
        "a slow host looks like a slow network",
    ),
    Need(
        "bus errors",
        "PCIe errors of NICs",
        "samples",
        ("pci_receive_integrity_errors_total", "pci_transmit_integrity_errors_total"),
        "a NIC that its own host slows looks like a slow network",
    ),
    Need(
        "MTUs",
        "MTU of ports",
        "samples",
        ("active_mtu_bytes", "mtu_bytes"),
        "peers with different MTUs are not seen",
    ),
    Need(
        "blind ports",
        "error counters of ports",
        "samples",
        ("symbol_errors_total", "receive_errors_total", "link_downed_total"),
        "counters that stand at their top are taken for calm ones",
    ),
    Need(
        "port faults",
        "port error events",
        "events",
        ("port_error", "link_down"),
        "what a switch itself says of its ports is not heard",
    ),
    Need(
        "status faults",
        "what ports say of their own links",
        "events",
        ("link_bad_signal", "link_training_failed", "link_negotiation_failed", "module_alarm"),
        "a link that never comes up shows only as missing",
    ),
    Need(
        "collectors",
        "reports of exporters on themselves",
        "events",
        ("collector_failed", "stale_source"),
        "a collector that failed and a host without that device look alike",
    ),
    Need(
        "telemetry",
        "power of GPUs",
        "samples",
        ("power_watts", "power_instant_watts"),
        "an exporter that repeats old values looks like perfect health",
    ),
    Need(
        "histories",
        "accounts of a scheduler",
        "jobs",
        ("start", "state"),
        "attempts that a requeued job had before are not missed",
    ),
)
"""One row a thing a detector looks at; without any of them it is blind altogether."""
