"""Tests of triage: known families by rules and likeness, clusters of the unknown."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import conform
from collectors.signatures.failure_lines import FAILURE_LINES
from collectors.signatures.library import SIGNATURES, read_signatures
from detectors.known_failures import library_space
from detectors.text_clusters import find_clusters
from detectors.triage import TRIAGE, TriageParams, find_families

START = datetime(2026, 1, 5, tzinfo=UTC)
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {} GiB"
LOST = "zorblax: FATAL quorum of shards lost, epoch {} rolled back"


def lines(*texts: str, **fields: Any) -> pl.DataFrame:
    """Lines a second apart, each of a host and a rank of its own."""
    rows = pl.DataFrame(
        {
            "text": texts,
            "time": [START + timedelta(seconds=at) for at in range(len(texts))],
            "host": [f"hx8-{at:03}" for at in range(len(texts))],
            "rank": range(len(texts)),
            "position": range(1, len(texts) + 1),
        },
        schema_overrides={"text": pl.String, "time": pl.Datetime("us", "UTC"), "host": pl.String},
    ).with_columns(source=pl.lit("a.log"), count=1, is_failure=True, last=pl.col("time"))
    return conform(rows.with_columns(**fields).lazy(), FAILURE_LINES).collect()


def triage(told: pl.DataFrame, **params: Any) -> pl.DataFrame:
    """What the shipped library makes of lines."""
    return find_families(told.lazy(), read_signatures().lazy(), TriageParams(**params))


def test_steps() -> None:
    """A rule, an event, a likeness and a cluster each give a row; the first seen is first."""
    told = lines(
        OOM.format(2), LOST.format(3), LOST.format(9), "nfs fileid changed, stale inode", OOM
    )
    event = lines("said by a reader", kind=pl.lit("xid"), code=pl.lit("79"))
    found = triage(pl.concat([told, event.with_columns(time=None, last=None)]))

    assert found.schema == TRIAGE
    assert found.select("family", "step", "count", "hosts").rows() == [
        ("cuda_out_of_memory", "rule", 2, ["hx8-000", "hx8-004"]),
        (None, "cluster", 2, ["hx8-001", "hx8-002"]),
        ("file_handle_stale", "likeness", 1, ["hx8-003"]),
        ("gpu_off_bus", "rule", 1, ["hx8-000"]),
    ]
    assert found["title"][1] == LOST.format(3)
    assert found["nearest"].list.len().to_list() == [3, 3, 3, 3]


def test_order_and_doubles() -> None:
    """Neither the order of rows nor a doubled delivery changes the answer."""
    told = lines(*(one.format(at) for at in range(6) for one in (OOM, LOST)), "", "7")
    shuffled = pl.concat([told, told]).sample(fraction=1.0, shuffle=True, seed=3)

    assert triage(shuffled).equals(triage(told))


def test_other_hosts() -> None:
    """Hosts of another name change nothing but the hosts."""
    told = lines(OOM.format(1), f"hx8-001 {LOST.format(1)}", f"hx8-002 {LOST.format(2)}")
    other = lines(OOM.format(1), f"node-71 {LOST.format(1)}", f"node-72 {LOST.format(2)}")

    assert triage(told)["count"].to_list() == triage(other)["count"].to_list() == [1, 2]


def test_quiet_and_empty() -> None:
    """A line that tells of no failure is no row, and no lines are none."""
    assert triage(lines("all is well with zorblax", is_failure=pl.lit(value=False))).is_empty()
    assert triage(lines()).is_empty()


def test_late_shapes() -> None:
    """Texts beyond those that may lead join a leader, or are told together."""
    texts = pl.DataFrame(
        {
            "shape": ["quorum of shards lost", "quorum of shards was lost", "else"],
            "weight": [3, 2, 1],
        }
    )
    found = find_clusters(texts, library_space(read_signatures()), 0.4, max_leaders=1)

    assert found["cluster"].to_list() == ["quorum of shards lost", "quorum of shards lost", None]
    whole = find_clusters(texts, library_space(read_signatures()), 0.4)
    assert whole["cluster"].to_list() == ["quorum of shards lost", "quorum of shards lost", "else"]


@pytest.mark.parametrize(
    "params",
    [{"min_similarity": 0.0}, {"min_cluster_similarity": 1.1}, {"max_lines": 0}],
    ids=str,
)
def test_thresholds(params: dict[str, Any]) -> None:
    """Thresholds that all lines would pass, or none, are refused."""
    with pytest.raises(ValueError, match=next(iter(params))):
        TriageParams(**params)


def test_no_library() -> None:
    """Without any family nothing can be told."""
    with pytest.raises(ValueError, match="at least one family"):
        find_families(lines().lazy(), SIGNATURES.to_frame().lazy(), TriageParams())


def test_own_family_without_rules() -> None:
    """A family that has examples alone is told by likeness."""
    own = pl.DataFrame(
        [
            ("shards", "Quorum lost", "A", "B", ["oom"], [], [LOST]),
            ("x", "X", "A", "B", [], [], ["y"]),
        ],
        schema=SIGNATURES,
        orient="row",
    )
    found = find_families(lines(LOST.format(7)).lazy(), own.lazy(), TriageParams())

    assert found.select("family", "step").rows() == [("shards", "likeness")]
