"""Tables of nccl-tests in logs: columns by their header, ends, failures, devices."""

import polars as pl
import pytest

from collectors.communication.nccl_tests import read_nccl_tests
from collectors.line_reading import LineReading
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines
from collectors.texts.event_labels import label_value

OLD = """\
# size count type redop time algbw busbw error time algbw busbw error
#  (B) (elements)       (us) (GB/s) (GB/s)     (us) (GB/s) (GB/s)
           0             0   float     sum     3.10    0.00    0.00   0e+00  3.05  0.00  0.00  0e+00
hx8-001:10:33 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
     1048576        262144   float     sum    61.20   17.13   29.98   1e-06 60.90 17.22 30.13  1e-06
# Out of bounds values : 4 FAILED
# Avg bus bandwidth    : 15.0275
"""
NEW_HEADER = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong\n"
)
ROW = (
    "   268435456      67108864     float     sum      -1   2411.0  111.34  215.72      0"
    "   2399.2  111.89  216.78      0\n"
)
DEVICES = """\
# Using devices
#  Rank  0 Group  0 Pid   4412 on    hx8-017 device  0 [0000:9b:00] NVIDIA H100
#   Rank  1 Pid   4413 on    hx8-018 device  1 [0x1b] NVIDIA H100
#
"""
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 187.4 {}\n#\n"
CONCLUDED = "# Collective test concluded: all_reduce_perf\n"


def read(text: str) -> LineReading:
    """Read a log."""
    return read_nccl_tests(read_lines(text.encode()), ReadOptions())


def halves(text: str, *names: str) -> list[tuple[object, ...]]:
    """Return columns of all transfers, in their order."""
    return read(text).reading.transfers.select("variant", *names).rows()


def events(text: str) -> list[tuple[object, ...]]:
    """Return kind, code and host of all events."""
    return read(text).reading.events.select("kind", "code", "host").rows()


def test_old_columns() -> None:
    """Columns come from the header: no root, a deviation that is no count, a row of nothing."""
    assert halves(OLD, "bytes", "bus_bytes_per_second", "wrong_count") == [
        ("out_of_place", 0, 0.0, None),
        ("in_place", 0, 0.0, None),
        ("out_of_place", 1_048_576, 29.98e9, None),
        ("in_place", 1_048_576, 30.13e9, None),
    ]


def test_failed_values() -> None:
    """Values out of bounds are corrupted data; NCCL's own line stays NCCL's."""
    result = read(OLD)
    wrong = result.reading.events.select("kind", "severity", wrong=label_value("wrong"))

    assert wrong.row(0) == ("data_corruption", "critical", "4")
    assert result.claimed.to_list() == [0, 1, 2, 4, 5, 6]


def test_new_columns() -> None:
    """Times come in seconds, rates in bytes a second, counts of wrong elements as such."""
    assert halves(
        NEW_HEADER + ROW, "bytes", "seconds", "algorithm_bytes_per_second", "wrong_count"
    ) == [
        ("out_of_place", 268_435_456, pytest.approx(2411e-6), pytest.approx(111.34e9), 0),
        ("in_place", 268_435_456, pytest.approx(2399.2e-6), pytest.approx(111.89e9), 0),
    ]


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        pytest.param(
            NEW_HEADER.rstrip() + "     algo    proto nchannels\n",
            ROW.rstrip().replace("      0   2399", "    N/A   2399") + "  RING SIMPLE 32\n",
            [("out_of_place ring simple 32", None), ("in_place ring simple 32", 0)],
            id="rccl-tests add the algorithm and check nothing",
        ),
        pytest.param(
            NEW_HEADER.replace("time", "cputime"),
            ROW,
            [("out_of_place", 0), ("in_place", 0)],
            id="times of the processor are times",
        ),
        pytest.param(
            NEW_HEADER.replace("#wrong", "#wrong  i_min  i_max  i_p99  i_cv%"),
            "   268435456  67108864  float  sum  -1  2411.0  111.34  215.72  7  1  2  3  4"
            "  1.2e+06  111.89  216.78  N/A  1  2  3  4\n",
            [("out_of_place", 7), ("in_place", None)],
            id="reports by iteration add four columns a half",
        ),
        pytest.param(
            "",
            ROW,
            [("out_of_place", 0), ("in_place", 0)],
            id="a row whose header was lost has the standard columns",
        ),
        pytest.param("", "  12  34  1.5  2.5\n", [], id="numbers alone are no table"),
        pytest.param(
            "#      bytes             N    type      op     time  algbw  busbw      res"
            "     time  algbw  busbw      res\n",
            "     1048576        262144   float     sum    61.20   17.13   29.98    1e-06"
            "    60.90   17.22   30.13    1e-06\n",
            [("out_of_place", None), ("in_place", None)],
            id="the first release said bytes and res",
        ),
        pytest.param(
            "#       size         count      type    time   algbw   busbw #wrong\n",
            "     1048576        262144   float    61.20   17.13   29.98  2\n",
            [("out_of_place", 2)],
            id="a table of one half",
        ),
    ],
)
def test_headers(header: str, row: str, expected: list[tuple[str, int | None]]) -> None:
    """Whatever the header names is read, and nothing is assumed of it."""
    text = "# nThread 1 nGpus 1\n" + header + row

    assert halves(text, "wrong_count") == expected


def test_stamps() -> None:
    """A stamp at the end of a row is its time."""
    text = NEW_HEADER.rstrip() + "   timestamp\n" + ROW.rstrip() + "  2026-01-05 04:03:02\n"

    times = read(text).reading.transfers["time"].dt.strftime("%H:%M:%S").unique().to_list()

    assert times == ["04:03:02"]


def test_torn_row() -> None:
    """A row in the middle of which others' lines stand is put together."""
    middle = "hx8-001:10:33 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
    text = NEW_HEADER + ROW[:52] + "\n" + middle + ROW[52:] + END.format("")

    result = read(text)

    assert result.reading.transfers["bytes"].to_list() == [268_435_456] * 2
    assert result.claimed.to_list() == [0, 1, 3, 4, 5, 6]


def test_cut_row() -> None:
    """A row of which the rest is missing is no row, and tells where the test died."""
    result = read(NEW_HEADER + ROW + ROW[:52].replace("268435456", "536870912"))

    assert result.reading.transfers["bytes"].unique().to_list() == [268_435_456]
    assert result.reading.events.select("kind", "code").rows() == [("benchmark_cut", "536870912")]
    assert result.claimed.to_list() == [0, 1, 2]


def test_devices() -> None:
    """Device lines of both layouts say who takes part."""
    text = "./build/all_reduce_perf -b 8\n" + DEVICES + NEW_HEADER + ROW + END.format("OK")
    reading = read(text).reading

    assert reading.placements.select("rank", "host", "gpu", "index").rows() == [
        (0, "hx8-017", "0000:9b:00.0", 0),
        (1, "hx8-018", "0000:1b:00.0", 1),
    ]
    assert reading.transfers.select("operation", "group", "world", "nodes", "host").row(0) == (
        "all_reduce",
        "hx8-017+hx8-018",
        2,
        2,
        None,
    )


def test_devices_in_part() -> None:
    """Without the first ranks nobody knows how many there are."""
    text = DEVICES.replace("Rank  0", "Rank  2") + NEW_HEADER + ROW

    assert read(text).reading.transfers["world"].to_list() == [None, None]


def test_two_runs() -> None:
    """Each run of a log has its own hosts; a rank that moved has no place."""
    other = DEVICES.replace("hx8-017", "hx8-019")
    run = NEW_HEADER + ROW + END.format("") + CONCLUDED
    reading = read(DEVICES + run + other + run).reading

    assert reading.transfers["group"].to_list() == (
        ["hx8-017+hx8-018"] * 2 + ["hx8-018+hx8-019"] * 2
    )
    assert reading.placements["rank"].to_list() == [1]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        pytest.param(
            END.format("OK") + CONCLUDED,
            [("data_check", "out of bounds values", None), ("benchmark_end", None, None)],
            id="a good end",
        ),
        pytest.param(
            END.format("FAILED"),
            [
                ("data_check", "out of bounds values", None),
                ("benchmark_end", "below_threshold", None),
            ],
            id="an average below the limit",
        ),
        pytest.param(
            "# Bitwise mismatches : 3 FAILED\n",
            [("data_corruption", "bitwise mismatches", None)],
            id="bits that differ are corrupted data",
        ),
        pytest.param("", [("benchmark_cut", "268435456", None)], id="no end: where it died"),
        pytest.param(
            "hx8-017: Test NCCL failure common.cu:1012 'unhandled system error / '\n"
            " .. hx8-018 pid 4412: Test failure common.cu:891\n"
            "hx8-019: Test timeout (600s) reached\n",
            [
                ("benchmark_cut", "268435456", None),
                ("benchmark_failure", "nccl failure", "hx8-017"),
                ("benchmark_failure", "failure", "hx8-018"),
                ("benchmark_failure", "timeout", "hx8-019"),
            ],
            id="failures name who prints them",
        ),
    ],
)
def test_ends(end: str, expected: list[tuple[str, str | None, str | None]]) -> None:
    """A footer, a failure, or nothing tells how a run ended."""
    assert events(NEW_HEADER + ROW + end) == expected


def test_header_alone() -> None:
    """A table that ends before its first row is cut at its header."""
    assert events(NEW_HEADER) == [("benchmark_cut", None, None)]


@pytest.mark.parametrize("cut", range(0, len(OLD), 7))
def test_cut_anywhere(cut: int) -> None:
    """Wherever a table is cut, lines are claimed at most once, and positions are theirs."""
    result = read(OLD[:cut])

    assert result.claimed.is_unique().all()
    positions = pl.concat(
        [result.reading.transfers["position"], result.reading.events["position"]]
    ).drop_nulls()
    assert ((positions >= 1) & (positions <= OLD[:cut].count("\n") + 1)).all()


def test_nobody_elses() -> None:
    """Comments and numbers of other programs are left alone."""
    assert read("# a comment\n12 34 56\nTest of nothing\n").claimed.is_empty()
