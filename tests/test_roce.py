"""What RoCE NICs count."""

from pathlib import Path

import pytest

from collectors.ethernet.roce_fields import ETHTOOL, HARDWARE
from collectors.metrics.metric_files import read_exposition
from collectors.readings import Reading
from collectors.signals import SIGNALS
from collectors.sniffing import ReadOptions


def reading_of_page(folder: Path, *lines: str) -> Reading:
    """Return the reading of a page with these lines."""
    path = folder / "page.prom"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_exposition(path, "page", ReadOptions())


def rows(reading: Reading, *columns: str) -> list[tuple[object, ...]]:
    """Return columns of the samples."""
    return reading.samples.select(columns).rows()


@pytest.mark.parametrize(
    ("name", "signal", "value"),
    [
        pytest.param("received_prio3_pause", "pause_received_frames_total", 7.0, id="told to stop"),
        pytest.param("transmitted_prio3_pause", "pause_sent_frames_total", 7.0, id="asks to stop"),
        pytest.param(
            "received_prio3_pause_duration", "pause_received_seconds_total", 7e-6, id="microseconds"
        ),
        pytest.param(
            "received_global_pause", "global_pause_received_frames_total", 7.0, id="802.3x is apart"
        ),
        pytest.param("received_discards_phy", "receive_discards_total", 7.0, id="no buffer"),
        pytest.param("received_bytes_total", None, None, id="kernel bytes hold no RDMA"),
        pytest.param("link_down_events_phy", "link_downed_total", 7.0, id="link downs"),
        pytest.param("outbound_pci_stalled_rd", "pci_read_stalled_ratio", 0.07, id="a percentage"),
    ],
)
def test_ethtool(tmp_path: Path, name: str, signal: str | None, value: float | None) -> None:
    """Counters of ethtool become signals that keep received and sent apart."""
    reading = reading_of_page(
        tmp_path, f'node_ethtool_{name}{{device="eth4",instance="n07:9100"}} 7'
    )
    expected = [] if signal is None else [("n07", "nic", "eth4", signal, value)]

    assert rows(reading, "host", "device_kind", "device", "signal", "value") == expected


def test_priorities_are_summed(tmp_path: Path) -> None:
    """Pauses of all priorities of an interface are one signal, scrape by scrape."""
    line = 'node_ethtool_received_prio{}_pause{{device="eth4",instance="n:1"}} {} {}'
    reading = reading_of_page(
        tmp_path,
        line.format(0, 1, 1000),
        line.format(3, 10, 1000),
        line.format(0, 2, 2000),
        line.format(3, 20, 2000),
        line.format(3, 20, 2000),
    )

    assert rows(reading, "value") == [(11.0,), (22.0,)]


def test_hardware_counters(tmp_path: Path) -> None:
    """Hardware counters of node_exporter belong to the RDMA device and port."""
    reading = reading_of_page(
        tmp_path,
        'node_infiniband_np_cnp_packets_sent_total{device="mlx5_4",port="1",instance="n:1"} 40',
    )

    assert rows(reading, "device", "signal", "value") == [("mlx5_4/1", "cnp_sent_total", 40.0)]


E810 = 'node_ethtool_received_priority_3_xoff_nic{device="ens2f0",instance="n:9100"}'
MLX5 = 'node_ethtool_received_prio3_pause{device="eth4",instance="n:9100"}'


@pytest.mark.parametrize(
    ("version", "line", "value", "reason"),
    [
        pytest.param("1.9.1", f"{E810} 0", None, "exporter_version", id="a zero of an old version"),
        pytest.param(None, f"{E810} 0", None, "exporter_version", id="a zero of unknown version"),
        pytest.param("1.10.0", f"{E810} 0", 0.0, None, id="a zero of a sound version"),
        pytest.param("1.9.1", f"{E810} 80122", 80122.0, None, id="a value is no made-up zero"),
        pytest.param("1.9.1", f"{MLX5} 0", 0.0, None, id="mlx5 names need no cleaning"),
    ],
)
def test_zeros_of_old_exporters(
    tmp_path: Path, version: str | None, line: str, value: float | None, reason: str | None
) -> None:
    """A zero that the exporter's version makes up is not a zero."""
    info = f'node_exporter_build_info{{version="{version}",instance="n:9100"}} 1'
    reading = reading_of_page(tmp_path, *([info] if version else []), line)

    assert rows(reading, "value", "reason") == [(value, reason)]


@pytest.mark.parametrize(
    ("lines", "value", "reason"),
    [
        pytest.param([], None, "missing_file", id="without byte counters the zero is a default"),
        pytest.param(
            ['rdma_port_xmit_data{hostname="gpu-r3-n07",interface="rdma3"} 5'],
            0.0,
            None,
            id="with byte counters the zero is one",
        ),
    ],
)
def test_zeros_of_missing_files(
    tmp_path: Path, lines: list[str], value: float | None, reason: str | None
) -> None:
    """A zero of an interface whose byte counters are absent stands for a missing file."""
    zero = 'rdma_out_of_sequence{hostname="gpu-r3-n07",interface="rdma3"} 0'
    reading = reading_of_page(tmp_path, *lines, zero)

    assert ("gpu-r3-n07", "rdma3", "out_of_sequence_packets_total", value, reason) in rows(
        reading, "host", "device", "signal", "value", "reason"
    )


def test_fields_are_signals() -> None:
    """Each field maps to a signal we know."""
    signals = {signal for _, signal, _ in ETHTOOL} | {f"{name}_total" for *_, name in HARDWARE}

    assert signals <= set(SIGNALS)
