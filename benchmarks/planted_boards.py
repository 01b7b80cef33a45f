"""A simulated fleet with one incident, as the series that boards ask for.

One GPU is held back by heat, and its rank slows its run; one link loses blocks and flaps; one node
is a lemon; one objective burns. Everything else is well. The names are those of the contract and
of the exporters' tables, so that a board of any version can be filled.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from dashboards.exporters.choices import WINDOW_SECONDS, Sources, build_sources
from dashboards.exporters.tables import Source
from slo import metrics
from slo.records import BUDGET, BUDGET_LEFT, PERIOD_BURN, record_name

START = 1767225600
"""2026-01-01 UTC, so that no query meets the machine's own clock."""

CLUSTER = "c1"
CULPRIT_NODE = 2
CULPRIT_GPU = 1
LEMON_NODE = 3
BAD_PORT = 5

Value = Callable[[int], float | None]


class Series(NamedTuple):
    """One series: its name with labels, and its value at each minute; null is no sample."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How large the fleet is, and when its incident begins.

    Attributes:
        nodes: Hosts; four at least.
        gpus: GPUs of each.
        minutes: Length of the history.
        onset: Minute after which the culprits are sick.
        sources: Exporters, in the versions that they have.
    """

    nodes: int = 4
    gpus: int = 2
    minutes: int = 120
    onset: int = 60
    sources: Sources = field(default_factory=build_sources)

    @property
    def end(self) -> int:
        """The second of the last sample."""
        return START + 60 * self.minutes


def node_name(node: int) -> str:
    """Return the name of a node."""
    return f"n{node:03d}"


def device_name(node: int, gpu: int) -> str:
    """Return the name of a GPU, as detectors name it."""
    return f"GPU-{node:04d}-{gpu:02d}"


CULPRIT = {
    "rank": {"rank": "5", "node": node_name(CULPRIT_NODE), "gpu": str(CULPRIT_GPU)},
    "device": {
        "node": node_name(CULPRIT_NODE),
        "device": device_name(CULPRIT_NODE, CULPRIT_GPU),
    },
    "link": {"switch": "leaf1", "port": f"Ethernet{BAD_PORT}"},
    "lemon": {"node": node_name(LEMON_NODE)},
    "objective": {"objective": "training-steps"},
}
"""Who is to blame for what, with the labels that a board names it by. The rank is that of a fleet
of two GPUs a node."""


def build_history(fleet: Fleet) -> str:
    """Return the whole history as OpenMetrics text, the series of one metric together."""
    series = sorted(_series(fleet), key=lambda one: one.name)
    lines = [
        f"{one.name} {value!r} {START + 60 * minute}"
        for one in series
        for minute in range(fleet.minutes + 1)
        if (value := one.value(minute)) is not None
    ]
    return "\n".join([*lines, "# EOF", ""])


def _series(fleet: Fleet) -> Iterator[Series]:
    yield from _runs(fleet)
    yield from _ranks(fleet)
    yield from _nodes(fleet)
    yield from _devices(fleet)
    yield from _cards(fleet)
    yield from _ports(fleet)
    yield from _optics(fleet)
    yield from _records(fleet)
    yield from _alerts(fleet)
    yield from _service(fleet)


def _named(name: str, labels: dict[str, str], value: Value) -> Series:
    inside = ",".join(f'{key}="{text}"' for key, text in {"cluster": CLUSTER, **labels}.items())
    return Series(f"{name}{{{inside}}}", value)


def _exported(source: Source, key: str, labels: dict[str, str], value: Value) -> Series:
    theirs = {_label(source, ours): text for ours, text in labels.items()}
    return _named(source.name_of(key), theirs, value)


def _label(source: Source, ours: str) -> str:
    names = source.exporter.labels.get(ours, {ours: ours})
    until = source.exporter.versions.index(source.version) + 1
    held = [names[one] for one in source.exporter.versions[:until] if one in names]
    return held[-1] if held else ours


def _steady(value: float) -> Value:
    return lambda _: value


def _after(fleet: Fleet, well: float, sick: float) -> Value:
    return lambda minute: sick if minute > fleet.onset else well


def _grown(fleet: Fleet, well: float, sick: float) -> Value:
    """Return a counter that grows by one amount a minute, and by another after the onset."""
    return lambda minute: well * min(minute, fleet.onset) + sick * max(0, minute - fleet.onset)


def _runs(fleet: Fleet) -> Iterator[Series]:
    for run, sick in (("llama", True), ("vision", False)):
        labels = {"run": run}
        share = 0.6 if sick else 1.0
        for metric, well, bad in (
            (metrics.STEPS_TOTAL, 6.0, 6.0 * share),
            (metrics.SLOW_STEPS_TOTAL, 0.0, 6.0 * share if sick else 0.0),
            (metrics.PRODUCTIVE_SECONDS_TOTAL, 57.0, 57.0 * share),
            (metrics.WALL_SECONDS_TOTAL, 60.0, 60.0),
        ):
            yield _named(metric.name, labels, _grown(fleet, well, bad))
        yield _named(metrics.STEP_SECONDS.name, labels, _after(fleet, 10.0, 10.0 / share))


def _ranks(fleet: Fleet) -> Iterator[Series]:
    for node in range(fleet.nodes):
        for gpu in range(fleet.gpus):
            is_culprit = (node, gpu) == (CULPRIT_NODE, fleet.gpus - 1)
            labels = {
                "run": "llama" if node < fleet.nodes - 1 else "vision",
                "rank": str(node * fleet.gpus + gpu),
                "node": node_name(node),
                "gpu": str(gpu),
            }
            usual = 1 + (node * fleet.gpus + gpu) / (100 * fleet.nodes * fleet.gpus)
            slow = _after(fleet, usual, 1.6 if is_culprit else usual)
            waits = _after(fleet, 0.2, 0.05 if is_culprit else 0.4)
            yield _named(metrics.RANK_SLOWDOWN_RATIO.name, labels, slow)
            yield _named(metrics.RANK_COMM_WAIT_RATIO.name, labels, waits)


def _node_state(fleet: Fleet, node: int) -> Value:
    if node == CULPRIT_NODE:
        return _after(fleet, 1.0, 3.0)
    if node == LEMON_NODE:
        quarter = fleet.minutes // 4
        return lambda minute: (3.0, 4.0, 4.0, 3.0, 3.0)[minute // quarter]
    return _steady(1.0)


def _nodes(fleet: Fleet) -> Iterator[Series]:
    hosts = fleet.sources.hosts
    for node in range(fleet.nodes):
        labels = {"node": node_name(node)}
        is_lemon = node == LEMON_NODE
        score = 4.5 if is_lemon else 0.2 + node / 1000
        yield _named(metrics.NODE_STATE.name, labels, _node_state(fleet, node))
        yield _named(metrics.LEMON_SCORE.name, labels, _steady(score))
        for signal, lemon, usual in (
            ("failures_alone", 4, 0),
            ("failures_shared", 3, 1),
            ("excluding_jobs", 2, 0),
            ("xids", 3, 0),
            ("tickets", 1, 0),
            ("drains", 2, 0),
            ("hours", 500, 600),
        ):
            count = float(lemon if is_lemon else usual)
            yield _named(metrics.LEMON_SIGNALS.name, labels | {"signal": signal}, _steady(count))
        waits = 12.0 if node == CULPRIT_NODE else 1.0
        yield _exported(hosts, "storage_wait", labels, _grown(fleet, 1.0, waits))
        booted = 1000.0 if is_lemon else 0.0
        boot = _after(fleet, START - 1e6, START - 1e6 + booted)
        yield _exported(hosts, "boot_time", labels, boot)


def _devices(fleet: Fleet) -> Iterator[Series]:
    for node in range(fleet.nodes):
        for gpu in range(fleet.gpus):
            is_culprit = (node, gpu) == (CULPRIT_NODE, fleet.gpus - 1)
            yield from _gpu(fleet, node, gpu, is_culprit=is_culprit)
            labels = {"node": node_name(node), "device": device_name(node, gpu)}
            for signal, sick in (("sm_clock_hertz", 0.7), ("temperature_celsius", 1.3)):
                off = _after(fleet, 1.01, sick if is_culprit else 1.01)
                yield _named(metrics.DEVICE_PEER_RATIO.name, labels | {"signal": signal}, off)


def _gpu(fleet: Fleet, node: int, gpu: int, *, is_culprit: bool) -> Iterator[Series]:
    source = fleet.sources.gpus
    labels = {
        "node": node_name(node),
        "device": device_name(node, gpu),
        "gpu": str(gpu),
        "modelName": "NVIDIA H100 80GB HBM3",
    }
    for key, well, sick in (
        ("sm_clock", 1980.0, 1386.0),
        ("temperature", 62.0, 89.0),
        ("memory_temperature", 70.0, 95.0),
        ("power", 650.0, 480.0),
        ("power_limit", 700.0, 700.0),
        ("busy_percent", 97.0, 99.0),
        ("throttle_mask", 0.0, 104.0),
        ("pcie_width", 16.0, 8.0),
        ("rows_remapped", 0.0, 1.0),
        ("rows_pending", 0.0, 1.0),
        ("last_xid", 0.0, 63.0),
    ):
        yield _exported(source, key, labels, _after(fleet, well, sick if is_culprit else well))
    for key, well, sick in (
        ("pcie_replays", 0.0, 3.0),
        ("nvlink_replays", 0.0, 2.0),
        ("nvlink_crc_errors", 0.0, 2.0),
        ("ecc_corrected", 0.0, 4.0),
        ("ecc_uncorrected", 0.0, 0.1),
        ("heat_throttled_ns", 0.0, 24e9),
        ("power_throttled_ns", 3e9, 3e9),
        ("sync_throttled_ns", 0.0, 0.0),
    ):
        yield _exported(source, key, labels, _grown(fleet, well, sick if is_culprit else well))
    xid = {"xid": "63"} if is_culprit else {}
    counted = _after(fleet, 0.0, 1.0 if is_culprit else 0.0)
    yield _exported(source, "xids_in_window", labels | xid, counted)


def _cards(fleet: Fleet) -> Iterator[Series]:
    hosts = fleet.sources.hosts
    for node in range(fleet.nodes):
        sick = node == CULPRIT_NODE
        labels = {"node": node_name(node), "device": "mlx5_0"}
        for key, well, bad in (
            ("symbol_errors", 0.0, 5.0),
            ("links_downed", 0.0, 0.1),
            ("out_of_sequence", 0.0, 9.0),
            ("ack_timeouts", 0.0, 1.0),
            ("retransmits", 0.0, 7.0),
            ("cnps_sent", 10.0, 90.0),
            ("cnps_handled", 10.0, 80.0),
            ("ecn_marked", 10.0, 95.0),
            ("pauses_received", 1.0, 600.0),
            ("pause_received_us", 60.0, 9e6),
            ("pauses_sent", 0.0, 2.0),
            ("pause_sent_us", 0.0, 60.0),
        ):
            grown = _grown(fleet, well, bad if sick else well)
            yield _exported(hosts, key, labels | {"port": "1"}, grown)
        paused = _grown(fleet, 0.01, 9.0 if sick else 0.01)
        yield _named(metrics.PORT_PAUSED_SECONDS_TOTAL.name, labels, paused)
        yield _named(metrics.PORT_WATCHED_SECONDS_TOTAL.name, labels, _grown(fleet, 60.0, 60.0))


def _port_names(fleet: Fleet) -> Iterator[tuple[str, int, bool]]:
    for leaf in range(1, 3):
        for port in range(1, max(BAD_PORT, fleet.nodes) + 2):
            yield f"leaf{leaf}", port, (leaf, port) == (1, BAD_PORT)


def _ports(fleet: Fleet) -> Iterator[Series]:
    ports, streams = fleet.sources.ports, fleet.sources.streams
    for switch, port, sick in _port_names(fleet):
        labels = {"switch": switch, "port": f"Ethernet{port}"}
        score = _after(fleet, 0.02, 0.97 if sick else 0.02)
        yield _named(metrics.LINK_FAULT_SCORE.name, labels, score)
        peer = labels | {"peer": f"to {node_name(port - 1)} rail 0"}
        down = 7 if sick else 10**9
        status: Value = lambda minute, down=down: (  # noqa: E731 -- a lambda a port
            2.0 if minute > fleet.onset and minute % down == 0 else 1.0
        )
        yield _exported(ports, "status", peer, status)
        yield _exported(ports, "errors_in", peer, _grown(fleet, 0.0, 30.0 if sick else 0.0))
        yield _exported(ports, "speed_mbps", peer, _steady(400_000.0))
        for key in ("bytes_in", "bytes_out"):
            full = 2.1e12 + 1e10 * port
            yield _exported(ports, key, peer, _grown(fleet, full, full / 2 if sick else full))
        for key, well, bad in (
            ("fec_corrected", 40.0, 4000.0),
            ("fec_uncorrectable", 0.0, 6.0),
            ("transitions", 0.0, 0.3),
        ):
            yield _exported(streams, key, labels, _grown(fleet, well, bad if sick else well))
        for key, well, bad in (("ecn_marked", 100.0, 900.0), ("queue_drops", 0.0, 20.0)):
            grown = _grown(fleet, well, bad if sick else well)
            yield _exported(streams, key, labels | {"queue": "3"}, grown)
        yield _exported(streams, "last_clear_ns", labels, _steady((START - 86400) * 1e9))


def _optics(fleet: Fleet) -> Iterator[Series]:
    streams = fleet.sources.streams
    for switch, port, sick in _port_names(fleet):
        labels = {"switch": switch, "module": f"transceiver{port}"}
        ber = _after(fleet, 1e-9, 3e-5 if sick else 1e-9)
        yield _exported(streams, "pre_fec_ber", labels, ber)
        yield _exported(streams, "module_temperature", labels, _steady(60.0 if sick else 48.0))
        warning = labels | {"severity": "WARNING"}
        yield _exported(streams, "rx_power_low", warning, _steady(-8.0))
        for lane in range(2):
            light = _after(fleet, 1.5, -9.0 if sick and lane == 1 else 1.5)
            at_lane = labels | {"lane": str(lane)}
            yield _exported(streams, "rx_power", at_lane, light)
            yield _exported(streams, "tx_power", at_lane, _steady(1.0 + port / 100))


def _records(fleet: Fleet) -> Iterator[Series]:
    for objective, labels, budget, share in (
        ("training-steps", {"run": "llama"}, 0.01, 0.5),
        ("training-steps", {"run": "vision"}, 0.01, 0.0),
        ("fabric-pause", {}, 0.01, 0.005),
        ("inference-first-token", {"model_name": "chat", "cluster": ""}, 0.01, 0.002),
    ):
        group = {"objective": objective, **labels}
        for seconds in WINDOW_SECONDS:
            total = seconds / 10
            faded = share * min(1.0, 3600 / seconds)
            bad = _after(fleet, 0.0, total * faded)
            yield _named(record_name("bad", seconds), group, bad)
            yield _named(record_name("total", seconds), group, _steady(total))
        spent = _after(fleet, 0.2, 1.1 if share == 0.5 else 0.3)  # noqa: PLR2004 -- the burning one
        yield _named(PERIOD_BURN, group, spent)
        yield _named(BUDGET_LEFT, group, lambda minute, spent=spent: 1 - (spent(minute) or 0.0))
        bare = {"objective": objective, "cluster": ""}
        if labels.get("run") != "vision":
            yield _named(BUDGET, bare, _steady(budget))


def _alerts(fleet: Fleet) -> Iterator[Series]:
    group = {"objective": "training-steps", "run": "llama"}

    def fires(minute: int) -> float | None:
        return 1.0 if minute > fleet.onset + 3 else None

    def waits(minute: int) -> float | None:
        return 1.0 if fleet.onset < minute <= fleet.onset + 3 else None

    pair = {"alertname": "TrainingStepsBudgetBurn", "severity": "info", "tier": "page", **group}
    windows = {"long": "1h", "short": "5m"}
    yield _named("ALERTS", pair | windows | {"alertstate": "firing"}, fires)
    yield _named("ALERTS", pair | windows | {"alertstate": "pending"}, waits)
    page = {"alertname": "TrainingStepsPage", "severity": "page", "alertstate": "firing", **group}
    yield _named("ALERTS", page, fires)
    doubt = {
        "alertname": "FabricPauseDataAge",
        "severity": "data",
        "alertstate": "firing",
        "objective": "fabric-pause",
    }
    yield _named("ALERTS", doubt, fires)


def _service(fleet: Fleet) -> Iterator[Series]:
    for source, age in (("dcgm", 15.0), ("progress", 200.0)):
        yield _named(metrics.SOURCE_AGE_SECONDS.name, {"source": source}, _steady(age))
    for kind, level in (("slow", "gpu"), ("link_fault", "link")):
        found = _after(fleet, 0.0, 1.0)
        yield _named(metrics.VERDICTS.name, {"kind": kind, "level": level}, found)
    incident = {"incident": "i-4711"}

    def is_open(minute: int) -> float | None:
        return 1.0 if minute > fleet.onset + 3 else None

    yield _named(metrics.INCIDENT_OPEN.name, incident, is_open)
    cost = _after(fleet, 0.0, 72_000.0)
    yield _named(metrics.INCIDENT_LOST_GPU_SECONDS.name, incident, cost)
    onset = START + 60 * fleet.onset
    for mark, minutes in (
        ("onset", 0),
        ("detected", 3),
        ("paged", 4),
        ("mitigated", 30),
        ("resolved", 55),
    ):
        labels = incident | {"mark": mark}
        at = _steady(float(onset + 60 * minutes))
        yield _named(metrics.INCIDENT_TIMESTAMP_SECONDS.name, labels, at)
