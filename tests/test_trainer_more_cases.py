"""More logs of trainers: other versions, prefixes, torn and glued; and whole runs, to verdicts."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.logs import read_log_lines
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from detectors.verdicts import Verdict
from paceline.findings import DetectorParams, find_all

Read = Callable[[dict[str, str]], Reading]

NAN = pytest.approx(float("nan"), nan_ok=True)
START = datetime(2026, 2, 3, 4, 0, tzinfo=UTC)
TITAN = "[titan] 2026-02-03 04:0{}:00,123 - root - INFO - "
OLMO = "2026-02-03 04:05:{}.789\thost-3:0\tolmo_core.train:877\tINFO\t"
SWIFT = '"elapsed_time": "1h {}m 3s", "train_speed(iter/s)": 0.08'
DLROVER = "[2026-02-03T04:05:0{}.1] [77] [a{}] [TRAINER] [#{}] [{}] {}\n"


def bar(step: int, total: int, seconds: int) -> str:
    """A bar that tqdm draws."""
    return f"\r {step}%|##  | {step}/{total} [{seconds // 60:02d}:{seconds % 60:02d}<01:00, 1s/it]"


STEPS = [
    pytest.param(
        "x.log",
        "".join(
            f"[rank0]:2024-08-01 04:0{at}:00,123 - root - INFO - step: {at}0  loss:  7.{at}145  "
            "memory: 61.22GiB(77.31%)  wps: 6,512  mfu: 31.45%\n"
            for at in (1, 2)
        ),
        [(10, 6.0, 7.1145, "printed"), (20, 6.0, 7.2145, "printed")],
        id="torchtitan of 2024 has words a second and no norm",
    ),
    pytest.param(
        "x.log",
        TITAN.format(1) + "step: 10  loss: -1.00000  grad_norm:  1.2  memory: 1.0GiB(1.0%)\n",
        [(10, None, None, "not_owned")],
        id="a stage without the loss prints -1",
    ),
    pytest.param(
        "x.log",
        f"{TITAN.format(1)}step: 10  loss:  3.2  grad_no{TITAN.format(2)}step: 20  loss:  3.1  "
        "grad_norm:  1.0  memory: 61.22GiB(77.31%)\n",
        [(10, None, 3.2, "printed"), (20, 6.0, 3.1, "printed")],
        id="two processes of torchtitan tear each other's lines",
    ),
    pytest.param(
        "x.log",
        f"\x1b[A{bar(40, 1000, 3680)}\x1b[A{{'loss': '1.25', 'grad_norm': '0.81'}}\n"
        f"{bar(50, 1000, 3700)}{{'loss': '1,025.5', 'grad_norm': 'inf'}}\n",
        [(40, None, 1.25, "printed"), (50, 2.0, 1025.5, "printed")],
        id="transformers 5 prints texts, and bars move the cursor",
    ),
    pytest.param(
        "x.log",
        f"{bar(10, 100, 10)}{{'loss': 1.1, 'epoch': 0.1}}\n"
        + "".join(bar(at, 10, at) for at in range(1, 10))
        + "{'eval_loss': 1.2, 'eval_runtime': 9.0, 'epoch': 0.1}\n"
        f"{bar(20, 100, 29)}{{'loss': 1.2,\n 'epoch': 0.2}}\n",
        [(10, None, 1.1, "printed"), (20, 1.9, 1.2, "printed")],
        id="bars of an evaluation are no training, and a dict may be wrapped",
    ),
    pytest.param(
        "x.log",
        "  Num Epochs = 2\n  Total optimization steps = 200\n"
        "{'loss': 1.5, 'epoch': 0.1}\n{'loss': 1.4, 'epoch': 0.2}\n",
        [(10, None, 1.5, "printed"), (20, None, 1.4, "printed")],
        id="without bars the epoch tells the step",
    ),
    pytest.param(
        "x.log",
        "".join(
            f"{{'loss': 1.{at}, 'global_step/max_steps': '{at}0/4491', 'elapsed_time': "
            f"'1h {at}m 3s'}}\n"
            for at in (1, 2)
        ),
        [(10, None, 1.1, "printed"), (20, 6.0, 1.2, "printed")],
        id="ms-swift tells step and time in its dict",
    ),
    pytest.param(
        "logging.jsonl",
        f'{{"loss": 1.1, "global_step/max_steps": "10/4491", {SWIFT.format(1)}}}\n'
        f'{{"eval_loss": 1.1, "global_step/max_steps": "10/4491", {SWIFT.format(2)}}}\n'
        f'{{"loss": 1.2, "global_step/max_steps": "20/4491", {SWIFT.format(3)}}}\n',
        [(10, None, 1.1, "printed"), (20, 12.0, 1.2, "printed")],
        id="ms-swift's file has evaluations between",
    ),
    pytest.param(
        "trainer_log.jsonl",
        "".join(
            f'{{"current_steps": {at}0, "total_steps": 100, "loss": 1.{at}, "lr": 1e-05, '
            f'"elapsed_time": "1 day, 0:0{at}:00", "remaining_time": "0:09:00"}}\n'
            for at in (1, 2)
        ),
        [(10, None, 1.1, "printed"), (20, 6.0, 1.2, "printed")],
        id="LLaMA-Factory counts days",
    ),
    pytest.param(
        "trainer_state.json",
        json.dumps(
            {
                "global_step": 20,
                "log_history": [
                    {"loss": 1.5, "grad_norm": 1.0, "step": 10},
                    {"loss": float("nan"), "step": 20},
                    {"eval_loss": 1.1, "step": 20},
                    {"train_loss": 1.2, "train_runtime": 9.0, "step": 20},
                ],
            },
            indent=2,
        ),
        [
            (10, None, 1.5, "printed"),
            (20, None, NAN, "printed"),
        ],
        id="a trainer's state has steps without a clock",
    ),
    pytest.param(
        "x.log",
        "".join(
            f"\rEpoch 1:  {at}%|#| {at}/100 [00:{at:02d}<01:01, 1.00it/s, v_num=2, loss_step=1."
            f"{at}]"
            for at in (5, 5, 10, 15)
        ),
        [(105, None, 1.5, "printed"), (110, 1.0, 1.1, "printed"), (115, 1.0, 1.15, "printed")],
        id="Lightning counts in the epoch, and draws a bar twice",
    ),
    pytest.param(
        "x.log",
        "".join(
            f"\rEpoch {epoch}:  {at}%|#| {at}/{total} [00:{at:02d}<01:01, 1.00it/s, v_num=2, loss="
            f"1.{at}]"
            for epoch in (1, 2)
            for at, total in ((10, 20), (20, 24), (24, 24))
        ),
        [
            (30, None, 1.1, "printed"),
            (40, 1.0, 1.2, "printed"),
            (50, None, 1.1, "printed"),
            (60, 1.0, 1.2, "printed"),
        ],
        id="a total that a validation adds to counts no further steps",
    ),
    pytest.param(
        "x.log",
        "".join(
            f"\rEpoch 0: :   {at}%|#| {at}/1000 [02:{at:02d}<1:00:00, v_num=abc, reduced_train_"
            f"loss=6.{at}, global_step={at - 1}.000, train_step_timing in s=6.25]"
            for at in (10, 20)
        ),
        [(10, 6.25, 6.1, "printed"), (20, 6.25, 6.2, "printed")],
        id="NeMo's bars tell the time of a step",
    ),
    pytest.param(
        "metrics.csv",
        "epoch,lr-AdamW,step,train_loss_step,val_loss\n,1e-4,9,,\n0,,9,2.5,\n0,,19,2.4,\n0,,19,,2.2\n",
        [(9, None, 2.5, "printed"), (19, None, 2.4, "printed")],
        id="Lightning's table is sparse",
    ),
    pytest.param(
        "log.csv",
        "\ufeffstep,loss\n1,2.5\nstep,loss,step_time_s\n1,2.6,1.0\n2,nan,1.5\n3,2.4\n",
        [
            (1, None, 2.5, "printed"),
            (1, 1.0, 2.6, "printed"),
            (2, 1.5, NAN, "printed"),
        ],
        id="a table's header grows after a restart",
    ),
    pytest.param(
        "loss.csv",
        "step;loss;step_time_s\n1;2,5;1,25\n2;2,25;1,5\n",
        [(1, 1.25, 2.5, "printed"), (2, 1.5, 2.25, "printed")],
        id="a table with decimal commas",
    ),
    pytest.param(
        "x.log",
        "step:0/1750 val_loss:10.8 train_time:0ms step_avg:0.02ms\nstep:1/1750 train_time:135ms "
        "step_avg:135.0ms\nstep:2/1750 train_time:266ms step_avg:133.0ms\n",
        [(1, None, None, None), (2, 0.131, None, None)],
        id="modded-nanogpt of 2025 prints no training loss",
    ),
    pytest.param(
        "main.log",
        "s:0 tel:11.0\ns:1 trl:10.9 lr:0.0003 norm:15.2\ns:1 eval:0.28\n",
        [(1, None, 10.9, "printed")],
        id="llm.c has no time",
    ),
    pytest.param(
        "x.log",
        "[epoch=1][batch=5/100]:\n\t Train loss/train/total: 9.8765\n\t Train time/train: 0.0100\n"
        "[ba=6]:\n\t Train loss/train/total: 1,009.5\n\t Train time/train: 0.0110\n"
        "[batch=7/100]:\n\t Train loss/train/total: nan\n"
        "\t Train throughput/batches_per_sec: 0.5000\n",
        [
            (5, None, 9.8765, "printed"),
            (6, pytest.approx(3.6), 1009.5, "printed"),
            (7, 2.0, NAN, "printed"),
        ],
        id="Composer's hours stand in until its window is full",
    ),
    pytest.param(
        "x.log",
        "[metric][batch=5]: loss/train/total: 9.5 \n[metric][batch=5]: time/train: 0.01 \n"
        "[metric][batch=6]: loss/train/total: 9.25 \n[metric][batch=6]: "
        "throughput/batches_per_sec: 0.5 \n",
        [(5, None, 9.5, "printed"), (6, 2.0, 9.25, "printed")],
        id="Composer's file has a line a value",
    ),
    pytest.param(
        "x.log",
        f"{OLMO.format('06')}[step=1,040/???,epoch=1,eta=1 day, 2:00:00]\n    train/CE loss=2.5\n"
        "    optim/step skipped=-3.2e-06\n    throughput/device/BPS=0.5\n"
        "    throughput/device/TPS=12,345.6\n",
        [(1040, 2.0, 2.5, "printed")],
        id="OLMo-core does not know its end",
    ),
    pytest.param(
        "x.log",
        "[Rampup Batch Size Phase], completed step: 3, seconds: 10.5, loss: 5.021\n"
        "completed step: 4, seconds: 10.25, live slice count: 4, TFLOP/s/device: 214.331, loss: "
        "5.0, lm_loss: 4.5, perplexity: 151.562\ncompleted profiler activation/deactivation step: "
        "5\n",
        [(3, 10.5, 5.021, "printed"), (4, 10.25, 5.0, "printed"), (5, None, None, None)],
        id="MaxText's ramp, slices and profiles",
    ),
    pytest.param(
        "x.log",
        "".join(
            '2026-02-03 04:05:06 | INFO | train_inner | {"epoch": 1, "loss": "9.5", "ups": "0.05", '
            f'"num_updates": "{at}", "gnorm": "inf", "wall": "{20 * at}"}}\n'
            for at in (40, 50)
        ),
        [(40, 20.0, 9.5, "printed"), (50, 20.0, 9.5, "printed")],
        id="metaseq's numbers are texts",
    ),
    pytest.param(
        "events.log",
        DLROVER.format(0, 0, "train", "BEGIN", "{}")
        + DLROVER.format(1, 1, "step", "BEGIN", '{"global_step": 40}')
        + DLROVER.format(5, 1, "step", "END", "{}")
        + DLROVER.format(6, 2, "log", "INSTANT", '{"global_step": 40, "loss": 2.5}')
        + DLROVER.format(7, 3, "step", "BEGIN", '{"global_step": 41}'),
        [(40, 4.0, 2.5, "printed")],
        id="DLRover pairs the ends of a step",
    ),
    pytest.param(
        "x.log",
        "2026-02-03 04:00:00,000 INFO Step 100/900: loss = 3.25, step_time = 12.5s\n"
        "2026-02-03 04:00:13,000 INFO Step 101/900: loss = nan, lr = 1e-4\n"
        "2026-02-03 04:00:20,000 INFO Step 101/900: val loss = 3.5\n"
        "iteration: 103 | train_loss=3.0 | time: 120.0 ms\n",
        [(100, 12.5, 3.25, "printed"), (101, 13.0, NAN, "printed"), (103, 0.12, 3.0, "printed")],
        id="a trainer that nobody knows tells step and loss",
    ),
    pytest.param(
        "x.jsonl",
        '\ufeff{"step": 1, "loss": 1.0, "steps_per_second": 0.5}\r\n'
        '{"step": 2, "loss": -Infinity}\r\n',
        [(1, 2.0, 1.0, "printed"), (2, None, float("-inf"), "printed")],
        id="records with a byte order mark and both kinds of line ends",
    ),
]


@pytest.mark.parametrize(("name", "text", "expected"), STEPS)
def test_steps(read_texts: Read, name: str, text: str, expected: list[tuple[Any, ...]]) -> None:
    """Each trainer's step, its seconds, its loss, and what became of the loss."""
    found = read_texts({name: text}).steps
    rows = found.select("step", "step_seconds", "loss", "loss_state").rows()
    rounded = [(step, told and pytest.approx(told, rel=1e-3), *rest) for step, told, *rest in rows]
    assert rounded == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"{TITAN.format(1)}validate step: 40  loss:  3.2  memory: 1.0GiB(1.0%)  tps: 6,512\n",
            [("evaluation", "40")],
            id="a validation of torchtitan is no step",
        ),
        pytest.param(
            f"{TITAN.format(1)}Saving the checkpoint (or staging if async is enabled).\n"
            f"{TITAN.format(2)}Finished saving the checkpoint (or staging if async is enabled)in "
            "3.21 seconds.\n",
            [("checkpoint_start", None), ("checkpoint", None)],
            id="torchtitan 0.2 forgets a blank",
        ),
        pytest.param(
            f"{TITAN.format(1)}Loading the checkpoint from outputs/checkpoint/step-40.\n"
            f"{TITAN.format(2)}Training starts at step 41.\n{TITAN.format(3)}[GC] Peforming "
            f"periodical GC collection. 0.05 seconds.\n{TITAN.format(4)}Training completed\n",
            [("checkpoint_load", "40"), ("run_start", "41"), ("gc", None), ("run_end", "done")],
            id="torchtitan's life",
        ),
        pytest.param(
            "step 1000: train loss 3.1000, val loss 3.2000\nsaving checkpoint to out\n",
            [("evaluation", "1000"), ("checkpoint", None)],
            id="nanoGPT evaluates and saves",
        ),
        pytest.param(
            "s:250 tel:4.2\ns:250 eval:0.28\n",
            [("evaluation", "250"), ("evaluation", "250")],
            id="llm.c evaluates twice",
        ),
        pytest.param(
            "[Eval batch=1/10] Eval on c4 data:\n\t Eval metrics/c4/LanguageCrossEntropy: 3.4\n",
            [("evaluation", "c4"), ("evaluation", "metric")],
            id="Composer evaluates by a label",
        ),
        pytest.param(
            f"{OLMO.format('16')}Saving checkpoint for step 40...\n{OLMO.format('26')}Checkpoint "
            f"saved to /ckpt/step40\n{OLMO.format('36')}Loading checkpoint from /ckpt/step40\n",
            [("checkpoint_start", "40"), ("checkpoint", "40"), ("checkpoint_load", "40")],
            id="OLMo's checkpoints",
        ),
        pytest.param(
            f"{OLMO.format('06')}[step=41/1000,epoch=1]\n    eval/c4/CE loss=3.2\n",
            [("evaluation", "41")],
            id="OLMo's record of an evaluation alone",
        ),
        pytest.param(
            "Completed eval after train step 14, loss=4.1, total_weights=100.0\n",
            [("evaluation", "14")],
            id="MaxText's evaluation has other signs",
        ),
        pytest.param(
            "\rSanity Checking DataLoader 0: 100%|#| 2/2 [00:00<00:00, 9it/s]\n"
            "\rValidation DataLoader 0:  50%|#| 1/2 [00:00<00:01, 1it/s]"
            "\rValidation DataLoader 0: 100%|#| 2/2 [00:00<00:00, 1it/s]\n",
            [("evaluation", None), ("evaluation", None)],
            id="Lightning's validations are one event each, however often they are drawn",
        ),
        pytest.param(
            "***** Running training *****\n***** Running Evaluation *****\nSaving model checkpoint "
            "to out/checkpoint-20\nTraining completed. Do not forget to share your model\n",
            [
                ("run_start", None),
                ("evaluation", None),
                ("checkpoint_start", "20"),
                ("run_end", "done"),
            ],
            id="the life of a trainer of transformers",
        ),
    ],
)
def test_events(read_texts: Read, text: str, expected: list[tuple[str, str | None]]) -> None:
    """What pauses training is an event, with its step where one is told; no step is made of it."""
    reading = read_texts({"x.log": text})
    assert (reading.events.select("kind", "code").rows(), reading.steps.height) == (expected, 0)


def test_ranks_that_share_a_log(read_texts: Read) -> None:
    """Where several ranks print their own lines, each has its own steps, and none is a replay."""
    text = "".join(
        f"[default{rank}]:[rank{rank}]:{TITAN.format(at)}step: {at}0  loss:  7.{at}  grad_norm:  "
        f"1.0  memory: 6{rank}.22GiB(77.31%)  tps: 6,51{rank}\n"
        for at in (1, 2)
        for rank in (0, 1)
    )
    found = read_texts({"x.log": text}).steps
    assert found.select("rank", "step", "attempt").rows() == [
        (0, 10, 0),
        (1, 10, 0),
        (0, 20, 0),
        (1, 20, 0),
    ]


def test_hosts_that_print_the_same(read_texts: Read) -> None:
    """Hosts that are no ranks say the same of the job: one of them is enough."""
    text = "".join(
        f"node{host}: completed step: {at}, seconds: 10.{host}, loss: 5.0\n"
        for at in range(30)
        for host in (1, 2)
    )
    found = read_texts({"x.log": text}).steps
    assert (found["step"].to_list(), found["rank"].null_count()) == (list(range(30)), 30)


def test_a_stamp_of_another_zone(read_texts: Read) -> None:
    """A stamp hours from an envelope that names its zone is local to somewhere else."""
    text = f"2026-02-03T12:01:00.25Z {TITAN.format(1)}step: 10  loss:  3.0  tps: 6,512\n"
    found = read_texts({"x.log": text}).steps["end_time"].to_list()
    assert found == [datetime(2026, 2, 3, 12, 1, 0, 250000, tzinfo=UTC)]


def test_a_straggler_report(read_texts: Read) -> None:
    """FlagScale's sections become compute and communication of each rank that they list."""
    lines = ["=== Straggler Report at Step 10 ===", "[forward-compute]"]
    lines += ["Min: 9.00ms, Max: 12.00ms, Avg: 10.0ms, Slowdown: 1.33x"]
    lines += ["Rank 0: 9.00 ms", "Rank 1: 12.00 ms", "--- grads-all-reduce ---"]
    lines += ["Min: 1.0ms, Max: 1.0ms, Avg: 1.0ms, Slowdown: 1.0x", "  Rank 0: 1.0ms", "the end"]
    reading = read_texts({"x.log": "".join(f"0: {line}\n" for line in lines)})
    found = reading.steps.select("rank", "step", "compute_seconds", "comm_seconds").rows()
    assert (found, reading.rejects["text"].to_list()) == (
        [(0, 10, pytest.approx(0.009), pytest.approx(0.001)), (1, 10, pytest.approx(0.012), None)],
        ["the end"],
    )


def named(reading: Reading) -> Reading:
    """The reading as one run."""
    frames: dict[str, Any] = {
        name: reading.frame(name).with_columns(pl.col("run").fill_null("job"))
        for name in ("steps", "events", "placements", "jobs")
    }
    steps = frames["steps"].with_columns(pl.col("attempt").fill_null(0))
    return replace(reading, **frames | {"steps": steps})


def silent(_name: str, _done: int, _all: int) -> None:
    """Say nothing of the progress."""


def verdicts(reading: Reading) -> list[Verdict]:
    """What all detectors say of a reading."""
    return find_all(named(reading), DetectorParams(), silent)


def starved(rank: int) -> str:
    """XTuner's log of a rank: from step 61 on, rank 3 waits for data and the others for it."""
    dice, now, lines = random.Random(rank), 0.0, ""
    for step in range(1, 121):
        total = (4.3 if step <= 60 else 7.2) * dice.gauss(1, 0.003)
        data = abs(dice.gauss(0.012, 0.003)) if rank != 3 or step <= 60 else 2.9
        now += total
        stamp = (START + timedelta(seconds=now)).strftime("%Y-%m-%d %H:%M:%S")
        lines += (
            f"[XTuner][{stamp}][INFO] Epoch 1 Step {step}/900 data_time: {data:.4f} lr: 2.0e-05 "
            f"time: {total - data:.4f} text_tokens: 32768 tgs: 7602 loss: 1.2\n"
        )
    return lines


def test_a_rank_that_waits_for_data(read_texts: Read) -> None:
    """In lockstep all steps take equally long: the data that a rank waits for tells it apart."""
    reading = read_texts({f"rank{rank}.log": starved(rank) for rank in range(8)})
    rank = next(one for one in verdicts(reading) if one.level == "rank")
    assert (rank.kind, rank.subject.rank, rank.cause, rank.onset_step) == ("slow", 3, "data", 61)


def spans(rank: int) -> str:
    """A rank's structured log; rank 3 never ends its last forward pass."""
    lines = ""
    for step in range(1, 6):
        for name, since, seconds in (("data_loading", 0, 1), ("forward_backward", 1, 4)):
            begin = START + timedelta(seconds=10 * step + since)
            told: dict[str, Any] = {"global_rank": rank, "host_name": f"n{rank // 4}", "step": step}
            marks: list[tuple[str, datetime, int | None]] = [("start", begin, None)]
            if (rank, step, name) != (3, 5, "forward_backward"):
                marks.append(("end", begin + timedelta(seconds=seconds), seconds * 1000))
            for mark, time, value in marks:
                stamp = {"time_us": int(time.timestamp() * 1e6), "log_type_name": f"{name}_{mark}"}
                lines += json.dumps(told | stamp | {"event_name": name, "value": value}) + "\n"
    return lines


def test_a_span_without_an_end(read_texts: Read) -> None:
    """The rank whose last span never ended is the one that hangs; the others have steps."""
    files = {f"trainer.global_rank_{rank}.1-a.jsonl": spans(rank) for rank in range(8)}
    reading = read_texts(files)
    (found,) = verdicts(reading)
    assert (
        (found.kind, found.subject.rank, found.subject.host, found.onset_step),
        reading.steps.height,
        reading.steps.select("data_seconds", "compute_seconds").row(0),
    ) == (("hang", 3, "n0", 5), 39, (1.0, 4.0))


def run(dialect: str) -> str:
    """120 healthy lines of a trainer, with planned pauses between."""
    dice, now, text = random.Random(7), 0.0, ""
    for at in range(1, 121):
        seconds = dice.gauss(10, 0.05)
        now += seconds
        stamp = (START + timedelta(seconds=now)).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        if dialect == "torchtitan":
            text += f"[titan] {stamp} - root - INFO - step: {at}  loss:  3.0  "
            text += f"tps: {81920 / seconds:,.0f}\n"
        elif dialect == "composer":
            text += f"[batch={at}/900]:\n\t Train loss/train/total: 3.0\n"
            text += f"\t Train throughput/batches_per_sec: {1 / seconds:.4f}\n"
        elif dialect == "transformers":
            text += f"{bar(at, 900, round(now))}{{'loss': 3.0, 'grad_norm': 1.0}}\n"
        else:
            text += f"completed step: {at}, seconds: {seconds:.3f}, loss: 3.0\n"
        if at % 20 == 0:
            now += 60
            text += "Saving checkpoint...\nCheckpoint saved to /ckpt/x\n"
    return text


@pytest.mark.parametrize("dialect", ["torchtitan", "composer", "transformers", "maxtext"])
def test_healthy_runs(read_texts: Read, dialect: str) -> None:
    """A healthy run with checkpoints gives no finding."""
    assert verdicts(read_texts({"x.log": run(dialect)})) == []


LOGS = [str(case.values[1]) for case in STEPS if str(case.values[0]).endswith(".log")]
EVERYTHING = "".join(LOGS).encode()
JUNK = [b"", b"\xff", b"\r\n", b"\x1b[31m"]


@given(at=st.integers(0, len(EVERYTHING)), junk=st.sampled_from(JUNK))
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
def test_each_line_is_accounted_for(at: int, junk: bytes) -> None:
    """Torn anywhere, with junk between: nothing raises, each line is a row, a part, or a reject."""
    data = EVERYTHING[at:] + junk + EVERYTHING[:at]
    reading = read_log_lines(data, "x.log", "x.log", ReadOptions())
    lines = sum(1 for line in data.split(b"\n") if line.replace(b"\x1b[31m", b"").strip())
    told = reading.lines_used + int(reading.rejects["count"].fill_null(1).sum())
    assert lines <= told <= lines + data.count(b"\r")
