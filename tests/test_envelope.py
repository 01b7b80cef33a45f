"""What launchers, containers and terminals put around a line is taken off, and believed."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.texts.envelope import LINES, MAX_LINE_BYTES, read_lines
from collectors.texts.torn_records import RecordStart, split_records

C10 = "[E1104 02:11:07.418220913 A.cpp:6] x"


def lines(text: str, *columns: str, time_zone: str = "UTC") -> list[tuple[Any, ...]]:
    """Return columns of the logical lines of a text."""
    return read_lines(text.encode(), time_zone).select(columns).rows()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"[rank7]:{C10}", {"rank": 7}, id="PyTorch's C++ label"),
        pytest.param("[rank7]: Traceback", {"rank": 7}, id="PyTorch's Python label"),
        pytest.param(
            f"[default1]:[rank9]:{C10}", {"rank": 9, "local_rank": 1}, id="torchrun, two labels"
        ),
        pytest.param("[trainer3]: hello", {"local_rank": 3}, id="torchrun, a role of one's own"),
        pytest.param(f" 9: [rank9]:{C10}", {"rank": 9, "task": 9}, id="srun's label, padded"),
        pytest.param(
            "[1,12]<stdout>:hx8-1:1:1 [0] NCCL INFO x", {"task": 12}, id="Open MPI, no blank"
        ),
        pytest.param(
            "2025-02-03T04:05:06Z: [1,12]<stderr>: x",
            {"task": 12, "time": datetime(2025, 2, 3, 4, 5, 6, tzinfo=UTC)},
            id="Open MPI with its stamp",
        ),
        pytest.param(
            "[1,12][hx8-1:99]<stderr>: x", {"task": 12, "host": "hx8-1"}, id="PRRTE, detailed"
        ),
        pytest.param(
            "2025-11-04T02:11:07.420117330Z stderr F x",
            {"time": datetime(2025, 11, 4, 2, 11, 7, 420117, tzinfo=UTC)},
            id="a container's line",
        ),
        pytest.param(
            "2025-11-04T10:11:07.42+08:00 x",
            {"time": datetime(2025, 11, 4, 2, 11, 7, 420000, tzinfo=UTC)},
            id="a stamp with an offset",
        ),
        pytest.param(
            '{"log":"x\\n","stream":"stderr","time":"2025-11-04T02:11:07Z"}',
            {"time": datetime(2025, 11, 4, 2, 11, 7, tzinfo=UTC)},
            id="docker's JSON",
        ),
        pytest.param(
            "(Actor pid=615, ip=10.77.3.9) x [repeated 14x across cluster]",
            {"host": "10.77.3.9", "repeats": 14},
            id="Ray, which left lines out",
        ),
        pytest.param("(Actor pid=615) x", {}, id="Ray on its head node"),
        pytest.param("[pod/train-0/main] x", {"host": "train-0"}, id="kubectl"),
        pytest.param(
            f"(W pid=8, ip=10.7.3.1) [2025-05-10 00:18:21] [rank15]:{C10}",
            {
                "host": "10.7.3.1",
                "rank": 15,
                "time": datetime(2025, 5, 10, 0, 18, 21, tzinfo=UTC),
            },
            id="three prefixes deep",
        ),
        pytest.param("\x1b[36m(Actor pid=6)\x1b[0m x", {}, id="colours"),
        pytest.param("[36m(Actor pid=6)[0m x", {}, id="colours that lost their escape"),
        pytest.param("\x1b]0;title\x07x", {}, id="a window's title"),
        pytest.param("│ x   │", {}, id="a box"),
        pytest.param(
            "2031-02-03 04:05:07 node12: x",
            {"host": "node12", "time": datetime(2031, 2, 3, 4, 5, 7, tzinfo=UTC)},
            id="a stamp and a host",
        ),
    ],
)
def test_prefixes(text: str, expected: dict[str, Any]) -> None:
    """Each launcher's prefix is taken off and says what it says, nothing more."""
    row = read_lines(text.encode()).row(0, named=True)
    known = {"host", "rank", "local_rank", "task", "time", "repeats"}
    assert {name: row[name] for name in known if row[name] is not None} == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("12: hello\nplain\nplain\nplain", id="a number is no label if few have it"),
        pytest.param("epoch1: hello\nplain", id="a word is no host if few have it"),
        pytest.param("[12] hello\nplain", id="a number in brackets may be anything"),
        pytest.param("hx8-017:4412:4680 [3] NCCL INFO x", id="NCCL's own prefix stays"),
    ],
)
def test_what_is_no_prefix(text: str) -> None:
    """Text that only looks like a label stays as it is."""
    assert [row[0] for row in lines(text, "text")] == text.split("\n")


def test_labels_that_nearly_all_lines_have() -> None:
    """Host labels are believed when nearly every line has one."""
    text = "\n".join(f"hx8-00{host}: hello" for host in range(10))
    assert lines(text, "host", "text")[3] == ("hx8-003", "hello")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[80746] a\n[80748] b", ["a", "b"], id="numbers that rise from line to line"),
        pytest.param("[3] a\n[3] b", ["a", "b"], id="ranks that most lines have are labels"),
        pytest.param("[80746] a", ["a"], id="one line has a label"),
        pytest.param(
            "\n".join(f"{number}: a" for number in range(1, 31)), ["a"] * 30, id="a viewer's lines"
        ),
    ],
)
def test_counters(text: str, expected: list[str]) -> None:
    """Line numbers of a viewer are no part of the text."""
    assert [row[0] for row in lines(text, "text")] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\r\nb\r\n", [(1, "a"), (2, "b")], id="line ends of another system"),
        pytest.param("10%\r20%\rdone", [(1, "10%"), (1, "20%"), (1, "done")], id="a progress bar"),
        pytest.param("\ufeffa", [(1, "a")], id="a byte order mark"),
        pytest.param("a\0\0b", [(1, "ab")], id="a sparse file's zeros"),
        pytest.param("\n \n\na", [(4, "a")], id="empty lines are none"),
        pytest.param("", [], id="nothing"),
        pytest.param(
            "1,2\n[1,12]<stdout>:\n[1,12]<stdout>:b", [(1, "1,2"), (3, "b")], id="an empty label"
        ),
    ],
)
def test_lines_of_a_text(text: str, expected: list[tuple[int, str]]) -> None:
    """A logical line knows the line of the file that it stands in."""
    assert lines(text, "position", "text") == expected


def test_partial_lines_are_joined() -> None:
    """Parts that a container runtime cut are one line, streams kept apart."""
    stamp = "2025-11-04T02:11:07Z"
    text = (
        f"{stamp} stderr P one \n{stamp} stdout F other\n{stamp} stderr F two\n"
        '{"log":"three ","stream":"stdout","time":"2025-11-04T02:11:07Z"}\n'
        '{"log":"four\\n","stream":"stdout","time":"2025-11-04T02:11:08Z"}\n'
        "bare\n"
    )
    assert lines(text, "position", "text") == [
        (1, "one two"),
        (2, "other"),
        (4, "three four"),
        (6, "bare"),
    ]


def test_a_long_line_is_cut_and_marked() -> None:
    """A line beyond the limit is cut there."""
    found = lines("x" * (MAX_LINE_BYTES + 5), "text", "is_torn")
    assert [(len(text), torn) for text, torn in found] == [(MAX_LINE_BYTES, True)]


def test_pieces_of_a_line_have_its_prefix() -> None:
    """What stands behind a carriage return was printed by the same process at the same time."""
    text = "2031-02-03T04:05:07Z [rank3]: bar\r 10%|#\r{'loss': 1}\n[rank4]: x"
    stamp = datetime(2031, 2, 3, 4, 5, 7, tzinfo=UTC)
    assert lines(text, "time", "rank") == [(stamp, 3)] * 3 + [(None, 4)]


def test_a_long_line_of_blanks_is_not_lost() -> None:
    """Blanks in front of a line beyond the limit do not use it up."""
    assert lines("\t" * (MAX_LINE_BYTES + 5) + "x", "text", "is_torn") == [("x", True)]


def test_a_browser_s_clock_is_set_right() -> None:
    """A viewer's zone is learned from lines with a stamp of their own, and told to the others."""
    text = (
        "May 16, 2026 @ 20:46:57.892    [rank3]:[W516 12:46:57.891000001 A.cpp:1783] x\n"
        "May 16, 2026 @ 20:46:41.100    [rank0]: torch.OutOfMemoryError: CUDA\n"
    )
    assert lines(text, "time", "rank") == [
        (datetime(2026, 5, 16, 12, 46, 57, 892000, tzinfo=UTC), 3),
        (datetime(2026, 5, 16, 12, 46, 41, 100000, tzinfo=UTC), 0),
    ]


def test_stamps_without_a_zone_are_local() -> None:
    """A stamp that names no zone is in the one given."""
    found = lines("2031-02-03 04:05:07 node12: x", "time", time_zone="Asia/Shanghai")
    assert found == [(datetime(2031, 2, 2, 20, 5, 7, tzinfo=UTC),)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "hx8-1:1:1 [0] NCCL INFO a\nbar hx8-1:1:1 [0] NCCL INFO bxxhx8-1:2:2 [1] NCCL INFO c",
            [
                "hx8-1:1:1 [0] NCCL INFO a",
                "bar",
                "hx8-1:1:1 [0] NCCL INFO bxx",
                "hx8-1:2:2 [1] NCCL INFO c",
            ],
            id="a known host is found inside a word",
        ),
        pytest.param(
            "bar| hx9-1:1:1 [0] NCCL INFO a",
            ["bar|", "hx9-1:1:1 [0] NCCL INFO a"],
            id="an unknown one must stand alone",
        ),
        pytest.param("37%|##[rank5]:[E1104 x", ["37%|##", "[E1104 x"], id="after a bar"),
        pytest.param("plain", ["plain"], id="nothing to split"),
    ],
)
def test_records_glued_together(text: str, expected: list[str]) -> None:
    """A record that begins inside a line has a line of its own."""
    start = RecordStart(pattern=r"(?:\[rank\d+\]: ?)?\[E\d+ ", mark=r"\[E\d+ ")
    pieces = split_records(read_lines(text.encode()), [start])
    assert pieces["text"].str.strip_chars().to_list() == expected


def test_a_piece_has_its_own_rank() -> None:
    """A later piece with a label of its own is that rank's; the piece before it is torn."""
    start = RecordStart(pattern=r"\[rank\d+\]: ?\[E\d", mark=r"\[E\d")
    pieces = split_records(read_lines(b"[rank1]: a [rank5]:[E1 b"), [start])
    assert pieces.select("line", "rank", "is_torn").rows() == [(0, 1, True), (1, 5, False)]


@given(st.binary(max_size=300))
@settings(max_examples=80, deadline=None)
def test_any_bytes_give_lines(data: bytes) -> None:
    """Whatever the bytes, lines come out, numbered in order, none of them empty."""
    found = read_lines(data)
    assert (
        found.schema,
        found["line"].to_list(),
        found["text"].str.strip_chars().eq("").any(),
    ) == (
        LINES,
        list(range(found.height)),
        False,
    )
