"""`paceline triage`: which known failures logs tell of, and which are new."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from collectors.readings import FRAMES
from collectors.signatures.library import SignatureFileError, read_signatures
from collectors.sniffing import ReadOptions
from collectors.storage.store import is_store
from detectors.triage import TriageParams, find_families
from paceline.commands.arguments import (
    Format,
    FormatOption,
    TimeZoneOption,
    answer,
    refused,
    zone_name,
)
from paceline.file_batches import SourceFile
from paceline.history import read_history
from paceline.progress import progress_bar
from paceline.sources import NoSuchPathError, find_files
from paceline.triage import TriageReader, failure_lines, read_failures
from paceline.triage_output import triage_bytes, triage_text


def triage_command(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Logs, folders of them, or a store.")
    ],
    signatures: Annotated[
        Path | None,
        typer.Option("--signatures", metavar="FILE", help="Failures of your own, as YAML."),
    ] = None,
    output: FormatOption = Format.TEXT,
    time_zone: TimeZoneOption = "UTC",
) -> None:
    """Sort the failures that logs tell of: known families with what helped then, and new ones.

    Example: paceline triage logs/

    Exit 0: ran, with failures or without. 1: nothing could be read. 2: bad arguments.
    """
    try:
        library = read_signatures(signatures)
    except SignatureFileError as error:
        raise refused(str(error)) from error
    except OSError as error:
        raise refused(f"--signatures {signatures} cannot be read: {error.strerror}") from error
    options = ReadOptions(time_zone=zone_name(time_zone))
    stored = read_history([path for path in paths if is_store(path)], options)
    reader = TriageReader.of(library, options)
    with progress_bar("Looking for failures", Console(stderr=True)) as say:
        told = read_failures(_files([path for path in paths if not is_store(path)]), reader, say)
    if not told.is_read and not any(stored.frame(name).height for name in FRAMES):
        raise refused("nothing to read there; give logs, or a store", code=1)
    lines = failure_lines(told, stored.events)
    triage = find_families(lines.lazy(), library.lazy(), TriageParams())
    looked_at = int(lines["count"].sum())
    answer(output, lambda: triage_bytes(triage, looked_at), lambda: triage_text(triage, looked_at))


def _files(paths: list[Path]) -> list[SourceFile]:
    try:
        return find_files(paths)
    except NoSuchPathError as error:
        raise refused(str(error), code=1) from error
