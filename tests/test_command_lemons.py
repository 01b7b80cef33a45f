"""Tests of `paceline lemons`: a fleet's accounts and kernel logs as files, text and JSON out."""

import json
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from paceline.main import app

RUN = CliRunner()
START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HEADER = "JobID|JobName|User|State|Submit|Start|End|ExitCode|NodeList"
FAILED_DAYS = (3, 9, 17, 22, 26)


def asked(*arguments: str) -> tuple[int, str]:
    """The exit and everything that was printed."""
    result = RUN.invoke(app, ["lemons", *arguments])
    return result.exit_code, result.output


def accounts(days: int) -> Iterator[str]:
    """A job a day on each of 32 nodes; that of node 7 fails on some days, at noon."""
    yield HEADER
    for at in range(days):
        for node in range(32):
            begin = START + at * DAY
            failed = node == 7 and at in FAILED_DAYS
            end = begin + (DAY / 2 if failed else DAY)
            state, code = ("NODE_FAIL", "0:1") if failed else ("COMPLETED", "0:0")
            times = f"{begin:%FT%T}|{begin:%FT%T}|{end:%FT%T}"
            yield f"{1000 * node + at}|train|ada|{state}|{times}|{code}|node{node:02d}"


def kernel_log() -> Iterator[str]:
    """What the kernel of node 7 said just before."""
    for at in FAILED_DAYS:
        moment = START + (at + 0.5) * DAY - timedelta(minutes=2)
        yield (
            f"{moment:%Y-%m-%dT%H:%M:%S.000000+00:00} node07 kernel: NVRM: Xid (PCI:0000:9b:00): "
            "79, pid=2101, name=python, GPU has fallen off the bus."
        )


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A folder with a month of accounts, and the kernel log of a node."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    (folder / "accounts.txt").write_text("\n".join([*accounts(30), ""]), encoding="utf-8")
    (folder / "kern.log").write_text("\n".join([*kernel_log(), ""]), encoding="utf-8")
    return folder


def test_text(fleet: Path, golden: Callable[[str, str], None]) -> None:
    """People see who is flagged and on what evidence, and the ranking."""
    code, output = asked(str(fleet), "--top", "3")

    assert code == 0
    golden("lemons.txt", output)


def test_json(fleet: Path) -> None:
    """Machines get verdicts, ranking and what they stand on."""
    code, output = asked(str(fleet), "--format", "json", "--top", "1")
    told = json.loads(output)

    assert (
        code,
        [(one["kind"], one["level"]) for one in told["verdicts"]],
        [one["host"] for one in told["ranking"]],
        {name: told["history"][name] for name in ("nodes", "failed_jobs", "named_jobs")},
    ) == (0, [("lemon", "host")], ["node07"], {"nodes": 32, "failed_jobs": 5, "named_jobs": 5})


def test_a_score_opens(fleet: Path, golden: Callable[[str, str], None]) -> None:
    """The score of any node is told event by event, also where nothing is known against it."""
    code, output = asked(str(fleet), "--node", "node07")
    calm = asked(str(fleet), "--node", "node01")

    assert (code, calm[0], "nothing is known against it" in calm[1]) == (0, 0, True)
    golden("lemon_score.txt", output)


def test_each_row_opens(fleet: Path) -> None:
    """What the events of a row add up to is its own part of the score."""
    _, text = asked(str(fleet), "--format", "json", "--top", "3")
    for row in json.loads(text)["ranking"]:
        counts = [one["counts"] for one in row["events"] if one["kind"] == "failure"]
        assert sum(counts) == pytest.approx(row["failures"])


def test_nobody_of_that_name(fleet: Path) -> None:
    """A node that ran no job, and a history that judges nobody, open into nothing."""
    unknown = asked(str(fleet), "--node", "nod")
    early = asked(str(fleet), "--node", "node07", "--as-of", "2026-01-05")

    assert [(code, "wanted a node that ran jobs" in text) for code, text in (unknown, early)] == [
        (2, True),
        (2, True),
    ]


def test_analyze_tells_lemons_too(fleet: Path) -> None:
    """The analysis of the same folder names the same node."""
    result = RUN.invoke(app, ["analyze", str(fleet), "--format", "json"])
    lemons = [one for one in json.loads(result.output)["verdicts"] if one["kind"] == "lemon"]

    assert [one["subject"]["host"] for one in lemons] == ["node07"]


def test_as_of(fleet: Path) -> None:
    """As of an earlier day only what had happened counts: nobody is flagged yet."""
    code, output = asked(str(fleet), "--as-of", "2026-01-16")

    assert (code, "LEMON" in output, "Nobody is flagged." in output) == (0, False, True)


def test_metrics_for_the_board(fleet: Path, tmp_path: Path, promtool: str) -> None:
    """Scores and signals are a text file that Prometheus accepts, in the contract's words."""
    file = tmp_path / "lemons.prom"
    code, _ = asked(str(fleet), "--textfile", str(file), "--cluster", "c1")
    text = file.read_text(encoding="utf-8")
    labels = 'paceline_lemon_signals{cluster="c1",node="node07",signal='
    lint = subprocess.run([promtool, "check", "metrics"], input=text, text=True, check=False)

    assert (code, lint.returncode, list(tmp_path.glob(".*.prom*"))) == (0, 0, [])
    assert [line.removeprefix(labels) for line in text.splitlines() if labels in line] == [
        '"failures_alone"} 5.0',
        '"failures_shared"} 0.0',
        '"hours"} 612.0',
        '"xids"} 1.0',
    ]
    assert 'paceline_lemon_score{cluster="c1",node="node08"} 0.0' in text


def test_drains_and_unwritable_files(fleet: Path, tmp_path: Path) -> None:
    """How often a node left the service is counted; a file that cannot be written is one line."""
    for at in (12, 20):
        drained = f"bad fan [root@{START + at * DAY:%FT%T}]"
        state = f"NodeName=node09 Arch=x86_64\n   State=IDLE+DRAIN\n   Reason={drained}\n"
        (fleet / f"node-{at}.txt").write_text(state, encoding="utf-8")
    file = tmp_path / "lemons.prom"
    code, _ = asked(str(fleet), "--textfile", str(file), "--cluster", "c1")
    refused, words = asked(str(fleet), "--textfile", str(tmp_path), "--cluster", "c1")

    assert code == 0
    assert 'node="node09",signal="drains"} 2.0' in file.read_text(encoding="utf-8")
    assert (refused, "give another file" in words) == (2, True)


def test_metrics_of_a_short_history(tmp_path: Path) -> None:
    """Who cannot be judged has no series: nobody is called good."""
    (tmp_path / "accounts.txt").write_text("\n".join([*accounts(2), ""]), encoding="utf-8")
    file = tmp_path / "lemons.prom"
    code, _ = asked(str(tmp_path / "accounts.txt"), "--textfile", str(file), "--cluster", "c1")

    assert (code, file.read_bytes()) == (0, b"")


def test_short_history(fleet: Path) -> None:
    """Too few days are told, and judge nobody."""
    text = asked(str(fleet), "--as-of", "2026-01-05")
    _, told = asked(str(fleet), "--as-of", "2026-01-05", "--format", "json")

    assert text == (
        0,
        "Jobs span 4.0 days; 14 are needed to tell a lemon from bad luck: nobody is judged.\n",
    )
    assert json.loads(told)["ranking"] == []


def test_nobody_can_be_told(tmp_path: Path) -> None:
    """Jobs that die on many nodes at once accuse nobody, and it is said what would decide."""
    rows = [HEADER]
    for at in range(40):
        begin, end = START + at * DAY, START + (at + 0.5) * DAY
        times = f"{begin:%FT%T}|{begin:%FT%T}|{end:%FT%T}"
        rows.append(f"{at}|train|ada|NODE_FAIL|{times}|0:1|node[00-31]")
    (tmp_path / "accounts.txt").write_text("\n".join([*rows, ""]), encoding="utf-8")
    code, output = asked(str(tmp_path))

    assert (code, "UNKNOWN all nodes" in output, "what would decide: health" in output) == (
        0,
        True,
        True,
    )


def test_a_store(fleet: Path, tmp_path: Path) -> None:
    """A store answers like the files that filled it."""
    store = str(tmp_path / "store")
    files = [str(fleet / "accounts.txt"), str(fleet / "kern.log")]
    RUN.invoke(app, ["collect", *files, "--store", store])
    stored, plain = (
        json.loads(asked(*paths, "--format", "json")[1])["verdicts"] for paths in ([store], files)
    )

    assert [one["subject"] for one in stored] == [one["subject"] for one in plain] != []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["no/such/path"], 1, "no such file or folder", id="a missing path"),
        pytest.param(["--time-zone", "Mars", "."], 2, "no time zone", id="no zone"),
        pytest.param(["--cluster", "c1", "."], 2, "go together", id="metrics without a file"),
    ],
)
def test_refusals(arguments: list[str], code: int, words: str) -> None:
    """Bad arguments get one line that says the way out."""
    exit_code, output = asked(*arguments)

    assert (exit_code, words in output) == (code, True)


def test_no_jobs(fleet: Path) -> None:
    """Logs without accounts are refused, with the way out."""
    exit_code, output = asked(str(fleet / "kern.log"))

    assert (exit_code, "no job there; give the scheduler's accounts" in output) == (1, True)
