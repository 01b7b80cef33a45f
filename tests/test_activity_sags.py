"""Pauses of hosts in the activity of their GPUs: several hosts in turns, and what looks like it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import SAMPLES, SchemaError, conform
from detectors.placing import ROLES
from detectors.quiet.activity_sags import ActivityParams, find_activity_sags

Floats = npt.NDArray[np.float64]
START = datetime(2026, 1, 5, tzinfo=UTC)
HOSTS, EACH, TICKS = 6, 2, 360
PLACES = conform(
    pl.LazyFrame(
        {"run": "r", "attempt": 0, "rank": range(6), "host": [f"n{at}" for at in range(6)]}
    ),
    ROLES,
)
NO_PLACES = ROLES.to_frame().lazy()


def activity(seed: int = 1) -> Floats:
    """Activity of each host and tick: 0.8 with 2 % noise."""
    return 0.8 * (1.0 + 0.02 * np.random.default_rng(seed).standard_normal((HOSTS, TICKS)))


def dipping(phases: dict[int, int], every: int = 24, depth: float = 0.3) -> Floats:
    """The activity, with dips of some hosts at their phases."""
    values = activity()
    for host, phase in phases.items():
        values[host, phase::every] *= depth
    return values


def samples(
    values: Floats, signal: str = "sm_active_ratio", run: str | None = None
) -> pl.LazyFrame:
    """The samples of two GPUs on each host, every 10 s."""
    columns: dict[str, Any] = {
        "time": [START + timedelta(seconds=10 * at) for at in range(TICKS)] * (HOSTS * EACH),
        "host": [f"n{host}" for host in range(HOSTS) for _ in range(EACH * TICKS)],
        "device": [f"{gpu}" for _ in range(HOSTS) for gpu in range(EACH) for _ in range(TICKS)],
        "device_kind": "gpu",
        "signal": signal,
        "run": run,
        "value": np.repeat(values[:, None, :], EACH, axis=1).ravel(),
    }
    return conform(pl.LazyFrame(columns, schema_overrides={"run": pl.String}), SAMPLES)


TURNS = {0: 3, 1: 9, 2: 15, 3: 21}


def told(
    frame: pl.LazyFrame, roles: pl.LazyFrame = PLACES, params: ActivityParams | None = None
) -> list[tuple[str, str | None, str | None]]:
    """Level, run and group of each finding."""
    rows = find_activity_sags(frame, roles, params or ActivityParams()).to_dicts()
    assert all(
        (row["kind"], row["cause"]) == ("imbalance", "unsynchronised_pauses") for row in rows
    )
    assert all(row["subject"]["host"] is None for row in rows)
    return [(row["level"], row["subject"]["run"], row["subject"]["group"]) for row in rows]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(activity(), [], id="GPUs that work"),
        pytest.param(dipping(TURNS), [("job", "r", None)], id="hosts that pause in turns"),
        pytest.param(dipping({2: 5}), [], id="one host may be the one that writes checkpoints"),
        pytest.param(
            dipping(dict.fromkeys(range(HOSTS), 5)), [], id="all hosts at once is a checkpoint"
        ),
        pytest.param(dipping({1: 5, 2: 5}), [], id="two hosts at once are no turns"),
        pytest.param(dipping(TURNS, depth=0.95), [], id="dips that are no pauses"),
        pytest.param(dipping(TURNS, every=3), [], id="what dips often is slow"),
    ],
)
def test_findings(values: Floats, expected: list[tuple[str, str | None, str | None]]) -> None:
    """Hosts with one period and different phases are told once, and none of them is named."""
    assert told(samples(values)) == expected


def test_words() -> None:
    """The finding says the period, the phases and what to do."""
    row = find_activity_sags(samples(dipping(TURNS)), PLACES, ActivityParams()).row(0, named=True)

    assert row["evidence"][0]["what"] == (
        "GPUs of 4 hosts stand still every 240 s (100% of the times), each host at its own phase: "
        "n0 at 0 s, n1 at 60 s, n2 at 120 s, n3 at 180 s"
    )
    assert row["onset"] == START + timedelta(seconds=30)
    assert row["detected"] == START + timedelta(seconds=30 + 240 + 120)
    assert row["slowdown"] > 1.05


@pytest.mark.parametrize(
    ("run", "roles", "expected"),
    [
        pytest.param("s", NO_PLACES, [("job", "s", None)], id="samples tell the run"),
        pytest.param(None, NO_PLACES, [("group", None, "n0 + n1 + n2 + n3")], id="nobody does"),
    ],
)
def test_runs(
    run: str | None, roles: pl.LazyFrame, expected: list[tuple[str, str | None, str | None]]
) -> None:
    """The run is what samples or the placement tell; else the hosts are a group."""
    assert told(samples(dipping(TURNS), run=run), roles) == expected


def test_the_surest_signal_counts() -> None:
    """Of several signals the surest one is judged."""
    both = pl.concat([samples(activity()), samples(dipping(TURNS), "power_watts")])

    assert told(both) == []
    assert told(samples(dipping(TURNS), "power_watts")) == [("job", "r", None)]


def test_nothing_to_judge() -> None:
    """No samples, single readings and frames of another kind."""
    assert told(SAMPLES.to_frame().lazy()) == []
    assert told(samples(activity()).filter(pl.col("time") == START)) == []
    with pytest.raises(SchemaError):
        find_activity_sags(pl.LazyFrame({"value": [1.0]}), PLACES, ActivityParams())


@settings(max_examples=3)
@given(seed=st.integers(0, 2**32 - 1), shift=st.integers(0, 10**6), scale=st.floats(0.1, 1e3))
def test_properties(seed: int, shift: int, scale: float) -> None:
    """Order, doubled delivery, another unit, another time and other names of hosts."""
    moved = samples(dipping(TURNS)).with_columns(
        pl.col("time") + timedelta(seconds=shift),
        pl.col("value") * scale,
        host=pl.lit("x") + pl.col("host"),
    )
    shuffled = pl.concat([moved, moved]).collect().sample(fraction=1.0, shuffle=True, seed=seed)

    assert told(shuffled.lazy()) == [("group", None, "xn0 + xn1 + xn2 + xn3")]


@pytest.mark.parametrize(
    "params",
    [ActivityParams(min_loss=0.9), ActivityParams(min_ratio=9.0), ActivityParams(min_hosts=9)],
)
def test_a_stricter_threshold_finds_no_more(params: ActivityParams) -> None:
    """Asking for more than there is finds nothing."""
    assert told(samples(dipping(TURNS)), params=params) == []
