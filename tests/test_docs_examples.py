"""Tests that run the documentation: its commands, its programs, its transcripts."""

import re
import runpy
import shlex
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from paceline.main import app
from paceline.simulation.orion import OrionParams, simulate

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SMALL = OrionParams(nodes=4, minutes=20, onset_minutes=8, fault_minutes=8)

PULL = (
    "paceline analyze logs/ --prometheus http://localhost:9090 "
    "--start 2026-01-05T00:00:00 --end 2026-01-05T02:00:00"
)
FOLLOW = (
    "paceline collect logs/ --prometheus http://localhost:9090 --since 2026-01-05T00:00:00 "
    "--store store/ --follow"
)
DIFF = "paceline dashboards diff https://grafana.example --token-file token"
PUSH = 'paceline dashboards push https://grafana.example --token-file token --message "$GITHUB_SHA"'
NOT_RUN = {
    FOLLOW: "goes on until a signal: the tests of the command send one",
    "paceline lemons accounts.txt logs/": "needs weeks of accounts: its own tests make them",
    "paceline failures accounts.txt logs/ --gpus-per-node 8": "as above",
    "paceline checkpoint-interval accounts.txt logs/ --nodes 512 --write-seconds 45": "as above",
    "paceline doctor --prometheus http://localhost:9090": "its own tests ask a real server",
    "paceline demo": "simulates the full cluster: `test_demo_transcript` runs it once",
    PULL: "needs a server with the same history: a test of the command line fills a real one",
    "paceline watch --config paceline.toml": "goes on until a signal, as its own tests send one",
    "paceline serve --config paceline.toml": "as above",
    DIFF: "needs a Grafana: its own tests ask a server that speaks its API",
    PUSH: "as above",
    "python -m pytest -q tests/test_cli.py": "the tests do not run themselves",
}
"""Commands that are not run here, and why. No `make` is run: its targets run these tests."""

EXIT_CODES = {"paceline analyze logs/ --format json --fail-on slow --fail-on hang": 3}
"""Exit codes that a page promises, where they are not 0."""

IN_THE_TREE = {"CONTRIBUTING.md"}
"""Pages whose commands are meant for a clone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A reader's folder after the commands of a page.

    Attributes:
        folder: With `logs`, and what the commands made.
        wrong: The commands that did not end as promised, each with its exit code.
    """

    folder: Path
    wrong: list[tuple[str, int]]


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Return the fenced blocks of a page: language and text without its indent."""
    text = page.read_text(encoding="utf-8")
    return [(language, textwrap.dedent(block)) for language, block in BLOCK.findall(text)]


def commands_of(page: Path) -> list[str]:
    """Return the commands of a page that are run here, in order."""
    lines = [
        line.removeprefix("$ ")
        for language, block in blocks_of(page)
        for line in block.split("\n")
        if language == "sh" or (language == "console" and line.startswith("$ "))
    ]
    ours = [line for line in lines if re.match(r"paceline\b|python -m ", line)]
    return [line for line in ours if line not in NOT_RUN]


def program_of(page: Path) -> str:
    """Return the python blocks of a page as one program."""
    return "\n\n".join(block for language, block in blocks_of(page) if language == "python")


def tools_of(page: Path) -> list[str]:
    """Return the promtool commands of a page."""
    texts = [block for language, block in blocks_of(page) if language == "text"]
    return [line for text in texts for line in text.split("\n") if line.startswith("promtool ")]


def those(pages: Iterator[Path]) -> list[object]:
    """Return pages as parameters that are called by their path."""
    return [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in pages]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of a small cluster with a throttled GPU: the folder that pages call `logs`."""
    folder = tmp_path_factory.mktemp("cluster")
    simulate("throttled-gpu", folder, seed=3, params=SMALL)
    return folder / "sources"


def write_files(page: Path, folder: Path) -> None:
    """Write the files that a page says to write: those that begin with their own name."""
    for language, block in blocks_of(page):
        name = re.match(r"# (\S+\.(?:yml|toml|py))\n", block)
        if language in {"yaml", "toml", "python"} and name:
            (folder / name[1]).write_text(block, encoding="utf-8")


def run_commands(page: Path) -> list[tuple[str, int]]:
    """Run the commands of a page and return those that did not end as it promises."""
    wrong: list[tuple[str, int]] = []
    for line in commands_of(page):
        arguments = shlex.split(re.sub(r"^python -m paceline\b", "paceline", line))[1:]
        code = CliRunner().invoke(app, arguments).exit_code
        if code != EXIT_CODES.get(line, 0):
            wrong.append((line, code))
    return wrong


@pytest.fixture(scope="module")
def desk_of(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> Callable[[Path], Desk]:
    """A runner: a page's commands run once, in a folder with `logs` in it, as a reader has one."""

    @cache
    def run(page: Path) -> Desk:
        folder = tmp_path_factory.mktemp("desk")
        (folder / "logs").symlink_to(logs, target_is_directory=True)
        write_files(page, folder)
        with chdir(ROOT if page.name in IN_THE_TREE else folder):
            return Desk(folder=folder, wrong=run_commands(page))

    return run


@pytest.mark.parametrize("page", those(page for page in PAGES if commands_of(page)))
def test_commands(page: Path, desk_of: Callable[[Path], Desk]) -> None:
    """Every command of a page ends as the page promises, one after the other."""
    assert desk_of(page).wrong == []


@pytest.mark.parametrize("page", those(page for page in PAGES if program_of(page)))
def test_programs(page: Path, desk_of: Callable[[Path], Desk]) -> None:
    """The python of a page runs as one program, after the page's commands."""
    desk = desk_of(page)
    program = desk.folder / "program.py"
    program.write_text(program_of(page), encoding="utf-8")

    assert desk.wrong == []
    with chdir(desk.folder):
        runpy.run_path(str(program))


@pytest.mark.parametrize("page", those(page for page in PAGES if tools_of(page)))
def test_promtool(page: Path, desk_of: Callable[[Path], Desk], promtool: str) -> None:
    """The rules that a page makes pass the tests that were made with them."""
    desk = desk_of(page)

    assert desk.wrong == []
    for line in tools_of(page):
        subprocess.run([promtool, *shlex.split(line)[1:]], cwd=desk.folder, check=True)


def test_exceptions_are_used() -> None:
    """Every command in the lists of exceptions still stands on a page."""
    told = {
        line.removeprefix("$ ").strip()
        for page in PAGES
        for _, block in blocks_of(page)
        for line in block.split("\n")
    }

    assert (set(NOT_RUN) | set(EXIT_CODES)) - told == set()


@pytest.mark.slow
def test_demo_transcript(tmp_path: Path) -> None:
    """Each line of the README's transcript is one that the demo prints, in that order."""
    (block,) = [text for language, text in blocks_of(ROOT / "README.md") if language == "console"]
    lines = [line for line in block.strip().split("\n")[1:] if line != "..."]
    printed = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)]).output.split("\n")

    assert [line for line in printed if line in lines] == lines
