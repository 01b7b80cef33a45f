"""Step lines of many trainers: the step, its seconds, and what its loss was."""

from datetime import UTC, datetime
from typing import Any

import pytest

from collectors.logs import read_log_lines
from collectors.readings import Reading
from collectors.sniffing import ReadOptions


def read(text: str, options: ReadOptions | None = None) -> Reading:
    """Return the reading of a log's text."""
    return read_log_lines(text.encode(), "x.log", "x.log", options or ReadOptions())


def steps(text: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of the steps in a log's text."""
    return read(text).steps.select(columns).rows()


def events(text: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of the events in a log's text."""
    return read(text).events.select(columns).rows()


def iteration(step: int, fields: str) -> str:
    """Return a line of Megatron."""
    return f" iteration {step:8d}/    9000 | {fields} |"


TAIL = "loss scale: 1.0 | grad norm: 1.100 | number of skipped iterations:   0"


def test_a_loss_that_is_not_printed() -> None:
    """A loss that is NaN is left out of the line: null, and told from one never asked for."""
    text = "\n".join(
        [
            iteration(30, f"elapsed time per iteration (ms): 500.0 | lm loss: 6.2E+00 | {TAIL}"),
            iteration(
                40, f"elapsed time per iteration (ms): 501.0 | {TAIL.replace('1.100', 'nan')}"
            ),
        ]
    )
    reading = read(text)
    columns = ("step", "interval_steps", "step_seconds", "loss", "loss_state", "time_kind")
    assert (
        reading.steps.select(columns).rows(),
        reading.steps["grad_norm"].is_nan().to_list(),
        reading.rejects.height,
    ) == (
        [
            (30, 10, 0.5, 6.2, "printed", "interval_mean"),
            (40, 10, 0.501, None, "not_printed", "interval_mean"),
        ],
        [False, True],
        0,
    )


def test_skipped_intervals_have_no_loss() -> None:
    """An interval of skipped steps is the harmless start of mixed precision."""
    fields = "elapsed time per iteration (ms): 5837.9 | loss scale: 8388608.0 | "
    text = "\n".join(
        iteration(step, f"{fields}number of skipped iterations:  {skipped}")
        for step, skipped in ((10, 10), (20, 8))
    )
    assert steps(text, "skipped_steps", "loss_state") == [(10, "all_skipped"), (8, "not_printed")]


def test_a_record_wrapped_inside_a_name() -> None:
    """A record that was cut into lines is one, its unit in the name of its field."""
    text = (
        "[default7]: iteration    5001/ 90000 | consumed samples:  900000 | elapsed time per "
        "iteration (s): 80.10 | learning\n"
        " rate: 5.0E-05 | global batch size: 1024 | lm loss: 2.3E+00 | grad norm: 0.15 | number of "
        "skipped iterations:  0 | number of nan\n"
        "iterations:  0 | samples per second: 12.784 | TFLOPs: 150.10 |\n"
    )
    reading = read(text)
    columns = ("rank", "step", "step_seconds", "loss", "samples", "skipped_steps")
    assert (reading.steps.select(columns).rows(), reading.rejects.height) == (
        [(None, 5001, 80.10, 2.3, 1024.0, 0)],
        0,
    )


@pytest.mark.parametrize(
    ("field", "seconds"),
    [
        pytest.param("elapsed time per iteration (ms): 1873.4", 1.8734, id="milliseconds"),
        pytest.param("elapsed time per iteration (s): 80.10", 80.10, id="seconds"),
        pytest.param(
            "elapsed time per iteration (ms): 812.0/809.4", 0.812, id="a pair: the first is now"
        ),
        pytest.param("consumed bins: 3", None, id="no time"),
    ],
)
def test_units_of_the_elapsed_time(field: str, seconds: float | None) -> None:
    """The unit is part of the field's name."""
    found = steps(iteration(7, f"{field} | lm-loss: 1.0 | {TAIL}"), "step_seconds")
    assert found == [(pytest.approx(seconds) if seconds else None,)]


def test_stamps_of_iterations() -> None:
    """A stamp before the iteration is local time."""
    text = f" [2031-02-03 04:05:06.120034]{iteration(40, TAIL)}"
    found = read(text, ReadOptions(time_zone="Asia/Shanghai")).steps["end_time"].to_list()
    assert found == [datetime(2031, 2, 2, 20, 5, 6, 120034, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([1, 2, 3, 2, 3], [0, 0, 0, 1, 1], id="a step that goes back"),
        pytest.param([1, 2, "start", 3], [0, 0, 1], id="a start mark"),
        pytest.param(["start", 1, 2, "start", "start", 2], [0, 0, 1], id="a mark printed twice"),
        pytest.param([1, 1], [0, 0], id="a line printed twice"),
    ],
)
def test_attempts(lines: list[int | str], expected: list[int]) -> None:
    """Attempts are counted by marks and by steps that go back, each once."""
    mark = "[before the start of training step] datetime: 2031-02-03 04:05:06"
    text = "\n".join(
        mark if one == "start" else iteration(int(one), f"lm loss: 1.0 | {TAIL}") for one in lines
    )
    assert read(text).steps["attempt"].to_list() == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            " validation loss at iteration 200 on validation set | lm loss value: 3.1E+00 |",
            ("evaluation", "200"),
            id="an evaluation",
        ),
        pytest.param(
            "valid loss at iteration 45000 | lm loss value: 2.3E+00 | lm loss PPL: 9.97E+00 |",
            ("evaluation", "45000"),
            id="an evaluation of a fork",
        ),
        pytest.param(
            "saving checkpoint at iteration      500 to /ckpt",
            ("checkpoint_start", "500"),
            id="a save that begins",
        ),
        pytest.param(
            "  successfully saved checkpoint from iteration      500 to /ckpt [ t 1/2, p 1/4 ]",
            ("checkpoint", "500"),
            id="a save that is proven",
        ),
        pytest.param(
            "scheduled an async checkpoint save at iteration 500 to /ckpt",
            ("checkpoint_start", "500"),
            id="a save that is only planned",
        ),
        pytest.param(
            "  successfully loaded checkpoint from /ckpt [ t 1/2, p 1/4 ] at iteration 400",
            ("checkpoint_load", "400"),
            id="where an attempt resumes",
        ),
        pytest.param(
            "WARNING: could not find the metadata file /ckpt/latest",
            ("from_scratch", None),
            id="a silent start from scratch",
        ),
        pytest.param(
            "[exiting program after receiving SIGTERM.] datetime: 2031-02-03 04:05:06",
            ("run_end", "SIGTERM"),
            id="a clean exit",
        ),
        pytest.param(
            "[Rank 17] (after 20 iterations) memory (MB) | allocated: 1.0",
            ("memory", "20"),
            id="memory",
        ),
    ],
)
def test_lines_between_iterations(line: str, expected: tuple[str, str | None]) -> None:
    """Evaluations, checkpoints, starts and ends are events with their iteration."""
    assert events(line, "kind", "code") == [expected]


def test_an_evaluation_does_not_join_an_open_record() -> None:
    """A record without its last bar is not filled up with the next line that has bars."""
    text = (
        " iteration    45000/  90000 | elapsed time per iteration (ms): 80000.0 | ...\n"
        "valid loss at iteration 45000 | lm loss value: 2.3E+00 |\n"
        "2031-02-03 05:00:00 PULSE: tr is running since 2031-02-01 (job 77)\n"
    )
    assert (steps(text, "step", "loss"), events(text, "kind")) == (
        [(45000, None)],
        [("evaluation",), ("heartbeat",)],
    )


def test_a_running_mean_is_differenced() -> None:
    """A rate since the last line counts, not the mean since the start; both agree here."""
    lines = [
        f".. epoch=0/micro_step=4{step}/global_step={step}, RunningAvgSamplesPerSec={mean}{rest}"
        for step, mean, rest in ((100, 100.0, ""), (110, 95.2381, ""))
    ]
    with_current = [
        f"{line}, CurrSamplesPerSec={now}"
        for line, now in zip(lines, (100.0, 64.5161), strict=True)
    ]
    by_mean = steps("\n".join(lines), "step_seconds")[1][0]
    first, second = steps("\n".join(with_current), "step_seconds")
    ratio = second[0] / first[0]
    assert (ratio, by_mean) == (pytest.approx(1.55, rel=0.03), pytest.approx(0.0155, rel=0.03))


def test_stamps_tell_the_samples_of_a_step() -> None:
    """With stamps, a rate becomes the true seconds of a step."""
    text = "\n".join(
        f"[2031-02-03 04:05:{second:02d},000] [INFO] [timer.py:157] 0/{step}, SamplesPerSec=50.0"
        for step, second in ((10, 0), (20, 20), (30, 40))
    )
    found = steps(text, "step", "step_seconds", "samples", "interval_steps")
    two = pytest.approx(2.0)
    assert found[1:] == [(20, two, 100.0, 10), (30, two, 100.0, 10)]


def test_the_inner_stamp_wins() -> None:
    """A line's own stamp is nearer to its step than the launcher's; junk is a reject."""
    text = (
        "2031-02-03 04:05:07 node12: [2031-02-03 04:05:06,789] [INFO] [timer.py:157:stop] 0/20, "
        "SamplesPerSec=51.2\n"
        "2031-02-03 04:05:07 node12: <html><body>502</body></html>\n"
    )
    reading = read(text)
    found = reading.steps.select("step", "host", "end_time").rows()
    expected = (20, "node12", datetime(2031, 2, 3, 4, 5, 6, 789000, tzinfo=UTC))
    assert (found, reading.rejects["position"].to_list()) == ([expected], [2])


def test_a_pipeline_tells_its_seconds() -> None:
    """The pipeline engine prints the seconds of a step."""
    text = "steps: 10 loss: 2.5000 iter time (s): 1.250 samples/sec: 80.0"
    assert steps(text, "step", "step_seconds", "loss") == [(10, 1.25, 2.5)]


def test_overflows() -> None:
    """A loss scale that is cut is an event; equal sides show it at its minimum."""
    text = (
        "[deepscale] OVERFLOW! Rank 5 Skipping step. Attempted loss scale: 1, reducing to 1\n"
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to "
        "32768.0\n"
    )
    assert events(text, "kind", "rank", "code") == [
        ("loss_scale", 5, "1->1"),
        ("loss_scale", 0, "65536->32768"),
    ]


def mllog(key: str, value: str, metadata: str = "{}", time_ms: int = 1_900_000_012_345) -> str:
    """Return a line of MLPerf's log."""
    return (
        f'0: :::MLLOG {{"namespace": "", "time_ms": {time_ms}, "event_type": "POINT_IN_TIME", '
        f'"key": "{key}", "value": {value}, "metadata": {metadata}}}'
    )


def test_mlperf_counts_samples() -> None:
    """A step is so many samples; equal lines of many ranks are one event."""
    stats = '{"train_step_time": 6.41, "reduced_train_loss": 3.9}'
    text = "\n".join(
        [
            mllog("init_start", "null"),
            mllog("init_start", "null"),
            mllog("global_batch_size", "1152"),
            mllog("tracked_stats", stats, '{"step": 4608.0}'),
            mllog("eval_accuracy", "5.6"),
        ]
    )
    reading = read(text)
    columns = ("step", "step_seconds", "loss", "samples", "time_kind")
    assert (
        reading.steps.select(columns).rows(),
        reading.events.select("kind", "code", "count").rows(),
    ) == (
        [(4, 6.41, 3.9, 1152.0, "single_step")],
        [
            ("note", "init_start", 2),
            ("note", "global_batch_size", 1),
            ("evaluation", "eval_accuracy", 1),
        ],
    )


def test_mlperf_without_a_batch() -> None:
    """Without a global batch the fewest samples seen stand for one step."""
    text = "\n".join(
        mllog("tracked_stats", '{"train_step_time": 1.0}', f'{{"step": {at}}}') for at in (64, 128)
    )
    assert steps(text, "step") == [(1,), (2,)]


def test_mlperf_block_means() -> None:
    """What a block's end says of all its steps, under the samples of its start, is no step."""
    loss = '{"train_step_time": 1.0, "reduced_train_loss": 3.9}'
    mean = '{"throughput": 64.0, "train_step_time": 1.1}'
    text = "\n".join(
        [
            *(mllog("tracked_stats", loss, f'{{"step": {at}}}') for at in (64, 128, 192)),
            mllog("tracked_stats", mean, '{"step": 128}'),
            mllog("tracked_stats", loss, '{"step": 256}'),
        ]
    )
    assert steps(text, "step", "attempt") == [(1, 0), (2, 0), (3, 0), (4, 0)]


def test_dicts_glued_to_bars() -> None:
    """A trainer's dict has the step and the seconds of the bar before it; values may be text."""
    text = (
        "\r 10%|#         | 10/100 [00:20<03:00,  2.00s/it]\r{'loss': '0.91', 'grad_norm': '1.5', "
        "'learning_rate': '4e-05', 'epoch': '0.1'}\r 20%|##        | 20/100 [00:40<02:40,  2.00s/"
        "it]{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3e-05, 'epoch': 0.2}\n"
        "{'train_runtime': 919.0, 'train_samples_per_second': 1.0, 'epoch': 1.0}\n"
    )
    reading = read(text)
    columns = ("step", "loss", "step_seconds", "interval_steps")
    assert (
        reading.steps.select(columns).rows(),
        reading.steps["grad_norm"].is_nan().to_list(),
        reading.events["kind"].to_list(),
        reading.rejects.height,
    ) == ([(10, 0.91, None, None), (20, 0.0, 2.0, 10)], [False, True], ["run_summary"], 0)


def test_torchtitan() -> None:
    """Colours and thousands are no obstacle, and no value is null."""
    text = (
        "[rank3]:[titan] 2031-02-03 04:05:06,789 - root - INFO - \x1b[31mstep: 1,000\x1b[39m  "
        "\x1b[32mloss:  3.21450\x1b[39m  \x1b[38;2;180;60;0mgrad_norm:  1.2031\x1b[39m  memory:  "
        "61.22GiB(77.31%)  \x1b[34mtps: 6,512\x1b[39m  mfu: N/A"
    )
    found = steps(text, "step", "loss", "grad_norm", "end_time", "rank")
    expected = (1000, 3.2145, 1.2031, datetime(2031, 2, 3, 4, 5, 6, 789000, tzinfo=UTC), None)
    assert found == [expected]


def test_cumulative_times_are_differenced() -> None:
    """A clock since the start gives the seconds of each step; the first line has none."""
    text = (
        "step:0/1750 train_loss:10.9000 train_time:0ms step_avg:nanms\n"
        "step:1/1750 train_loss:10.1000 train_time:150ms step_avg:150.0ms\n"
        "step:2/1750 train_loss:9.8000 train_time:281ms step_avg:140.5ms\n"
    )
    found = [row[0] for row in steps(text, "step_seconds")]
    assert found == [None, pytest.approx(0.150), pytest.approx(0.131)]


def test_nanogpt() -> None:
    """A line of an iteration has its milliseconds."""
    text = "iter 0: loss 10.9000, time 41000.00ms, mfu -100.00%"
    assert steps(text, "step", "loss", "step_seconds") == [(0, 10.9, 41.0)]


@pytest.mark.parametrize(
    ("tflops", "expected"),
    [
        pytest.param("5400.000", ([None, 10.5], ["step_timer"]), id="faster than any device"),
        pytest.param("214.331", ([0.61, 0.61], []), id="a believable rate"),
    ],
)
def test_a_timer_that_lies(tflops: str, expected: tuple[list[float | None], list[str]]) -> None:
    """Seconds that no hardware could do give way to the stamps, and an event says so."""
    text = "\n".join(
        f"I0203 04:05:{second} 139000 max_logging.py:20] completed step: {step}, seconds: 0.610, "
        f"TFLOP/s/device: {tflops}, Tokens/s/device: 13400.000, loss: 6.1"
        for step, second in ((7, "00.000000"), (8, "10.500000"))
    )
    reading = read(text)
    assert (reading.steps["step_seconds"].to_list(), reading.events["code"].to_list()) == expected


def test_stamps_far_from_the_told_seconds() -> None:
    """Over many lines, stamps much farther apart than the told seconds prove the timer wrong."""
    text = "\n".join(
        f"I0203 04:{minute:02d}:00.000000 139 x.py:20] completed step: {minute}, seconds: 0.610"
        for minute in range(12)
    )
    assert set(read(text).steps["step_seconds"].to_list()[1:]) == {60.0}


def test_timers_of_all_ranks() -> None:
    """A rank that is not listed is not known; the step is that of the iteration before."""
    text = (
        f"{iteration(40, TAIL)}\n"
        "times across ranks (ms):\n  forward-compute:\n     rank  0: 510.00\n     rank  3: 760.00\n"
        "  embedding-grads-all-reduce:\n     rank  0: 3.10\n"
    )
    found = read(text).steps.drop_nulls("rank")
    assert found.select("step", "rank", "compute_seconds", "comm_seconds").rows() == [
        (40, 0, 0.51, pytest.approx(0.0031)),
        (40, 3, 0.76, None),
    ]


def test_the_straggler_detector_s_power_is_in_milliwatts() -> None:
    """Figures of the detector name their rank, in base units; power is what it must be."""
    text = (
        "[2031-02-03 04:06:00] | MnRtt/Rnk: 803.12ms/9 | MxRtt/Rnk: 1191.03ms/3 | MnPwr/Rnk: "
        "412000.00W/3 | MxPwr/Rnk: 655.00W/8 | MnClk/Rnk: 1110.00MHz/3\n"
        "^^^^ Bottom 2 Ranks with lowest  Etpt(TF): 88.10/3, 127.50/12,\n"
    )
    reading = read(text)
    found = [
        (rank, code, float(message))
        for rank, code, message in reading.events.filter(kind="straggler_report")
        .select("rank", "code", "message")
        .rows()
    ]
    assert (found, reading.rejects.height) == (
        [
            (9, "min forward_seconds", pytest.approx(0.80312)),
            (3, "max forward_seconds", pytest.approx(1.19103)),
            (3, "min power_watts", 412.0),
            (8, "max power_watts", 655.0),
            (3, "min sm_clock_hertz", 1.11e9),
        ],
        0,
    )
