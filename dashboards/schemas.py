"""Checks boards against Grafana's own types, made into JSON Schemas by `benchmarks/grafana`.

The types are stricter than Grafana in one point and laxer in none that we use: a required option
that is missing is filled in by the panel's defaults, so missing options are fine here. Some keys
that Grafana writes and reads are absent from the types.
"""

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from dashboards.jsontree import Json, panels_of

FILES_BY_TYPE: Final = {"state-timeline": "statetimeline"}
"""Kinds of panels whose folder in the package is spelt otherwise."""

UNTYPED_KEYS: Final = frozenset(
    {
        *("definition", "fieldMinMax", "insertNulls", "spanNulls"),
        *("textFormat", "titleFormat"),  # how Prometheus words an annotation
    }
)
"""What Grafana and its Prometheus data source write and read, and the types leave out."""


class NoSchemasError(FileNotFoundError):
    """A folder does not hold the schemas of Grafana."""


class NoValidatorError(ImportError):
    """The library that validates is not installed."""


def check_schemas(boards: Mapping[str, Json], folder: Path) -> list[str]:
    """Return every breach of Grafana's types, a line each, by board and place.

    Args:
        boards: Boards by uid.
        folder: Where `benchmarks/grafana/schemas.mjs` wrote.

    Raises:
        NoSchemasError: The folder does not hold them.
        NoValidatorError: `jsonschema` is not installed.
    """
    if not (folder / "dashboard.Dashboard.json").is_file():
        raise NoSchemasError(
            f"no dashboard.Dashboard.json in {folder}; make the schemas by "
            "benchmarks/grafana/schemas.mjs"
        )
    schemas = _Schemas(folder)
    return [
        f"{uid}: {line}"
        for uid, board in sorted(boards.items())
        for line in schemas.breaches(board)
    ]


class _Schemas:
    """The schemas of a folder, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._validators: dict[str, Any] = {}

    def breaches(self, board: Json) -> Iterator[str]:
        """Yield the breaches of a board and of each of its panels."""
        outer = {key: value for key, value in board.items() if key != "panels"}
        outer["annotations"] = {"list": [_annotation(one) for one in _annotations(board)]}
        yield from self._against("dashboard.Dashboard", outer, "board")
        for panel in panels_of(board):
            place = f"panel {panel.get('id')}"
            if panel.get("type") == "row":
                row: Json = panel | {"panels": []}
                yield from self._against("dashboard.RowPanel", row, place)
            else:
                yield from self._of_panel(panel, place)

    def _of_panel(self, panel: Json, place: str) -> Iterator[str]:
        yield from self._against("dashboard.Panel", panel, place)
        kind = str(panel.get("type"))
        name = FILES_BY_TYPE.get(kind, kind)
        custom = panel.get("fieldConfig", {}).get("defaults", {}).get("custom")
        yield from self._against(f"{name}.Options", panel.get("options", {}), f"{place} options")
        if custom is not None:
            yield from self._against(f"{name}.FieldConfig", custom, f"{place} custom")

    def _against(self, name: str, tree: Json, place: str) -> Iterator[str]:
        if name not in self._validators:
            self._validators[name] = _validator(self._folder / f"{name}.json")
        typed = {key: value for key, value in tree.items() if key not in UNTYPED_KEYS}
        for error in self._validators[name].iter_errors(_typed(typed)):
            where = "/".join(str(part) for part in error.absolute_path)
            yield f"{place} {where}: {error.message[:200]} [schema]"


def _validator(path: Path) -> Any:  # noqa: ANN401 -- the library is loaded only when asked for
    try:
        library = import_module("jsonschema")
    except ImportError as error:
        raise NoValidatorError(
            "Grafana's types are checked by jsonschema: install it, or leave the schemas out"
        ) from error
    if not path.is_file():
        raise NoSchemasError(f"no {path.name} in {path.parent}; its kind of panel has no schema")
    schema = json.loads(path.read_text(encoding="utf-8"))
    return library.Draft7Validator(_optional(schema) if ".Options" in path.name else schema)


def _annotations(board: Json) -> list[Json]:
    return list(board.get("annotations", {}).get("list", []))


def _annotation(annotation: Json) -> Json:
    """Return an annotation without a target of Prometheus: the type is that of Grafana's own."""
    is_query = "expr" in annotation.get("target", {})
    return {key: value for key, value in annotation.items() if not (is_query and key == "target")}


def _optional(schema: object) -> object:
    """Return a schema whose keys may all be missing."""
    if isinstance(schema, dict):
        items = cast("Json", schema).items()
        return {k: _optional(v) for k, v in items if k != "required" or not isinstance(v, list)}
    if isinstance(schema, list):
        return [_optional(item) for item in cast("list[object]", schema)]
    return schema


def _typed(tree: object) -> object:
    """Return a tree without the keys that Grafana's types leave out."""
    if isinstance(tree, dict):
        items = cast("Json", tree).items()
        return {key: _typed(value) for key, value in items if key not in UNTYPED_KEYS}
    if isinstance(tree, list):
        return [_typed(item) for item in cast("list[object]", tree)]
    return tree
