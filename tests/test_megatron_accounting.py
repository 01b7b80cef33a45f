"""Logs of Megatron and DeepSpeed, whatever happened to them: each line is accounted for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.logs import read_log_lines
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

LOG = b"""\
 loading checkpoint from /x at iteration 9
  successfully loaded checkpoint from /x [ t 1/2, p 1/4 ] at iteration 9
[before the start of training step] datetime: 2031-02-03 04:05:00
 [2031-02-03 04:05:06] iteration       10/    900 | consumed samples:          320 | elapsed time \
per iteration (ms): 500.0 | learning rate: 1.0E-05 | global batch size:    32 | lm loss: 6.2E+00 | \
loss scale: 1.0 | grad norm: 1.100 | number of skipped iterations:   0 | number of nan iterations: \
  0 |
[Rank 0] (after 10 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0
times across ranks (ms):
  forward-compute:
     rank  0: 510.00
     rank  1: 508.00
(min, max) time across ranks (ms):
    optimizer ......................................: (41.02, 41.77)
 [2031-02-03 04:05:16] iteration       20/    900 | consumed samples:          640 | elapsed time \
per iteration (ms): 501.0 | learning rate
: 1.0E-05 | global batch size:    32 | loss scale: 1.0 | grad norm: nan | number of skipped iter
ations:   0 | number of nan iterations:   0 |
[2031-02-03 04:06:00] | MnRtt/Rnk: 803.12ms/9 | MxRtt/Rnk: 1191.03ms/3 | MnPwr/Rnk: 412000.00W/3
^^^^ Bottom 2 Ranks with lowest  Etpt(TF): 88.10/3, 127.50/12,
--------------------------------------------------
 validation loss at iteration 20 on validation set | lm loss value: 3.1E+00 | lm loss PPL: 2.2E+01 |
--------------------------------------------------
saving checkpoint at iteration      20 to /x in torch_dist format
[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768.0
[2031-02-03 04:05:06,789] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=1, lr=[2e-05], \
mom=[(0.9, 0.95)]
[2031-02-03 04:05:06,790] [INFO] [timer.py:260:stop] epoch=0/micro_step=80/global_step=20, \
RunningAvgSamplesPerSec=51.2, CurrSamplesPerSec=50.9
steps: 21 loss: 2.5000 iter time (s): 1.250 samples/sec: 80.0
Training epoch 0, iteration 9/99 | lr: 2.4e-05 | reduced_train_loss: 10.82 | train_step_timing in \
s: 1.501
0: :::MLLOG {"namespace": "", "time_ms": 1900000012345, "event_type": "POINT_IN_TIME", "key": \
"tracked_stats", "value": {"train_step_time": 6.41}, "metadata": {"step": 4608}}
nobody knows this line
"""


def read(data: bytes) -> Reading:
    """The reading of some bytes."""
    return read_log_lines(data, "train.log", "train.log", ReadOptions())


def lines_of(data: bytes) -> int:
    """How many lines are not empty."""
    text = data.decode("utf-8", errors="replace").replace("\0", "")
    return sum(1 for line in text.split("\n") if line.strip())


def accounted(reading: Reading) -> int:
    """How many lines a reading speaks for."""
    return reading.lines_used + int(reading.rejects["count"].fill_null(1).sum())


def torn(data: bytes, at: int) -> bytes:
    """The log without what stands before a place, or behind it."""
    place = at % (len(data) + 1)
    return data[:place] if at % 2 else data[place:]


def doubled(data: bytes, at: int) -> bytes:
    """The log with one line twice."""
    lines = data.split(b"\n")
    lines.insert(at % len(lines), lines[at % len(lines)])
    return b"\n".join(lines)


def stained(data: bytes, at: int) -> bytes:
    """The log with bytes that are no UTF-8."""
    place = at % (len(data) + 1)
    return data[:place] + b"\xff\xfe\xc3" + data[place:]


def broken(data: bytes, at: int) -> bytes:
    """The log with a line broken in two."""
    place = at % (len(data) + 1)
    return data[:place] + b"\n" + data[place:]


def joined(data: bytes, at: int) -> bytes:
    """The log with two lines joined."""
    place = data.find(b"\n", at % (len(data) + 1))
    return data[:place] + data[place + 1 :] if place >= 0 else data


MANGLERS = (torn, doubled, stained, broken, joined, lambda data, _: data.replace(b"\n", b"\r\n"))


def test_the_log_as_it_is() -> None:
    """Every line but the last is a row, or a part of one."""
    reading = read(LOG)

    assert reading.rejects["text"].to_list() == ["nobody knows this line"]
    assert accounted(reading) == lines_of(LOG)


@given(st.lists(st.tuples(st.sampled_from(MANGLERS), st.integers(0, 10**6)), max_size=4))
@settings(max_examples=25)
def test_mangled(steps: list[tuple[object, int]]) -> None:
    """Torn, doubled, stained, broken and joined: nothing raises, and no line is lost."""
    data = LOG
    for mangle, at in steps:
        assert callable(mangle)
        data = mangle(data, at)
    reading = read(data)

    # Two records that were glued to one line may end apart: that line then counts twice.
    assert lines_of(data) <= accounted(reading) <= lines_of(data) + len(steps) * 2


@pytest.mark.parametrize("letter", [b"x", b"|"], ids=["letters", "bars"])
def test_a_line_of_a_megabyte(letter: bytes) -> None:
    """One endless line costs that line and no more."""
    data = LOG.replace(b"nobody knows this line", letter * 2**20 + b".")
    reading = read(data)

    assert accounted(reading) == lines_of(data)
    assert reading.steps.height == read(LOG).steps.height
