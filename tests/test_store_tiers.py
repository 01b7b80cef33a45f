"""Tests of a store's tiers: what is folded is whole, once, and claims no more than it can."""

import json
import signal
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from collectors.peer_frames import PEER_RATIOS, PEER_STATISTICS
from collectors.readings import Reading, join_readings, reading_of
from collectors.storage.store import Store, Wanted
from collectors.storage.store_order import OrderParams, files_of, order_days
from collectors.storage.store_tables import KEPT_INCIDENTS, PEER_DEVICES, PEER_GROUPS, TIERS
from collectors.storage.store_tiers import raw_days, tier_coverage, tier_days
from detectors.coarse_departures import CoarseParams, find_coarse_departures
from detectors.peer_summaries import SummaryParams, fold_devices, fold_groups
from detectors.verdicts import verdicts_of
from paceline.main import app
from paceline.tidying import TidyParams, tidy

DAY = datetime(2026, 1, 5, tzinfo=UTC)
NOW = DAY + timedelta(days=10, hours=1)
RUN = CliRunner()
SLOW = 5
PARAMS = TidyParams(is_judging=False)

CHILD = """
import sys, time
from datetime import datetime
import collectors.storage.store_tiers as tiers
from collectors.storage.store import Store
from paceline import tidying

root, now, step = sys.argv[1:]
kept = getattr(tiers, step)

def wait(*args, **kwargs):
    told = kept(*args, **kwargs)
    print("there", flush=True)
    time.sleep(60)
    return told

setattr(tiers, step, wait)
params = tidying.TidyParams(is_judging=False)
tidying.tidy(Store.open_at(root), params, datetime.fromisoformat(now), lambda *_: None)
"""


def clocks(days: int = 1, gpus: int = 8, hours: int = 6, day: datetime = DAY) -> Reading:
    """The clock of eight GPUs every ten minutes for some hours of each day; one is slow."""
    device = pl.DataFrame({"gpu": range(gpus)}).with_columns(
        host=pl.format("n{}", pl.col("gpu") // 4), index=(pl.col("gpu") % 4).cast(pl.Int32)
    )
    times = [
        day + timedelta(days=at, minutes=10 * tick)
        for at in range(days)
        for tick in range(6 * hours)
    ]
    rows = device.join(pl.DataFrame({"time": times}), how="cross").with_columns(
        device=pl.format("GPU-{}", "gpu"),
        device_kind=pl.lit("gpu"),
        model=pl.lit("H100"),
        signal=pl.lit("sm_clock_hertz"),
        value=pl.when(pl.col("gpu") == SLOW).then(1.2e9).otherwise(1.8e9),
        source=pl.lit("s"),
    )
    return reading_of(samples=rows)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store of two days of clocks, ten and nine days old."""
    made = Store.open_at(str(tmp_path / "store"), create=True)
    made.append(clocks(days=2), "a", 1)
    return made


def quiet(*_: object) -> None:
    """Say nothing."""


def tables(store: Store) -> list[list[tuple[object, ...]]]:
    """The rows of both tables of the middle tier and of the ledger, in order."""
    names = (PEER_GROUPS.name, PEER_DEVICES.name, TIERS.name)
    return [store.read(name).collect().sort(pl.all()).rows() for name in names]


def test_groups_are_folded() -> None:
    """A group's statistics are those of its devices' medians over a step."""
    folded = fold_groups(
        clocks(hours=1).samples.lazy(), SummaryParams(group_step=timedelta(hours=1))
    )

    assert folded.schema == PEER_STATISTICS
    row = folded.row(0, named=True)
    assert (folded.height, row["device_count"], row["sample_count"]) == (1, 8, 48)
    assert (row["median"], row["mad"], row["q05"]) == (1.8e9, 0.0, pytest.approx(1.41e9))


def test_ratios_are_folded() -> None:
    """Each device has its ratio to the median of its peers, whatever the rows' order."""
    rows = clocks(hours=1).samples
    folded = fold_devices(rows.lazy(), SummaryParams())

    assert folded.schema == PEER_RATIOS
    assert folded.equals(fold_devices(rows.reverse().lazy(), SummaryParams()))
    ratios = {row["device"]: row["ratio"] for row in folded.iter_rows(named=True)}
    assert ratios == {f"GPU-{at}": pytest.approx(2 / 3 if at == SLOW else 1.0) for at in range(8)}


def test_what_is_not_known_is_not_folded() -> None:
    """Values that are null or NaN are no samples, and a median of zero gives no ratio."""
    odd = clocks(gpus=2, hours=1).samples.with_columns(
        value=pl.Series([None, float("nan")] * 3 + [0.0] * 6)
    )
    folded = fold_devices(odd.lazy(), SummaryParams())

    assert folded.select("device", "sample_count", "ratio").rows() == [("GPU-1", 6, None)]


@pytest.mark.parametrize("step", [timedelta(minutes=7), timedelta(0)], ids=str)
def test_a_step_divides_a_day(step: timedelta) -> None:
    """A step that would reach over midnight is refused."""
    with pytest.raises(ValueError, match="must divide a day"):
        SummaryParams(group_step=step)


def test_coarse_tiers_accuse_nobody() -> None:
    """A device far from its peers for hours is unknown, with the samples that would decide it."""
    ratios = fold_devices(clocks().samples.lazy(), SummaryParams()).lazy()
    (found,) = verdicts_of(find_coarse_departures(ratios, CoarseParams()))

    assert (found.kind, found.confidence, found.subject.device) == ("unknown", "low", "GPU-5")
    assert (found.onset, found.cleared) == (DAY, DAY + timedelta(hours=6))
    assert found.needed is not None
    assert found.needed.startswith("raw samples of sm_clock_hertz")
    few = find_coarse_departures(ratios, CoarseParams(min_steps=7))
    assert few.is_empty()


def test_days_are_folded_once(store: Store) -> None:
    """Old days become peer statistics, their samples go, and again there is nothing to do."""
    first = tidy(store, PARAMS, NOW, quiet)
    kept = tables(store)
    second = tidy(store, PARAMS, NOW, quiet)

    assert (first.folded, first.dropped, first.late) == (2, 2 * 8 * 36, 0)
    assert (second.folded, second.dropped, raw_days(store.place)) == (0, 0, {})
    assert [one.sample_count for one in tier_days(store)] == [288, 288]
    assert (tables(store), len(kept[1])) == (kept, 2 * 8 * 6)


def test_young_days_stay(store: Store) -> None:
    """Days within the span of raw samples are left alone."""
    done = tidy(store, PARAMS, DAY + timedelta(days=8, hours=1), quiet)

    assert (done.folded, raw_days(store.place)) == (1, {date(2026, 1, 6): 288})


@pytest.mark.parametrize("step", ["replace_day", "_drop"])
def test_a_kill_loses_nothing(tmp_path: Path, step: str) -> None:
    """Killed after any step, what is left to do is done, and the result is as of one go."""
    whole, cut = (Store.open_at(str(tmp_path / name), create=True) for name in ("whole", "cut"))
    for one in (whole, cut):
        one.append(clocks(days=2), "a", 1)
    command = [sys.executable, "-c", CHILD, cut.place.root, NOW.isoformat(), step]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    tidy(whole, PARAMS, NOW, quiet)
    tidy(cut, PARAMS, NOW, quiet)

    assert tables(cut) == tables(whole)
    assert raw_days(cut.place) == {}


def test_samples_that_come_late_stay(store: Store) -> None:
    """Samples of a day that was folded are neither lost nor taken for the whole of it."""
    tidy(store, PARAMS, NOW, quiet)
    store.append(clocks(hours=1), "late", 1)
    kept = tables(store)
    done = tidy(store, PARAMS, NOW, quiet)

    assert (done.folded, done.dropped, done.late) == (0, 0, 48)
    assert (tables(store), raw_days(store.place)) == (kept, {DAY.date(): 48})


def test_samples_before_the_drop_are_folded_anew(store: Store) -> None:
    """A day that grew after it was folded, and before its samples went, is folded as a whole."""
    first = tidy(store, PARAMS, DAY + timedelta(days=8, hours=1), quiet)
    store.append(clocks(hours=1, day=DAY + timedelta(days=1, hours=12)), "more", 1)
    done = tidy(store, PARAMS, NOW, quiet)

    assert (first.folded, done.folded) == (1, 1)
    assert [one.sample_count for one in tier_days(store)] == [288, 288 + 48]


def test_peer_statistics_go_in_their_time(store: Store) -> None:
    """After months the peer statistics of a day are forgotten, and say no more that they answer."""
    tidy(store, PARAMS, NOW, quiet)
    done = tidy(store, PARAMS, DAY + timedelta(days=181, hours=1), quiet)

    assert (done.forgotten, [one.day for one in tier_days(store)]) == (1, [date(2026, 1, 6)])
    assert store.read(PEER_DEVICES.name).collect().height == 8 * 6
    assert tidy(store, PARAMS, DAY + timedelta(days=181, hours=1), quiet).forgotten == 0


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        pytest.param(None, None, [5, 6], id="all of them"),
        pytest.param(DAY + timedelta(days=1), None, [6], id="from a day on"),
        pytest.param(None, DAY + timedelta(hours=2), [5], id="until a moment"),
    ],
)
def test_coverage_says_what_is_gone(
    store: Store, since: datetime | None, until: datetime | None, days: list[int]
) -> None:
    """Of each folded day of a span coverage tells that no sample is there, of how many."""
    tidy(store, PARAMS, NOW, quiet)
    told = tier_coverage(store, since, until)

    assert [one.day for one in told["start"]] == days
    assert set(told.select("seen", "expected").rows()) == {(0, 288)}


def test_analysis_says_which_tier_answers(store: Store) -> None:
    """An analysis names the tier, and calls unknown what only samples would decide."""
    whole = RUN.invoke(app, ["analyze", store.place.root, "--format", "json"])
    tidy(store, PARAMS, NOW, quiet)
    told = RUN.invoke(app, ["analyze", store.place.root, "--format", "json"])
    text = RUN.invoke(app, ["analyze", store.place.root])
    found = json.loads(told.stdout)

    assert {one["kind"] for one in json.loads(whole.stdout)["verdicts"]} == {"slow"}
    assert [one["kind"] for one in found["verdicts"]] == ["unknown"]
    line = (
        "From peer statistics of 300 s since 2026-01-05: raw is gone before 2026-01-07 "
        "(576 samples). What only raw decides is unknown there."
    )
    assert found["coverage"]["tiers"] == [line]
    assert line in text.stdout


def test_incidents_stay(store: Store) -> None:
    """Incidents of days that are over are kept, and their page needs no sample."""
    told = RUN.invoke(app, ["tidy", store.place.root, "--as-of", f"{NOW:%Y-%m-%dT%H:%M:%S}"])
    again = RUN.invoke(app, ["tidy", store.place.root, "--as-of", f"{NOW:%Y-%m-%dT%H:%M:%S}"])
    kept = store.read(KEPT_INCIDENTS.name).collect().sort("judged_until")
    page = RUN.invoke(app, ["postmortem", kept["id"][0], store.place.root])

    assert told.stdout.startswith("Incidents: 2 of 2 days kept.\nPeers: 2 days folded")
    assert again.stdout.startswith("Incidents: 0 of 0 days kept.\nPeers: 0 days folded")
    assert (kept.height, page.exit_code) == (2, 0)
    assert kept["title"][0] in page.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["none"], "no store at none", id="no store"),
        pytest.param(["none", "--step", "7m"], "must divide a day", id="an uneven step"),
        pytest.param(["none", "--raw", "week"], "is no duration", id="no span"),
    ],
)
def test_refusals(arguments: list[str], said: str) -> None:
    """What cannot be tidied is refused in one line."""
    result = RUN.invoke(app, ["tidy", *arguments])

    assert result.exit_code in {1, 2}
    assert said in result.stderr


def steps_of(run: str, day: datetime) -> Reading:
    """A thousand steps of a run, from a source that names it."""
    rows = pl.DataFrame({"step": range(1000)}).with_columns(
        run=pl.lit(run),
        end_time=pl.lit(day) + pl.duration(seconds=pl.col("step")),
        step_seconds=(pl.col("step") * 7919 % 1009) / 7.0,
        source=pl.lit(f"{run}.log"),
    )
    return reading_of(steps=rows)


def test_a_run_of_a_day_opens_its_files_only(tmp_path: Path) -> None:
    """After ordering, a day's rows of one run are read though the files of all others are gone."""
    store = Store.open_at(str(tmp_path / "store"), create=True)
    runs = [f"a-name-of-a-run-that-begins-like-all-others-{at}" for at in range(6)]
    for part in (1, 2):
        told = [steps_of(run, DAY + timedelta(hours=part)) for run in runs]
        store.append(join_readings(told), "a", part)
    params = OrderParams(file_bytes=4000)
    assert order_days(store.place, NOW.date(), params) == {"steps": 1}
    assert order_days(store.place, NOW.date(), params) == {}

    files = files_of(store.place.open("steps"))
    mine = pl.lit(runs[3]).is_between("min.run", "max.run")
    others = files.filter(~mine)["path"].to_list()
    for path in others:
        (tmp_path / "store" / "steps" / path).unlink()
    wanted = Wanted(since=DAY, until=DAY + timedelta(days=1), runs=[runs[3]])
    assert others
    assert store.read("steps", wanted).collect()["run"].value_counts().rows() == [(runs[3], 2000)]
