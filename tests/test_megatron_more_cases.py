"""Megatron's lines in other versions, forks, wraps and prefixes, and what is found in them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.logs import read_log_lines, stream_logs
from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import LINES
from collectors.training.megatron_fields import NUMBERS, loose_fields, with_numbers
from collectors.training.megatron_layouts import read_layouts
from collectors.training.timers import read_timers
from detectors.verdicts import Verdict
from paceline.findings import DetectorParams, find_all

Read = Callable[[dict[str, str]], Reading]

START = datetime(2031, 2, 3, 4, tzinfo=UTC)


def read(text: str) -> Reading:
    """The reading of a log's text."""
    return read_log_lines(text.encode(), "train.log", "train.log", ReadOptions())


def rows(text: str, *columns: str) -> list[tuple[Any, ...]]:
    """Columns of the steps in a log's text."""
    return read(text).steps.select(columns).rows()


def line(step: int, **fields: str) -> str:
    """A line of Megatron without its newline; a field that is empty is not printed."""
    told = {
        "consumed samples": str(32 * step),
        "elapsed time per iteration (ms)": "500.0",
        "learning rate": "1.000000E-05",
        "global batch size": "32",
        "lm loss": "6.200000E+00",
        "loss scale": "1.0",
        "grad norm": "1.100",
        "number of skipped iterations": "  0",
        "number of nan iterations": "  0",
    } | {name.replace("_", " "): value for name, value in fields.items()}
    body = " | ".join(f"{name}: {value}" for name, value in told.items() if value)
    return f" iteration {step:8d}/    9000 | {body} |"


STAMP = "[2031-02-03 04:05:06.120034]"
WHEN = datetime(2031, 2, 3, 4, 5, 6, 120034, tzinfo=UTC)
CUT = line(7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f" 7: {CUT}\n 7: {line(8)}", (None, None), id="behind a task of srun"),
        pytest.param(f"[1,3]<stdout>: {CUT}", (None, None), id="behind a tag of Open MPI"),
        pytest.param(f"[default7]:{CUT}", (None, None), id="behind a tee of torchrun"),
        pytest.param(f"node12: {CUT}\nnode12: {line(8)}", ("node12", None), id="behind a host"),
        pytest.param(
            f"(TrainActor pid=4321, ip=10.0.0.7) {CUT} [repeated 7x across cluster]",
            ("10.0.0.7", None),
            id="between the marks of Ray",
        ),
        pytest.param(
            f"\x1b[32m{CUT}\x1b[0m\r\n", (None, None), id="in green, with a carriage return"
        ),
        pytest.param(
            f"\r 10%|#    | 40/100 [00:20<03:00]{CUT}", (None, None), id="glued to a progress bar"
        ),
        pytest.param(f"{STAMP}{CUT}", (None, WHEN), id="with a stamp of microseconds"),
        pytest.param(
            f"INFO:megatron.training.training: {STAMP}{CUT}", (None, WHEN), id="behind a logger"
        ),
        pytest.param(
            f"2031-02-03 04:05:06,120 - megatron - INFO - {CUT}",
            (None, WHEN.replace(microsecond=120000)),
            id="the logger's stamp counts where there is no other",
        ),
        pytest.param(
            f"I0811 21:54:55.531340 1400 train.py:88] {CUT}", (None, None), id="behind glog's head"
        ),
        pytest.param(
            f"2031-02-03T04:05:06.120034000Z {CUT}", (None, WHEN), id="behind a container's stamp"
        ),
    ],
)
def test_prefixes(text: str, expected: tuple[str | None, datetime | None]) -> None:
    """Whatever stands before a record, it is read, and nothing of its line is left over."""
    reading = read(text)
    first = reading.steps.row(0, named=True)

    assert (first["step"], first["step_seconds"], first["loss"], first["rank"]) == (
        7,
        0.5,
        6.2,
        None,
    )
    assert (first["host"], first["end_time"]) == expected
    assert reading.rejects.is_empty()


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        pytest.param(STAMP, WHEN, id="the inner stamp is nearer to the step"),
        pytest.param(
            STAMP.replace("04:05:06", "12:05:06"),
            datetime(2031, 2, 3, 4, 5, 9, tzinfo=UTC),
            id="one of another zone is not believed",
        ),
    ],
)
def test_two_stamps(inner: str, expected: datetime) -> None:
    """Of two stamps the inner one counts, unless they are in two zones."""
    text = f"2031-02-03T04:05:09Z  {inner}{line(7)}"

    assert rows(text, "end_time") == [(expected,)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            " iteration       20/  500000 | elapsed time per iteration (ms): 511.2 | learning "
            "rate: "
            "1.000E-04 | lm loss: 9.100E+00 | loss scale: 65536.0 |\n",
            (20, 0.5112, 9.1, None, None),
            id="version 1 has neither samples nor skips",
        ),
        pytest.param(
            " iteration       10/   50000 | consumed samples:         160 | consumed tokens:       "
            "327680 | elapsed time per iteration (s): 6.12 | learning rate: 3.000E-06 | global "
            "batch "
            "size:    16 | lm-loss: 9.220117E+00 | loss scale: -1.0 | grad norm: 0.000 | actual "
            "seqlen:  2048 | number of skipped iterations:   0 | number of nan iterations:   0 | "
            "samples per second: 2.614 | tokens per gpu per second (tgs): 669.1 | TFLOPs: 50.11 "
            "|\n",
            (10, 6.12, 9.220117, 0.0, 16.0),
            id="a fork of DeepSpeed has its own names and seconds",
        ),
        pytest.param(
            f"{STAMP} iteration       10/   50000 | consumed samples:         160 | consumed "
            "bins:  "
            "12 | skipped samples:    3 | elapsed time per iteration (ms): 611.2 | throughput per "
            "GPU (TFLOP/s/GPU): 388.1 | energy per GPU (J/iter/GPU): 4000.1 | power per GPU "
            "(W/GPU): "
            "650.3 | learning rate: 3.000000E-06 | decoupled learning rate: 1.0E-05 | global batch "
            "size:    16 | lm loss: 9.220117E+00 | load_balancing_loss: 1.000000E+00 | mtp_1 loss: "
            "8.000000E+00 | moe/tokens dropped: 0.12 | loss scale: 1.0 | grad norm: 2.100 | num "
            "zeros: 12 | params norm: 100.100 | number of skipped iterations:   0 | number of nan "
            "iterations:   0 | toks/s: 1,234.5 |\n",
            (10, 0.6112, 9.220117, 2.1, 16.0),
            id="the newest has energy, other losses and a tail",
        ),
        pytest.param(
            line(7, elapsed_time_per_iteration_="").replace("(ms): 500.0", "(ms): 812.0/809.4"),
            (7, 0.812, 6.2, 1.1, 32.0),
            id="a pair of now and average",
        ),
        pytest.param(
            line(7).replace("(ms): 500.0", "(ms): 1,873.4"),
            (7, 1.8734, 6.2, 1.1, 32.0),
            id="a comma in a number",
        ),
        pytest.param(
            "Training epoch 0, iteration 9/99 | lr: 2.4e-05 | global_batch_size: 128 | "
            "global_step: "
            "9 | reduced_train_loss: 10.82 | train_step_timing in s: 1.501 | consumed_samples: "
            "1280",
            (9, 1.501, 10.82, None, 128.0),
            id="NeMo has names of its own and no last bar",
        ),
        pytest.param(
            line(7).replace("lm loss: 6.200000E+00", "lm loss: 6.2E+00 | sop loss: 0.7E+00"),
            (7, 0.5, 6.2, 1.1, 32.0),
            id="of two losses the language model's",
        ),
        pytest.param(
            line(7).replace("lm loss", "loss"),
            (7, 0.5, 6.2, 1.1, 32.0),
            id="a loss without a model",
        ),
    ],
)
def test_versions(
    text: str, expected: tuple[int, float, float, float | None, float | None]
) -> None:
    """Each version's line gives step, seconds, loss, gradient norm and batch."""
    (found,) = rows(text, "step", "step_seconds", "loss", "grad_norm", "samples")

    assert list(found) == [None if one is None else pytest.approx(one) for one in expected]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_wraps(width: int) -> None:
    """A record is one, wherever a terminal broke it, and so is the next."""
    whole = f"{STAMP}{line(7)}"
    wrapped = "\n".join(whole[at : at + width] for at in range(0, len(whole), width))
    reading = read(f"{wrapped}\n{line(8)}\n")
    columns = ("step", "step_seconds", "loss", "grad_norm", "skipped_steps")

    assert reading.steps.select(columns).rows() == [(7, 0.5, 6.2, 1.1, 0), (8, 0.5, 6.2, 1.1, 0)]
    assert reading.rejects.is_empty()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"{CUT}{STAMP}{line(8)}", [(7, 6.2), (8, 6.2)], id="two records on a line"),
        pytest.param(
            f"{CUT[:150]}{line(8)}", [(7, None), (8, 6.2)], id="one that begins in another"
        ),
        pytest.param(
            f"{CUT[:150]}\n{line(8)}", [(7, None), (8, 6.2)], id="a record without its end"
        ),
        pytest.param(
            f"{CUT[:150]}\n[Rank 0] (after 7 iterations) memory (MB) | allocated: 1.0\n{line(8)}",
            [(7, None), (8, 6.2)],
            id="a memory line is no end of a record",
        ),
        pytest.param(
            f"{CUT[:150]}\n time (ms) | forward: 1.00 | backward: 2.00\n{line(8)}",
            [(7, None), (8, 6.2)],
            id="nor is a line of timers",
        ),
    ],
)
def test_torn_records(text: str, expected: list[tuple[int, float | None]]) -> None:
    """A torn record keeps what it has, and the next is whole."""
    assert rows(text, "step", "loss") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "\n".join(line(step) for step in (1, 10, 20, 30)),
            [1, 10, 10, 10],
            id="the extra first line counts in the next mean again",
        ),
        pytest.param(
            "\n".join(line(step) for step in (10, 20))
            + "\n loading checkpoint from /x at iteration 17\n"
            + "\n".join(line(step) for step in (20, 30)),
            [10, 10, 3, 10],
            id="a resume gives a short first interval",
        ),
        pytest.param(
            "\n".join(line(step) for step in (10, 20, 20, 30)),
            [10, 10, 10, 10],
            id="a line that is printed twice speaks of the same steps",
        ),
        pytest.param(line(40), [1], id="of a line alone nothing is known"),
    ],
)
def test_intervals(text: str, expected: list[int]) -> None:
    """A mean is over the steps since the last line."""
    assert [row[0] for row in rows(text, "interval_steps")] == expected


NO_LOSS = {"lm_loss": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "\n".join([line(1), line(2, **NO_LOSS, load_balancing_loss="1.0"), line(3)]),
            ["printed", "not_printed", "printed"],
            id="another loss does not stand for the one that is missing",
        ),
        pytest.param(
            "\n".join(line(step, **NO_LOSS) for step in range(1, 4)),
            [None, None, None],
            id="a log without losses is not asked for them",
        ),
        pytest.param(
            "\n".join(line(step, **NO_LOSS, grad_norm="nan") for step in range(1, 4)),
            ["not_printed"] * 3,
            id="unless gradients are no numbers",
        ),
        pytest.param(
            "\n".join(
                [
                    line(10, **NO_LOSS, number_of_skipped_iterations=" 10"),
                    line(20, **NO_LOSS, number_of_skipped_iterations="  8"),
                    line(30),
                ]
            ),
            ["all_skipped", "not_printed", "printed"],
            id="an interval of skips is harmless, one of some skips is not",
        ),
    ],
)
def test_losses(text: str, expected: list[str | None]) -> None:
    """A missing loss says why where a line near has one."""
    assert [row[0] for row in rows(text, "loss_state")] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            " global rank 3 is saving checkpoint at iteration     500 to /x/mp_rank_03/model.pt",
            [("checkpoint_start", 3, "500")],
            id="a rank of version 1 saves",
        ),
        pytest.param(
            "  successfully saved /x/iter_0000500/mp_rank_03/model.pt",
            [("checkpoint", None, None)],
            id="version 1 names the file alone",
        ),
        pytest.param(
            f"{STAMP} successfully saved checkpoint from iteration     500 to /x [ t 1/2, p 1/4 ]",
            [("checkpoint", None, "500")],
            id="a save with a stamp",
        ),
        pytest.param(
            "successfully saved local checkpoint from iteration 20",
            [("checkpoint", None, "20")],
            id="a local save",
        ),
        pytest.param(
            " loading release distributed checkpoint from /x at iteration 0",
            [("checkpoint_load_start", None, "0")],
            id="a load that begins is none yet",
        ),
        pytest.param(
            "  successfully loaded checkpoint from /x [ t 0, p 0 ] at iteration 400",
            [("checkpoint_load", None, "400")],
            id="a load of 0.8",
        ),
        pytest.param(
            "WARNING: could not find the metadata file /x/latest\n"
            "    will not load any checkpoints and will start from random",
            [("from_scratch", None, None)],
            id="two lines of one start from scratch",
        ),
        pytest.param(
            " validation-1 loss at iteration 200 on 8-sample draw from validation set | lm loss "
            "value: 3.1E+00 |",
            [("evaluation", None, "200")],
            id="an evaluation of a part, with a suffix",
        ),
        pytest.param(
            " validation loss at the end of training for val data | lm loss value: 3.1E+00 |",
            [("evaluation", None, "end")],
            id="the last evaluation",
        ),
        pytest.param("Validation: iteration 1/8", [("evaluation", None, None)], id="one of NeMo"),
        pytest.param(
            "[exiting program after 1234.5 minutes] datetime: 2031-02-03 04:05:06",
            [("run_end", None, "time")],
            id="an end by the clock",
        ),
        pytest.param(
            " Step Time : 6.21s GPU utilization: 402.3MODEL_TFLOP/s/GPU",
            [("step_time", None, None)],
            id="Megatron-Bridge's step time",
        ),
    ],
)
def test_events(text: str, expected: list[tuple[str, int | None, str | None]]) -> None:
    """Lines between iterations, in the words of each version."""
    reading = read(text)

    assert reading.events.select("kind", "rank", "code").rows() == expected
    assert reading.rejects.is_empty()


def test_units_that_are_glued_to_numbers() -> None:
    """The step time of Megatron-Bridge is in seconds and its rate in operations a second."""
    text = " Step Time : 6.21s GPU utilization: 402.3MODEL_TFLOP/s/GPU"
    (told,) = read(text).events["attributes"].to_list()

    assert [(one["key"], float(one["value"])) for one in told] == [
        ("step_seconds", 6.21),
        ("throughput_flops", pytest.approx(402.3e12)),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            " time (ms) | forward: 100.10 | backward: 3.20 |",
            {"forward": 0.1001, "backward": 0.0032},
            id="on one line",
        ),
        pytest.param(" time (ms)", {}, id="on one line, without a timer"),
        pytest.param(
            "INFO:megatron.core.timers:(min, max) time across ranks (ms):\n"
            "    forward-backward ...............................: (1702.31, 1711.90)\n"
            "    a-timer-whose-name-is-longer-than-forty-eight-characters : (41.02, 41.77)",
            {
                "min forward-backward": 1.70231,
                "max forward-backward": 1.7119,
                "min a-timer-whose-name-is-longer-than-forty-eight-characters": 0.04102,
                "max a-timer-whose-name-is-longer-than-forty-eight-characters": 0.04177,
            },
            id="the least and the most, behind a logger",
        ),
        pytest.param(
            "max time across ranks (ms):\n    optimizer ......................................: "
            "41.77",
            {"max optimizer": 0.04177},
            id="the most",
        ),
        pytest.param(
            "[2031-02-03 04:05:06,789] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | "
            "fwd_microstep: 10.10 | bwd_microstep: 20.20",
            {"fwd_microstep": 0.0101, "bwd_microstep": 0.0202},
            id="DeepSpeed's breakdown",
        ),
    ],
)
def test_timers(text: str, expected: dict[str, float]) -> None:
    """Timers that name no rank are one event with their seconds, by name."""
    reading = read(text)
    (told,) = reading.events["attributes"].to_list()

    assert {one["key"]: float(one["value"]) for one in told} == pytest.approx(expected)
    assert (reading.events["kind"].to_list(), reading.rejects.height) == (["timers"], 0)


def test_a_rank_that_lacks_a_part_of_its_compute() -> None:
    """A timer that is not listed is not zero: the sum is not known."""
    text = (
        f"{line(40)}\ntimes across ranks (ms):\n  forward-compute:\n     rank  0: 510.00\n     "
        "rank  "
        "1: 508.00\n  backward-compute:\n     rank  0: 740.00\n  optimizer:\n     rank  0: "
        "41.00\n  "
        "batch-generator:\n     rank  1: 3.00\n"
    )
    found = read(text).steps.drop_nulls("rank")
    columns = ("step", "rank", "compute_seconds", "optimizer_seconds", "data_seconds")

    assert found.select(columns).rows() == [
        (40, 0, 1.25, 0.041, None),
        (40, 1, None, None, 0.003),
    ]


def test_no_timers() -> None:
    """Lines without timers give nothing."""
    assert read_timers(LINES.to_frame(), ReadOptions()).claimed.is_empty()


DEEPSPEED = "[2031-02-03 04:05:{:02d},789] [INFO] [logging.py:96:log_dist] [Rank 0] "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            DEEPSPEED.format(6)
            + "step=20, skipped=1, lr=[2e-05, 2e-05], mom=[(0.9, 0.95), (0.9, 0.95)]\n"
            + DEEPSPEED.format(26)
            + "step=30, skipped=3, lr=[2e-05], mom=0.0\n",
            [(20, None, None), (30, 2.0, 2)],
            id="step lines alone are timed by their stamps",
        ),
        pytest.param(
            "[Rank 0] step=20, skipped=0, lr=[2e-05], mom=[0.9]\nepoch=0/micro_step=80/global_step="
            "20, RunningAvgSamplesPerSec=-inf, CurrSamplesPerSec=50.0\n",
            [(20, 0.02, None)],
            id="a step line and its speed line are one step",
        ),
        pytest.param(
            "[Rank 0] step=0, skipped=0, lr=[0.0], mom=[0.9]\n", [], id="no step is done at step 0"
        ),
        pytest.param(
            "steps: 10 loss: nan iter time (s): 1.250 samples/sec: 80.0",
            [(10, 1.25, None)],
            id="a pipeline",
        ),
    ],
)
def test_deepspeed(text: str, expected: list[tuple[int, float | None, int | None]]) -> None:
    """Each step that DeepSpeed tells of is one row, by however many lines."""
    reading = read(text)

    assert reading.steps.select("step", "step_seconds", "skipped_steps").rows() == expected
    assert reading.rejects.is_empty()


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        pytest.param("to 32768.0", ["65536->32768"], id="cut by half"),
        pytest.param("to 0.5", ["65536->0.5"], id="cut below one"),
        pytest.param(None, ["65536"], id="kept by hysteresis"),
    ],
)
def test_overflows(text: str | None, codes: list[str]) -> None:
    """Where a loss scale goes is told, or that it is given another chance."""
    rest = "but hysteresis is 2. Reducing hysteresis to 1" if text is None else f"reducing {text}"
    log = f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, {rest}"

    assert read(log).events["code"].to_list() == codes


def clocked(seconds: list[float], **fields: str) -> str:
    """Lines every ten steps, with stamps that fit the seconds of their steps."""
    text, clock = "", START
    for at, one in enumerate(seconds, 1):
        clock += timedelta(seconds=10 * one)
        stamp = clock.strftime("[%Y-%m-%d %H:%M:%S]")
        body = line(10 * at, **fields).replace("(ms): 500.0", f"(ms): {1000 * one:.1f}")
        text += f" {stamp}{body}\n"
    return text


def found(reading: Reading) -> list[Verdict]:
    """What all detectors say of a reading."""
    return find_all(reading, DetectorParams(), lambda *_: None)


SLOWED = [2.0] * 50 + [3.0] * 50

RESIZED_LINE = 50


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(clocked([2.0] * 60), [], id="a job that runs on"),
        pytest.param(clocked(SLOWED), [("group_slow", 510)], id="a job that slows by half"),
        pytest.param(
            clocked([2.0, 2.0, 9.0, 2.0, 9.0, *[2.0] * 40]), [], id="single spikes are no spell"
        ),
        pytest.param(
            clocked([2.0] * 60)
            + "[exiting program at iteration 600] datetime: 2031-02-03 04:20:05\n"
            + "2031-02-03 09:00:00 PULSE: tr is running\n",
            [],
            id="an end that is announced is no hang",
        ),
        pytest.param(
            clocked([2.0] * 60) + "2031-02-03 09:00:00 PULSE: tr is running\n",
            [("hang", 601)],
            id="a silence with heartbeats is one",
        ),
        pytest.param(
            clocked([2.0] * 60)
            + "saving checkpoint at iteration     600 to /x\n"
            + "2031-02-03 04:40:00 PULSE: tr is running\n",
            [],
            id="a save that began is given its time",
        ),
        pytest.param(
            clocked([2.0] * 50)
            + "[before the start of training step] datetime: 2031-02-03 04:16:40\n"
            + clocked([4.0] * 50).replace("iteration ", "iteration   "),
            [],
            id="another attempt has its own pace",
        ),
        pytest.param(
            "".join(
                f"[default7]: iteration {10 * at:8d}/    9000 | consumed samples: {640 * at:12d} | "
                f"consumed tokens: {32768 * at if at <= 50 else 131072 * at - 4915200:12d} | "
                f"elapsed time per iteration (s): {2 if at <= 50 else 8:.2f} | lr: 1.0 | "
                "global batch size:    64 | lm loss: 2.3E+00 | grad norm: 0.15 | num zeros: 0.0 | "
                f"curriculum seqlen: {512 if at <= 50 else 2048:5d} | number of skipped iterations:"
                "   0 | number of nan iterations:   0 |\n"
                for at in range(1, 101)
            ),
            [],
            id="longer sequences of a curriculum take longer as planned",
        ),
        pytest.param(
            "using world size: 256, data-parallel size: 32\n"
            + clocked([2.0] * 50)
            + "using world size: 192, data-parallel size: 24\n"
            + "".join(clocked(SLOWED).splitlines(keepends=True)[RESIZED_LINE:]),
            [],
            id="a process that tells its ranks has begun anew",
        ),
        pytest.param(
            "using world size: 256, data-parallel size: 32\n"
            + "".join(
                one
                if at != RESIZED_LINE
                else "using world size: 192, data-parallel size: 24\n"
                " loading distributed checkpoint from /x at iteration 500\n"
                "  successfully loaded checkpoint from /x [ t 1/8, p 1/1 ] at iteration 500\n" + one
                for at, one in enumerate(clocked(SLOWED).splitlines(keepends=True))
            ),
            [],
            id="fewer ranks go on with the next step at a pace of their own",
        ),
    ],
)
def test_findings(read_texts: Read, text: str, expected: list[tuple[str, int]]) -> None:
    """What is found in whole logs, and what is not."""
    verdicts = found(read_texts({"train.log": text}))

    assert [(one.kind, one.onset_step) for one in verdicts] == expected


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        pytest.param(16, "rerun_to_compare", id="asks to be run elsewhere"),
        pytest.param(17, "failed_validation", id="the result was wrong again"),
    ],
)
def test_exit_codes(read_texts: Read, code: int, cause: str) -> None:
    """Megatron's rerun machine tells by its exit code why it ended."""
    log = f"{line(10)}\nsrun: error: n3: task 5: Exited with exit code {code}\n"
    (verdict,) = found(read_texts({"train.log": log}))

    assert (verdict.kind, verdict.subject.host, verdict.cause) == ("crash", "n3", cause)


def test_a_restart_from_scratch(read_texts: Read) -> None:
    """A run that had come far and finds no checkpoint is told of before it saves."""
    log = (
        f"{line(500)}\nWARNING: could not find the metadata file /x/latest\n"
        f"    will not load any checkpoints and will start from random\n{line(10)}\n"
    )
    (verdict,) = found(read_texts({"train.log": log}))

    assert (verdict.cause, verdict.onset_step) == ("started_from_scratch", 10)


def test_a_logger_without_a_year() -> None:
    """The year of a logger's stamp is the one that was given."""
    text = f"I0811 21:54:55.531340 1400 train.py:88] {line(7)}"
    steps = read_log_lines(text.encode(), "x.log", "x.log", ReadOptions(year=2031)).steps

    assert steps["end_time"].to_list() == [datetime(2031, 8, 11, 21, 54, 55, 531340, tzinfo=UTC)]


def test_blocks_change_nothing(tmp_path: Path) -> None:
    """A log that is read a block at a time says what it says at once."""
    mark = "validation loss at iteration {} on validation set | lm loss value: 3.1E+00 |\n"
    text = "".join(
        line(step) + "\n" + mark.format(step) * (step % 7 == 0) for step in range(1, 4000)
    )
    path = tmp_path / "train.log"
    path.write_text(text, encoding="utf-8")
    options = ReadOptions()
    parts = join_readings(stream_logs(path, "train.log", options, block_bytes=100_000))
    whole = join_readings(stream_logs(path, "train.log", options, block_bytes=10**8))

    assert parts.steps.equals(whole.steps)
    assert parts.events.sort("position").equals(whole.events.sort("position"))


NAMES = ("lm loss", "loss scale", "grad norm", "odd/name (x)", "number of skipped iterations")


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(NAMES), st.sampled_from(["1.0", " 2", "nan", "3.5/4", "N/A"])
            ),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
        max_size=20,
    )
)
def test_layouts_say_what_patterns_say(records: list[list[tuple[str, str]]]) -> None:
    """A line whose layout is known gives the numbers that a search of each field gives."""
    texts = [
        f" iteration {at}/ 9 | " + " | ".join(f"{name}: {value}" for name, value in fields) + " |"
        for at, fields in enumerate(records)
    ]
    lines = pl.DataFrame({"line": range(len(texts)), "record": range(len(texts)), "text": texts})
    known, odd = read_layouts(lines)
    told = with_numbers(known, "UTC").select("line", "step", *NUMBERS)
    searched = with_numbers(loose_fields(lines), "UTC").select("line", "step", *NUMBERS)

    assert told.equals(searched.filter(~pl.col("line").is_in(odd["line"].implode())))


@pytest.mark.parametrize(
    ("elapsed", "printed", "expected"),
    [
        pytest.param("(ms): 80100.0", 0.0128, [("0.0128", "12.78402")], id="a thousandth of it"),
        pytest.param("(s): 80.10", 12.784, [], id="seconds for seconds"),
    ],
)
def test_rates_in_another_unit(
    elapsed: str, printed: float, expected: list[tuple[str, str]]
) -> None:
    """A rate that batch and step time contradict is told once, with the true one."""
    text = "".join(
        f"[default7]: iteration {at:8d}/ 90000 | elapsed time per iteration {elapsed} | global "
        "batch size: 1024 | lm loss: 2.3E+00 | number of nan iterations: 0 | samples per second: "
        f"{printed} | TFLOPs: 0.15 |\n"
        for at in (100, 110)
    )
    warnings = read(text).events.filter(pl.col("code") == "sample_rate")["attributes"].to_list()

    assert [tuple(one["value"] for one in labels) for labels in warnings] == expected
