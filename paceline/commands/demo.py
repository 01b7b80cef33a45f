"""`paceline demo`: the main job on the simulated ORION-256, end to end."""

import threading
import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from collectors.sniffing import ReadOptions
from dashboards.boards import build_boards
from dashboards.files import build_files
from paceline.analysis import Analysis, AnalysisParams, analyze
from paceline.commands.arguments import refused
from paceline.output import analysis_text, write_analysis
from paceline.progress import progress_bar
from paceline.simulation.orion import SCENARIOS, simulate
from paceline.sources import find_files, read_sources
from paceline.utilisation import utilisation_alert
from slo.rule_tests import burn_rule_tests
from slo.rules import burn_rules
from slo.specs import load_ready

NOTE = "Data: SIMULATED. ORION-256 is ILLUSTRATIVE: 32 nodes with 8 GPUs each, never built."


def demo_command(
    scenario: Annotated[
        str, typer.Option(help=f"One of: {', '.join(SCENARIOS)}.")
    ] = "throttled-gpu",
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Folder for all it writes: 180 MB, report, rules, boards."
        ),
    ] = Path("out"),
    seed: Annotated[int, typer.Option(help="Other noise, another culprit.")] = 7,
    *,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show the report in a browser until Ctrl-C.")
    ] = False,
) -> None:
    """Simulate a cluster in its sources' own formats and run the whole pipeline on it.

    Example: paceline demo --scenario dirty-link --out demo

    Exit 0: ran. 2: no such scenario, or the folder cannot be written to.
    """
    if scenario not in SCENARIOS:
        raise refused(f"no scenario '{scenario}'; known: {', '.join(SCENARIOS)}")
    folder = out / scenario
    typer.echo(f"1/4 Simulating {scenario} into {folder / 'sources'} ...")
    try:
        simulate(scenario, folder, seed=seed)
    except OSError as error:
        raise refused(f"cannot write to {folder}: {error.strerror}; give another --out") from error
    analysis = _analysis(folder / "sources")
    typer.echo("4/4 Writing report, rules and dashboards ...\n")
    report, machine = write_analysis(analysis, folder, f"ORION-256: {scenario}", (NOTE,))
    typer.echo(f"{NOTE}\n")
    typer.echo(analysis_text(analysis))
    typer.echo(f"An alert on GPU utilisation: {utilisation_alert(analysis.reading.samples)}.\n")
    _write_code(folder, report, machine)
    if serve:
        _serve(folder)


def _analysis(sources: Path) -> Analysis:
    console = Console(stderr=True)
    files = find_files([sources])
    typer.echo(f"2/4 Reading {len(files)} files ...")
    with progress_bar("Reading", console) as say:
        reading = read_sources(files, ReadOptions(), say)
    typer.echo("3/4 Detecting ...")
    with progress_bar("Detecting", console) as say:
        return analyze(reading, AnalysisParams(), say)


def _write_code(folder: Path, report: Path, machine: Path) -> None:
    """Write rules and dashboards beside the report, and print where everything is."""
    rules = folder / "rules"
    rules.mkdir(parents=True, exist_ok=True)
    typer.echo(f"Report      {report}")
    typer.echo(f"Machines    {machine}")
    objective = load_ready()
    name = f"{objective.name}.rules.yml"
    (rules / name).write_text(burn_rules(objective), encoding="utf-8")
    tests = rules / f"{objective.name}.rules.test.yml"
    tests.write_text(burn_rule_tests(objective, rules_file=name), encoding="utf-8")
    typer.echo(f"Rules       {rules / name}")
    typer.echo(f"Rule tests  {tests}")
    for path in build_files(build_boards(), folder / "dashboards"):
        typer.echo(f"Dashboard   {path}")


def _serve(folder: Path) -> None:
    """Serve the folder on loopback until the user stops it."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    address = f"http://127.0.0.1:{server.server_port}/report.html"
    typer.echo(f"Serving {address} (Ctrl-C ends)")
    threading.Timer(0.2, webbrowser.open, [address]).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
