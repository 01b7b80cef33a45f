"""Events of ports that several lines tell."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.frames import conform
from collectors.port_logs.port_event_folds import PORT_LINES, fold_port_lines

START = datetime(2031, 3, 9, 4, 11, 7, tzinfo=UTC)


def lines(*rows: tuple[float | None, str, str]) -> pl.DataFrame:
    """Return lines of (seconds, device, kind), each a line of one switch's log."""
    frame = pl.DataFrame(
        {
            "line": range(len(rows)),
            "position": range(1, len(rows) + 1),
            "time": [None if at is None else START + timedelta(seconds=at) for at, *_ in rows],
            "device": [row[1] for row in rows],
            "kind": [row[2] for row in rows],
            "host": "leaf-1",
        },
        schema_overrides={"time": PORT_LINES["time"]},
    )
    return conform(frame.lazy(), PORT_LINES).collect()


def folded(*rows: tuple[float | None, str, str]) -> list[tuple[Any, ...]]:
    """Return device, kind and count of the events of lines."""
    return fold_port_lines(lines(*rows)).select("device", "kind", "count").rows()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            [(0.0, "p1", "link_down"), (0.9, "p1", "link_down"), (0.9, "p2", "link_down")],
            [("p1", "link_down", 2), ("p2", "link_down", 1)],
            id="the same of a port within a second is once",
        ),
        pytest.param(
            [(0.0, "p1", "link_down"), (1.1, "p1", "link_down")],
            [("p1", "link_down", 1), ("p1", "link_down", 1)],
            id="later than a second is twice",
        ),
        pytest.param(
            [(0.0, "p1", "link_down"), (0.1, "p1", "link_up"), (0.2, "p1", "link_down")],
            [("p1", "link_down", 1), ("p1", "link_up", 1), ("p1", "link_down", 1)],
            id="another state in between makes it three",
        ),
        pytest.param(
            [(None, "p1", "link_down"), (None, "p1", "link_down"), (None, "p1", "link_up")],
            [("p1", "link_down", 2), ("p1", "link_up", 1)],
            id="without times the order decides",
        ),
        pytest.param(
            [(0.0, "p1", "port_error"), (0.1, "p1", "port_error")],
            [("p1", "port_error", 1), ("p1", "port_error", 1)],
            id="faults within a second stay what they are",
        ),
        pytest.param(
            [(0.0, "p1", "port_error"), (0.0, "p1", "port_error")],
            [("p1", "port_error", 2)],
            id="equal lines are one row",
        ),
    ],
)
def test_copies(rows: list[tuple[float | None, str, str]], expected: list[Any]) -> None:
    """What several lines say of one change is one event."""
    assert folded(*rows) == expected


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        pytest.param(50, 50, id="fifty ports may be fifty faults"),
        pytest.param(51, 1, id="one more is a restart"),
    ],
)
def test_bursts(ports: int, expected: int) -> None:
    """More than 50 moves of a device within a second are one."""
    rows = [(0.01 * port, f"p{port}", "link_down") for port in range(ports)]
    assert len(folded(*rows)) == expected


def test_what_is_outside_of_a_burst_stays() -> None:
    """Moves before and after a restart are told one by one."""
    burst = [(10 + 0.01 * port, f"p{port}", "link_down") for port in range(60)]
    rows = [(0.0, "p1", "link_down"), (0.5, "p1", "link_up"), *burst, (60.0, "p1", "link_up")]
    assert folded(*rows) == [
        ("p1", "link_down", 1),
        ("p1", "link_up", 1),
        (None, "boot", 60),
        ("p1", "link_up", 1),
    ]


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(0, 5).map(float)),
            st.sampled_from(["p1", "p2"]),
            st.sampled_from(["link_down", "link_up", "port_error", "pfc_storm", "admin_up"]),
        ),
        max_size=12,
    )
)
def test_no_line_is_lost(rows: list[tuple[float | None, str, str]]) -> None:
    """The counts of the events add up to the lines."""
    assert sum(count for *_, count in folded(*rows)) == len(rows)
