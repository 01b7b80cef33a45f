"""What failures cost by cause, job and part, and who pays for the jobs that made room."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import LINKS, conform
from slo.failure_costs import COSTS
from slo.failure_domains import DOMAIN_COSTS, budget_domains

BEGIN = datetime(2031, 2, 3, tzinfo=UTC)
CABLES = [
    {"node_a": "leaf-1", "port_a": "1", "node_b": "r1-n1", "port_b": "mlx5_3"},
    {"node_a": "leaf-1", "port_a": "2", "node_b": "r2-n1", "port_b": "mlx5_3"},
]


def failure(number: int, run: str, cause: str, hours: float | None, **more: Any) -> dict[str, Any]:
    """A row of `COSTS` by infrastructure, charged to itself."""
    told = {"failure": number, "run": run, "cause": cause, "gpu_hours_lost": hours}
    moment = {"time": BEGIN + timedelta(hours=number), "root": number, "is_infrastructure": True}
    return told | moment | more


def made_room(number: int, run: str, root: int, hours: float, cause: str) -> dict[str, Any]:
    """A row of `COSTS` of a job that went for another one's restart."""
    told = {"forced_by": "big", "root": root, "is_infrastructure": False}
    return failure(number, run, cause, hours, **told)


def domains(*rows: dict[str, Any], kind: str | None = None) -> list[tuple[Any, ...]]:
    """What comes out, of one kind: its domain and figures."""
    costs = conform(pl.LazyFrame(rows, infer_schema_length=None), COSTS).collect()
    found = budget_domains(costs, conform(pl.LazyFrame(CABLES), LINKS).collect())
    assert found.schema == DOMAIN_COSTS
    return found.filter(pl.col("kind") == kind).drop("kind").rows() if kind else found.rows()


LOST_GPU = failure(0, "big", "gpu", 40.0, host="r1-n1", device="gpu 3", hosts=["r1-n1", "r1-n2"])


def test_a_failure_lies_in_several_domains() -> None:
    """A lost GPU is charged to its job, itself, its host and its rack, with who made room."""
    rows = (LOST_GPU, made_room(1, "small", 0, 8.0, "gpu"))
    figures = (1, 40.0, 1, 8.0)

    assert domains(*rows) == [
        ("cause", "gpu", *figures),
        ("job", "big", *figures),
        ("gpu", "gpu 3 of r1-n1", *figures),
        ("host", "r1-n1", *figures),
        ("rack", "r1", *figures),
    ]


@pytest.mark.parametrize(
    ("row", "kind", "expected"),
    [
        pytest.param(
            failure(0, "a", "network", 2.0, host="r1-n1", device="mlx5_3/1", hosts=["r1-n1"]),
            "switch",
            [("leaf-1", 1, 2.0, 0, None)],
            id="a port of a host is charged to the switch that it is cabled to",
        ),
        pytest.param(
            failure(0, "a", "network", 2.0, host="leaf-1", device="1", hosts=["r1-n1"]),
            "switch",
            [("leaf-1", 1, 2.0, 0, None)],
            id="what a switch says of itself is its own",
        ),
        pytest.param(
            failure(0, "a", "gpu", 2.0, host="r1-n1", device="mlx5_3"),
            "switch",
            [],
            id="what is no fault of the network is of no switch",
        ),
        pytest.param(
            failure(0, "a", "storage", 2.0, host="r1-n1", peer="nas1"),
            "storage",
            [("nas1", 1, 2.0, 0, None)],
            id="a server that a host waited for",
        ),
        pytest.param(
            failure(0, "a", "host", 2.0, hosts=["n7"]),
            "host",
            [("n7", 1, 2.0, 0, None)],
            id="the only host of an attempt",
        ),
        pytest.param(
            failure(0, "a", "host", None, hosts=["n7", "n8"]),
            "host",
            [(None, 1, None, 0, None)],
            id="of several hosts none is accused, and an unknown cost is null",
        ),
        pytest.param(
            failure(0, "a", "software", 2.0, hosts=["n7"], is_infrastructure=False),
            "host",
            [],
            id="a program is charged to no host",
        ),
        pytest.param(
            failure(0, "a", "software", 2.0, hosts=["n7"], is_infrastructure=False),
            "job",
            [("a", 1, 2.0, 0, None)],
            id="but to its job",
        ),
    ],
)
def test_domains(row: dict[str, Any], kind: str, expected: list[tuple[Any, ...]]) -> None:
    """Each failure lies in one domain of a kind at most."""
    assert domains(row, kind=kind) == expected


def test_the_dearest_first() -> None:
    """Domains are in the order of what they cost, with those who made room; unknown is last."""
    rows = (
        failure(0, "cheap", "host", 1.0, hosts=["n1"]),
        failure(1, "dear", "host", 5.0, hosts=["n2"]),
        failure(2, "big", "host", 3.0, hosts=["n3"]),
        failure(3, "priceless", "host", None, hosts=["n4"]),
        made_room(4, "small", 2, 4.0, "host"),
    )

    assert [row[0] for row in domains(*rows, kind="job")] == ["big", "dear", "cheap", "priceless"]


def test_sums_of_a_kind_are_the_whole() -> None:
    """What jobs are charged with is all that was lost, and so is what causes are."""
    rows = (LOST_GPU, made_room(1, "small", 0, 8.0, "gpu"), failure(2, "c", "host", 0.5))

    for kind in ("cause", "job"):
        found = domains(*rows, kind=kind)
        assert sum((row[2] or 0.0) + (row[4] or 0.0) for row in found) == 48.5


def test_nothing_failed() -> None:
    """No failures cost nothing, in the right schema."""
    found = budget_domains(COSTS.to_frame(), LINKS.to_frame())

    assert (found.schema, found.height) == (DOMAIN_COSTS, 0)
