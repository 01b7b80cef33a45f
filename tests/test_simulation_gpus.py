"""GPU telemetry: utilisation sees nothing, activity, clocks and power tell who works."""

import re
from pathlib import Path

import polars as pl
import pytest

from paceline.simulation.orion import OrionParams, Truth, simulate

SAMPLE = re.compile(
    r'^(DCGM_FI_[A-Z_]+)\{gpu="([0-7])",UUID="(GPU-[0-9a-f-]{36})",'
    r'pci_bus_id="00000000:[0-9A-F]{2}:00\.0",device="nvidia[0-7]",modelName="[^"]+",'
    r'Hostname="(hx8-\d{3})",DCGM_FI_DRIVER_VERSION="[\d.]+",hpc_job="W-TRAIN"\} '
    r"(\d+(?:\.\d{6})?) (\d{13})$"
)
EPOCH_MS = 1_767_571_200_000
PARAMS = OrionParams(nodes=8, minutes=32.0, onset_minutes=12.0, fault_minutes=12.0)


def samples_below(folder: Path) -> pl.DataFrame:
    """Return all samples; a line that is neither sample nor comment fails."""
    rows: list[tuple[str, int, str, str, float, float]] = []
    for path in sorted((folder / "sources" / "dcgm").glob("*.prom")):
        for line in path.read_text(encoding="utf-8").splitlines():
            found = SAMPLE.match(line)
            assert found or line.startswith(("# HELP ", "# TYPE ")), line
            if found:
                name, gpu, uuid, host, value, ms = found.groups()
                minutes = (int(ms) - EPOCH_MS) / 60_000
                rows.append((name.split("_", 3)[3], int(gpu), uuid, host, float(value), minutes))
    columns = ["signal", "gpu", "uuid", "host", "value", "minutes"]
    return pl.DataFrame(rows, schema=columns, orient="row")


@pytest.fixture(scope="module")
def throttled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Truth, pl.DataFrame]:
    """A small cluster with one throttled GPU, and its samples."""
    folder = tmp_path_factory.mktemp("throttled")
    truth = simulate("throttled-gpu", folder, seed=11, params=PARAMS)
    return truth, samples_below(folder)


def change(samples: pl.DataFrame, signal: str) -> pl.DataFrame:
    """Return by GPU the signal's mean before the fault and in it."""
    within = pl.col("minutes").is_between(13.0, 24.0)
    return (
        samples.filter(pl.col("signal") == signal, within | (pl.col("minutes") < 10.0))
        .group_by("uuid")
        .agg(
            before=pl.col("value").filter(~within).mean(),
            within=pl.col("value").filter(within).mean(),
        )
    )


def test_utilisation_is_blind(throttled: tuple[Truth, pl.DataFrame]) -> None:
    """GPU_UTIL stays between 97 and 100 on every GPU all the time."""
    _, samples = throttled

    values = samples.filter(pl.col("signal") == "GPU_UTIL")["value"]
    assert (values.min(), values.max()) == (97.0, 100.0)


def test_only_the_culprit_slows_its_clock(throttled: tuple[Truth, pl.DataFrame]) -> None:
    """The culprit runs at three quarters of the top clock while it is hot, and no other GPU."""
    truth, samples = throttled
    assert truth.culprit is not None
    clocks = change(samples, "SM_CLOCK")
    slow = clocks.filter(pl.col("within") < 0.9 * pl.col("before"))

    assert slow["uuid"].to_list() == [truth.culprit.gpu_uuid]
    assert slow["within"].item() == pytest.approx(1485, abs=15)
    mine = samples.filter(pl.col("uuid") == truth.culprit.gpu_uuid)
    assert mine.filter(pl.col("signal") == "SM_CLOCK", pl.col("value") % 15 != 0).is_empty()
    assert mine.filter(pl.col("signal") == "GPU_TEMP")["value"].max() in {87.0, 88.0, 89.0}


def test_work_tells_the_culprit(throttled: tuple[Truth, pl.DataFrame]) -> None:
    """The culprit's SM activity rises while every other GPU's falls, and its power falls most."""
    truth, samples = throttled
    assert truth.culprit is not None
    activity = change(samples, "SM_ACTIVE").with_columns(rise=pl.col("within") - pl.col("before"))
    power = change(samples, "POWER_USAGE").with_columns(part=pl.col("within") / pl.col("before"))

    assert activity.filter(pl.col("rise") > 0)["uuid"].to_list() == [truth.culprit.gpu_uuid]
    assert power.sort("part")["uuid"].first() == truth.culprit.gpu_uuid


def test_reasons_and_violations(throttled: tuple[Truth, pl.DataFrame]) -> None:
    """Thermal bits show, and the violation counter grows, on the culprit alone."""
    truth, samples = throttled
    assert truth.culprit is not None
    bits = samples.filter(pl.col("signal") == "CLOCKS_EVENT_REASONS", pl.col("value") >= 8)
    grown = (
        samples.filter(pl.col("signal") == "THERMAL_VIOLATION")
        .group_by("uuid")
        .agg(nanoseconds=pl.col("value").max() - pl.col("value").min())
        .filter(pl.col("nanoseconds") > 0)
    )

    assert bits["uuid"].unique().to_list() == [truth.culprit.gpu_uuid]
    assert set(bits["value"]) <= {32.0, 72.0, 104.0}
    assert grown["uuid"].to_list() == [truth.culprit.gpu_uuid]
    assert grown["nanoseconds"].item() == pytest.approx(12 * 60e9, rel=0.05)


def test_scrapes_are_lost_and_repeated(tmp_path: Path) -> None:
    """A few scrapes of a node are missing, and a few show the values of the one before."""
    params = OrionParams(nodes=4, minutes=120.0, gpu_scrape_seconds=15.0)
    simulate("healthy", tmp_path, seed=2, params=params)
    samples = samples_below(tmp_path)

    one = samples.filter(pl.col("signal") == "POWER_USAGE", pl.col("gpu") == 0)
    gaps = one.group_by("host").agg(pl.col("minutes").diff().max() * 60)["minutes"]
    repeated = one.group_by("host").agg(pl.col("value").diff().eq(0).mean())["value"]
    whole = 4 * 118 * 4
    assert 0.005 < 1 - len(one) / whole < 0.03
    assert (gaps > 28.0).all()
    assert (repeated < 0.08).all()
    assert repeated.max() > 0.0


def test_hang_shows_in_power_not_in_utilisation(tmp_path: Path) -> None:
    """While others wait they look busy at low power; the hung GPU does nothing; then all idle."""
    params = OrionParams(nodes=4, minutes=24.0, onset_minutes=8.0, timeout_seconds=360.0)
    truth = simulate("nccl-hang", tmp_path, seed=6, params=params)
    assert truth.culprit is not None
    samples = samples_below(tmp_path).with_columns(hung=pl.col("uuid") == truth.culprit.gpu_uuid)

    def mean(signal: str, *, hung: bool, since: float, until: float) -> float:
        chosen = samples.filter(
            pl.col("signal") == signal,
            pl.col("hung") == hung,
            pl.col("minutes").is_between(since, until),
        )
        value = chosen["value"].mean()
        assert isinstance(value, float)
        return value

    assert mean("GPU_UTIL", hung=False, since=11, until=14) > 97
    assert mean("POWER_USAGE", hung=False, since=11, until=14) < 250
    assert mean("SM_ACTIVE", hung=True, since=11, until=14) == 0
    assert mean("GPU_UTIL", hung=True, since=11, until=14) == 0
    assert mean("GPU_UTIL", hung=False, since=18, until=24) == 0
