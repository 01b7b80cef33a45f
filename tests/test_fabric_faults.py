"""Faults of links, switches, NICs and settings as counters show them, and planted incidents."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import EVENTS, LINKS, SAMPLES, conform
from detectors.blind_ports import BlindParams, find_blind_ports
from detectors.buffers import BufferParams, find_buffer_faults
from detectors.congestion import CongestionParams, find_congestion
from detectors.counters import CounterParams
from detectors.degrading_links import DegradingParams, find_degrading_links
from detectors.error_ratios import duration_text, seconds_to_tell
from detectors.fabric import Fabric, fabric_of
from detectors.flaps import FlapParams, find_flaps
from detectors.growth import SpellParams
from detectors.links import LinkParams, find_link_faults
from detectors.marks import MarkParams, find_mark_faults
from detectors.mtus import MtuParams, find_mtu_faults
from detectors.port_faults import PortFaultParams, find_port_faults
from detectors.status_faults import find_status_faults
from detectors.storms import StormParams, find_storms
from detectors.travelled_errors import TravelledParams, find_travelled_errors
from detectors.unready_hosts import UnreadyParams, find_unready_hosts
from detectors.verdicts import Verdict, verdicts_of
from detectors.widths import WidthParams, find_degraded_links

START = datetime(2031, 3, 9, 4, 0, tzinfo=UTC)
SYMBOLS, DAMAGED, RAW = "symbol_errors_total", "receive_errors_total", "pre_fec_error_ratio"
SENT, RECEIVED = "pause_sent_seconds_total", "pause_received_seconds_total"
RATE = "port_rate_bytes_per_second"
WAITS = "transmit_wait_ticks_total"


def at(minutes: float) -> datetime:
    """A time of the case."""
    return START + timedelta(minutes=minutes)


def gauge(name: str, signal: str, values: Sequence[float | None]) -> pl.LazyFrame:
    """Readings of `host port`, one a minute."""
    host, device = name.split(" ")
    part = next((kind for kind in ("lane", "priority") if f"/{kind}" in device), None)
    rows = {"time": [at(tick) for tick in range(len(values))], "value": values}
    told = {
        "host": host,
        "device_kind": part or ("nic" if host.startswith("n") else "switch_port"),
        "device": device,
        "signal": signal,
        "source": "t",
    }
    frame = pl.LazyFrame(rows, schema_overrides={"value": pl.Float64})
    return conform(frame.with_columns(pl.lit(v).alias(k) for k, v in told.items()), SAMPLES)


def counter(name: str, signal: str, each: float, minutes: int = 20) -> pl.LazyFrame:
    """A counter that grows by `each` a minute."""
    return gauge(name, signal, [7.0 + each * tick for tick in range(minutes + 1)])


def fabric(
    *samples: pl.LazyFrame, events: Sequence[dict[str, Any]] = (), links: Sequence[str] = ()
) -> Fabric:
    """What is known; a link is `host port - host port`."""
    ends = [sorted(end.split(" ") for end in link.split(" - ")) for link in links]
    cables = [{"node_a": a, "port_a": p, "node_b": b, "port_b": q} for (a, p), (b, q) in ends]
    return fabric_of(
        pl.concat(samples) if samples else pl.LazyFrame(schema=SAMPLES),
        pl.LazyFrame(list(events), schema=EVENTS),
        pl.LazyFrame(cables, schema=LINKS),
        CounterParams(),
    )


def event(minutes: float, name: str, kind: str, **more: Any) -> dict[str, Any]:
    """An event of `host port`."""
    host, _, device = name.partition(" ")
    nic = "nic" if host.startswith("n") else "switch_port"
    told = {"host": host, "device": device or None, "device_kind": nic, "kind": kind}
    return {"time": at(minutes), "source": "log", **told, **more}


def one(frame: pl.DataFrame) -> Verdict:
    """The only verdict."""
    (verdict,) = verdicts_of(frame)
    return verdict


def words(verdict: Verdict) -> str:
    """All evidence in one line."""
    return "; ".join(seen.what for seen in verdict.evidence)


CABLE = "leaf-1 17 - n01 mlx5_0"
LANES = [f"n01 mlx5_0/lane{lane}" for lane in range(1, 5)]


def powers(name: str, signal: str, levels: Sequence[float]) -> list[pl.LazyFrame]:
    """Optical power of four lanes of a port."""
    return [
        gauge(f"{name}/lane{lane}", signal, [level] * 21) for lane, level in enumerate(levels, 1)
    ]


GOOD = [-1.5, -1.6, -1.4, -1.5]


@pytest.mark.parametrize(
    ("optics", "suspect"),
    [
        pytest.param([], "transmitter of leaf-1 17", id="nothing is known of the light"),
        pytest.param(
            powers("n01 mlx5_0", "rx_power_dbm", [-1.5, -4.5, -1.4, -1.5]),
            "connector at n01 mlx5_0 or that strand of fibre",
            id="one lane arrives dim",
        ),
        pytest.param(
            [
                *powers("n01 mlx5_0", "rx_power_dbm", [-7.0] * 4),
                *powers("leaf-1 17", "tx_power_dbm", GOOD),
            ],
            "cable or patch leaf-1 17 -> n01 mlx5_0",
            id="all lanes arrive dim and leave bright",
        ),
        pytest.param(
            [
                *powers("n01 mlx5_0", "rx_power_dbm", [-1.5, -6.0, -1.4, -1.5]),
                *powers("leaf-1 17", "tx_power_dbm", [-1.5, -5.0, -1.4, -1.5]),
            ],
            "transmitter of leaf-1 17",
            id="one lane leaves dim",
        ),
        pytest.param(
            [
                *powers("n01 mlx5_0", "rx_power_dbm", GOOD),
                *powers("leaf-1 17", "tx_power_dbm", GOOD),
            ],
            "receiver of n01 mlx5_0",
            id="the light is good",
        ),
        pytest.param(
            powers("n01 mlx5_0", "rx_power_dbm", GOOD),
            "transmitter of leaf-1 17",
            id="only what arrives is known",
        ),
    ],
)
def test_likely_part(optics: list[pl.LazyFrame], suspect: str) -> None:
    """Optical power of both ends says which part of a dirty link is first to look at."""
    known = fabric(counter("n01 mlx5_0", SYMBOLS, 30), *optics, links=[CABLE])
    verdict = one(find_link_faults(known, LinkParams()))

    assert (verdict.cause, verdict.alternatives[0]) == ("dirty", suspect)


def test_errors_at_both_ends() -> None:
    """A link that errs both ways is one finding, about what both directions share."""
    known = fabric(
        counter("n01 mlx5_0", SYMBOLS, 30), counter("leaf-1 17", SYMBOLS, 30), links=[CABLE]
    )
    verdict = one(find_link_faults(known, LinkParams()))

    assert verdict.subject.link == "leaf-1:17 - n01:mlx5_0"
    assert verdict.alternatives[0] == "cable leaf-1 17 - n01 mlx5_0"
    assert "both ends count errors" in words(verdict)


@pytest.mark.parametrize(
    ("device", "level", "cause"),
    [
        pytest.param("leaf-1", "group", "switch", id="a switch"),
        pytest.param("n01", "host", "nic", id="the NICs of a host"),
    ],
)
def test_errors_of_a_whole_device(device: str, level: str, cause: str) -> None:
    """Errors at most ports of one device at once are the device, and no cable is named."""
    sick = [counter(f"{device} {port}", SYMBOLS, 30) for port in range(6)]
    other = "leaf-2" if device == "leaf-1" else "n02"
    well = [counter(f"{other} {port}", SYMBOLS, 0) for port in range(8)]
    verdict = one(find_link_faults(fabric(*sick, *well), LinkParams()))

    assert (verdict.level, verdict.cause, verdict.cleared) == (level, cause, None)
    assert verdict.subject.phrase() == ("switch leaf-1" if cause == "switch" else "n01")
    assert "6 ports count errors of the line at once: 0, 1, 2, 3, 4, 5" in words(verdict)


@pytest.mark.parametrize(
    ("errors", "count"),
    [
        pytest.param([0, 9], 0, id="nine errors may be chance"),
        pytest.param([0, 12], 1, id="a dozen in a minute are all that is known"),
    ],
)
def test_short_look(errors: list[float], count: int) -> None:
    """A short look accuses by enough errors alone, and in doubt."""
    rows = verdicts_of(find_link_faults(fabric(gauge("n01 a", SYMBOLS, errors)), LinkParams()))

    assert [row.confidence for row in rows] == ["low"] * count


def test_damage_needs_a_line_error() -> None:
    """Damaged packets with any error of the line are damaged here; without one elsewhere."""
    here = [counter("n01 a", DAMAGED, 30), counter("n01 a", SYMBOLS, 1)]
    known = fabric(*here, counter("n02 a", DAMAGED, 30), counter("n02 a", SYMBOLS, 0))
    verdict = one(find_link_faults(known, LinkParams()))

    assert (verdict.subject.host, verdict.victims) == ("n01", ("n02 a",))


@pytest.mark.parametrize(
    "quiet",
    [
        pytest.param(event(0, "n01", "boot"), id="the host boots"),
        pytest.param(event(0, "leaf-1", "boot"), id="the switch at the other end boots"),
        pytest.param(event(2, "leaf-1 17", "link_up"), id="the link comes up"),
    ],
)
def test_settling(quiet: dict[str, Any]) -> None:
    """Errors while a port settles prove nothing."""
    burst = gauge("n01 mlx5_0", SYMBOLS, [0, 90, 180, 270, 360, 450, 540, 630, 630, 630, 630])
    loud = find_link_faults(fabric(burst, links=[CABLE]), LinkParams())
    still = find_link_faults(fabric(burst, events=[quiet], links=[CABLE]), LinkParams())

    assert (loud.height, still.height) == (1, 0)


@pytest.mark.parametrize(
    "clear",
    [
        pytest.param({"events": [event(10.5, "n01 a", "counters_cleared")]}, id="a log says so"),
        pytest.param({"events": [event(10.5, "n01", "counters_cleared")]}, id="of a whole host"),
        pytest.param(
            {"cleared": [(START + timedelta(seconds=630)).timestamp()] * 21}, id="the port's stamp"
        ),
        pytest.param({"began": [5.0] * 11 + [9.0] * 10}, id="the agent's discontinuity time"),
        pytest.param(
            {"age": [None] * 11 + [30.0 + 60 * tick for tick in range(10)]}, id="the port's age"
        ),
    ],
)
def test_cleared_counters(clear: dict[str, Any]) -> None:
    """An interval in which somebody cleared counters has no known growth, however they stand."""
    names = {
        "age": "seconds_since_clear",
        "cleared": "counters_cleared_seconds",
        "began": "counters_began_uptime_seconds",
    }
    ages = [gauge("n01 a", name, clear[key]) for key, name in names.items() if key in clear]
    known = fabric(counter("n01 a", SYMBOLS, 1), *ages, events=clear.get("events", ()))
    doubtful = known.intervals.filter("reset")

    assert doubtful.select("start", "delta", "min_delta").rows() == [(at(10), None, 1.0)]


@pytest.mark.parametrize("name", ["seconds_since_clear", "uptime_seconds", "boot_seconds"])
@pytest.mark.parametrize("age", [float("inf"), 1e300])
def test_an_age_beyond_all_clocks(name: str, age: float) -> None:
    """An age or a boot that no time can hold clears nothing, and stops nothing."""
    known = fabric(counter("n01 a", SYMBOLS, 1), gauge("n01 a", name, [age] * 21))

    assert known.intervals["reset"].to_list() == [False] * 20


def test_uptime() -> None:
    """An agent that is up for less than the last interval has begun anew."""
    up = gauge("leaf-1 1", "uptime_seconds", [9000.0, 9060.0, 30.0, 90.0])
    node = up.with_columns(device_kind=pl.lit("node"), device=pl.lit(None, pl.String))
    known = fabric(counter("leaf-1 17", SYMBOLS, 1, 3), node)

    assert known.intervals["reset"].to_list() == [False, True, False]
    assert known.intervals["settling"].to_list() == [False, True, True]


def test_counter_that_came_to_its_top() -> None:
    """A dirty link that filled its counter in between is still dirty."""
    full = gauge("n01 a", SYMBOLS, [60000, None, None, None]).with_columns(
        reason=pl.when(pl.col("value").is_null()).then(pl.lit("saturated")),
        wraps_at=pl.lit(float("inf")),
    )
    verdict = one(find_link_faults(fabric(full), LinkParams()))

    assert words(verdict).startswith("symbol_errors_total +5535 in 1 min")


def test_logged_deltas() -> None:
    """Growth that a subnet manager logs sweep by sweep is growth."""
    sweeps = [
        event(
            minute,
            "leaf-1 17",
            "counter_delta",
            code=SYMBOLS,
            attributes=[{"key": "delta", "value": "40"}],
        )
        for minute in (3, 6, 9, 12)
    ]
    verdict = one(find_link_faults(fabric(events=sweeps, links=[CABLE]), LinkParams()))

    assert (verdict.cause, verdict.subject.port) == ("dirty", "17")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param("link_bad_signal", ("link_fault", "bad_signal"), id="bad signal"),
        pytest.param("link_training_failed", ("config_drift", "link_settings"), id="no training"),
        pytest.param("module_too_hot", ("link_fault", "module_heat"), id="heat"),
    ],
)
def test_status(kind: str, expected: tuple[str, str]) -> None:
    """What a port says of its own link is said once, of the link."""
    told = [event(1, "leaf-1 17", kind), event(2, "leaf-1 17", kind, message="again")]
    verdict = one(find_status_faults(fabric(events=told, links=[CABLE])))

    assert (verdict.kind, verdict.cause) == expected
    assert verdict.subject.link == "leaf-1:17 - n01:mlx5_0"


def test_bundle_is_not_its_members() -> None:
    """A bundle's counters accuse nobody beside its members'."""
    known = fabric(*(counter(f"leaf-1 {port}", SYMBOLS, 30) for port in ("PortChannel1", "17")))

    assert one(find_link_faults(known, LinkParams())).subject.port == "17"


def stopped(name: str, signal: str, share: float, minutes: int = 20) -> pl.LazyFrame:
    """A port that is paused a share of the time."""
    return counter(name, signal, 60.0 * share, minutes)


TREE = [
    "leaf-1 1 - n01 eth0",
    "leaf-1 9 - spine-1 1",
    "leaf-2 9 - spine-1 2",
    "leaf-2 1 - n02 eth0",
]


def test_spreading_tree() -> None:
    """Of a tree of stopped switches the root alone is told, a NIC that cannot drain."""
    known = fabric(
        stopped("n01 eth0", SENT, 0.4),
        stopped("leaf-1 1", RECEIVED, 0.4),
        stopped("leaf-1 9", SENT, 0.3),
        stopped("spine-1 1", RECEIVED, 0.3),
        stopped("spine-1 2", SENT, 0.2),
        stopped("leaf-2 9", RECEIVED, 0.2),
        stopped("n02 eth0", RECEIVED, 0.1),
        stopped("leaf-2 1", SENT, 0.1),
        gauge("n01 eth0", "pci_write_stalled_ratio", [0.7] * 21),
        links=TREE,
    )
    verdict = one(find_congestion(known, CongestionParams()))

    assert (verdict.level, verdict.cause, verdict.subject.host) == ("nic", "slow_receiver", "n01")
    assert (verdict.confidence, verdict.victims) == ("high", ("leaf-1", "leaf-2", "n02", "spine-1"))
    assert "pci_write_stalled_ratio up to 70%" in words(verdict)


def test_slow_receiver_seen_from_the_switch() -> None:
    """A switch port that its NIC stops names the NIC although the host tells nothing."""
    known = fabric(stopped("leaf-1 1", RECEIVED, 0.4), links=["leaf-1 1 - n01 eth0"])
    verdict = one(find_congestion(known, CongestionParams()))

    assert (verdict.subject.host, verdict.cause, verdict.confidence) == (
        "n01",
        "slow_receiver",
        "medium",
    )


def test_incast_of_a_switch() -> None:
    """A switch that stops several sources and is stopped by nobody is the root, egress or not."""
    known = fabric(
        *(stopped(f"leaf-1 {port}", SENT, 0.3) for port in (1, 2, 3)),
        *(stopped(f"n0{port} eth0", RECEIVED, 0.3) for port in (1, 2, 3)),
        links=[f"leaf-1 {port} - n0{port} eth0" for port in (1, 2, 3)],
    )
    params = CongestionParams(min_fabric_share=1.0, min_devices=9)
    verdict = one(find_congestion(known, params))

    assert (verdict.level, verdict.subject.switch, verdict.cause) == ("group", "leaf-1", "incast")
    assert (verdict.confidence, verdict.victims) == ("low", ("n01", "n02", "n03"))


def test_egress_by_its_own_word() -> None:
    """A port that says how busy it is is the egress of an incast."""
    known = fabric(
        *(stopped(f"leaf-1 {port}", SENT, 0.3) for port in (1, 2)),
        gauge("leaf-1 8", "transmit_busy_ratio", [0.97] * 21),
    )
    verdict = one(find_congestion(known, CongestionParams()))

    assert (verdict.subject.port, verdict.confidence) == ("8", "medium")


@pytest.mark.parametrize(
    ("ports", "level", "host"),
    [
        pytest.param(["n01 eth0"], "link", "n01", id="one NIC"),
        pytest.param(["n01 eth0", "n02 eth0"], "group", None, id="two NICs"),
    ],
)
def test_stopped_by_nobody_knows_whom(ports: list[str], level: str, host: str | None) -> None:
    """NICs that are stopped without a known stopper are told as victims, by 802.3x as well."""
    signal = "global_pause_received_seconds_total"
    known = fabric(*(stopped(port, signal, 0.25) for port in ports))
    verdict = one(find_congestion(known, CongestionParams()))

    assert (verdict.level, verdict.cause, verdict.victims) == (
        level,
        "paused_by_peer",
        tuple(ports),
    )
    assert verdict.subject.host == host


def test_one_nic_that_stops_the_fabric() -> None:
    """When most ports are stopped and one NIC alone stops, it is the cause."""
    known = fabric(
        stopped("n00 eth0", SENT, 0.5),
        *(stopped(f"n{number:02d} eth0", RECEIVED, 0.3) for number in range(1, 8)),
    )

    assert [
        (row.level, row.subject.host)
        for row in verdicts_of(find_congestion(known, CongestionParams()))
    ] == [("nic", "n00")]


def test_two_spells_of_one_receiver() -> None:
    """Spells apart are findings apart."""
    steps = [0.0] * 5 + [30.0] * 15 + [0.0] * 40 + [30.0] * 15
    values = np.concatenate([[7.0], 7.0 + np.cumsum(steps)]).tolist()
    known = fabric(gauge("n01 eth0", SENT, values), counter("n02 eth0", SENT, 0.0, 75))

    assert find_congestion(known, CongestionParams()).height == 2


TICKS_10 = 0.15 * 5e10 / 8 * 60
"""Ticks a minute of a port of 400 Gb/s with ticks of 8 bytes that waits 15 % of the time."""


@pytest.mark.parametrize(
    ("speed", "ticks", "more", "count"),
    [
        pytest.param(5e10, TICKS_10, [], 1, id="a fast switch"),
        pytest.param(5e10, TICKS_10 / 3, [], 0, id="waits of five per cent"),
        pytest.param(1.25e10, TICKS_10, [], 0, id="a tick of nobody knows how many bytes"),
        pytest.param(
            1.25e10,
            0.4 * 1.25e10 / 128 * 60,
            [("lane_rate_bytes_per_second", 3.2e9), ("link_width_lanes", 4.0)],
            1,
            id="an old switch counts ticks of 32 bytes a lane",
        ),
        pytest.param(
            1.25e10,
            0.2 * 1.25e10 / 16 * 60,
            [("transmit_wait_tick_bytes", 16.0)],
            1,
            id="a switch that tells its tick",
        ),
    ],
)
def test_waits(speed: float, ticks: float, more: list[tuple[str, float]], count: int) -> None:
    """A switch port that waits for its NIC's credit names the NIC, by time and not by ticks."""
    told = [gauge("leaf-1 17", signal, [value] * 21) for signal, value in [(RATE, speed), *more]]
    known = fabric(counter("leaf-1 17", WAITS, ticks), *told, links=[CABLE])
    rows = verdicts_of(find_congestion(known, CongestionParams()))

    assert [(row.subject.host, row.cause) for row in rows] == [("n01", "slow_receiver")] * count


def test_waits_before_a_dirty_receiver() -> None:
    """Waits of a link that recovers from errors are the errors' doing."""
    known = fabric(
        counter("leaf-1 17", WAITS, TICKS_10),
        gauge("leaf-1 17", RATE, [5e10] * 21),
        counter("n01 mlx5_0", "link_error_recoveries_total", 9),
        links=[CABLE],
    )

    assert find_congestion(known, CongestionParams()).is_empty()


@pytest.mark.parametrize(
    ("pauses", "expected"),
    [
        pytest.param(0.0, [("lossy_class", "medium")], id="a priority that never pauses is lossy"),
        pytest.param(None, [("lossy_class", "low")], id="one whose pauses nobody counts may be"),
        pytest.param(0.1, [("headroom", "low")], id="one that pauses and drops lacks headroom"),
    ],
)
def test_drops_of_a_priority(pauses: float | None, expected: list[tuple[str, str]]) -> None:
    """Drops of a priority are a matter of settings, never of the cable."""
    sent = [] if pauses is None else [stopped("n01 eth0", SENT, pauses)]
    known = fabric(counter("n01 eth0/priority3", "priority_discards_total", 6000), *sent)
    known_nic = replace(known, intervals=known.intervals.with_columns(port_kind=pl.lit("nic")))
    rows = verdicts_of(find_buffer_faults(known_nic, BufferParams()))

    assert [(row.cause, row.confidence) for row in rows] == expected


@pytest.mark.parametrize(
    ("port", "drops"),
    [
        pytest.param(
            "leaf-01 Ethernet1", ("receive_discards_total", 6000), id="a switch's of any class"
        ),
        pytest.param("n01 eth0", ("priority_discards_total", 6), id="a drop now and then"),
    ],
)
def test_drops_that_accuse_nobody(port: str, drops: tuple[str, float]) -> None:
    """Discards alone are no finding of a switch."""
    assert find_buffer_faults(fabric(counter(port, *drops)), BufferParams()).is_empty()


MARKED, ANSWERED, IGNORED = (
    "ecn_marked_packets_total",
    "cnp_sent_total",
    "cnp_ignored_total",
)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        pytest.param({MARKED: 9e5, ANSWERED: 3e5}, [], id="control at work"),
        pytest.param({MARKED: 0, ANSWERED: 3e5}, [], id="firmware that counts no marks"),
        pytest.param({MARKED: 9e5}, [], id="notices that nobody counts"),
        pytest.param({MARKED: 9e5, ANSWERED: 0}, ["marks_unanswered"], id="marks without notices"),
        pytest.param({IGNORED: 600}, ["cnp_ignored"], id="notices ignored"),
    ],
)
def test_marks(rates: dict[str, float], expected: list[str]) -> None:
    """Marks and notices are no finding unless they are not answered or not heeded."""
    known = fabric(*(counter("n01 a", name, rate) for name, rate in rates.items()))

    assert find_mark_faults(known, MarkParams())["cause"].to_list() == expected


def test_unready_host() -> None:
    """A host without receive buffers is told as its own matter, and only far above its peers."""
    well = [counter(f"n0{number} a", "out_of_buffer_total", 60) for number in range(2, 6)]
    sick = counter("n01 a", "out_of_buffer_total", 60000)
    verdict = one(find_unready_hosts(fabric(sick, *well), UnreadyParams()))

    assert (verdict.level, verdict.subject.host, verdict.confidence) == ("host", "n01", "low")


@pytest.mark.parametrize(
    ("more", "sizes"),
    [
        pytest.param([], [], id="sizes that nobody tells"),
        pytest.param(
            [gauge("n01 mlx5_0", "mtu_bytes", [9000] * 3), gauge("leaf-1 17", "mtu_bytes", [1500])],
            ["MTU 9000 bytes", "MTU 1500 bytes"],
            id="sizes of both ends",
        ),
    ],
)
def test_frames_of_wrong_length(more: list[pl.LazyFrame], sizes: list[str]) -> None:
    """Frames of wrong length over a clean line are the MTU."""
    known = fabric(counter("n01 mlx5_0", "oversize_packets_total", 5), *more, links=[CABLE])
    verdict = one(find_mtu_faults(known, MtuParams()))

    assert (verdict.kind, verdict.cause) == ("config_drift", "mtu")
    assert [seen.what for seen in verdict.evidence[1:]] == sizes


def test_wrong_lengths_of_a_dirty_line() -> None:
    """Frames of wrong length over a dirty line are its damage."""
    known = fabric(counter("n01 a", "length_errors_total", 5), counter("n01 a", SYMBOLS, 5))

    assert find_mtu_faults(known, MtuParams()).is_empty()


def test_minority_of_a_path_mtu() -> None:
    """The hosts that differ from most are named."""
    sizes = {"n01": 4096, "n02": 4096, "n03": 1024}
    known = fabric(
        *(gauge(f"{host} a", "active_mtu_bytes", [size] * 3) for host, size in sizes.items()),
        counter("n01 a", "remote_invalid_requests_total", 5),
    )
    verdict = one(find_mtu_faults(known, MtuParams()))

    assert (verdict.level, verdict.subject.host, verdict.cause) == ("host", "n03", "path_mtu")
    assert words(verdict).startswith("path MTU differs: n03 1024; 2 others 4096")


HALF = [4.0] * 5 + [2.0] * 5


@pytest.mark.parametrize(
    ("samples", "events", "expected"),
    [
        pytest.param(
            [gauge("leaf-1 17", "link_width_lanes", HALF)], [], ["degraded_width"], id="its past"
        ),
        pytest.param(
            [gauge("leaf-1 17", "link_width_lanes", [4.0, 4.0, 2.0])], [], [], id="one reading"
        ),
        pytest.param(
            [
                gauge("leaf-1 17", RATE, [5e10] * 5 + [1.25e9] * 5),
                gauge("leaf-1 17", "port_state", [4.0] * 5 + [1.0] * 5),
            ],
            [],
            [],
            id="a port that is down",
        ),
        pytest.param(
            [gauge("leaf-1 17", RATE, [5e10] * 5 + [2.5e10] * 5)],
            [],
            ["degraded_speed"],
            id="half the rate",
        ),
        pytest.param(
            [
                gauge("leaf-1 17", "link_width_lanes", [2.0]),
                gauge("leaf-1 17", "max_link_width_lanes", [4.0]),
                gauge("n01 mlx5_0", "max_link_width_lanes", [4.0]),
            ],
            [],
            ["degraded_width"],
            id="both ends support more",
        ),
        pytest.param(
            [
                gauge("leaf-1 17", "link_width_lanes", [2.0]),
                gauge("leaf-1 17", "max_link_width_lanes", [4.0]),
                gauge("n01 mlx5_0", "max_link_width_lanes", [2.0]),
            ],
            [],
            [],
            id="an adapter that has no more lanes",
        ),
        pytest.param(
            [],
            [event(1, "leaf-1 17", "link_degraded", message="Could be 4X")],
            ["degraded_width"],
            id="a tool says that it could be wider",
        ),
        pytest.param(
            [],
            [
                event(1, "leaf-1 17", "link_degraded", message="Could be 106.25 Gbps"),
                event(2, "n01 mlx5_0", "link_degraded", message="Could be 106.25 Gbps"),
            ],
            ["degraded_speed"],
            id="both ends say that it could be faster",
        ),
    ],
)
def test_degraded_links(
    samples: list[pl.LazyFrame], events: list[dict[str, Any]], expected: list[str]
) -> None:
    """A link is degraded against what both ends support, or its own past while it is up."""
    known = fabric(*samples, events=events, links=[CABLE])

    assert find_degraded_links(known, WidthParams())["cause"].to_list() == expected


def bits(name: str, code: str, *minutes: float) -> list[dict[str, Any]]:
    """Fault bits of a port."""
    return [event(minute, name, "port_error", code=code) for minute in minutes]


@pytest.mark.parametrize(
    ("events", "samples", "expected"),
    [
        pytest.param(
            bits("leaf-1 17", "mac_remote_fault", 1, 5, 9), [], [("n01", "low")], id="remote faults"
        ),
        pytest.param(
            bits("leaf-1 17", "mac_local_fault", 1, 5, 9),
            [],
            [("leaf-1", "medium")],
            id="local faults",
        ),
        pytest.param(bits("leaf-1 17", "mac_local_fault", 1, 5), [], [], id="two of them"),
        pytest.param(
            [
                *bits("leaf-1 17", "mac_local_fault", 1, 5, 9),
                *(event(minute, "leaf-1 17", "link_down") for minute in (1, 5, 9)),
            ],
            [],
            [],
            id="echoes of a way down",
        ),
        pytest.param(bits("leaf-1 18", "mac_remote_fault", 1, 5, 9), [], [], id="an unknown peer"),
        pytest.param(
            [],
            [counter("leaf-1 17", "mac_local_faults_total", 1)],
            [("leaf-1", "medium")],
            id="counted",
        ),
        pytest.param(
            bits("leaf-1 17", "mac_local_fault", 1, 5, 9),
            [counter("leaf-1 17", SYMBOLS, 30)],
            [],
            id="line errors tell it already",
        ),
        pytest.param(
            bits("leaf-1 17", "mac_remote_fault", 1, 5, 9),
            [counter("n01 mlx5_0", SYMBOLS, 0)],
            [("n01", "low")],
            id="the receiver's own counters are clean",
        ),
    ],
)
def test_fault_bits(
    events: list[dict[str, Any]], samples: list[pl.LazyFrame], expected: list[tuple[str, str]]
) -> None:
    """Fault bits of ports that stay up say whose receiver is hurt."""
    known = fabric(*samples, events=events, links=[CABLE])
    rows = verdicts_of(find_port_faults(known, PortFaultParams()))

    assert [
        (words(row).split("receiver ")[1].split(" ")[0], row.confidence) for row in rows
    ] == expected


def test_corruption_inside() -> None:
    """A wrong sum over the payload with good frames is a device on the path, no cable."""
    known = fabric(counter("n01 a", "end_to_end_crc_errors_total", 1))
    verdict = one(find_travelled_errors(known, TravelledParams()))

    assert (verdict.kind, verdict.level, verdict.cause) == ("unknown", "job", "internal_corruption")


@pytest.mark.parametrize(
    ("port", "links", "subject"),
    [
        pytest.param("leaf-1 1", [], ("leaf-1", None), id="a switch port without a known peer"),
        pytest.param("leaf-1 1", ["leaf-1 1 - n01 a"], ("leaf-1", "n01"), id="its peer"),
        pytest.param("n01 a", [], (None, "n01"), id="a NIC that says it of itself"),
    ],
)
def test_counted_storms(
    port: str, links: list[str], subject: tuple[str | None, str | None]
) -> None:
    """Counters of storms name who keeps the queue stopped."""
    known = fabric(counter(port, "pause_storms_total", 1), links=links)
    verdict = one(find_storms(known, StormParams()))

    assert (verdict.subject.switch, verdict.subject.host) == subject


def test_storm_that_is_logged_and_counted() -> None:
    """A storm that both log and counter tell is one, and an end without a start is none."""
    storm = [event(3, "leaf-1 1", "pfc_storm"), event(4, "leaf-1 1", "pfc_storm_end")]
    known = fabric(counter("leaf-1 1", "pause_storms_total", 1), events=storm)
    ended = fabric(events=storm[1:])

    assert find_storms(known, StormParams()).height == 1
    assert find_storms(ended, StormParams()).is_empty()


def ratios(levels: dict[str, Sequence[float]]) -> list[pl.LazyFrame]:
    """Raw error ratios by host."""
    return [gauge(f"{host} a", RAW, values) for host, values in levels.items()]


PEERS = {f"n1{number}": [2e-9 * (1 + number % 3)] * 10 for number in range(9)}


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        pytest.param([4e-6] * 10, ["n01"], id="far beyond like ports"),
        pytest.param([4e-8] * 10, [], id="far from what FEC bears"),
        pytest.param([4e-6] * 9 + [2e-9], [], id="one reading that is good"),
    ],
)
def test_apart_from_peers(level: list[float], expected: list[str]) -> None:
    """A port with many more raw errors than like ports in all its readings is told with doubt."""
    known = fabric(*ratios(PEERS | {"n01": level}))
    rows = verdicts_of(find_degrading_links(known, DegradingParams()))

    assert [(row.subject.host, row.confidence) for row in rows] == [
        (host, "low") for host in expected
    ]


def test_spread_of_peers() -> None:
    """Where links of one kind spread over decades nobody stands out."""
    spread = {f"n1{number}": [10.0 ** -(6 + number % 4)] * 10 for number in range(9)}

    assert find_degrading_links(fabric(*ratios(spread)), DegradingParams()).is_empty()


def test_counted_ratio() -> None:
    """Corrected bits over bits that could have come are an error ratio too."""
    line = 4e11 * 60
    steps = [1e-9 * line] * 10 + [1e-6 * line] * 10
    errors = np.concatenate([[0.0], np.cumsum(steps)]).tolist()
    known = fabric(
        gauge("n01 a", "fec_corrected_bits_total", errors),
        counter("n01 a", "receivable_bits_total", line),
    )
    verdict = one(find_degrading_links(known, DegradingParams()))

    assert verdict.onset == at(11)
    assert "1.0e-09 before, 1.0e-06" in words(verdict)


def test_lock_lost_with_the_link() -> None:
    """A loss of lock beside a way down is the outage's, not a retrain of its own."""
    lost = event(9.5, "leaf-1 17", "port_error", code="fec_sync_loss")
    down = event(9.6, "leaf-1 17", "link_down")
    known = fabric(gauge("leaf-1 17", RAW, [1e-10] * 10 + [1e-7] * 10), events=[lost, down])

    assert one(find_degrading_links(known, DegradingParams())).cause == "error_ratio"


@pytest.mark.parametrize(
    ("ratio", "seconds", "expected"),
    [
        pytest.param(3e-13, 10.0, ["error_ratio_unconfirmed"], id="ten seconds"),
        pytest.param(3e-13, 600.0, [], id="ten minutes"),
        pytest.param(15e-255, 10.0, [], id="none seen"),
    ],
)
def test_unconfirmed_ratio(ratio: float, seconds: float, expected: list[str]) -> None:
    """An error ratio over too few bits is no claim, and how long it takes is said."""
    known = fabric(
        gauge("n01 a", "symbol_error_ratio", [ratio]),
        gauge("n01 a", "seconds_since_clear", [seconds]),
    )
    rows = verdicts_of(find_blind_ports(known, BlindParams()))

    assert [row.cause for row in rows] == expected
    assert all("takes 25 s at this rate" in words(row) for row in rows)


@pytest.mark.parametrize(
    ("ratio", "seconds"), [(1e-12, 5.0), (1e-13, 50.0), (1e-14, 500.0), (1e-16, 50000.0)]
)
def test_seconds_to_tell(ratio: float, seconds: float) -> None:
    """At 200 Gb/s one error is expected after so long."""
    assert seconds_to_tell(ratio, 2e11) == pytest.approx(seconds)


@pytest.mark.parametrize(("seconds", "text"), [(50, "50 s"), (7000, "117 min"), (50000, "13.9 h")])
def test_duration_text(seconds: float, text: str) -> None:
    """Durations are said as people say them."""
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("made", "message"),
    [
        pytest.param(lambda: seconds_to_tell(0.0, 2e11), "above 0", id="a ratio of nothing"),
        pytest.param(lambda: CounterParams(guess_share=2.0), "guess_share", id="a share above 1"),
        pytest.param(lambda: SpellParams(bin_seconds=0.0), "bin_seconds", id="a bin of no width"),
        pytest.param(lambda: DegradingParams(min_ratio=1.0), "min_ratio", id="a ratio of one"),
    ],
)
def test_refusals(made: Any, message: str) -> None:
    """What cannot be meant is refused with a word on it."""
    with pytest.raises(ValueError, match=message):
        made()


def dropped(name: str, counts: Sequence[float]) -> pl.LazyFrame:
    """How often a link was down."""
    return gauge(name, "link_downed_total", counts)


@pytest.mark.parametrize(
    ("samples", "events", "expected"),
    [
        pytest.param(
            [dropped("leaf-1 17", [3, 3, 4]), dropped("n01 mlx5_0", [8, 8, 9])],
            [],
            [("flap", "high")],
            id="both ends count",
        ),
        pytest.param(
            [dropped("leaf-1 17", [3, 3, 4]), dropped("n01 mlx5_0", [8, 8, 8])],
            [],
            [],
            id="one end alone counts",
        ),
        pytest.param([dropped("n01 mlx5_0", [8, 8, 9])], [], [("flap", "low")], id="no far end"),
        pytest.param(
            [dropped(f"n01 mlx5_{nic}", [8, 8, 9]) for nic in range(4)],
            [],
            [],
            id="all NICs of a host",
        ),
        pytest.param(
            [dropped("leaf-1 17", [3, 3, 4])],
            [event(3, "n01", "boot")],
            [],
            id="the far host boots",
        ),
        pytest.param(
            [dropped("leaf-1 17", [3, 3, 4])],
            [event(1.5, "leaf-1 17", "link_down_cause", code="23", message="cable unplugged")],
            [],
            id="somebody pulled the cable",
        ),
        pytest.param(
            [dropped("leaf-1 17", [3, 3, 4])],
            [event(1.5, "leaf-1 17", "link_down_cause", code="2", message="blame Local_phy")],
            [("flap", "low")],
            id="a port that blames its signal",
        ),
        pytest.param([dropped("n01 eno1", [8, 8, 9])], [], [], id="a NIC for management"),
        pytest.param(
            [dropped("leaf-1 17", [3, 5, 5]), dropped("n01 mlx5_0", [8, 10, 10])],
            [],
            [("link_flap", "high")],
            id="twice between two readings",
        ),
    ],
)
def test_counted_flaps(
    samples: list[pl.LazyFrame], events: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    """Counters tell a flap when both ends agree, or the other end has none."""
    known = fabric(*samples, events=events, links=[CABLE])
    rows = verdicts_of(find_flaps(known, FlapParams()))

    assert [(row.cause, row.confidence) for row in rows] == expected


def test_port_just_opened() -> None:
    """A port that somebody has just opened may train twice."""
    lines = [
        event(place, "leaf-1 17", kind) for place, kind in enumerate(["admin_down", "admin_up"])
    ]
    train = [event(1.5, "leaf-1 17", "link_down"), event(1.6, "leaf-1 17", "link_up")]
    later = [event(30, "leaf-1 17", "link_down"), event(30.5, "leaf-1 17", "link_up")]

    assert find_flaps(fabric(events=[*lines, *train]), FlapParams()).is_empty()
    assert find_flaps(fabric(events=[*lines, *later]), FlapParams()).height == 1


RNG_SEEDS = (1, 2, 3)
PORTS = [(f"leaf-{leaf}", port) for leaf in range(4) for port in range(8)]


def small_fabric(seed: int, dirty: set[int], paused: set[int]) -> tuple[pl.DataFrame, list[str]]:
    """An hour of 32 links with known faults, old totals, a reset, a full and a reread counter."""
    rng = np.random.default_rng(seed)
    frames: list[pl.LazyFrame] = []
    for number, (leaf, port) in enumerate(PORTS):
        near, far = f"{leaf} {port}", f"n{number:02d} mlx5_0"
        for name, hurt in ((near, False), (far, number in dirty)):
            rates = np.where(np.arange(60) >= 20, 25.0 if hurt else 0.01, 0.01)
            symbols = 1000.0 * rng.integers(0, 5) + np.cumsum(rng.poisson(rates))
            if number == 5:
                symbols = np.where(np.arange(60) >= 40, symbols - symbols[40], symbols)
            moved = np.cumsum(rng.uniform(1e11, 2e11, 60))
            share = 0.3 if number in paused and name == far else 0.002
            frames += [
                gauge(name, SYMBOLS, symbols.tolist()),
                gauge(name, DAMAGED, np.cumsum(rng.poisson(rates / 5)).tolist()),
                gauge(name, "received_bytes_total", moved.tolist()),
                gauge(name, SENT, np.cumsum(rng.uniform(0.5, 1.5, 60) * share * 60).tolist()),
            ]
    links = [f"{leaf} {port} - n{number:02d} mlx5_0" for number, (leaf, port) in enumerate(PORTS)]
    return pl.concat(frames).collect(), links


def accused(frame: pl.DataFrame, links: list[str], params: LinkParams | None = None) -> set[str]:
    """Hosts of links that are called dirty and of NICs that are called slow."""
    known = fabric(frame.lazy(), links=links)
    found = [
        *verdicts_of(find_link_faults(known, params or LinkParams())),
        *verdicts_of(find_congestion(known, CongestionParams())),
        *verdicts_of(find_flaps(known, FlapParams())),
        *verdicts_of(find_travelled_errors(known, TravelledParams())),
        *verdicts_of(find_blind_ports(known, BlindParams())),
        *verdicts_of(find_buffer_faults(known, BufferParams())),
    ]
    return {f"{row.cause} {row.subject.host}" for row in found}


@pytest.mark.parametrize("seed", RNG_SEEDS)
def test_planted_faults(seed: int) -> None:
    """Exactly the planted links and NICs are named: precision and recall are one."""
    frame, links = small_fabric(seed, dirty={3, 17}, paused={9})

    assert accused(frame, links) == {"dirty n03", "dirty n17", "slow_receiver n09"}


@pytest.mark.parametrize("seed", RNG_SEEDS)
def test_healthy_fabric(seed: int) -> None:
    """A fabric with old totals, a reset and background errors accuses nobody."""
    frame, links = small_fabric(seed, dirty=set(), paused=set())

    assert accused(frame, links) == set()


def test_onset_of_a_planted_fault() -> None:
    """The onset is told within a minute, and detection within a quarter of an hour."""
    frame, links = small_fabric(1, dirty={3}, paused=set())
    verdict = one(find_link_faults(fabric(frame.lazy(), links=links), LinkParams()))

    assert verdict.onset is not None
    assert verdict.detected is not None
    assert abs(verdict.onset - at(20)) <= timedelta(minutes=1)
    assert verdict.detected - at(20) <= timedelta(minutes=15)


@settings(deadline=None, max_examples=4)
@given(st.integers(0, 10_000))
def test_order_and_copies(seed: int) -> None:
    """Row order and duplicates change nothing."""
    frame, links = small_fabric(1, dirty={3}, paused={9})
    shuffled = pl.concat([frame, frame.sample(500, seed=seed)]).sample(
        fraction=1.0, shuffle=True, seed=seed
    )

    first, second = (fabric(rows.lazy(), links=links) for rows in (frame, shuffled))
    assert find_link_faults(first, LinkParams()).equals(find_link_faults(second, LinkParams()))
    assert find_congestion(first, CongestionParams()).equals(
        find_congestion(second, CongestionParams())
    )


def test_stricter_threshold() -> None:
    """A stricter threshold accuses nobody more."""
    frame, links = small_fabric(1, dirty={3, 17}, paused=set())
    strict = LinkParams(spells=SpellParams(min_bins=20))

    assert accused(frame, links, strict) <= accused(frame, links)
    assert accused(frame, links, strict) == set()


def test_another_unit_of_time() -> None:
    """The same growth over hours instead of minutes is a sixtieth of the rate, and no fault."""
    frame, links = small_fabric(1, dirty={3}, paused=set())
    slow = frame.with_columns(time=START + (pl.col("time") - START) * 60)

    assert accused(slow, links) == set()
