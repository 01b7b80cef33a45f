"""Progress streams that were seen to mislead: Megatron, DeepSpeed and their reports."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from collectors.readings import Reading
from detectors.verdicts import Verdict
from paceline.findings import DetectorParams, find_all
from slo.replays import budget_replays, latest_passes

Read = Callable[[dict[str, str]], Reading]

TIMERS = """\
times across ranks (ms):
  forward-compute:
     rank  0: 510.00
     rank  1: 508.00
     rank  3: 760.00
  embedding-grads-all-reduce:
     rank  0: 3.10
     rank  3: 3.20
"""

STRAGGLERS = (
    "[2031-02-03 04:06:00] | MnRtt/Rnk: 803.12ms/9 | MxRtt/Rnk: 1191.03ms/3 | MnPwr/Rnk: "
    "412000.00W/3 | MxPwr/Rnk: 655000.00W/8 | MnTmp/Rnk: 41.00C/1 | MxTmp/Rnk: 78.00C/3 | "
    "MnUtl/Rnk: 97.00%/3 | MxUtl/Rnk: 100.00%/0 | MnClk/Rnk: 1110.00MHz/3 | MxClk/Rnk: "
    "1980.00MHz/0 | MnDRtt/Rnk: 0.31us/4 | MxDRtt/Rnk: 2.40us/7 | MnEtpt/Rnk: 88.10TF/3 | "
    "MxEtpt/Rnk: 130.20TF/9\n"
    "^^^^ Bottom 2 Ranks with lowest  Etpt(TF): 88.10/3, 127.50/12,\n"
)

PULSES = """\
2031-02-03 04:00:00 PULSE: tr is running since 2031-02-01 (job 77)
 [2031-02-03 04:05:00] iteration    45000/  90000 | elapsed time per iteration (ms): 80000.0 | …
valid loss at iteration 45000 | lm loss value: 2.3E+00 | lm loss PPL: 9.97E+00 |
2031-02-03 05:00:00 PULSE: tr is running since 2031-02-01 (job 77)
2031-02-03 06:00:00 PULSE: tr is running since 2031-02-01 (job 77)
"""

OVERFLOWS = (
    "[deepscale] OVERFLOW! Rank 5 Skipping step. Attempted loss scale: 1, reducing to 1\n"
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768.0\n"
)


def line(step: int, seconds: float = 0.5, **fields: str) -> str:
    """A line of Megatron; a field that is empty is not printed."""
    told = {
        "consumed samples": str(32 * step),
        "elapsed time per iteration (ms)": f"{1000 * seconds:.1f}",
        "throughput per GPU (TFLOP/s/GPU)": "",
        "learning rate": "1.000000E-05",
        "global batch size": "32",
        "lm loss": "6.200000E+00",
        "loss scale": "1.0",
        "grad norm": "1.100",
        "number of skipped iterations": "  0",
        "number of nan iterations": "  0",
    } | {name.replace("_", " "): value for name, value in fields.items()}
    rate = told.pop("tflops", "")
    told["throughput per GPU (TFLOP/s/GPU)"] = rate
    body = " | ".join(f"{name}: {value}" for name, value in told.items() if value)
    return f" iteration {step:8d}/     900 | {body} |\n"


def found(reading: Reading) -> list[Verdict]:
    """What all detectors say of a reading."""
    return find_all(reading, DetectorParams(), lambda *_: None)


def test_a_nan_loss_is_a_missing_field(read_texts: Read) -> None:
    """The step is read with its time; its loss is not there, which is told and found."""
    text = line(30) + line(40, 0.501, lm_loss="", grad_norm="nan")
    reading = read_texts({"train.log": text})
    second = reading.steps.row(1, named=True)
    (finding,) = found(reading)

    assert (second["step"], second["step_seconds"], second["loss"], second["loss_state"]) == (
        40,
        0.501,
        None,
        "not_printed",
    )
    assert reading.rejects.is_empty()
    assert (finding.kind, finding.onset_step) == ("numerical", 40)


def test_a_record_is_joined_where_it_was_wrapped(read_texts: Read) -> None:
    """Three lines are one record, in seconds, and the samples a second are its batch over them."""
    text = (
        "[default7]: iteration    5001/ 90000 | consumed samples:  900000 | consumed tokens: "
        "1843200000 | elapsed time per iteration (s): 80.10 | learning\n"
        " rate: 5.0E-05 | global batch size: 1024 | lm loss: 2.3E+00 | grad norm: 0.15 | num "
        "zeros: 0.0 | number of skipped iterations:  0 | number of nan\n"
        "iterations:  0 | samples per second: 12.784 | TFLOPs: 150.10 |\n"
    )
    reading = read_texts({"train.log": text})
    row = reading.steps.row(0, named=True)

    assert (reading.steps.height, reading.rejects.height, reading.lines_used) == (1, 0, 3)
    assert (row["step"], row["step_seconds"], row["skipped_steps"]) == (5001, 80.10, 0)
    assert row["samples"] / row["step_seconds"] == pytest.approx(12.784, abs=1e-3)


def test_heartbeats_are_no_progress(read_texts: Read) -> None:
    """A job that only says that it runs hangs, with time allowed for the evaluation it was in."""
    reading = read_texts({"train.log": PULSES})
    (finding,) = found(reading)

    assert (finding.kind, finding.level, finding.onset, finding.detected) == (
        "hang",
        "job",
        datetime(2031, 2, 3, 4, 5, tzinfo=UTC),
        datetime(2031, 2, 3, 4, 30, 20, tzinfo=UTC),
    )


def test_steps_after_a_rollback_count_once(read_texts: Read) -> None:
    """Steps that are done again are a second attempt; the first pass of them is wasted."""
    text = "".join(line(step, 1.0) for step in range(1, 121)) + "".join(
        line(step, 1.0, lm_loss="5.9E+00") for step in range(101, 151)
    )
    steps = read_texts({"train.log": text}).steps.lazy()
    again = latest_passes(steps).filter(pl.col("step").is_between(101, 120)).collect()

    assert budget_replays(steps).rows() == [(None, 150, 20, 20.0, 150.0)]
    assert again["loss"].unique().to_list() == [5.9]


def test_a_loss_scale_cut_to_itself_is_stuck(read_texts: Read) -> None:
    """Both overflows are read; the one that changes nothing is found."""
    reading = read_texts({"train.log": OVERFLOWS})
    (finding,) = found(reading)

    assert reading.events.select("rank", "code").rows() == [(5, "1->1"), (0, "65536->32768")]
    assert (finding.kind, finding.cause) == ("numerical", "loss_scale_at_minimum")


def test_a_rank_without_a_timer_is_unknown(read_texts: Read) -> None:
    """The rank that is not listed is not fast, and one that is twice as slow is named."""
    reading = read_texts({"train.log": TIMERS})
    (finding,) = found(reading)

    assert reading.steps.select("rank", "compute_seconds").rows() == [
        (0, 0.51),
        (1, 0.508),
        (3, 0.76),
    ]
    assert (finding.kind, finding.subject.rank) == ("slow", 3)
    assert finding.slowdown == pytest.approx(1.493, abs=1e-3)


def test_watts_that_are_milliwatts(read_texts: Read) -> None:
    """Power is in watts, and the rank of all the extremes is throttled, not the one beside it."""
    reading = read_texts({"train.log": STRAGGLERS})
    power = reading.events.filter(pl.col("code") == "min power_watts").row(0, named=True)
    (finding,) = found(reading)

    assert (power["rank"], power["message"]) == (3, "412.0")
    assert (finding.subject.rank, finding.cause) == (3, "thermal_or_power")
    assert finding.slowdown == pytest.approx(1.483, abs=1e-3)


def speed(step: int, mean: float, current: float) -> str:
    """A line of DeepSpeed's timer."""
    return (
        f"… epoch=0/micro_step={4 * step}/global_step={step}, RunningAvgSamplesPerSec={mean}, "
        f"CurrSamplesPerSec={current}, MemAllocated=1.0GB, MaxMemAllocated=2.0GB\n"
    )


@pytest.mark.parametrize("with_current", [True, False], ids=["told", "differenced"])
def test_a_running_mean_hides_nothing(read_texts: Read, *, with_current: bool) -> None:
    """Steps that take half as long again are seen whether or not the current rate is told."""
    text = "".join(speed(step, 100.0, 100.0) for step in (80, 90, 100)) + speed(
        110, 95.2381, 64.5161
    )
    if not with_current:
        text = text.replace("CurrSamplesPerSec=", "Other=")
    seconds = read_texts({"train.log": text}).steps["step_seconds"].to_list()

    assert seconds[3] / seconds[2] == pytest.approx(1.55, rel=0.03)


def test_the_first_running_mean_is_no_step_time(read_texts: Read) -> None:
    """A mean since the start says what it is, so that nobody takes it for a step."""
    text = speed(100, 100.0, 100.0).replace("CurrSamplesPerSec=", "Other=")
    kinds = read_texts({"train.log": text}).steps["time_kind"].to_list()

    assert kinds == ["running_mean_since_start"]


def test_the_inner_of_two_stamps_wins(read_texts: Read) -> None:
    """The stamp nearest to the record is its time; what is no record is counted, and not fatal."""
    text = (
        "2031-02-03 04:05:07 node12: [2031-02-03 04:05:06,789] [INFO] [timer.py:157:stop] 0/20, "
        "SamplesPerSec=51.2\n"
        "2031-02-03 04:05:07 node12: <html><body>502</body></html>\n"
    )
    reading = read_texts({"train.log": text})
    row = reading.steps.row(0, named=True)

    assert (row["step"], row["host"], row["end_time"]) == (
        20,
        "node12",
        datetime(2031, 2, 3, 4, 5, 6, 789000, tzinfo=UTC),
    )
    assert row["samples"] / row["step_seconds"] == pytest.approx(51.2)
    assert reading.rejects["count"].fill_null(1).sum() == 1


def phases(step: int, rank: int, forward: float, backward: float) -> dict[str, Any]:
    """A record of a rank's step."""
    return {
        "step": step,
        "rank": rank,
        "step_ms": 360.0,
        "forward_ms": forward,
        "backward_ms": backward,
        "input_ms": 0.0,
    }


def test_the_culprit_waits_least(read_texts: Read) -> None:
    """The rank with the shortest visible wait came last; its forward pass says why."""
    ranks = enumerate([(100.0, 260.0), (101.0, 258.0), (99.0, 262.0), (240.0, 121.0)])
    shapes = list(ranks)
    text = "".join(
        json.dumps(phases(step, rank, *parts)) + "\n"
        for step in range(25)
        for rank, parts in shapes
    )
    (finding,) = found(read_texts({"ranks.jsonl": text}))

    assert (finding.kind, finding.subject.rank, finding.cause, finding.confidence) == (
        "slow",
        3,
        "compute",
        "high",
    )
    assert "waits 0.121 s in communication while its peers wait 0.26 s" in [
        one.what for one in finding.evidence
    ]


def test_contention_is_one_spell_with_levels(read_texts: Read) -> None:
    """Epochs that were slowed twice over are one spell, closed when they are fast again."""
    text = "".join(
        json.dumps({"step": step, "step_time_s": seconds}) + "\n"
        for step, seconds in enumerate([32, 32, 33, 102, 104, 1100, 1090, 33, 32], 1)
    )
    (finding,) = found(read_texts({"epochs.jsonl": text}))

    assert (finding.kind, finding.onset_step, finding.cleared_step, finding.cause) == (
        "group_slow",
        4,
        8,
        None,
    )
    assert [one.what.split(", ")[1].split(" of")[0] for one in finding.evidence] == [
        "x3.2",
        "x33.7",
    ]


def test_another_formula_is_no_slowdown(read_texts: Read) -> None:
    """TFLOP/s that fall while steps take as long are a note, at the step where they fall."""
    text = (
        "".join(line(step, 6.0, tflops="410.0") for step in range(10, 101, 10))
        + "[before the start of training step] datetime: 2031-02-03 04:05:06\n"
        + "".join(line(step, 6.01, tflops="352.0") for step in range(110, 201, 10))
    )
    (finding,) = found(read_texts({"train.log": text}))

    assert (finding.kind, finding.cause, finding.onset_step, finding.slowdown) == (
        "config_drift",
        "throughput_definition",
        110,
        None,
    )


def test_an_evaluation_in_an_interval_is_no_spike(read_texts: Read) -> None:
    """Old versions count evaluations in the time of the line after them: nothing is found."""
    slow = {100: 2.9, 200: 3.1, 300: 2.8}
    rule, mark = (
        f"{'-' * 80}\n",
        "validation loss at iteration {} on validation set | lm loss: 1 |\n",
    )
    text = "".join(
        (rule + mark.format(step) + rule if step - 10 in slow else "")
        + line(step, slow.get(step - 10, 1.6))
        for step in range(10, 600, 10)
    )
    reading = read_texts({"train.log": text})

    assert (found(reading), reading.rejects.height) == ([], 0)
