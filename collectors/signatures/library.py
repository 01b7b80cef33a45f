"""Read the library of failures: families, what they mean, what helped, and how they look.

It comes along as `library.yml`; a file of the same form adds families of one's own.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import polars as pl
import yaml

from collectors.frames import schema_of

SIGNATURES: Final = schema_of(
    {
        "family": pl.String,
        "title": pl.String,
        "meaning": pl.String,
        "helped": pl.String,
        "events": pl.List(pl.String),
        "patterns": pl.List(pl.String),
        "examples": pl.List(pl.String),
    }
)
"""One family of failures. Rows are in order of precedence: the first whose event (`kind` or
`kind:code`, see `EVENTS`) or pattern fits has the line. `examples` are wordings, never none."""

_TEXTS: Final = ("title", "meaning", "helped")

_LISTS: Final = ("events", "patterns", "examples")

_SAMPLE: Final = (
    "a family looks so:\n"
    "my_family:\n"
    "  title: What people call it\n"
    "  meaning: What happened\n"
    "  helped: What one does\n"
    "  examples: |\n"
    "    a line as the log has it\n"
    "    another wording"
)


_KINDS: Final[Mapping[str, str]] = {
    "dict": "fields",
    "list": "a list",
    "str": "a text",
    "bool": "yes or no",
    "NoneType": "nothing",
}


class SignatureFileError(ValueError):
    """A file of failures is not what it should be."""


_Row: TypeAlias = dict[str, Any]


def read_signatures(path: Path | None = None) -> pl.DataFrame:
    """Return the families that come along, and before them those of a file.

    Args:
        path: A file of one's own; null: none. A family of a name that comes along replaces it.

    Returns:
        `SIGNATURES`, in order of precedence.

    Raises:
        SignatureFileError: The file is no YAML, or not of the form.
        OSError: The file cannot be read.
    """
    own = [] if path is None else _rows(_text_of(path), path.name)
    named = {row["family"] for row in own}
    shipped = [row for row in _shipped() if row["family"] not in named]
    return pl.DataFrame([*own, *shipped], schema=SIGNATURES)


def any_pattern(signatures: pl.DataFrame) -> str | None:
    """Return the pattern that fits where any pattern of some families does; null without any.

    Args:
        signatures: `SIGNATURES`.
    """
    each = signatures["patterns"].explode(empty_as_null=False, keep_nulls=False).to_list()
    return "|".join(f"(?:{one})" for one in each) or None


@cache
def _shipped() -> tuple[_Row, ...]:
    file = resources.files("collectors.signatures") / "library.yml"
    return tuple(_rows(file.read_text(encoding="utf-8"), "library.yml"))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SignatureFileError(
            f"{path.name}: wanted UTF-8, found other bytes at {error.start}; save it as UTF-8"
        ) from error


def _rows(text: str, name: str) -> list[_Row]:
    """Return the families of a file, as rows of `SIGNATURES`."""
    whole = _loaded(text, name)
    if not isinstance(whole, dict):
        raise SignatureFileError(
            f"{name}: wanted families by name, found {_kind(whole)}; {_SAMPLE}"
        )
    families = cast("Mapping[object, object]", whole)
    return [_row(family, told, name) for family, told in families.items()]


def _loaded(text: str, name: str) -> object:
    """Return what a file holds; what YAML cannot be built into is refused like what is none."""
    try:
        _refuse_doubles(yaml.compose(text, yaml.SafeLoader), name)
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, SignatureFileError):
            raise
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 1}" if where else ""
        what = getattr(error, "problem", None) or error
        raise SignatureFileError(
            f"{name}: wanted YAML, found what is none{line} ({what}); put wordings into a block "
            f"after 'examples: |', where nothing needs quotes; {_SAMPLE}"
        ) from error


def _refuse_doubles(node: yaml.Node | None, name: str) -> None:
    """Refuse a family that is told twice: the first would be lost without a word."""
    if not isinstance(node, yaml.MappingNode):
        return
    names = [str(key.value) for key, _ in node.value]
    for at, family in enumerate(names):
        if family in names[:at]:
            raise SignatureFileError(
                f"{name}: wanted each family once, found '{family}' twice; join the two"
            )


def _row(family: object, told: object, name: str) -> _Row:
    where = f"{name}: family '{family}'"
    if not isinstance(family, str) or not isinstance(told, dict):
        raise SignatureFileError(
            f"{where}: wanted a name and its fields, found {_kind(told)}; {_SAMPLE}"
        )
    fields = cast("Mapping[object, object]", told)
    known = (*_TEXTS, *_LISTS)
    odd = sorted(str(key) for key in fields if key not in known)
    if odd:
        raise SignatureFileError(
            f"{where}: wanted {', '.join(known)}, found '{odd[0]}'; rename it or take it out"
        )
    texts = {key: _one_text(fields.get(key), where, key) for key in _TEXTS}
    lists = {key: _texts(fields.get(key), where, key) for key in _LISTS}
    if not lists["examples"]:
        raise SignatureFileError(f"{where}: wanted 'examples', found none; {_SAMPLE}")
    _refuse_patterns(lists["patterns"], where)
    return {"family": family, **texts, **lists}


def _one_text(value: object, where: str, key: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SignatureFileError(
            f"{where}: wanted '{key}' as a text, found {_kind(value)}; write '{key}: some words', "
            "in quotes if they hold a colon"
        )
    return value.strip()


def _texts(value: object, where: str, key: str) -> list[str]:
    """Return the texts of a block, one a line, or of a list."""
    parts: object = value.splitlines() if isinstance(value, str) else value
    if parts is None:
        return []
    if not isinstance(parts, list):
        raise SignatureFileError(
            f"{where}: wanted '{key}' as lines, found {_kind(value)}; write '{key}: |' and a line "
            "each below it"
        )
    each = cast("list[object]", parts)
    for part in each:
        if not isinstance(part, str):
            raise SignatureFileError(
                f"{where}: wanted '{key}' as texts, found {_kind(part)} ({part!r:.40}); write "
                f"'{key}: |' and a line each below it"
            )
    return [part.strip() for part in each if isinstance(part, str) and part.strip()]


def _refuse_patterns(patterns: list[str], where: str) -> None:
    for pattern in patterns:
        try:
            fits_nothing = pl.Series([""]).str.contains(pattern)
        except pl.exceptions.ComputeError as error:
            raise SignatureFileError(
                f"{where}: wanted a regular expression (Rust's, without look-around), found "
                f"'{pattern}'; put a backslash before signs that mean themselves, or drop it: "
                "examples alone do"
            ) from error
        if fits_nothing.all():
            raise SignatureFileError(
                f"{where}: wanted a pattern of lines, found '{pattern}', which fits any; add words"
            )


def _kind(value: object) -> str:
    """Return what a value is, in words for people."""
    names = {
        "dict": "fields",
        "list": "a list",
        "str": "a text",
        "bool": "yes or no",
        "NoneType": "nothing",
    }
    name = type(value).__name__
    return names.get(name, f"a value of type {name}")
