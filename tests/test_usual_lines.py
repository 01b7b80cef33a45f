"""Lines that are taken apart before they are opened say what they say the general way."""

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.communication.nccl_halves import usual_records
from collectors.line_reading import LineDialect
from collectors.line_sharing import sure_of
from collectors.lines import LINE_DIALECTS
from collectors.log_blocks import LogReader, log_name
from collectors.readings import FRAMES, Reading, join_readings
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import raw_lines
from collectors.texts.few_texts import names_digits
from collectors.texts.text_blocks import line_blocks
from collectors.texts.torn_records import signs_of
from collectors.training.megatron_forms import usual_iterations
from collectors.usual_lines import usual_lines

ITERATION = (
    "{stamp} iteration {at:8d}/    9000 | consumed samples: {samples:12d} | elapsed time per "
    "iteration (ms): {ms:.1f} | {first} | {second} | grad norm: {norm} | "
    "number of skipped iterations:   {skipped} | number of nan iterations:   0 |"
)
STAMPS = ("", " [2031-02-03 04:05:{at:02d}]", " [2031-02-03 04:{at:02d}:06.123456]")
LOSSES = ("lm loss: {loss:.6E}", "loss scale: {loss:.1f}")
NUMBERS = ("1.5", "nan", "inf", "1e3", "-1.250", "0x1F", "1,5")

HEADS = (
    "hx8-017:4412:4680 [{gpu}] NCCL INFO ",
    "hx8-018:4412:4680 [{gpu}] NCCL INFO ",
    "[2031-02-03 04:05:{at:02d}] hx8-017:41:42 [{gpu}] misc/socket.cc:93 (Connect) NCCL INFO ",
    "hx8-017:4412:4680 [{gpu}] NCCL WARN ",
    "hx8-017:4412:4680 [{gpu}] NCCL TRACE a NCCL INFO ",
    "hx8-017:4412:4680 NCCL INFO ",
    "odd head NCCL INFO ",
)
SAID = (
    "Channel {gpu:02d}/0 : {gpu}[{gpu}] -> {at}[0] [send] via NET/IB/{gpu}/GDRDMA",
    "AllReduce: opCount {at:x} sendbuff 0x7f01 recvbuff 0x7f02 count 1048576 comm 0x55cd37 [nranks",
    "Trees [0] 1/-1/-1->0->-1",
    "Connected all rings",
    "init.cc:12 (init) [Rank {gpu}] Connected all trees",
    "NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129",
    "NCCL version 2.20.5+cuda12.4",
    "Init START iter 5: loss 1.0",
    "",
)
OTHERS = (
    "time (ms) | forward-backward: 17{at:02d}.31 | optimizer: 41.02",
    "  successfully saved checkpoint from iteration {at:7d} to /ckpt/run",
    "[2031-02-03 04:05:06] nobody's line {at}",
    "[rank2]: Traceback (most recent call last):",
    "iter {at}: loss 1.2345, time 12.00ms, mfu 3.00%",
)
PREFIXES = ("", "", "", "{gpu}: ", "[rank{gpu}]: ", "\x1b[32m", "2031-02-03T04:05:06Z ")
ENDS = ("\n", "\n", "\n", "\r\n", " \n", "\x1b[0m\n", "\r", "")

PICKS = st.tuples(*(st.integers(0, 9999) for _ in range(7)))


def pick(choices: Sequence[str], number: int) -> str:
    """One of some choices, by any number."""
    return choices[number % len(choices)]


def iteration(at: int, numbers: tuple[int, ...]) -> str:
    """An iteration line: its form, the order of its fields and its numbers may be odd."""
    stamp, order, norm, *_ = numbers
    fields = [text.format(loss=8 - at / 100) for text in LOSSES]
    first, second = fields if order % 9 else reversed(fields)
    return ITERATION.format(
        stamp=pick(STAMPS, stamp // 3000).format(at=at % 60),
        at=at,
        samples=at * 512,
        ms=1873.4 + order % 7,
        first=first,
        second=second,
        norm=pick(NUMBERS, max(0, norm - 8000)),
        skipped=order % 2,
    )


def line_of(at: int, numbers: tuple[int, ...]) -> str:
    """A line of a log: of Megatron, of NCCL or of others, with what is around it."""
    kind, head, said, prefix, end, cut, _ = numbers
    told = {"at": at % 60, "gpu": head % 8}
    if kind < 4000:
        text = iteration(at, numbers[1:])
    elif kind < 9000:
        text = pick(HEADS, head // 8).format(**told) + pick(SAID, said).format(**told)
    else:
        text = pick(OTHERS, said).format(**told)
    whole = text[: cut % len(text)] if cut > 9500 else text
    return pick(PREFIXES, prefix).format(**told) + whole + pick(ENDS, end)


def eager(dialect: LineDialect) -> LineDialect:
    """A dialect that takes apart even few lines."""
    if dialect.usual is usual_iterations:
        return replace(dialect, usual=partial(usual_iterations, min_lines=1))
    return dialect


FAST = tuple(eager(one) for one in LINE_DIALECTS)
GENERAL = tuple(replace(one, usual=None) for one in LINE_DIALECTS)


def read(data: bytes, dialects: Sequence[LineDialect], size: int) -> Reading:
    """What a log says by some dialects, in blocks of some length."""
    reader = LogReader(
        name=log_name("x.log", "x"), options=ReadOptions(), dialects=dialects, around=12
    )
    return join_readings(reader.read(line_blocks(io.BytesIO(data), size)))


def rows_of(reading: Reading) -> dict[str, list[str]]:
    """All that a reading says, in one order."""
    told = {name: sorted(map(str, reading.frame(name).rows())) for name in FRAMES}
    return told | {"lines": [str(reading.lines_used)]}


@given(st.lists(PICKS, min_size=1, max_size=40), st.integers(200, 6000))
@settings(max_examples=25, deadline=None)
def test_usual_lines_say_what_all_lines_say(
    picks: list[tuple[int, int, int, int, int, int, int]], size: int
) -> None:
    """Whatever stands in a log and wherever it is cut, taking lines apart changes nothing."""
    data = "".join(line_of(at, numbers) for at, numbers in enumerate(picks, start=95)).encode()

    assert rows_of(read(data, FAST, size)) == rows_of(read(data, GENERAL, size))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(["h1:1:2 [0] NCCL INFO a", "h1:1:2 [0] NCCL INFO b"], [2, 2], id="all usual"),
        pytest.param(["h1:1:2 [0] NCCL WARN a", "h1:1:2 [0] NCCL INFO b"], [0, 2], id="a warning"),
        pytest.param(["h1:1:2 [0] NCCL INFO a \t", "h1:1:2 [0] NCCL INFO b"], [0, 2], id="blanks"),
        pytest.param(
            ["h1:1:2 [0] NCCL INFO ah1:1:2 [0] NCCL INFO a", "h1:1:2 [0] NCCL INFO b"],
            [0, 2],
            id="two records on a line",
        ),
        pytest.param(["a NCCL INFO b", "h1:1:2 [0] NCCL INFO b"], [0, 2], id="no head of NCCL's"),
        pytest.param(["a", "b"], [0, 0], id="nobody's"),
    ],
)
def test_whose_usual_lines_are(texts: list[str], expected: list[int]) -> None:
    """A line is taken apart early if it is plain, surely a dialect's, and one record."""
    raw = raw_lines("\n".join(texts).encode())
    starts = [one.start for one in LINE_DIALECTS if one.start]
    found = usual_lines(raw, LINE_DIALECTS, signs_of(starts), ReadOptions())

    assert found["sure"].to_list() == expected


def test_a_form_has_one_owner() -> None:
    """A line that has a form of Megatron is surely Megatron's."""
    numbers = (0, 1, 0, 0, 0, 0)
    texts = pl.Series([iteration(at, numbers) for at in range(100, 110)])
    found = usual_iterations(texts, "iteration +[0-9]+/", ReadOptions(), min_lines=1)
    owner = [one.name for one in LINE_DIALECTS].index("megatron") + 1

    assert found.fits.all()
    assert sure_of(texts, LINE_DIALECTS).to_list() == [owner] * 10


def test_a_form_holds_one_record() -> None:
    """Where the words of a form hold a sign of another record, its lines go the general way."""
    line = iteration(100, (0, 1, 0, 0, 0, 0)).replace("loss scale", "Traceback (most recent")
    found = usual_iterations(
        pl.Series([line] * 3), "iteration |Traceback", ReadOptions(), min_lines=1
    )

    assert not found.fits.any()


def test_signs_tell_no_digits_apart() -> None:
    """Lines of one form differ in digits, so that one of them tells the signs of all."""
    starts = [one.start for one in LINE_DIALECTS if one.start]

    assert not names_digits(signs_of(starts))


def test_halves_are_categories() -> None:
    """Of NCCL's lines each different head and message is kept once."""
    texts = pl.Series([f"h{at % 2}:1:2 [0] NCCL INFO said" for at in range(4)])
    found = usual_records(texts, " NCCL ", ReadOptions())

    assert found.parts["head"].to_physical().to_list() == [0, 1, 0, 1]
    assert found.parts["said"].to_physical().to_list() == [0, 0, 0, 0]
