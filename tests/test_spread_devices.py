"""Devices of a store, judged a peer group at a time: the same verdicts on every engine."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.frames import ALIASES, SAMPLES, TIME, conform
from collectors.readings import Reading
from collectors.storage.store import Store
from detectors.device_hosts import find_slow_device_hosts
from detectors.device_parts import DeviceFindings, find_in_part, join_device_parts
from detectors.devices import DeviceParams, find_slow_devices
from paceline.engines.engines import Engine
from paceline.engines.local import LocalEngine
from paceline.engines.partitions import PeerGroup, StorePlace, peer_groups, read_group
from paceline.engines.spread_devices import spread_devices

START = datetime(2026, 1, 5, tzinfo=UTC)
GPUS, TICKS, SLOW = 16, 60, 1.3
PARAMS = DeviceParams()

Part = TypeVar("Part")
Result = TypeVar("Result")


class Backwards:
    """An engine that does the last partition first."""

    def map(self, work: Callable[[Part], Result], partitions: Sequence[Part]) -> Iterator[Result]:
        """Return results in the order of the partitions."""
        done = [work(one) for one in reversed(partitions)]
        return reversed(done)


def quiet(*_: object) -> None:
    """Say nothing."""


def samples_of(values: np.ndarray[Any, Any], signal: str, **names: pl.Expr) -> pl.DataFrame:
    """`SAMPLES` of one signal: a row of values a device, a column a tick of 15 s."""
    devices = pl.DataFrame({"n": np.arange(values.shape[0])}).select(**names)
    times = pl.Series(START.timestamp() * 1e6 + np.arange(values.shape[1]) * 15e6)
    frame = devices.join(
        pl.DataFrame({"time": times.cast(pl.Int64).cast(TIME)}),
        how="cross",
        maintain_order="left_right",
    ).with_columns(value=pl.Series(values.ravel()), signal=pl.lit(signal), source=pl.lit("test"))
    return conform(frame.lazy(), SAMPLES).collect()


def clocks(seed: int, runs: int) -> pl.DataFrame:
    """SM clocks of some runs, of which each but the first has one GPU that becomes slow."""
    rng = np.random.default_rng(seed)
    values = 1980e6 * (1.0 + 0.01 * rng.standard_normal((runs * GPUS, 1)))
    values = values * (1.0 + 0.004 * rng.standard_normal((runs * GPUS, TICKS)))
    for run in range(min(1, runs - 1), runs):
        values[run * GPUS + rng.integers(GPUS), 20:] /= SLOW
    gpu = pl.col("n")
    return samples_of(
        values,
        "sm_clock_hertz",
        host=pl.format("h{}", gpu // 8),
        device_kind=pl.lit("gpu"),
        device=pl.format("GPU-{}", gpu),
        index=gpu % 8,
        model=pl.lit("H100"),
        run=pl.format("run-{}", gpu // GPUS),
    )


def latencies() -> pl.DataFrame:
    """Latencies of the drives of six hosts, of which those of one host become slow together."""
    rng = np.random.default_rng(3)
    values = 1e-4 * np.exp(0.02 * rng.standard_normal((48, TICKS)))
    values[16:24, 25:] *= 1.6
    return samples_of(
        values,
        "latency_seconds",
        host=pl.format("h{}", pl.col("n") // 8),
        device_kind=pl.lit("disk"),
        device=pl.format("nvme{}", pl.col("n") % 8),
    )


@pytest.fixture
def stored(tmp_path_factory: pytest.TempPathFactory) -> Callable[[pl.DataFrame], StorePlace]:
    """A function that puts samples into a new store, a run a commit."""

    def put(samples: pl.DataFrame) -> StorePlace:
        root = tmp_path_factory.mktemp("store")
        store = Store.open_at(str(root), create=True)
        for number, part in enumerate(samples.partition_by("run", maintain_order=True), start=1):
            store.append(Reading(samples=part), "test", number)
        return StorePlace(root=str(root))

    return put


def in_parts(samples: pl.DataFrame) -> DeviceFindings:
    """What the detector says of frames in memory, a peer group at a time."""
    parts = samples.partition_by("device_kind", "run", "model", maintain_order=True)
    return join_device_parts([find_in_part(one.lazy(), PARAMS) for one in parts], PARAMS)


def same(one: DeviceFindings, other: DeviceFindings) -> bool:
    """Whether both tables of verdicts are equal to the last bit."""
    return one.devices.equals(other.devices) and one.hosts.equals(other.hosts)


@pytest.mark.parametrize("runs", [1, 2, 3, 7])
@settings(
    max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32 - 1))
def test_any_partitions(stored: Callable[[pl.DataFrame], StorePlace], runs: int, seed: int) -> None:
    """Whatever is done first and however rows lie in the store, the verdicts are the same."""
    samples = clocks(seed, runs)
    place = stored(samples.sample(fraction=1.0, shuffle=True, seed=seed % 1000))

    found = [spread_devices(one, place, PARAMS, quiet) for one in (LocalEngine(), Backwards())]

    assert all(same(one, in_parts(samples)) for one in found)


@pytest.mark.parametrize(("runs", "seed"), [(1, 1), (2, 2), (3, 3), (7, 4)])
def test_local_and_ray(
    ray: Engine, stored: Callable[[pl.DataFrame], StorePlace], runs: int, seed: int
) -> None:
    """Ray says what this process says, to the last bit."""
    place = stored(clocks(seed, runs))

    here, there = (spread_devices(one, place, PARAMS, quiet) for one in (LocalEngine(), ray))

    assert same(here, there)
    assert there.devices.height == max(1, runs - 1)


def test_one_group_is_the_whole(stored: Callable[[pl.DataFrame], StorePlace]) -> None:
    """Where all devices are peers, the verdicts are those of the detector on all samples."""
    samples = pl.concat([clocks(5, 1), latencies()])

    found = spread_devices(LocalEngine(), stored(samples), PARAMS, quiet)

    assert found.devices.equals(find_slow_devices(samples.lazy(), PARAMS))
    assert found.hosts.equals(find_slow_device_hosts(samples.lazy(), PARAMS))
    assert found.hosts["subject"].struct.field("host").to_list() == ["h2"]


def test_luck_is_a_question_to_the_whole_fleet() -> None:
    """The rate of a finding counts the tests of all partitions, not of its own."""
    parts = [find_in_part(one.lazy(), PARAMS) for one in clocks(1, 7).partition_by("run")]

    alone = join_device_parts(parts[1:2], PARAMS).devices["q_value"].to_list()
    among = join_device_parts(parts, PARAMS).devices["q_value"].to_list()

    assert [len(alone), len(among)] == [1, 6]
    assert alone[0] is not None
    assert 0.0 < alone[0] < max(among)


def test_groups_of_a_store(stored: Callable[[pl.DataFrame], StorePlace]) -> None:
    """A store's partitions are its peer groups, by name, with the hosts that they are on."""
    place = stored(pl.concat([clocks(1, 2), latencies()]))

    assert peer_groups(place) == [
        PeerGroup(
            device_kind="disk", run=None, model=None, hosts=tuple(f"h{at}" for at in range(6))
        ),
        PeerGroup(device_kind="gpu", run="run-0", model="H100", hosts=("h0", "h1")),
        PeerGroup(device_kind="gpu", run="run-1", model="H100", hosts=("h2", "h3")),
    ]


def test_progress(stored: Callable[[pl.DataFrame], StorePlace]) -> None:
    """Each group is told when it is done."""
    told = list[tuple[str, int, int]]()

    spread_devices(LocalEngine(), stored(clocks(1, 2)), PARAMS, lambda *one: told.append(one))

    assert told == [("run-0 H100 gpu", 1, 2), ("run-1 H100 gpu", 2, 2)]


def test_span_and_names(tmp_path: Path) -> None:
    """A group is read by one name of each device, in the wanted time only, with what tells of it.

    Its hosts' other signals are part of it; those of other hosts and other signals are not.
    """
    samples = clocks(1, 2)
    beside = samples.with_columns(signal=pl.lit("power_watts"), model=pl.lit(None, pl.String))
    unasked = samples.with_columns(signal=pl.lit("fan_ratio"))
    alias = {"time": START, "host": "h0", "device_kind": "gpu", "device": "GPU-0"}
    aliases = pl.LazyFrame([alias | {"alias_kind": "uuid", "alias": "GPU-0", "source": "test"}])
    store = Store.open_at(str(tmp_path), create=True)
    store.append(
        Reading(
            samples=pl.concat([samples, beside, unasked]),
            aliases=conform(aliases, ALIASES).collect(),
        ),
        "test",
        1,
    )
    until = samples["time"].unique().sort()[10]
    place = StorePlace(root=str(tmp_path), until=until)

    group = read_group(place, peer_groups(place)[0]).collect()

    assert group.group_by("signal").agg(pl.len(), pl.col("host").n_unique()).sort(
        "signal"
    ).rows() == [("power_watts", GPUS * 10, 2), ("sm_clock_hertz", GPUS * 10, 2)]


def test_only_its_files(stored: Callable[[pl.DataFrame], StorePlace]) -> None:
    """Who reads a group opens no file of another one: it is read when those are gone."""
    speeds = clocks(1, 3)
    power = speeds.with_columns(signal=pl.lit("power_watts"))
    place = stored(pl.concat([speeds, power]))
    group = peer_groups(place)[1]
    files = [*Path(place.root, "samples").rglob("*.parquet")]
    others = [one for one in files if set(pl.read_parquet(one)["run"]) != {group.run}]
    for file in others:
        file.unlink()

    assert len(others) == 2
    assert read_group(place, group).collect().height == 2 * GPUS * TICKS


def test_empty_store(stored: Callable[[pl.DataFrame], StorePlace]) -> None:
    """A store without a signal that tells of speed has no partition and no verdict."""
    place = stored(clocks(1, 1).with_columns(signal=pl.lit("power_watts")))

    found = spread_devices(LocalEngine(), place, PARAMS, quiet)

    assert (found.devices.height, found.hosts.height) == (0, 0)
