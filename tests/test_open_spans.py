"""Spans that never ended: which rank stopped, when others went on or wait for it."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from collectors.frames import COLLECTIVES, EVENTS, STEPS, conform
from detectors.hangs import HangParams, find_hangs
from detectors.open_spans import find_open_spans
from detectors.placing import ROLES

START = datetime(2026, 2, 3, 4, 0, tzinfo=UTC)
Span = tuple[int, str, int, float | None]


def events(spans: list[Span]) -> pl.LazyFrame:
    """Open spans: rank, name, step and seconds after the start (null: no clock)."""
    rows = [
        {
            "run": "r",
            "rank": rank,
            "kind": "open_span",
            "code": name,
            "time": None if seconds is None else START + timedelta(seconds=seconds),
            "attributes": [{"key": "step", "value": str(step)}],
        }
        for rank, name, step, seconds in spans
    ]
    return conform(pl.LazyFrame(rows, schema_overrides={"time": EVENTS["time"]}), EVENTS)


def steps(ranks: int, seconds: float | None = 100.0, *, ahead: bool = False) -> pl.LazyFrame:
    """The last step of some ranks; rank 3 finished none since its span, unless it is ahead."""
    end = None if seconds is None else START + timedelta(seconds=seconds)
    late = (pl.col("rank") != 3) | pl.lit(value=ahead)
    frame = pl.LazyFrame({"rank": list(range(ranks))}).with_columns(
        run=pl.lit("r"),
        step=4,
        end_time=pl.when(late).then(pl.lit(end, dtype=STEPS["end_time"])),
    )
    return conform(frame, STEPS)


@pytest.mark.parametrize(
    ("spans", "ranks", "expected"),
    [
        pytest.param([(3, "forward", 5, 0.0)], 8, [(3, "high")], id="one rank alone"),
        pytest.param([(3, "forward", 5, 90.0)], 8, [(3, "medium")], id="so far for seconds only"),
        pytest.param([(3, "forward", 5, None)], 8, [(3, "medium")], id="without a clock"),
        pytest.param(
            [(rank, "reduce", 5, 101.0) for rank in (0, 1, 2)] + [(3, "data", 5, 0.0)],
            4,
            [(3, "high")],
            id="all stand, one elsewhere",
        ),
        pytest.param(
            [(rank, "forward", 6, 101.0) for rank in (0, 1, 2)] + [(3, "forward", 5, 0.0)],
            4,
            [(3, "high")],
            id="all stand, one a step behind",
        ),
        pytest.param(
            [(rank, "forward", 5, 101.0) for rank in range(4)], 4, [], id="all stand alike"
        ),
        pytest.param([(0, "forward", 5, 101.0)], 1, [], id="a single rank has nobody beside it"),
    ],
)
def test_open_spans(spans: list[Span], ranks: int, expected: list[tuple[int, str]]) -> None:
    """The rank that the others have left, or that is behind or elsewhere, hangs."""
    found = find_open_spans(steps(ranks), events(spans), 0.4)
    assert [(one.subject.rank, one.confidence) for one in found] == expected


def test_a_rank_that_went_on() -> None:
    """A span that an earlier attempt left open is no hang of a rank that makes steps."""
    spans = events([(3, "forward", 5, 0.0)])
    assert find_open_spans(steps(8, ahead=True), spans, 0.4) == []


def test_no_clock_at_all() -> None:
    """Spans and steps without any time are judged by who stands."""
    (found,) = find_open_spans(steps(8, None), events([(3, "forward", 5, None)]), 0.4)
    assert (found.subject.rank, found.onset, found.confidence) == (3, None, "medium")


def test_a_hang_by_spans() -> None:
    """The hang detector names the rank, once."""
    collectives = conform(pl.LazyFrame({"run": []}, schema={"run": pl.String}), COLLECTIVES)
    found = find_hangs(
        steps(8), collectives, events([(3, "forward", 5, 0.0)]), ROLES.to_frame().lazy(), PARAMS
    ).to_dicts()
    assert [(one["kind"], one["subject"]["rank"]) for one in found] == [("hang", 3)]


PARAMS = HangParams(data_end=START + timedelta(hours=1))


def test_records_that_end_at_once() -> None:
    """A span that the others have just left is a hint: the records may have been cut there."""
    rows = [
        {"run": "r", "rank": rank, "step": step, "end_time": START + timedelta(seconds=step - 5)}
        for rank in range(8)
        for step in range(1, 6)
        if (rank, step) != (3, 5)
    ]
    told = pl.LazyFrame(rows, schema_overrides={"end_time": STEPS["end_time"]})
    spans = events([(3, "backward", 5, -0.5)])
    (found,) = find_open_spans(conform(told, STEPS), spans, 0.4)

    assert (found.subject.rank, found.confidence, found.needed is not None) == (3, "low", True)
