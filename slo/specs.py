"""The door for objectives: files of specs in, and the ones that come with the package.

Every document of a file is read, whichever of the known forms it has.
"""

from importlib.resources import files
from pathlib import Path
from typing import Final

from slo.documents import WAY_OUT, DocumentError
from slo.objectives import Objective
from slo.openslo import openslo_objectives

TRAINING_STEPS: Final = "training-steps"
"""The ready objective that is meant where none is named."""


class NoReadyObjectiveError(KeyError):
    """No objective of this name comes with the package."""

    def __str__(self) -> str:
        """Return the message as it is; KeyError would quote it."""
        return str(self.args[0])


def load_objectives(path: Path) -> list[Objective]:
    """Return the objectives of a file, in their order.

    Raises:
        FileNotFoundError: There is no such file.
        DocumentError: The file is not UTF-8 text.
        ValueError: As `parse_objectives`.
    """
    if not path.is_file():
        raise FileNotFoundError(f"wanted an OpenSLO document, found no file {path}; {WAY_OUT}")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path.name}: wanted UTF-8 text, found {error}; {WAY_OUT}") from error
    return parse_objectives(text, source=path.name)


def parse_objectives(text: str, *, source: str) -> list[Objective]:
    """Return the objectives of a text with one or more documents, in their order.

    Args:
        text: YAML; every document of it is read.
        source: What messages call the text.

    Raises:
        ValueError: As `openslo_objectives`.
    """
    return openslo_objectives(text, source=source)


def load_ready(name: str = TRAINING_STEPS) -> Objective:
    """Return one of the objectives that come with the package.

    Raises:
        NoReadyObjectiveError: None has this name.
    """
    library = {objective.name: objective for objective in load_library()}
    if name not in library:
        raise NoReadyObjectiveError(
            f"no ready objective {name!r}; known: {', '.join(sorted(library))}"
        )
    return library[name]


def load_library() -> list[Objective]:
    """Return every objective that comes with the package, by name."""
    folder = files("slo").joinpath("library")
    texts = {one.name: one.read_text(encoding="utf-8") for one in folder.iterdir()}
    return [
        objective
        for name in sorted(texts)
        for objective in parse_objectives(texts[name], source=name)
    ]
