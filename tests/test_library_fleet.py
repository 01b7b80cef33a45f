"""Tests of what is asked of a fleet: what the commands count, as frames, cards and charts."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from typer.testing import CliRunner

from collectors.readings import reading_of
from paceline import (
    Evidence,
    budgets,
    checkpoint_interval,
    failures,
    goodput,
    lemons,
    open_logs,
    plot_burn,
    plot_goodput,
    plot_lemons,
)
from paceline.lemon_output import UnknownNodeError
from paceline.library.budgets import SeveralObjectivesError
from paceline.library.charts import NothingToDrawError
from paceline.library.fleet import NoJobsError
from paceline.main import app
from paceline.series_sources import NoSeriesError
from paceline.step_histories import StepFault, StepHistoryParams, simulate_steps
from slo.specs import load_ready

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
FAILED_DAYS = (3, 9, 17)
NODES = 16
LIBRARY = Path(str(files("slo"))) / "library"
TWO = ("training-steps.yml", "fabric-pause.yml")
HEADER = "JobID|JobName|User|State|Submit|Start|End|ExitCode|NodeList"


def accounts() -> Iterator[str]:
    """A job a day on each of 16 nodes, for 20 days; that of node 7 fails on some, at noon."""
    yield HEADER
    for at in range(20):
        for node in range(NODES):
            begin = START + at * DAY
            failed = node == 7 and at in FAILED_DAYS
            end = begin + (DAY / 2 if failed else DAY)
            state, code = ("NODE_FAIL", "0:1") if failed else ("COMPLETED", "0:0")
            times = f"{begin:%FT%T}|{begin:%FT%T}|{end:%FT%T}"
            yield f"{1000 * node + at}|train|ada|{state}|{times}|{code}|node{node:02d}"
    yield ""


@pytest.fixture(scope="module")
def fleet_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The accounts of a fleet."""
    path = tmp_path_factory.mktemp("fleet") / "accounts.txt"
    path.write_text("\n".join(accounts()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fleet(fleet_file: Path) -> Evidence:
    """The same, opened."""
    return open_logs(fleet_file)


@pytest.fixture(scope="module")
def steps() -> Evidence:
    """Twelve hours of a run's steps, the last two of them slow."""
    fault = StepFault(start_seconds=36_000.0, end_seconds=43_200.0, ratio=1.3)
    params = StepHistoryParams(days=0.5, fault=fault)
    told = simulate_steps("W-TRAIN", START, 5, params)
    return Evidence(name="steps", reading=reading_of(steps=told))


@pytest.fixture(scope="module")
def nothing() -> Evidence:
    """Evidence without a job or a step."""
    return Evidence(name="logs", reading=reading_of())


def printed(*arguments: object) -> str:
    """What a command prints."""
    return CliRunner().invoke(app, [str(one) for one in arguments]).output


def shown(answer: Any) -> str:
    """What an answer says, without its title."""
    return f"{answer!r}\n".split("\n", 1)[1]


@pytest.mark.parametrize(
    ("ask", "command"),
    [
        pytest.param(lemons, ("lemons", "--top", "10"), id="lemons"),
        pytest.param(goodput, ("goodput",), id="goodput"),
        pytest.param(failures, ("failures",), id="failures"),
        pytest.param(checkpoint_interval, ("checkpoint-interval",), id="checkpoint interval"),
    ],
)
def test_as_commands(
    fleet: Evidence, fleet_file: Path, ask: Callable[[Evidence], Any], command: tuple[str, ...]
) -> None:
    """An answer says what the command of its name prints of the same accounts."""
    name, *options = command

    assert shown(ask(fleet)).strip() == printed(name, fleet_file, *options).strip()


def test_lemons(fleet: Evidence) -> None:
    """Lemons are verdicts and a ranking; a score opens event by event, or names nobody."""
    found = lemons(fleet)
    early = lemons(fleet, as_of=START + 15 * DAY)

    assert (
        [one.subject.host for one in found.verdicts],
        found.ranking["host"][0],
        found.score("node07").count(" failed: "),
        early.ranking["host"][0],
    ) == (["node07"], "node07", 3, "node07")


def test_unknown_node(fleet: Evidence) -> None:
    """A node that ran no job has no score, and that is said."""
    with pytest.raises(UnknownNodeError, match="wanted a node that ran jobs, found 'gone'"):
        lemons(fleet).score("gone")


def test_frames(fleet: Evidence) -> None:
    """Answers hold the frames that the commands count over."""
    time, ends = goodput(fleet), failures(fleet, gpus_per_node=8)

    assert (
        time.runs.equals(fleet.fleet.goodput.runs),
        time.ettr.equals(fleet.fleet.ettr),
        ends.costs.filter("is_infrastructure").height,
        ends.costs["gpus"].unique().to_list(),
    ) == (True, True, 3, [8])


def test_plan(fleet: Evidence) -> None:
    """An interval follows from the measured rate, the size of the job and what a save takes."""
    found = checkpoint_interval(fleet, nodes=128, write_seconds=60.0)
    ((_, plan),) = found.plans
    row = found.frame.to_dicts()[0]

    assert plan is not None
    assert (row["nodes"], row["young_seconds"], plan.nodes) == (128.0, plan.young_seconds, 128)


def test_no_plan(fleet: Evidence) -> None:
    """Without the time of a save no interval follows; the row has what is known."""
    row = checkpoint_interval(fleet, nodes=128).frame.to_dicts()[0]

    assert (row["nodes"], row["young_seconds"], row["write_seconds"]) == (128.0, None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"nodes": 0}, "nodes must be above 0, got 0", id="no node"),
        pytest.param(
            {"write_seconds": -1.0}, "write_seconds must be above 0, got -1.0", id="negative"
        ),
    ],
)
def test_no_job_of_that_size(fleet: Evidence, arguments: dict[str, Any], message: str) -> None:
    """Sizes and times of a planned job are above zero."""
    with pytest.raises(ValueError, match=message):
        checkpoint_interval(fleet, **arguments)


def test_budgets(steps: Evidence, golden: Callable[[str, str], None]) -> None:
    """An objective says what is left, how fast it goes, and whose the bad steps are."""
    golden("library_budgets.txt", f"{budgets(steps)!r}\n")


def test_objectives(steps: Evidence) -> None:
    """An objective is meant by itself, by its file, or as the ready one; and at any moment."""
    ready, moment = load_ready(), START + timedelta(hours=9)
    early = budgets(steps, ready, as_of=moment.replace(tzinfo=None))
    from_file = budgets(steps, str(LIBRARY / TWO[0]))

    assert (from_file.budgets.equals(budgets(steps).budgets), early.objective, early.as_of) == (
        True,
        ready,
        moment,
    )


def test_burn(steps: Evidence) -> None:
    """A panel a pair of windows, over the run's whole time, and the page's pair above its limit."""
    chart = plot_burn(steps).to_dict()
    page = max(chart["datasets"].values(), key=lambda rows: max(row["rate"] for row in rows))

    assert (
        [panel["title"] for panel in chart["vconcat"]],
        max(row["rate"] for row in page) > 14.4,
    ) == (
        [
            "page, 1h and 5m: fires above 14.4",
            "page, 6h and 30m: fires above 6",
            "ticket, 1d and 2h: fires above 3",
            "ticket, 3d and 6h: fires above 1",
        ],
        True,
    )


@pytest.mark.parametrize(
    ("plot", "told"),
    [
        pytest.param(plot_lemons, "node07", id="lemons"),
        pytest.param(plot_goodput, "hours of wall time", id="goodput"),
    ],
)
def test_plots(fleet: Evidence, plot: Callable[[Evidence], Any], told: str) -> None:
    """A chart draws without a style sheet of ours, and names what it is about."""
    drawn: str = vl_convert.vegalite_to_svg(plot(fleet).to_dict())

    assert (told in drawn, "var(--" in drawn) == (True, False)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        pytest.param(lemons, NoJobsError, "no job in logs; open the scheduler's", id="lemons"),
        pytest.param(failures, NoJobsError, "no job in logs; open the sch", id="failures"),
        pytest.param(
            checkpoint_interval, NoJobsError, "no job in logs; open the sch", id="intervals"
        ),
        pytest.param(goodput, NoJobsError, "no run with a clock in logs; give", id="goodput"),
        pytest.param(budgets, NoSeriesError, "logs: no training step there; give", id="budgets"),
        pytest.param(plot_burn, NoSeriesError, "logs: no training step there", id="burn"),
        pytest.param(plot_goodput, NoJobsError, "no run with a clock in logs", id="a bar"),
        pytest.param(plot_lemons, NoJobsError, "no job in logs", id="a ranking"),
    ],
)
def test_nothing(
    nothing: Evidence, ask: Callable[[Evidence], object], error: type[Exception], message: str
) -> None:
    """Evidence that does not hold what is asked is refused with what would."""
    with pytest.raises(error, match=message):
        ask(nothing)


def test_short_history(fleet_file: Path, tmp_path: Path) -> None:
    """A day of accounts is too short to judge anybody: an answer says so, a plot is refused."""
    lines = fleet_file.read_text(encoding="utf-8").splitlines()
    (tmp_path / "accounts.txt").write_text("\n".join([lines[0], *lines[1:6], ""]), encoding="utf-8")
    day = open_logs(tmp_path)

    assert "nobody is judged" in f"{lemons(day)!r}"
    with pytest.raises(NothingToDrawError, match=r"jobs span 1\.0 days; 14 are needed"):
        plot_lemons(day)


def test_several_objectives(tmp_path: Path, steps: Evidence) -> None:
    """A file must hold one objective; those that it holds are named."""
    texts = [(LIBRARY / name).read_text(encoding="utf-8") for name in TWO]
    (tmp_path / "two.yml").write_text("\n---\n".join(texts), encoding="utf-8")

    with pytest.raises(SeveralObjectivesError, match="found 2: training-steps, fabric-pause"):
        budgets(steps, tmp_path / "two.yml")


def test_no_objective(steps: Evidence, tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(FileNotFoundError, match=r"gone\.yml"):
        budgets(steps, tmp_path / "gone.yml")
