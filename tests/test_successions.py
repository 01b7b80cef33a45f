"""Attempts over the files that the processes of a run left one after the other."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from collectors.readings import Reading, reading_of
from paceline.naming import Origin, name_runs
from paceline.successions import number_successions

START = datetime(2031, 2, 3, 4, tzinfo=UTC)

Part = tuple[str, int, range, int | None]


def steps(*parts: Part) -> Reading:
    """A reading of files: name, minutes after the start, steps of one minute, rank."""
    rows = [
        {
            "run": "r",
            "source": source,
            "attempt": 0,
            "rank": rank,
            "step": step,
            "end_time": START + timedelta(minutes=late + at),
        }
        for source, late, numbers, rank in parts
        for at, step in enumerate(numbers)
    ]
    return reading_of(steps=pl.DataFrame(rows))


def attempts(reading: Reading) -> list[tuple[str, int]]:
    """Each file with its attempt."""
    named = number_successions(reading).steps
    return named.select("source", "attempt").unique().sort("source").rows()


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param(
            [("a", 0, range(10), None), ("b", 20, range(6, 12), None)],
            [("a", 0), ("b", 1)],
            id="a file that begins before the last step is the next attempt",
        ),
        pytest.param(
            [("b", 0, range(10), None), ("a", 20, range(10, 12), None)],
            [("a", 0), ("b", 0)],
            id="one that goes on behind it is the same",
        ),
        pytest.param(
            [
                ("x/out.tfevents.1", 0, range(10), None),
                ("x/out.tfevents.2", 20, range(10, 12), None),
            ],
            [("x/out.tfevents.1", 0), ("x/out.tfevents.2", 1)],
            id="an event file is a process of its own, wherever it goes on",
        ),
        pytest.param(
            [("a", 0, range(10), None), ("b", 5, range(6, 12), None)],
            [("a", 0), ("b", 0)],
            id="files of one time are two views of one attempt",
        ),
        pytest.param(
            [(name, 20 * at, range(8), None) for at, name in enumerate("abc")],
            [("a", 0), ("b", 1), ("c", 2)],
            id="three starts are three attempts",
        ),
        pytest.param(
            [("a", 0, range(10), 0), ("b", 20, range(6, 12), 0)],
            [("a", 0), ("b", 0)],
            id="files of ranks keep what they say",
        ),
        pytest.param([("a", 0, range(3), None)], [("a", 0)], id="one file follows nobody"),
    ],
)
def test_successions(parts: list[Part], expected: list[tuple[str, int]]) -> None:
    """Attempts count on from file to file, whatever the files are called."""
    assert attempts(steps(*parts)) == expected


def test_row_order_does_not_matter() -> None:
    """The same files in another order give the same attempts."""
    parts: list[Part] = [("a", 0, range(10), None), ("b", 20, range(6, 12), None)]

    assert attempts(steps(*reversed(parts))) == [("a", 0), ("b", 1)]


@pytest.mark.parametrize(
    ("folder", "stem", "expected"),
    [
        pytest.param("data/job7", "events.out.tfevents.1", "job7", id="the folder of the run"),
        pytest.param("data/job7/tb", "events.out.tfevents.1", "job7", id="a store's own folder"),
        pytest.param("data/job7/train", "events.out.tfevents.1", "job7", id="a loop's own folder"),
        pytest.param("data/job7", "Train_Samples_lr", "job7", id="a monitor's files"),
        pytest.param(".", "events.out.tfevents.1", "events.out.tfevents.1", id="a file alone"),
    ],
)
def test_a_store_is_called_after_its_folder(folder: str, stem: str, expected: str) -> None:
    """Files of which a run has many never name it."""
    rows = pl.DataFrame({"source": ["a", "b"], "step": [1, 1]})
    origins = {
        "a": Origin(root="data", folder=folder, stem=stem),
        "b": Origin(root="data", folder=folder, stem=f"{stem}2"),
    }

    assert name_runs(reading_of(steps=rows), origins).steps["run"][0] == expected
