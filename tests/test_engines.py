"""Engines: the same results in the same order, whoever does the work and whoever is killed."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paceline.engines.engines import (
    Engine,
    EngineChoice,
    MissingEngineError,
    UnknownEngineError,
    engine_choice,
    opened_engine,
)
from paceline.engines.tasks import MAX_RETRIES, LostTaskError

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("local", EngineChoice(name="local"), id="this process"),
        pytest.param("ray", EngineChoice(name="ray"), id="a cluster of its own"),
        pytest.param(
            " ray@10.0.0.1:6379 ",
            EngineChoice(name="ray", address="10.0.0.1:6379"),
            id="a cluster that is there",
        ),
    ],
)
def test_choice(text: str, expected: EngineChoice) -> None:
    """One setting names the engine, and the cluster to join."""
    assert engine_choice(text) == expected


@pytest.mark.parametrize("text", ["dask", "", "ray@", "local@10.0.0.1:6379", "Ray"])
def test_unknown_engine(text: str) -> None:
    """A word that names no engine is refused with those that do."""
    with pytest.raises(UnknownEngineError) as refused:
        engine_choice(text)

    assert str(refused.value) == (
        f"no engine '{text}'; known: local, ray, and ray@HOST:PORT to join a cluster"
    )


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray the engine says in one line how to get it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    for name in ("ray_edge", "ray_engine"):
        monkeypatch.delitem(sys.modules, f"paceline.engines.{name}", raising=False)

    with (
        pytest.raises(MissingEngineError) as refused,
        opened_engine(EngineChoice(name="ray")),
    ):
        pass

    assert str(refused.value) == (
        "the engine 'ray' is not installed; pip install 'paceline[ray]', or use --engine local"
    )


def test_local_needs_no_ray() -> None:
    """The engine of this process works without what belongs to another."""
    with opened_engine(EngineChoice()) as local:
        assert list(local.map(str, [1, 2])) == ["1", "2"]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 20])
def test_order(engine: Engine, count: int) -> None:
    """Results come in the order of the partitions, whichever is done first."""

    def slow_first(number: int) -> int:
        time.sleep(0.2 if number == 0 else 0.0)
        return number * number

    assert list(engine.map(slow_first, range(count))) == [one * one for one in range(count)]


def test_storage_that_was_away(engine: Engine, tmp_path: Path) -> None:
    """A task whose storage did not answer is done again."""

    def needs_three_tries(name: str) -> str:
        tries = tmp_path / name
        tries.write_text(tries.read_text() + "x" if tries.exists() else "x")
        if len(tries.read_text()) <= MAX_RETRIES:
            raise ConnectionError(name)
        return tries.read_text()

    assert list(engine.map(needs_three_tries, ["a", "b"])) == ["x" * (MAX_RETRIES + 1)] * 2


@pytest.mark.parametrize("error", [OSError("gone"), ValueError("wrong")], ids=["storage", "bug"])
def test_work_that_fails(engine: Engine, error: Exception) -> None:
    """What the work raises comes out as it is, with any engine."""

    def fails(_: int) -> None:
        raise error

    with pytest.raises(type(error), match=str(error)):
        list(engine.map(fails, [1]))


def test_killed_worker(ray: Engine, tmp_path: Path) -> None:
    """A worker that is killed in mid-run changes nothing: its task is done again."""

    def killed_once(number: int) -> tuple[int, int]:
        marker = tmp_path / "killed"
        if number == 2 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number, len(list(tmp_path.iterdir()))

    assert [number for number, _ in ray.map(killed_once, range(5))] == list(range(5))
    assert (tmp_path / "killed").exists()


def test_workers_that_are_always_lost(ray: Engine) -> None:
    """A task that kills every worker ends with a line that says so."""

    def kills(_: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(LostTaskError, match=r"lost with its worker 4 times"):
        list(ray.map(kills, [1]))


def test_cluster_of_the_process(ray: Engine) -> None:
    """Who has a cluster already works on it, and does not end it."""
    numbers: Sequence[int] = [3, 1, 2]
    with opened_engine(EngineChoice(name="ray")) as same:
        assert list(same.map(str, numbers)) == ["3", "1", "2"]

    assert list(ray.map(str, numbers)) == ["3", "1", "2"]


def test_closed_to_other_machines(ray: Engine) -> None:
    """What is started listens on loopback, and nobody is called."""

    def address(_: int) -> tuple[str, str | None]:
        from ray.util import get_node_ip_address  # noqa: PLC0415 -- asked in a worker

        return get_node_ip_address(), os.environ.get("RAY_USAGE_STATS_ENABLED")

    assert list(ray.map(address, [1])) == [("127.0.0.1", "0")]
