"""A RoCE fabric as its hosts' node_exporter shows it: mlx5 ethtool and RDMA counters of each NIC.

A healthy lossless network marks far more packets than it pauses, discards nothing, and corrects
bit errors everywhere. The bad profile turns that round: pauses on every NIC, hardly any marks.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from paceline.simulation.draws import Floats, Ints, stream
from paceline.simulation.exposition import Family, label_text, write_scrapes
from paceline.simulation.lockstep import Timeline
from paceline.simulation.plan import Plan
from paceline.simulation.ports import (
    RATE_BYTES_PER_SECOND,
    count_up,
    is_moving,
    moved_bytes,
    old_counts,
)
from paceline.simulation.scenarios import GPUS_PER_NODE
from paceline.simulation.scrapes import Scrapes, plan_scrapes

_PORTS = GPUS_PER_NODE
_LINE_BITS = 425e9
_MICROSECONDS = 1e6
_MARKS_PER_SECOND = 1500.0
_PAUSED_SHARE = (0.05, 0.20)
_CALM_SHARE = 3e-7
_PAUSE_MICROSECONDS = 25.0
_ACTIVE = 4
_LINK_UP = 5

_ETHTOOL = (
    "received_prio3_pause",
    "received_prio3_pause_duration",
    "transmitted_prio3_pause",
    "transmitted_prio3_pause_duration",
    "received_discards_phy",
    "received_crc_errors_phy",
    "received_symbol_err_phy",
    "received_pcs_symbol_err_phy",
    "received_corrected_bits_phy",
    "received_bits_phy",
    "link_down_events_phy",
    "received_bytes_phy",
    "transmitted_bytes_phy",
)
_INFINIBAND = {
    "state_id": "gauge",
    "physical_state_id": "gauge",
    "rate_bytes_per_second": "gauge",
    "out_of_sequence_packets_received_total": "counter",
    "packet_sequence_errors_total": "counter",
    "local_ack_timeout_errors_total": "counter",
    "np_cnp_packets_sent_total": "counter",
    "np_ecn_marked_roce_packets_received_total": "counter",
    "rp_cnp_packets_handled_total": "counter",
}


def write_roce_pages(
    plan: Plan, timeline: Timeline, folder: Path, say: Callable[[str], None]
) -> None:
    """Write one recorded node_exporter file a host into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for node, host in enumerate(plan.machine.hosts):
        scrapes = plan_scrapes(plan, f"nics {node}", plan.fabric_scrape_seconds)
        families = _families(plan, timeline, node, scrapes)
        write_scrapes(folder / f"{host}.prom", families, scrapes.times_ms, scrapes.kept)
    say(f"network counters of {plan.machine.nodes} hosts")


def _families(plan: Plan, timeline: Timeline, node: int, scrapes: Scrapes) -> list[Family]:
    values = _values(plan, timeline, node, scrapes.seconds)
    interfaces = [label_text(device=f"eth{nic}") for nic in range(_PORTS)]
    devices = [label_text(device=f"mlx5_{nic}", port="1") for nic in range(_PORTS)]
    return [
        *(
            _family(f"node_ethtool_{name}", "untyped", interfaces, values[name])
            for name in _ETHTOOL
        ),
        *(
            _family(f"node_infiniband_{name}", kind, devices, values[name])
            for name, kind in _INFINIBAND.items()
        ),
    ]


def _family(name: str, kind: str, labels: list[str], values: Ints) -> Family:
    return Family(
        name=name,
        kind=kind,
        help=f"Port statistic {name.split('_', 2)[-1]}",
        labels=labels,
        values=values,
        decimals=None,
    )


def _values(plan: Plan, timeline: Timeline, node: int, seconds: Floats) -> dict[str, Ints]:
    draw = stream(plan.seed, f"nics {node}")
    moving = is_moving(timeline, seconds)[:, None].astype(np.float64)
    return {
        **_pauses(plan, draw, moving, seconds),
        **_marks(plan, draw, moving, seconds),
        **_errors(draw, seconds),
        "received_bytes_phy": moved_bytes(draw, timeline, seconds, _PORTS),
        "transmitted_bytes_phy": moved_bytes(draw, timeline, seconds, _PORTS),
        "state_id": _constant(seconds, _ACTIVE),
        "physical_state_id": _constant(seconds, _LINK_UP),
        "rate_bytes_per_second": _constant(seconds, RATE_BYTES_PER_SECOND),
    }


def _constant(seconds: Floats, value: int) -> Ints:
    return np.full((len(seconds), _PORTS), value, dtype=np.int64)


def _in_fault(plan: Plan, seconds: Floats) -> Floats:
    """Return by scrape 1 while every NIC pauses, else 0."""
    within = (seconds >= plan.incident.onset_seconds) & (seconds < plan.incident.clear_seconds)
    return (within & (plan.scenario.fault == "pauses"))[:, None].astype(np.float64)


def _pauses(
    plan: Plan, draw: np.random.Generator, moving: Floats, seconds: Floats
) -> dict[str, Ints]:
    """Return pause frames and their time in microseconds, either way."""
    counters: dict[str, Ints] = {}
    fault = _in_fault(plan, seconds)
    for way in ("received", "transmitted"):
        level = draw.uniform(*_PAUSED_SHARE, size=_PORTS)
        wobble = draw.normal(1.0, 0.1, size=(len(seconds), _PORTS))
        share = np.where(fault > 0, level * wobble, _CALM_SHARE) * moving
        lasted = count_up(
            draw, share * _MICROSECONDS, seconds, old_counts(draw, _PORTS, 0.2, 90_000)
        )
        counters[f"{way}_prio3_pause_duration"] = lasted
        counters[f"{way}_prio3_pause"] = np.ceil(lasted / _PAUSE_MICROSECONDS).astype(np.int64)
    return counters


def _marks(
    plan: Plan, draw: np.random.Generator, moving: Floats, seconds: Floats
) -> dict[str, Ints]:
    """Return ECN marks and the notices that answer them."""
    shape = (len(seconds), _PORTS)
    busy = draw.uniform(0.5, 1.5, size=_PORTS) * np.exp(draw.normal(0.0, 0.3, size=shape))
    rates = _MARKS_PER_SECOND * busy * moving * (1.0 - 0.95 * _in_fault(plan, seconds))
    names = {
        "np_ecn_marked_roce_packets_received_total": 1.0,
        "np_cnp_packets_sent_total": 0.3,
        "rp_cnp_packets_handled_total": 0.28,
    }
    return {
        name: count_up(draw, rates * part, seconds, old_counts(draw, _PORTS, 1.0, 10**8))
        for name, part in names.items()
    }


def _errors(draw: np.random.Generator, seconds: Floats) -> dict[str, Ints]:
    """Return errors of the wire: bits corrected everywhere, old counts, hardly anything new."""
    shape = (len(seconds), _PORTS)
    raw_ratio = 10.0 ** draw.uniform(-9.5, -7.5, size=_PORTS)
    up_seconds = draw.integers(1200, 3600, size=_PORTS)
    line = _LINE_BITS * (up_seconds + (seconds - seconds[0])[:, None])
    corrected = np.broadcast_to(raw_ratio * _LINE_BITS, shape)
    rare = {
        "received_discards_phy": (0.0, 0.05, 90_000),
        "received_crc_errors_phy": (1e-6, 0.03, 4_000),
        "received_symbol_err_phy": (1e-6, 0.03, 4_000),
        "received_pcs_symbol_err_phy": (1e-6, 0.03, 4_000),
        "link_down_events_phy": (0.0, 0.1, 5),
        "out_of_sequence_packets_received_total": (1e-3, 0.3, 20_000),
        "packet_sequence_errors_total": (1e-3, 0.3, 20_000),
        "local_ack_timeout_errors_total": (1e-5, 0.1, 300),
    }
    counters = {
        name: count_up(draw, np.full(shape, rate), seconds, old_counts(draw, _PORTS, share, most))
        for name, (rate, share, most) in rare.items()
    }
    old = (raw_ratio * _LINE_BITS * up_seconds).astype(np.int64)
    counters["received_corrected_bits_phy"] = count_up(draw, corrected, seconds, old)
    counters["received_bits_phy"] = line.astype(np.int64)
    return counters
