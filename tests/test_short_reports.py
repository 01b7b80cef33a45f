"""Slow ranks in few reports."""

import polars as pl
import pytest

from collectors.frames import STEPS, conform
from detectors.placing import ROLES
from detectors.short_reports import ShortReportParams, find_short_reports
from detectors.verdicts import verdicts_of


def steps(*reports: dict[int, float]) -> pl.LazyFrame:
    """Reports of ranks: their seconds of compute."""
    rows = [
        {"run": "r", "attempt": 0, "rank": rank, "step": step, "compute_seconds": seconds}
        for step, report in enumerate(reports, 1)
        for rank, seconds in report.items()
    ]
    return conform(pl.LazyFrame(rows), STEPS)


ONE = {0: 0.510, 1: 0.508, 3: 0.760}


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        pytest.param(steps(ONE), [(3, 1, "low")], id="one report is a hint"),
        pytest.param(steps(ONE, ONE), [(3, 1, "medium")], id="two are a warning"),
        pytest.param(
            steps(ONE, {0: 0.5, 1: 0.5, 3: 0.5}), [], id="a rank that was well once is not slow"
        ),
        pytest.param(steps(*[ONE] * 12), [], id="many reports are for the statistics"),
        pytest.param(steps({0: 0.5, 3: 0.9}), [], id="two ranks cannot tell who is slow"),
        pytest.param(
            steps({0: 0.5, 1: 0.5, 2: 0.5, 3: 1.0, 4: 1.0}), [], id="two of five are no outliers"
        ),
        pytest.param(steps({0: 0.5, 1: 0.5, 2: 0.6}), [], id="a fifth more is not plain"),
    ],
)
def test_short_reports(frame: pl.LazyFrame, expected: list[tuple[int, int, str]]) -> None:
    """A rank that works plainly longer than the others in every report is named."""
    found = verdicts_of(find_short_reports(frame, ROLES.to_frame().lazy(), ShortReportParams()))

    assert [(one.subject.rank, one.onset_step, one.confidence) for one in found] == expected


def test_a_rank_that_is_not_listed() -> None:
    """It is not known, and it is said so; the others are compared with each other."""
    (found,) = verdicts_of(
        find_short_reports(steps(ONE), ROLES.to_frame().lazy(), ShortReportParams())
    )

    assert found.slowdown == pytest.approx(1.493, abs=1e-3)
    assert ([one.what for one in found.evidence][1:], found.peer_count) == (
        ["no figure of rank 2: not known, not fast"],
        2,
    )


def test_all_listed() -> None:
    """With all ranks there, nothing is said of absent ones."""
    ranks = {0: 0.5, 1: 0.5, 2: 0.9}
    (found,) = verdicts_of(
        find_short_reports(steps(ranks), ROLES.to_frame().lazy(), ShortReportParams())
    )

    assert len(found.evidence) == 1


@pytest.mark.parametrize(
    ("data", "compute", "expected"),
    [
        pytest.param(0.4, 0.5, "data", id="what it waits for its data"),
        pytest.param(0.1, 0.8, "compute", id="what it computes"),
        pytest.param(0.3, 0.6, None, id="both in equal parts"),
    ],
)
def test_causes(data: float, compute: float, expected: str | None) -> None:
    """The phase is named that holds the excess, if one does."""
    both = {0: (0.1, 0.5), 1: (0.1, 0.5), 2: (data, compute)}
    names = ("rank", "data_seconds", "compute_seconds")
    rows = [dict(zip(names, (rank, *told), strict=True)) for rank, told in both.items()]
    frame = conform(
        pl.LazyFrame([{"run": "r", "attempt": 0, "step": 1, **row} for row in rows]), STEPS
    )
    (found,) = verdicts_of(find_short_reports(frame, ROLES.to_frame().lazy(), ShortReportParams()))

    assert (found.subject.rank, found.cause) == (2, expected)


def test_a_starved_rank() -> None:
    """In lockstep the starved rank has the longest wait for data and the shortest step."""
    told = {0: (0.01, 4.32), 1: (0.01, 4.32), 2: (2.9, 4.32)}
    names = ("rank", "data_seconds", "step_seconds")
    rows = [dict(zip(names, (rank, *one), strict=True)) for rank, one in told.items()]
    both = [{"run": "r", "attempt": 0, "step": step, **row} for row in rows for step in (1, 2)]
    frame = conform(pl.LazyFrame(both), STEPS)
    (found,) = verdicts_of(find_short_reports(frame, ROLES.to_frame().lazy(), ShortReportParams()))

    assert (found.subject.rank, found.cause, found.confidence) == (2, "data", "medium")


def test_impossible_params() -> None:
    """A threshold that every rank would pass is refused."""
    with pytest.raises(ValueError, match="min_slowdown must be above"):
        ShortReportParams(min_slowdown=1.0)
