"""NCCL's communicators: one name in all processes, from the lines on their lives."""

from dataclasses import replace

import polars as pl

from collectors.communication.communicators import name_communicators
from collectors.communication.nccl import read_nccl
from collectors.communication.nccl_places import read_places
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines
from collectors.texts.torn_records import split_records

CALL = "sendbuff 0x1 recvbuff 0x2 count 512 datatype 7 op 0 root 0 comm"


def read(text: str) -> Reading:
    """Return what NCCL's dialect makes of a log's text."""
    reading = read_nccl(split_records(read_lines(text.encode()), []), ReadOptions()).reading
    source = pl.lit("job.log")
    return replace(
        reading,
        events=reading.events.with_columns(source=source),
        collectives=reading.collectives.with_columns(source=source),
    )


def named(text: str) -> pl.DataFrame:
    """Return the collectives of a log with their groups named, twice to prove it is enough."""
    reading = read(text)
    once = name_communicators(reading.collectives, reading.events)
    assert name_communicators(once, reading.events).equals(once)
    return once


def life(process: int, comm: str, rank: int, tail: str, world: int = 2) -> str:
    """Return a line on the life of a communicator."""
    return (
        f"hx8-001:{process}:1 [{process}] NCCL INFO ncclCommInitRank comm {comm} rank {rank} "
        f"nranks {world} cudaDev {process} nvmlDev {process} busId {process}b000 {tail}\n"
    )


def call(process: int, comm: str, count: int, name: str = "AllReduce") -> str:
    """Return a logged operation."""
    return (
        f"hx8-001:{process}:1 [{process}] NCCL INFO {name}: opCount {count:x} {CALL} {comm} "
        "[nranks=2] stream 0x3\n"
    )


def test_a_start_without_an_end_is_open() -> None:
    """A communicator that was started and not completed is told so, by its identity."""
    text = (
        life(1, "0x55", 0, "commId 0xfeed - Init START")
        + life(1, "0x55", 0, "commId 0xfeed - Init COMPLETE")
        + life(2, "0x66", 1, "commId 0xfeed - Init START")
    )
    columns = ("host", "group", "group_rank", "group_ranks", "operation", "state")
    assert named(text).select(columns).rows() == [
        ("hx8-001", "0xfeed", 0, [0, 1], "init", "completed"),
        ("hx8-001", "0xfeed", 1, [0, 1], "init", "started"),
    ]


def test_operations_have_the_rank_of_their_communicator() -> None:
    """Pointers differ between processes, the identity does not; a pointer may be used again."""
    text = (
        life(1, "0x55", 1, "commId 0xa - Init START")
        + life(1, "0x55", 1, "commId 0xa - Init COMPLETE")
        + call(1, "0x55", 3)
        + life(1, "0x55", 1, "commId 0xa - Destroy COMPLETE")
        + life(1, "0x55", 0, "commId 0xb - Init COMPLETE")
        + call(1, "0x55", 4)
    )
    calls = named(text).filter(pl.col("state") == "called")
    assert calls.select("group", "group_rank", "sequence").rows() == [("0xa", 1, 3), ("0xb", 0, 4)]


def test_splits_are_told_by_parent_number_and_colour() -> None:
    """Splits without an id are the same on ranks of one parent, one number and one colour."""
    text = "".join(
        life(process, f"0x5{process}", rank, "commId 0xa - Init COMPLETE", world=4)
        + life(
            process,
            f"0x6{process}",
            rank // 2,
            f"parent 0x5{process} splitCount 1 color {rank % 2} key 0- Init START",
        )
        + life(process, f"0x7{process}", 0, f"parent 0x6{process} color 3 key 0 - Init START", 1)
        for process, rank in ((1, 0), (2, 1), (3, 2), (4, 3))
    )
    rows = named(text).select("group", "group_rank", "state").rows()
    assert [row for row in rows if "/1/" in row[0] and row[0].count("/") == 2] == [
        ("0xa/1/0", 0, "started"),
        ("0xa/1/1", 0, "started"),
        ("0xa/1/0", 1, "started"),
        ("0xa/1/1", 1, "started"),
    ]
    assert {row[0] for row in rows} == {"0xa", "0xa/1/0", "0xa/1/1", "0xa/1/0/1/3", "0xa/1/1/1/3"}


def test_a_communicator_without_an_identity_has_no_members() -> None:
    """Before ids were printed a communicator is its process' own: nobody is missed in it."""
    text = life(1, "0x55", 0, "- Init COMPLETE") + call(1, "0x55", 1)
    assert named(text).select("group", "group_rank", "group_ranks", "state").rows() == [
        ("0x55 of hx8-001:1", 0, None, "completed"),
        ("0x55 of hx8-001:1", 0, None, "called"),
    ]


def test_without_lives_the_device_stands_for_the_rank() -> None:
    """Of a host's processes with one pointer, devices tell apart who called what."""
    text = call(1, "0xa", 31) + call(2, "0xa", 32, "Broadcast")
    assert named(text).select("group", "group_rank", "sequence").rows() == [
        ("0xa of hx8-001", 1, 31),
        ("0xa of hx8-001", 2, 32),
    ]


def test_a_counter_that_stands_still_is_counted_anew() -> None:
    """2.27 leaves the count at 0 on one node: the place in the log stands for it."""
    text = call(1, "0xa", 0) + call(1, "0xa", 0, "AllGather") + call(2, "0xa", 0)
    assert named(text)["sequence"].to_list() == [0, 1, 0]


def test_other_collectives_are_left_alone() -> None:
    """Without NCCL's lines nothing changes."""
    reading = read("hello\n")
    assert name_communicators(reading.collectives, reading.events).is_empty()


def test_a_communicator_of_all_processes_places_the_ranks() -> None:
    """Its ranks are the job's where it holds every process; its bus ids name the GPUs."""
    text = "".join(
        life(process, "0x55", rank, "commId 0xa - Init COMPLETE")
        for process, rank in ((1, 0), (2, 1))
    )
    placements, aliases = read_places(read(text).events)
    assert placements.select("rank", "host", "gpu", "index").rows() == [
        (0, "hx8-001", "0000:1b:00.0", 1),
        (1, "hx8-001", "0000:2b:00.0", 2),
    ]
    assert aliases.select("device", "alias").rows() == [
        ("0000:1b:00.0", "1"),
        ("0000:2b:00.0", "2"),
    ]


def test_a_communicator_of_some_processes_places_nobody() -> None:
    """A rank in a group is not the job's, unless the printer has a global rank."""
    text = life(1, "0x55", 0, "commId 0xa - Init COMPLETE", world=1) + life(
        2, "0x66", 0, "commId 0xb - Init COMPLETE", world=1
    )
    assert read_places(read(text).events)[0].is_empty()
    placements, _ = read_places(
        read("".join(f"[rank7]:{row}\n" for row in text.splitlines()[:1])).events
    )
    assert placements.select("rank", "gpu").rows() == [(7, "0000:1b:00.0")]
