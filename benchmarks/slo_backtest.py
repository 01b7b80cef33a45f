"""`python -m benchmarks.slo_backtest`: INC-2291 under the shipped objective, and other windows.

SIMULATED: ten runs of 256 GPUs, each ten healthy weeks and then a day on which all steps are 18 %
slower for two hours. Prints the table of docs/guides/backtest-alerts.md; ends with 1 when a bar is
missed: the page at most 15 minutes after the onset, and none in the healthy weeks.
"""

import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl

from benchmarks.figures import Figure, lines_of
from paceline.backtest_output import backtest_text
from paceline.backtests import CURRENT, Backtest, BacktestParams, run_backtest
from paceline.step_histories import StepFault, StepHistoryParams, simulate_steps
from slo.backtest_scores import WHOLE
from slo.counters import counter_series, step_counters
from slo.histories import FrameHistory
from slo.policy_replays import ReplayParams
from slo.schemes import windows_of
from slo.specs import load_ready
from slo.training import JudgeParams, judge_steps

START = datetime(2026, 1, 5, tzinfo=UTC)
SEEDS = range(10)
HEALTHY = timedelta(weeks=10)
ONSET, END = START + HEALTHY + timedelta(hours=9), START + HEALTHY + timedelta(hours=11)
WHOLE_DAYS = HEALTHY / timedelta(days=1) + 1
SCRAPE = "30s"
ALTERNATIVES = ("by-share", "by-period", "page long=1h short=5m factor=14.4 for=0s")
MAX_DELAY = timedelta(minutes=15)


def history() -> FrameHistory:
    """Return the step counters of all runs."""
    fault = StepFault(
        start_seconds=(ONSET - START).total_seconds(),
        end_seconds=(END - START).total_seconds(),
        ratio=1.18,
    )
    params = StepHistoryParams(days=WHOLE_DAYS, fault=fault)
    end = START + timedelta(days=WHOLE_DAYS)
    times = pl.datetime_range(START, end, SCRAPE, time_unit="us", eager=True)
    return FrameHistory(pl.concat(_series(seed, params, times) for seed in SEEDS).lazy())


def _series(seed: int, params: StepHistoryParams, times: pl.Series) -> pl.DataFrame:
    steps = simulate_steps(f"seed-{seed}", START, seed, params)
    judge = JudgeParams(min_slow_ratio=load_ready().slow_step_ratio or 1.1)
    events = judge_steps(steps.lazy(), judge)
    return counter_series(step_counters(events, times, cluster="orion")).collect()


def backtest() -> Backtest:
    """Return the shipped windows and others beside them."""
    shipped = load_ready()
    policies = {CURRENT: shipped} | {
        text: replace(shipped, windows=windows_of(text, shipped.period_seconds, text))
        for text in ALTERNATIVES
    }
    incidents = pl.DataFrame(
        [(f"seed-{seed}", "INC-2291", ONSET, END) for seed in SEEDS],
        schema=["run", "label", "start", "end"],
        orient="row",
    )
    params = BacktestParams(
        replay=ReplayParams(step_seconds=30), span=(None, None), min_spent_ratio=0.02
    )
    known = history()
    return run_backtest(
        ("ten simulated runs", lambda _: known), policies, incidents, params, lambda *_: None
    )


def figures(found: Backtest) -> Iterator[Figure]:
    """Yield what must hold of the shipped objective."""
    pages = found.current.alerts.filter(alert=WHOLE, severity="page")
    early = pages.filter(pl.col("fired_at") < ONSET).height
    weeks = len(SEEDS) * (HEALTHY // timedelta(weeks=1))
    yield Figure(
        yardstick="INC-2291",
        what=f"SIMULATED pages in {weeks} healthy weeks",
        value=str(early),
        bar="none",
        holds=early == 0,
    )
    in_time = pages.filter(pl.col("fired_at").is_between(ONSET, ONSET + MAX_DELAY))
    worst = max(in_time["fired_at"].to_list(), default=END) - ONSET
    yield Figure(
        yardstick="INC-2291",
        what=f"SIMULATED runs paged within 15 min (worst {worst})",
        value=f"{in_time['run'].n_unique()} of {len(SEEDS)}",
        bar="all",
        holds=in_time["run"].n_unique() == len(SEEDS),
    )


def main() -> int:
    """Print figures and table; return 1 when a bar does not hold."""
    began = time.perf_counter()
    found = backtest()
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows = list(figures(found))
    print("\n".join(lines_of(rows)))
    print(backtest_text(found))
    print(f"MEASURED: {seconds:.0f} s, peak memory {peak:.1f} GB, simulation included")
    return int(not all(one.holds for one in rows))


if __name__ == "__main__":
    sys.exit(main())
