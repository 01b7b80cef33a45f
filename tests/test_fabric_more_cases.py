"""More tricky cases of fabric counters, from the files of tools to what is said of links."""

from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.sniffing import ReadOptions
from detectors.verdicts import Verdict
from paceline.findings import DetectorParams, find_all
from paceline.sources import find_files, read_sources

Say = Callable[[dict[str, str]], list[Verdict]]

START = 1_931_000_000


def say_nothing(_name: str, _done: int, _all: int) -> None:
    """Tell nobody."""


@pytest.fixture
def judged(tmp_path: Path) -> Say:
    """What all detectors say of a folder with the given files."""

    def say(files: dict[str, str]) -> list[Verdict]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        reading = read_sources(find_files([tmp_path]), ReadOptions(year=2031), say_nothing)
        return find_all(reading, DetectorParams(), say_nothing)

    return say


def page(labels: str, rows: dict[str, list[float]], seconds: float = 60.0) -> str:
    """Return an exposition page of several series that are scraped together."""
    return "".join(
        f"{name}{{{labels}}} {value} {int((START + at * seconds) * 1000)}\n"
        for name, values in rows.items()
        for at, value in enumerate(values)
    )


def nic(host: str, grown: dict[str, float]) -> str:
    """Return a page of node_exporter's ethtool counters that grow by so much a minute."""
    clean = {"received_pcs_symbol_err_phy": 0.0, "received_bytes_phy": 2e12}
    rows = {
        f"node_ethtool_{name}": [step * at for at in range(5)]
        for name, step in (clean | grown).items()
    }
    return page(f'device="eth4",instance="{host}:9100"', rows)


def snmp(rows: dict[str, list[float]], seconds: float) -> str:
    """Return a page of snmp_exporter's of one port."""
    name = 'ifAlias="",ifDescr="Ethernet12/1",ifIndex="1201",ifName="Ethernet12/1"'
    return page(f'{name},instance="leaf-r3-02"', rows, seconds)


def said(verdicts: list[Verdict]) -> list[tuple[str, str | None, str]]:
    """Return kind, cause and subject of each verdict."""
    return [(one.kind, one.cause, one.subject.phrase()) for one in verdicts]


def words(verdict: Verdict) -> str:
    """Return all that is said as evidence."""
    return "; ".join(one.what for one in verdict.evidence)


def portstat(errors: int, packets: int, cleared: str) -> str:
    """Return SONiC's table of one port, counted since the last clear of who asks."""
    return (
        f"Last cached time was {cleared}\n"
        "    IFACE    STATE        RX_OK    RX_ERR\n"
        "---------  -------  -----------  --------\n"
        f"Ethernet0        U  {packets:>11,}  {errors:>8,}\n"
    )


@pytest.mark.parametrize(
    ("cleared", "expected"),
    [
        pytest.param(
            "2031-03-01T00:00:00", [], id="a table that counts since another user's clear"
        ),
        pytest.param(
            "2031-03-09T03:59:00",
            [("unknown", "damage_unplaced", "fabric")],
            id="a table that counts since the same clear",
        ),
    ],
)
def test_clears_of_users(
    judged: Say, cleared: str, expected: list[tuple[str, str | None, str]]
) -> None:
    """Only two readings since one clear have a difference; without line counters none is clean."""
    files = {
        "leaf-r3-02/portstat-20310309T040000Z.txt": portstat(3, 9117, "2031-03-09T03:59:00"),
        "leaf-r3-02/portstat-20310309T041000Z.txt": portstat(90000, 412009117, cleared),
    }
    assert said(judged(files)) == expected


def test_a_port_without_line_counters_is_not_called_clean(judged: Say) -> None:
    """Errors at a port that tells nothing of its line are neither its own nor from upstream."""
    (verdict,) = judged({"s.prom": snmp({"ifInErrors": [0, 9000]}, 600)})
    assert "tell nothing of their own lines" in words(verdict)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        pytest.param([3_300_000_000, 12], [], id="no wrap: a port of 10 Gb/s has no such packets"),
        pytest.param([4_294_967_000, 304], ["damage_unplaced"], id="a wrap that is one"),
    ],
)
def test_wraps_that_fit(judged: Say, errors: list[float], expected: list[str]) -> None:
    """A counter of packets wraps only by as many packets as fit through its port."""
    rows = {"ifInErrors": errors, "ifHighSpeed": [10000.0, 10000.0]}
    assert [one.cause for one in judged({"s.prom": snmp(rows, 10)})] == expected


def hca(downs: list[float], data: list[float]) -> str:
    """Return link-downs and traffic of an adapter's port."""
    rows = {
        "node_infiniband_link_downed_total": downs,
        "node_infiniband_port_data_received_bytes_total": data,
    }
    return page('device="mlx5_4",port="1",instance="gpu-r3-n07:9100"', rows)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            [1e12, 2e12, 3e12, 4e12],
            [("flapping", "link_flap", "link gpu-r3-n07:mlx5_4/1")],
            id="a counter cleared alone while traffic is counted on",
        ),
        pytest.param([1e12, 2e12, 1e9, 2e9], [], id="all counters anew: the host booted"),
    ],
)
def test_a_clear_leaves_what_came_after_it(
    judged: Say, data: list[float], expected: list[tuple[str, str | None, str]]
) -> None:
    """What a link-down counter shows after it alone was cleared are new link-downs."""
    assert said(judged({"p.prom": hca([7, 7, 2, 2], data)})) == expected


def test_pages_dated_and_placed_by_their_names(judged: Say) -> None:
    """Pages without stamps and hosts are of the time and the host that their names tell."""
    line = 'node_infiniband_symbol_error_total{device="mlx5_4",port="1"}'
    files = {
        "gpu-r3-n07/scrape-20310309T040000Z.prom": f"{line} 41\n",
        "pages/gpu-r3-n07-20310309T050000Z.prom": f"{line} 4100\n",
    }
    assert said(judged(files)) == [("link_fault", "dirty", "link gpu-r3-n07:mlx5_4/1")]


def test_statistics_named_by_a_label(judged: Say) -> None:
    """Showmax's exporter has one metric and the statistic in a label."""
    rows = [
        f'node_net_ethtool{{device="eth4",type="{kind}",instance="gpu-r3-n07:9417"}} '
        f"{step * at} {(START + 60 * at) * 1000}\n"
        for kind, step in (("tx_prio3_pause_duration", 12_000_000), ("odd_one", 1))
        for at in range(5)
    ]
    assert said(judged({"p.prom": "".join(rows)})) == [
        ("congestion", "slow_receiver", "eth4 on gpu-r3-n07")
    ]


@pytest.mark.parametrize(
    ("grown", "expected"),
    [
        pytest.param(
            {"received_discards_phy": 3000},
            [("congestion", "nic_buffer")],
            id="drops for want of room are of the host or its class and of no cable",
        ),
        pytest.param(
            {"received_out_of_buffer": 3000},
            [("congestion", "receiver_not_ready")],
            id="no posted buffer is a matter of the application",
        ),
        pytest.param(
            {"received_pci_signal_integrity": 30},
            [("degrading", "pcie_errors")],
            id="errors of the PCIe link are the host's",
        ),
        pytest.param({"received_pci_signal_integrity": 0}, [], id="a sound PCIe link"),
        pytest.param({"received_corrected_bits_phy": 9e5}, [], id="corrected bits are normal"),
        pytest.param({"received_discards_phy": 6}, [], id="a few drops"),
    ],
)
def test_hosts_that_do_not_receive(
    judged: Say, grown: dict[str, float], expected: list[tuple[str, str]]
) -> None:
    """What a NIC cannot take is said of its host, never of a link."""
    verdicts = judged({"p.prom": nic("gpu-r3-n07", grown) + nic("gpu-r3-n08", {})})
    assert [(one.kind, one.cause) for one in verdicts] == expected


def marked(host: str, marks: float) -> str:
    """Return how many marked packets a host received in each minute."""
    rows = {
        "node_infiniband_np_ecn_marked_roce_packets_received_total": [marks * at for at in range(5)]
    }
    return page(f'device="mlx5_4",port="1",instance="{host}:9100"', rows)


@pytest.mark.parametrize(
    ("marks", "silent"),
    [
        pytest.param(0.0, True, id="pauses without marks: ECN is off or set too high"),
        pytest.param(90.0, False, id="pauses and marks"),
    ],
)
def test_pauses_without_marks(judged: Say, marks: float, *, silent: bool) -> None:
    """Beside pauses it is said if no congestion mark came at all."""
    hosts = [f"gpu-r3-n0{number}" for number in (7, 8)]
    pauses = {"received_prio3_pause": 60000.0}
    text = "".join(nic(host, pauses) + marked(host, marks) for host in hosts)
    (verdict,) = judged({"p.prom": text})

    assert verdict.cause == "paused_by_peer"
    assert ("ECN is off or its thresholds are too high" in words(verdict)) is silent


def arista(errors: int, giants: int) -> str:
    """Return Arista's table of errors of one port."""
    return (
        f'{{"interfaceErrorCounters":{{"Ethernet12/1":{{"inErrors":{errors},'
        f'"frameTooLongs":{giants},"fcsErrors":0,"symbolErrors":0,"outErrors":0}}}}}}'
    )


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        pytest.param(5010, ["mtu"], id="all errors are giants"),
        pytest.param(9010, ["mtu", "damage_upstream"], id="more errors than giants"),
    ],
)
def test_giants(judged: Say, errors: int, expected: list[str]) -> None:
    """Packets that are too long are a setting, and not damaged beside it."""
    files = {
        "leaf-r3-02/errors-20310309T040000Z.json": arista(10, 10),
        "leaf-r3-02/errors-20310309T041000Z.json": arista(errors, 5010),
    }
    assert [one.cause for one in judged(files)] == expected


def lock_losses(*more: str) -> str:
    """Return a log of a port that loses lock six times."""
    start = "2031 Mar  9 04:1{}:06.9 leaf-r3-02 NOTICE swss#orchagent: :- "
    lines = [
        f"{start.format(at)}Port Ethernet0 oper error event: fec_sync_loss occurred"
        for at in range(6)
    ]
    return "\n".join([*lines, *(start.format(6) + text for text in more)])


@pytest.mark.parametrize(
    ("state", "more", "expected"),
    [
        pytest.param("D", (), ["link_settings"], id="a port that never comes up"),
        pytest.param("U", (), [], id="a port that is up"),
        pytest.param(
            "D",
            ("Configure Ethernet0 admin status to down",),
            [],
            id="a port that was shut",
        ),
    ],
)
def test_ends_that_never_lock(
    judged: Say, state: str, more: tuple[str, ...], expected: list[str]
) -> None:
    """A port that loses lock again and again and is not up has ends that do not agree."""
    table = portstat(0, 0, "2031-03-09T03:59:00").replace("        U  ", f"        {state}  ")
    files = {
        "leaf-r3-02/syslog": lock_losses(*more),
        "leaf-r3-02/portstat-20310309T042000Z.txt": table,
    }
    assert [one.cause for one in judged(files) if one.kind == "config_drift"] == expected


def optics(received: list[float], sent: list[float], bias: list[float]) -> str:
    """Return SONiC's optical readings of a port with four lanes."""
    lanes = ",".join(
        f'"rx{lane}power":"{received[lane - 1]}","tx{lane}power":"{sent[lane - 1]}",'
        f'"tx{lane}bias":"{bias[lane - 1]}"'
        for lane in range(1, 5)
    )
    return f'{{"TRANSCEIVER_DOM_SENSOR|Ethernet0":{{"value":{{{lanes}}}}}}}'


def fec(lost: int) -> str:
    """Return SONiC's table of codewords of one port."""
    return (
        "       IFACE    STATE    FEC_CORR    FEC_UNCORR    FEC_SYMBOL_ERR\n"
        "------------  -------  ----------  ------------  ----------------\n"
        f"   Ethernet0        U   1,234,567  {lost:>12,}         1,234,600\n"
    )


LLDP = """LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr
-----------  --------------  --------------  ------------  -----------------
Ethernet0    spine-s04       Ethernet0       BR            Ethernet0
--------------------------------------------------
Total entries displayed:  1
"""

GOOD, CURRENT = [-1.5] * 4, [7.5] * 4


@pytest.mark.parametrize(
    ("received", "sent", "bias", "suspect"),
    [
        pytest.param(
            [-1.8, -6.9, -1.7, -2.0],
            GOOD,
            CURRENT,
            "connector at leaf-r3-02 Ethernet0 or that strand of fibre",
            id="one dim lane is the connector or its strand",
        ),
        pytest.param(
            [-5.5] * 4,
            [-5.5] * 4,
            [14.0] * 4,
            "transmitter of spine-s04 Ethernet0",
            id="much current and little light is the sending optic",
        ),
        pytest.param(
            GOOD,
            GOOD,
            [7.5, 7.4, 16.0, 7.5],
            "transmitter of spine-s04 Ethernet0",
            id="one lane that takes twice the current is the sending optic",
        ),
        pytest.param(
            GOOD,
            GOOD,
            [14.0] * 4,
            "receiver of leaf-r3-02 Ethernet0",
            id="another kind of module takes another current",
        ),
        pytest.param(
            [-8.8] * 4,
            GOOD,
            [7.5, 7.5, 0.0, 0.0],
            "cable or patch spine-s04 Ethernet0 -> leaf-r3-02 Ethernet0",
            id="light that is lost on its way is the cable",
        ),
    ],
)
def test_the_part_at_fault(
    judged: Say, received: list[float], sent: list[float], bias: list[float], suspect: str
) -> None:
    """Light and current at both ends tell which part of a damaged direction is at fault."""
    files = {"leaf-r3-02/lldp-20310309T040000Z.txt": LLDP}
    for hour, lost in (("04", 3), ("05", 903)):
        stamp = f"20310309T{hour}0000Z"
        files[f"leaf-r3-02/fec-{stamp}.txt"] = fec(lost)
        files[f"leaf-r3-02/dom-{stamp}.json"] = optics(received, GOOD, CURRENT)
        files[f"spine-s04/dom-{stamp}.json"] = optics(GOOD, sent, bias)
    (verdict,) = judged(files)

    assert verdict.alternatives == (suspect,)


def test_a_laser_is_held_against_its_own_past(judged: Say) -> None:
    """Current that rose since the first reading, at fading light, is the sending optic."""
    files = {"leaf-r3-02/lldp-20310309T040000Z.txt": LLDP}
    for hour, lost, power, current in (("04", 3, -1.5, 7.5), ("05", 903, -4.5, 13.0)):
        stamp = f"20310309T{hour}0000Z"
        files[f"leaf-r3-02/fec-{stamp}.txt"] = fec(lost)
        files[f"spine-s04/dom-{stamp}.json"] = optics(GOOD, [power] * 4, [current] * 4)
    (verdict,) = judged(files)

    assert verdict.alternatives == ("transmitter of spine-s04 Ethernet0",)
    assert "bias 13.0 mA, usual is 7.5 mA; sent -4.5 dBm, usual is -1.5 dBm" in words(verdict)


def test_a_name_in_quotes_is_no_other_name(judged: Say) -> None:
    """OpenSM's note of a clear touches the same port whether or not it quotes the name."""
    clear = (
        "Mar 09 04:30:00 000000 [7F21A700] 0x01 -> perfmgr_log: ERR 540A: Detected an out of band "
        'error clear on "leaf-r3-02" (NodeGUID: 0xb83fd2030a001101) port 17\n'
    )
    labels = 'component="switch",local_name="leaf-r3-02",local_port="17"'
    scrapes = "".join(
        f"infiniband_symbolerrorcounter_total{{{labels}}} {count} {at}\n"
        for count, at in ((100, 1_930_795_200_000), (9000, 1_930_798_800_000))
    )
    assert judged({"opensm.log": clear, "p.prom": scrapes}) == []
