"""The door for objectives: specs of every known form in, and the ones that come with the package.

Every document of every file is read, whichever form it has; a form that is not known is refused.
"""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from slo import openslo, openslo_alpha, pyrra, sloth, sloth_windows
from slo.documents import WAY_OUT, Document, DocumentError, split_documents
from slo.maintenance_documents import KIND as MAINTENANCE
from slo.maintenance_documents import VERSION as PACELINE
from slo.maintenance_documents import exclude_maintenance
from slo.objectives import Objective
from slo.openslo_shared import Shared, read_shared

TRAINING_STEPS: Final = "training-steps"
"""The ready objective that is meant where none is named."""
_SUFFIXES: Final = (".yml", ".yaml", ".json")
_UNREAD: Final = {
    "openslo/v2alpha": "is not settled yet; write openslo/v1",
    "openslo/v2alpha1": "is not settled yet; write openslo/v1",
    "openslo.com/v2alpha": "is not settled yet; write openslo/v1",
    "openslo/v1beta1": "was a draft; write openslo/v1",
    "n9/v1alpha": "is Nobl9's own; export OpenSLO",
    "monitoring.coreos.com/v1": "holds rules and no objectives; look at it with `slo check`",
}
"""Forms that are known and not read, and the way out."""


class NoReadyObjectiveError(KeyError):
    """No objective of this name comes with the package."""

    def __str__(self) -> str:
        """Return the message as it is; KeyError would quote it."""
        return str(self.args[0])


def load_objectives(*paths: Path) -> list[Objective]:
    """Return the objectives of files, and of the specs right inside of folders, in their order.

    Args:
        paths: Files, or folders of them; documents may refer to each other across them.

    Raises:
        FileNotFoundError: There is no such file.
        DocumentError: A file is not UTF-8 text.
        ValueError: As `parse_objectives`.
    """
    return objectives_of({str(path): read_text(path) for path in spec_files(*paths)})


def spec_files(*paths: Path) -> list[Path]:
    """Return files, and the specs right inside of folders by name.

    Raises:
        FileNotFoundError: There is no such file, or a folder without any spec.
    """
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        specs = [one for one in inside if one == path or one.suffix in _SUFFIXES]
        read = [one for one in specs if one.is_file()]
        if not read:
            raise FileNotFoundError(
                f"wanted a document of objectives, found no file {path}; {WAY_OUT}"
            )
        found += read
    return found


def parse_objectives(text: str, *, source: str) -> list[Objective]:
    """Return the objectives of a text with one or more documents, in their order.

    Args:
        text: YAML; every document of it is read.
        source: What messages call the text.

    Raises:
        DocumentError: No YAML, a form that is not known, no objective, two of one name, an unknown
            or missing field, a wrong type.
        ExclusionError: Maintenance without a zone, a length or an author.
        ValueError: As `openslo_objectives`, `sloth_objectives` and `pyrra_objectives`.
    """
    return objectives_of({source: text})


def load_ready(name: str = TRAINING_STEPS) -> Objective:
    """Return one of the objectives that come with the package.

    Raises:
        NoReadyObjectiveError: None has this name.
    """
    texts = _library()
    file = f"{name}.yml"
    if file not in texts:
        known = ", ".join(one.removesuffix(".yml") for one in texts)
        raise NoReadyObjectiveError(f"no ready objective {name!r}; known: {known}")
    (objective,) = objectives_of({file: texts[file]})
    return objective


def load_library() -> list[Objective]:
    """Return every objective that comes with the package, by name."""
    return objectives_of(_library())


def _library() -> dict[str, str]:
    """Return the texts that come with the package, a file an objective of its name, by name."""
    folder = files("slo").joinpath("library")
    texts = {one.name: one.read_text(encoding="utf-8") for one in folder.iterdir()}
    return {name: texts[name] for name in sorted(texts)}


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        DocumentError: It is not UTF-8 text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path.name}: wanted UTF-8 text, found {error}; {WAY_OUT}") from error


def objectives_of(texts: Mapping[str, str]) -> list[Objective]:
    """Return the objectives of texts that may refer to each other, in their order.

    Args:
        texts: YAML by what messages call it.

    Raises:
        ValueError: As `parse_objectives`.
    """
    documents = [
        document for source, text in texts.items() for document in split_documents(text, source)
    ]
    shared = read_shared(one for one in documents if one.version == openslo.VERSION)
    windows = [sloth_windows.read_alert_windows(one) for one in documents if _is_windows(one)]
    found: dict[str, Objective] = {}
    for document in documents:
        for objective in _read(document, shared, windows):
            if objective.name in found:
                raise DocumentError(
                    f"{document.where}: wanted a name of its own, found {objective.name!r} again"
                )
            found[objective.name] = objective
    if not found:
        raise DocumentError(f"{', '.join(texts)}: wanted at least one objective; {WAY_OUT}")
    maintenance = [one for one in documents if (one.version, one.kind) == (PACELINE, MAINTENANCE)]
    return exclude_maintenance(list(found.values()), maintenance)


def _is_windows(document: Document) -> bool:
    """Return whether a document holds Sloth's windows."""
    return (document.version, document.kind) == (sloth.KUBERNETES_VERSION, sloth_windows.KIND)


def _read(
    document: Document, shared: Shared, windows: list[sloth_windows.AlertWindows]
) -> list[Objective]:
    """Return the objectives of a document; none where it only says something about others."""
    form = (document.version, document.kind)
    if form == (openslo.VERSION, "SLO"):
        return openslo.openslo_objectives(document, shared)
    if form == (openslo_alpha.VERSION, "SLO"):
        modern = openslo_alpha.modernised(document)
        return [each for one in modern for each in openslo.openslo_objectives(one, shared)]
    if form in ((sloth.VERSION, None), (sloth.KUBERNETES_VERSION, sloth.KUBERNETES_KIND)):
        return sloth.sloth_objectives(document, windows)
    if form == (pyrra.VERSION, pyrra.KIND):
        return pyrra.pyrra_objectives(document)
    _refuse_unknown(document)
    return []


_SILENT: Final = (
    *((openslo.VERSION, kind) for kind in openslo.KINDS),
    (openslo_alpha.VERSION, "Service"),
    (sloth.KUBERNETES_VERSION, sloth_windows.KIND),
    (PACELINE, MAINTENANCE),
)
"""Forms that say something about objectives, and are none."""


def _refuse_unknown(document: Document) -> None:
    """Refuse a document of a form that is not known."""
    version, kind = document.version, document.kind
    if (version, kind) in _SILENT:
        return
    if "groups" in document.content and version is None:
        raise DocumentError(
            f"{document.where}: wanted objectives, found rules; look at them with `slo check`"
        )
    hint = _UNREAD.get(str(version), "")
    known = "openslo/v1, openslo/v1alpha, prometheus/v1, sloth.slok.dev/v1, pyrra.dev/v1alpha1"
    raise DocumentError(
        f"{document.where}: wanted one of {known} and paceline/v1 with a kind of theirs "
        f"({', '.join(openslo.KINDS)} ...), found {version!r} of kind {kind!r}"
        + (f", which {hint}" if hint else f"; {WAY_OUT}")
    )
