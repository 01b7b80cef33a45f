"""What Slurm's tools print into logs: exits of tasks, ends of jobs, banners."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

Read = Callable[[str], Reading]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A reader of one log."""

    def reader(text: str) -> Reading:
        path = tmp_path / "job.out"
        path.write_text(text, encoding="utf-8")
        return read_file(path, path.name, ReadOptions(year=2031))

    return reader


def at(clock: str) -> datetime:
    """Return a time of the day of all tests."""
    return datetime.fromisoformat(f"2031-02-03T{clock}+00:00").astimezone(UTC)


CANCELLED = "slurmstepd: error: *** STEP 77.0 ON n3 CANCELLED AT 2031-02-03T04:05:06"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            "srun: error: n3: task 5: Exited with exit code 1",
            [("process_exit", "1", "n3", "5", None)],
            id="a task that exited",
        ),
        pytest.param(
            "srun: error: n3: tasks 0-3,7: Killed",
            [("process_exit", "-9", "n3", "0-3,7", None)],
            id="several tasks of a host that were killed",
        ),
        pytest.param(
            "srun: error: N3: task 5: Aborted (core dumped)",
            [("process_exit", "-6", "n3", "5", None)],
            id="an abort, whether or not it left a core",
        ),
        pytest.param(
            "srun: error: n[003-004]: tasks 0-15: Segmentation fault",
            [
                ("process_exit", "-11", "n003", "0-15", None),
                ("process_exit", "-11", "n004", "0-15", None),
            ],
            id="a list of hosts is an event each",
        ),
        pytest.param(
            "srun: error: n3: task 5: Out Of Memory",
            [("oom_kill", "Out Of Memory", "n3", "5", None)],
            id="a task out of memory",
        ),
        pytest.param(
            "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks "
            "have been OOM Killed.",
            [("oom_kill", "1", None, None, "77")],
            id="a step out of memory",
        ),
        pytest.param(
            "slurmstepd: error: Detected 2 oom-kill event(s) in StepId=77.batch cgroup.",
            [("oom_kill", "2", None, None, "77")],
            id="the same in an older release",
        ),
        pytest.param(
            "slurmstepd: error: Job 77 exceeded memory limit (9 > 8), being killed",
            [("oom_kill", "limit", None, None, "77")],
            id="a job above its limit of memory",
        ),
        pytest.param(
            f"{CANCELLED} DUE TO TIME LIMIT ***",
            [("job_cancelled", "TIME LIMIT", "n3", None, "77")],
            id="a time limit",
        ),
        pytest.param(
            f"{CANCELLED} DUE TO PREEMPTION ***",
            [("job_cancelled", "PREEMPTION", "n3", None, "77")],
            id="a preemption",
        ),
        pytest.param(
            f"{CANCELLED} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
            [("job_cancelled", "NODE FAILURE", None, None, "77")],
            id="a lost node is not the one that tells of it",
        ),
        pytest.param(
            f"{CANCELLED} ***",
            [("job_cancelled", None, "n3", None, "77")],
            id="no reason is a user's cancel",
        ),
        pytest.param(
            "slurmd[n3]: *** JOB 77 CANCELLED AT 2031-02-03T04:05:06 DUE TO TIME LIMIT ***",
            [("job_cancelled", "TIME LIMIT", None, None, "77")],
            id="an old daemon names no host",
        ),
        pytest.param(
            "slurmstepd-n3: error: *** STEP 77.0 ON n3 CANCELLED AT 2031-02-03T04:05:06 DUE to "
            "SIGNAL Killed ***",
            [("job_cancelled", "SIGNAL Killed", "n3", None, "77")],
            id="a signal that somebody sent",
        ),
        pytest.param(
            "slurmstepd: error: *** STEP 77.0 ON n3 UNCORRECTABLE MEMORY ERROR AT "
            "2031-02-03T04:05:06 ***",
            [("memory_error", "uncorrectable", "n3", None, "77")],
            id="a memory error of the host",
        ),
        pytest.param(
            "srun: error: Node failure on n4",
            [("node_failure", "NODE_FAIL", "n4", None, None)],
            id="the node that failed",
        ),
        pytest.param(
            "srun: job 77 has been allocated resources",
            [("launcher", None, None, None, "77")],
            id="other words of the job itself",
        ),
        pytest.param(
            "Submitted batch job 78",
            [("launcher", None, None, None, None)],
            id="another job is not the log's own",
        ),
    ],
)
def test_messages(read: Read, line: str, expected: list[tuple[Any, ...]]) -> None:
    """Each line is an event with code, host, task and job."""
    events = read(f"{line}\n").events
    assert events.select("kind", "code", "host", "device", "run").rows() == expected


@pytest.mark.parametrize(
    "stamp",
    [
        pytest.param("2031-02-03T04:01:00 ", id="as ISO has it"),
        pytest.param("[2031-02-03 04:01:00] ", id="in brackets"),
        pytest.param("2031-02-03 04:01:00,000 ", id="with a comma"),
        pytest.param("Feb  3 04:01:00 head ", id="as syslog has it, without a year"),
    ],
)
def test_stamps_before_messages(read: Read, stamp: str) -> None:
    """What somebody put before a line of srun is its time."""
    events = read(f"{stamp}srun: error: n3: task 5: Aborted\n").events
    assert events["time"].to_list() == [at("04:01:00")]


def test_twin_lines(read: Read) -> None:
    """The lines of a job and of its steps are one event, on the step's host; a later end is not."""
    text = (
        "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2031-02-03T04:05:06 DUE TO TIME LIMIT "
        f"***\n{CANCELLED} DUE TO TIME LIMIT ***\n"
        "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2031-02-03T09:05:06 DUE TO TIME LIMIT "
        "***\n"
    )
    reading = read(text)
    assert (
        reading.events.select("time", "host", "count", "position").rows(),
        reading.jobs.select("run", "attempt", "state", "end", "reason").rows(),
        reading.lines_used,
    ) == (
        [(at("04:05:06"), "n3", 2, 1), (at("09:05:06"), "n1", 1, 3)],
        [
            ("77", None, "TIMEOUT", at("04:05:06"), "TIME LIMIT"),
            ("77", None, "TIMEOUT", at("09:05:06"), "TIME LIMIT"),
        ],
        3,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "srun: error: n3: task 5: Exited with exit code 1\n"
            f"{CANCELLED} ***\nsrun: error: n1: tasks 0-3: Terminated\n",
            [
                ("process_exit", "1", "n3", at("04:05:06")),
                ("closing", None, "n3", at("04:05:06")),
                ("process_exit", "-15", "n1", None),
            ],
            id="a step that is ended since a task failed, whose time is then known",
        ),
        pytest.param(
            f"{CANCELLED} ***\nsrun: error: n3: task 5: Segmentation fault\n",
            [
                ("closing", None, "n3", at("04:05:06")),
                ("process_exit", "-11", "n3", at("04:05:06")),
            ],
            id="the end of the step may be printed first",
        ),
        pytest.param(
            f"{CANCELLED} ***\nsrun: error: n3: tasks 0-7: Killed\n",
            [
                ("job_cancelled", None, "n3", at("04:05:06")),
                ("process_exit", "-9", "n3", None),
            ],
            id="tasks that are killed after the end of their step did not lead to it",
        ),
        pytest.param(
            f"srun: error: n3: task 5: Killed\n{CANCELLED} ***\n",
            [
                ("process_exit", "-9", "n3", at("04:05:06")),
                ("closing", None, "n3", at("04:05:06")),
            ],
            id="a task that was killed before led to the end",
        ),
        pytest.param(
            "srun: error: n3: task 5: Exited with exit code 1\n"
            f"{CANCELLED} ***\n{CANCELLED.replace('STEP 77.0', 'JOB 77')} ***\n",
            [
                ("process_exit", "1", "n3", None),
                ("job_cancelled", None, "n3", at("04:05:06")),
            ],
            id="a cancelled job is somebody's will",
        ),
        pytest.param(
            f"srun: error: Node failure on n4\n{CANCELLED} DUE TO NODE FAILURE ***\n",
            [
                ("node_failure", "NODE_FAIL", "n4", at("04:05:06")),
                ("job_cancelled", "NODE FAILURE", "n4", at("04:05:06")),
            ],
            id="the node that failed and the end that it led to",
        ),
        pytest.param(
            "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0.\n"
            f"srun: error: n5: task 9: Out Of Memory\n{CANCELLED} ***\n",
            [
                ("oom_kill", "1", "n5", at("04:05:06")),
                ("oom_kill", "Out Of Memory", "n5", at("04:05:06")),
                ("closing", None, "n3", at("04:05:06")),
            ],
            id="a kill for memory is where a task ran out of it",
        ),
    ],
)
def test_ends_of_steps(read: Read, text: str, expected: list[tuple[Any, ...]]) -> None:
    """Srun ends a step whose task failed, in the words of a cancelled one."""
    events = read(text).events.sort("position").select("kind", "code", "host", "time")
    assert events.rows() == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "SLURM_JOB_ID=77\nSLURM_RESTART_COUNT=1\nSLURM_NODELIST=n[3-4]\nSLURM_NTASKS=16\n",
            id="as env prints it",
        ),
        pytest.param(
            'declare -x SLURM_JOB_ID="77"\ndeclare -x SLURM_JOB_NODELIST="n[3-4]"\n'
            'declare -x SLURM_NPROCS="16"\ndeclare -x SLURM_RESTART_COUNT="1"\n',
            id="as export prints it",
        ),
        pytest.param(
            "SLURM_JOBID: 77, SLURM_RESTART_COUNT: 1, SLURM_NTASKS: 16, SLURM_NODELIST: n[3-4]\n",
            id="as people print it on one line",
        ),
    ],
)
def test_banners(read: Read, text: str) -> None:
    """A banner tells the job, its attempt, its size and its hosts, however it was printed."""
    reading = read(text)
    assert (
        reading.jobs.select("run", "attempt", "world", "hosts").rows(),
        reading.events.select("kind", "run", "code").rows(),
        reading.rejects.height,
    ) == ([("77", 1, 16, ["n3", "n4"])], [("run_start", "77", "1")], 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "SLURM_JOB_ID=77\nSLURM_RESTART_COUNT=\n",
            [("77", 0)],
            id="an empty count of restarts is the first run",
        ),
        pytest.param("SLURM_JOB_ID=77\n", [("77", None)], id="no count tells nothing"),
        pytest.param(
            "SLURM_JOB_ID=99\nSLURM_ARRAY_JOB_ID=88\nSLURM_ARRAY_TASK_ID=4\n",
            [("88_4", None)],
            id="a task of an array is called as sacct calls it",
        ),
        pytest.param(
            "SLURM_JOB_ID=77\nSLURM_JOB_ID=78\n",
            [("77", None), ("78", None)],
            id="another number is another job",
        ),
        pytest.param(
            "SLURM_JOB_ID=77\nSLURM_RESTART_COUNT=\n"
            + "epoch 1\n" * 30
            + "SLURM_JOB_ID=77\nSLURM_RESTART_COUNT=1\n",
            [("77", 0), ("77", 1)],
            id="each banner has its own count of restarts",
        ),
        pytest.param(
            "SLURM_JOB_ID=77\n" + "epoch 1\n" * 30 + "SLURM_JOB_ID=77\nSLURM_RESTART_COUNT=1\n",
            [("77", None), ("77", 1)],
            id="a log that was appended to has a banner for each attempt",
        ),
    ],
)  # fmt: skip -- one case, one glance
def test_attempts_in_banners(read: Read, text: str, expected: list[tuple[Any, ...]]) -> None:
    """The count of restarts is the attempt."""
    assert read(text).jobs.select("run", "attempt").rows() == expected


def test_where_tasks_are(read: Read) -> None:
    """What tasks say of themselves places them; the order of the list of nodes does not."""
    text = """\
SLURM_JOB_ID=77
SLURM_NODELIST=n[3-4]
SLURM_PROCID=9 SLURM_LOCALID=1 SLURMD_NODENAME=n3
SLURM_PROCID: 0 SLURM_LOCALID: 0 on n4
hostname=N4 SLURM_PROCID=1
SLURM_PROCID=2
"""
    placed = read(text).placements.select("run", "rank", "host", "index").rows()
    assert placed == [("77", 9, "n3", 1), ("77", 0, "n4", 0), ("77", 1, "n4", None)]


LINES = (
    f"{CANCELLED} DUE TO TIME LIMIT ***",
    "srun: error: n[003-004]: tasks 0-15: Killed",
    "SLURM_JOB_ID=77",
    "SLURM_PROCID=5 SLURM_LOCALID=1 SLURMD_NODENAME=n3",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0.",
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    lines=st.lists(
        st.tuples(st.sampled_from(LINES), st.integers(0, 90), st.text("aé 9:*\t", max_size=4)),
        min_size=1,
    )
)
def test_torn_lines(lines: list[tuple[str, int, str]], tmp_path: Path) -> None:
    """Lines torn and stained anywhere: nothing is raised, and each is used or rejected."""
    text = "\n".join(line[:cut] + stain + line[cut:] for line, cut, stain in lines)
    path = tmp_path / "job.out"
    path.write_bytes(text.encode("utf-8", errors="replace"))
    reading = read_file(path, path.name, ReadOptions(year=2031))
    kept = path.read_bytes().decode().replace("\0", "").split("\n")
    rejected = reading.rejects["count"].fill_null(1).sum()
    assert reading.lines_used + rejected == sum(bool(line.strip()) for line in kept)
