"""Captured outputs of tools for ports: what each says, and that no line is lost."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.ethernet.port_captures import read_port_captures, wants_port_captures
from collectors.readings import Reading
from collectors.signals import SIGNALS
from collectors.sniffing import Head, ReadOptions

HOST = "gpu-r3-n07"

CAPTURE = """[root@gpu-r3-n07 ~]# date
Sun Mar  9 04:11:07 UTC 2031
[root@gpu-r3-n07 ~]# ethtool -S eth4
NIC statistics:
     rx_packets: 3
     rx_prio3_pause: 21
     rx_prio4_pause: 2
     rx_priority_3_xoff.nic: 80122
[root@gpu-r3-n07 ~]# rdma statistic
link mlx5_4/1 rx_write_requests 812 out_of_sequence 3 lifespan 10
link mlx5_4/1 cntn 1 qp-type RC lqpn 23 pid 5 rx_write_requests 3
[root@gpu-r3-n07 ~]# mlxlink -d mlx5_4 -p 1 -c -m
Operational Info
----------------
State                           : Active
Troubleshooting Info
--------------------
Status Opcode                   : 15
Recommendation                  : Bad signal integrity

Physical Counters and BER Info
------------------------------
Time Since Last Clear [Min]     : 2210.4
Symbol BER                      : 15E-255
Raw Physical Errors Per Lane    : 12,3
Raw Physical BER                : 3E-9
Histogram of FEC Errors
-----------------------
Bin 0                           : [0, 90110022]
Module Info
-----------
Temperature [C]                 : 58 [-10..80]
Rx Power Current [dBm]          : 1.2,-40.0 [-8.4..4]
[root@gpu-r3-n07 ~]# ethtool -m eth4
\tIdentifier                                : 0x11 (QSFP28)
\tLaser tx bias current (Channel 1)         : 6.500 mA
\tRcvr signal avg optical power(Channel 1)  : 0.7682 mW
\tRcvr signal avg optical power(Channel 2)  : 0.0000 mW / -inf dBm
\tLaser rx power low alarm   (Chan 2)       : On
\tModule temperature                        : 42.17 degrees C / 107.90 degrees F
[root@gpu-r3-n07 ~]# ibv_devinfo -d mlx5_4
hca_id:\tmlx5_4
\ttransport:\t\tInfiniBand (0)
\t\tport:\t1
\t\t\tactive_mtu:\t\t2048 (4)
[root@gpu-r3-n07 ~]# ip link show eth4
5: eth4: <BROADCAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT
    link/ether b8:3f:d2:00:00:01 brd ff:ff:ff:ff:ff:ff
[root@gpu-r3-n07 ~]# ethtool eth4
Settings for eth4:
\tSpeed: 400000Mb/s
\tLink detected: yes
odd words
"""


def reading_of(folder: Path, text: str, name: str = "dump.txt") -> Reading:
    """Return the reading of a capture, by whichever dialect wants it."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_file(path, name, ReadOptions())


def values(reading: Reading, *signals: str) -> list[tuple[object, ...]]:
    """Return device and value (or the reason of its lack) of the samples of some signals."""
    rows = reading.samples.select("device", "signal", "value", "reason").rows()
    return [
        (device, value if value is not None else reason)
        for device, signal, value, reason in rows
        if signal in signals
    ]


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        pytest.param(
            ("pause_received_frames_total",),
            [("eth4/priority3", 80143.0), ("eth4/priority4", 2.0), ("eth4", 80145.0)],
            id="priorities are parts of a port and their sum is the port's",
        ),
        pytest.param(
            ("out_of_sequence_packets_total", "counter_lifespan_seconds"),
            [("mlx5_4/1", 3.0), ("mlx5_4/1", 0.01)],
            id="a line of rdma statistic is of a port and its queue pairs are left out",
        ),
        pytest.param(
            ("seconds_since_clear",), [("mlx5_4/1", 132624.0)], id="minutes since clear are seconds"
        ),
        pytest.param(
            ("symbol_error_ratio", "pre_fec_error_ratio"),
            [("mlx5_4/1", "no_errors_seen"), ("mlx5_4/1", 3e-9)],
            id="the floor of a ratio is no measurement",
        ),
        pytest.param(
            ("raw_errors_total",),
            [("mlx5_4/1/lane0", 12.0), ("mlx5_4/1/lane1", 3.0)],
            id="a list is one value a lane",
        ),
        pytest.param(
            ("fec_bin_codewords_total",),
            [("mlx5_4/1/fec_bin0", 90110022.0)],
            id="a histogram's bin is a part of the port",
        ),
        pytest.param(
            ("module_temperature_celsius", "module_temperature_high_alarm_celsius"),
            [("eth4", 42.17), ("mlx5_4/1", 58.0), ("mlx5_4/1", 80.0)],
            id="a module's own limit stands beside its reading",
        ),
        pytest.param(
            ("bias_amperes",),
            [("eth4/lane1", pytest.approx(0.0065))],
            id="milliamperes are amperes",
        ),
        pytest.param(
            ("rx_power_dbm",),
            [
                ("eth4/lane1", pytest.approx(-1.1453, abs=1e-4)),
                ("eth4/lane2", "dark"),
                ("mlx5_4/1/lane0", 1.2),
                ("mlx5_4/1/lane1", "dark"),
            ],
            id="milliwatts become dBm and no light is dark",
        ),
        pytest.param(
            ("active_mtu_bytes", "mtu_bytes"),
            [("mlx5_4/1", 2048.0), ("eth4", 9000.0)],
            id="the path MTU of RDMA and the interface's MTU are two things",
        ),
        pytest.param(
            ("network_speed_bytes_per_second", "link_up"),
            [("eth4", 5e10), ("eth4", 1.0)],
            id="ethtool tells speed and link",
        ),
    ],
)
def test_values(tmp_path: Path, signals: tuple[str, ...], expected: list[object]) -> None:
    """Each tool's output becomes signals in base units."""
    assert values(reading_of(tmp_path, CAPTURE), *signals) == expected


def test_context(tmp_path: Path) -> None:
    """The prompt tells the host and the stamp the time of all that follows."""
    samples = reading_of(tmp_path, CAPTURE).samples
    expected = [(HOST, datetime(2031, 3, 9, 4, 11, 7, tzinfo=UTC))]

    assert samples.select("host", "time").unique().rows() == expected


def test_alarms_and_rejects(tmp_path: Path) -> None:
    """Alarms and status codes are events, and what has no signal is told by its reason."""
    reading = reading_of(tmp_path, CAPTURE)
    events = reading.events.select("kind", "device", "code").rows()
    rejects = reading.rejects.select("position", "reason").sort("position").rows()

    assert (events, rejects) == (
        [
            ("module_alarm", "eth4/lane2", "laser_rx_power_low_alarm"),
            ("link_bad_signal", "mlx5_4/1", "15"),
        ],
        [
            (5, "statistic of no use here"),
            (11, "counter of a queue pair"),
            (53, "unrecognised line"),
        ],
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param(
            "gpu-r3-n07/ethtool-eth5-20310309T041107Z.txt",
            "NIC statistics:\n     rx_prio3_pause: 21\n",
            ("gpu-r3-n07", "eth5", datetime(2031, 3, 9, 4, 11, 7, tzinfo=UTC)),
            id="the file's name tells host, port and time where no line does",
        ),
        pytest.param(
            "all.txt",
            "=== gpu-r3-n08 ===\n2031-03-09T04:12:07Z\neth6:\n"
            "NIC statistics:\n rx_prio3_pause: 1\n",
            ("gpu-r3-n08", "eth6", datetime(2031, 3, 9, 4, 12, 7, tzinfo=UTC)),
            id="headings tell them one by one",
        ),
        pytest.param(
            "loop.txt",
            "# 2031-03-09 04:12:07 gpu-r3-n08 ethtool -S eth6\n"
            "NIC statistics:\n rx_prio3_pause: 1\n",
            ("gpu-r3-n08", "eth6", datetime(2031, 3, 9, 4, 12, 7, tzinfo=UTC)),
            id="one heading tells them all",
        ),
        pytest.param(
            "watch.txt",
            "Every 2.0s: ethtool -S eth6      gpu-r3-n08: Sun Mar  9 04:12:07 2031\n"
            "NIC statistics:\n rx_prio3_pause: 1\n",
            ("gpu-r3-n08", "eth6", datetime(2031, 3, 9, 4, 12, 7, tzinfo=UTC)),
            id="watch tells them in its heading",
        ),
        pytest.param(
            "pdsh.txt",
            "gpu-r3-n08: Sun 09 Mar 2031 04:12:07 AM UTC\ngpu-r3-n08: NIC statistics for eth6:\n"
            "gpu-r3-n08:      rx_prio3_pause: 1\n",
            ("gpu-r3-n08", "eth6", datetime(2031, 3, 9, 4, 12, 7, tzinfo=UTC)),
            id="pdsh puts the host in front of each line",
        ),
    ],
)
def test_where_and_when(
    tmp_path: Path, name: str, text: str, expected: tuple[str, str, datetime]
) -> None:
    """Host, port and time come from whatever stands around an output."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    samples = read_port_captures(path, name, ReadOptions()).samples
    port = samples.filter(device_kind="nic").select("host", "device", "time").rows()

    assert port == [expected]


def test_names_beside_counters(tmp_path: Path) -> None:
    """Which interface an RDMA port is may stand in the same capture."""
    text = (
        "[root@gpu-r3-n07 ~]# rdma link\nlink mlx5_4/1 state ACTIVE netdev eth4\n"
        "[root@gpu-r3-n07 ~]# ethtool -S eth4\nNIC statistics:\n"
        + "".join(f"     rx_prio{at}_pause: 1\n" for at in range(8))
    )
    reading = reading_of(tmp_path, text)
    names = reading.aliases.select("device", "alias_kind", "alias").rows()

    assert (names, reading.rejects.height) == ([("mlx5_4/1", "netdev", "eth4")], 0)


def test_repeated_dumps(tmp_path: Path) -> None:
    """A loop of stamp and output gives one sample a round, and sums stay in their round."""
    rounds = [(7, 10, 1), (17, 30, 2), (27, 60, 3)]
    text = "".join(
        f"2031-03-09T04:11:{second:02}Z\nNIC statistics:\n"
        f"     rx_prio3_pause: {three}\n     rx_prio4_pause: {four}\n"
        for second, three, four in rounds
    )
    samples = reading_of(tmp_path, text, "ethtool-eth4.txt").samples.filter(device="eth4")

    assert [(time.second, value) for time, value in samples.select("time", "value").rows()] == [
        (7, 11.0),
        (17, 32.0),
        (27, 63.0),
    ]


def test_copper_beside_optics(tmp_path: Path) -> None:
    """A copper cable takes the light from its own port alone, however many one file shows."""
    head = "[root@gpu-r3-n07 ~]# mlxlink -d {} -m\nModule Info\n-----------\n"
    text = (
        head.format("mlx5_4")
        + "Cable Technology                : Copper cable unequalized\n"
        + "Rx Power Current [dBm]          : N/A\n"
        + head.format("mlx5_5")
        + "Cable Technology                : 850 nm VCSEL\n"
        + "Rx Power Current [dBm]          : -2.1\n"
    )
    samples = reading_of(tmp_path, text, "mlxlink.txt").samples

    assert samples.select("device", "value", "reason").rows() == [
        ("mlx5_4/lane0", None, "copper"),
        ("mlx5_5/lane0", -2.1, None),
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("step 1 loss 2.0\nstep 2 loss 1.9\n", id="a training log"),
        pytest.param("rank0: NIC statistics: none\n" * 5, id="words of ours inside of lines"),
        pytest.param("line\n" * 50 + "NIC statistics:\n", id="one header in a long log"),
        pytest.param('# TYPE a counter\na{b="c"} 1\n', id="an exposition page"),
        pytest.param("a  b\n-  -\n1  2\n", id="a table of somebody else"),
        pytest.param("\n" * 60_000, id="nothing but blank lines"),
        pytest.param("", id="nothing"),
    ],
)
def test_leaves_others_alone(text: str) -> None:
    """A file that is not mostly of these tools is nobody's business here."""
    assert wants_port_captures(Head(name="x", data=text.encode())) == 0.0


@settings(max_examples=16)
@given(
    cut=st.integers(0, len(CAPTURE)),
    damage=st.sampled_from(["none", "doubled", "crlf", "colours", "bytes", "long"]),
    at=st.integers(0, len(CAPTURE)),
)
def test_accounts_for_each_line(
    tmp_path_factory: pytest.TempPathFactory, cut: int, damage: str, at: int
) -> None:
    """Whatever is torn, doubled or coloured: each line is used or rejected, and nothing raises."""
    text = CAPTURE[:cut]
    data = {
        "none": text.encode(),
        "doubled": "".join(f"{line}\n{line}\n" for line in text.split("\n")).encode(),
        "crlf": text.replace("\n", "\r\n").encode(),
        "colours": text.replace(":", "\x1b[32m:\x1b[0m").encode(),
        "bytes": text[:at].encode() + b"\xff\xfe\x00" + text[at:].encode(),
        "long": text[:at].encode() + b"x" * 100_000 + text[at:].encode(),
    }[damage]
    path = tmp_path_factory.getbasetemp() / "torn.txt"
    path.write_bytes(data)
    reading = read_port_captures(path, "torn.txt", ReadOptions())
    lines = sum(1 for line in data.replace(b"\x00", b"").split(b"\n") if line.strip())

    assert reading.lines_used + reading.rejects["count"].sum() == lines
    assert set(reading.samples["signal"]) <= set(SIGNALS)
