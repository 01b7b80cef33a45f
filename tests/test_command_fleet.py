"""Tests of `paceline goodput`, `failures` and `checkpoint-interval`: files of a fleet in."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from paceline.main import app

RUN = CliRunner()
START = datetime(2026, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
HEADER = "JobID|JobName|User|State|Submit|Start|End|ExitCode|NodeList"
DAY = "2026-01-05T00:00:00"
CALM = f"{HEADER}\n1|train|ada|COMPLETED|{DAY}|{DAY}|2026-01-06T00:00:00|0:0|n1\n"
"""Accounts of a job that nothing befell."""
ATTEMPTS = (
    (0.0, 30.0, "NODE_FAIL", 0),
    (30.5, 80.0, "NODE_FAIL", 540),
    (81.0, 120.0, "CANCELLED", 1520),
)
"""A run of three attempts: hours of start and end, the state, and the step it goes on from."""


def asked(*arguments: str) -> tuple[int, str]:
    """The exit and everything that was printed."""
    result = RUN.invoke(app, list(arguments))
    return result.exit_code, result.output


@cache
def told(*arguments: str) -> dict[str, Any]:
    """What a command says to machines."""
    code, output = asked(*arguments, "--format", "json")
    assert code == 0, output
    found: dict[str, Any] = json.loads(output)
    return found


def accounts() -> Iterator[str]:
    """The large run, a job a day on each of 8 other nodes, and one that made room for the run."""
    yield HEADER
    for hours, end, state, _ in ATTEMPTS:
        times = f"{START + (hours - 0.25) * HOUR:%FT%T}|{START + hours * HOUR:%FT%T}"
        yield f"7|train|ada|{state}|{times}|{START + end * HOUR:%FT%T}|0:1|r1-n[00-15]"
    for day in range(5):
        for node in range(20, 28):
            begin = START + day * 24 * HOUR
            times = f"{begin:%FT%T}|{begin:%FT%T}|{begin + 20 * HOUR:%FT%T}"
            yield f"{1000 * node + day}|small|bob|COMPLETED|{times}|0:0|r2-n{node}"
    times = f"{START:%FT%T}|{START + 2 * HOUR:%FT%T}|{START + 30.4 * HOUR:%FT%T}"
    yield f"99|small|bob|PREEMPTED|{times}|0:0|r1-n03"


def train_log() -> Iterator[str]:
    """Megatron's lines of the run: a step in three minutes, a save every 20 steps."""
    for begin, end, _, resumed in ATTEMPTS:
        step = resumed
        now = START + begin * HOUR + timedelta(minutes=9)
        yield f" [{now:%F %T.%f}]   successfully loaded checkpoint from /c at iteration {step}"
        while now < START + end * HOUR - timedelta(minutes=20):
            step += 1
            seconds = 250 if 1000 < step <= 1040 else 180
            now += timedelta(seconds=seconds)
            yield (
                f" [{now:%F %T.%f}] iteration {step:8d}/   90000 | elapsed time per iteration "
                f"(ms): {seconds}000.0 | global batch size:   512 | lm loss: 8.113204E+00 | "
                "number of nan iterations:   0 |"
            )
            if step % 20 == 0:
                yield f" [{now:%F %T.%f}] saving checkpoint at iteration {step:7d} to /c"
                now += timedelta(seconds=45)
                yield (
                    f" [{now:%F %T.%f}]   successfully saved checkpoint from iteration {step:7d} "
                    "to /c [ t 1/8, p 1/1 ]"
                )


def kernel_log() -> str:
    """What the kernel of a node of the run said just before its first end."""
    moment = START + 30 * HOUR - timedelta(minutes=2)
    return (
        f"{moment:%Y-%m-%dT%H:%M:%S.000000+00:00} r1-n05 kernel: NVRM: Xid (PCI:0000:9b:00): "
        "79, pid=2101, name=python, GPU has fallen off the bus.\n"
    )


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with accounts, the log of a run and a kernel log."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "accounts.txt").write_text("\n".join([*accounts(), ""]), encoding="utf-8")
    (folder / "slurm-7.out").write_text("\n".join([*train_log(), ""]), encoding="utf-8")
    (folder / "kern.log").write_text(kernel_log(), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("goodput", ("goodput", "--top", "2", "--gpus-per-node", "8"), id="goodput"),
        pytest.param("failures", ("failures", "--gpus-per-node", "8"), id="failures"),
        pytest.param("checkpoint-interval", ("checkpoint-interval",), id="checkpoint interval"),
    ],
)
def test_text(
    fleet: str, golden: Callable[[str, str], None], name: str, arguments: tuple[str, ...]
) -> None:
    """People get figures, what each part means, and what is not known."""
    code, output = asked(*arguments, fleet)

    assert code == 0
    golden(f"{name}.txt", output)


def test_goodput_for_machines(fleet: str) -> None:
    """The parts of each run and attempt sum to its wall."""
    found = told("goodput", fleet, "--gpus-per-node", "8")
    rows = found["runs"] + found["attempts"]
    names = [name for name in rows[0] if name.endswith("_seconds") and name != "wall_seconds"]
    (run,) = [row for row in found["runs"] if row["run"] == "7"]

    assert [sum(row[name] or 0.0 for name in names) for row in rows] == pytest.approx(
        [row["wall_seconds"] for row in rows]
    )
    assert (run["ranks"], run["save_count"], run["replay_seconds"] > 0) == (128, 114, True)
    assert len([row for row in found["attempts"] if row["run"] == "7"]) == 3


def test_failures_for_machines(fleet: str) -> None:
    """Each failure has its cause, its cost, and whom it drove out."""
    found = told("failures", fleet, "--gpus-per-node", "8")

    assert [(one["run"], one["cause"], one["host"]) for one in found["failures"]] == [
        ("7", "gpu", "r1-n05"),
        ("99", "gpu", None),
        ("7", "host", None),
    ]
    assert [one["forced_by"] for one in found["failures"]] == [None, "7", None]
    assert found["rate_per_1000_node_days"]["failures"] == 2
    assert {one["domain"] for one in found["blast_radii"] if one["kind"] == "rack"} == {"r1", "r2"}


def test_interval_for_machines(fleet: str) -> None:
    """A planned job gets an interval from the measured rate, with its bounds."""
    wanted = ("--nodes", "512", "--write-seconds", "45")
    (planned,) = told("checkpoint-interval", fleet, *wanted)["plans"]
    plan = planned["plan"]

    assert plan["young_seconds"] == pytest.approx((90 * plan["mttf_seconds"]) ** 0.5)
    assert plan["min_young_seconds"] < plan["young_seconds"] < plan["max_young_seconds"]
    assert told("checkpoint-interval", fleet, "--nodes", "512")["plans"][0]["plan"][
        "write_seconds"
    ] == pytest.approx(45.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            ("--nodes", "4"), "for how long a save holds training up is not", id="no write"
        ),
        pytest.param((), "No run with steps", id="no steps"),
        pytest.param(
            ("--nodes", "4", "--write-seconds", "30"),
            "save no more often than every",
            id="no failures",
        ),
    ],
)
def test_what_would_decide(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """Without an input there is no interval, and it is said which input would give it."""
    (tmp_path / "accounts.txt").write_text(CALM, encoding="utf-8")
    code, output = asked("checkpoint-interval", str(tmp_path), *arguments)

    assert (code, words in output) == (0, True)


def test_steps_without_nodes(fleet: str) -> None:
    """A run of unknown size gets no interval, and no GPU-hours."""
    log = str(Path(fleet) / "slurm-7.out")

    assert "how many nodes it has is not known" in asked("checkpoint-interval", log)[1]
    assert "GPU-hours are not known" in asked("goodput", log)[1]
    assert "Rate of failures by infrastructure: not known" in asked("failures", log)[1]


def test_many_runs_are_cut_and_counted(fleet: str) -> None:
    """What is not shown is counted."""
    assert "and 41 more runs" in asked("goodput", fleet, "--top", "1")[1]


def test_pages(fleet: str, tmp_path: Path) -> None:
    """The pages show what the text says, and need nothing beside themselves."""
    for command in ("goodput", "failures"):
        code, output = asked(command, fleet, "--gpus-per-node", "8", "--out", str(tmp_path))
        page = (tmp_path / f"{command}.html").read_text(encoding="utf-8")
        machine = json.loads((tmp_path / f"{command}.json").read_bytes())

        assert (code, f"{command}.html and {command}.json" in output) == (0, True)
        assert page.count("<svg") == 1
        assert "http" not in page.replace("http-equiv", "")
        assert machine == told(command, fleet, "--gpus-per-node", "8")


def test_page_without_failures(tmp_path: Path) -> None:
    """Where nothing failed there is nothing to draw, and the page says so."""
    (tmp_path / "accounts.txt").write_text(CALM, encoding="utf-8")
    code, _ = asked("failures", str(tmp_path), "--format", "json", "--out", str(tmp_path / "out"))

    assert (code, "nothing to draw" in (tmp_path / "out/failures.html").read_text()) == (0, True)


@pytest.mark.parametrize("command", ["goodput", "failures", "checkpoint-interval"])
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["no/such/path"], 1, "no such file or folder", id="a missing path"),
        pytest.param(["--time-zone", "Mars", "."], 2, "no time zone", id="no zone"),
    ],
)
def test_refusals(command: str, arguments: list[str], code: int, words: str) -> None:
    """Bad arguments get one line that says the way out."""
    exit_code, output = asked(command, *arguments)

    assert (exit_code, words in output) == (code, True)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param("goodput", "no run with a clock there", id="goodput"),
        pytest.param("failures", "no job there", id="failures"),
        pytest.param("checkpoint-interval", "no job there", id="checkpoint interval"),
    ],
)
def test_nothing_to_account_for(fleet: str, command: str, words: str) -> None:
    """Logs without jobs are refused, with the way out."""
    code, output = asked(command, str(Path(fleet) / "kern.log"))

    assert (code, words in output) == (1, True)


@pytest.mark.parametrize("command", ["goodput", "failures"])
def test_a_folder_that_cannot_be_written(fleet: str, command: str) -> None:
    """A folder inside of a file is refused in one line."""
    code, output = asked(command, fleet, "--out", str(Path(fleet) / "kern.log" / "x"))

    assert (code, "cannot write to" in output) == (2, True)


def test_a_store(fleet: str, tmp_path: Path) -> None:
    """A store answers like the files that filled it."""
    store = str(tmp_path / "store")
    RUN.invoke(app, ["collect", fleet, "--store", store])

    assert told("goodput", store)["runs"] == told("goodput", fleet)["runs"]
