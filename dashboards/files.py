"""The boards as files: writes them, and compares a folder with what would be written."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from dashboards.shipping.changes import SUMS_FILE
from dashboards.shipping.fingerprints import build_sums

JSON_FOLDER: Final = Path(__file__).parent / "json"
"""Where the committed boards stand, so that a reader can open one without building it."""


def build_files(boards: Mapping[str, str], folder: Path) -> list[Path]:
    """Write every board into a folder and return the files, by uid.

    Their sums stand beside them, so that a later comparison can tell an edit from an update.

    Args:
        boards: Text by uid.
        folder: Made when it is not there. Files of other names stay as they are.

    Raises:
        OSError: The folder cannot be made or written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / SUMS_FILE, build_sums(boards))
    return [_write(folder / f"{uid}.json", text) for uid, text in sorted(boards.items())]


def check_files(boards: Mapping[str, str], folder: Path) -> list[str]:
    """Return how the JSON files of a folder differ from the boards, a line a file.

    Args:
        boards: Text by uid.
        folder: Where `build_files` wrote them once.

    Raises:
        OSError: A file cannot be read.
    """
    found = {path.name: path for path in (*folder.glob("*.json"), *folder.glob(SUMS_FILE))}
    wanted = {f"{uid}.json": text for uid, text in boards.items()}
    return sorted(_differences(wanted | {SUMS_FILE: build_sums(boards)}, found, folder))


def _differences(
    wanted: Mapping[str, str], found: Mapping[str, Path], folder: Path
) -> Iterator[str]:
    mend = f"write it by: paceline dashboards build --out {folder}"
    for name, text in wanted.items():
        if name not in found:
            yield f"{folder / name}: is missing; {mend}"
        elif found[name].read_bytes() != text.encode():
            yield f"{folder / name}: differs from what the code builds; {mend}"
    for name in found.keys() - wanted.keys():
        yield f"{folder / name}: no board builds it; delete it, or list its board in `BOARDS`"


def _write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path
