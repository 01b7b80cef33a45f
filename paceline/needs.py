"""What each detector must be given to answer, and what stays in the dark without it.

The table speaks our language (frames and signals of `collectors.signals`), so it holds for every
vendor and version. A detector with an empty need answers the harmless half of its question at
most; that it found nothing is then no sign of health.
"""

from typing import Final

from paceline.job_needs import JOB_NEEDS
from paceline.need import Need
from paceline.port_needs import PORT_NEEDS

NEEDS: Final[tuple[Need, ...]] = (
    *JOB_NEEDS,
    *PORT_NEEDS,
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
    Need(
        "lemons",
        "accounts with nodes, over weeks",
        "jobs",
        ("start", "end", "hosts", "state"),
        "nodes that end job after job look like bad luck",
    ),
    Need(
        "lemons",
        "what names a faulty node",
        "events",
        ("xid", "ecc", "gpu_health", "gpu_lost", "node_state", "node_failure", "memory_error"),
        "a failed job of many nodes blames all of them alike, and no lemon can be told",
    ),
)
"""One row a thing a detector looks at; without any of them it is blind altogether."""
