"""DeepSpeed's communication logger: bits made bytes, means told from single operations."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from collectors.communication.deepspeed_comms import read_deepspeed_comms
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines

HEAD = "[2026-01-05 04:03:02,722] [INFO] [logging.py:96:log_dist] [Rank 3]"


def test_an_operation(read_texts: Callable[[dict[str, str]], Reading]) -> None:
    """Milliseconds are seconds, sizes powers of 1024, and Gbps are bits."""
    text = (
        f"{HEAD} comm op: all_reduce | time (ms): 3.10 | msg size: 256.0 MB | algbw (Gbps): "
        "692.80  | busbw (Gbps): 1212.4\n"
    )
    found = read_texts({"train.log": text})
    columns = (
        "time", "rank", "operation", "bytes", "seconds", "algorithm_bytes_per_second",
        "bus_bytes_per_second", "timing", "variant", "position",
    )  # fmt: skip
    when = datetime(2026, 1, 5, 4, 3, 2, 722_000, tzinfo=UTC)
    assert found.transfers.select(columns).rows() == [
        (when, 3, "all_reduce", 268_435_456, 0.0031, 86.6e9, 151.55e9, "wall", None, 1)
    ]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        pytest.param("512.0 B", 512, id="bytes"),
        pytest.param("146.25 KB", 149_760, id="a part of a unit"),
        pytest.param("1.5 GB", 1_610_612_736, id="large"),
        pytest.param("1.0e+3 MB", 1_048_576_000, id="in powers"),
        pytest.param("1.0 EB", None, id="a unit that no message has"),
    ],
)
def test_sizes(size: str, expected: int | None) -> None:
    """A size is told in powers of 1024."""
    text = (
        f"comm op: broadcast | time (ms): 1 | msg size: {size} | algbw (Gbps): 8 | "
        "busbw (Gbps): 8\n"
    )
    found = read_deepspeed_comms(read_lines(text.encode()), ReadOptions()).reading.transfers
    assert found["bytes"].to_list() == [expected]


TITLES = (
    ("Total Latency(ms)", "Avg Latency(ms)", "tput_avg (Gbps)", "busbw_avg (Gbps)"),
    ("Total comm lat(ms)", "Total straggler(ms)", "Avg comm lat(ms)", "Avg straggler(ms)"),
)
HEADINGS = [
    "".join(f"{title: <20}" for title in ("Comm. Op", "Message Size", "Count", *titles))
    for titles in TITLES
]


def row(*cells: str) -> str:
    """Return a row of the table, as wide as it is printed."""
    return " " * 20 + "".join(f"{cell: <20}" for cell in cells)


SUMMARY = "\n".join(
    [
        HEADINGS[0],
        "broadcast",
        row("146.25 KB", "12", "12.00", "1.00", "15.31", "15.31"),
        "all_reduce",
        row("256.0 MB", "4", "12.00", "3.00", "692.80", "1212.4"),
        "_______________________________",
        "Breakdown with straggler effect",
        "-------------------------------",
        HEADINGS[1],
        "all_reduce",
        row("256.0 MB", "4", "8.00", "4.00", "2.00", "1.00"),
        "step 5 done",
        "broadcast",
        row("146.25 KB", "12", "12.00", "1.00", "15.31", "15.31"),
        "-------------------------------",
        "",
    ]
)


def test_the_summary() -> None:
    """Means of the table, and how long the rank waited for the slowest; other lines are left."""
    found = read_deepspeed_comms(read_lines(SUMMARY.encode()), ReadOptions())
    columns = ("operation", "bytes", "seconds", "bus_bytes_per_second", "variant", "position")
    assert found.reading.transfers.select(columns).rows() == [
        ("broadcast", 149_760, 0.001, 1_913_750_000.0, "mean", 3),
        ("all_reduce", 268_435_456, 0.003, 151_550_000_000.0, "mean", 5),
        ("all_reduce", 268_435_456, 0.002, None, "mean_transfer", 11),
        ("all_reduce", 268_435_456, 0.001, None, "mean_wait", 11),
    ]
    assert found.claimed.sort().to_list() == list(range(11))
