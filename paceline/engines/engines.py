"""What spreads work over partitions: this process, or Ray. Never a scheduler of ours.

A partition is a part of the data that is judged by itself, and never a share of the machine: which
partitions there are depends on the data alone. So the results, their order and each number in them
are the same with any engine and any count of workers.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from paceline.engines.local import LocalEngine

Part = TypeVar("Part")
Result = TypeVar("Result")

LOCAL: Final = "local"
RAY: Final = "ray"
NAMES: Final = (LOCAL, RAY)


class UnknownEngineError(ValueError):
    """No engine is called so."""


class MissingEngineError(ImportError):
    """The engine is an extra that is not installed."""


class Engine(Protocol):
    """Does work over partitions."""

    def map(self, work: Callable[[Part], Result], partitions: Sequence[Part]) -> Iterator[Result]:
        """Return what the work gives for each partition, in the order of the partitions.

        Args:
            work: A function of a module, or an object that can be pickled; it depends on its
                partition alone, since a task that was lost is done again.
            partitions: What it is done on; can be pickled.

        Raises:
            LostTaskError: A task was lost again and again with its worker.
            Exception: What the work raised.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """Which engine to use.

    Attributes:
        name: One of `NAMES`.
        address: Of a Ray cluster to join; null starts one on loopback that ends with the work.
        workers: Worker processes that are started; null is one a core.
    """

    name: str = LOCAL
    address: str | None = None
    workers: int | None = None


def engine_choice(text: str) -> EngineChoice:
    """Return the engine that a setting names: `local`, `ray`, or `ray@HOST:PORT` to join one.

    Raises:
        UnknownEngineError: It names none.
    """
    name, at, address = text.strip().partition("@")
    if name not in NAMES or (at and (name != RAY or not address)):
        raise UnknownEngineError(
            f"no engine '{text}'; known: {', '.join(NAMES)}, and ray@HOST:PORT to join a cluster"
        )
    return EngineChoice(name=name, address=address or None)


@contextmanager
def opened_engine(choice: EngineChoice) -> Generator[Engine, None, None]:
    """Give the engine that was chosen; what was started for it ends with the block.

    Raises:
        MissingEngineError: The engine is not installed.
        NoClusterError: There is no cluster at the address.
    """
    if choice.name == LOCAL:
        yield LocalEngine()
        return
    try:
        from paceline.engines.ray_engine import (  # noqa: PLC0415 -- an extra, asked for by name
            started_ray,
        )
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingEngineError(
            "the engine 'ray' is not installed; pip install 'paceline[ray]', or use --engine local"
        ) from error
    with started_ray(choice.address, choice.workers) as engine:
        yield engine
