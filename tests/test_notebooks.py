"""Tests of the notebooks: they run from a clean kernel, call functions, and keep no outputs."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
BOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAX_SECONDS = 60


def those(books: list[Path]) -> list[Any]:
    """Notebooks as parameters that are called by their name."""
    return [pytest.param(book, id=book.stem) for book in books]


def run(book: Path, folder: Path) -> dict[str, Any]:
    """A notebook after a clean kernel has run all of it, in a folder."""
    convert = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout"]
    limit = f"--ExecutePreprocessor.timeout={MAX_SECONDS}"
    alone = {name: text for name, text in os.environ.items() if name != "PACELINE_STORE"}
    done = subprocess.run(
        [*convert, limit, str(book)],
        cwd=folder,
        env=alone | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("book", those(BOOKS))
def test_runs(book: Path, tmp_path: Path) -> None:
    """Each cell runs on the simulated fleet, and shows its answer and nothing else."""
    done = run(book, tmp_path)

    cells = [cell for cell in done["cells"] if cell["cell_type"] == "code"]
    assert [len(cell["outputs"]) for cell in cells] == [1] * len(cells)
    assert [one["output_type"] for cell in cells for one in cell["outputs"]] == [
        "execute_result"
    ] * len(cells)


@pytest.mark.parametrize("book", those(BOOKS))
def test_stripped(book: Path) -> None:
    """The repository keeps questions, not answers: no output, no count, and ids that stay."""
    told = json.loads(book.read_text(encoding="utf-8"))
    cells = [cell for cell in told["cells"] if cell["cell_type"] == "code"]
    ids = [cell["id"] for cell in told["cells"]]

    assert [(cell["outputs"], cell["execution_count"]) for cell in cells] == [([], None)] * len(
        cells
    )
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("book", those(BOOKS))
def test_defines_nothing(book: Path) -> None:
    """A notebook calls functions of the library and defines none."""
    told = json.loads(book.read_text(encoding="utf-8"))
    program = "\n".join(
        "".join(cell["source"]) for cell in told["cells"] if cell["cell_type"] == "code"
    )
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

    assert [node for node in ast.walk(ast.parse(program)) if isinstance(node, kinds)] == []
