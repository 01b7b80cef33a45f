"""Lives of jobs, from the files of a folder to what is said of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.sniffing import ReadOptions
from paceline.analysis import Analysis, AnalysisParams, analyze
from paceline.attempt_output import attempts_json
from paceline.sources import find_files, read_sources

Analyse = Callable[[dict[str, str]], Analysis]


@pytest.fixture
def analysed(tmp_path: Path) -> Analyse:
    """An analysis of the files of a folder."""

    def analysis(files: dict[str, str]) -> Analysis:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        reading = read_sources(find_files([tmp_path]), ReadOptions(), lambda *_: None)
        return analyze(reading, AnalysisParams(), lambda *_: None)

    return analysis


def told(analysis: Analysis) -> list[tuple[Any, ...]]:
    """Return kind, level, host, cause and onset of the findings."""
    return [
        (one.kind, one.level, one.subject.host, one.cause, one.onset and f"{one.onset:%H:%M}")
        for one in analysis.verdicts
    ]


def iteration(clock: str, number: int) -> str:
    """Return a line of Megatron-LM."""
    return (
        f" [2031-02-03 {clock}:00] iteration {number:8}/   90000 | elapsed time per iteration (ms):"
        " 60000.0 | lm loss: 2.3E+00 | grad norm: 0.15 | number of skipped iterations:   0 | number"
        " of nan iterations:   0 |\n"
    )


STEPS = "".join(iteration(f"03:{minute}", minute) for minute in range(40, 60))

PULSES = "".join(
    f"2031-02-03 0{hour}:00:00 PULSE: tr is running since 2031-02-01 (job 77)\n" for hour in (4, 5)
)

HEADER = "JobID|State|ExitCode|Start|End\n"

DEAD = "2031-02-03T04:01:00 srun: error: n3: task 5: Aborted\n"

LIMIT = "".join(
    "2031-02-03T09:01:00 slurmstepd: error: "
    f"*** {what} ON n1 CANCELLED AT 2031-02-03T09:01:00 DUE TO TIME LIMIT ***\n"
    for what in ("STEP 77.0", "JOB 77")
)

TIMED_OUT = f"{HEADER}77|TIMEOUT|0:0|2031-02-03T00:00:00|2031-02-03T09:01:00\n"

REQUEUED = """\
77|NODE_FAIL|0:0|2031-02-03T00:00:00|2031-02-03T02:00:00
77|PREEMPTED|0:15|2031-02-03T02:10:00|2031-02-03T05:00:00
77|CANCELLED by 1000|0:15|2031-02-03T05:30:00|2031-02-03T06:00:00
77.batch|CANCELLED|0:15|2031-02-03T05:30:00|2031-02-03T06:00:01
77.0|CANCELLED|0:15|2031-02-03T05:30:00|2031-02-03T06:00:05
"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {
                "slurm-77.out": STEPS
                + "[exiting program after receiving SIGTERM.] datetime: 2031-02-03 03:59:50\n"
                + LIMIT.replace("09:01", "04:00"),
                "sacct.txt": TIMED_OUT.replace("09:01", "04:00"),
            },
            [],
            id="a job that ends itself at its time limit is a link of a chain, no failure",
        ),
        pytest.param(
            {
                "slurm-77.out": STEPS
                + "srun: error: Node failure on n3\nsrun: error: n3: tasks 8-11: Killed\n"
                + LIMIT.replace("09:01", "04:00").replace("TIME LIMIT", "NODE FAILURE"),
                "sacct.txt": TIMED_OUT.replace("09:01", "04:00").replace("TIMEOUT", "NODE_FAIL"),
                "sinfo.txt": "n1|allocated|none|Unknown\nn3|down*|gone|2031-02-03T04:00:10\n",
            },
            [("crash", "host", "n3", "node_failure", "04:00")],
            id="the node that accounts do not name is the one that the log names",
        ),
        pytest.param(
            {
                "slurm-77.out": STEPS
                + "srun: error: n3: task 5: Exited with exit code 1\n"
                + LIMIT.split("\n")[0].replace("09:01", "04:00").replace(" DUE TO TIME LIMIT", "")
                + "\nsrun: error: n1: tasks 0-3: Terminated\n"
            },
            [("crash", "host", "n3", "exit_1", "04:00")],
            id="a failed task ends its step, and nobody cancelled anything",
        ),
        pytest.param(
            {
                "slurm-77.out": STEPS
                + "  successfully saved checkpoint from iteration      59 to /x [ t 1/1, p 1/1 ]\n"
                + LIMIT.replace("09:01", "04:01")
            },
            [],
            id="a job that saved its last step before its time limit is one of a chain",
        ),
        pytest.param(
            {
                "slurm-77.out": STEPS
                + "  successfully saved checkpoint from iteration      50 to /x [ t 1/1, p 1/1 ]\n"
                + LIMIT.replace("09:01", "04:01")
            },
            [("crash", "job", None, "scheduler", "04:01")],
            id="one that had not loses steps",
        ),
        pytest.param(
            {
                "sacct.txt": HEADER.replace("End", "End|NodeList")
                + "80+0|NODE_FAIL|0:0|2031-02-03T03:00:00|2031-02-03T04:00:00|n5\n"
                + "80+1|NODE_FAIL|0:0|2031-02-03T03:00:00|2031-02-03T04:00:00|n[6-7]\n"
            },
            [
                ("crash", "job", None, "node_failure", "04:00"),
                ("crash", "job", None, "node_failure", "04:00"),
            ],
            id="a component of one node need not be the one that lost it",
        ),
        pytest.param(
            {
                "slurm-77.out": STEPS
                + "2031-02-03T04:01:00 srun: error: n3: task 5: Exited with exit code 93\n"
            },
            [("crash", "job", None, "no_progress", "04:01")],
            id="a job that its watcher stopped for lack of progress has no guilty host",
        ),
        pytest.param(
            {"train.log": STEPS + PULSES},
            [("hang", "job", None, None, "03:59")],
            id="pulses of a job without steps are no progress: it hangs",
        ),
        pytest.param(
            {"slurm-77.out": STEPS + DEAD + LIMIT, "sacct.txt": TIMED_OUT},
            [("crash", "host", "n3", "abort", "04:01")],
            id="a job whose process died fails then, not when its time is over",
        ),
        pytest.param(
            {"slurm-77.out": STEPS + LIMIT.replace("09:01", "04:01")},
            [("crash", "job", None, "scheduler", "04:01")],
            id="a job at its time limit is ended by its scheduler",
        ),
        pytest.param(
            {
                "slurm-77.out": STEPS,
                "sacct.txt": TIMED_OUT.replace("09:01", "04:00").replace("TIMEOUT", "COMPLETED"),
                "n1-dmesg.txt": "2031-02-03T08:00:00,1+00:00 usb 1-1: new device\n",
            },
            [],
            id="a job that its scheduler saw complete is not silent afterwards",
        ),
        pytest.param(
            {
                "slurm-77.out": STEPS
                + LIMIT.replace("09:01", "04:01").replace("TIME LIMIT", "PREEMPTION")
            },
            [("crash", "job", None, "scheduler", "04:01")],
            id="a preempted job is ended by its scheduler",
        ),
        pytest.param(
            {
                "slurm-77.out": STEPS
                + LIMIT.replace("09:01", "04:01").replace(" DUE TO TIME LIMIT", "")
            },
            [("crash", "job", None, "operator", "04:01")],
            id="a cancel without a reason is a user's",
        ),
        pytest.param(
            {
                "slurm-77.out": STEPS
                + "2031-02-03T04:00:30 srun: error: Node failure on n4\n"
                + LIMIT.replace("09:01", "04:01").replace("TIME LIMIT", "NODE FAILURE")
            },
            [("crash", "host", "n4", "node_failure", "04:00")],
            id="the node that failed is named, not the one that tells",
        ),
        pytest.param(
            {
                "slurm-77.out": STEPS
                + "2031-02-03T04:01:00 srun: error: n3: tasks 4-7: Segmentation fault\n"
                + "2031-02-03T04:01:01 srun: error: n1: tasks 0-3: Killed\n"
                + "2031-02-03T04:01:01 srun: error: n2: tasks 8-11: Killed\n"
            },
            [("crash", "host", "n3", "segfault", "04:01")],
            id="what a launcher kills did not fail",
        ),
    ],
)  # fmt: skip -- one case, one glance
def test_lives(analysed: Analyse, files: dict[str, str], expected: list[tuple[Any, ...]]) -> None:
    """What ended a job, when, and whose fault it was."""
    assert told(analysed(files)) == expected


def test_dead_but_allocated(analysed: Analyse) -> None:
    """The five hours that a dead job held its nodes are told with the crash."""
    (crash,) = analysed({"slurm-77.out": STEPS + DEAD + LIMIT, "sacct.txt": TIMED_OUT}).verdicts
    assert crash.evidence[-1].what == "dead but allocated for 18000 s since 04:01:00 UTC"


def test_one_job_many_attempts(analysed: Analyse) -> None:
    """Three rows of a number are three attempts with two waits, and steps are no attempts."""
    reading = analysed({"sacct.txt": HEADER + REQUEUED}).reading
    attempts = [
        (one["run"], one["attempt"], one["wait_seconds"], one["ended_by"])
        for one in attempts_json(reading.jobs)
    ]
    assert attempts == [
        ("77", 0, None, "infra"),
        ("77", 1, 600.0, "preempted"),
        ("77", 2, 1800.0, "user"),
    ]


def test_exports_by_the_day(analysed: Analyse) -> None:
    """A job over midnight is one attempt, as its end tells it; one of another file is next."""
    first = "77|RUNNING|0:0|2031-02-03T20:00:00|Unknown\n"
    second = (
        "77|NODE_FAIL|0:0|2031-02-03T20:00:00|2031-02-04T02:00:00\n"
        "77.0|FAILED|1:0|2031-02-03T20:00:01|2031-02-04T02:00:05\n"
    )
    third = "77|RUNNING|0:0|2031-02-05T02:10:00|Unknown\n"
    files = {f"day-{day}.txt": HEADER + text for day, text in enumerate((first, second, third))}
    found = analysed(files)
    attempts = [(one["attempt"], one["state"]) for one in attempts_json(found.reading.jobs)]
    assert attempts == [(0, "NODE_FAIL"), (1, "RUNNING")]


def test_history_without_duplicates(analysed: Analyse) -> None:
    """One row of accounts and a log of three starts: history may be incomplete."""
    starts = [("00", 1), ("02", 90), ("05", 180)]
    log = "".join(
        "SLURM_JOB_ID=77\n"
        + "".join(iteration(f"{hour}:{minute}", first + minute) for minute in range(31, 59))
        for hour, first in starts
    )
    last = "\n".join(REQUEUED.split("\n")[2:])
    found = analysed({"train.log": log, "sacct.txt": HEADER + last})
    assert [
        (one.cause, one.subject.run, one.evidence[0].what)
        for one in found.verdicts
        if one.kind == "telemetry_lost"
    ] == [
        (
            "hidden_attempts",
            "77",
            "history may be incomplete: 1 of at least 3 attempts have accounts",
        )
    ]
