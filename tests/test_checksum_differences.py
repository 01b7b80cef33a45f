"""Checksums that ranks tell beside a step: in plain lines, in records, and whose are odd."""

import json
from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import EVENTS, SchemaError, conform
from collectors.readings import Reading
from detectors.placing import ROLES
from detectors.quiet.checksum_differences import find_checksum_differences

Read = Callable[[dict[str, str]], Reading]
Told = tuple[str, str | None, int | None, str, int]
NO_ROLES = ROLES.to_frame().lazy()


def told(events: pl.LazyFrame, roles: pl.LazyFrame = NO_ROLES) -> list[Told]:
    """Level, host, rank, confidence and first step of each finding."""
    rows = find_checksum_differences(events, roles).to_dicts()
    assert all((row["kind"], row["cause"]) == ("numerical", "checksum_differs") for row in rows)
    return [
        (
            row["level"],
            row["subject"]["host"],
            row["subject"]["rank"],
            row["confidence"],
            row["onset_step"],
        )
        for row in rows
    ]


def lines(odd: dict[tuple[int, int], str], ranks: int = 8) -> str:
    """Lines of ranks at steps 100, 200 and 300; `odd` tells other values by rank and step."""
    return "".join(
        f"2026-01-05T00:0{step // 100}:00Z [rank{rank}]: step {step} param checksum: "
        f"{odd.get((rank, step), f'0x{step:04x}beef')}\n"
        for step in (100, 200, 300)
        for rank in range(ranks)
    )


ODD = {(5, 200): "0xdead0001", (5, 300): "0xdead0002"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(lines({}), [], id="equal checksums are no finding"),
        pytest.param(
            lines(ODD), [("rank", None, 5, "high", 200)], id="the one that differs, from then on"
        ),
        pytest.param(
            lines({(rank, step): f"0x{rank:04x}" for rank in range(8) for step in (100, 200)}),
            [],
            id="checksums that nobody shares are of different things",
        ),
        pytest.param(
            lines({(1, 200): "0xdead0001"}, ranks=2),
            [("job", None, None, "medium", 200)],
            id="of two that differ nobody knows which is right",
        ),
        pytest.param(
            lines({(1, 100): "0xdead0001"}, ranks=2), [], id="two that never agreed are no pair"
        ),
        pytest.param(
            "step 3 of 5: sha256 checksum 0123abcd ok\ngit hash: 0123abcd\n",
            [],
            id="a checksum of a file has no rank",
        ),
    ],
)
def test_lines(read_texts: Read, text: str, expected: list[Told]) -> None:
    """Of lines that tell a rank, a step and a checksum the majority is right."""
    assert told(read_texts({"run.log": text}).events.lazy()) == expected


def test_progress_lines_keep_their_step(read_texts: Read) -> None:
    """A line with a loss beside its checksum is a step as well as a checksum."""
    text = "".join(
        f"[rank{rank}]: step {step} loss: 2.5 grad_hash=ab0{step}{'ff' if odd else '00'}\n"
        for step in (1, 2)
        for rank in range(4)
        for odd in [rank == 2 and step == 2]
    )
    reading = read_texts({"run.log": text})

    assert reading.steps.height == 8
    assert told(reading.events.lazy()) == [("rank", None, 2, "high", 2)]
    assert set(reading.events["attributes"].list.len()) == {2}


def test_records(read_texts: Read) -> None:
    """Records of ranks tell checksums as well."""
    text = "".join(
        json.dumps(
            {
                "run": "r",
                "rank": rank,
                "host": f"n{rank // 2}",
                "step": step,
                "step_s": 4.0,
                "weights_checksum": f"{step}cafe{int(rank == 3 and step > 5)}",
            }
        )
        + "\n"
        for step in range(10)
        for rank in range(6)
    )
    reading = read_texts({"steps.jsonl": text})

    assert reading.steps.height == 60
    assert told(reading.events.lazy()) == [("rank", "n1", 3, "high", 6)]


def checksums(odd: int | None = 5, shards: int = 1) -> pl.LazyFrame:
    """Checksums of eight ranks at ten steps; ranks of a shard share theirs."""
    return conform(
        pl.LazyFrame(
            [
                {
                    "run": "r",
                    "rank": rank,
                    "kind": "checksum",
                    "code": f"{step}-{rank % shards}" + ("x" if rank == odd and step >= 4 else ""),
                    "attributes": [{"key": "step", "value": str(step)}],
                }
                for step in range(10)
                for rank in range(8)
            ]
        ),
        EVENTS,
    )


def test_shards() -> None:
    """Tensor ranks hold different shards, which are compared among themselves where it is known."""
    roles = conform(
        pl.LazyFrame(
            {
                "run": "r",
                "attempt": 0,
                "rank": range(8),
                "tp": [rank % 2 for rank in range(8)],
                "host": [f"n{rank // 4}" for rank in range(8)],
            }
        ),
        ROLES,
    )

    assert told(checksums(shards=2)) == []
    assert told(checksums(shards=2), roles) == [("rank", "n1", 5, "high", 4)]


@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1))
def test_properties(seed: int) -> None:
    """Order, doubled delivery and other numbers of ranks change nothing."""
    events = checksums()
    renamed = conform(events.with_columns(rank=100 - pl.col("rank")), EVENTS)
    shuffled = pl.concat([renamed, renamed]).collect().sample(fraction=1.0, shuffle=True, seed=seed)

    assert told(shuffled.lazy()) == [("rank", None, 95, "high", 4)]


def test_refused_frames() -> None:
    """What is no `EVENTS` is refused at the door."""
    with pytest.raises(SchemaError):
        find_checksum_differences(pl.LazyFrame({"kind": ["x"]}), NO_ROLES)
