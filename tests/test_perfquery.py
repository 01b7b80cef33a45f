"""Blocks of counters that perfquery prints."""

from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.infiniband.perfquery import read_perfquery
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

Read = Callable[[dict[str, str]], Reading]


def block(header: str, *counters: tuple[str, object]) -> str:
    """Return a block with dots between names and values."""
    lines = [f"{name}:{'.' * (33 - len(name))}{value}" for name, value in counters]
    return "\n".join([f"# {header}", *lines, ""])


def told(reading: Reading) -> list[tuple[object, ...]]:
    """Return what the samples say."""
    columns = ["host", "device_kind", "device", "signal", "value", "reason"]
    return reading.samples.select(columns).rows()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            block("Port counters: Lid 9 port 1 (CapMask: 0x5B00)", ("SymbolErrorCounter", 65535)),
            [("lid 9", "nic", "1", "symbol_errors_total", None, "saturated")],
            id="a classic counter at its top is blind",
        ),
        pytest.param(
            block(
                "Port extended counters: Lid 9 port 1 (CapMask: 0x5B00 CapMask2: 0x0000002)",
                ("SymbolErrorCounter", 65535),
            ),
            [("lid 9", "nic", "1", "symbol_errors_total", 65535.0, None)],
            id="an extended one has 64 bits where the capability mask says so",
        ),
        pytest.param(
            block(
                "Port extended counters: Lid 9 port 1 (CapMask: 0x5B00 CapMask2: 0x0000000)",
                ("SymbolErrorCounter", 65535),
            ),
            [("lid 9", "nic", "1", "symbol_errors_total", None, "saturated")],
            id="and not where it says otherwise",
        ),
        pytest.param(
            block("Port counters: Lid 9 port 1 (CapMask: 0x4B00)", ("PortXmitWait", 0)),
            [("lid 9", "nic", "1", "transmit_wait_ticks_total", None, "not_supported")],
            id="a zero of a port that cannot count waits is none",
        ),
        pytest.param(
            block("Port counters: Lid 9 port 1 (CapMask: 0x5B00)", ("PortXmitWait", 0)),
            [("lid 9", "nic", "1", "transmit_wait_ticks_total", 0.0, None)],
            id="a zero of a port that can is one",
        ),
        pytest.param(
            block("PortXmitDiscardDetails counters: Lid 9 port 5", ("PortNeighborMTUDiscards", 3)),
            [("lid 9", "switch_port", "5", "neighbor_mtu_discards_total", 3.0, None)],
            id="a detail set; a port beyond 2 is a switch's",
        ),
        pytest.param(
            block(
                "Port extended speeds counters: Lid 9 port 1",
                ("PortFECUncorrectableBlockCtr", 7),
                ("FECCorrectableSymbolCtrLane2", 11),
                ("SyncHeaderErrorCounter", "0x0000000a"),
            ),
            [
                ("lid 9", "nic", "1", "fec_uncorrected_codewords_total", 7.0, None),
                ("lid 9", "lane", "1/lane2", "fec_symbol_errors_total", 11.0, None),
                ("lid 9", "nic", "1", "sync_header_errors_total", 10.0, None),
            ],
            id="error correction, by port and by lane; hexadecimal is a number",
        ),
        pytest.param(
            block("Port counters: Lid 9 port 255", ("SymbolErrorCounter", 3)),
            [],
            id="the sum over all ports is none of them",
        ),
        pytest.param(
            block("Port counters: DR path slid 65535; dlid 65535; 0,1 port 1", ("VL15Dropped", 2)),
            [(None, "nic", "1", "vl15_dropped_total", 2.0, None)],
            id="a port that was reached by its path has no LID",
        ),
    ],
)
def test_blocks(read_texts: Read, text: str, expected: list[tuple[object, ...]]) -> None:
    """A block says whose counters these are and how wide they can be."""
    assert told(read_texts({"perfquery.txt": text + "VL:..............1\n"})) == expected


@pytest.mark.parametrize(
    ("source", "host", "device"),
    [
        pytest.param("gpu-r3-n07/perfquery.txt", "gpu-r3-n07", "1", id="a host"),
        pytest.param("gpu-r3-n07/mlx5_4.txt", "gpu-r3-n07", "mlx5_4/1", id="a host and a NIC"),
        pytest.param("0xb83fd2030a77c4.txt", "0x00b83fd2030a77c4", "1", id="a GUID"),
        pytest.param("dump.txt", "lid 9", "1", id="nothing"),
    ],
)
def test_names(tmp_path: Path, source: str, host: str, device: str) -> None:
    """A block has no names; those of its file are believed, else the LID has to do."""
    file = tmp_path / "file"
    file.write_text(block("Port counters: Lid 9 port 1", ("VL15Dropped", 2)), encoding="utf-8")
    reading = read_perfquery(file, source, ReadOptions())

    assert reading.samples.select("host", "device").rows() == [(host, device)]


def test_wider_counter_wins(read_texts: Read) -> None:
    """Of one counter in two widths at a time the wide one stays."""
    text = block("Port counters: Lid 9 port 1 (CapMask: 0x5B00)", ("PortXmitData", 4294967295))
    text += block("Port extended counters: Lid 9 port 1", ("PortXmitData", 2**53))
    reading = read_texts({"perfquery.txt": text})

    assert reading.samples.select("value", "exact").rows() == [(2.0**55, 2**55)]
    assert reading.rejects["reason"].to_list() == ["repeats a wider counter"]


def test_stamps_between_blocks(read_texts: Read) -> None:
    """A line of `date` is the time of the blocks below it."""
    counters = block("Port counters: Lid 9 port 1", ("VL15Dropped", 2))
    text = f"2026-01-05T04:00:00Z\n{counters}=== Mon Jan  5 04:01:00 UTC 2026 ===\n{counters}"
    reading = read_texts({"perfquery.txt": text})

    assert reading.samples["time"].dt.strftime("%H:%M").to_list() == ["04:00", "04:01"]
    assert reading.rejects.height == 0
