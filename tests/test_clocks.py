"""Clocks that a message proves wrong, and whose address is whose."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import EVENTS, SchemaError
from detectors.addresses import known_addresses, with_hosts
from detectors.clocks import clock_offsets, with_one_clock

START = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)


def event(kind: str, host: str | None, peer: str | None = None, **labels: str) -> dict[str, Any]:
    """Return an event with attributes."""
    pairs = [{"key": key, "value": value} for key, value in labels.items() if key != "code"]
    row = {"kind": kind, "host": host, "peer": peer, "attributes": pairs or None}
    return {**row, "code": labels.get("code"), "time": START}


def skew(ahead: str, behind: str, seconds: float, **labels: str) -> dict[str, Any]:
    """Return the proof that one clock is behind another."""
    return event("clock_skew", ahead, behind, code=str(-seconds), **labels)


def frame(*rows: dict[str, Any]) -> pl.LazyFrame:
    """Return events as a frame."""
    return pl.DataFrame(list(rows), schema=EVENTS).lazy()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            [event("oob_address", "h5", "[::ffff:10.7.3.5%eth0]")],
            [("10.7.3.5", "h5")],
            id="a process says its own",
        ),
        pytest.param(
            [event("oob_address", "h5", "172.18.0.1"), event("oob_address", "h6", "172.18.0.1")],
            [],
            id="an address of two hosts is nobody's",
        ),
        pytest.param(
            [event("note", "h5", pid="71"), event("rank_missing", "10.7.3.5", pid="71")],
            [("10.7.3.5", "h5")],
            id="a process number of one host and one address joins them",
        ),
        pytest.param(
            [
                event("note", "h5", pid="71"),
                event("note", "h6", pid="71"),
                event("rank_missing", "10.7.3.5", pid="71"),
            ],
            [],
            id="a process number of two hosts joins nobody",
        ),
        pytest.param(
            [
                event("oob_address", "h9", "10.7.3.5"),
                event("note", "h5", pid="71"),
                event("rank_missing", "10.7.3.5", pid="71"),
            ],
            [("10.7.3.5", "h9")],
            id="what a process says beats a number",
        ),
        pytest.param(
            [event("note", "h9", pid="80"), skew("10.7.3.5", "10.7.3.9", 1.0, peer_pid="80")],
            [("10.7.3.9", "h9")],
            id="the other end has a process too",
        ),
    ],
)
def test_addresses(rows: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    """An address is a host's if exactly one claims it."""
    assert known_addresses(frame(*rows)).rows() == expected


def test_with_hosts() -> None:
    """Known addresses become hosts, other names stay."""
    known = pl.DataFrame({"address": ["10.7.3.5"], "owner": ["h5"]})
    rows = frame(event("x", "10.7.3.5"), event("x", "h6"), event("x", None))

    assert with_hosts(rows, "host", known).collect()["host"].to_list() == ["h5", "h6", None]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([], [], id="no proof"),
        pytest.param([skew("a", "b", 41.2)], [("b", 41.2)], id="of two the one behind moves"),
        pytest.param(
            [skew("a", "b", 41.0), skew("a", "b", 41.2)], [("b", 41.2)], id="the larger proof"
        ),
        pytest.param(
            [skew("a", "b", 40.0), skew("a", "c", 41.0)],
            [("b", 40.0), ("c", 41.0)],
            id="both that are behind one move",
        ),
        pytest.param(
            [skew("a", "c", 40.0), skew("b", "c", 41.0)], [("c", 41.0)], id="the one behind both"
        ),
        pytest.param(
            [skew("a", "b", 2.0), skew("c", "d", 3.0)], [("b", 2.0), ("d", 3.0)], id="two parts"
        ),
        pytest.param(
            [skew("a", "b", 2.0), skew("c", "d", 3.0), skew("a", "d", 9.0)],
            [("b", 2.0), ("d", 9.0)],
            id="parts that meet",
        ),
        pytest.param(
            [skew("a", "b", 2.0), skew("b", "c", 3.0)], [("b", 2.0), ("c", 5.0)], id="a chain"
        ),
        pytest.param([skew("a", "a", 2.0), skew("a", "b", 0.0)], [], id="proofs of nothing"),
        pytest.param([event("clock_skew", "a", "b", code="x")], [], id="no number"),
    ],
)
def test_offsets(rows: list[dict[str, Any]], expected: list[tuple[str, float]]) -> None:
    """Clocks that are behind move, and no further than is proven."""
    assert clock_offsets(frame(*rows)).rows() == expected
    assert clock_offsets(frame(*reversed(rows))).rows() == expected


def test_times_move() -> None:
    """Times of the host that is behind move, all others stay, a missing one stays missing."""
    rows = [
        skew("a", "b", 41.2),
        {**event("x", "b"), "last": START + timedelta(seconds=1)},
        event("x", "a"),
        {**event("x", "b"), "time": None},
    ]
    moved = with_one_clock(frame(*rows)).collect()

    assert moved["time"].to_list() == [START, START + timedelta(seconds=41.2), START, None]
    assert moved["last"][1] == START + timedelta(seconds=42.2)


def test_other_frames() -> None:
    """A frame of another kind is refused."""
    with pytest.raises(SchemaError, match="columns do not fit"):
        with_one_clock(pl.LazyFrame({"host": [], "kind": [], "peer": [], "code": []})).collect()
