"""`--engine`: what works on the partitions of a store."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from collectors.storage.store import is_store
from paceline.commands.arguments import refused
from paceline.engines.engines import (
    EngineChoice,
    MissingEngineError,
    UnknownEngineError,
    engine_choice,
    opened_engine,
)
from paceline.engines.partitions import StorePlace
from paceline.engines.spreads import Spread
from paceline.engines.tasks import LostTaskError
from paceline.stored_sources import StoredSpan

EngineOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Judge a store in its partitions: local, ray, or ray@HOST:PORT to join a cluster.",
    ),
]


def chosen_engine(
    name: str | None, paths: Sequence[Path], *, pulls: bool = False
) -> EngineChoice | None:
    """Return the engine that an option names, or refuse it; null if it was not given.

    Args:
        name: What was given.
        paths: What is read; partitions are those of one store.
        pulls: Whether a server is asked beside it.
    """
    if name is None:
        return None
    try:
        choice = engine_choice(name)
    except UnknownEngineError as error:
        raise refused(str(error)) from error
    if len(paths) != 1 or not is_store(paths[0]) or pulls:
        raise refused(
            "--engine works on the partitions of one store; give its folder alone, or no --engine"
        )
    return choice


@contextmanager
def spread_over(
    choice: EngineChoice | None, paths: Sequence[Path], span: StoredSpan
) -> Generator[Spread | None, None, None]:
    """Give what works on the partitions of a store for the block; null without a choice.

    Args:
        choice: By `chosen_engine`.
        paths: The store.
        span: Which part of it.
    """
    if choice is None:
        yield None
        return
    until = None if span.end is None else span.end + timedelta(microseconds=1)
    root = paths[0].resolve() if paths[0].is_dir() else paths[0]
    place = StorePlace(root=str(root), since=span.start, until=until)
    try:
        with opened_engine(choice) as engine:
            yield Spread(engine=engine, place=place)
    except (MissingEngineError, LostTaskError, ConnectionError) as error:
        raise refused(str(error), code=1) from error
