"""Open evidence: logs, a store, a Prometheus, or the simulated cluster."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

from collectors.readings import FRAMES, Reading
from collectors.sniffing import ReadOptions
from paceline.analysis import reject_reasons
from paceline.library.evidence import Evidence, NoDataError, only_run, silent
from paceline.pulling import PullRequest, as_utc, pull
from paceline.simulation.orion import OrionParams, simulate
from paceline.simulation.scenarios import scenario_named
from paceline.sources import NoSuchPathError
from paceline.stored_sources import StoredSpan, read_places, read_store

INCIDENTS: Final[Mapping[str, str]] = MappingProxyType({"INC-2291": "throttled-gpu"})
"""Simulated incidents that have a number, and the scenario that plants each."""

SIMULATED: Final = (
    "SIMULATED: ORION-256, scenario {scenario}, seed {seed}. The cluster is ILLUSTRATIVE: never "
    "built."
)


def open_logs(
    *paths: str | Path, run: str | None = None, options: ReadOptions | None = None
) -> Evidence:
    """Return what files and folders hold: logs, scrapes, dumps, accounts; all that can be read.

    Args:
        paths: Files, folders (everything below) and stores; each file is read by its content.
        run: Leave out the rows of other runs; null keeps all.
        options: What files cannot say of themselves: time zone, year, host.

    Raises:
        NoSuchPathError: One of them is not there.
        NoDataError: Nothing in them could be read; the message says why.
        UnknownRunError: No source tells of `run`.
    """
    places = [Path(path) for path in paths]
    try:
        reading = read_places(places, options or ReadOptions(), StoredSpan(), silent)
    except NoSuchPathError as error:
        raise NoSuchPathError(
            f"{error}; it was looked for from {Path.cwd()}: give the whole path"
        ) from error
    name = ", ".join(map(str, places)) or "nothing"
    return only_run(_evidence(name, reading), run)


def open_store(
    url: str | Path,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    run: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Evidence:
    """Return what `paceline collect` filled a store with.

    Args:
        url: The store's folder, or its address in an object storage (`s3://bucket/folder`).
        start: First moment, included; null for the first there is. Without a zone it is in UTC.
        end: Last moment, included; null for the last there is.
        run: Leave out the rows of other runs; null keeps all.
        options: What an object storage wants to know.

    Raises:
        NoStoreError: There is none.
        UnreadableStoreError: A newer Paceline wrote it, or files of it are torn or gone.
        NoDataError: It holds nothing of that time.
        UnknownRunError: No source tells of `run`.
    """
    span = StoredSpan(start=start and as_utc(start), end=end and as_utc(end))
    return only_run(_evidence(str(url), read_store(str(url), span, options)), run)


def open_prometheus(  # noqa: PLR0913 -- one argument a setting of a notebook
    url: str,
    *,
    start: datetime,
    end: datetime,
    job: str | None = None,
    match: Mapping[str, str] | None = None,
    run: str | None = None,
) -> Evidence:
    """Return what the exporters of devices and fabrics told a Prometheus.

    Args:
        url: The server's address, such as `http://localhost:9090`.
        start: First moment, included; without a zone it is in UTC.
        end: Last moment, included.
        job: Take only series of this scrape job; null takes all.
        match: Take only series with these labels; null takes all.
        run: Leave out the rows of other training runs; null keeps all.

    Raises:
        PullError: The server does not answer, or refuses; the message says which.
        NoDataError: It has nothing of that time that a detector looks at.
        UnknownRunError: No source tells of `run`.
    """
    labels = dict(match or {}) | ({} if job is None else {"job": job})
    request = PullRequest.of(url, start, end, labels)
    evidence = _evidence(f"{url}, {request.start:%F %T} to {request.end:%F %T} UTC", pull(request))
    return only_run(replace(evidence, pulled=request), run)


def simulated(
    scenario: str = "INC-2291",
    *,
    seed: int = 7,
    params: OrionParams | None = None,
    folder: str | Path | None = None,
) -> Evidence:
    """Return what a simulated cluster's sources tell, read back as any cluster's would be.

    Args:
        scenario: `INC-2291`, or a name that `paceline demo --help` lists.
        seed: Other noise, another culprit.
        params: Size, rhythm and noise of the cluster; null is ORION-256 with 32 nodes.
        folder: Keep the sources here, and read them from here the next time; null keeps nothing.

    Raises:
        UnknownScenarioError: No scenario is called so; the message lists those that are.
        OSError: The folder cannot be written to.
    """
    name = scenario_named(INCIDENTS.get(scenario, scenario)).name
    if folder is not None:
        reading = _simulation(name, seed, params, Path(folder) / _folder_name(name, seed, params))
    else:
        with TemporaryDirectory(prefix="paceline-") as scratch:
            reading = _simulation(name, seed, params, Path(scratch) / name)
    note = SIMULATED.format(scenario=name, seed=seed)
    return replace(_evidence(f"ORION-256: {scenario}", reading), notes=(note,))


def _simulation(name: str, seed: int, params: OrionParams | None, folder: Path) -> Reading:
    """Return what a scenario's sources say, written first where they are not there yet."""
    if not (folder / "truth.json").exists():  # written last: without it a run was broken off
        simulate(name, folder, seed=seed, params=params)
    return read_places([folder / "sources"], ReadOptions(), StoredSpan(), silent)


def _folder_name(name: str, seed: int, params: OrionParams | None) -> str:
    """Return a name that another seed or size does not share."""
    size = "" if params is None else f"-{sha256(repr(params).encode()).hexdigest()[:8]}"
    return f"{name}-{seed}{size}"


def _evidence(name: str, reading: Reading) -> Evidence:
    """Return evidence, or refuse a reading without a row."""
    if any(reading.frame(frame).height for frame in FRAMES if frame != "rejects"):
        return Evidence(name=name, reading=reading)
    reasons = [f"{one.count} x {one.reason}" for one in reject_reasons(reading.rejects)]
    why = f"; rejected: {', '.join(reasons)}" if reasons else ""
    raise NoDataError(
        f"nothing to read in {name}{why}; give logs, scrapes, steps or dumps, or another span"
    )
