"""What the doctor prints: a table for people that pastes into a ticket, JSON for machines."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from detectors.verdicts import rfc3339
from paceline.checkups import (
    MAX_NAMED_HOSTS,
    Checkup,
    ClockCheck,
    GoneMetric,
    NeedCheck,
    SourceCheck,
)

_MARKS: Final = {
    "ok": "ok     ",
    "part": "PART   ",
    "old": "OLD    ",
    "missing": "MISSING",
    "quiet": "quiet  ",
    "unknown": "no time",
}

_ORDER: Final = {
    state: at for at, state in enumerate(("missing", "old", "part", "unknown", "quiet", "ok"))
}
"""What is wrong comes first."""

MIN_GROUPED: Final = 4
"""So many files of a folder in the same state are one line."""


MAX_GONE: Final = 20
"""Metrics that are gone and named; the others are counted."""


def checkup_text(checkup: Checkup) -> str:
    """Return the checkup as plain text, with what is wrong first in each part."""
    at = f" as of {rfc3339(checkup.moment)}" if checkup.moment else ""
    parts = [
        _part(f"Sources{at}", _source_lines(checkup.sources)),
        _part("What the detectors get", _need_lines(checkup.needs)),
        _part("Clocks of hosts", _clock_lines(checkup.clocks)),
        *([_part("Metrics that are gone", _gone_lines(checkup.gone))] if checkup.gone else []),
        _summary(checkup),
    ]
    return "\n".join(parts)


def _part(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines), ""])


def _source_lines(sources: Sequence[SourceCheck]) -> list[str]:
    ranked = sorted(sources, key=lambda one: (_ORDER[one.state], one.name.rpartition("/")[0]))
    lines = list[str]()
    for (state, folder), group in groupby(ranked, lambda one: (one.state, _folder(one.name))):
        members = list(group)
        if folder and len(members) >= MIN_GROUPED:
            lines.append(_group_line(state, folder, members))
        else:
            lines += [_source_line(one) for one in members]
    return lines


def _folder(name: str) -> str:
    """Return the folder of a file; empty for what is no file."""
    return "" if "://" in name else name.rpartition("/")[0]


def _group_line(state: str, folder: str, members: Sequence[SourceCheck]) -> str:
    rows, rejected = (sum(one.rows for one in members), sum(one.rejected for one in members))
    more = f", {rejected:,} lines not understood" if rejected else ""
    return f"{_MARKS[state]} {folder}/: {len(members)} files, {rows:,} rows{more}"


def _source_line(check: SourceCheck) -> str:
    rejected = f", {check.rejected:,} lines not understood" if check.rejected else ""
    age = f", newest {_age(check.age_seconds)}" if check.age_seconds is not None else ""
    note = f" - {check.note}" if check.note else ""
    rows = f"{check.rows:,} rows" if not check.name.startswith("job ") else "scraped"
    return f"{_MARKS[check.state]} {check.name}: {rows}{rejected}{age}{note}"


def _need_lines(needs: Sequence[NeedCheck]) -> list[str]:
    wrong = [one for one in needs if one.state not in {"ok", "quiet"} or one.lacking]
    quiet = [one.need.what for one in needs if one.state == "quiet"]
    good = [one.need.what for one in needs if one.state == "ok" and not one.lacking]
    lines = [_need_line(one) for one in sorted(wrong, key=lambda one: _ORDER[one.state])]
    if quiet:
        lines.append(
            f"quiet   {', '.join(quiet)}: none seen. Nothing happened, or nobody reads that log."
        )
    return [*lines, f"ok      {', '.join(good)}"] if good else lines


def _need_line(check: NeedCheck) -> str:
    start = f"{_MARKS[check.state]} {check.need.what}, for {check.need.detector}"
    if check.state == "missing":
        wanted = f" (any of {', '.join(check.need.names)})" if check.need.frame == "samples" else ""
        return f"{start}: {check.need.blinds}{wanted}"
    if check.state == "old":
        last = f"last seen {rfc3339(check.newest)}" if check.newest else "long ago"
        return f"{start}: {last}, and since then {check.need.blinds}"
    if check.state == "unknown":
        return f"{start}: there, but without a time"
    named = ", ".join(check.lacking[:MAX_NAMED_HOSTS])
    more = len(check.lacking) - MAX_NAMED_HOSTS
    rest = f" and {more} more" if more > 0 else ""
    start = f"PART    {check.need.what}, for {check.need.detector}"
    return f"{start}: not of {named}{rest}; {check.need.blinds} there"


def _clock_lines(clocks: Sequence[ClockCheck]) -> list[str]:
    if not clocks:
        wanted = "node_timex_offset_seconds or node_time_seconds of node_exporter"
        order = "the order of events on two hosts is then not proven"
        return [f"unknown: no host tells its clock ({wanted} would); {order}"]
    off = [one for one in clocks if one.is_off]
    worst = max((abs(one.offset_seconds) for one in clocks if not one.is_off), default=0.0)
    lines = [
        f"OFF     {one.host}: {one.offset_seconds:+.3f} s against {one.against}; its events "
        "cannot be put in order with other hosts'"
        for one in off
    ]
    return [*lines, f"ok      {len(clocks) - len(off)} hosts within {worst:.3f} s"]


def _gone_lines(gone: Sequence[GoneMetric]) -> list[str]:
    lines = [
        f"GONE    {one.metric} of {one.source}: last seen {rfc3339(one.last_seen)}"
        for one in gone[:MAX_GONE]
    ]
    more = len(gone) - MAX_GONE
    return [*lines, f"and {more} more"] if more > 0 else lines


def _summary(checkup: Checkup) -> str:
    silent = sum(1 for one in checkup.sources if one.state == "missing")
    blind = sum(1 for one in checkup.needs if one.state == "missing")
    states = [one.state for one in checkup.sources] + [one.state for one in checkup.needs]
    old = states.count("old")
    off = sum(1 for one in checkup.clocks if one.is_off)
    return (
        f"{len(checkup.sources) - silent} of {len(checkup.sources)} sources answer, {blind} of "
        f"{len(checkup.needs)} needs are not met, {old} are old, {off} clocks are off.\n"
    )


def _age(seconds: float) -> str:
    """Return an age in words; a time that is still to come is said to be ahead."""
    word = "old" if seconds >= 0 else "ahead of now"
    for size, unit in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if abs(seconds) >= 2 * size:
            return f"{abs(seconds) / size:.0f} {unit} {word}"
    return f"{abs(seconds):.0f} s {word}"


def checkup_json(checkup: Checkup) -> dict[str, object]:
    """Return the checkup as an object of plain values; times as RFC 3339 in UTC."""
    return {
        "gone": [
            {"source": one.source, "metric": one.metric, "last_seen": rfc3339(one.last_seen)}
            for one in checkup.gone
        ],
        "moment": rfc3339(checkup.moment) if checkup.moment else None,
        "sources": [_source_json(one) for one in checkup.sources],
        "needs": [_need_json(one) for one in checkup.needs],
        "clocks": [
            {
                "host": one.host,
                "offset_seconds": one.offset_seconds,
                "against": one.against,
                "is_off": one.is_off,
            }
            for one in checkup.clocks
        ],
    }


def _source_json(check: SourceCheck) -> dict[str, object]:
    return {
        "name": check.name,
        "state": check.state,
        "rows": check.rows,
        "rejected": check.rejected,
        "newest": rfc3339(check.newest) if check.newest else None,
        "age_seconds": check.age_seconds,
        "note": check.note,
    }


def _need_json(check: NeedCheck) -> dict[str, object]:
    return {
        "detector": check.need.detector,
        "what": check.need.what,
        "state": check.state,
        "newest": rfc3339(check.newest) if check.newest else None,
        "hosts": check.hosts,
        "hosts_lacking": list(check.lacking),
        "any_of": list(check.need.names),
        "blinds": check.need.blinds,
    }
