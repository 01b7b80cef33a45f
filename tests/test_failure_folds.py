"""Lines that say the same are one row; what readers know them as parts them again."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from collectors.frames import conform
from collectors.signatures.failure_lines import FAILURE_LINES
from collectors.signatures.library import read_signatures
from detectors.failure_folds import (
    FOLDS,
    LABELS,
    join_folds,
    join_labels,
    labelled_folds,
    with_folds,
)

START = datetime(2026, 1, 5, tzinfo=UTC)


def lines(*texts: str, **fields: Any) -> pl.DataFrame:
    """Lines of one log, a second apart."""
    rows = pl.DataFrame(
        {
            "text": texts,
            "time": [START + timedelta(seconds=at) for at in range(len(texts))],
            "position": range(1, len(texts) + 1),
        },
        schema_overrides={"text": pl.String, "time": pl.Datetime("us", "UTC")},
    ).with_columns(source=pl.lit("a.log"), count=1, is_failure=True, last=pl.col("time"))
    return conform(rows.with_columns(**fields).lazy(), FAILURE_LINES).collect()


def folded(told: pl.DataFrame) -> pl.DataFrame:
    """One row for each that says the same."""
    return join_folds(with_folds(told, read_signatures()))


def counts(rows: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Text, place and count of each row."""
    return rows.select("text", "position", "count").rows()


def test_what_says_the_same() -> None:
    """Numbers do not part lines, words do; the first one stands for all, with the last time."""
    told = lines("quorum 3 lost", "disk full", "quorum 77 lost")
    found = folded(told)

    assert found.schema == FOLDS
    assert counts(found) == [("quorum 3 lost", 1, 2), ("disk full", 2, 1)]
    assert found["last"].to_list() == [told["time"][2], told["time"][1]]


def test_numbers_that_tell() -> None:
    """Codes part lines: an Xid of memory is not one of the bus."""
    told = lines("NVRM: Xid (PCI:0000:1b:00): 79, lost", "NVRM: Xid (PCI:0000:1b:00): 48, lost")

    assert [count for *_, count in counts(folded(told))] == [1, 1]


def test_what_is_kept_apart() -> None:
    """Lines of two ranks, two hosts or two families are never one."""
    told = lines("write failed: /dev/shm/nccl-1 no space", "write failed: /data/nccl-1 no space")
    twice = pl.concat(
        [told, told.with_columns(rank=pl.lit(3, pl.Int32), position=pl.lit(9, pl.Int64))]
    )

    assert folded(told).height == 2
    assert folded(twice).height == 4


def test_parts_of_a_log_join() -> None:
    """Folding parts and then their folds gives what folding all does, in any order."""
    told = lines(*(f"shard {at} lost" if at % 3 else f"rank {at} died" for at in range(12)))
    parts = [folded(part) for part in (told[5:], told[:5])]

    assert join_folds(pl.concat(parts)).equals(folded(told))


def labels_of(rows: pl.DataFrame, kind: str, count: int, **more: Any) -> pl.DataFrame:
    """So many lines of the first fold that a reader knows."""
    told = rows.head(1).select("fold", kind=pl.lit(kind), position=7, count=count, **more)
    return conform(told.lazy(), LABELS).collect()


def test_labels() -> None:
    """Lines that a reader knows are a row apart, with what it tells of them besides."""
    rows = folded(lines("a lost", "a lost", "a lost"))
    known = labels_of(rows, "net_error", 2, host=pl.lit("hx8-001"), code=pl.lit("12"))
    found = labelled_folds(rows, known)

    assert found.schema == FAILURE_LINES
    assert found.select("kind", "code", "host", "count", "position").rows() == [
        (None, None, None, 1, 1),
        ("net_error", "12", "hx8-001", 2, 7),
    ]


def test_all_labelled() -> None:
    """Where a reader knows all lines of a fold nothing is left of it; doubles add up."""
    rows = folded(lines("a lost", "a lost"))
    one = labels_of(rows, "net_error", 1)

    assert labelled_folds(rows, pl.concat([one, one]))["count"].to_list() == [2]
    assert join_labels(pl.concat([one, one]))["count"].to_list() == [2]


def test_nothing() -> None:
    """No lines are no rows."""
    assert labelled_folds(folded(lines()), LABELS.to_frame()).is_empty()
