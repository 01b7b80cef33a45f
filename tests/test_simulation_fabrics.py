"""Network counters: both dialects parse, and the planted faults are where they should be."""

import re
from pathlib import Path

import polars as pl
import pytest

from paceline.simulation.orion import OrionParams, Truth, simulate

SAMPLE = re.compile(r'^([a-z_0-9]+)\{((?:[a-z_]+="[^"]*",?)+)\} (\d[\d.]*(?:e\+\d\d)?) (\d{13})$')
EPOCH_MS = 1_767_571_200_000
PARAMS = OrionParams(nodes=8, minutes=32.0, onset_minutes=12.0)


def samples_below(folder: Path) -> pl.DataFrame:
    """Return all samples; a line that is neither sample nor comment fails."""
    rows: list[tuple[str, str, str, int, float]] = []
    for path in sorted((folder / "sources" / "fabric").glob("*.prom")):
        for line in path.read_text(encoding="utf-8").splitlines():
            found = SAMPLE.match(line)
            assert found or line.startswith(("# HELP ", "# TYPE ")), line
            if found:
                name, labels, value, ms = found.groups()
                rows.append((path.stem, name, labels, int(float(value)), int(ms) - EPOCH_MS))
    schema = ["page", "name", "labels", "value", "ms"]
    return pl.DataFrame(rows, schema=schema, orient="row").sort("ms")


def growth(samples: pl.DataFrame, name: str, since: float, until: float) -> pl.DataFrame:
    """Return by port the growth of a counter in a part of the minutes, per second."""
    seconds = (pl.col("ms").last() - pl.col("ms").first()) / 1000
    return (
        samples.filter(
            pl.col("name") == name, pl.col("ms").is_between(since * 60_000, until * 60_000)
        )
        .group_by("page", "labels")
        .agg(rate=(pl.col("value").last() - pl.col("value").first()) / seconds)
        .sort("page", "labels")
    )


@pytest.fixture(scope="module", params=[(1, "switch"), (0, "host")], ids=["switch", "host"])
def dirty(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Truth, pl.DataFrame]:
    """A dirty link, by seed, whose receiver is the switch, or the host."""
    seed, receiver = request.param
    folder = tmp_path_factory.mktemp("dirty")
    truth = simulate("dirty-link", folder, seed=seed, params=PARAMS)
    return receiver, truth, samples_below(folder)


def test_dirty_link_counts_at_its_receiver(dirty: tuple[str, Truth, pl.DataFrame]) -> None:
    """Symbol errors, recoveries and receive errors grow at one end of one link only."""
    receiver, truth, samples = dirty
    side, other = ("switch", "hca") if receiver == "switch" else ("hca", "switch")
    assert truth.culprit is not None
    assert truth.culprit.link is not None

    found: list[str] = []
    for name in ("symbol_error", "link_error_recovery", "receive_errors"):
        here = growth(samples, f"infiniband_{side}_port_{name}_total", 13, 32)
        there = growth(samples, f"infiniband_{other}_port_{name}_total", 13, 32)
        found += here.filter(pl.col("rate") > 0.01)["labels"].to_list()
        assert there.filter(pl.col("rate") > 0.01).is_empty()
    assert len(set(found)) == 1
    assert len(found) == 3
    names = samples.filter(
        pl.col("name") == f"infiniband_{side}_uplink_info",
        pl.col("labels").str.starts_with(found[0]),
    )["labels"][0]
    switch, host = truth.culprit.link
    assert f'"{switch.device}"' in names
    assert f'"{host.device} {host.port}"' in names
    assert (switch.is_receiver, host.is_receiver) == (receiver == "switch", receiver == "host")


def test_victims_of_a_dirty_link(dirty: tuple[str, Truth, pl.DataFrame]) -> None:
    """Hosts of the leaf hear of what the switch let in damaged; a host's damage ends with it."""
    receiver, _, samples = dirty
    name = "infiniband_hca_port_receive_remote_physical_errors_total"

    heard = growth(samples, name, 13, 32).filter(pl.col("rate") > 0.01)
    assert len(heard) == (7 if receiver == "switch" else 0)


def test_narrow_counters_stay_full(dirty: tuple[str, Truth, pl.DataFrame]) -> None:
    """One innocent port of each side has stood at 65535 all along; none is above."""
    _, _, samples = dirty
    symbols = samples.filter(pl.col("name").str.ends_with("symbol_error_total"))

    full = symbols.filter(pl.col("value") == 65_535).group_by("name", "labels").len()
    assert symbols["value"].max() == 65_535
    assert len(full) == 2
    assert set(full["len"]) == {samples["ms"].n_unique()}


def test_bad_profile_turns_marks_to_pauses(tmp_path: Path) -> None:
    """Every NIC is paused for 4 to 25 % of the time, either way, and hardly marks any more."""
    simulate("bad-qos-profile", tmp_path, seed=3, params=PARAMS)
    samples = samples_below(tmp_path)
    marks = "node_infiniband_np_ecn_marked_roce_packets_received_total"

    for way in ("received", "transmitted"):
        name = f"node_ethtool_{way}_prio3_pause_duration"
        assert (growth(samples, name, 0, 11)["rate"] < 1e3).all()
        assert growth(samples, name, 13, 32)["rate"].is_between(0.04e6, 0.25e6).all()
    assert growth(samples, marks, 0, 11)["rate"].is_between(500, 3000).all()
    assert (growth(samples, marks, 13, 32)["rate"] < 200).all()
    assert (growth(samples, "node_ethtool_received_discards_phy", 0, 32)["rate"] == 0).all()


def test_healthy_ports_are_not_clean(tmp_path: Path) -> None:
    """Every port corrects bits and some bring old errors, but hardly any counts new ones."""
    simulate("healthy", tmp_path, seed=3, params=OrionParams(nodes=8, minutes=20.0))
    samples = samples_below(tmp_path)
    errors = "node_ethtool_received_pcs_symbol_err_phy"

    assert (growth(samples, "node_ethtool_received_corrected_bits_phy", 0, 20)["rate"] > 0).all()
    assert (samples.filter(pl.col("name").str.ends_with("crc_errors_phy"))["value"] > 0).any()
    assert growth(samples, errors, 0, 20)["rate"].mean() == pytest.approx(0, abs=1e-3)
    rate = growth(samples, "node_ethtool_received_bytes_phy", 2, 19)["rate"]
    assert rate.is_between(0.5e10, 2e10).all()
    speeds = samples.filter(pl.col("name") == "node_infiniband_rate_bytes_per_second")["value"]
    assert speeds.unique().to_list() == [50_000_000_000]
