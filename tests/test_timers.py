"""Megatron's timers beside the iteration lines that number them."""

import pytest

from collectors.logs import read_log_lines
from collectors.sniffing import ReadOptions

ITERATION = " iteration {}/ 9 | elapsed time per iteration (ms): 5.0 | lm loss: 1.0 |"

TIMERS = "time (ms) | forward: 3.0 | optimizer: x | backward: 1500.0"

EXPECTED = [("forward", "0.003"), ("backward", "1.5")]


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        pytest.param([], ("2", EXPECTED), id="the line before it"),
        pytest.param(
            ["  successfully saved checkpoint from iteration 7 to /c"],
            ("2", EXPECTED),
            id="a line that only speaks of an iteration is passed over",
        ),
    ],
)
def test_iteration_of_timers(between: list[str], expected: tuple[str, object]) -> None:
    """Timers are of the last iteration line before them; what is no number is not told."""
    text = "\n".join([ITERATION.format(1), ITERATION.format(2), *between, TIMERS])
    events = read_log_lines(text.encode(), "x.log", "x.log", ReadOptions()).events
    told = events.filter(kind="timers")
    labels = [(one["key"], one["value"]) for one in told["attributes"].explode()]

    assert (told["code"].item(), labels) == expected


@pytest.mark.parametrize(
    ("report", "labels", "lines"),
    [
        pytest.param(["time (ms) | "], [], 1, id="timers without any"),
        pytest.param(["time (ms) | a: 1.0 |"], [("a", "0.001")], 1, id="a bar at the end"),
        pytest.param(
            ["max time across ranks (ms):", "    b ....: 2.0", "    c ....: 4.0"],
            [("max b", "0.002"), ("max c", "0.004")],
            3,
            id="the largest",
        ),
        pytest.param(
            ["(min, max) time across ranks (ms):", "    b ....: (1.0, 2.0)"],
            [("min b", "0.001"), ("max b", "0.002")],
            2,
            id="the smallest and the largest",
        ),
    ],
)
def test_summaries(report: list[str], labels: list[tuple[str, str]], lines: int) -> None:
    """A report is one event with the seconds that its lines tell, in their order."""
    text = "\n".join([ITERATION.format(1), *report])
    told = read_log_lines(text.encode(), "x.log", "x.log", ReadOptions()).events.filter(
        kind="timers"
    )

    assert told["attributes"].to_list() == [[{"key": k, "value": v} for k, v in labels]]
    assert told["message"].item().count("\n") + 1 == lines
