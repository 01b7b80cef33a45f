"""Look into a flight recorder dump, whatever its version, and make rows of what is there.

Source: formats of NCCL and PyTorch-distributed logs, section 10.1: a bare list of entries in torch
2.2, a dict since; JSON writes numbers as text and an absent time as 0. Values are believed only as
far as their type is the right one.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from collectors.texts.json_numbers import whole_of

Row = dict[str, object]

DEFAULT_GROUP: Final = "0"

MAX_RANKS: Final = 1_000_000

_RANKS: Final = re.compile(r"\[\s*(?:\d{1,9}(?:\s*,\s*\d{1,9})*)?\s*\]")

_MAX_DIMENSIONS: Final = 32

_MAX_TEXT: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A process group as a dump configures it; `ranks` are global, empty when it does not say."""

    name: str
    description: str | None
    ranks: tuple[int, ...]

    def place(self, rank: int | None) -> int | None:
        """Return the rank inside the group of a global rank; null if it is not in it."""
        return self.ranks.index(rank) if rank is not None and rank in self.ranks else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """The parts of a dump: entries, groups by name, and standings by local number.

    Attributes:
        entries: As they are.
        groups: By name.
        standings: (last enqueued, last completed) by local number.
        version: As the dump says it; null for a bare list.
    """

    entries: tuple[Mapping[str, object], ...]
    groups: Mapping[str, Group]
    standings: Mapping[str, tuple[int | None, int | None]]
    version: str | None = None

    def local_names(self) -> dict[str, tuple[str, str | None]]:
        """Return name and description of the local group numbers that entries name."""
        named: dict[str, tuple[str, str | None]] = {}
        if DEFAULT_GROUP in self.groups:
            named[DEFAULT_GROUP] = (DEFAULT_GROUP, None)
        for entry in self.entries:
            name, description = _group_of(entry)
            named[_text(entry.get("pg_id"))] = (name, description)
        return named


def dump_of(value: object) -> Dump | None:
    """Return the dump in plain data; null when it is none."""
    if isinstance(value, list):
        return Dump(entries=_mappings(cast("list[object]", value)), groups={}, standings={})
    whole = _mapping(value)
    if not {"entries", "pg_config", "pg_status"} & whole.keys():
        return None
    entries = whole.get("entries")
    listed = cast("list[object]", entries) if isinstance(entries, list) else []
    standings = {
        str(number): (
            as_int(_mapping(status).get("last_enqueued_collective")),
            as_int(_mapping(status).get("last_completed_collective")),
        )
        for number, status in _mapping(whole.get("pg_status")).items()
    }
    groups = [_group(name, config) for name, config in _mapping(whole.get("pg_config")).items()]
    return Dump(
        entries=_mappings(listed),
        groups={group.name: group for group in groups},
        standings=standings,
        version=_text(whole["version"]) if "version" in whole else None,
    )


def version_tuple(version: str | None) -> tuple[int, ...]:
    """Return a version as numbers that compare: 2.10 is after 2.9; empty for none."""
    return tuple(int(part) for part in re.findall(r"\d{1,6}", version or ""))


def entry_rows(dump: Dump, rank: int | None) -> Iterator[Row]:
    """Yield a row an entry; a group's ranks stand in its first, and in pairs, which need them."""
    listed: set[str] = set()
    for number, entry in enumerate(dump.entries):
        name, description = _group_of(entry)
        enqueued, completed = dump.standings.get(_text(entry.get("pg_id")), (None, None))
        place = _place(dump.groups.get(name), rank)
        known = {} if _is_p2p(entry) or name not in listed else {"group_ranks": None}
        listed.add(name)
        yield (
            place
            | known
            | _entry_row(entry)
            | {
                "rank": rank,
                "group": name,
                "group_name": description,
                "state": _state(entry, completed),
                "enqueued": enqueued,
                "completed": completed,
                "position": number,
            }
        )


def _entry_row(entry: Mapping[str, object]) -> Row:
    """Return what an entry tells of itself alone."""
    created, timeout = as_int(entry.get("time_created_ns")), as_int(entry.get("timeout_ms"))
    sequence = as_int(entry.get("collective_seq_id", entry.get("seq_id")))
    return {
        "sequence": None if _is_p2p(entry) else sequence,
        "operation": _operation(entry) or None,
        "input_count": _elements(entry.get("input_sizes")),
        "output_count": _elements(entry.get("output_sizes")),
        "timeout_seconds": None if timeout is None else timeout / 1000,
        "created_us": None if not created else created // 1000,
    }


def status_rows(dump: Dump, rank: int | None) -> Iterator[Row]:
    """Yield a row a local group, its number as position; without a name it is `unmapped`."""
    names = dump.local_names()
    for number, (enqueued, completed) in dump.standings.items():
        name, description = names.get(number, (None, None))
        group = dump.groups.get(name) if name is not None else None
        yield _place(group, rank) | {
            "rank": rank,
            "group": name,
            "group_name": description or (group.description if group else None),
            "state": "unmapped" if name is None else "reported",
            "enqueued": enqueued,
            "completed": completed,
            "position": as_int(number),
        }


def group_rows(dump: Dump, rank: int | None) -> Iterator[Row]:
    """Yield a row a group that the rank is in."""
    for group in dump.groups.values():
        yield _place(group, rank) | {
            "rank": rank,
            "group": group.name,
            "group_name": group.description,
            "state": "configured",
        }


def as_int(value: object) -> int | None:
    """Return a whole number, or the one that a text holds; null for all else."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value):
        value = int(value)
    return whole_of(value)


def _state(entry: Mapping[str, object], completed: int | None) -> str | None:
    """Return an entry's state; a kill after the time-out is no completion, a retired one is."""
    state = entry.get("state")
    created, done, limit = (
        as_int(entry.get(name))
        for name in ("time_created_ns", "time_discovered_completed_ns", "timeout_ms")
    )
    sequence = as_int(entry.get("collective_seq_id"))
    if state == "completed" and created and done and limit and done - created > limit * 1_000_000:
        return "timed_out"
    if state == "scheduled" and entry.get("retired") is True and not _is_p2p(entry):
        passed = None not in {sequence, completed} and (sequence or 0) <= (completed or 0)
        return "completed" if passed else "scheduled"
    return state if isinstance(state, str) else None


def _is_p2p(entry: Mapping[str, object]) -> bool:
    return entry.get("is_p2p") is True or _operation(entry).startswith(("send ", "recv "))


def _operation(entry: Mapping[str, object]) -> str:
    """Return an entry's operation without its backend; empty if it names none."""
    name = entry.get("profiling_name")
    return _text(name).split(":")[-1] if isinstance(name, str) else ""


def _text(value: object) -> str:
    """Return a text or a number as text, anything else by its type: it may be endless."""
    return str(value)[:_MAX_TEXT] if isinstance(value, (str, int)) else type(value).__name__


def _group(name: str, config: object) -> Group:
    fields = _mapping(config)
    described = fields.get("desc")
    return Group(
        name=_text(fields.get("name", name)),
        description=described if isinstance(described, str) else None,
        ranks=_ranks(fields.get("ranks")),
    )


def _ranks(value: object) -> tuple[int, ...]:
    """Return the ranks in a text such as `[0, 8]`, or in a list; empty for anything else."""
    if isinstance(value, str) and _RANKS.fullmatch(value):
        return tuple(int(number) for number in re.findall(r"\d+", value))[:MAX_RANKS]
    if not isinstance(value, (list, tuple)):
        return ()
    numbers = [as_int(one) for one in cast("Sequence[object]", value)[:MAX_RANKS]]
    return tuple(number for number in numbers if number is not None)


def _group_of(entry: Mapping[str, object]) -> tuple[str, str | None]:
    """Return name and description of an entry's group; old dumps have its local number only."""
    group = entry.get("process_group")
    if not isinstance(group, (list, tuple)) or not group:
        return _text(entry.get("pg_id")), None
    parts = [_text(part) for part in cast("Sequence[object]", group)[:2]]
    return parts[0], parts[1] if len(parts) > 1 else None


def _place(group: Group | None, rank: int | None) -> Row:
    if group is None or not group.ranks:
        return {"group_ranks": None, "group_rank": None}
    return {"group_ranks": list(group.ranks), "group_rank": group.place(rank)}


def _elements(sizes: object) -> int | None:
    """Return how many elements the tensors of these sizes have; null if they are no sizes."""
    if not isinstance(sizes, (list, tuple)):
        return None
    total = 0
    for shape in cast("Sequence[object]", sizes):
        if not isinstance(shape, (list, tuple)):
            return None
        numbers = [as_int(one) for one in cast("Sequence[object]", shape)[:_MAX_DIMENSIONS]]
        total += math.prod(number or 0 for number in numbers)
    return whole_of(total)


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        return {}
    return {str(key): one for key, one in cast("dict[object, object]", value).items()}


def _mappings(values: Sequence[object]) -> tuple[Mapping[str, object], ...]:
    return tuple(mapping for mapping in map(_mapping, values) if mapping)
