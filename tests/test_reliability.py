"""The closed forms of reliability: each published figure, and what holds for all of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slo.reliability import (
    SECONDS_PER_DAY,
    SECONDS_PER_HOUR,
    RunCosts,
    daly_interval,
    expected_ettr,
    failures_per_second,
    max_write_seconds,
    mttf_seconds,
    wasted_share,
    young_interval,
)

RSC_1 = 6.50
RSC_2 = 2.34
MINUTE = 60.0


def ettr(
    nodes: float, per_1000: float, interval: float, init: float = 5.0, queue: float = 0.0
) -> float:
    """Expected ETTR of long runs; times in minutes."""
    costs = RunCosts(
        interval_seconds=interval * MINUTE,
        init_seconds=init * MINUTE,
        queue_seconds=queue * MINUTE,
    )
    return expected_ettr(failures_per_second(nodes, per_1000), costs)


@pytest.mark.parametrize(
    ("gpus", "hours"),
    [
        pytest.param(16_384, 1.803, id="16,384 GPUs fail every 1.8 h"),
        pytest.param(131_072, 0.225, id="131,072 GPUs fail every 0.23 h"),
        pytest.param(1_024, 28.846, id="1,024 GPUs are projected far above the 7.9 h observed"),
        pytest.param(8, 3692.308, id="8 GPUs are projected far above the 47.7 days observed"),
    ],
)
def test_projected_mttf(gpus: int, hours: float) -> None:
    """The time to failure that 6.50 failures in 1000 node-days project, 8 GPUs a node."""
    assert mttf_seconds(gpus / 8, RSC_1) / SECONDS_PER_HOUR == pytest.approx(hours, abs=5e-4)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(ettr(2_000, RSC_1, 60), 0.684, id="2,000 nodes with a checkpoint an hour"),
        pytest.param(ettr(2_000, RSC_1, 5), 0.932, id="the same with one every five minutes"),
        pytest.param(ettr(1_000, RSC_1, 30, queue=1), 0.906, id="8,000 GPUs that wait a minute"),
        pytest.param(ettr(12_500, RSC_1, 7), 0.520, id="100,000 GPUs of the worse cluster"),
        pytest.param(ettr(12_500, RSC_2, 2, init=2), 0.939, id="100,000 of the better one"),
        pytest.param(ettr(12_500, RSC_2, 21), 0.685, id="the same with 21 minutes, not 0.5"),
    ],
)
def test_published_ettr(found: float, expected: float) -> None:
    """The table of the reference, by the closed form for long runs."""
    assert found == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("write", "interval", "expected"),
    [
        pytest.param(300.0, 38.4, 0.740, id="writes of five minutes"),
        pytest.param(10.0, 7.0, 0.921, id="writes of ten seconds"),
    ],
)
def test_published_intervals(write: float, interval: float, expected: float) -> None:
    """The best interval of 12,000 GPUs, and the ETTR that it gives."""
    best = young_interval(write, mttf_seconds(1_500, RSC_1))
    costs = RunCosts(interval_seconds=best, init_seconds=5 * MINUTE, write_seconds=write)
    rate = failures_per_second(1_500, RSC_1)

    assert (best / MINUTE, expected_ettr(rate, costs)) == (
        pytest.approx(interval, abs=0.05),
        pytest.approx(expected, abs=5e-4),
    )


def test_reference_cluster() -> None:
    """45 s writes: 66 minutes at 48 h, 16 at 3 h, where 15-minute restarts make 17.5 % waste."""
    small, large = (young_interval(45.0, hours * SECONDS_PER_HOUR) for hours in (48, 3))
    waste = wasted_share(large, 45.0, 3 * SECONDS_PER_HOUR, 15 * MINUTE)

    assert (round(small / MINUTE), round(large / MINUTE), round(waste, 3)) == (66, 16, 0.175)


def test_very_large_clusters() -> None:
    """Failures every 15.1 minutes and writes of 4.4 s: 967 checkpoints a day within 5 %."""
    mttf = 15.12 * MINUTE
    interval = young_interval(4.4, mttf)

    assert (round(SECONDS_PER_DAY / interval), 4.4 / interval <= 0.05) == (967, True)
    assert 4.4 <= max_write_seconds(0.05, mttf) < 4.6


def test_what_a_write_may_take() -> None:
    """A write of that length is the asked share of Young's interval."""
    write = max_write_seconds(0.05, 1000.0)

    assert write / young_interval(write, 1000.0) == pytest.approx(0.05)


def test_failures_without_end() -> None:
    """A run that fails faster than it catches up makes nothing: 0, and nothing below."""
    assert ettr(100_000, RSC_1, 60) == 0.0
    assert expected_ettr(1 / 700.0, RunCosts(interval_seconds=800.0, init_seconds=300.0)) == 0.0


def test_no_failures() -> None:
    """Without failures only writes and the first start cost anything."""
    costs = RunCosts(
        interval_seconds=90.0, init_seconds=60.0, queue_seconds=40.0, write_seconds=10.0
    )

    assert mttf_seconds(0, RSC_1) == math.inf
    assert young_interval(10.0, math.inf) == daly_interval(10.0, math.inf) == math.inf
    assert expected_ettr(0.0, costs) == pytest.approx(0.9)
    assert expected_ettr(0.0, costs, run_seconds=900.0) == pytest.approx(900 / 1000 * 0.9)


def test_short_runs() -> None:
    """The form for short runs is E[W] = q + (R + u0)(1 + lambda q) / (1 - lambda (u0 + D / 2))."""
    costs = RunCosts(interval_seconds=3600.0, init_seconds=300.0, queue_seconds=60.0)
    rate, run = 1e-5, 86400.0
    whole = 60.0 + (run + 300.0) * (1 + rate * 60.0) / (1 - rate * 2100.0)

    assert expected_ettr(rate, costs, run_seconds=run) == pytest.approx(run / whole)


def test_daly() -> None:
    """Daly's estimate of higher order; writes that outlast failures leave the time to failure."""
    by_hand = math.sqrt(2 * 10 * 5000) * (1 + math.sqrt(0.001) / 3 + 0.001 / 9) - 10

    assert daly_interval(10.0, 5000.0) == pytest.approx(by_hand)
    assert daly_interval(300.0, 100.0) == 100.0


@pytest.mark.parametrize(
    ("interval", "init"),
    [pytest.param(0.0, 0.0, id="no interval"), pytest.param(1.0, -1.0, id="a cost below 0")],
)
def test_refusals(interval: float, init: float) -> None:
    """Costs that cannot be are refused at the door."""
    with pytest.raises(ValueError, match="interval_seconds must be above 0"):
        RunCosts(interval_seconds=interval, init_seconds=init)


TIMES = st.floats(1.0, 1e6)


@given(rate=st.floats(0.0, 1e-3), interval=TIMES, init=TIMES, queue=TIMES)
def test_bounds(rate: float, interval: float, init: float, queue: float) -> None:
    """ETTR lies between 0 and 1, and is never better with more failures or longer waits."""
    costs = RunCosts(interval_seconds=interval, init_seconds=init, queue_seconds=queue)
    longer = RunCosts(interval_seconds=interval, init_seconds=init, queue_seconds=2 * queue)
    found = expected_ettr(rate, costs)

    assert 0.0 <= expected_ettr(2 * rate, costs) <= found <= 1.0
    assert expected_ettr(rate, longer) <= found


@given(write=st.floats(0.1, 1e3), mttf=st.floats(1e4, 1e7), factor=st.floats(0.1, 10.0))
def test_young_wastes_least(write: float, mttf: float, factor: float) -> None:
    """No other interval wastes less, and another unit of time gives the same interval."""
    best = young_interval(write, mttf)

    assert wasted_share(best, write, mttf) <= wasted_share(factor * best, write, mttf) * (1 + 1e-12)
    assert young_interval(write / 60, mttf / 60) == pytest.approx(best / 60)
