"""Tricky cases of fabric counters, judged by all detectors at once: what is said, and of whom.

The inputs are those of public threads, composed anew; beside each stands a healthy look-alike of
which nothing may be said.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import COVERAGE, EVENTS, LINKS, SAMPLES, conform
from collectors.readings import reading_of
from detectors.counters import CounterParams, counter_intervals
from detectors.lanes import lane_powers
from detectors.port_readings import port_readings
from detectors.verdicts import Verdict
from paceline.findings import DetectorParams, find_all

START = datetime(2031, 3, 9, 4, 0, tzinfo=UTC)
STOPS, WRAPS_32, WRAPS_53 = float("inf"), 2.0**32, 2.0**53
FULL = "saturated"
HOUR = 3600.0

SYMBOLS, DAMAGED, MARKED_BAD = (
    "symbol_errors_total",
    "receive_errors_total",
    "remote_physical_errors_total",
)
RAW, UNCORRECTED = "pre_fec_error_ratio", "fec_uncorrected_codewords_total"


def at(seconds: float) -> datetime:
    """A time of the case."""
    return START + timedelta(seconds=seconds)


def port(
    name: str,
    signal: str,
    values: Sequence[float | str | None],
    *,
    seconds: float = 60.0,
    wraps_at: float | None = None,
) -> pl.LazyFrame:
    """Readings of `host port`; a word is the reason why there is no value."""
    host, device = name.split(" ")
    part = next((k for k in ("lane", "priority", "queue") if f"/{k}" in device), None)
    kind = part or ("nic" if host.startswith("gpu") else "switch_port")
    rows = {
        "time": [at(seconds * tick) for tick in range(len(values))],
        "value": [None if isinstance(one, str) else one for one in values],
        "reason": [one if isinstance(one, str) else None for one in values],
    }
    told = {"host": host, "device_kind": kind, "device": device, "signal": signal, "source": "t"}
    frame = pl.LazyFrame(rows, schema_overrides={"value": pl.Float64, "reason": pl.String})
    named = frame.with_columns(pl.lit(value).alias(key) for key, value in told.items())
    return conform(named.with_columns(wraps_at=pl.lit(wraps_at, pl.Float64)), SAMPLES)


def event(seconds: float, name: str, kind: str, **more: Any) -> dict[str, Any]:
    """An event of `host port`, or of a host alone."""
    host, _, device = name.partition(" ")
    nic = "nic" if host.startswith("gpu") else "switch_port"
    told = {"host": host, "device": device or None, "device_kind": nic, "kind": kind}
    return {"time": at(seconds), "source": "log", **told, **more}


def judge(
    *samples: pl.LazyFrame,
    events: Sequence[dict[str, Any]] = (),
    links: Sequence[str] = (),
    coverage: Sequence[dict[str, Any]] = (),
) -> list[Verdict]:
    """What all detectors say; a link is `host port - host port`."""
    ends = [[end.split(" ") for end in link.split(" - ")] for link in links]
    cables = [
        {"node_a": a[0], "port_a": a[1], "node_b": b[0], "port_b": b[1]}
        for a, b in map(sorted, ends)
    ]
    reading = reading_of(
        samples=pl.concat(samples) if samples else pl.LazyFrame(schema=SAMPLES),
        events=pl.LazyFrame(list(events), schema=EVENTS),
        links=pl.LazyFrame(cables, schema=LINKS),
        coverage=pl.LazyFrame(list(coverage), schema=COVERAGE),
    )
    return find_all(reading, DetectorParams(), lambda *_: None)


def said(verdicts: Sequence[Verdict]) -> list[tuple[str, str, str | None]]:
    """Kind, subject and cause of each verdict."""
    return [
        (
            one.kind,
            one.subject.phrase(),
            one.cause,
        )
        for one in verdicts
    ]


def words(verdict: Verdict) -> str:
    """All that a verdict says, in one line."""
    seen = "; ".join(one.what for one in verdict.evidence)
    return f"{seen}; {verdict.action}; {verdict.needed}"


def intervals(*samples: pl.LazyFrame) -> list[tuple[Any, ...]]:
    """Known growth, least growth and flags of each interval, by port, signal and time."""
    frame = counter_intervals(port_readings(pl.concat(samples)), CounterParams())
    flags = ("reset", "wrapped", "saturated", "infeasible", "regrouped")
    told = pl.concat_list(
        pl.when(pl.col(flag)).then(pl.lit(flag)).otherwise(pl.lit("")) for flag in flags
    )
    flag_text = told.list.join(" ").str.strip_chars()
    return frame.select("delta", "min_delta", flag_text.alias("flags"), "seconds").rows()


PORT = "leaf-r3-02 17"
LAG = ("received_bytes_total", "transmitted_bytes_total")


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        pytest.param(
            [port(PORT, SYMBOLS, [FULL, FULL], seconds=HOUR, wraps_at=STOPS)],
            [(None, 0.0, "saturated", HOUR)],
            id="a counter that stands at its top has grown by nobody knows how much",
        ),
        pytest.param(
            [port(PORT, SYMBOLS, [3, FULL, FULL, 2, 3], wraps_at=STOPS)],
            [
                (None, 12.0, "saturated", 60.0),
                (None, 0.0, "saturated", 60.0),
                (None, 2.0, "reset", 60.0),
                (1.0, 1.0, "", 60.0),
            ],
            id="only a reset brings a counter down from its top",
        ),
        pytest.param(
            [
                port(
                    PORT, "receive_discards_total", [4294967000, 904], seconds=30, wraps_at=WRAPS_32
                )
            ],
            [(1200.0, 1200.0, "wrapped", 30.0)],
            id="a counter of 32 bits near its width wrapped",
        ),
        pytest.param(
            [port(PORT, "receive_discards_total", [1e9, 904], seconds=30, wraps_at=WRAPS_32)],
            [(None, 904.0, "reset", 30.0)],
            id="a counter of 32 bits far from its width was reset",
        ),
        pytest.param(
            [port(PORT, "receive_discards_total", [4294967000, 904], seconds=30)],
            [(1200.0, 1200.0, "wrapped", 30.0)],
            id="a counter of unknown width that just fits a wrap wrapped",
        ),
        pytest.param(
            [
                port(
                    PORT,
                    "received_bytes_total",
                    [9007199250000000, 2995259008],
                    wraps_at=WRAPS_53,
                ),
                port(PORT, DAMAGED, [3, 3], wraps_at=WRAPS_32),
            ],
            [(0.0, 0.0, "", 60.0), (3e9, 3e9, "wrapped", 60.0)],
            id="a wrap at 53 bits is no reset and its siblings keep their baselines",
        ),
        pytest.param(
            [port(PORT, "received_bytes_total", [9007199250000000, 9e14], wraps_at=WRAPS_53)],
            [(None, 9e14, "reset", 60.0)],
            id="a wrap that no port could have run through is a reset",
        ),
        pytest.param(
            [port(PORT, DAMAGED, [5000000, 12, 40, 60])],
            [(None, 12.0, "reset", 60.0), (28.0, 28.0, "", 60.0), (20.0, 20.0, "", 60.0)],
            id="after a reset the new value is the baseline",
        ),
        pytest.param(
            [port(PORT, name, [800000, 0, 900000], seconds=30) for name in LAG],
            [(100000.0, 100000.0, "", 60.0)] * 2,
            id="a row of zeros between good readings is no reading",
        ),
        pytest.param(
            [port(PORT, LAG[0], [800000, 0, 0, 900000]), port(PORT, SYMBOLS, [0, 0, 0, 0])],
            [(100000.0, 100000.0, "", 180.0), (0.0, 0.0, "", 180.0)],
            id="two rows of zeros are two bad readings",
        ),
        pytest.param(
            [port(PORT, LAG[0], [800000, 0, 300]), port(PORT, SYMBOLS, [5, 0, 0])],
            [
                (None, 0.0, "reset", 60.0),
                (300.0, 300.0, "", 60.0),
                (None, 0.0, "reset", 60.0),
                (0.0, 0.0, "", 60.0),
            ],
            id="zeros that are not made good are a reset",
        ),
        pytest.param(
            [
                port(PORT, "buffer_overrun_errors_total", [6, 7, 8, 1, 2], wraps_at=STOPS),
                port(PORT, SYMBOLS, [100, 100, 101, 0, 0], wraps_at=STOPS),
            ],
            [
                (1.0, 1.0, "", 60.0),
                (1.0, 1.0, "", 60.0),
                (None, 1.0, "reset", 60.0),
                (1.0, 1.0, "", 60.0),
                (0.0, 0.0, "", 60.0),
                (1.0, 1.0, "", 60.0),
                (None, 0.0, "reset", 60.0),
                (0.0, 0.0, "", 60.0),
            ],
            id="an exporter that resets full counters leaves at least the new values",
        ),
        pytest.param(
            [port(PORT, SYMBOLS, [7, 9]), port(PORT, DAMAGED, [50, 2])],
            [(None, 2.0, "reset", 60.0), (None, 2.0, "reset", 60.0)],
            id="one counter that fell leaves its sibling's growth a lower bound",
        ),
        pytest.param(
            [
                port("leaf-r3-02 PortChannel12", LAG[0], [9.000e12, 5.001e12]),
                port("leaf-r3-02 Ethernet0", LAG[0], [5.000e12, 5.001e12]),
            ],
            [(1e9, 1e9, "", 60.0), (None, None, "regrouped", 60.0)],
            id="a bundle that lost a member is neither reset nor wrapped",
        ),
        pytest.param(
            [port(PORT, LAG[0], [100, 1e17, 110, 120])],
            [(None, None, "infeasible", 60.0)] * 2 + [(10.0, 10.0, "", 60.0)],
            id="what no port can carry is a bad reading on the way up and on the way down",
        ),
        pytest.param(
            [
                port(PORT, LAG[0], [1000, 2000, 2000, 3000]),
                port(PORT, SYMBOLS, [1, 2, 2, 2]),
            ],
            [
                (1000.0, 1000.0, "", 60.0),
                (1000.0, 1000.0, "", 120.0),
                (1.0, 1.0, "", 60.0),
                (0.0, 0.0, "", 120.0),
            ],
            id="a row served again is no time without errors",
        ),
        pytest.param(
            [
                port(PORT, "hist", [1.0]),
                pl.concat(
                    [
                        port(PORT, SYMBOLS, [5], seconds=1),
                        port(PORT, SYMBOLS, [5, 9], seconds=600),
                        port(PORT, SYMBOLS, [5, 9], seconds=600),
                    ]
                ),
            ],
            [(4.0, 4.0, "", 600.0)],
            id="a copy with the same time claims no time without errors",
        ),
    ],
)
def test_intervals(samples: list[pl.LazyFrame], expected: list[tuple[Any, ...]]) -> None:
    """Each pair of readings says its growth, the least it can be, and why it is not known."""
    assert intervals(*samples) == expected


def test_exact_counts() -> None:
    """Counts above 2^53 are compared by their last digit."""
    frame = port(PORT, "received_bytes_total", [2.0**60, 2.0**60, 2.0**60], wraps_at=2.0**64)
    counts = pl.Series("exact", [2**60, 2**60 + 5, 2**60 + 7], dtype=pl.UInt64)

    assert intervals(frame.with_columns(exact=pl.lit(counts))) == [
        (5.0, 5.0, "", 60.0),
        (2.0, 2.0, "", 60.0),
    ]


LEAF, HOST = "leaf-r3-02 17", "gpu-r3-n07 mlx5_4"
CABLE = f"{LEAF} - {HOST}"
LINK = "link gpu-r3-n07:mlx5_4 - leaf-r3-02:17"


def test_blind_counters() -> None:
    """Counters at their tops are said to be blind, and nothing else is."""
    names = ("transmit_wait_ticks", "link_downed", "transmit_discards", "buffer_overrun_errors")
    full = [
        port(HOST, f"{name}_total", [FULL, FULL], seconds=HOUR, wraps_at=STOPS)
        for name in (*names, "symbol_errors")
    ]
    (verdict,) = judge(*full)

    assert said([verdict]) == [("unknown", "mlx5_4 on gpu-r3-n07", "counters_saturated")]
    assert "counters blind, reset needed" in words(verdict)


def test_one_full_counter_is_not_blind() -> None:
    """A port of which one counter is full and the others count is still judged by those."""
    live = [port(HOST, f"{name}_total", [3, 3]) for name in ("link_downed", "receive_errors")]

    assert judge(port(HOST, SYMBOLS, [FULL, FULL], wraps_at=STOPS), *live) == []


def test_first_ratio_after_a_boot() -> None:
    """A first error ratio that starts from nothing, and the highest since, accuse nobody."""
    assert (
        judge(
            port("leaf-r3-02 Ethernet12", RAW, [2.1e-4, 1.3e-10, 1.2e-10]),
            port("leaf-r3-02 Ethernet12", "max_pre_fec_error_ratio", [2.1e-4] * 3),
            port("leaf-r3-02 Ethernet12", UNCORRECTED, [0, 0, 0]),
        )
        == []
    )


FAILED = event(60, "gpu-r3-n07", "collector_failed", code="infiniband", message="it failed")


@pytest.mark.parametrize("seen", [None, 1], ids=["coverage is not told", "half of the scrapes"])
def test_failed_collector(seen: int | None) -> None:
    """A failed collector is a host without data: no link is down and no error is absent."""
    row = {"entity": "gpu-r3-n07", "signal": "collector infiniband", "seen": seen, "expected": 2}
    (verdict,) = judge(events=[FAILED], coverage=[row] if seen else [])

    assert said([verdict]) == [("telemetry_lost", "gpu-r3-n07", "collector_failed")]
    assert "no IB data from host gpu-r3-n07" in words(verdict)


def test_collectors_that_fail_elsewhere() -> None:
    """A collector that timed out once, and one for hardware that is not there, are nothing."""
    rare = {"entity": "gpu-r3-n07", "signal": "collector infiniband", "seen": 99, "expected": 100}
    absent = event(60, "gpu-r3-n08", "collector_failed", code="rapl")

    assert judge(events=[FAILED, absent], coverage=[rare]) == []


def test_old_values() -> None:
    """Values that were collected long before they were scraped are said to be old."""
    old = event(60, "leaf-r3-02", "stale_source", code="switch-runonce")
    (verdict,) = judge(events=[old])

    assert said([verdict]) == [("telemetry_lost", "leaf-r3-02", "stale_source")]


def test_errors_at_the_host_alone() -> None:
    """Errors of a host's receiver damage the way from the switch, whose own zeros clear nothing."""
    (verdict,) = judge(
        port(LEAF, SYMBOLS, [0, 0], seconds=HOUR),
        port(HOST, SYMBOLS, [0, 900], seconds=HOUR),
        links=[CABLE],
    )

    assert said([verdict]) == [("link_fault", LINK, "dirty")]
    assert "direction leaf-r3-02 17 -> gpu-r3-n07 mlx5_4, receiver gpu-r3-n07" in words(verdict)
    assert verdict.alternatives == (
        "transmitter of leaf-r3-02 17",
        "cable or fibre leaf-r3-02 17 -> gpu-r3-n07 mlx5_4",
        "receiver of gpu-r3-n07 mlx5_4",
    )


def test_old_totals() -> None:
    """Large totals that do not grow accuse nobody."""
    assert (
        judge(
            port(LEAF, SYMBOLS, [70, 70], seconds=HOUR),
            port(HOST, SYMBOLS, [60000, 60000], seconds=HOUR),
            links=[CABLE],
        )
        == []
    )


def test_slow_optics() -> None:
    """A fall of power, known to a minute, and errors within it are one event."""
    (verdict,) = judge(
        port("leaf-r3-02 Ethernet12/lane1", "rx_power_dbm", [-1.8] * 6 + [-6.9] * 6, seconds=10),
        port("leaf-r3-02 Ethernet12", RAW, [1e-9] * 3 + [1e-7] * 9, seconds=10),
    )

    assert said([verdict]) == [("degrading", "link leaf-r3-02:Ethernet12", "error_ratio")]
    assert (verdict.onset, verdict.confidence) == (at(30), "high")
    assert (
        "Ethernet12/lane1 fell from -1.8 to -6.9 dBm between 04:00:00 and 04:01:00: one event"
        in words(verdict)
    )


def test_power_of_another_time() -> None:
    """A fall of power an hour before the errors is no part of them."""
    (verdict,) = judge(
        port("leaf-r3-02 Ethernet12/lane1", "rx_power_dbm", [-1.8, -6.9], seconds=60),
        port("leaf-r3-02 Ethernet12", RAW, [1e-9] * 60 + [1e-7] * 9, seconds=60),
    )

    assert "fell from" not in words(verdict)


def blank(name: str) -> list[pl.LazyFrame]:
    """A port that answers for each counter without a value."""
    names = ("received_packets_total", DAMAGED, "receive_discards_total")
    return [port(name, one, ["not_supported"] * 2) for one in names]


def test_port_without_counters() -> None:
    """A port that is up and counts nothing is unknown, with the reason, and never clean."""
    others = [port(f"leaf-r3-02 Ethernet{n}", DAMAGED, [0, 0]) for n in (64, 68)]
    up = port("leaf-r3-02 Ethernet72", "link_up", [1, 1])
    (verdict,) = judge(up, *blank("leaf-r3-02 Ethernet72"), *others)

    assert said([verdict]) == [("unknown", "port Ethernet72 of leaf-r3-02", "no_counters")]
    assert "(not_supported): that is not 0 errors" in words(verdict)


def test_port_that_is_down() -> None:
    """A port that is down need not count."""
    down = port("leaf-r3-02 Ethernet72", "link_up", [0, 0])

    assert judge(down, *blank("leaf-r3-02 Ethernet72")) == []


MINUTE_OF_PAUSES = [0, 52000]


def test_slow_receiver() -> None:
    """A NIC that asks its switch to stop is slow at home, however little traffic there is."""
    verdicts = judge(
        port("gpu-r3-n07 eth4", "pause_sent_frames_total", MINUTE_OF_PAUSES),
        port("gpu-r3-n07 eth4", "pause_received_frames_total", [0, 0]),
        port("gpu-r3-n07 eth4", "received_bytes_total", [0, 9.3e11]),
        port("leaf-r3-02 Ethernet12", "pause_received_frames_total", MINUTE_OF_PAUSES),
        port("leaf-r3-02 Ethernet12", "pause_sent_frames_total", [0, 0]),
        links=["leaf-r3-02 Ethernet12 - gpu-r3-n07 eth4"],
    )

    assert said(verdicts) == [("congestion", "eth4 on gpu-r3-n07", "slow_receiver")]
    assert verdicts[0].victims == ("leaf-r3-02",)
    assert "not the cable" in words(verdicts[0])


def test_few_pauses() -> None:
    """Some pauses are how a lossless fabric works."""
    assert judge(port("gpu-r3-n07 eth4", "pause_sent_frames_total", [0, 900])) == []


INCAST = [
    frame
    for number in (20, 36)
    for frame in (
        port(f"leaf-r3-02 Ethernet{number}", "receive_discards_total", [0, 24000, 48000]),
        port(f"leaf-r3-02 Ethernet{number}", "pause_sent_frames_total", [0, 90000, 180000]),
        port(f"leaf-r3-02 Ethernet{number}", UNCORRECTED, [0, 0, 0]),
        port(f"leaf-r3-02 Ethernet{number}", DAMAGED, [0, 0, 0]),
    )
]
FULL_EGRESS = [
    port("leaf-r3-02 Ethernet8", "transmitted_bytes_total", [0, 3e12, 6e12]),
    port("leaf-r3-02 Ethernet8", "port_rate_bytes_per_second", [5e10] * 3),
]


def headroom(value: float) -> list[pl.LazyFrame]:
    """What both paused ports tell of their headroom."""
    return [
        port(f"leaf-r3-02 Ethernet{number}", name, [value] * 3)
        for number in (20, 36)
        for name in ("headroom_bytes", "headroom_watermark_bytes")
    ]


def test_incast_without_headroom() -> None:
    """Drops of ports that pause are an incast at the full egress and missing headroom."""
    verdicts = judge(*INCAST, *FULL_EGRESS, *headroom(0))

    assert said(verdicts) == [
        ("congestion", "port Ethernet8 of leaf-r3-02", "incast"),
        ("config_drift", "port Ethernet20 of leaf-r3-02", "headroom"),
        ("config_drift", "port Ethernet36 of leaf-r3-02", "headroom"),
    ]
    assert "egress Ethernet8 is 100% full" in words(verdicts[0])


def test_incast_with_headroom() -> None:
    """With headroom in use the incast alone is told."""
    assert said(judge(*INCAST, *FULL_EGRESS, *headroom(90000))) == [
        ("congestion", "port Ethernet8 of leaf-r3-02", "incast")
    ]


def storm(pairs: int, every: float = 0.6, lasts: float = 0.58) -> list[dict[str, Any]]:
    """Lines of a watchdog that finds a storm and restores it."""
    queue = [{"key": "queue", "value": "3"}]
    return [
        event(every * at_ + after, "leaf-r3-02 Ethernet4", kind, attributes=queue)
        for at_ in range(pairs)
        for after, kind in ((0.0, "pfc_storm"), (lasts, "pfc_storm_end"))
    ]


def test_storm_that_returns() -> None:
    """Storms that return at once are one, of the peer, however still the pause counter stands."""
    verdicts = judge(
        port("leaf-r3-02 Ethernet4", "pause_received_frames_total", [800, 800]),
        events=storm(6),
        links=["leaf-r3-02 Ethernet4 - gpu-r3-n07 eth4"],
    )

    assert said(verdicts) == [("congestion", "eth4 on gpu-r3-n07", "pfc_storm")]
    assert (verdicts[0].onset, verdicts[0].cleared) == (at(0), at(3.58))
    assert "queue 3 stopped by its peer, 3.58 s, 6 times" in words(verdicts[0])


def test_storms_apart() -> None:
    """Storms a minute apart are two, and one that is not restored goes on."""
    lines = storm(2, every=60.0)[:-1]
    verdicts = judge(events=lines)

    assert [(one.cause, one.cleared) for one in verdicts] == [
        ("pfc_storm", at(0.58)),
        ("pfc_storm", None),
    ]


def mtu(host: str, size: float, signal: str, errors: float) -> list[pl.LazyFrame]:
    """A NIC with its path MTU and errors of length."""
    return [
        port(f"{host} mlx5_0", "active_mtu_bytes", [size, size]),
        port(f"{host} mlx5_0", signal, [0, errors]),
        port(f"{host} mlx5_0", SYMBOLS, [0, 0]),
    ]


def test_path_mtu() -> None:
    """Messages that fail by their length between ends of different MTU are a setting."""
    verdicts = judge(
        *mtu("gpu-r3-n07", 4096, "remote_invalid_requests_total", 40),
        *mtu("gpu-r3-n08", 2048, "local_length_errors_total", 40),
    )

    assert [(one.kind, one.cause) for one in verdicts] == [("config_drift", "path_mtu")]
    assert "gpu-r3-n07 4096, gpu-r3-n08 2048" in words(verdicts[0])


@pytest.mark.parametrize(
    ("sizes", "errors"),
    [
        pytest.param((4096, 4096), 40, id="the same MTU"),
        pytest.param((4096, 2048), 0, id="no message failed"),
    ],
)
def test_no_path_mtu(sizes: tuple[float, float], errors: float) -> None:
    """Without both nothing is said."""
    assert (
        judge(
            *mtu("gpu-r3-n07", sizes[0], "remote_invalid_requests_total", errors),
            *mtu("gpu-r3-n08", sizes[1], "local_length_errors_total", errors),
        )
        == []
    )


def test_packets_marked_bad() -> None:
    """The first hop's line is dirty; who hears the marked packets is innocent."""
    (verdict,) = judge(
        port("leaf-r1-01 5", DAMAGED, [0, 300], seconds=HOUR),
        port("leaf-r1-01 5", SYMBOLS, [0, 40], seconds=HOUR),
        port("spine-s04 9", MARKED_BAD, [0, 300], seconds=HOUR),
        port("spine-s04 9", DAMAGED, [0, 0], seconds=HOUR),
        port("spine-s04 9", SYMBOLS, [0, 0], seconds=HOUR),
        port("gpu-r3-n07 mlx5_0", MARKED_BAD, [0, 300], seconds=HOUR),
        links=["leaf-r1-01 5 - gpu-r1-n02 mlx5_0", "spine-s04 9 - leaf-r1-01 33"],
    )

    assert said([verdict]) == [
        ("link_fault", "link gpu-r1-n02:mlx5_0 - leaf-r1-01:5", "dirty"),
    ]
    assert "direction gpu-r1-n02 mlx5_0 -> leaf-r1-01 5" in words(verdict)
    assert verdict.victims == ("gpu-r3-n07 mlx5_0", "spine-s04 9")


def test_damage_from_upstream() -> None:
    """Damaged packets over clean lines accuse nobody; that their origin is unseen is said."""
    (verdict,) = judge(
        port("gpu-r3-n07 eth4", "crc_errors_total", [0, 300], seconds=HOUR),
        port("gpu-r3-n07 eth4", "fec_uncorrected_symbols_total", [0, 0], seconds=HOUR),
    )

    assert (verdict.kind, verdict.level, verdict.cause) == ("unknown", "job", "damage_upstream")
    assert verdict.victims == ("gpu-r3-n07 eth4",)


@pytest.mark.parametrize(
    ("powers", "expected"),
    [
        pytest.param([-2.1, 0.0, 0.0, 0.0], [-2.1], id="fillers of a module with one laser"),
        pytest.param([-2.1, -2.4, -2.0, -2.2], [-2.1, -2.4, -2.0, -2.2], id="four lasers"),
        pytest.param([0.0, 0.0, 0.0, 0.0], [], id="nothing but fillers"),
        pytest.param([0.0], [0.0], id="a lane of one milliwatt"),
        pytest.param(["dark", None, -40.0, -2.0], [-2.0], id="no light is no level"),
    ],
)
def test_lanes(powers: list[float | str | None], expected: list[float]) -> None:
    """Only lanes that are lit have a power."""
    frames = [
        port(f"leaf-r3-02 Ethernet0/lane{lane}", "rx_power_dbm", [power])
        for lane, power in enumerate(powers, 1)
    ]
    readings = port_readings(pl.concat(frames)).collect()
    found = lane_powers(readings, "rx_power_dbm", ("leaf-r3-02", "Ethernet0"))

    assert found["value"].to_list() == expected


def test_filler_lanes_accuse_nobody() -> None:
    """A dirty link with fillers for lanes has no dim lane; copper has no power at all."""
    lanes = [-2.1, 0.0, 0.0, 0.0]
    (verdict,) = judge(
        *(
            port(f"leaf-r3-02 Ethernet0/lane{lane}", "rx_power_dbm", [power, power], seconds=HOUR)
            for lane, power in enumerate(lanes, 1)
        ),
        port("leaf-r3-02 Ethernet4/lane1", "rx_power_dbm", ["not_supported"] * 2, seconds=HOUR),
        port("leaf-r3-02 Ethernet0", UNCORRECTED, [0, 900], seconds=HOUR),
        port("leaf-r3-02 Ethernet4", UNCORRECTED, [0, 0], seconds=HOUR),
    )

    assert said([verdict]) == [("link_fault", "link leaf-r3-02:Ethernet0", "dirty")]
    assert "below the best" not in words(verdict)


def moves(*kinds: str, name: str = "leaf-r3-02 Ethernet12") -> list[dict[str, Any]]:
    """Events of a port, 10 s apart."""
    return [event(10.0 * place, name, kind) for place, kind in enumerate(kinds)]


def test_one_flap() -> None:
    """Lines of several processes and a doubled count are exactly one flap."""
    doubled = [event(0.1, "leaf-r3-02 Ethernet12", "link_down")]
    (verdict,) = judge(
        port("leaf-r3-02 Ethernet12", "carrier_changes_total", [10, 12]),
        events=[*moves("link_down", "link_up", "link_up"), *doubled],
    )

    assert said([verdict]) == [("link_fault", "link leaf-r3-02:Ethernet12", "flap")]
    assert words(verdict).startswith("1 flap of this link, down for 10 s in all")


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(moves("link_up", "link_up"), id="up to up"),
        pytest.param(moves("admin_down", "link_down", "admin_up", "link_up"), id="by command"),
        pytest.param(
            [*moves("link_down", "link_up"), event(20, "leaf-r3-02", "boot")], id="the switch boots"
        ),
        pytest.param(
            [
                one
                for lane in range(4)
                for one in moves("link_down", "link_up", name=f"leaf-r3-02 Ethernet{lane}")
            ],
            id="all ports of a switch at once",
        ),
    ],
)
def test_no_flap(events: list[dict[str, Any]]) -> None:
    """What somebody did, and a boot, is no flap."""
    assert judge(events=events) == []


def test_flapping() -> None:
    """Two flaps within a day are a link to mend; two in a week are not."""
    again = moves("link_down", "link_up", "link_down", "link_up")
    week = [*again[:2], *(one | {"time": one["time"] + timedelta(days=6)} for one in again[2:])]

    assert said(judge(events=again)) == [
        ("flapping", "link leaf-r3-02:Ethernet12", "link_flap"),
    ]
    assert [one.cause for one in judge(events=week)] == ["flap"]


def test_port_that_stays_down() -> None:
    """A port that does not come back is told once, with the far end as the other suspect."""
    (verdict,) = judge(events=moves("link_down"), links=["leaf-r3-02 Ethernet12 - gpu-r3-n07 eth4"])

    assert (verdict.kind, verdict.cause, verdict.cleared) == ("link_fault", "link_down", None)
    assert verdict.alternatives == ("gpu-r3-n07 eth4 is powered off or was shut there",)


@pytest.mark.parametrize(
    ("values", "boots"),
    [
        pytest.param([4, 4, 4, 1, 1], [], id="a counter that is lower after a reboot"),
        pytest.param([4, 4, 4, 1, 1], [event(130, "gpu-r3-n07", "boot")], id="a boot that is told"),
        pytest.param([4, 4, 4, 5, 5], [event(130, "gpu-r3-n07", "boot")], id="growth of a boot"),
        pytest.param([4, 4, 4, 4, 4], [], id="an old total when the agent starts"),
    ],
)
def test_lifetime_counter(values: list[float], boots: list[dict[str, Any]]) -> None:
    """A lifetime counter says nothing at the start of the data and after a boot."""
    assert judge(port(HOST, "link_downed_total", values), events=boots) == []


def ages(name: str, minutes: float) -> pl.LazyFrame:
    """How long ago a port's counters began, an hour apart, the last one being `minutes`."""
    before = minutes - 60 if minutes > 60 else 9000
    return port(name, "seconds_since_clear", [before * 60, minutes * 60], seconds=HOUR)


@pytest.mark.parametrize(
    ("switch", "host", "ages_", "expected"),
    [
        pytest.param((3, 4), (2, 0), (51, 49, 49), [], id="the host booted"),
        pytest.param((3, 4), (2, 3), (51, 49, 6100), ["flap"], id="both counted: one flap"),
        pytest.param((3, 4), (2, 3), (4000, 4000, 6100), [], id="an old event is counted already"),
        pytest.param((3, 4), (2, 1), (51, 49, 6100), ["flap"], id="the host's counter was cleared"),
        pytest.param((3, 3), (2, 2), (51, 49, 6100), [], id="nobody counted"),
    ],
)
def test_reboot_or_flap(
    switch: tuple[float, float],
    host: tuple[float, float],
    ages_: tuple[float, float, float],
    expected: list[str],
) -> None:
    """Ages of the counters of both ends, and of the host's others, tell a flap from a reboot."""
    verdicts = judge(
        port(LEAF, "link_downed_total", switch, seconds=HOUR, wraps_at=STOPS),
        port(HOST, "link_downed_total", host, seconds=HOUR, wraps_at=STOPS),
        ages(LEAF, ages_[0]),
        ages(HOST, ages_[1]),
        ages("gpu-r3-n07 mlx5_5", ages_[2]),
        links=[CABLE],
    )

    assert [one.cause for one in verdicts] == expected
    assert all(words(one).startswith("1 flap") for one in verdicts)


RETRAIN = event(23.5 * HOUR + 667, "leaf-r3-02 Ethernet12", "port_error", code="fec_sync_loss")


def worse(after: float) -> list[pl.LazyFrame]:
    """Error ratios of a day and of 12 h after it; nothing is lost and the carrier stays."""
    return [
        port("leaf-r3-02 Ethernet12", RAW, [1e-10] * 48 + [after] * 24, seconds=1800),
        port("leaf-r3-02 Ethernet12", UNCORRECTED, [0] * 72, seconds=1800),
        port("leaf-r3-02 Ethernet12", "carrier_changes_total", [2] * 72, seconds=1800),
    ]


def test_retrain_without_link_down() -> None:
    """A link that lost lock and stays up at a worse error ratio is an early warning, no flap."""
    (verdict,) = judge(*worse(2e-8), events=[RETRAIN])

    assert said([verdict]) == [("degrading", "link leaf-r3-02:Ethernet12", "retrain")]
    assert verdict.onset == RETRAIN["time"]
    assert "retrain without link-down" in words(verdict)
    assert "x200 its own past" in words(verdict)
    assert "early warning" in words(verdict)


def test_a_ratio_that_hardly_moves() -> None:
    """Three times the errors are the spread of a day."""
    assert judge(*worse(3e-10), events=[RETRAIN]) == []
