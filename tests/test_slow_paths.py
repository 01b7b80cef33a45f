"""Hosts that every slow set of hosts has, and no other."""

import itertools
import random
from collections.abc import Collection, Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import TRANSFERS, SchemaError
from detectors.slow_paths import PathParams, find_slow_paths
from detectors.verdicts import Verdict, verdicts_of


def pair(first: str, second: str, rate: float | None, **more: Any) -> dict[str, Any]:
    """Return the bandwidth between two hosts."""
    return {
        "group": f"{first}+{second}",
        "nodes": 2,
        "bus_bytes_per_second": rate,
        "timing": "wall",
        "variant": "pair",
        "source": "pairs",
        **more,
    }


def pairs(
    hosts: Sequence[str], slow: Collection[str] | set[frozenset[str]] = (), **more: Any
) -> list[dict[str, Any]]:
    """Return all pairs of hosts; those of hosts in `slow`, or in pairs of it, run at half."""
    return [
        pair(a, b, 41e9 if {a, b} & set(slow) or frozenset({a, b}) in set(slow) else 81e9, **more)
        for a, b in itertools.combinations(hosts, 2)
    ]


def find(rows: list[dict[str, Any]], **params: Any) -> list[Verdict]:
    """Return the findings."""
    frame = pl.DataFrame(rows, schema=TRANSFERS).lazy()
    return verdicts_of(find_slow_paths(frame, PathParams(**params)))


def told(verdicts: list[Verdict]) -> list[tuple[object, ...]]:
    """Return level, host or set, and confidence of each finding."""
    return [
        (
            one.level,
            one.subject.host or one.subject.link or one.subject.group,
            one.confidence,
        )
        for one in verdicts
    ]


def groups(slow: str) -> list[dict[str, Any]]:
    """Return what ranks of groups of three hosts measured; those with a slow host are slow."""
    return [
        {
            "group": f"0x{number}",
            "host": host,
            "rank": rank,
            "world": 3,
            "nodes": 3,
            "operation": "AllReduce",
            "bytes": 2**26,
            "bus_bytes_per_second": 20e9 if set(hosts) & set(slow) else 40e9,
            "timing": "kernel_gpu",
            "source": host,
        }
        for number, hosts in enumerate(itertools.combinations("abcde", 3))
        for rank, host in enumerate(hosts)
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(pairs("abcd", "d"), [("host", "d", "high")], id="all pairs of one host"),
        pytest.param(pairs("abc", "c"), [("host", "c", "medium")], id="one good pair is little"),
        pytest.param(
            pairs("abcdef", "bd"),
            [("host", "b", "high"), ("host", "d", "high")],
            id="two hosts",
        ),
        pytest.param(
            pairs("abcde", {frozenset("bd")}), [("link", "b - d", "low")], id="a single pair"
        ),
        pytest.param(
            pairs("abcdef", {frozenset("bd"), *(frozenset({"f", one}) for one in "abcde")}),
            [("host", "f", "medium"), ("link", "b - d", "low")],
            id="a host, and a pair that it does not explain",
        ),
        pytest.param(pairs("abcd"), [], id="all alike"),
        pytest.param(pairs("abcd", "abc"), [], id="nearly all slow: nobody is named"),
        pytest.param(pairs("ab", "a"), [], id="a single pair has no like"),
        pytest.param(pairs("abcd", "d", bytes=1024), [], id="small messages are no bandwidth"),
        pytest.param(
            [*pairs("abc"), pair("a", "d", 41e9, operation="x"), pair("b", "d", 41e9, bytes=2**30)],
            [],
            id="other operations and sizes are not like",
        ),
        pytest.param([*pairs("abc"), pair("a", "d", 0.0), pair("b", "d", None)], [], id="no rate"),
        pytest.param(
            [
                {**row, "bus_bytes_per_second": None, "algorithm_bytes_per_second": rate}
                for row in pairs("abcd", "d")
                for rate in [row["bus_bytes_per_second"]]
            ],
            [("host", "d", "high")],
            id="rates of the algorithm, where no other is told",
        ),
        pytest.param(
            [
                {**row, "group": None, "source": f"{row['group'].replace('+', '_')}/out.txt"}
                for row in pairs(("hx8-01", "hx8-02", "hx8-03", "hx8-04"), ("hx8-04",))
            ],
            [("host", "hx8-04", "high")],
            id="runs whose files are named by their hosts",
        ),
        pytest.param(
            [{**row, "run": row["group"]} for row in pairs("abcd", "d")],
            [("host", "d", "high")],
            id="tests in a folder each, which is a run each",
        ),
        pytest.param(groups("e"), [("host", "e", "high")], id="groups of a profiler"),
        pytest.param(
            [
                {**row, "bus_bytes_per_second": 20e9 if row["group"] == "0x0" else 40e9}
                for row in groups("")
            ],
            [("group", "a - b - c", "low")],
            id="one group that no host explains",
        ),
    ],
)
def test_paths(rows: list[dict[str, Any]], expected: list[tuple[object, ...]]) -> None:
    """A host is named if all its sets are slow and all others are not."""
    assert told(find(rows)) == expected


def test_factor() -> None:
    """The slowdown is that of the sets with the host against those without."""
    one = find(pairs("abcd", "d"))[0]

    assert (one.kind, one.cause, one.peer_count) == ("slow", "slow_link", 3)
    assert one.slowdown == pytest.approx(81 / 41)


def test_stricter() -> None:
    """A stricter threshold finds less."""
    assert find(pairs("abcd", "d"), max_rate_ratio=0.5) == []


@settings(max_examples=10)
@given(st.integers(), st.sampled_from([1e-9, 1.0, 8.0]))
def test_order_and_unit(seed: int, unit: float) -> None:
    """Neither the order of rows nor the unit of rates changes who is named."""
    mixed = [
        {**row, "bus_bytes_per_second": row["bus_bytes_per_second"] * unit}
        for row in pairs("abcde", "e")
    ]
    random.Random(seed).shuffle(mixed)

    assert told(find(mixed)) == told(find(pairs("abcde", "e")))


def test_other_frames() -> None:
    """A frame of another kind is refused."""
    with pytest.raises(SchemaError, match="columns do not fit"):
        find_slow_paths(pl.LazyFrame(), PathParams())
