"""What Xid and SXid numbers mean: a table that comes as a data file, and may be one's own.

What a line itself says of its fault beats the table where it does.

Source: `collectors/hosts/xid_table.toml`, which names its own sources and where they disagree.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

import polars as pl

CLASSES: Final = ("app", "soft", "hardware", "link", "follow", "info", "unknown")
"""What a number can be; see the data file."""

UNKNOWN: Final = "unknown"

_LINE_SEVERITIES: Final = {
    "fatal": "critical",
    "non-fatal": "warning",
    "nonfatal": "warning",
    "correctable": "info",
}
"""Words by which a line of an NVLink or of a switch says how bad its fault is."""

_TABLES: Final = ("classes", "severities", "lines", "actions", "next_steps", "sxid")


class XidTableError(ValueError):
    """A table of Xids is not what it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class XidTable:
    """What numbers mean; every key is a number as text.

    Attributes:
        classes: Xid to one of `CLASSES`; others are unknown.
        severities: Class to the severity of its events.
        actions: Xid to NVIDIA's immediate action.
        next_steps: Xid to NVIDIA's second step.
        hardware_if_fatal: Xids of class link that are hardware when their line says Fatal.
        always_fatal: SXids that hit the whole fabric.
        maybe_fatal: SXids that are fatal if their line says so.
        not_fatal: SXids that are not.
    """

    classes: Mapping[str, str]
    severities: Mapping[str, str]
    actions: Mapping[str, str]
    next_steps: Mapping[str, str]
    hardware_if_fatal: tuple[str, ...]
    always_fatal: tuple[str, ...]
    maybe_fatal: tuple[str, ...]
    not_fatal: tuple[str, ...]

    def class_of(self, code: pl.Expr) -> pl.Expr:
        """Return the class of an Xid number; `unknown` for one that is not listed."""
        return code.replace_strict(self.classes, default=UNKNOWN, return_dtype=pl.String)

    def severity_of(self, class_: pl.Expr) -> pl.Expr:
        """Return the severity of a class; `unknown` for one that has none."""
        return class_.replace_strict(self.severities, default=UNKNOWN, return_dtype=pl.String)

    def action_of(self, code: pl.Expr) -> pl.Expr:
        """Return NVIDIA's immediate action for an Xid; null where none is printed."""
        return code.replace_strict(self.actions, default=None, return_dtype=pl.String)

    def next_step_of(self, code: pl.Expr) -> pl.Expr:
        """Return NVIDIA's second step for an Xid; null where there is none."""
        return code.replace_strict(self.next_steps, default=None, return_dtype=pl.String)


def line_severity(word: pl.Expr) -> pl.Expr:
    """Return the severity that a line's own word says, in any case; null where it says none."""
    return word.str.to_lowercase().replace_strict(
        _LINE_SEVERITIES, default=None, return_dtype=pl.String
    )


def plain_word(word: pl.Expr) -> pl.Expr:
    """Return a line's own word for how bad its fault is as all of them are spelled: `nonfatal`."""
    return word.str.to_lowercase().str.replace("-", "", literal=True)


def load_xid_table(path: Path | None = None) -> XidTable:
    """Return the table in a file.

    Args:
        path: A copy of the data file with other opinions; null takes the one that comes along.

    Raises:
        OSError: The file cannot be read.
        XidTableError: It is no such table; the message says what is wrong.
    """
    if path is None:
        return _own_table()
    return _parsed(path.read_text(encoding="utf-8"), str(path))


@cache
def _own_table() -> XidTable:
    file = resources.files("collectors.hosts").joinpath("xid_table.toml")
    return _parsed(file.read_text(encoding="utf-8"), file.name)


def _parsed(text: str, name: str) -> XidTable:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise XidTableError(f"{name} is no TOML: {error}") from error
    missing = [table for table in _TABLES if not isinstance(data.get(table), dict)]
    if missing:
        raise XidTableError(
            f"{name} lacks {', '.join(missing)}; wanted {', '.join(_TABLES)}, found "
            f"{', '.join(data) or 'nothing'}: start from a copy of collectors/hosts/xid_table.toml"
        )
    sets = {key: _numbers(numbers, name) for key, numbers in data["sxid"].items()}
    return XidTable(
        classes=_inverted(data["classes"], name, CLASSES),
        severities={str(key): str(value) for key, value in data["severities"].items()},
        actions=_inverted(data["actions"], name),
        next_steps=_inverted(data["next_steps"], name),
        hardware_if_fatal=_numbers(data["lines"].get("hardware_if_fatal", ""), name),
        always_fatal=sets.get("always_fatal", ()),
        maybe_fatal=sets.get("maybe_fatal", ()),
        not_fatal=sets.get("not_fatal", ()),
    )


def _inverted(
    lists: Mapping[str, object], name: str, known: tuple[str, ...] | None = None
) -> dict[str, str]:
    """Return number to word of a table of words with their numbers."""
    strange = [word for word in lists if known is not None and word not in known]
    if strange:
        raise XidTableError(f"{name}: no class '{strange[0]}'; known: {', '.join(CLASSES)}")
    found: dict[str, str] = {}
    for word, numbers in lists.items():
        for number in _numbers(numbers, name):
            if found.setdefault(number, word) != word:
                raise XidTableError(f"{name}: {number} is both {found[number]} and {word}")
    return found


def _numbers(text: object, name: str) -> tuple[str, ...]:
    """Return the numbers of a list in print, such as `8 11 39-41`."""
    numbers: list[str] = []
    for word in str(text).split():
        bounds = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", word)
        if not bounds:
            raise XidTableError(f"{name}: '{word}' is no number or range such as 39-41")
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        numbers.extend(str(number) for number in range(first, last + 1))
    return tuple(numbers)
