"""What a detector says: one row a finding, with its evidence and its way out.

Healthy is no row. Unknown is an answer of its own, never healthy, and says what would decide it.
A verdict depends on its inputs and parameters alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, Literal, cast

import polars as pl

from collectors.frames import TIME, schema_of

Kind = Literal[
    "slow",
    "degrading",
    "flapping",
    "group_slow",
    "imbalance",
    "hang",
    "crash",
    "mismatch",
    "link_fault",
    "congestion",
    "config_drift",
    "lemon",
    "numerical",
    "telemetry_lost",
    "unknown",
]
Level = Literal["rank", "gpu", "nic", "link", "host", "rack", "group", "job"]
Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whom a finding is about; only what is known is set.

    Attributes:
        run: Training run.
        attempt: Attempt of the run, from 0.
        host: Canonical host.
        rank: Global rank.
        gpu: The GPU's number on its host, as its source counts.
        device: Canonical device (GPU UUID, NIC port, disk).
        worker: Worker of a trace, where it is no rank.
        dp: Data-parallel coordinate.
        pp: Pipeline stage.
        tp: Tensor-parallel coordinate.
        ep: Expert-parallel coordinate.
        switch: Switch node.
        port: Port of the switch or NIC.
        link: Both ends, `node:port - node:port`, in alphabetical order.
        rack: Rack.
        group: Communicator or any other named group.
    """

    run: str | None = None
    attempt: int | None = None
    host: str | None = None
    rank: int | None = None
    gpu: int | None = None
    device: str | None = None
    worker: int | None = None
    dp: int | None = None
    pp: int | None = None
    tp: int | None = None
    ep: int | None = None
    switch: str | None = None
    port: str | None = None
    link: str | None = None
    rack: str | None = None
    group: str | None = None

    def known(self) -> dict[str, str | int]:
        """Return the fields that are set, in the order above."""
        names = (item.name for item in fields(self))
        return {name: told for name in names if (told := getattr(self, name)) is not None}

    def phrase(self) -> str:
        """Return the subject as words for a page, such as `gpu 4 (rank 116) on hx8-015`."""
        if self.link:
            return f"link {self.link}"
        rank = None if self.rank is None else f"rank {self.rank}"
        name = rank if self.gpu is None else f"gpu {self.gpu}" + (f" ({rank})" if rank else "")
        name = name or self.device
        if self.host:
            return f"{name} on {self.host}" if name else self.host
        if name is None and self.worker is not None:
            name = f"worker {self.worker}"
        if name is None and self.pp is not None:
            name = f"stage {self.pp}"
        if name is None and self.switch:
            name = f"port {self.port} of {self.switch}" if self.port else f"switch {self.switch}"
        rack, run = self.rack and f"rack {self.rack}", self.run and f"run {self.run}"
        return name or rack or self.group or run or "unnamed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing that was seen.

    Attributes:
        source: Which input or signal showed it.
        time: When; null if the source has no clock.
        what: In words, with the numbers.
    """

    source: str
    time: datetime | None = None
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One finding.

    Attributes:
        kind: One of the kinds of the design.
        level: The smallest defensible domain.
        subject: Whom it is about.
        onset: When it began; null when unknown or before the data.
        onset_before_data: It was so already when the data began.
        detected: When a causal detector would have said so; null if the source has no clock.
        cleared: When it ended; null while it lasts or if not known.
        onset_step: Training step at the onset.
        cleared_step: First training step after it.
        slowdown: Ratio to the reference, above 1; null if not a speed.
        cause: Short word such as `thermal`; null when not known.
        confidence: How sure.
        peers: Which group it was compared with, by which rung of the ladder.
        peer_count: How many peers that were.
        q_value: False-discovery rate at which it stands; null where no test was made.
        evidence: What was seen, most telling first.
        victims: Who suffers without being at fault.
        alternatives: Whom else it could be, most likely first.
        action: The next step for the person on call.
        needed: For `unknown`: the input that would decide.
    """

    kind: Kind
    level: Level
    subject: Subject
    confidence: Confidence
    onset: datetime | None = None
    onset_before_data: bool = False
    detected: datetime | None = None
    cleared: datetime | None = None
    onset_step: int | None = None
    cleared_step: int | None = None
    slowdown: float | None = None
    cause: str | None = None
    peers: str | None = None
    peer_count: int | None = None
    q_value: float | None = None
    evidence: tuple[Evidence, ...] = ()
    victims: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    action: str | None = None
    needed: str | None = None


_WHOLE: Final = frozenset({"attempt", "rank", "gpu", "worker", "dp", "pp", "tp", "ep"})

SUBJECT: Final = pl.Struct(
    {item.name: pl.Int64() if item.name in _WHOLE else pl.String() for item in fields(Subject)}
)

EVIDENCE: Final = pl.Struct({"source": pl.String(), "time": TIME, "what": pl.String()})

VERDICTS: Final = schema_of(
    {
        "kind": pl.String,
        "level": pl.String,
        "subject": SUBJECT,
        "onset": TIME,
        "onset_before_data": pl.Boolean,
        "detected": TIME,
        "cleared": TIME,
        "onset_step": pl.Int64,
        "cleared_step": pl.Int64,
        "slowdown": pl.Float64,
        "cause": pl.String,
        "confidence": pl.String,
        "peers": pl.String,
        "peer_count": pl.Int64,
        "q_value": pl.Float64,
        "evidence": pl.List(EVIDENCE),
        "victims": pl.List(pl.String),
        "alternatives": pl.List(pl.String),
        "action": pl.String,
        "needed": pl.String,
    }
)
"""One row a finding; the columns are the attributes of `Verdict`."""

_ORDER: Final[dict[str, int]] = {
    kind: at
    for at, kind in enumerate(
        (
            "crash",
            "hang",
            "mismatch",
            "numerical",
            "link_fault",
            "slow",
            "flapping",
            "degrading",
            "group_slow",
            "congestion",
            "imbalance",
            "config_drift",
            "lemon",
            "telemetry_lost",
            "unknown",
        )
    )
}


def _sort_key(verdict: Verdict) -> tuple[int, bool, float, str, str, int]:
    onset = verdict.onset.timestamp() if verdict.onset else 0.0
    known = verdict.subject.known()
    parts = "|".join(
        f"{name}={value:>12}" if isinstance(value, int) else f"{name}={value}"
        for name, value in known.items()
    )
    whole = verdict.level == "job"
    return _ORDER[verdict.kind], whole, onset, verdict.level, parts, verdict.onset_step or 0


def sort_verdicts(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return verdicts in reading order: gravest kind first, culprits before jobs, then onset."""
    return sorted(verdicts, key=_sort_key)


def verdict_frame(verdicts: Iterable[Verdict]) -> pl.DataFrame:
    """Return `VERDICTS`, one row a verdict, in reading order."""
    rows = [
        {
            item.name: getattr(verdict, item.name)
            for item in fields(Verdict)
            if item.name not in {"subject", "evidence", "victims", "alternatives"}
        }
        | {
            "subject": {name: getattr(verdict.subject, name) for name in SUBJECT.to_schema()},
            "evidence": [
                {"source": seen.source, "time": seen.time, "what": seen.what}
                for seen in verdict.evidence
            ],
            "victims": list(verdict.victims),
            "alternatives": list(verdict.alternatives),
        }
        for verdict in sort_verdicts(verdicts)
    ]
    return pl.DataFrame(rows, schema=VERDICTS) if rows else VERDICTS.to_frame()


def verdicts_of(frame: pl.DataFrame) -> list[Verdict]:
    """Return the verdicts of a `VERDICTS` frame, one a row, in its order."""
    return [_verdict_of(row) for row in frame.iter_rows(named=True)]


def _verdict_of(row: dict[str, Any]) -> Verdict:
    told: dict[str, Any] = {
        **row,
        "subject": Subject(**row["subject"]),
        "evidence": tuple(Evidence(**seen) for seen in row["evidence"]),
        "victims": tuple(row["victims"]),
        "alternatives": tuple(row["alternatives"]),
    }
    return Verdict(**told)


def verdict_json(verdict: Verdict) -> dict[str, object]:
    """Return a verdict as the JSON contract has it: times as RFC 3339 in UTC, unset fields null."""
    return {item.name: _plain(getattr(verdict, item.name)) for item in fields(Verdict)}


def _plain(value: object) -> object:
    """Return a field's value as JSON has it."""
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, Subject):
        return value.known()
    if isinstance(value, Evidence):
        time = value.time and rfc3339(value.time)
        return {"source": value.source, "time": time, "what": value.what}
    if isinstance(value, tuple):
        return [_plain(one) for one in cast("tuple[object, ...]", value)]
    return value


def rfc3339(time: datetime) -> str:
    """Return an aware time as RFC 3339 in UTC, microseconds kept, `Z` for the zone."""
    return time.isoformat().replace("+00:00", "Z")
