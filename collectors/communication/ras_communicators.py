"""The communicators of a RAS report in JSON, as rows of collectives and events.

Source: formats of NCCL logs, section 5.2. States and errors are numbers of `ncclResult_t`; 7, in
progress, is no error.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from collectors.texts.json_documents import items_of, mapping_of, text_of
from collectors.texts.json_numbers import whole_of
from collectors.texts.label_rows import label_rows

RESULTS: Final = {
    1: "unhandled CUDA error",
    2: "unhandled system error",
    3: "internal error",
    4: "invalid argument",
    5: "invalid usage",
    6: "remote process error",
    8: "timeout",
}
"""Errors of `ncclResult_t`."""

_IN_PROGRESS: Final = 7


@dataclass(slots=True, kw_only=True)
class Report:
    """Rows that documents gave so far; `time` is a stamp as printed."""

    collectives: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def communicator_rows(document: dict[str, Any], report: Report, line: int) -> None:
    """Add the rows of a report's communicators.

    Args:
        document: The report.
        report: Where to add them.
        line: Its first line in the file.
    """
    comms = [mapping_of(one) for one in items_of(document.get("communicators"))]
    sizes = sorted((whole_of(comm.get("size")) or 0 for comm in comms), reverse=True)
    world = sizes[0] if sizes and sizes.count(sizes[0]) == 1 else None
    time = text_of(document.get("timestamp"))
    for comm in comms:
        size = whole_of(comm.get("size"))
        group = {
            "time": time,
            "group": _hash(comm.get("hash")),
            "size": size,
            "is_world": size is not None and size == world,
            "position": line,
        }
        ranks = [mapping_of(one) for one in items_of(comm.get("ranks"))]
        missing = [mapping_of(one) for one in items_of(comm.get("missing_ranks"))]
        report.events.append(_group_event(group, comm, ranks))
        for one in ranks:
            _rank_rows(one, group, report)
        for one in missing:
            _missing_rows(one, group, report)


def _hash(value: object) -> str | None:
    """Return a hash as the text report prints it: 16 digits without `0x`."""
    text = text_of(value)
    return text.lower().removeprefix("0x").zfill(16) if text else None


def _place(rank: dict[str, Any], group: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that say which rank a row is of; a rank that cannot be has no number."""
    number, size = whole_of(rank.get("rank")), group["size"]
    is_sound = number is not None and number >= 0 and (size is None or number < size)
    host = text_of(rank.get("host"))
    return {
        "time": group["time"],
        "position": group["position"],
        "host": None if host == "unknown" else host,
        "rank": number if is_sound and group["is_world"] else None,
        "group_rank": number if is_sound else None,
    }


def _labels(rank: dict[str, Any], group: dict[str, Any]) -> list[dict[str, str]]:
    process = whole_of(rank.get("pid"))
    told = {
        "group": group["group"],
        "group_rank": text_of(rank.get("rank")),
        "pid": None if process is None or process < 0 else process,
        "size": group["size"],
    }
    return label_rows(told)


def _rank_rows(rank: dict[str, Any], group: dict[str, Any], report: Report) -> None:
    place = _place(rank, group)
    counts = mapping_of(rank.get("collective_counts"))
    if place["group_rank"] is not None:
        report.collectives += [
            {
                **place,
                "group": group["group"],
                "operation": operation,
                "state": "launched",
                "enqueued": count or -1,
            }
            for operation, value in counts.items()
            if (count := whole_of(value)) is not None
        ]
    status = mapping_of(rank.get("status"))
    for name in ("init_state", "async_error"):
        number = whole_of(status.get(name)) or 0
        if number not in {0, _IN_PROGRESS}:
            reason = RESULTS.get(number, str(number))
            what = f"rank {rank.get('rank')} reports {reason} ({name})"
            report.events.append(_event(rank, group, "ras_error", reason, what))


def _missing_rows(rank: dict[str, Any], group: dict[str, Any], report: Report) -> None:
    place = _place(rank, group)
    status = mapping_of(rank.get("status"))
    names = [name for name in ("considered_dead", "unresponsive") if _is_set(status.get(name))]
    code = next(iter(names), None) if place["group_rank"] is not None else "invalid"
    if place["group_rank"] is not None:
        report.collectives.append({**place, "group": group["group"], "state": "missing"})
    what = f"rank {rank.get('rank')} is missing" + (f": {code}" if code else "")
    report.events.append(_event(rank, group, "rank_missing", code, what))


def _is_set(value: object) -> bool:
    return value in (1, "true")


def _event(
    rank: dict[str, Any], group: dict[str, Any], kind: str, code: str | None, what: str
) -> dict[str, Any]:
    place = _place(rank, group)
    device = text_of(rank.get("nvml_dev"))
    return {
        **{name: value for name, value in place.items() if name != "group_rank"},
        "device": device,
        "device_kind": "gpu" if device else None,
        "kind": kind,
        "code": code,
        "severity": "warning" if code == "invalid" else "error",
        "count": 1,
        "message": what,
        "attributes": _labels(rank, group),
    }


def _group_event(
    group: dict[str, Any], comm: dict[str, Any], ranks: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the row of a communicator: what it does, by its most advanced rank."""
    states = {_state(mapping_of(one.get("status"))) for one in ranks}
    order = ("ABORT", "FINALIZE", "RUNNING", "INIT")
    code = next((name for name in order if name in states), None)
    missing = whole_of(comm.get("missing_ranks_count")) or 0
    told = {
        "group": group["group"],
        "size": group["size"],
        "ranks": text_of(comm.get("ranks_count")),
        "missing": missing,
    }
    return {
        "time": group["time"],
        "position": group["position"],
        "kind": "ras_group",
        "code": code,
        "severity": "warning" if missing or len(states) > 1 else "info",
        "count": 1,
        "message": f"communicator {group['group']} of {group['size']} ranks: {code}",
        "attributes": label_rows(told),
    }


def _state(status: dict[str, Any]) -> str:
    if _is_set(status.get("abort_flag")):
        return "ABORT"
    if _is_set(status.get("finalize_called")) or _is_set(status.get("destroy_flag")):
        return "FINALIZE"
    return "RUNNING" if not whole_of(status.get("init_state")) else "INIT"
