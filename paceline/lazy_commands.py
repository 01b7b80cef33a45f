"""Commands that are loaded when they are run: help, and a wrong word, load none of them.

Readers, detectors and drawings take seconds to load on a busy host, and one command needs a part.
"""

import importlib
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyCommand:
    """A command, or a group of them, that is not loaded yet.

    Attributes:
        name: What people type.
        module: Where it is.
        attribute: What it is called there: a function, or a `typer.Typer`.
        summary: The first line of its help.
    """

    name: str
    module: str
    attribute: str
    summary: str

    def load(self) -> Any:  # noqa: ANN401 -- Typer keeps the class of its commands to itself
        """Return the command as Typer runs it."""
        found = getattr(importlib.import_module(self.module), self.attribute)
        outer = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        if isinstance(found, typer.Typer):
            outer.add_typer(found, name=self.name)
        else:
            outer.command(self.name)(found)
        return get_group(outer).commands[self.name]


class _Commands(MutableMapping[str, Any]):
    """Commands by name, each loaded when it is asked for."""

    def __init__(self, lazy: tuple[LazyCommand, ...]) -> None:
        self._lazy = {one.name: one for one in lazy}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 -- see LazyCommand.load
        if name not in self._loaded:
            self._loaded[name] = self._lazy[name].load()
        return self._loaded[name]

    def __setitem__(self, name: str, command: object) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._lazy[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lazy)

    def __len__(self) -> int:
        return len(self._lazy)


def lazy_group(lazy: tuple[LazyCommand, ...]) -> type[TyperGroup]:
    """Return the class of a group with these commands, for `typer.Typer(cls=...)`."""

    class LazyGroup(TyperGroup):
        def __init__(self, **settings: Any) -> None:  # noqa: ANN401 -- handed through to Typer
            super().__init__(**settings)
            self.commands = _Commands(lazy)

        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 -- as Typer calls it
            return list(self.commands)

        def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 -- likewise
            whole, self.commands = self.commands, _summaries(lazy)
            super().format_help(ctx, formatter)
            self.commands = whole

    return LazyGroup


def _summaries(lazy: tuple[LazyCommand, ...]) -> dict[str, Any]:
    """Return commands that can say what they do, and nothing else."""
    return {one.name: TyperCommand(one.name, help=one.summary) for one in lazy}
