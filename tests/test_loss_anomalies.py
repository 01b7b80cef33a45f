"""Loss and gradient norm against their own trend: spikes that recover, divergence, and neither."""

from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import EVENTS, STEPS, SchemaError, conform
from detectors.quiet.excursions import ExcursionParams, lasting_rise, least_height, spikes_of
from detectors.quiet.loss_anomalies import LossParams, find_loss_anomalies
from detectors.quiet.loss_series import job_losses, smoothed, trailing_median
from detectors.quiet.restoring import proven_saves, restore_words

Floats = npt.NDArray[np.float64]
START = datetime(2026, 1, 5, tzinfo=UTC)
COUNT = 300
NO_EVENTS = EVENTS.to_frame().lazy()


def losses(seed: int = 1, noise: float = 0.015, count: int = COUNT) -> Floats:
    """A loss that falls from 10 to 2, with noise."""
    at = np.arange(count)
    fall = 1.8 + 9.0 * np.exp(-at / 40.0) + 0.4 * np.exp(-at / 300.0)
    return fall * np.exp(np.random.default_rng(seed).normal(0.0, noise, count))


def norms(seed: int = 2, count: int = COUNT) -> Floats:
    """Gradient norms around 1, as rough as they are."""
    return np.exp(np.random.default_rng(seed).normal(0.0, 0.25, count))


def changed(values: Floats, where: slice, factor: float | Floats) -> Floats:
    """The values, some of them multiplied."""
    result = values.copy()
    result[where] *= factor
    return result


def job(loss: Floats | None, gradients: Floats | None = None, run: str = "r") -> pl.LazyFrame:
    """The reports of a job, one every ten steps."""
    count = len(loss if loss is not None else gradients if gradients is not None else [])
    frame = pl.LazyFrame(
        {
            "run": run,
            "attempt": 0,
            "step": 10 * np.arange(count),
            "end_time": [START + timedelta(seconds=40 * at) for at in range(count)],
            "loss": [None] * count if loss is None else loss,
            "grad_norm": [None] * count if gradients is None else gradients,
        }
    )
    return conform(frame, STEPS)


def told(steps: pl.LazyFrame, params: LossParams | None = None) -> list[tuple[str, str, int]]:
    """Cause, confidence and first step of each finding."""
    rows = find_loss_anomalies(steps, NO_EVENTS, params or LossParams()).to_dicts()
    assert all((row["kind"], row["level"]) == ("numerical", "job") for row in rows)
    assert all(row["subject"]["host"] is None and row["subject"]["rank"] is None for row in rows)
    return [(row["cause"], row["confidence"], row["onset_step"]) for row in rows]


TAIL = slice(200, None)
WARM_UP = 1.0 + 0.2 * np.exp(-(((np.arange(COUNT) - 30.0) / 10.0) ** 2))
RISING = np.exp(np.minimum(np.arange(100) * 0.012, 1.2))


@pytest.mark.parametrize(
    ("loss", "gradients", "expected"),
    [
        pytest.param(losses(), norms(), [], id="a loss that falls is no finding"),
        pytest.param(
            changed(losses(), slice(200, 203), 1.6),
            norms(),
            [("loss_spike", "low", 2000)],
            id="a spike of the data recovers and names nobody",
        ),
        pytest.param(
            changed(losses(), TAIL, 2.5),
            changed(norms(), TAIL, 4.0),
            [("loss_diverged", "high", 2000)],
            id="a loss that stays up with its gradients has diverged",
        ),
        pytest.param(
            changed(losses(), TAIL, 2.5),
            norms(),
            [("loss_diverged", "medium", 2000)],
            id="a loss that doubles and stays has diverged, though gradients are as before",
        ),
        pytest.param(
            changed(losses(), TAIL, 1.5),
            norms(),
            [],
            id="a higher level with the same gradients is other data",
        ),
        pytest.param(
            changed(losses(), TAIL, 1.5),
            changed(norms(), TAIL, 2.0),
            [("loss_diverged", "medium", 2000)],
            id="the same level with larger gradients is divergence",
        ),
        pytest.param(
            changed(losses(), TAIL, RISING),
            None,
            [("loss_diverged", "high", 2100)],
            id="a loss that rises bit by bit diverges",
        ),
        pytest.param(
            changed(losses(), slice(200, 240), np.linspace(1.8, 1.0, 40)),
            norms(),
            [("loss_spike", "low", 2000)],
            id="a slow recovery is one",
        ),
        pytest.param(
            changed(losses(), slice(270, None), np.linspace(3.0, 1.6, 30)),
            norms(),
            [],
            id="what is coming back when the data ends has not diverged",
        ),
        pytest.param(
            changed(losses(), slice(295, None), 1.8),
            norms(),
            [("loss_spike", "low", 2950)],
            id="a spike at the end of the data is one until it lasts",
        ),
        pytest.param(changed(losses(), slice(200, 201), 1.1), None, [], id="a small bump is noise"),
        pytest.param(
            changed(losses(), slice(200, 201), 1.4),
            norms(),
            [],
            id="a spike of a third that is gone at once is what batches do",
        ),
        pytest.param(
            losses(noise=0.4), norms(), [], id="the loss of single samples is rough by itself"
        ),
        pytest.param(
            losses(),
            changed(norms(), slice(150, 151), 60.0),
            [("gradient_spike", "low", 1500)],
            id="a gradient norm far out of its range is told",
        ),
        pytest.param(
            losses(),
            changed(norms(), TAIL, 40.0),
            [("gradients_grow", "medium", 2000)],
            id="a gradient norm that grows and stays",
        ),
        pytest.param(
            losses(),
            changed(norms(), TAIL, 0.0),
            [("gradients_vanished", "medium", 2000)],
            id="a gradient norm of exactly zero to the end",
        ),
        pytest.param(
            changed(losses(), TAIL, 0.0),
            norms(),
            [("loss_vanished", "medium", 2000)],
            id="a loss of exactly zero to the end is no success",
        ),
        pytest.param(
            changed(losses(), TAIL, 0.0),
            np.where(np.arange(COUNT) < 200, norms(), np.nan),
            [],
            id="a loss of zero beside gradients that are no number is another's matter",
        ),
        pytest.param(
            0.0 * norms(), norms(), [], id="a figure that was never anything did not vanish"
        ),
        pytest.param(losses() - 4.0, None, [], id="losses below zero have no ratio"),
        pytest.param(losses(count=30), norms(count=30), [], id="a short run is not judged"),
        pytest.param(losses(count=0), None, [], id="no report at all"),
        pytest.param(
            losses() * WARM_UP,
            norms() * (1.0 + 30.0 * np.exp(-np.arange(COUNT) / 5.0)),
            [],
            id="a warm-up of the learning rate may raise the loss at the start",
        ),
        pytest.param(
            np.full(COUNT, np.nan), np.full(COUNT, np.inf), [], id="no numbers are another's matter"
        ),
    ],
)
def test_findings(
    loss: Floats, gradients: Floats | None, expected: list[tuple[str, str, int]]
) -> None:
    """A run is told by the gravest thing that its loss and gradients do."""
    found = told(job(loss, gradients))

    assert [(cause, how, step // 300) for cause, how, step in found] == [
        (cause, how, step // 300) for cause, how, step in expected
    ]


def test_precision_recall_and_delay() -> None:
    """Of 30 runs the 15 that diverge are found, none of the others, by its 20th report."""
    runs = [losses(seed, noise) for seed in range(10) for noise in (0.01, 0.03, 0.06)]
    hurt = [changed(one, TAIL, 2.2) if at % 2 else one for at, one in enumerate(runs)]
    steps = pl.concat([job(one, norms(at), f"r{at:02}") for at, one in enumerate(hurt)])
    rows = find_loss_anomalies(steps, NO_EVENTS, LossParams()).to_dicts()

    assert sorted(row["subject"]["run"] for row in rows) == [f"r{at:02}" for at in range(1, 30, 2)]
    assert {row["onset_step"] for row in rows} == {2000}
    assert {row["detected"] - row["onset"] for row in rows} == {timedelta(seconds=760)}


def test_evidence_and_way_back() -> None:
    """A diverged run is told where to go back to, by the last save before it began."""
    saves = [(100, "checkpoint"), (1900, "checkpoint"), (1950, "checkpoint_start")]
    saves += [(2000, "checkpoint")]
    events = conform(
        pl.LazyFrame(
            {
                "run": ["r"] * 4,
                "kind": [kind for _, kind in saves],
                "code": [str(step) for step, _ in saves],
            }
        ),
        EVENTS,
    )
    steps = job(changed(losses(), TAIL, 2.5), changed(norms(), TAIL, 40.0))
    row = find_loss_anomalies(steps, events, LossParams()).row(0, named=True)

    assert row["action"].startswith("stop the run, restore the checkpoint of step 1900, the last")
    assert [seen["what"].split(" ")[0] for seen in row["evidence"]] == ["loss", "gradient"]


def test_many_spikes_are_counted() -> None:
    """Spikes are quoted up to four; training goes on, so there is nothing to go back to."""
    values = losses()
    for at in range(60, 260, 40):
        values[at] *= 1.9
    row = find_loss_anomalies(job(values), NO_EVENTS, LossParams()).row(0, named=True)

    assert (row["onset_step"], row["cleared_step"]) == (600, 2210)
    assert len(row["evidence"]) == 5
    assert row["evidence"][-1]["what"] == "5 spikes in all"
    assert row["action"].startswith("training goes on; spikes that come again")


def test_one_replica_is_not_the_job() -> None:
    """Where only ranks report, the median rank speaks for the job: one bad batch is no spike."""
    ranks = [losses(seed) for seed in range(5)]
    ranks[3] = changed(ranks[3], slice(200, 202), 3.0)
    frames = [job(one).with_columns(rank=pl.lit(at)) for at, one in enumerate(ranks)]
    steps = conform(pl.concat(frames), STEPS)

    assert told(steps) == []
    assert job_losses(steps).collect().height == COUNT


def test_lines_of_the_job_win() -> None:
    """Where lines speak for the whole job, those of ranks do not count."""
    whole, rank = job(losses()), job(3.0 * losses()).with_columns(rank=pl.lit(0))
    values = job_losses(conform(pl.concat([whole, rank], how="diagonal_relaxed"), STEPS))

    assert values.collect()["loss"].to_list() == losses().tolist()


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(1e-3, 1e3), shift=st.integers(0, 10**6))
def test_properties(seed: int, scale: float, shift: int) -> None:
    """Order, doubled delivery, another unit, another time and another name change nothing."""
    steps = job(changed(losses(), TAIL, 2.5), changed(norms(), TAIL, 4.0))
    moved = steps.with_columns(
        pl.col("loss") * scale, pl.col("end_time") + timedelta(seconds=shift), run=pl.lit("s")
    )
    shuffled = pl.concat([moved, moved]).collect().sample(fraction=1.0, shuffle=True, seed=seed)

    assert told(shuffled.lazy()) == told(steps)


@pytest.mark.parametrize("ratio", [1.3, 2.0, 3.0])
def test_a_stricter_threshold_finds_no_more(ratio: float) -> None:
    """What a stricter ratio finds, a milder one finds too."""
    steps = job(changed(losses(), slice(200, 202), 2.1))
    strict = LossParams(loss=ExcursionParams(min_ratio=ratio, min_ratio_alone=ratio))

    assert len(told(steps, strict)) == (1 if ratio <= 2.0 else 0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        pytest.param({"min_ratio": 1.0}, "min_ratio must be above 1.0", id="a ratio of one"),
        pytest.param({"min_ratio_alone": 1.1}, "and min_ratio_alone no less", id="a lower second"),
        pytest.param({"trend_reports": 0}, "need 1 report at least", id="no trend"),
    ],
)
def test_refused_params(params: dict[str, float], message: str) -> None:
    """A threshold that every series would pass is refused."""
    with pytest.raises(ValueError, match=message):
        ExcursionParams(**params)  # type: ignore[arg-type] # the wrong values are the point


def test_refused_frames() -> None:
    """What is no `STEPS` is refused at the door."""
    with pytest.raises(SchemaError):
        find_loss_anomalies(pl.LazyFrame({"step": [1]}), NO_EVENTS, LossParams())


def test_small_series() -> None:
    """Series too short for a trend have none."""
    empty = np.zeros(0)

    assert trailing_median(empty, 4, 2).tolist() == []
    assert smoothed(np.array([3.0, 1.0, 2.0]), 3).tolist() == [2.0, 2.0, 1.5]
    assert least_height(np.zeros(1), ExcursionParams()) == float("inf")
    assert list(spikes_of(np.zeros(3), ExcursionParams())) == []
    assert lasting_rise(np.zeros(3), ExcursionParams()) is None


def test_saves() -> None:
    """A save is known by its code, or by the step beside a span; others tell no step."""
    step = [{"key": "step", "value": "70"}]
    rows = [
        ("checkpoint", "40", None),
        ("checkpoint", "save", step),
        ("checkpoint", "/data/last", None),
        ("evaluation", "90", None),
    ]
    events = conform(
        pl.LazyFrame(
            [
                {"run": None, "kind": kind, "code": code, "attributes": more}
                for kind, code, more in rows
            ],
            schema_overrides={"attributes": EVENTS["attributes"]},
        ),
        EVENTS,
    )
    saves = proven_saves(events)

    assert saves.rows() == [(None, 40), (None, 70)]
    assert restore_words(saves, None, 70).startswith("restore the checkpoint of step 40")
    assert restore_words(saves, None, 71).startswith("restore the checkpoint of step 70")
    assert restore_words(saves, "r", 40) == "restore the last checkpoint from before step 40"
