"""Statistics of `ethtool -S` by driver."""

from pathlib import Path

import pytest

from collectors.dialects import read_file
from collectors.ethernet.ethtool_fields import ethtool_fields
from collectors.ethernet.rdma_fields import rdma_fields
from collectors.signals import SIGNALS
from collectors.sniffing import ReadOptions


def rows(folder: Path, *lines: str, device: str = "eth4") -> list[tuple[object, ...]]:
    """Return kind, device, signal and value of a dump with these statistics."""
    path = folder / f"ethtool-{device}.txt"
    text = "\n".join(["NIC statistics:", *(f"     {line}" for line in lines)])
    path.write_text(text, encoding="utf-8")
    samples = read_file(path, path.name, ReadOptions()).samples
    return samples.select("device_kind", "device", "signal", "value").rows()


@pytest.mark.parametrize(
    ("device", "lines", "expected"),
    [
        pytest.param(
            "ens2f0",
            ["rx_priority_3_xoff.nic: 80122"],
            [
                ("priority", "ens2f0/priority3", "pause_received_frames_total", 80122.0),
                ("nic", "ens2f0", "pause_received_frames_total", 80122.0),
            ],
            id="E810 names with a dot are read where the exporter reads 0",
        ),
        pytest.param(
            "eth4",
            ["tx_prio3_pause: 52000", "rx_prio3_pause: 0"],
            [
                ("priority", "eth4/priority3", "pause_sent_frames_total", 52000.0),
                ("priority", "eth4/priority3", "pause_received_frames_total", 0.0),
                ("nic", "eth4", "pause_sent_frames_total", 52000.0),
                ("nic", "eth4", "pause_received_frames_total", 0.0),
            ],
            id="pauses that a NIC sends are not those that it receives",
        ),
        pytest.param(
            "swp12",
            ["HwIfInPfc3Pkt: 5", "HwIfInErrors: 2", "HwIfOutQDrops: 1"],
            [
                ("priority", "swp12/priority3", "pause_received_frames_total", 5.0),
                ("switch_port", "swp12", "receive_errors_total", 2.0),
                ("switch_port", "swp12", "queue_drops_total", 1.0),
                ("switch_port", "swp12", "pause_received_frames_total", 5.0),
            ],
            id="ports of Cumulus are ports of a switch",
        ),
        pytest.param(
            "eth4",
            ["rx_out_of_range_len_phy: 3", "rx_in_range_len_errors_phy: 4"],
            [("nic", "eth4", "length_errors_total", 7.0)],
            id="two statistics that are one signal are added",
        ),
        pytest.param(
            "eth4",
            ["rx_out_of_range_len_phy: 3", "rx_out_of_range_len_phy: 3"],
            [("nic", "eth4", "length_errors_total", 3.0)],
            id="a line that stands twice counts once",
        ),
        pytest.param(
            "eth4",
            ["outbound_pci_stalled_rd: 12", "rx_prio3_pause_duration: 1500000"],
            [
                ("nic", "eth4", "pci_read_stalled_ratio", 0.12),
                ("priority", "eth4/priority3", "pause_received_seconds_total", 1.5),
                ("nic", "eth4", "pause_received_seconds_total", 1.5),
            ],
            id="percentages and microseconds come in base units",
        ),
        pytest.param(
            "eth4",
            ["rx_err_lane_0_phy: 5", "rx_err_lane_1_phy: 6"],
            [
                ("lane", "eth4/lane0", "lane_errors_total", 5.0),
                ("lane", "eth4/lane1", "lane_errors_total", 6.0),
                ("nic", "eth4", "lane_errors_total", 11.0),
            ],
            id="lanes are parts of the port and their sum is the port's",
        ),
    ],
)
def test_drivers(
    tmp_path: Path, device: str, lines: list[str], expected: list[tuple[object, ...]]
) -> None:
    """Each driver's names become the same signals."""
    assert rows(tmp_path, *lines, device=device) == expected


def test_fields_are_signals() -> None:
    """Each statistic maps to a signal we know, once."""
    keys = [*ethtool_fields()["key"], *rdma_fields()["key"]]
    signals = {*ethtool_fields()["signal"], *rdma_fields()["signal"]}

    assert (signals <= set(SIGNALS), len(keys)) == (True, len(set(keys)))
