"""Numbers in logs that no column holds, or that are none: the line is known, the number is not."""

import pytest

from collectors.lines import LINE_DIALECTS
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines

LONG = "9" * 30
TIMED_OUT = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE)"
TOTALS = "Num Epochs = {}\nTotal optimization steps = 100\n"
BY_NAME = {dialect.name: dialect for dialect in LINE_DIALECTS}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(
            "trainer dict",
            TOTALS.format(0) + "{'loss': 2.5, 'epoch': 0.1}",
            id="a run of no epochs has no steps of an epoch",
        ),
        pytest.param(
            "trainer dict",
            TOTALS.format(1) + "{'loss': 2.5, 'epoch': nan}",
            id="an epoch that is no number tells no step",
        ),
        pytest.param(
            "trainer dict",
            TOTALS.format(1) + "{'loss': 2.5, 'epoch': 1e300}",
            id="an epoch beyond all steps tells none",
        ),
        pytest.param(
            "metaseq",
            f'x | train_inner | {{"epoch": 1, "num_updates": "{LONG}", "loss": "2.5"}}',
            id="more updates than a column holds are no step",
        ),
        pytest.param(
            "deepspeed comms",
            f"[INFO] [Rank {LONG}] comm op: all_reduce | time (ms): 1.0 | msg size: 1.0 GB | "
            "algbw (Gbps): 1.0 | busbw (Gbps): 1.0",
            id="more than a rank can be is none",
        ),
        pytest.param(
            "watchdog",
            f"[E105 04:03:02.٣٣٣٣٣٣ ProcessGroupNCCL.cpp:616] [Rank 3] {TIMED_OUT}",
            id="a stamp in digits of another script is none",
        ),
    ],
)
def test_odd_numbers(name: str, text: str) -> None:
    """The line that holds such a number is claimed all the same."""
    lines = read_lines(text.encode())

    assert lines["line"].last() in BY_NAME[name].read(lines, ReadOptions()).claimed
