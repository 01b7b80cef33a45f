"""Long histories in batches: the same firings as evaluation by evaluation."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from collectors.frames import TIME
from slo.alert_states import BURN_ALERTS, burn_alerts
from slo.budgets import BUDGETS, budget_left
from slo.burn_histories import PEAKS, burn_history, group_batches
from slo.burns import BURNS, burn_rates
from slo.growth import BurnParams, Mode
from slo.objectives import Method, Objective, TooManyGroupsError
from slo.promql import Semantics
from slo.selectors import Selector
from slo.slices import Slices
from slo.windows import RECOMMENDED_WINDOWS

START = datetime(2026, 1, 5, tzinfo=UTC)
MINUTES = 360
TIMES = pl.Series([START + timedelta(minutes=n) for n in range(MINUTES)], dtype=TIME)

OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal("99.9"),
    period_seconds=30 * 86400,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=("c",),
    windows=RECOMMENDED_WINDOWS,
)


def counters(seed: int, group: str) -> pl.DataFrame:
    """Counters of one group: two series with outages, gaps, resets, births and ends."""
    dice = random.Random(seed)
    gap, offset = dice.choice([30, 60]), dice.choice([0, 0, 7.5])
    rows: list[tuple[str, str, datetime, float]] = []
    for instance in ("x", "y"):
        begin, end = dice.choice([0, 40]), dice.choice([MINUTES, MINUTES - 50])
        bad = total = 0.0
        sick = dice.randrange(MINUTES)
        for number in range(begin * 60 // gap, end * 60 // gap):
            if dice.random() < 0.002:
                bad = total = 0.0
            total += dice.randrange(5, 20)
            bad += dice.randrange(5) * (sick <= number * gap / 60 < sick + 30)
            at = START + timedelta(seconds=offset + number * gap)
            if dice.random() > 0.02:
                rows += [("all_total", instance, at, total), ("bad_total", instance, at, bad)]
    frame = pl.DataFrame(
        rows,
        schema={"metric": pl.String, "instance": pl.String, "time": TIME, "value": pl.Float64},
        orient="row",
    )
    return frame.with_columns(c=pl.lit(group))


def fleet(*seeds: int) -> pl.DataFrame:
    """Counters of some groups."""
    return pl.concat([counters(seed, f"g{number}") for number, seed in enumerate(seeds)])


SLICED = replace(OBJECTIVE, method=Method.TIMESLICES, slices=Slices(target_ratio=Decimal("0.9")))


@settings(max_examples=8, phases=[Phase.explicit, Phase.generate])
@given(
    st.lists(st.integers(0, 99), min_size=1, max_size=3),
    st.sampled_from(Semantics),
    st.sampled_from(Mode),
    st.sampled_from([OBJECTIVE, SLICED, replace(OBJECTIVE, group_labels=())]),
    st.integers(1, 3),
)
def test_fast_is_plain(
    seeds: list[int], semantics: Semantics, mode: Mode, objective: Objective, at_once: int
) -> None:
    """Batches, cells and threads change nothing: firings, counts and budgets are the same bits."""
    series, params = fleet(*seeds), BurnParams(semantics=semantics, mode=mode)
    burns = burn_rates(series, objective, TIMES, params)
    alerts = burn_alerts(burns, objective, TIMES)
    key = [*objective.group_labels, "severity", "long_seconds", "short_seconds", "time"]
    at_firing = alerts.rename({"fired_at": "time"}).select(key)

    batches = group_batches(series.lazy(), objective, groups_at_once=at_once)
    found = burn_history(batches, objective, TIMES, params, workers=2)

    assert found.alerts.equals(alerts)
    assert found.burns.equals(burns.join(at_firing, on=key, how="semi").sort(key))
    assert found.budgets.equals(
        budget_left(series, objective, TIMES, params).filter(pl.col("time") == TIMES[-1])
    )


def test_firings() -> None:
    """The histories of the property do fire, so that agreeing is an achievement."""
    found = burn_history([fleet(*range(3))], OBJECTIVE, TIMES, BurnParams(mode=Mode.PARITY))

    assert found.alerts["severity"].unique().sort().to_list() == ["page", "ticket"]


def test_peaks() -> None:
    """The highest burn over each window stands with the first time that it was reached."""
    at = [START + timedelta(minutes=n) for n in range(MINUTES)]
    bad = [float(min(max(0, n - 100), 10)) for n in range(MINUTES)]
    series = pl.concat(
        pl.DataFrame({"metric": metric, "c": "a", "time": at, "value": values}).cast({"time": TIME})
        for metric, values in (
            ("bad_total", bad),
            ("all_total", [10.0 * n for n in range(MINUTES)]),
        )
    )
    found = burn_history(
        [series], replace(OBJECTIVE, windows=RECOMMENDED_WINDOWS[:1]), TIMES, BurnParams()
    )

    assert found.peaks.rows() == [
        ("a", "o", 300, pytest.approx(100), START + timedelta(minutes=105)),
        ("a", "o", 3600, pytest.approx(10 / 600 * 1000), START + timedelta(minutes=110)),
    ]


@pytest.mark.parametrize("batches", [[], [fleet(1).clear()]], ids=["no batch", "an empty batch"])
def test_nothing(batches: list[pl.DataFrame]) -> None:
    """Without any series there is no row, with every column there is."""
    found = burn_history(batches, OBJECTIVE, TIMES, BurnParams())

    frames = {"alerts": BURN_ALERTS, "burns": BURNS, "budgets": BUDGETS, "peaks": PEAKS}
    assert {name: getattr(found, name).height for name in frames} == dict.fromkeys(frames, 0)
    assert {name: getattr(found, name).drop("c").schema for name in frames} == frames


def test_batches_of_files(tmp_path: Path) -> None:
    """Series come from files some groups at a time, whatever labels name a group."""
    series = fleet(1, 2, 3)
    series.write_parquet(tmp_path / "series.parquet")
    scan = pl.scan_parquet(tmp_path / "series.parquet")
    both = replace(OBJECTIVE, group_labels=("c", "instance"))

    found = [list(group_batches(scan, each, groups_at_once=2)) for each in (OBJECTIVE, both)]

    assert [[batch["c"].n_unique() for batch in batches] for batches in found] == [
        [2, 1],
        [1, 1, 1],
    ]
    assert [pl.concat(each).height for each in found] == [series.height] * 2
    with pytest.raises(TooManyGroupsError, match="found 3"):
        next(group_batches(scan, replace(OBJECTIVE, max_group_count=2), groups_at_once=1))
