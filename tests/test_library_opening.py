"""Tests of opening evidence: what is read, what is left out, and what is refused with a way out."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.storage.store_commits import NoStoreError
from paceline import budgets, open_logs, open_prometheus, open_store, plot_burn, simulated
from paceline.library.evidence import Evidence, NoDataError, UnknownRunError, only_run
from paceline.main import app
from paceline.pulling import PullError
from paceline.simulation.orion import UnknownScenarioError
from paceline.sources import NoSuchPathError

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ACCOUNTS = """\
JobID|JobName|User|State|Submit|Start|End|ExitCode|NodeList
1|ada|ada|COMPLETED|2026-01-05T11:00:00|2026-01-05T11:00:00|2026-01-05T12:00:00|0:0|n1
2|bob|bob|FAILED|2026-01-05T12:00:00|2026-01-05T12:10:00|2026-01-05T13:00:00|1:0|n2
"""
KERNEL = (
    "2026-01-05T11:58:00.000000+00:00 n1 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=2101, "
    "name=python, GPU has fallen off the bus.\n"
)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with accounts of two jobs, and what the kernel of a node said."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "accounts.txt").write_text(ACCOUNTS, encoding="utf-8")
    (folder / "kern.log").write_text(KERNEL, encoding="utf-8")
    return folder


def openmetrics() -> str:
    """Two scrape jobs with a GPU each, and steps of a run that are all slow from the middle on."""
    lines: list[str] = []
    for metric, job in (("DCGM_FI_DEV_POWER_USAGE", "dcgm"), ("DCGM_FI_DEV_GPU_TEMP", "other")):
        lines.append(f"# TYPE {metric} gauge")
        labels = f'job="{job}",gpu="0",UUID="GPU-{job}",Hostname="n1"'
        lines += [f"{metric}{{{labels}}} 60 {int(NOON.timestamp()) + 60 * n}" for n in range(60)]
    for metric, first in (("paceline_training_slow_steps", 30), ("paceline_training_steps", 0)):
        lines.append(f"# TYPE {metric} counter")
        lines += [
            f'{metric}_total{{cluster="c",run="ada"}} {3 * max(0, n - first)} '
            f"{int(NOON.timestamp()) + 60 * n}"
            for n in range(60)
        ]
    return "\n".join([*lines, "# EOF", ""])


def test_shown(logs: Path, golden: Callable[[str, str], None]) -> None:
    """Evidence says what was read and what is missing."""
    golden("library_evidence.txt", f"{open_logs(logs)!r}\n".replace(f"{logs}", "logs"))


@pytest.mark.parametrize("as_text", [True, False], ids=["a text is a path", "a path is a path"])
def test_paths(logs: Path, as_text: bool) -> None:
    """Several paths are read together, as texts or as paths."""
    parts = [logs / "accounts.txt", logs / "kern.log"]
    evidence = open_logs(*(str(part) if as_text else part for part in parts))

    assert (evidence.runs, evidence.hosts, evidence.reading.events.height) == (
        ["1", "2"],
        ["n1", "n2"],
        1,
    )


def test_one_run(logs: Path) -> None:
    """With a run, rows of other runs are left out, and those that name none are kept."""
    evidence = open_logs(logs, run="2")

    assert (evidence.runs, evidence.reading.events["host"].to_list()) == (["2"], ["n1"])


def test_options(logs: Path) -> None:
    """What files cannot say of themselves is said beside them."""
    evidence = open_logs(logs, options=ReadOptions(time_zone="Europe/Berlin"))

    assert evidence.reading.jobs["end"].max() == NOON


def test_unknown_run(logs: Path) -> None:
    """A run that nothing tells of is refused with those that there are."""
    with pytest.raises(UnknownRunError, match=r"no run 'eve' in .*; known: 1, 2, logs$"):
        open_logs(logs, run="eve")


def test_no_run_is_named() -> None:
    """Where no run is named, none can be asked for."""
    events = pl.DataFrame({"time": [NOON], "host": ["n1"], "kind": ["xid"]})
    nameless = Evidence(name="logs", reading=reading_of(events=events))

    with pytest.raises(UnknownRunError, match=r"known: none is named$"):
        only_run(nameless, "ada")


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["ada", "bob", "eve", None]), st.integers(0, 9))))
def test_rows_of_other_runs(rows: list[tuple[str | None, int]]) -> None:
    """Of any steps those of the run stay, and those that name none, in their order."""
    named = [("ada", 0), *rows]
    steps = pl.DataFrame(named, schema={"run": pl.String, "step": pl.Int64}, orient="row")
    kept = only_run(Evidence(name="logs", reading=reading_of(steps=steps)), "ada").reading.steps

    assert kept.select("run", "step").rows() == [row for row in named if row[0] in {"ada", None}]


def test_missing_path(tmp_path: Path) -> None:
    """A path that is not there is refused at once, with where it was looked for from."""
    with pytest.raises(NoSuchPathError, match=r"no such file or folder: .*gone; it was looked for"):
        open_logs(tmp_path / "gone")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "; rejected: 1 x empty file", id="an empty file"),
        pytest.param(None, "", id="an empty folder"),
    ],
)
def test_no_data(tmp_path: Path, content: bytes | None, why: str) -> None:
    """Where nothing could be read, that is no healthy cluster: it is refused, with the reasons."""
    if content is not None:
        (tmp_path / "file.log").write_bytes(content)

    with pytest.raises(NoDataError, match=rf"nothing to read in .*{why}; give logs"):
        open_logs(tmp_path)


def test_store(logs: Path, tmp_path: Path) -> None:
    """A store tells what the files told that it was filled with, of the span that was asked for."""
    store = tmp_path / "store"
    CliRunner().invoke(app, ["collect", str(logs), "--store", str(store)])
    whole, early = open_store(store), open_store(str(store), end=datetime(2026, 1, 5, 11, 59))  # noqa: DTZ001 -- without a zone it is in UTC

    assert (
        whole.reading.jobs.sort("run")["end"].to_list(),
        open_logs(store).runs,
        early.reading.events.height,
    ) == (open_logs(logs).reading.jobs.sort("run")["end"].to_list(), ["1", "2"], 1)


def test_no_store(tmp_path: Path) -> None:
    """A folder that is no store is refused with how to make one."""
    with pytest.raises(NoStoreError, match=r"no store at .*; `paceline collect --store .*` makes"):
        open_store(tmp_path)


def test_prometheus(prometheus: Callable[..., AbstractContextManager[Any]]) -> None:
    """A Prometheus gives the series of a scrape job, and counts what an objective asks for."""
    with prometheus(openmetrics()) as server:
        whole = open_prometheus(server.url, start=NOON, end=NOON + HOUR)
        one = open_prometheus(server.url, start=NOON, end=NOON + HOUR, job="dcgm")
        other = open_prometheus(server.url, start=NOON, end=NOON + HOUR, match={"job": "other"})
        review, burn = budgets(whole), plot_burn(whole)

    assert (
        [sorted(part.reading.samples["signal"].unique()) for part in (whole, one, other)],
        review.budgets.select("run", bad=review.budgets["bad"] > 85).rows(),
        len(burn.vconcat),
    ) == (
        [
            ["gpu_temperature_celsius", "power_watts"],
            ["power_watts"],
            ["gpu_temperature_celsius"],
        ],
        [("ada", True)],
        4,
    )


def test_no_prometheus() -> None:
    """A server that does not answer is named."""
    with pytest.raises(PullError, match=r"127\.0\.0\.1:9"):
        open_prometheus("http://127.0.0.1:9", start=NOON, end=NOON + HOUR)


def test_simulated_before(tmp_path: Path) -> None:
    """A folder that holds the scenario already is read, and nothing is simulated."""
    sources = tmp_path / "throttled-gpu-7" / "sources"
    sources.mkdir(parents=True)
    (sources / "kern.log").write_text(KERNEL, encoding="utf-8")
    (sources.parent / "truth.json").write_text("{}", encoding="utf-8")

    assert simulated("INC-2291", folder=tmp_path).hosts == ["n1"]


def test_unknown_scenario() -> None:
    """A scenario that does not exist is refused with those that do."""
    with pytest.raises(UnknownScenarioError, match=r"no scenario 'INC-1'; known: .*throttled-gpu"):
        simulated("INC-1")
