"""What SONiC's commands say of ports: published cases, read from the tables themselves."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.ethernet.port_captures import read_port_captures
from collectors.readings import Reading
from collectors.signals import SIGNALS
from collectors.sniffing import ReadOptions

STATUS = """  Interface            Lanes    Speed    MTU    FEC    Alias    Vlan    Oper  \
  Admin  Type
-----------  ---------------  -------  -----  -----  -------  ------  ------  -------  ------
  Ethernet0  1,2,3,4,5,6,7,8     400G   9100     rs     etp1  routed      up       up  OSFP
 Ethernet72  9,10,11,12          100G   9100   none    etp19  routed      up       up  OSFP
"""

UTILISATION = """    IFACE    STATE    RX_OK         RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR
---------  -------  -------  -------------  ---------  --------  --------  --------
Ethernet0        U   91,204  20000.00 MB/s    400.00%         0         0       N/A
"""

NOTHING_COUNTED = """     IFACE    STATE  RX_OK   RX_ERR    RX_DRP    TX_OK    TX_ERR
----------  -------  -----  -------  --------  -------  --------
 Ethernet0        U     12        0         0        7         0
Ethernet72        U    N/A      N/A       N/A      N/A       N/A
"""


def reading_of(folder: Path, text: str, name: str = "leaf-r3-02/show.txt") -> Reading:
    """Return the reading of a capture of one switch."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return read_file(path, name, ReadOptions())


def found(reading: Reading, *signals: str) -> list[tuple[object, ...]]:
    """Return device, signal and value (or the reason of its lack) of some signals."""
    rows = reading.samples.select("device", "signal", "value", "reason").rows()
    return [
        (device, signal, value if value is not None else reason)
        for device, signal, value, reason in rows
        if signal in signals
    ]


FEC = """    IFACE    STATE    FEC_CORR    FEC_UNCORR    FEC_SYMBOL_ERR    FEC_PRE_BER  \
  FEC_PRE_BER_MAX\
    FLR(O)    FLR(P) (Accuracy)    FEC_MAX_T
---------  -------  ----------  ------------  ----------------  -------------  -----------------\
  --------  -------------------  -----------
Ethernet0        U     130,402             0                 4       {ratio}           2.1e-04\
         0       7.81e-10 (89%)         -1.0
"""


def polls(*ratios: str) -> str:
    """Return polls of the FEC table, a minute apart."""
    parts = [
        f"2031-03-09T04:{minute:02}:00Z\n{FEC.format(ratio=ratio)}"
        for minute, ratio in enumerate(ratios)
    ]
    return "".join(parts)


PAUSES = """Last cached time was 2031-03-09T04:10:00.120045
   Port Rx    PFC0    PFC3
----------  ------  ------
Ethernet12       0  52,000

   Port Tx    PFC0    PFC3
----------  ------  ------
Ethernet12     N/A       0
"""

QUEUES = """     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet8    UC3           1,204        9,000,000            0           N/A
Ethernet8   MC10               0                0            0             0
     Port    TxQ    WredDrp/pkts    WredDrp/bytes    EcnMarked/pkts    EcnMarked/bytes
---------  -----  --------------  ---------------  ----------------  -----------------
Ethernet8    UC3             N/A              N/A         1,032,731      1,549,096,500
"""

WATCHDOG = """      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP\
    TX LAST OK/DROP    RX LAST OK/DROP
-----------  -----------  -------------------------  ------------  ------------\
  -----------------  -----------------
Ethernet4:3      stormed                        2/1       100/300       400/500\
              0/200              0/200
"""

FLAPS = """Interface    Flap Count    Admin    Oper     Link Down TimeStamp(UTC)  \
  Link Up TimeStamp(UTC)
-----------  ------------  -------  -------  --------------------------  ------------------------
Ethernet0    12            Up       Down     Sun Mar 09 04:11:07 2031    Sun Mar 09 04:10:07 2031
Ethernet4    Never         Up       Up       Never                       Never
"""

HEADROOM = """Ingress headroom per PG:
      Port    PG0    PG3
----------  -----  -----
Ethernet20      0      0
Ingress PG dropped packets:
      Port    PG0    PG3
----------  -----  -----
Ethernet20      0    400
"""

HISTORY = """     Port    Priority    RX Pause Transitions    Total RX Pause Time US\
    Recent RX Pause Time US    Recent RX Pause Timestamp
---------  ----------  ----------------------  ------------------------\
  -------------------------  ---------------------------
Ethernet0        PFC3                       6                 1,430,570\
                    527,739         03/09/2031, 04:11:07
"""

RATES = """    IFACE    STATE    RX_OK        RX_BPS      RX_PPS    RX_UTIL    TX_OK     \
  TX_BPS     TX_PPS
---------  -------  -------  ------------  ----------  ---------  -------  -----------  ---------
Ethernet4        X        4  -204.80 KB/s    200.00/s        N/A      -40  0.00 B/s           N/A
"""

DOM = """Ethernet0: SFP EEPROM detected
        Connector: LC
        ChannelMonitorValues:
                RX1Power: -2.1dBm
                RX2Power: 0.0dBm
                RX3Power: 0.0dBm
                RX4Power: 0.0dBm
                TX1Bias: 6.7500mA
        ModuleMonitorValues:
                Temperature: 30.9258C
Ethernet4: SFP EEPROM detected
        Specification compliance: passive copper cable
        ChannelMonitorValues:
                RX1Power: N/A
                RX2Power: N/A
"""


@pytest.mark.parametrize(
    ("text", "signals", "expected"),
    [
        pytest.param(
            STATUS + UTILISATION,
            ("receive_bytes_per_second", "receive_busy_ratio", "receive_overruns_total"),
            [
                ("Ethernet0", "receive_bytes_per_second", 2e10),
                ("Ethernet0", "receive_overruns_total", "n/a"),
                ("Ethernet0", "receive_busy_ratio", 0.4),
            ],
            id="BPS are bytes, utilisation is of the real speed, and N/A is no zero",
        ),
        pytest.param(
            STATUS,
            ("port_rate_bytes_per_second", "link_width_lanes", "fec_mode", "mtu_bytes"),
            [
                ("Ethernet0", "link_width_lanes", 8.0),
                ("Ethernet0", "port_rate_bytes_per_second", 5e10),
                ("Ethernet0", "mtu_bytes", 9100.0),
                ("Ethernet0", "fec_mode", 2.0),
                ("Ethernet72", "link_width_lanes", 4.0),
                ("Ethernet72", "port_rate_bytes_per_second", 1.25e10),
                ("Ethernet72", "mtu_bytes", 9100.0),
                ("Ethernet72", "fec_mode", 0.0),
            ],
            id="the status table tells speed, lanes, MTU and FEC",
        ),
        pytest.param(
            STATUS + NOTHING_COUNTED,
            ("receive_errors_total", "received_packets_total"),
            [
                ("Ethernet0", "received_packets_total", 12.0),
                ("Ethernet0", "receive_errors_total", 0.0),
                ("Ethernet72", "received_packets_total", "fec_none"),
                ("Ethernet72", "receive_errors_total", "fec_none"),
            ],
            id="a port without FEC counts nothing and that is not zero errors",
        ),
        pytest.param(
            NOTHING_COUNTED,
            ("receive_errors_total",),
            [
                ("Ethernet0", "receive_errors_total", 0.0),
                ("Ethernet72", "receive_errors_total", "n/a"),
            ],
            id="without the FEC mode in the file the reason is what the table prints",
        ),
        pytest.param(
            polls("   2.1e-04", "   1.3e-10", "   1.2e-10"),
            ("pre_fec_error_ratio", "predicted_frame_loss_ratio", "fec_highest_bin"),
            [
                row
                for ratio in ("boot", 1.3e-10, 1.2e-10)
                for row in (
                    ("Ethernet0", "pre_fec_error_ratio", ratio),
                    ("Ethernet0", "predicted_frame_loss_ratio", 7.81e-10),
                    ("Ethernet0", "fec_highest_bin", "none"),
                )
            ],
            id="the first ratio after boot that is the highest ever is made up",
        ),
        pytest.param(
            polls("   2.1e-04", "   2.0e-04"),
            ("pre_fec_error_ratio",),
            [
                ("Ethernet0", "pre_fec_error_ratio", 2.1e-4),
                ("Ethernet0", "pre_fec_error_ratio", 2e-4),
            ],
            id="a high ratio that stays high is one",
        ),
        pytest.param(
            PAUSES,
            ("pause_received_frames_total", "pause_sent_frames_total"),
            [
                ("Ethernet12/priority0", "pause_received_frames_total", 0.0),
                ("Ethernet12/priority3", "pause_received_frames_total", 52000.0),
                ("Ethernet12/priority0", "pause_sent_frames_total", "n/a"),
                ("Ethernet12/priority3", "pause_sent_frames_total", 0.0),
                ("Ethernet12", "pause_received_frames_total", 52000.0),
                ("Ethernet12", "pause_sent_frames_total", "n/a"),
            ],
            id="a pause received was asked for by the peer and an unknown part has no sum",
        ),
        pytest.param(
            QUEUES,
            (
                "transmitted_bytes_total",
                "queue_dropped_bytes_total",
                "wred_drops_total",
                "queue_ecn_marked_packets_total",
            ),
            [
                ("Ethernet8/queue3", "transmitted_bytes_total", 9e6),
                ("Ethernet8/queue3", "queue_dropped_bytes_total", "n/a"),
                ("Ethernet8/queue10", "transmitted_bytes_total", 0.0),
                ("Ethernet8/queue10", "queue_dropped_bytes_total", 0.0),
                ("Ethernet8/queue3", "wred_drops_total", "n/a"),
                ("Ethernet8/queue3", "queue_ecn_marked_packets_total", 1032731.0),
            ],
            id="queues are parts of a port and tables may follow each other at once",
        ),
        pytest.param(
            WATCHDOG,
            (
                "pause_storms_total",
                "pause_storms_ended_total",
                "pause_storm_active",
                "storm_receive_drops_total",
            ),
            [
                ("Ethernet4/queue3", "pause_storm_active", 1.0),
                ("Ethernet4/queue3", "pause_storms_total", 2.0),
                ("Ethernet4/queue3", "pause_storms_ended_total", 1.0),
                ("Ethernet4/queue3", "storm_receive_drops_total", 500.0),
            ],
            id="the watchdog's pairs are two numbers each",
        ),
        pytest.param(
            FLAPS,
            ("carrier_changes_total", "link_up"),
            [
                ("Ethernet0", "carrier_changes_total", 12.0),
                ("Ethernet0", "link_up", 0.0),
                ("Ethernet4", "carrier_changes_total", 0.0),
                ("Ethernet4", "link_up", 1.0),
            ],
            id="a flap count rises on both ways as carrier changes do",
        ),
        pytest.param(
            HEADROOM,
            ("headroom_watermark_bytes", "queue_drops_total"),
            [
                ("Ethernet20/priority_group0", "headroom_watermark_bytes", 0.0),
                ("Ethernet20/priority_group3", "headroom_watermark_bytes", 0.0),
                ("Ethernet20/priority_group0", "queue_drops_total", 0.0),
                ("Ethernet20/priority_group3", "queue_drops_total", 400.0),
            ],
            id="the title says whether priority groups print watermarks or drops",
        ),
        pytest.param(
            HISTORY,
            ("pause_received_seconds_total", "recent_pause_received_seconds"),
            [
                ("Ethernet0/priority3", "pause_received_seconds_total", 1.43057),
                ("Ethernet0/priority3", "recent_pause_received_seconds", 0.527739),
                ("Ethernet0", "pause_received_seconds_total", 1.43057),
            ],
            id="the history of pauses is in microseconds by priority",
        ),
        pytest.param(
            RATES,
            ("transmitted_packets_total", "receive_packets_per_second", "link_up", "admin_up"),
            [
                ("Ethernet4", "link_up", 0.0),
                ("Ethernet4", "receive_packets_per_second", 200.0),
                ("Ethernet4", "transmitted_packets_total", "negative"),
                ("Ethernet4", "admin_up", 0.0),
            ],
            id="a count below zero is none and X is shut by its owner",
        ),
        pytest.param(
            DOM,
            ("rx_power_dbm", "bias_amperes"),
            [
                ("Ethernet0/lane1", "rx_power_dbm", -2.1),
                ("Ethernet0/lane2", "rx_power_dbm", "filler_lane"),
                ("Ethernet0/lane3", "rx_power_dbm", "filler_lane"),
                ("Ethernet0/lane4", "rx_power_dbm", "filler_lane"),
                ("Ethernet0/lane1", "bias_amperes", 0.00675),
                ("Ethernet4/lane1", "rx_power_dbm", "copper"),
                ("Ethernet4/lane2", "rx_power_dbm", "copper"),
            ],
            id="empty lanes of a one-lane module are fillers and copper has no light",
        ),
    ],
)
def test_tables(
    tmp_path: Path, text: str, signals: tuple[str, ...], expected: list[tuple[object, ...]]
) -> None:
    """Tables are cut by their dashes and become signals of ports and their parts."""
    rows = found(reading_of(tmp_path, text), *signals)

    assert [(device, signal, pytest.approx(value)) for device, signal, value in expected] == rows


def test_blind_ports_are_told(tmp_path: Path) -> None:
    """A port that counts nothing is a gap of coverage and an event with its cause."""
    reading = reading_of(tmp_path, "2031-03-09T04:11:07Z\n" + STATUS + NOTHING_COUNTED)
    events = reading.events.select("device", "code", "message").rows()
    gaps = reading.coverage.select("entity", "signal", "seen", "expected").rows()
    counted = ("received_packets", "receive_errors", "receive_discards")
    sent = ("transmitted_packets", "transmit_errors")

    assert (events, gaps) == (
        [
            (
                "Ethernet72",
                "counters_not_available",
                "Ethernet72: FEC is none, and this switch then counts nothing",
            )
        ],
        [("leaf-r3-02/Ethernet72", f"{name}_total", 0, 1) for name in (*counted, *sent)],
    )


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(
            "Last cached time was 2031-03-09T04:10:00\n", 67.0, id="what the user cleared counts"
        ),
        pytest.param("", "not_cleared", id="without a clear the counters are as old as the boot"),
    ],
)
def test_clears(tmp_path: Path, head: str, expected: object) -> None:
    """Whose clear a table stands on is told beside it, since another user's numbers differ."""
    text = f"2031-03-09T04:11:07Z\n{head}{UTILISATION}"
    rows = found(reading_of(tmp_path, text), "seconds_since_clear")

    assert rows == [("Ethernet0", "seconds_since_clear", expected)]


def test_names_and_times(tmp_path: Path) -> None:
    """The front panel's name is an alias of the port; the prompt tells the switch."""
    text = "admin@leaf-r3-09:~$ date\nSun Mar  9 04:11:07 UTC 2031\n" + STATUS
    reading = reading_of(tmp_path, text, "x.txt")
    time = datetime(2031, 3, 9, 4, 11, 7, tzinfo=UTC)

    assert reading.aliases.select("time", "host", "device", "alias_kind", "alias").rows() == [
        (time, "leaf-r3-09", "Ethernet0", "label", "etp1"),
        (time, "leaf-r3-09", "Ethernet72", "label", "etp19"),
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(
            "Ethernet0        U   91,204  20000.00 MB/s    400.00%         0",
            [],
            id="a row that ends too early is a reject",
        ),
        pytest.param(
            "Ethernet0        U   91,204  20000.00 MB/s    400.00%         0         0       N",
            [],
            id="a last cell that is cut is a reject",
        ),
        pytest.param(
            "Ethernet100  U  91,204  20000.00 MB/s  400.00%  0  7  0",
            [("Ethernet100", "receive_discards_total", 7.0)],
            id="a shifted row is cut at its gaps",
        ),
    ],
)
def test_torn_rows(tmp_path: Path, row: str, expected: list[tuple[object, ...]]) -> None:
    """Half a number is no number."""
    text = UTILISATION.replace(UTILISATION.split("\n")[2], row)
    reading = reading_of(tmp_path, STATUS + text)
    lost = reading.rejects.select("text", "reason").rows()

    assert found(reading, "receive_discards_total") == expected
    assert lost == ([] if expected else [(row, "unrecognised line")])


ALL = STATUS + UTILISATION + PAUSES + QUEUES + WATCHDOG + HEADROOM + DOM


@settings(max_examples=12)
@given(cut=st.integers(0, len(ALL)), noise=st.sampled_from(["", "x", "\r", "\t", "\x1b[1m", "é"]))
def test_accounts_for_each_line(
    tmp_path_factory: pytest.TempPathFactory, cut: int, noise: str
) -> None:
    """Whatever is torn: each line is used or rejected, and nothing raises."""
    path = tmp_path_factory.getbasetemp() / "torn.txt"
    text = ALL[:cut] + noise + ALL[cut + 3 :]
    path.write_bytes(text.encode())
    reading = read_port_captures(path, "torn.txt", ReadOptions())
    lines = sum(1 for line in text.split("\n") if line.strip())

    assert reading.lines_used + reading.rejects["count"].sum() == lines


def test_signals_are_known(tmp_path: Path) -> None:
    """Every column maps to a signal we know."""
    text = STATUS + UTILISATION + QUEUES + WATCHDOG + FLAPS + HEADROOM + HISTORY + polls(" 1e-9")
    signals = set(reading_of(tmp_path, text).samples["signal"])

    assert signals <= set(SIGNALS)
