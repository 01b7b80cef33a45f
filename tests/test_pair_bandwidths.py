"""Lines that list the bandwidth between pairs of hosts."""

import pytest

from collectors.communication.pair_bandwidths import read_pair_bandwidths
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            "pairs busbw GB/s: 1-2 81 \N{MIDDLE DOT} 1-4 41     sizes 1-2 GiB",
            [("1+2", 81e9, 2**31), ("1+4", 41e9, 2**31)],
            id="numbers of hosts, one line for all, a range of sizes that is no pair",
        ),
        pytest.param(
            "pair busbw (Gbps): hx8-001-hx8-002 380, hx8-001-hx8-003: 190",
            [("hx8-001+hx8-002", 47.5e9, None), ("hx8-001+hx8-003", 23.75e9, None)],
            id="names with dashes, bits",
        ),
        pytest.param(
            "pair hx8-002 <-> hx8-001: busbw 80 GB/s size 512MB",
            [("hx8-001+hx8-002", 80e9, 512_000_000)],
            id="one pair a line, in order",
        ),
        pytest.param(
            "pair hx8-001,hx8-002 busbw = 2 GiB/s",
            [("hx8-001+hx8-002", 2.0 * 2**30, None)],
            id="binary units",
        ),
        pytest.param(
            "hx8-001 hx8-002 busbw 81 GB/s", [("hx8-001+hx8-002", 81e9, None)], id="no word at all"
        ),
        pytest.param(
            "hx8-001 - hx8-002: 81.5 GB/s", [("hx8-001+hx8-002", 81.5e9, None)], id="with a dash"
        ),
        pytest.param("hx8-001 hx8-002 came up", [], id="two hosts and no rate"),
        pytest.param("pairs of socks, bandwidth of none", [], id="no pair in it"),
        pytest.param("repairs busbw 1-2 81", [], id="another word"),
    ],
)
def test_pairs(line: str, expected: list[tuple[str, float, int | None]]) -> None:
    """Each pair is a transfer between two hosts."""
    result = read_pair_bandwidths(read_lines(line.encode()), ReadOptions())

    columns = ("group", "bus_bytes_per_second", "bytes")
    assert result.reading.transfers.select(columns).rows() == [
        (group, pytest.approx(rate), size) for group, rate, size in expected
    ]
    assert len(result.claimed) == bool(expected)


def test_other_bandwidth() -> None:
    """A line of algorithm bandwidth is none of bus bandwidth."""
    line = b"pairs algbw GB/s: 1-2 81"
    rows = read_pair_bandwidths(read_lines(line), ReadOptions()).reading.transfers

    assert rows.select("algorithm_bytes_per_second", "bus_bytes_per_second").rows() == [
        (81e9, None)
    ]
