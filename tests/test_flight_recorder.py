"""Flight recorder dumps: read without being run, their standings named by peers."""

import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.communication.flight_copies import drop_stale_dumps
from collectors.communication.flight_groups import name_groups
from collectors.communication.flight_recorder import (
    read_dump,
    read_flight_recorder,
    wants_flight_recorder,
)
from collectors.frames import COLLECTIVES
from collectors.readings import Reading, join_readings
from collectors.sniffing import Head, ReadOptions
from collectors.texts.event_labels import label_value
from collectors.texts.plain_pickles import (
    BrokenPickleError,
    PickleBudget,
    UnsafePickleError,
    load_plain_pickle,
)

MILLISECOND = 1_000_000


def entry(**changes: Any) -> dict[str, Any]:
    """Return an entry as PyTorch writes it, changed where told."""
    return {
        "record_id": 5,
        "pg_id": 3,
        "process_group": ("7", "TENSOR"),
        "collective_seq_id": 42,
        "p2p_seq_id": 0,
        "op_id": 42,
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[4, 8], [2]],
        "output_sizes": [[4, 8]],
        "state": "scheduled",
        "time_created_ns": 1_758_610_505_592_849_034,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": False,
        "timeout_ms": 180_000,
        "is_p2p": False,
        **changes,
    }


def dump(*entries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a dump of rank 1 in the groups 0 and 7."""
    return {
        "version": "2.9",
        "pg_config": {
            "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
            "7": {"name": "7", "desc": "TENSOR", "ranks": "[0, 1]"},
        },
        "pg_status": {
            "0": {"last_enqueued_collective": 9, "last_completed_collective": 9},
            "3": {"last_enqueued_collective": 42, "last_completed_collective": 41},
        },
        "entries": list(entries),
        **changes,
    }


def read(folder: Path, content: bytes, name: str = "_dump_1") -> Reading:
    """Return the reading of a dump with that content."""
    path = folder / name
    path.write_bytes(content)
    return read_flight_recorder(path, name, ReadOptions())


def rows(reading: Reading, state: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of a reading's collectives in one state."""
    return reading.collectives.filter(pl.col("state") == state).select(columns).rows()


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda value: pickle.dumps(value, protocol=2), id="as PyTorch pickles it"),
        pytest.param(lambda value: pickle.dumps(value, protocol=5), id="pickled anew"),
        pytest.param(lambda value: json.dumps(value).encode(), id="as JSON"),
    ],
)
def test_entries(tmp_path: Path, write: Any) -> None:
    """An entry tells rank, group, sequence, operation, sizes and the group's standing."""
    reading = read(tmp_path, write(dump(entry())))
    columns = ("rank", "group", "group_name", "group_rank", "group_ranks", "sequence")
    more = ("operation", "input_count", "output_count", "enqueued", "completed", "timeout_seconds")
    assert rows(reading, "scheduled", *columns, *more) == [
        (1, "7", "TENSOR", 1, [0, 1], 42, "all_reduce", 34, 32, 42, 41, 180.0)
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"state": "started"}, "started", id="started"),
        pytest.param(
            {
                "state": "completed",
                "time_discovered_completed_ns": 1_758_610_505_592_849_034 + 200_000 * MILLISECOND,
            },
            "timed_out",
            id="completed after its time-out was killed",
        ),
        pytest.param(
            {"state": "completed", "time_discovered_completed_ns": 1_758_610_505_592_849_999},
            "completed",
            id="completed in time",
        ),
        pytest.param({"retired": True, "collective_seq_id": 40}, "completed", id="retired"),
        pytest.param({"retired": True}, "scheduled", id="retired before its group got there"),
        pytest.param({"state": 3}, None, id="no state at all"),
    ],
)
def test_states(tmp_path: Path, changes: dict[str, Any], expected: str | None) -> None:
    """A state is believed as far as the clock and the group's standing allow."""
    reading = read(tmp_path, pickle.dumps(dump(entry(**changes))))
    states = reading.collectives.filter(pl.col("operation") == "all_reduce")["state"]
    assert states.to_list() == [expected]


def test_point_to_point_has_no_sequence(tmp_path: Path) -> None:
    """The numbers of sends and receives are a rank's own and compare with nobody's."""
    reading = read(tmp_path, pickle.dumps(dump(entry(profiling_name="nccl:send 0->1"))))
    assert rows(reading, "scheduled", "sequence", "operation") == [(None, "send 0->1")]


def test_standings_are_named_by_own_entries(tmp_path: Path) -> None:
    """A standing counts by a local number, which the rank's entries name; 0 is the default."""
    reading = read(tmp_path, pickle.dumps(dump(entry())))
    assert rows(reading, "reported", "group", "enqueued", "completed", "group_ranks") == [
        ("0", 9, 9, [0, 1, 2, 3]),
        ("7", 42, 41, [0, 1]),
    ]


def test_standings_are_named_by_peers(tmp_path: Path) -> None:
    """A rank without entries borrows the names of a peer with the same local numbers."""
    hung = dump(pg_status=dump()["pg_status"] | {"3": {"last_enqueued_collective": 41}})
    parts = [
        read(tmp_path, pickle.dumps(dump(entry())), "_dump_1"),
        read(tmp_path, pickle.dumps(hung), "_dump_0"),
    ]
    named = name_groups(join_readings(parts).collectives)
    found = named.filter(pl.col("state") == "reported", pl.col("group") == "7").sort("rank")
    assert (found.select("rank", "group_rank", "enqueued").rows(), named.schema) == (
        [(0, 0, 41), (1, 1, 42)],
        COLLECTIVES,
    )


def test_standings_that_nobody_names(tmp_path: Path) -> None:
    """Without a peer that knows, a standing has no group; members are told no more."""
    named = name_groups(read(tmp_path, pickle.dumps(dump())).collectives)
    assert named.select("state", "group", "position").rows() == [
        ("reported", "0", 0),
        ("unmapped", None, 3),
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param([entry(process_group=None, seq_id=4)], [("3", 42)], id="a bare list of 2.2"),
        pytest.param(dump(entry(pg_id="3"), pg_status=None), [("7", 42)], id="no standings"),
        pytest.param(
            dump(entry(collective_seq_id="42", time_created_ns=0)), [("7", 42)], id="texts"
        ),
        pytest.param(dump(entry(process_group=("9", 1))), [("9", 42)], id="an unknown group"),
        pytest.param(dump(entry(input_sizes=[3], output_sizes=None)), [("7", 42)], id="odd sizes"),
        pytest.param(
            dump(entry(input_sizes=[[2**62, 4]])), [("7", 42)], id="sizes beyond counting"
        ),
        pytest.param(
            dump(entry(), pg_config={"7": {"ranks": [0, 1, "x"]}}), [("7", 42)], id="ranks listed"
        ),
        pytest.param(dump(entry(), pg_config={"7": 5}), [("7", 42)], id="a group without fields"),
        pytest.param({"pg_status": {}}, [], id="no entries"),
        pytest.param(dump(5), [], id="an entry that is none"),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_versions(tmp_path: Path, value: object, expected: list[tuple[str, int]]) -> None:
    """Each version, and what is odd in it, is read as far as it can be."""
    found = read(tmp_path, pickle.dumps(value)).collectives
    entries = found.filter(pl.col("operation").is_not_null())
    assert entries.select("group", "sequence").rows() == expected


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        pytest.param("_dump_12", 12, id="a dump"),
        pytest.param("nccl_trace_rank_7", 7, id="the default name"),
        pytest.param("job-5.9.pkl", 9, id="the number at the end"),
        pytest.param("trace", None, id="no number"),
    ],
)
def test_the_rank_is_in_the_name(tmp_path: Path, name: str, rank: int | None) -> None:
    """A dump does not know its rank; its file's name does."""
    reading = read(tmp_path, pickle.dumps(dump(entry())), name)
    assert set(reading.collectives["rank"]) == {rank}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(dump(entry()), ("2.9", "info", "1", "180.0"), id="a dump with an entry"),
        pytest.param(dump(), ("2.9", "info", "0", None), id="a rank that hangs has none left"),
        pytest.param(dump(version="2.10"), ("2.10", "info", "0", None), id="2.10 is after 2.9"),
        pytest.param(dump(version="2.11"), ("2.11", "warning", "0", None), id="a newer version"),
        pytest.param(dump(version=[1]), ("list", "info", "0", None), id="no version at all"),
        pytest.param([], (None, "info", "0", None), id="a bare list without entries"),
    ],
)
def test_a_dump_is_there(
    tmp_path: Path, value: object, expected: tuple[str | None, str, str, str | None]
) -> None:
    """Each dump is an event, whatever is in it: an empty one is a fact about its rank."""
    events = read(tmp_path, pickle.dumps(value)).events
    told = events.select(
        "code", "severity", label_value("entries").alias("n"), label_value("timeout_seconds")
    )
    assert (told.rows(), events["rank"].to_list()) == ([expected], [1])


def test_old_and_doubled_dumps_are_left_out() -> None:
    """A rank's newest dump counts, and none that is of an earlier attempt."""
    hour = 3_600_000_000_000
    start = 1_758_610_505_592_849_034
    files = {"a/_dump_1": (1, 0), "b/_dump_1": (1, 0), "a/_dump_2": (2, 1), "c/_dump_3": (3, -5)}
    reading = join_readings(
        read_dump(pickle.dumps(dump(entry(time_created_ns=start + at * hour // 2))), rank, name)
        for name, (rank, at) in files.items()
    )
    kept = drop_stale_dumps(reading.collectives, reading.events)
    assert set(kept["source"]) == {"a/_dump_1", "a/_dump_2"}
    assert drop_stale_dumps(kept, reading.events.clear()).equals(kept)


def nested(instructions: bytes) -> bytes:
    """Return a pickle of 100 containers, each in the next."""
    return b"\x80\x02" + instructions * 100


def laughs(depth: int) -> bytes:
    """Return a pickle of lists that each hold the one before ten times."""
    levels = b"".join(
        b"]q" + bytes([at + 1]) + b"(" + (b"h" + bytes([at])) * 10 + b"e" for at in range(depth)
    )
    return b"\x80\x02(X\x03\x00\x00\x00lolq\x00" + levels + b"t."


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"\x80\x02cos\nsystem\n.", "GLOBAL", id="a name"),
        pytest.param(b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL", id="a new name"),
        pytest.param(b"\x80\x02N)R.", "REDUCE", id="a call"),
        pytest.param(b"\x80\x02N}b.", "BUILD", id="a state set"),
        pytest.param(
            b"(ios\nsystem\n.", "JSON", id="an instance of protocol 0 is no pickle of ours"
        ),
        pytest.param(b"\x80\x02(ios\nsystem\n.", "INST", id="an instance"),
        pytest.param(b"\x80\x02(No.", "OBJ", id="an object"),
        pytest.param(b"\x80\x02N)\x81.", "NEWOBJ", id="a new object"),
        pytest.param(b"\x80\x04N)}\x92.", "NEWOBJ_EX", id="a new object with names"),
        pytest.param(b"\x80\x02\x82\x01.", "EXT1", id="a registered name"),
        pytest.param(b"\x80\x02\x83\x01\x00.", "EXT2", id="a registered name in two bytes"),
        pytest.param(b"\x80\x02\x84\x01\x00\x00\x00.", "EXT4", id="a registered name in four"),
        pytest.param(b"\x80\x02P1\n.", "PERSID", id="something kept elsewhere"),
        pytest.param(b"\x80\x02NQ.", "BINPERSID", id="something kept elsewhere, on the stack"),
        pytest.param(b"\x80\x05\x97.", "NEXT_BUFFER", id="a buffer from outside"),
        pytest.param(b"\x80\x02S'x'\n.", "STRING", id="a text of protocol 0"),
        pytest.param(b"\x80\x02L12L\n.", "LONG", id="a number of protocol 0"),
        pytest.param(b"\x80\x04\x8f.", "EMPTY_SET", id="a set"),
        pytest.param(
            b"\x80\x02\x8a\xff" + b"\x7f" * 255 + b".", "2039 bits", id="a number of 255 bytes"
        ),
        pytest.param(b"\x80\x02\x8b\xff\xff\xff\x7f.", "not enough", id="a number of 2 GiB"),
        pytest.param(b"\x80\x02X\x00\x00\x00\x80abc.", "expected", id="a text of 2 GiB"),
        pytest.param(
            b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.", "expected", id="a text of 8 EiB"
        ),
        pytest.param(nested(b"]"), "exhausted", id="lists that are never closed"),
        pytest.param(nested(b"]") + b"a" * 99 + b".", "64 containers", id="lists in lists"),
        pytest.param(nested(b"}K\x01") + b"Ns" + b"s" * 99 + b".", "64 containers", id="dicts"),
        pytest.param(b"\x80\x02)" + b"\x85" * 100 + b".", "64 containers", id="tuples in tuples"),
        pytest.param(
            b"\x80\x02]q\x00" + b"]h\x00aq\x00" * 100 + b".", "64 containers", id="through memory"
        ),
        pytest.param(laughs(20), "no flight recorder dump", id="a billion laughs are never told"),
    ],
)
def test_every_way_out_of_plain_data(content: bytes, reason: str) -> None:
    """Each instruction that could build, name or fetch anything, or cost too much, is refused."""
    rejects = read_dump(content, 1, "x").rejects
    assert (rejects.height, reason in rejects["reason"][0]) == (1, True)


def test_shared_structures_are_never_spelled_out() -> None:
    """A billion laughs in any field of an entry costs no more than its reference."""
    lol: object = "lol"
    for _ in range(20):
        lol = [lol] * 10
    fields = ("process_group", "pg_id", "profiling_name", "input_sizes", "state", "timeout_ms")
    whole = dump(entry(**dict.fromkeys(fields, lol)), entry(process_group=(lol, lol)))
    whole |= {"version": lol, "pg_config": {"7": {"name": lol, "desc": lol, "ranks": lol}}}
    reading = read_dump(pickle.dumps(whole), 1, "x")
    assert reading.collectives.filter(pl.col("operation").is_not_null())["group"].to_list() == [
        "list"
    ]


def test_too_much_to_remember() -> None:
    """A pickle that keeps more values than any dump has is refused."""
    with pytest.raises(UnsafePickleError, match="at most 10 remembered values"):
        load_plain_pickle(pickle.dumps([[] for _ in range(20)]), PickleBudget(max_remembered=10))


class Bomb:
    """What an attacker pickles: a call."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Call something when loaded."""
        return (print, ("owned",))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(pickle.dumps(dump(entry(state=Bomb()))), "STACK_GLOBAL", id="a call"),
        pytest.param(pickle.dumps(Bomb(), protocol=2), "GLOBAL", id="an old call"),
        pytest.param(b"\x80\x02cos\nsystem\n.", "GLOBAL", id="a name"),
        pytest.param(pickle.dumps(2**300), "301 bits", id="a number to stall on"),
        pytest.param(pickle.dumps({(1, (2,)): 3}), "TypeError", id="a key with a deep hash"),
        pytest.param(b"\x80\x02]q\x00(", "exhausted", id="a torn one"),
        pytest.param(b"\x80\x02h\x05.", "KeyError", id="a memory that was never filled"),
        pytest.param(b"\x80\x02a.", "IndexError", id="an empty stack"),
        pytest.param(b"\x80\x02N\x85\x86.", "IndexError", id="too few values"),
        pytest.param(b"\x80\x02N]a.", "TypeError", id="a list into nothing"),
        pytest.param(b"{", "JSON", id="torn JSON"),
        pytest.param(b"\x80\x02N.", "no flight recorder dump", id="plain, and no dump"),
    ],
)
def test_hostile_dumps(tmp_path: Path, content: bytes, reason: str) -> None:
    """A dump that asks for more than plain data is one reject that says so; nothing runs."""
    rejects = read(tmp_path, content).rejects
    assert (rejects.height, reason in rejects["reason"][0]) == (1, True)


def test_a_pickle_that_holds_itself(tmp_path: Path) -> None:
    """A structure that holds itself is read like any other."""
    loop: dict[str, Any] = dump(entry())
    loop["pg_config"]["7"]["ranks"] = loop
    assert read(tmp_path, pickle.dumps(loop)).collectives.height > 0


def test_too_many_instructions() -> None:
    """A pickle of more instructions than any dump has is refused."""
    with pytest.raises(UnsafePickleError, match="at most 10 instructions"):
        load_plain_pickle(pickle.dumps(list(range(20))), PickleBudget(max_operations=10))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(pickle.dumps(dump(entry())), id="a pickle"),
        pytest.param(json.dumps(dump(entry())).encode(), id="JSON"),
    ],
)
def test_too_many_bytes(content: bytes) -> None:
    """A dump larger than any is refused unread, in either form."""
    rejects = read_dump(content, 1, "x", PickleBudget(max_bytes=10)).rejects
    assert rejects["reason"].to_list() == [f"wanted at most 10 bytes, found {len(content)}"]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(PLAIN, st.integers(2, 5))
@settings(max_examples=80, deadline=None)
def test_plain_data_comes_back(value: object, protocol: int) -> None:
    """What is plain is loaded as it was."""
    assert repr(load_plain_pickle(pickle.dumps(value, protocol=protocol))) == repr(value)


@given(st.binary(max_size=120), st.booleans())
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_loaded_or_refused(data: bytes, headed: bool) -> None:
    """Whatever the bytes, the loader answers or refuses by name."""
    refused = False
    try:
        load_plain_pickle(b"\x80\x04" * headed + data)
    except (UnsafePickleError, BrokenPickleError):
        refused = True
    assert refused in {True, False}


@given(PLAIN)
@settings(max_examples=60, deadline=None)
def test_any_plain_data_is_a_reading(value: object) -> None:
    """Whatever a dump's parts are, the reader gives a reading."""
    odd = {"entries": [entry(process_group=value, input_sizes=value), value], "pg_status": value}
    for whole in (odd, odd | {"pg_config": value}, {"entries": value, "pg_config": {"7": value}}):
        assert isinstance(read_dump(pickle.dumps(whole), 1, "x"), Reading)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(pickle.dumps(dump(entry()), protocol=2), 0.95, id="a pickle with its keys"),
        pytest.param(b"\x80\x04}.", 0.6, id="any pickle: nobody else may load one"),
        pytest.param(json.dumps(dump(entry())).encode(), 0.9, id="JSON with its keys"),
        pytest.param(b'{"step": 1}', 0.0, id="other JSON"),
        pytest.param(b"text", 0.0, id="text"),
    ],
)
def test_who_wants_a_dump(data: bytes, expected: float) -> None:
    """A dump is known by its keys, and a pickle by its first bytes."""
    assert wants_flight_recorder(Head(name="x", data=data)) == expected
