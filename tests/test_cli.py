"""Tests of the command line, as its users type it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from paceline.main import app
from paceline.simulation.openmetrics import write_openmetrics
from paceline.simulation.orion import OrionParams, simulate

SMALL = OrionParams(nodes=4, minutes=30, onset_minutes=12, fault_minutes=12)


def call(*arguments: str | Path) -> Result:
    """Run the command line."""
    return CliRunner().invoke(app, [str(each) for each in arguments])


def answer(*arguments: str | Path) -> dict[str, Any]:
    """Return the JSON object of an analysis."""
    result = call("analyze", *arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module")
def throttled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small cluster with a throttled GPU."""
    folder = tmp_path_factory.mktemp("throttled")
    simulate("throttled-gpu", folder, seed=3, params=SMALL)
    return folder / "sources"


@pytest.fixture(scope="module")
def real_runs() -> Path:
    """The public folder of real runs."""
    data = os.environ.get("PACELINE_DATA")
    if data is None:
        pytest.skip("PACELINE_DATA is not set: public data not there")
    return Path(data) / "real-runs"


def test_json_contract(throttled: Path) -> None:
    """One object with verdicts, incidents, coverage and rejects, and nothing beside it."""
    found = answer(throttled)

    assert list(found) == ["verdicts", "incidents", "coverage", "rejects"]
    assert {"kind", "level", "subject", "onset", "slowdown", "confidence", "evidence"} <= set(
        found["verdicts"][0]
    )
    assert found["verdicts"][0]["onset"].endswith("Z")


def test_mixed_folder(tmp_path: Path, throttled: Path) -> None:
    """What cannot be read is counted with its reason, and the rest is analysed all the same."""
    shutil.copytree(throttled / "progress", tmp_path / "in")
    odd = tmp_path / "in"
    (odd / "empty.log").write_bytes(b"")
    (odd / "blob.bin").write_bytes(bytes(range(32)) * 100)
    (odd / "prose.txt").write_text("nothing that a cluster says\n", encoding="utf-8")
    (odd / "page.prom").write_text(
        'DCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="h"} 57 1767571283602\n'
        'DCGM_FI_DEV_GPU_TEMP{gpu="1",Hostname="h"} fifty 1767571283602\n',
        encoding="utf-8",
    )
    (odd / "torn.jsonl").write_text('{"step": 1, "rank": 0, "step_s": 1.0}\n{"st', encoding="utf-8")
    found = answer(odd)
    reasons = {one["reason"]: one["count"] for one in found["rejects"]["reasons"]}

    assert [one["level"] for one in found["verdicts"]] == ["group", "job"]
    assert reasons.pop("empty file") == 1
    assert reasons.pop("binary file in no known format") == 1
    assert reasons.pop("no known format") == 1
    assert reasons.pop("the value is no number") == 1
    assert sum(reasons.values()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(
            ["analyze", "/nowhere/at/all"],
            1,
            "no such file or folder",
            id="a missing path is one line and exit 1",
        ),
        pytest.param(
            ["analyze", ".", "--fail-on", "sloow"],
            2,
            "no kind 'sloow' of finding; known",
            id="an unknown kind is told with the known ones",
        ),
        pytest.param(
            ["analyze", ".", "--time-zone", "Mars/Base"],
            2,
            "no time zone 'Mars/Base'",
            id="an unknown zone is refused",
        ),
        pytest.param(
            ["analyze", ".", "--boot", "yesterday"],
            2,
            "--boot 'yesterday' is no time; give one such as 2026-01-05T04:00Z",
            id="a start that is no time is refused",
        ),
        pytest.param(
            ["analyze", ".", "--taken", "04:00"],
            2,
            "--taken '04:00' is no time",
            id="a time without its day is refused",
        ),
        pytest.param(
            ["analyze", ".", "--host", " "], 2, "is no name of a host", id="a blank host is refused"
        ),
        pytest.param(
            ["analyze", ".", "--xid-table", "/nowhere/xids.toml"],
            2,
            "--xid-table /nowhere/xids.toml cannot be read: No such file",
            id="a table of Xids that is not there is refused",
        ),
        pytest.param(
            ["analyze", ".", "--prometheus", "http://x"],
            2,
            "needs --start and --end",
            id="a pull needs its span",
        ),
        pytest.param(
            ["demo", "--scenario", "sunny"],
            2,
            "no scenario 'sunny'; known: throttled",
            id="an unknown scenario is told with the known ones",
        ),
        pytest.param(
            ["analyze", ".", "--prometheus", "localhost:9090"],
            2,
            "'localhost:9090' is no address of a server",
            id="an address without its scheme is told how to write it",
        ),
        pytest.param(["analyze"], 2, "Missing argument", id="a missing argument is a usage error"),
    ],
)
def test_refusals(arguments: list[str], code: int, says: str) -> None:
    """A bad argument gets one clear line and never a traceback."""
    result = call(*arguments)

    assert (result.exit_code, says in result.output, "Traceback" in result.output) == (
        code,
        True,
        False,
    )


def test_what_files_cannot_say(tmp_path: Path) -> None:
    """Options tell the host and start of a kernel log, and what its Xids mean."""
    line = "[ 60.000000] NVRM: Xid (PCI:0000:9b:00): 43, pid=7, name=py, Ch 00000012"
    (tmp_path / "dmesg.txt").write_text(f"{line}\n", encoding="utf-8")
    table = (
        resources.files("collectors.hosts").joinpath("xid_table.toml").read_text(encoding="utf-8")
    )
    own = tmp_path / ".own.toml"
    own.write_text(table, encoding="utf-8")

    said = ("--boot", "2026-01-05T05:00:00+01:00", "--host", "hx8-017", "--xid-table", own)
    spans = answer(tmp_path, *said)["coverage"]["spans"]

    assert spans == {"events": ["2026-01-05T04:01:00Z", "2026-01-05T04:01:00Z"]}


def test_xid_table_that_is_none(tmp_path: Path) -> None:
    """A file that is no table of Xids is refused with what it lacks."""
    (tmp_path / "own.toml").write_text("[classes]\n", encoding="utf-8")
    result = call("analyze", tmp_path, "--xid-table", tmp_path / "own.toml")

    assert (result.exit_code, "lacks severities" in result.output) == (2, True)


def test_unreadable_folder(tmp_path: Path) -> None:
    """A folder in which nothing can be read is exit 1 with the reasons, never a clean bill."""
    (tmp_path / "prose.txt").write_text("nothing that a cluster says\n", encoding="utf-8")
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "blank.log").write_bytes(b"\xef\xbb\xbf\n \n\r\n")
    (tmp_path / "torn.log.gz").write_bytes(b"\x1f\x8b")
    result = call("analyze", tmp_path)

    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert "2 x no known format, 1 x empty file, 1 x packed file that is torn" in result.output


def test_version() -> None:
    """--version prints the version alone."""
    assert call("--version").output == f"paceline {version('paceline')}\n"


def test_module() -> None:
    """`python -m paceline` is the same command."""
    found = subprocess.run(
        [sys.executable, "-m", "paceline", "--version"], capture_output=True, text=True, check=True
    )

    assert found.stdout.startswith("paceline ")


def test_empty_folder(tmp_path: Path) -> None:
    """A folder without a file cannot be read, and says what to give."""
    result = call("analyze", tmp_path)

    assert (result.exit_code, "nothing to read there" in result.output) == (1, True)


def test_unanswering_prometheus(tmp_path: Path) -> None:
    """A server that does not answer is one line and exit 1."""
    (tmp_path / "rank0.jsonl").write_text('{"step": 1, "rank": 0, "step_s": 1.0}\n')
    span = ("--start", "2026-01-05T00:00:00", "--end", "2026-01-05T00:01:00")
    result = call("analyze", tmp_path, "--prometheus", "http://127.0.0.1:9", *span)

    assert (result.exit_code, result.output.count("\n")) == (1, 1)


def test_written_files(tmp_path: Path, throttled: Path) -> None:
    """--out leaves a report that names the suspect, and the JSON beside it."""
    result = call("analyze", throttled, "--out", tmp_path / "report")
    report = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    machine = json.loads((tmp_path / "report" / "analysis.json").read_text(encoding="utf-8"))
    suspect = machine["verdicts"][0]["subject"]

    assert result.exit_code == 0
    assert f"gpu {suspect['gpu']} (rank {suspect['rank']}) on {suspect['host']}" in report
    assert f"Wrote {tmp_path / 'report' / 'report.html'}" in result.output


def test_report_not_writable(tmp_path: Path, throttled: Path) -> None:
    """A report folder that is a file is refused with its name."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    result = call("analyze", throttled / "progress" / "rank-000.jsonl", "--out", tmp_path / "file")

    assert (result.exit_code, "cannot write to" in result.output) == (2, True)


def test_fail_on(throttled: Path) -> None:
    """--fail-on turns a finding into exit 3, for CI."""
    assert call("analyze", throttled, "--fail-on", "slow").exit_code == 3
    assert call("analyze", throttled, "--fail-on", "hang").exit_code == 0


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo ends with page, timeline and the paths of report, rules and dashboard."""
    monkeypatch.setattr(
        "paceline.commands.demo.simulate",
        lambda scenario, folder, *, seed: simulate(scenario, folder, seed=seed, params=SMALL),
    )
    result = call("demo", "--out", tmp_path, "--seed", "3")
    folder = tmp_path / "throttled-gpu"

    assert result.exit_code == 0, result.output
    for text in ("W-TRAIN runs slow: gpu", "Timeline of", "An alert on GPU utilisation: stays"):
        assert text in result.output
    for path in (
        "report.html",
        "analysis.json",
        "rules/training-steps.rules.yml",
        "rules/training-steps.rules.test.yml",
        "dashboards/aif-job.json",
    ):
        assert (folder / path).stat().st_size > 0


def test_prometheus_equals_files(
    tmp_path: Path,
    throttled: Path,
    prometheus: Callable[..., AbstractContextManager[Any]],
) -> None:
    """Findings pulled through a real Prometheus equal those from the files it was filled with."""
    write_openmetrics(throttled, tmp_path / "history.om")
    text = (tmp_path / "history.om").read_text(encoding="utf-8")
    span = ("--start", "2026-01-05T00:00:00", "--end", "2026-01-05T02:00:00")
    with prometheus(text) as server:
        pulled = answer(throttled / "progress", "--prometheus", server.url, *span)
    from_files = answer(throttled)

    assert _without_sources(pulled) == _without_sources(from_files)


def _without_sources(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return verdicts; only where the evidence was read from may differ."""
    return [
        {**one, "evidence": [seen["what"] for seen in one["evidence"]]} for one in found["verdicts"]
    ]


@pytest.mark.parametrize(
    ("name", "expected", "onset_step"),
    [
        pytest.param("slow-8-r5", ("slow", 5), 150, id="slow-8-r5 is rank 5"),
        pytest.param("slow-8-mild", ("slow", 2), 200, id="slow-8-mild is rank 2"),
        pytest.param("burst-8", ("flapping", 6), 120, id="burst-8 is rank 6, flapping"),
        pytest.param("hang-8", ("hang", 3), 120, id="hang-8 is rank 3"),
        pytest.param("all-8", ("group_slow", None), 150, id="all-8 is the group and no rank"),
        pytest.param("healthy-8", None, None, id="healthy-8 is nothing"),
    ],
)
def test_real_runs(
    real_runs: Path, name: str, expected: tuple[str, int | None] | None, onset_step: int | None
) -> None:
    """Eight real processes: the right rank, in time, and nobody else."""
    found = answer(real_runs / name)["verdicts"]
    accused = [one for one in found if one["kind"] != "slow" or one["level"] != "job"]

    assert [(one["kind"], one["subject"].get("rank")) for one in accused] == (
        [expected] if expected else []
    )
    assert [one["onset_step"] for one in accused] == (
        [pytest.approx(onset_step, abs=10)] if expected else []
    )


def test_traces(real_runs: Path) -> None:
    """The public traces: one sick worker in the first, an uneven last stage in the second."""
    traces = real_runs.parent / "straggler-traces"
    sick = answer(traces / "trace-AR.parquet")["verdicts"]
    uneven = answer(traces / "trace-ST.parquet")["verdicts"]

    assert [(one["subject"]["dp"], one["subject"]["pp"]) for one in sick] == [(0, 0)]
    assert [(one["kind"], one["subject"]["pp"]) for one in uneven] == [("imbalance", 3)]


def test_minibatch_times(real_runs: Path) -> None:
    """The public mini-batch tables: two workers in their windows, and a constant spread is none."""
    tables = real_runs.parent / "minibatch-times"
    found = answer(tables / "job_1_norm.csv")["verdicts"]
    quiet = answer(tables / "job_2_norm.csv")["verdicts"]

    assert [
        (one["subject"]["worker"], one["onset_step"], one["cleared_step"]) for one in found
    ] == [(4, 81, 321), (6, 1811, 1951)]
    assert quiet == []
