"""Step counters as a scrape of `/metrics` would have read them."""

from datetime import UTC, datetime, timedelta

import polars as pl

from collectors.frames import TIME
from slo.counters import counter_series, step_counters
from slo.training import STEP_EVENTS

START = datetime(2026, 1, 5, tzinfo=UTC)


def at(*seconds: float) -> pl.Series:
    """Times after the start."""
    return pl.Series([START + timedelta(seconds=s) for s in seconds], dtype=TIME)


def events(*rows: tuple[str, int, float | None, str | None, bool | None]) -> pl.LazyFrame:
    """Events of (run, steps, end in seconds, reason, slow)."""
    return pl.LazyFrame(
        [
            {
                "run": run,
                "attempt": 1,
                "step": number,
                "interval_steps": count,
                "end_time": None if end is None else START + timedelta(seconds=end),
                "reason": reason,
                "slow": slow,
            }
            for number, (run, count, end, reason, slow) in enumerate(rows)
        ],
        schema=STEP_EVENTS,
    )


HISTORY = events(
    ("a", 1, 5, "warm_up", None),
    ("a", 1, 20, None, False),
    ("a", 10, 40, None, True),
    ("a", 1, 45, "pause", None),
    ("a", 1, None, "no_time", None),
    ("b", 1, 30, "warm_up", None),
    ("c", 1, 30, None, True),
)


def test_counters() -> None:
    """Both counters begin with the first judged step and end with the run."""
    found = step_counters(HISTORY, at(60, 0, 15, 30, 45, 30), cluster="c1").collect()

    assert found.rows() == [
        ("c1", "a", at(30).item(), 1.0, 0.0),
        ("c1", "a", at(45).item(), 11.0, 10.0),
        ("c1", "c", at(30).item(), 1.0, 1.0),
    ]


def test_series() -> None:
    """As series, the counters have the names that rules ask for."""
    counters = step_counters(HISTORY, at(45), cluster="c1")

    assert counter_series(counters).collect().rows() == [
        ("paceline_training_slow_steps_total", "c1", "a", at(45).item(), 10.0),
        ("paceline_training_steps_total", "c1", "a", at(45).item(), 11.0),
    ]


def test_no_scrape() -> None:
    """Without a scrape there is no sample."""
    assert step_counters(HISTORY, at(), cluster="c1").collect().is_empty()
