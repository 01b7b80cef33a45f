"""Lines of logs that may tell of failures: which are looked at, whose they are, what is one."""

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.log_batches import SmallLog
from collectors.log_blocks import log_name
from collectors.signatures.failure_lines import (
    FAILURE_LINES,
    BlockWatcher,
    batch_failure_lines,
    read_failure_lines,
)
from collectors.signatures.failure_looks import looks_like_failure, may_be_failure
from collectors.signatures.library import any_pattern, read_signatures
from collectors.sniffing import ReadOptions

TRACE = """\
[rank3]: Traceback (most recent call last):
[rank3]:   File "loop.py", line 412, in step
[rank5]: step 7 loss 2.1
[rank3]:     loss.backward()
[rank3]: RuntimeError: shapes do not fit
[rank3]: step 8 is not reached
"""


def watched(*blocks: str, name: str = "train.log", also: str | None = None) -> pl.DataFrame:
    """What is seen in the blocks of one log."""
    watcher = BlockWatcher(name=log_name(name, name), options=ReadOptions(), also=also)
    return pl.concat([watcher.lines_of(block.encode()) for block in blocks])


def test_a_line() -> None:
    """A line has its place, its time, its printer, and whether its own words say that it fails."""
    text = "step 1 loss 2.0\n2026-01-05T04:11:08Z hx8-002 app[7]: ERROR quorum lost\n"
    found = watched(text)

    assert found.schema == FAILURE_LINES
    assert found.select("position", "host", "is_failure", "count", "kind", "block").rows() == [
        (2, "hx8-002", True, 1, None, None)
    ]
    assert str(found["time"][0]) == "2026-01-05 04:11:08+00:00"
    assert found["last"].equals(found["time"])


def test_whose_log() -> None:
    """Rank and host that no line says are those of the file's name."""
    by_rank = watched("disk full\n", name="rank_12.log")
    by_host = watched("disk full\n[rank3]: disk full\n", name="hx8-017.log")

    assert by_rank.select("host", "rank").rows() == [(None, 12)]
    assert by_host.select("host", "rank").rows() == [("hx8-017", None), ("hx8-017", 3)]


def test_a_traceback_is_one_line() -> None:
    """A traceback is told by its exception, with all its lines, whoever talks in between."""
    found = watched(TRACE)

    assert found.select("position", "rank", "text", "is_failure").rows() == [
        (1, 3, "RuntimeError: shapes do not fit", True),
        (6, 3, "step 8 is not reached", False),
    ]
    assert found["block"][0].split("\n")[1:] == [
        '  File "loop.py", line 412, in step',
        "    loss.backward()",
        "RuntimeError: shapes do not fit",
    ]


def test_blocks_count_on() -> None:
    """Places count over blocks; a traceback that is cut is told by its last line alone."""
    lines = TRACE.splitlines(keepends=True)
    found = watched("calm\n" * 9, "".join(lines[:3]), "".join(lines[3:]))

    assert found.select("position", "text").rows() == [
        (10, 'File "loop.py", line 412, in step'),
        (14, "RuntimeError: shapes do not fit"),
        (15, "step 8 is not reached"),
    ]


def test_what_a_rule_knows() -> None:
    """A line without any word of failure counts where a pattern of the library fits."""
    text = "zorblax 7 left the ring\n"

    assert [watched(text).height, watched(text, also="zorblax").height] == [0, 1]


def test_patterns_of_a_library() -> None:
    """The pattern of all families fits what one of them fits; without rules there is none."""
    library = read_signatures()
    whole = any_pattern(library) or ""

    assert pl.Series(["Xid: 79, fallen off the bus", "all is well"]).str.contains(
        whole
    ).to_list() == [True, False]
    assert any_pattern(library.with_columns(patterns=pl.lit([], pl.List(pl.String)))) is None


def test_small_logs_at_once(tmp_path: Path) -> None:
    """Small logs that are looked at together say what each says alone, packed or not."""
    texts = {"rank_1.log": TRACE, "hx8-002.log": "", "c.log": "calm\nno space left\n"}
    logs = [SmallLog(name=log_name(n, n), data=text.encode()) for n, text in texts.items()]
    alone = list[pl.DataFrame]()
    for name, text in texts.items():
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()))
        alone += read_failure_lines(path, name, ReadOptions())

    assert batch_failure_lines(logs, ReadOptions()).equals(pl.concat(alone))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("step 12 loss 2.31 lr 1e-4", (False, False), id="a step"),
        pytest.param("0 errors, 0 warnings", (True, False), id="a count of none"),
        pytest.param("error_count: 0", (False, False), id="a counter at zero"),
        pytest.param("NCCL INFO NCCL_IB_TIMEOUT set to 22", (False, False), id="a setting"),
        pytest.param("[INFO] no checkpoint yet, starting", (False, False), id="a calm level"),
        pytest.param("[INFO] all-reduce failed on rank 3", (True, True), id="a level that errs"),
        pytest.param('  "max_error_count": 512,', (False, False), id="one name and its value"),
        pytest.param("UserWarning: lr_scheduler failed to warm up", (True, False), id="advice"),
        pytest.param("connection lost", (True, True), id="a loss"),
        pytest.param("ValueError: bad", (True, True), id="an exception"),
        pytest.param("the link is down", (True, False), id="a doubtful line"),
        pytest.param("Assertion `x` failed", (True, True), id="an assertion"),
    ],
)
def test_looks(text: str, expected: tuple[bool, bool]) -> None:
    """A line may tell of a failure, and does so by its own words or only as a family has it."""
    looks = pl.select(
        may=may_be_failure(pl.lit(text)), speaks=looks_like_failure(pl.lit(text))
    ).row(0)

    assert looks == expected


@settings(max_examples=25, deadline=None)
@given(
    st.text(alphabet="ab \n\r\t\x1b[]0:é\x00Traceback(most recent call last)Error", max_size=200)
)
def test_any_text(text: str) -> None:
    """Whatever a block holds, lines come out in order, each with its place."""
    found = watched(text + "\nfatal error\n")

    assert found["position"].is_sorted()
    assert found["text"][-1] == "fatal error"
