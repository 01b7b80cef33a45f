"""Recorded scrapes become an OpenMetrics text that promtool takes."""

import re
import subprocess
from pathlib import Path

import pytest

from paceline.simulation.openmetrics import write_openmetrics
from paceline.simulation.orion import OrionParams, simulate

PARAMS = OrionParams(nodes=4, minutes=8.0, onset_minutes=3.0)


@pytest.fixture(params=["bad-qos-profile", "dirty-link"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small recording of either kind of network."""
    simulate(request.param, tmp_path, seed=1, params=PARAMS)
    return tmp_path


def test_families_stand_in_one_piece(recorded: Path) -> None:
    """Each family is declared once, holds all its samples, and time runs within a series."""
    out = recorded / "all.om"
    write_openmetrics(recorded / "sources", out)
    lines = out.read_text(encoding="utf-8").splitlines()

    declared = [line.split()[2] for line in lines if line.startswith("# TYPE ")]
    current, last = "", ("", 0.0)
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            current, last = line.split()[2], ("", 0.0)
            continue
        series, _, seconds = line.rsplit(" ", 2)
        assert series.startswith(current + "{")
        assert re.search(r',instance="[\w-]+:\d+",job="[a-z-]+-exporter"\}$', series)
        assert re.fullmatch(r"\d{10}\.\d{3}", seconds)
        assert last < (series, float(seconds))
        last = (series, float(seconds))
    assert len(declared) == len(set(declared))
    assert lines[-1] == "# EOF"


def test_nothing_is_lost(recorded: Path) -> None:
    """The text has as many samples as the pages it was made of."""
    out = recorded / "all.om"
    write_openmetrics(recorded / "sources", out)

    def count(path: Path) -> int:
        lines = path.read_text(encoding="utf-8").splitlines()
        return sum(not line.startswith("#") for line in lines)

    assert count(out) == sum(count(path) for path in (recorded / "sources").rglob("*.prom"))


def test_promtool_makes_blocks(recorded: Path, promtool: str) -> None:
    """Promtool turns the text into blocks that hold every sample."""
    out = recorded / "all.om"
    write_openmetrics(recorded / "sources", out)
    blocks = recorded / "blocks"
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics", str(out), str(blocks)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    samples = sum(not line.startswith("#") for line in out.read_text("utf-8").splitlines())
    rows = [line.split() for line in told.splitlines() if not line.startswith("BLOCK")]
    assert sum(int(row[4]) for row in rows) == samples


def test_nothing_recorded(tmp_path: Path) -> None:
    """An empty folder is refused with the way out."""
    with pytest.raises(FileNotFoundError, match=r"no \*\.prom file below .* run simulate\(\)"):
        write_openmetrics(tmp_path, tmp_path / "all.om")
