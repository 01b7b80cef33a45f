"""INC-2291 over the shipped objective: a 256-GPU job that is 18 % slower for two hours is paged."""

from datetime import UTC, datetime, timedelta
from functools import cache

import polars as pl
import pytest

from paceline.step_histories import StepFault, StepHistoryParams, simulate_steps
from slo.backtest_scores import score_alerts
from slo.counters import counter_series, step_counters
from slo.histories import FrameHistory
from slo.known_incidents import known_incidents, with_spent
from slo.page_routes import routed_pages
from slo.policy_replays import PolicyReplay, ReplayParams, replay_policy
from slo.specs import load_ready
from slo.training import JudgeParams, judge_steps

START = datetime(2026, 1, 5, tzinfo=UTC)
DAY_SECONDS = 86400.0
ONSET, END = START + timedelta(days=7, hours=9), START + timedelta(days=7, hours=11)
FAULT = StepFault(
    start_seconds=7 * DAY_SECONDS + 9 * 3600, end_seconds=7 * DAY_SECONDS + 11 * 3600, ratio=1.18
)
SEEDS = (0, 1, 2)
MAX_DELAY = timedelta(minutes=15)


@cache
def history() -> FrameHistory:
    """A healthy week and a day with the incident, of one run a seed, scraped each minute."""
    params = StepHistoryParams(days=7.75, fault=FAULT)
    steps = pl.concat(simulate_steps(f"seed-{seed}", START, seed, params) for seed in SEEDS)
    events = judge_steps(steps.lazy(), JudgeParams(min_slow_ratio=1.1))
    times = pl.datetime_range(START, START + timedelta(days=7.75), "1m", time_unit="us", eager=True)
    series = counter_series(step_counters(events, times, cluster="orion")).collect()
    return FrameHistory(series.lazy())


@cache
def replay() -> PolicyReplay:
    """What the shipped objective would have done."""
    return replay_policy(history(), load_ready(), ReplayParams(step_seconds=60))


def pages() -> pl.DataFrame:
    """The pages of each run as people get them."""
    objective = load_ready()
    return routed_pages(replay().firings, objective.group_labels).filter(severity="page")


def test_healthy_weeks() -> None:
    """No run pages in its healthy week, with restarts, checkpoints, evaluations and hiccups."""
    assert pages().filter(pl.col("fired_at") < ONSET).rows() == []


@pytest.mark.parametrize("seed", SEEDS)
def test_onset(seed: int) -> None:
    """One page fires within 15 minutes of the onset."""
    fired = pages().filter(run=f"seed-{seed}")["fired_at"].to_list()

    assert len(fired) == 1
    assert ONSET < fired[0] <= ONSET + MAX_DELAY


def test_scores() -> None:
    """Against the known incident, page and ticket are right each time and miss none."""
    objective = load_ready()
    table = pl.DataFrame({"start": [ONSET], "end": [END]})
    each = pl.concat(table.with_columns(run=pl.lit(f"seed-{seed}")) for seed in SEEDS)
    known = known_incidents(each, objective)
    spent = with_spent(known, history(), objective, replay())
    scores = score_alerts(replay(), spent, min_spent_ratio=0.02)

    assert scores.select("alert", "severity", "precision", "recall").rows() == [
        (alert, severity, 1.0, 1.0)
        for alert, severity in (
            ("1h/5m", "page"),
            ("6h/30m", "page"),
            ("1d/2h", "ticket"),
            ("3d/6h", "ticket"),
            ("routed", "page"),
            ("routed", "ticket"),
        )
    ]
