"""Published ways in which InfiniBand counters mislead, each from its input to what it means."""

from collections.abc import Callable
from datetime import UTC, datetime

import polars as pl
import pytest

from collectors.frames import EVENTS, conform
from collectors.names.aliases import resolve_devices
from collectors.readings import Reading, join_readings, reading_of
from detectors.counters import CounterParams, counter_intervals
from detectors.fabric import fabric_of
from detectors.pause_shares import stop_shares
from detectors.port_readings import port_readings

Read = Callable[[dict[str, str]], Reading]

LEAF = "0xb83fd2030a001101"
NIC = "0xb83fd2030a0077c4"
HEAD = "timestamp,source_id,Node_GUID,node_description,Port_Number"


def intervals(reading: Reading) -> pl.DataFrame:
    """Return what the counters of a reading did between its samples."""
    readings = port_readings(reading.samples.lazy())
    return counter_intervals(readings, CounterParams())


def grown(reading: Reading, signal: str) -> list[tuple[object, ...]]:
    """Return the growth of one counter and what is said of it, interval by interval."""
    mine = intervals(reading).filter(pl.col("signal") == signal)
    return mine.select("delta", "min_delta", "reset", "saturated", "infeasible").rows()


def values(reading: Reading, signal: str) -> list[tuple[object, ...]]:
    """Return time, value and reason of one signal, in order of time."""
    mine = reading.samples.filter(pl.col("signal") == signal).sort("time", "device")
    return mine.select("device", "value", "reason").rows()


@pytest.mark.parametrize(
    ("files", "signal", "bytes_per_second"),
    [
        pytest.param(
            {"sysfs.txt": "ts=0 port_xmit_data=1000000000\nts=1 port_xmit_data=2500000000\n"},
            "transmitted_bytes_total",
            6.0e9,
            id="the kernel's data counter is in words of four bytes",
        ),
        pytest.param(
            {
                "page.prom": "\n".join(
                    "node_infiniband_port_data_transmitted_bytes_total"
                    f'{{device="mlx5_4",port="1",instance="n07:9100"}} {count} {time}'
                    for count, time in ((1000000000, 0), (2500000000, 1000))
                )
            },
            "transmitted_bytes_total",
            1.5e9,
            id="node_exporter's is in bytes already",
        ),
        pytest.param(
            {
                "sysfs.txt": "ts=0 device=mlx5_4 port=1 port_rcv_data=0\n"
                "ts=1 device=mlx5_4 port=1 port_rcv_data=2500000000\n"
            },
            "received_bytes_total",
            1.0e10,
            id="lanes do not change the size of a word",
        ),
    ],
)
def test_words(
    read_texts: Read, files: dict[str, str], signal: str, bytes_per_second: float
) -> None:
    """A rate of data is in bytes, whatever the source counts in."""
    rows = intervals(read_texts(files)).filter(pl.col("signal") == signal)

    assert (rows["delta"] / rows["seconds"]).to_list() == [bytes_per_second]


def test_factor_applied_twice(read_texts: Read) -> None:
    """More than a port can carry is refused as an interval and doubted as a unit."""
    labels = '{device="mlx5_4",port="1",instance="n07:9100"}'
    lines = [
        line
        for time, count in ((0, 0), (1000, 20_000_000_000))
        for line in (
            f"node_infiniband_port_data_received_bytes_total{labels} {count} {time}",
            f"node_infiniband_rate_bytes_per_second{labels} 12500000000 {time}",
            f"node_infiniband_state_id{labels} 4 {time}",
        )
    ]
    reading = read_texts({"page.prom": "\n".join(lines)})

    assert grown(reading, "received_bytes_total") == [(None, None, False, False, True)]
    assert values(reading, "received_bytes_total")[1] == ("mlx5_4/1", 2e10, "unit_suspect")


TOPOLOGY = """vendid=0x2c9
devid={devid}
switchguid=0x{guid}({guid})
Switch\t65 "S-{guid}"\t\t# "{name}" enhanced port 0 lid {lid} lmc 0
[3]\t"H-{guid}f"[1]({guid}f) \t\t# "gpu-r3-n07 mlx5_4" lid 631 {speed}
"""


def perfquery(lid: int, waits: int) -> str:
    """Return a block of extended counters of port 3."""
    return (
        f"# Port extended counters: Lid {lid} port 3 (CapMask: 0x5B00 CapMask2: 0x0000022)\n"
        f"PortSelect:......................3\nPortXmitWait:....................{waits}\n"
    )


@pytest.mark.parametrize(
    ("topology", "waits", "ratio"),
    [
        pytest.param(
            {"devid": "0xd2f2", "guid": "b83fd2030a00110", "lid": 5, "speed": "4xNDR"},
            18_750_000_000,
            0.05,
            id="a tick of Quantum-2 is 8 bytes of the port",
        ),
        pytest.param(
            {"devid": "0xcb20", "guid": "b83fd2030a00220", "lid": 6, "speed": "4xEDR"},
            2_343_750_000,
            0.4,
            id="a tick of Switch-IB is 32 bytes of each lane",
        ),
    ],
)
def test_wait_ticks(
    read_texts: Read, topology: dict[str, object], waits: int, ratio: float
) -> None:
    """Waits become a share of time by the chip that counts them."""
    lid = int(str(topology["lid"]))
    read = read_texts(
        {
            "ibnetdiscover-20260105T040000Z.txt": TOPOLOGY.format(name="leaf-r3-02", **topology),
            "perfquery-20260105T040000Z.txt": perfquery(lid, 1000),
            "perfquery-20260105T040100Z.txt": perfquery(lid, 1000 + waits),
        }
    )
    whole = resolve_devices(read)
    frames = (whole.samples.lazy(), whole.events.lazy(), whole.links.lazy())
    rows = stop_shares(fabric_of(*frames, CounterParams()), 60.0).drop_nulls("waited")

    assert rows.select("host", "port", "waited").rows() == [
        ("leaf-r3-02", "3", pytest.approx(ratio, rel=1e-12))
    ]


def test_one_port_with_three_labels(read_texts: Read) -> None:
    """A number, a label and a label with its board are one port of a Quantum-2 switch."""
    telemetry = read_texts(
        {"ufm.csv": f"{HEAD},Link_Down\n1764100000000000,{LEAF},{LEAF},leaf-r3-02,33,1\n"}
    )
    others = pl.DataFrame(
        {"host": "leaf-r3-02", "device_kind": "switch_port", "device": ["1/17/1", "17/1"]}
    )
    logged = reading_of(events=conform(others.lazy(), EVENTS))
    resolved = resolve_devices(join_readings([telemetry, logged]))
    devices = {*resolved.samples["device"], *resolved.events["device"]}

    assert devices == {"17/1"}


FULL = (
    "port_xmit_wait=4294967295 link_downed=255 port_xmit_discards=65535 "
    "excessive_buffer_overrun_errors=15 symbol_error=65535"
)


def test_counters_at_their_top(read_texts: Read) -> None:
    """Counters that stand at the top of their width are blind: neither healthy nor a fault."""
    reading = read_texts({"sysfs.txt": f"ts=0 {FULL}\nts=3600 {FULL}\n"})
    rows = intervals(reading)

    assert set(reading.samples["reason"]) == {"saturated"}
    assert reading.samples["value"].null_count() == 10
    assert rows.height == 5
    assert rows["saturated"].all()
    assert rows["delta"].null_count() == 5


def test_counters_that_their_exporter_resets(read_texts: Read) -> None:
    """A reset is at least what was counted since, and makes all counters of the port doubtful."""
    labels = (
        f'{{component="switch",local_guid="{LEAF}",local_name="leaf-r3-02",local_port="17",'
        f'remote_guid="{NIC}",remote_name="gpu-r3-n07 mlx5_4",remote_port="1"}}'
    )
    counts = ((6, 100), (7, 100), (8, 101), (1, 0), (2, 0))
    lines = [
        line
        for at, (overruns, symbols) in enumerate(counts)
        for line in (
            f"infiniband_excessivebufferoverrunerrors_total{labels} {overruns} {at * 60_000}",
            f"infiniband_symbolerrorcounter_total{labels} {symbols} {at * 60_000}",
        )
    ]
    reading = read_texts({"page.prom": "\n".join(lines)})

    assert grown(reading, "buffer_overrun_errors_total") == [
        (1.0, 1.0, False, False, False),
        (1.0, 1.0, False, False, False),
        (None, 1.0, True, False, False),
        (1.0, 1.0, False, False, False),
    ]
    assert grown(reading, "symbol_errors_total") == [
        (0.0, 0.0, False, False, False),
        (1.0, 1.0, False, False, False),
        (None, 0.0, True, False, False),
        (0.0, 0.0, False, False, False),
    ]


def test_zero_of_a_missing_file(read_texts: Read) -> None:
    """A zero of an interface without byte counters is the default of a file that is not there."""
    line = 'rdma_out_of_sequence{hostname="gpu-r3-n07",interface="rdma3"} 0\n'
    reading = read_texts({"page.prom": line})

    assert values(reading, "out_of_sequence_packets_total") == [("rdma3", None, "missing_file")]


def message(stamp: int, at: int, symbols: int | None) -> str:
    """Return a streamed message, sent at `stamp`, of a record taken at `at`."""
    start = 1_764_100_000
    fields = "" if symbols is None else f',"Infiniband_SymbolErrors_u_Errors":{symbols}'
    record = (
        f'{{"timestamp":"{(start + at) * 1_000_000}","source_id":"{LEAF}","node_guid":"{LEAF}",'
        f'"node_description":"leaf-r3-02","port_num":"17"{fields}}}'
    )
    values = "" if symbols is None else record
    return f'{{"timestamp":"{(start + stamp) * 1000}","type":"delta","values":[{values}]}}'


def test_stream_of_changes(read_texts: Read) -> None:
    """What was not sent is unchanged; a copy under an old stamp is not a time without errors."""
    lines = [
        message(0, 0, 5),
        message(300, 300, None),
        message(600, 600, 9),
        message(900, 600, 9),
    ]
    reading = read_texts({"stream.json": "\n".join(lines)})

    assert values(reading, "symbol_errors_total") == [
        ("17", 5.0, None),
        ("17", 5.0, "unchanged"),
        ("17", 9.0, None),
    ]
    assert [row[0] for row in grown(reading, "symbol_errors_total")] == [0.0, 4.0]
    assert reading.rejects.select("position", "reason").rows() == [(4, "a stale copy, or no value")]


DISCOVERED = (
    "CA    93  1 0xb83fd2030a0044aa 4x HDR - SW   212 41 0xb83fd2030a001101 "
    "( 'Mellanox Technologies Aggregation Node' - 'leaf-r3-02 ' )\n"
    "SW   212 41 0xb83fd2030a001101 4x HDR - CA    93  1 0xb83fd2030a0044aa "
    "( 'leaf-r3-02 ' - 'Mellanox Technologies Aggregation Node' )\n"
)


def test_aggregation_node(read_texts: Read) -> None:
    """The in-network-reduction endpoint of a switch is no host and its port no cable."""
    reading = read_texts({"ibnetdiscover.txt": DISCOVERED})

    assert reading.links.height == 0
    assert reading.samples.height == 0
    assert set(reading.aliases["host"]) == {"leaf-r3-02"}


def test_floor_of_an_error_ratio(read_texts: Read) -> None:
    """The least ratio that firmware can say means no errors; it is no value in any mean."""
    ratios = ("15e-255", "15e-255", "3e-13")
    rows = [
        f"{1_764_100_000_000_000 + at * 300_000_000},{LEAF},{LEAF},leaf-r3-02,17,{ratio}"
        for at, ratio in enumerate(ratios)
    ]
    reading = read_texts({"ufm.csv": "\n".join([f"{HEAD},Symbol_BER", *rows])})
    told = values(reading, "symbol_error_ratio")

    assert told == [
        ("17", None, "no_errors_seen"),
        ("17", None, "no_errors_seen"),
        ("17", 3e-13, None),
    ]
    assert reading.samples["value"].max() == 3e-13


def test_errors_at_one_end_only(read_texts: Read) -> None:
    """A switch port without errors and a NIC with them are two ends of one cable."""
    page = (
        f'infiniband_symbolerrorcounter_total{{component="switch",local_guid="{LEAF}",'
        f'local_name="leaf-r3-02",local_port="17",remote_guid="{NIC}",'
        'remote_name="gpu-r3-n07 mlx5_4",remote_port="1"} 0 0\n'
    )
    sysfs = "".join(
        f"ts={seconds} host=gpu-r3-n07 device=mlx5_4 port=1 symbol_error={count}\n"
        for seconds, count in ((0, 100), (3600, 1000))
    )
    reading = read_texts({"page.prom": page, "sysfs.txt": sysfs})

    assert reading.links.select("node_a", "port_a", "node_b", "port_b").rows() == [
        ("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "17")
    ]
    grew = intervals(reading).select("host", "device", "delta").rows()
    assert grew == [("gpu-r3-n07", "mlx5_4/1", 900.0)]


def test_age_of_counters_at_both_ends(read_texts: Read) -> None:
    """Link-downs come with the age of their counters and the far end, once for both directions."""
    head = (
        "timestamp,Node_GUID,node_description,Port_Number,Link_Down,{},"
        "link_partner_node_guid,link_partner_port"
    )
    rows = (
        f"1764100000000000,{LEAF},leaf-r3-02,17,4,51,{NIC},1\n"
        f"1764100000000000,{NIC},gpu-r3-n07 mlx5_4,1,3,49,{LEAF},17\n"
    )
    names = ("Time_since_last_clear_Min", "Time_since_last_clear__Min_")
    told = [
        read_texts({"ufm.csv": f"{head.format(name)}\n{rows}"})
        for name in (*names, "Time_since_last_clear_[Min]")
    ]

    for reading in told:
        assert values(reading, "seconds_since_clear") == [
            ("17", 3060.0, None),
            ("mlx5_4/1", 2940.0, None),
        ]
        assert reading.links.select("time", "node_a", "port_a", "node_b", "port_b").rows() == [
            (
                datetime(2025, 11, 25, 19, 46, 40, tzinfo=UTC),
                "gpu-r3-n07",
                "mlx5_4/1",
                "leaf-r3-02",
                "17",
            )
        ]
