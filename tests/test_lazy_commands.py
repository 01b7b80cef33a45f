"""Commands are loaded when they run, and help tells of them before."""

import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from paceline.lazy_commands import LazyCommand
from paceline.main import COMMANDS, app


@pytest.mark.parametrize("command", [pytest.param(one, id=one.name) for one in COMMANDS])
def test_summaries(command: LazyCommand) -> None:
    """What help says of a command before it is loaded is the first line of its own help."""
    assert str(command.load().help).split("\n", 1)[0] == command.summary


@pytest.mark.parametrize("asked", ["--help", "--version"])
def test_nothing_is_loaded(asked: str) -> None:
    """Neither help nor the version loads what commands need."""
    program = (
        "import sys\n"
        "from paceline.main import app\n"
        f"app([{asked!r}], standalone_mode=False)\n"
        "print(sorted({'polars', 'altair', 'collectors'} & set(sys.modules)), file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert ended.stderr.decode().strip() == "[]"


def test_unknown_command() -> None:
    """A word that is no command is refused, with the nearest one that is."""
    answer = CliRunner().invoke(app, ["analyse"])

    assert answer.exit_code == 2
    assert "Did you mean 'analyze'?" in answer.output


def test_commands_are_a_table() -> None:
    """Whoever walks through the commands finds them all, and may put others in."""
    commands = get_command(app).commands

    assert list(commands) == [one.name for one in COMMANDS]
    commands["demo"] = "another"
    assert commands["demo"] == "another"
    del commands["demo"]
    assert len(commands) == len(COMMANDS) - 1
