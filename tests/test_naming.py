"""Tests of the names that runs get."""

import polars as pl
import pytest

from collectors.readings import Reading, reading_of
from paceline.naming import Origin, name_runs


def steps(*rows: tuple[str, str | None, int | None]) -> Reading:
    """Return a reading of steps: source, run, rank."""
    return reading_of(
        steps=pl.DataFrame(rows, schema=["source", "run", "rank"], orient="row").with_columns(
            step=1
        )
    )


def at(root: str, folder: str, stem: str) -> Origin:
    """Return an origin."""
    return Origin(root=root, folder=folder, stem=stem)


@pytest.mark.parametrize(
    ("reading", "origins", "expected"),
    [
        pytest.param(
            steps(("a", "W", 0), ("b", None, 1)),
            {"a": at("d", "d/x", "rank-0"), "b": at("d", "d/y", "rank-1")},
            ["W", "W"],
            id="the only named run below a path takes the sources that name none",
        ),
        pytest.param(
            steps(("a", None, 0), ("b", None, 1)),
            {"a": at("d", "d", "rank0"), "b": at("d", "d", "rank1")},
            ["d", "d"],
            id="rank files of one folder are one run, named after it",
        ),
        pytest.param(
            steps(("a", None, None), ("b", None, None)),
            {"a": at("d", "d", "train-1"), "b": at("d", "d", "train-2")},
            ["train-1", "train-2"],
            id="two whole-job logs side by side are two runs",
        ),
        pytest.param(
            steps(("a", None, None), ("b", None, None)),
            {"a": at("d", "d", "rank_0"), "b": at("d", "d", "rank_1")},
            ["d", "d"],
            id="rank files whose lines speak for the whole job are one run as well",
        ),
        pytest.param(
            steps(("a", None, 0), ("a", None, 1)),
            {"a": at("f.csv", ".", "job_1")},
            ["job_1", "job_1"],
            id="a single file is named after itself",
        ),
        pytest.param(
            steps(("a", "W", 0), ("b", "V", 0), ("c", None, 0)),
            {name: at("d", "d", name) for name in "abc"},
            ["W", "V", "d"],
            id="with two named runs nobody guesses for the third source",
        ),
        pytest.param(
            steps(("a", None, 0), ("b", None, 0)),
            {"a": at("d", "d/one", "rank0"), "b": at("d", "d/two", "rank0")},
            ["one", "two"],
            id="subfolders are runs of their own",
        ),
        pytest.param(
            steps(("a", None, 0), ("b", None, 1)),
            {
                "a": at("d", "d/none_x1/attempt_0/0", "stdout"),
                "b": at("d", "d/none_x1/attempt_0/1", "stdout"),
            },
            ["none_x1", "none_x1"],
            id="a launcher's folders for attempts and ranks are no runs",
        ),
        pytest.param(
            steps(("a", None, None)),
            {"a": at("f.log", ".", "rank0")},
            ["rank0"],
            id="a lone file that is called rank0 keeps that name",
        ),
        pytest.param(
            steps(("a", None, 0), ("b", None, 1), ("c", None, 0)),
            {
                "a": at("logs/exp7/rank0.out", ".", "rank0"),
                "b": at("logs/exp7/rank1.out", ".", "rank1"),
                "c": at("logs/exp8/rank0.out", ".", "rank0"),
            },
            ["exp7", "exp7", "rank0"],
            id="ranks' files that are given one by one are of the folder in which they lie",
        ),
        pytest.param(
            steps(("a", None, 0), ("b", None, 1)),
            {"a": at("rank0.out", ".", "rank0"), "b": at("rank1.out", ".", "rank1")},
            ["job", "job"],
            id="also where that folder has no name",
        ),
    ],
)
def test_names(reading: Reading, origins: dict[str, Origin], expected: list[str]) -> None:
    """A run is called what its sources call it, else what they are called."""
    assert name_runs(reading, origins).steps["run"].to_list() == expected


def test_attempts_are_numbered() -> None:
    """An attempt that nobody numbers is the first."""
    named = name_runs(steps(("a", None, 0)), {"a": at("d", "d", "rank0")})

    assert named.steps["attempt"].to_list() == [0]
