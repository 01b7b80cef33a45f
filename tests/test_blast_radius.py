"""How much each GPU, host, rack, switch and storage server puts at risk."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from collectors.readings import reading_of
from slo.blast_radius import budget_blast_radii
from slo.lives import budget_lives

BEGIN = datetime(2031, 2, 3, tzinfo=UTC)


def job(run: str, hours: float, hosts: list[str], world: int | None) -> dict[str, Any]:
    """A row of `JOBS`."""
    span = {"start": BEGIN, "end": BEGIN + timedelta(hours=hours)}
    return {"run": run, "attempt": 0, "state": "COMPLETED", "hosts": hosts, "world": world} | span


PLACED = [
    {"run": "a", "attempt": 0, "rank": rank, "host": f"r1-n{rank // 2}", "gpu": f"gpu {rank % 2}"}
    for rank in range(4)
]
CABLES = [
    {"node_a": "leaf-1", "port_a": "1", "node_b": "r1-n0", "port_b": "nic0"},
    {"node_a": "leaf-1", "port_a": "2", "node_b": "r1-n1", "port_b": "nic0"},
    {"node_a": "leaf-1", "port_a": "9", "node_b": "spine", "port_b": "1"},
]


def radii(jobs: list[dict[str, Any]], **more: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What each domain puts at risk."""
    frames = {name: pl.DataFrame(rows) for name, rows in more.items()}
    reading = reading_of(jobs=pl.DataFrame(jobs), **frames)
    return budget_blast_radii(reading, budget_lives(reading)).rows()


def test_domains() -> None:
    """A part of a lockstep job puts the whole job at risk; a shared host puts both."""
    jobs = [job("a", 9.0, ["r1-n0", "r1-n1"], 4), job("b", 4.0, ["r1-n1"], 1)]

    assert radii(jobs, placements=PLACED, links=CABLES) == [
        ("gpu", "gpu 0 of r1-n0", None, 1, 1, 4, 36.0, 0.9),
        ("gpu", "gpu 0 of r1-n1", None, 1, 1, 4, 36.0, 0.9),
        ("gpu", "gpu 1 of r1-n0", None, 1, 1, 4, 36.0, 0.9),
        ("gpu", "gpu 1 of r1-n1", None, 1, 1, 4, 36.0, 0.9),
        ("host", "r1-n1", None, 2, 2, 4, 40.0, 1.0),
        ("host", "r1-n0", None, 1, 2, 4, 36.0, 0.9),
        ("rack", "r1", None, 2, 4, 4, 40.0, 1.0),
        ("switch", "leaf-1", None, 2, 4, 4, 40.0, 1.0),
    ]


def test_rails() -> None:
    """A leaf whose cables are all of one rail is said to be that rail's."""
    rails = [row | {"rail": 3} for row in CABLES[:2]]
    mixed = [{**CABLES[0], "node_a": "leaf-2", "rail": rail} for rail in (1, 2)]
    found = radii([job("a", 9.0, ["r1-n0", "r1-n1"], 4)], links=[*rails, *CABLES[2:], *mixed])

    assert [row[1:3] for row in found if row[0] == "switch"] == [("leaf-1", 3), ("leaf-2", None)]


def test_ranks_of_a_rail() -> None:
    """On the leaf of a rail hang the ranks of that rail's GPUs, and all jobs of its hosts."""
    placed = [row | {"index": row["rank"] % 2} for row in PLACED]
    rails = [
        {
            "node_a": f"leaf-{rail}",
            "port_a": f"{host}",
            "node_b": f"r1-n{host}",
            "port_b": f"{rail}",
        }
        | {"rail": rail}
        for rail in (0, 1)
        for host in (0, 1)
    ]
    found = radii([job("a", 9.0, ["r1-n0", "r1-n1"], 4)], placements=placed, links=rails)
    one = radii([job("a", 9.0, ["r1-n0", "r1-n1"], 4)], placements=placed, links=rails[:2])

    assert [row[1:6] for row in found if row[0] == "switch"] == [
        ("leaf-0", 0, 1, 2, 4),
        ("leaf-1", 1, 1, 2, 4),
    ]
    assert [row[1:6] for row in one if row[0] == "switch"] == [("leaf-0", 0, 1, 4, 4)]


def test_storage() -> None:
    """A server for which the kernel of a host waited puts the jobs of that host at risk."""
    waits = {"host": "n1", "kind": "storage_stall", "device_kind": "storage", "peer": "nas1"}
    jobs = [job("a", 9.0, ["n0", "n1"], 4), job("b", 4.0, ["n2"], 1)]
    found = radii(jobs, events=[waits, waits | {"kind": "storage_recovered"}])

    assert found[-1] == ("storage", "nas1", None, 1, None, 4, 36.0, 0.9)


def test_unknown_sizes() -> None:
    """Where the size of a job is not known, what it has at risk is null."""
    assert radii([job("a", 9.0, ["x"], None)]) == [("host", "x", None, 1, None, None, None, None)]
