"""Dumps of the kernel's files on InfiniBand ports, and the same words from Telegraf."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from collectors.infiniband.sysfs_dumps import read_sysfs_dump
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

Read = Callable[[dict[str, str]], Reading]

EVENING = datetime(2025, 11, 25, 19, 46, 40, tzinfo=UTC)
PORT = "/sys/class/infiniband/mlx5_4/ports/1/"


def told(reading: Reading) -> list[tuple[object, ...]]:
    """Return what the samples say."""
    return reading.samples.select("host", "device", "signal", "value", "reason").rows()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"{PORT}counters/port_rcv_data:10",
            ["received_bytes_total", 40.0, None],
            id="data is in words",
        ),
        pytest.param(
            f"{PORT}counters/symbol_error:65535",
            ["symbol_errors_total", None, "saturated"],
            id="error counters are narrow",
        ),
        pytest.param(
            f"{PORT}counters/port_rcv_packets:4294967295",
            ["received_packets_total", 4294967295.0, None],
            id="packets are not",
        ),
        pytest.param(
            f"{PORT}counters/VL15_dropped:N/A (no PMA)",
            ["vl15_dropped_total", None, "not_supported"],
            id="a virtual function has no counters",
        ),
        pytest.param(
            f"{PORT}hw_counters/out_of_buffer = 5",
            ["out_of_buffer_total", 5.0, None],
            id="a hardware counter, with an equals sign",
        ),
        pytest.param(
            f"==> {PORT}counters/link_downed <==\n3",
            ["link_downed_total", 3.0, None],
            id="the path on a line of its own",
        ),
        pytest.param(
            f"{PORT}phys_state:5: LinkUp", ["port_physical_state", 5.0, None], id="a state"
        ),
        pytest.param(
            f"{PORT}hw_counters/lifespan:10",
            ["counter_lifespan_seconds", 0.01, None],
            id="how long hardware counters stay the same",
        ),
        pytest.param(
            "/sys/class/infiniband/mlx5_4/hca_type:MT4129",
            ["transmit_wait_tick_bytes", 8.0, None],
            id="the chip",
        ),
    ],
)
def test_files(tmp_path: Path, text: str, expected: list[object]) -> None:
    """A file's path says which counter of which port it is."""
    (tmp_path / "dump").write_text(text, encoding="utf-8")
    reading = read_sysfs_dump(tmp_path / "dump", "gpu-r3-n07/dump.txt", ReadOptions())

    assert told(reading) == [("gpu-r3-n07", "mlx5_4/1", *expected)]
    assert reading.rejects.height == 0


@pytest.mark.parametrize(
    ("state", "rate"),
    [
        pytest.param("4: ACTIVE", (5e10, None), id="of an active port"),
        pytest.param("1: DOWN", (None, "port_down"), id="of a port that is down"),
    ],
)
def test_rates(read_texts: Read, state: str, rate: tuple[float | None, str | None]) -> None:
    """The rate of a port that is not active is a leftover, not a slow link."""
    text = f"{PORT}state:{state}\n{PORT}rate:400 Gb/sec (4X NDR)\n"
    reading = read_texts({"sysfs.txt": text})
    rates = reading.samples.filter(pl.col("signal") == "port_rate_bytes_per_second")

    assert rates.select("value", "reason").rows() == [rate]


@pytest.mark.parametrize(
    ("line", "time"),
    [
        pytest.param("ts=1764100000", datetime(2025, 11, 25, 19, 46, 40, tzinfo=UTC), id="epoch"),
        pytest.param(
            "time=2025-11-25T19:46:40Z", datetime(2025, 11, 25, 19, 46, 40, tzinfo=UTC), id="date"
        ),
        pytest.param("ts=5", datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC), id="seconds since then"),
    ],
)
def test_stamps_of_pairs(tmp_path: Path, line: str, time: datetime) -> None:
    """A pair may say when its line was taken; a clock of its own counts from the file's time."""
    (tmp_path / "dump").write_text(f"{line} host=N7 port_xmit_data=1, symbol_error=2\n")
    options = ReadOptions(taken=datetime(2026, 1, 1, tzinfo=UTC))
    reading = read_sysfs_dump(tmp_path / "dump", "dump", options)

    assert reading.samples.select("time", "host", "value").rows() == [
        (time, "n7", 4.0),
        (time, "n7", 2.0),
    ]


def test_bare_names(read_texts: Read) -> None:
    """Names and values without a path are one port's, whose name nothing tells."""
    text = "port_xmit_data: 10\nsymbol_error 3\nlink_downed N/A (no PMA)\n"
    reading = read_texts({"counters.txt": text})

    assert told(reading) == [
        (None, "1", "transmitted_bytes_total", 40.0, None),
        (None, "1", "symbol_errors_total", 3.0, None),
        (None, "1", "link_downed_total", None, "not_supported"),
    ]


def test_line_protocol(read_texts: Read) -> None:
    """Telegraf's lines are the kernel's words, hardware counters on a line of their own."""
    tags = r"device=mlx5_4,host=gpu-r3-n07,port=1,rack=a\ b"
    text = (
        f"infiniband,{tags} port_xmit_data=10i,symbol_error=65535i,odd=1i 1764100000000000000\n"
        f"infiniband,{tags} out_of_buffer=3i 1764100000000000000\n"
        "cpu,host=gpu-r3-n07 usage_idle=1.5 1764100000000000000\n"
    )
    reading = read_texts({"telegraf.influx": text})

    assert told(reading) == [
        ("gpu-r3-n07", "mlx5_4/1", "transmitted_bytes_total", 40.0, None),
        ("gpu-r3-n07", "mlx5_4/1", "symbol_errors_total", None, "saturated"),
        ("gpu-r3-n07", "mlx5_4/1", "out_of_buffer_total", 3.0, None),
    ]
    assert reading.samples["time"].unique().to_list() == [EVENING]
    assert reading.rejects["reason"].to_list() == ["another measurement, or no known counter"]
