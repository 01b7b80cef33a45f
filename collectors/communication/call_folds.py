"""Keep those of NCCL's logged operations that tell something: a rank logs thousands an hour.

Source: methods of the NCCL and PyTorch reference, sections 10.3 and 12.2; formats of NCCL logs,
section 3.3. Nobody follows a logged call to its end. So of the calls of a rank in a communicator
count where they begin and how far they go, whether there are pairs among them, and the numbers at
which members differ: a number at which all say the same says nothing. Whether they do is known
when all logs are read; until then the others are kept in a few bytes each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

from collectors.communication.call_runs import are_local, are_of, callers_of, values_of
from collectors.communication.communicators import CALLED, is_local_call, name_communicators
from collectors.communication.source_rows import by_source, is_of, placed_by_source, with_many
from collectors.frames import COLLECTIVES, EVENTS, TIME, conform, schema_of
from collectors.readings import FRAMES, Reading, join_readings, own_rows, with_own_memory
from collectors.texts.file_places import FILE_LINES

MIN_CALLS: Final = 1000
"""Calls of a source below which all are kept: they cost little."""

MAX_DISPUTED: Final = 32
"""Numbers of a communicator at which its members differ that are kept, the first ones: what comes
after the first differs for its sake, and only the first is ever told."""

_BATCH_SOURCES: Final = 64
"""Sources whose calls are compared at once."""

_OPERATION: Final = ("operation", "input_count")

_OWN: Final = (*_OPERATION, "sequence", "time", "position")
"""What sets the calls of a rank in a communicator apart."""

_UNSAID: Final = (
    *("group_ranks", "output_count", "enqueued", "completed"),
    *("timeout_seconds", "running_seconds"),
)
"""What no logged call says."""

_MEMBER: Final = tuple(name for name in COLLECTIVES if name not in {*_OWN, *_UNSAID})

CALLS: Final = schema_of(
    {
        "member": pl.UInt32,
        "said": pl.UInt32,
        "number": pl.Int64,
        "time": TIME,
        "position": pl.Int64,
        "kept": pl.Boolean,
    }
)
"""One numbered call: its rows of `members` and `saids`, its number in the communicator, and whether
it is among the collectives still. Types are as narrow as the values allow."""

_SAYINGS: Final = schema_of({"communicator": pl.UInt32, "number": pl.Int64, "said": pl.UInt64})
"""What somebody says that a communicator's number is: a hash of operation and size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedCalls:
    """What some sources say, without those of their calls that may say nothing.

    Attributes:
        reading: All but those calls.
        calls: `CALLS` of the sources; empty where none is left out.
        members: What the calls of a rank in a communicator have in common, and `communicator`, the
            name that all its members know.
        saids: Operations and sizes, each once.
    """

    reading: Reading
    calls: pl.DataFrame = field(default_factory=CALLS.to_frame)
    members: pl.DataFrame = field(default_factory=pl.DataFrame)
    saids: pl.DataFrame = field(default_factory=pl.DataFrame)


def fold_calls(reading: Reading, min_calls: int = MIN_CALLS) -> FoldedCalls:
    """Return what some sources say, with few of their calls.

    Args:
        reading: All that some whole sources say, one after the other.
        min_calls: See `MIN_CALLS`.

    Returns:
        The collectives keep, of each rank in each life of a communicator, the first and the last
        call in place, in number and in time, one of its pairs, and all calls of a counter that
        stands still, whose numbers follow from their places.
    """
    rows = reading.collectives
    is_local = are_local(rows)
    calls = with_many(rows.filter(is_local), min_calls)
    if calls.is_empty() or not _are_plain(calls):
        return FoldedCalls(reading=with_own_memory(reading))
    told, members = _numbered(calls, reading.events)
    saids, said = values_of(told, _OPERATION)
    told = told.with_columns(said.alias("said"))
    told = told.with_columns(kept=pl.int_range(pl.len()).is_in(_kept_places(told).implode()))
    kept = told.filter("kept").select(COLLECTIVES.names())
    rest = rows.filter(~is_local | ~are_of(rows, members))
    both = by_source(pl.concat([rest, kept]), rows["source"].unique(maintain_order=True))
    return FoldedCalls(
        reading=with_own_memory(replace(reading, collectives=both)),
        calls=_narrow(told.drop_nulls("number").select(CALLS.names())),
        members=own_rows(members),
        saids=own_rows(saids),
    )


def _numbered(calls: pl.DataFrame, events: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return calls by source and position, with their `member` and `number` in it, and members."""
    callers = callers_of(calls, events, _MEMBER)
    if callers is not None:
        told = calls.with_columns(callers.numbers.alias("member"), number="sequence")
        return told, callers.members
    named = _named(calls, events)
    members = named.select(*_MEMBER, "communicator").unique(maintain_order=True)
    return _indexed(named, members, "member"), members


def only_sources(fold: FoldedCalls, sources: Sequence[str], lines_used: int) -> FoldedCalls:
    """Return what some of the sources say, which have so many lines that are used."""
    mine = pl.col("source").is_in(sources)
    frames: dict[str, Any] = {name: fold.reading.frame(name).filter(mine) for name in FRAMES}
    reading = replace(fold.reading, **frames, lines_used=lines_used)
    if fold.calls.is_empty():
        return replace(fold, reading=reading)
    is_mine = fold.members.select(mine).to_series()
    return replace(
        fold, reading=reading, calls=fold.calls.filter(is_mine.gather(fold.calls["member"]))
    )


def _are_plain(calls: pl.DataFrame) -> bool:
    """Return whether calls say no more than NCCL's logs do."""
    more = calls.select(pl.col(_UNSAID).is_not_null().any(), pl.col("position").is_null().any())
    return not any(more.row(0))


def _named(calls: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return calls by source and position, with `communicator` and their `number` in it.

    Positions that tell the file order the calls of all sources, and a sort of numbers is cheap.
    """
    sources = calls["source"].unique(maintain_order=True)
    placed = placed_by_source(calls, sources).sort("position", maintain_order=True)
    named = name_communicators(placed, placed_by_source(events, sources)).filter(
        pl.col("state") == CALLED
    )
    names = named.sort("position", maintain_order=True)
    told = names.select(communicator="group", number="sequence")
    return placed.with_columns(pl.col("position") % FILE_LINES).hstack(told)


def _indexed(rows: pl.DataFrame, table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return rows with the place of what they say in a table of all that they say."""
    keys, numbered = table.columns, table.with_row_index(name)
    return rows.join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _kept_places(told: pl.DataFrame) -> pl.Series:
    """Return the places of the calls that stay among the collectives."""
    place, number, time = pl.col("place"), pl.col("sequence"), pl.col("time")
    rows = told.with_row_index("place")
    ends = rows.group_by("member").agg(
        (pl.col("number") != number).any().alias("stands_still"),
        place.first().alias("first"),
        place.last().alias("last"),
        place.get(number.arg_max(), null_on_oob=True).alias("highest"),
        place.get(time.arg_min(), null_on_oob=True).alias("earliest"),
        place.get(time.arg_max(), null_on_oob=True).alias("latest"),
        place.filter(number.is_null()).first().alias("pair"),
    )
    still = rows.filter(pl.col("member").is_in(ends.filter("stands_still")["member"].implode()))
    places = ends.drop("member", "stands_still").unpivot()["value"]
    return pl.concat([still["place"], places.drop_nulls()])


def _narrow(calls: pl.DataFrame) -> pl.DataFrame:
    """Return calls in types that hold their values, and no more."""
    whole = [calls[name].shrink_dtype() for name in ("member", "said", "number", "position")]
    time = calls["time"]
    told = time.cast(pl.Null) if time.null_count() == time.len() else time
    return pl.DataFrame([*whole, told, calls["kept"]]).select(CALLS.names())


def join_folded(folds: Sequence[FoldedCalls]) -> Reading:
    """Return one reading of all sources, with all calls at numbers at which members differ.

    Args:
        folds: What `fold_calls` returns of each source, in order.

    Returns:
        The rows of all in their order, the calls of differing members last: by communicator those
        of its first `MAX_DISPUTED` numbers at which not all rows say the same.
    """
    joined = join_readings(one.reading for one in folds)
    folded = [one for one in folds if one.calls.height]
    if not folded:
        return joined
    names = {name for one in folded for name in one.members["communicator"]}
    ids = {name: at for at, name in enumerate(sorted(names))}
    disputed = _disputed([*_folded_sayings(folded, ids), _other_sayings(folds, ids)])
    told = set(disputed["communicator"])
    restored = [_restored(one, ids, disputed) for one in folded if told & set(_ids(one, ids))]
    return replace(joined, collectives=pl.concat([joined.collectives, *restored]))


def _ids(fold: FoldedCalls, ids: Mapping[str, int]) -> pl.Series:
    """Return the numbers of the communicators of a fold's members."""
    return pl.Series([ids[name] for name in fold.members["communicator"]], dtype=pl.UInt32)


def _folded_sayings(folds: Sequence[FoldedCalls], ids: Mapping[str, int]) -> Iterator[pl.DataFrame]:
    """Yield what some sources say of each number, as `_SAYINGS`: the least and the greatest."""
    for start in range(0, len(folds), _BATCH_SOURCES):
        yield _extremes(_sayings(one, ids) for one in folds[start : start + _BATCH_SOURCES])


def _sayings(fold: FoldedCalls, ids: Mapping[str, int]) -> pl.DataFrame:
    """Return `_SAYINGS` of one source."""
    said = fold.saids.select(_said()).to_series()
    return pl.DataFrame(
        {
            "communicator": _ids(fold, ids).gather(fold.calls["member"]),
            "number": fold.calls["number"].cast(pl.Int64),
            "said": said.gather(fold.calls["said"]),
        },
        schema=_SAYINGS,
    )


def _said() -> pl.Expr:
    return pl.struct(_OPERATION).hash()


def _other_sayings(folds: Sequence[FoldedCalls], ids: Mapping[str, int]) -> pl.DataFrame:
    """Return `_SAYINGS` of all rows that were never folded, of the communicators that were."""
    rows = pl.concat(
        one.reading.collectives.filter(~(is_local_call() & is_of(one.members))) for one in folds
    )
    loose = [one.reading.events.filter(~is_of(one.members)) for one in folds]
    named = name_communicators(rows, pl.concat([EVENTS.to_frame(), *loose]))
    return (
        named.drop_nulls("sequence")
        .filter(pl.col("group").is_in(list(ids)))
        .select(
            communicator=pl.col("group").replace_strict(ids, return_dtype=pl.UInt32),
            number="sequence",
            said=_said(),
        )
    )


def _extremes(sayings: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return of each number the least and the greatest that is said of it."""
    said = pl.col("said")
    ends = (
        pl.concat(sayings).group_by("communicator", "number").agg(low=said.min(), high=said.max())
    )
    return ends.unpivot(index=["communicator", "number"], value_name="said").drop("variable")


def _disputed(sayings: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the first numbers of each communicator at which not all say the same."""
    key = ["communicator", "number"]
    return (
        pl.concat(sayings)
        .group_by(key)
        .agg(kinds=pl.col("said").n_unique())
        .filter(pl.col("kinds") > 1)
        .sort(key)
        .group_by("communicator", maintain_order=True)
        .head(MAX_DISPUTED)
        .select(key)
    )


def _restored(fold: FoldedCalls, ids: Mapping[str, int], disputed: pl.DataFrame) -> pl.DataFrame:
    """Return the calls of one source that were left out, at disputed numbers."""
    table = _ids(fold, ids)
    left_out = fold.calls.filter(~pl.col("kept")).with_columns(pl.col("number").cast(pl.Int64))
    calls = left_out.with_columns(communicator=table.gather(left_out["member"])).join(
        disputed, on=["communicator", "number"], how="semi"
    )
    rows = pl.concat(
        [
            calls.select("time", "position", sequence="number"),
            fold.members[calls["member"]].drop("communicator"),
            fold.saids[calls["said"]],
        ],
        how="horizontal",
    )
    return conform(rows.lazy(), COLLECTIVES).collect()
