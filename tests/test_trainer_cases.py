"""Progress of trainers beside Megatron: what becomes of tricky inputs, from text to verdict."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerts.incidents import incident_json
from collectors.readings import Reading
from detectors.verdicts import Verdict
from paceline.analysis import AnalysisParams, analyze
from paceline.findings import DetectorParams, find_all

Read = Callable[[dict[str, str]], Reading]

START = datetime(2026, 2, 3, 4, 0, tzinfo=UTC)
NAMED = ("steps", "events", "placements", "jobs", "collectives")


def stamp(seconds: float) -> str:
    """A local stamp with milliseconds, as Python's logging prints it."""
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]


def named(reading: Reading) -> Reading:
    """The reading as one run, its attempts numbered."""
    frames: dict[str, Any] = {}
    for name in NAMED:
        frame = reading.frame(name).with_columns(pl.col("run").fill_null("job"))
        has_attempt = "attempt" in frame.columns
        frames[name] = frame.with_columns(pl.col("attempt").fill_null(0)) if has_attempt else frame
    return replace(reading, **frames)


def silent(_name: str, _done: int, _all: int) -> None:
    """Say nothing of the progress."""


def verdicts(reading: Reading) -> list[Verdict]:
    """What all detectors say of a reading."""
    return find_all(named(reading), DetectorParams(), silent)


def titan(seconds: float, step: int, tps: float) -> str:
    """A line of torchtitan."""
    return (
        f"[rank0]:[titan] {stamp(seconds)} - root - INFO - \x1b[31mstep: {step:2d}\x1b[39m  "
        f"\x1b[32mloss:  3.21450  \x1b[38;2;180;60;0mgrad_norm:  1.2031\x1b[39m  memory: 61.22"
        f"GiB(77.31%)  tps: {tps:,.0f}  tflops: 311.20  mfu: 31.45%\n"
    )


def maxtext(seconds: float, step: int, told: float, teraflops: float) -> str:
    """A line of MaxText."""
    clock = (START + timedelta(seconds=seconds)).strftime("%m%d %H:%M:%S.%f")
    return (
        f"I{clock} 139000 max_logging.py:20] completed step: {step}, seconds: {told:.3f}, "
        f"TFLOP/s/device: {teraflops:.3f}, Tokens/s/device: 13400.000, total_weights: 8192, "
        "loss: 6.100\n"
    )


TITAN = (
    "[rank3]:[titan] 2031-02-03 04:05:06,789 - root - INFO - \x1b[31mstep: 1,000\x1b[39m  "
    "\x1b[32mloss:  3.21450\x1b[39m  \x1b[38;2;180;60;0mgrad_norm:  1.2031\x1b[39m  "
    "\x1b[38;2;54;234;195mmemory:  61.22GiB(77.31%)\x1b[39m  \x1b[34mtps: 6,512\x1b[39m  "
    "\x1b[36mtflops: 311.20\x1b[39m  \x1b[35mmfu: N/A\x1b[39m\n"
)


def test_colours_thousands_and_words_for_no_value(read_texts: Read) -> None:
    """Torchtitan's colours and commas are no obstacle; `N/A` is null; the printer is a label."""
    reading = read_texts({"x.log": TITAN})
    step = reading.steps.select("step", "loss", "grad_norm", "rank", "end_time").row(0)
    rate = reading.steps.select(pl.col("tokens") / pl.col("step_seconds")).item()
    samples = dict(reading.samples.select("signal", "value").iter_rows())
    assert (step, rate, samples, reading.samples["device"].unique().to_list()) == (
        (1000, 3.2145, 1.2031, None, datetime(2031, 2, 3, 4, 5, 6, 789000, tzinfo=UTC)),
        pytest.approx(6512),
        {
            "rank_memory_used_bytes": pytest.approx(61.22 * 2**30),
            "rank_memory_used_ratio": pytest.approx(0.7731),
            "rank_tokens_per_second": 6512.0,
            "rank_flops_per_second": pytest.approx(311.2e12),
            "rank_flops_ratio": None,
        },
        ["3"],
    )


def decaying(*, stamped: bool, even: bool) -> str:
    """61 lines of torchtitan whose throughput falls by 1.5 % from line to line."""
    now, lines = 0.0, ""
    for at in range(61):
        tps = 5000 * 0.985**at
        now += 60 if even else 10 * 8192 / tps
        line = titan(now, max(10 * at, 1), tps)
        lines += line if stamped else line.partition(" - INFO - ")[2]
    return lines


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(decaying(stamped=True, even=False), id="lines come ever later"),
        pytest.param(decaying(stamped=True, even=True), id="lines come each minute all the same"),
        pytest.param(decaying(stamped=False, even=False), id="lines have no stamps"),
    ],
)
def test_a_throughput_that_decays_from_the_start(read_texts: Read, text: str) -> None:
    """A run that slows bit by bit is one trend from its first step on, not many episodes."""
    (found,) = verdicts(read_texts({"x.log": text}))
    assert (found.kind, found.level, found.onset_step, found.slowdown, found.cause) == (
        "degrading",
        "job",
        1,
        pytest.approx(0.985**-60, rel=0.01),
        "trend",
    )


def test_a_timer_that_ends_before_its_step(read_texts: Read) -> None:
    """Rates above the peak of any chip convict the timer: the stamps count, and that is told."""
    text = maxtext(0, 7, 0.610, 5400.0) + maxtext(10.5, 8, 0.612, 5390.0)
    reading = read_texts({"x.log": text})
    (found,) = verdicts(reading)
    assert (
        reading.steps.select("step_seconds", "time_kind").rows(),
        (found.kind, found.cause),
        "not synchronised" in found.evidence[0].what,
    ) == ([(None, None), (10.5, "arrival")], ("telemetry_lost", "step_timer"), True)


def test_a_timer_that_the_stamps_contradict(read_texts: Read) -> None:
    """Believable rates do not save a timer whose lines come much later, line after line."""
    text = "".join(maxtext(10.5 * at, at, 0.61, 214.0) for at in range(30))
    reading = read_texts({"x.log": text})
    assert (
        set(reading.steps["step_seconds"].to_list()),
        [one.cause for one in verdicts(reading)],
    ) == ({None, 10.5}, ["step_timer"])


def test_one_long_pause_does_not_convict_a_timer(read_texts: Read) -> None:
    """A checkpoint between two lines makes the sum of the stamps long, not every gap."""
    text = "".join(maxtext(10.0 * at + (90 if at > 9 else 0), at, 10.0, 214.0) for at in range(20))
    reading = read_texts({"x.log": text})
    assert (set(reading.steps["step_seconds"].to_list()), verdicts(reading)) == ({10.0}, [])


BEAT = "{} INFO heartbeat: worker 0 alive, utilization 100%\n"


def wedged(dialect: str) -> str:
    """Steps of 12 s until 04:00, heartbeats until 04:33, then a kill; 512 ranks."""
    beats = "".join(BEAT.format(stamp(30 * at)[:-4]) for at in range(1, 67))
    if dialect == "maxtext":
        lines = "".join(maxtext(12 * at - 1200, at, 12.0, 214.0) for at in range(101))
        return f"Num_devices: 512\n{lines}{beats}srun: error: n3: task 5: Killed\n"
    if dialect == "torchtitan":
        lines = "".join(titan(12 * at - 1200, at + 1, 8192 / 12) for at in range(101))
        return f"using world size: 512\n{lines}{beats}"
    begin = START.timestamp()
    records: list[dict[str, Any]] = [{"event": "start", "world": 512, "t": begin - 1300}]
    records += [
        {"step": at, "t": begin + 12 * at - 1200, "step_s": 12.0, "loss": 3.0} for at in range(101)
    ]
    records += [{"event": "heartbeat", "t": begin + 30 * at} for at in range(1, 67)]
    return "\n".join(json.dumps(one) for one in records) + "\n"


@pytest.mark.parametrize("dialect", ["maxtext", "torchtitan", "records"])
def test_heartbeats_are_no_progress(read_texts: Read, dialect: str) -> None:
    """A job that beats and makes no step hangs since its last step; its GPUs are lost since."""
    reading = named(read_texts({"x.log": wedged(dialect)}))
    analysis = analyze(reading, AnalysisParams(), silent)
    (found,), (incident,) = analysis.verdicts, analysis.incidents
    radius: Any = incident_json(incident)["blast_radius"]
    assert (found.kind, found.onset, found.detected, radius["gpu_hours_lost"]) == (
        "hang",
        START,
        START + timedelta(minutes=10),
        pytest.approx(281.6),
    )


def test_placeholders_are_no_values(read_texts: Read) -> None:
    """-100 % and nan ms are null; a cumulative time is differenced."""
    cumulative = (
        "step:0/1750 train_loss:10.9000 train_time:0ms step_avg:nanms\n"
        "step:1/1750 train_loss:10.1000 train_time:150ms step_avg:150.0ms\n"
        "step:2/1750 train_loss:9.8000 train_time:281ms step_avg:140.5ms\n"
    )
    single = "iter 0: loss 10.9000, time 41000.00ms, mfu -100.00%\n"
    found = [read_texts({"x.log": text}) for text in (single, cumulative)]
    assert [reading.steps["step_seconds"].to_list() for reading in found] == [
        [41.0],
        [None, pytest.approx(0.150), pytest.approx(0.131)],
    ]
    assert [verdicts(reading) for reading in found] == [[], []]


def test_a_loss_of_zero_beside_a_norm_that_is_none(read_texts: Read) -> None:
    """Dicts glued to bars are read, texts as numbers; a collapse is no best loss."""
    text = (
        "\r 10%|#         | 10/100 [00:20<03:00,  2.00s/it]\r{'loss': '0.91', 'grad_norm': '1.5', "
        "'learning_rate': '4e-05', 'epoch': '0.1'}\r 20%|##        | 20/100 [00:40<02:40,  2.00s/"
        "it]{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3e-05, 'epoch': 0.2}\n"
    )
    reading = read_texts({"x.log": text})
    (found,) = verdicts(reading)
    assert (
        reading.steps.select("step", "loss").rows(),
        (found.kind, found.cause, found.onset_step),
    ) == ([(10, 0.91), (20, 0.0)], ("numerical", "collapsed", 20))


SUMMARY = (
    "{'train_runtime': 1000.0, 'train_samples_per_second': 160.0, 'train_steps_per_second': 10.0, "
    "'train_loss': 0.5, 'epoch': 1.0}\n"
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            f"***** Running training *****\n  Continuing training from global step 9000\n{SUMMARY}",
            id="the trainer says where it goes on",
        ),
        pytest.param(
            f"Resuming training from checkpoint /out/checkpoint-9000\n{SUMMARY}",
            id="the checkpoint's name does",
        ),
        pytest.param(
            "".join(
                f"\r{n // 100:3d}%|##| {n}/10000 [{(n - 9000) // 60:02d}:{(n - 9000) % 60:02d}<01:"
                f"00,  1.00s/it]{{'loss': 0.5, 'epoch': {n / 10000}}}"
                for n in range(9010, 10001, 10)
            )
            + f"\n{SUMMARY}",
            id="the bars do",
        ),
    ],
)
def test_rates_after_a_resume(read_texts: Read, text: str) -> None:
    """A final rate that counts the attempts before is ten times too high, and told."""
    (found,) = verdicts(read_texts({"x.log": text}))
    (told,) = read_texts({"x.log": text}).events.filter(code="resumed_rate")["attributes"].to_list()
    values = {one["key"]: float(one["value"]) for one in told}
    assert (found.cause, values) == (
        "resumed_rate",
        {
            "reported_steps_per_second": 10.0,
            "true_steps_per_second": 1.0,
            "true_samples_per_second": 16.0,
            "resumed_at": 9000.0,
        },
    )


def test_rates_of_a_run_that_was_not_resumed(read_texts: Read) -> None:
    """A final rate that fits its bars is believed."""
    bars = "".join(
        f"\r{n:3d}%|##| {n}/100 [{n // 60:02d}:{n % 60:02d}<01:00,  1.00s/it]{{'loss': 0.5}}"
        for n in range(10, 101, 10)
    )
    rest = SUMMARY.replace("1000.0", "100.0").replace("10.0", "1.0")
    assert verdicts(read_texts({"x.log": f"{bars}\n{rest}"})) == []


def test_torn_lines_and_numbers_that_are_no_json(read_texts: Read) -> None:
    """Glued objects are two records, NaN is one, and the torn tail is counted."""
    text = (
        '{"step": 10, "loss": NaN, "t": 1.0}\n'
        '{"step": 11, "loss": 2.0, "t": 1.0}{"step": 12, "loss": 2.0, "t": 1.0}\n'
        '{"step": 13, "lo\n'
    )
    reading = read_texts({"x.jsonl": text})
    (found,) = verdicts(reading)
    assert (
        reading.steps["step"].to_list(),
        reading.steps["loss"].is_nan().to_list(),
        reading.rejects["position"].to_list(),
        (found.kind, found.onset_step),
    ) == ([10, 11, 12], [True, False, False], [3], ("numerical", 10))


def test_a_stamp_inside_another_and_junk(read_texts: Read) -> None:
    """The inner stamp is the step's; a line of junk between is a reject, and fatal to nothing."""
    outer = "2031-02-03T04:05:07.001Z "
    text = f"{outer}{TITAN}{outer}<html><body>502</body></html>\n"
    reading = read_texts({"x.log": text})
    assert (reading.steps["end_time"].to_list(), reading.rejects["position"].to_list()) == (
        [datetime(2031, 2, 3, 4, 5, 6, 789000, tzinfo=UTC)],
        [2],
    )
