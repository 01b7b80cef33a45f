"""An InfiniBand fabric as one treydock/infiniband_exporter (v0.10) shows it, both ends of a link.

Errors are counted by the receiver. A dirty link shows symbol errors, link recoveries and receive
errors at one end; what a switch lets in damaged, other hosts of that leaf count as remote physical
errors: they are innocent. Error counters are narrow and stay at their maximum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paceline.simulation.draws import Bools, Floats, Ints, stream
from paceline.simulation.exposition import Family, label_text, write_scrapes
from paceline.simulation.lockstep import Timeline
from paceline.simulation.machine import leaf_name, leaf_port
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

_WIDTH_16 = 65_535
_WIDTH_8 = 255
_TICKS_PER_SECOND = 6.25e9
_PACKET_BYTES = 4_000
_FIRST_SWITCH_LID = 200
_FIRST_HOST_LID = 600
_SYMBOLS_PER_SECOND = 3.0
_RECOVERIES_PER_SECOND = 0.05
_DAMAGED_PER_SECOND = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One side of all host links.

    Attributes:
        kind: `switch` or `hca`, as in the metric names.
        labels: By link, guid and port.
        receives_errors: By link, whether this end's receiver is the dirty one.
        sends_errors: By link, whether this end sends into the dirty receiver.
        hears_damage: By link, whether this end gets packets that were damaged before.
    """

    kind: str
    labels: list[str]
    receives_errors: Bools
    sends_errors: Bools
    hears_damage: Bools


def write_infiniband_page(
    plan: Plan, timeline: Timeline, folder: Path, say: Callable[[str], None]
) -> None:
    """Write the exporter's recorded scrapes into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    scrapes = plan_scrapes(plan, "fabric", plan.fabric_scrape_seconds)
    families = [_build_info(scrapes)]
    for side in _sides(plan):
        families += _names(plan, side, scrapes) + _counters(plan, timeline, side, scrapes)
    path = folder / "infiniband_exporter.prom"
    write_scrapes(path, families, scrapes.times_ms, scrapes.kept)
    say(f"network counters of both ends of {plan.machine.ranks} links")


def _switch_guid(name: str) -> str:
    rail, number = name.removeprefix("leaf-r").split("-")
    return f"0xb83fd2030a{int(rail):02x}{int(number):04x}"


def _host_guid(node: int, rail: int) -> str:
    return f"0xb83fd20377{node:04x}{rail:02x}"


def _links(plan: Plan) -> list[tuple[int, int]]:
    """Return node and rail of each host link, in the order of the ranks."""
    return [(node, rail) for node in range(plan.machine.nodes) for rail in range(GPUS_PER_NODE)]


def _sides(plan: Plan) -> list[_Side]:
    links = _links(plan)
    dirty = np.arange(len(links)) == plan.incident.rank
    at_switch = bool(plan.incident.at_switch)
    neighbours = _same_leaf(plan, links) & ~dirty & at_switch
    nowhere = np.zeros(len(links), dtype=np.bool_)
    return [
        _Side(
            kind="switch",
            labels=[
                label_text(guid=_switch_guid(leaf_name(node, rail)), port=str(leaf_port(node)))
                for node, rail in links
            ],
            receives_errors=dirty & at_switch,
            sends_errors=dirty & (not at_switch),
            hears_damage=nowhere,
        ),
        _Side(
            kind="hca",
            labels=[label_text(guid=_host_guid(node, rail), port="1") for node, rail in links],
            receives_errors=dirty & (not at_switch),
            sends_errors=dirty & at_switch,
            hears_damage=neighbours,
        ),
    ]


def _same_leaf(plan: Plan, links: list[tuple[int, int]]) -> Bools:
    """Return by link whether it ends at the leaf switch of the dirty one."""
    if plan.incident.rank is None:
        return np.zeros(len(links), dtype=np.bool_)
    leaf = leaf_name(*links[plan.incident.rank])
    return np.array([leaf_name(node, rail) == leaf for node, rail in links])


def _info(name: str, text: str, labels: list[str], scrapes: Scrapes, value: int = 1) -> Family:
    values = np.full((len(scrapes.seconds), len(labels)), value, dtype=np.int64)
    return Family(name=name, kind="gauge", help=text, labels=labels, values=values, decimals=None)


def _build_info(scrapes: Scrapes) -> Family:
    labels = [label_text(branch="HEAD", goversion="go1.23.4", version="0.10.0")]
    return _info("infiniband_exporter_build_info", "Version of the exporter", labels, scrapes)


def _names(plan: Plan, side: _Side, scrapes: Scrapes) -> list[Family]:
    """Return the series that carry names: what a guid is, and what each port is plugged into."""
    prefix = f"infiniband_{side.kind}"
    is_switch = side.kind == "switch"
    devices = _switch_labels(plan) if is_switch else _host_labels(plan)
    rate = "port_rate_bytes_per_second" if is_switch else "rate_bytes_per_second"
    rated = side.labels if is_switch else [text.split(",")[0] for text in side.labels]
    return [
        _info(f"{prefix}_info", "Name of the device", devices, scrapes),
        _info(f"{prefix}_uplink_info", "Other end of a port", _uplinks(plan, side), scrapes),
        _info(f"{prefix}_{rate}", "Effective rate", rated, scrapes, RATE_BYTES_PER_SECOND),
    ]


def _switch_names(plan: Plan) -> list[str]:
    return sorted({leaf_name(node, rail) for node, rail in _links(plan)})


def _switch_labels(plan: Plan) -> list[str]:
    return [
        label_text(guid=_switch_guid(name), lid=str(lid), switch=name)
        for lid, name in enumerate(_switch_names(plan), start=_FIRST_SWITCH_LID)
    ]


def _host_name(plan: Plan, node: int, rail: int) -> str:
    return f"{plan.machine.hosts[node]} mlx5_{rail}"


def _host_labels(plan: Plan) -> list[str]:
    return [
        label_text(
            guid=_host_guid(node, rail),
            hca=_host_name(plan, node, rail),
            lid=str(_FIRST_HOST_LID + node * GPUS_PER_NODE + rail),
        )
        for node, rail in _links(plan)
    ]


def _uplinks(plan: Plan, side: _Side) -> list[str]:
    """Return by link what the other end of this side's port is."""
    far_end = _host_end if side.kind == "switch" else _switch_end
    return [
        f"{own},{far_end(plan, node, rail)}"
        for own, (node, rail) in zip(side.labels, _links(plan), strict=True)
    ]


def _host_end(plan: Plan, node: int, rail: int) -> str:
    return label_text(
        switch=leaf_name(node, rail),
        uplink=_host_name(plan, node, rail),
        uplink_guid=_host_guid(node, rail),
        uplink_lid=str(_FIRST_HOST_LID + node * GPUS_PER_NODE + rail),
        uplink_port="1",
        uplink_type="CA",
    )


def _switch_end(plan: Plan, node: int, rail: int) -> str:
    leaf = leaf_name(node, rail)
    return label_text(
        hca=_host_name(plan, node, rail),
        uplink=leaf,
        uplink_guid=_switch_guid(leaf),
        uplink_lid=str(_FIRST_SWITCH_LID + _switch_names(plan).index(leaf)),
        uplink_port=str(leaf_port(node)),
        uplink_type="SW",
    )


def _counters(plan: Plan, timeline: Timeline, side: _Side, scrapes: Scrapes) -> list[Family]:
    draw = stream(plan.seed, f"links {side.kind}")
    seconds = scrapes.seconds
    values = {**_traffic(draw, timeline, seconds, len(side.labels))}
    values |= _errors(plan, draw, side, seconds)
    values["transmit_wait"] = _waits(plan, draw, timeline, side, seconds)
    return [
        Family(
            name=f"infiniband_{side.kind}_port_{name}_total",
            kind="counter",
            help=f"Infiniband {side.kind} port {name}",
            labels=side.labels,
            values=counts,
            decimals=None,
        )
        for name, counts in values.items()
    ]


def _traffic(
    draw: np.random.Generator, timeline: Timeline, seconds: Floats, links: int
) -> dict[str, Ints]:
    sent = moved_bytes(draw, timeline, seconds, links)
    received = moved_bytes(draw, timeline, seconds, links)
    return {
        "transmit_data_bytes": sent,
        "receive_data_bytes": received,
        "transmit_packets": sent // _PACKET_BYTES,
        "receive_packets": received // _PACKET_BYTES,
    }


def _within(plan: Plan, seconds: Floats) -> Floats:
    """Return by scrape 1 while the link is dirty, else 0."""
    onset, clear = plan.incident.onset_seconds, plan.incident.clear_seconds
    return ((seconds >= onset) & (seconds < clear))[:, None].astype(np.float64)


def _errors(plan: Plan, draw: np.random.Generator, side: _Side, seconds: Floats) -> dict[str, Ints]:
    fault = _within(plan, seconds)
    dirty = fault * side.receives_errors
    damaged = fault * side.hears_damage * _DAMAGED_PER_SECOND
    heard = damaged / max(1, int(side.hears_damage.sum()))
    table = {
        "symbol_error": (1e-5 + dirty * _SYMBOLS_PER_SECOND, 0.06, 400, _WIDTH_16),
        "link_error_recovery": (dirty * _RECOVERIES_PER_SECOND, 0.03, 6, _WIDTH_8),
        "link_downed": (dirty * 0.0, 0.1, 5, _WIDTH_8),
        "receive_errors": (1e-6 + dirty * _DAMAGED_PER_SECOND, 0.03, 200, _WIDTH_16),
        "receive_remote_physical_errors": (2e-6 + heard, 0.03, 900, _WIDTH_16),
        "transmit_discards": (dirty * 0.0 + 1e-6, 0.03, 3000, _WIDTH_16),
    }
    links = len(side.labels)
    counters = {
        name: np.minimum(
            count_up(draw, rates, seconds, old_counts(draw, links, share, most)), width
        )
        for name, (rates, share, most, width) in table.items()
    }
    full = int(draw.choice(np.flatnonzero(~side.receives_errors)))
    counters["symbol_error"][:, full] = _WIDTH_16
    return counters


def _waits(
    plan: Plan, draw: np.random.Generator, timeline: Timeline, side: _Side, seconds: Floats
) -> Ints:
    """Return ticks without credit: some everywhere, more before the dirty receiver."""
    links = len(side.labels)
    calm = draw.uniform(0.002, 0.02, size=links)
    share = calm + _within(plan, seconds) * (0.01 + 0.12 * side.sends_errors)
    rates = share * _TICKS_PER_SECOND * is_moving(timeline, seconds)[:, None]
    return count_up(draw, rates, seconds, old_counts(draw, links, 1.0, 10**12))
