"""Find who is a suspect by results that a program checked itself: hashes, and steps run twice.

Source: NVIDIA/Megatron-LM, `check_param_hashes_across_dp_replicas` (each replica compares with the
first one, so that if the first is the odd one, all others complain) and `rerun_state_machine.py`
(another result on the same GPU is a transient error, another one on another GPU a persistent error
of the first; the same result everywhere is the program's or the data's). The line on a persistent
error is printed by the GPU that was right, so it accuses nobody by its place.
"""

from collections.abc import Iterable
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, require
from collectors.texts.event_labels import label_value
from detectors.placing import ROLES
from detectors.quiet.restoring import proven_saves, restore_words
from detectors.quotes import quoted
from detectors.verdicts import Confidence, Level, Subject, Verdict, verdict_frame

MAX_SUSPECT_SHARE: Final = 0.4
"""Where more ranks than that complain, they are not the odd ones."""

FIRST_REPLICA: Final = 0
"""The rank with which the others compare, where the job has one replica's worth of ranks."""

MAX_QUOTED: Final = 4

_REJECTED: Final = (
    r"Rank (\d+), node ([^\s,]+), device (\d+), iteration (\d+): Unexpected result (\S+) "
)

_REPLAY: Final = "the same batch replayed on another host: another result convicts the device"


def find_result_checks(events: pl.LazyFrame, roles: pl.LazyFrame) -> pl.DataFrame:
    """Return the ranks and GPUs that a program's own checks make suspects.

    Args:
        events: `EVENTS` of the kinds replica_mismatch, replica_match, result_check and traceback.
        roles: `ROLES`, for how many ranks there are and where they run.

    Returns:
        `VERDICTS` of kind numerical: cause replica_differs at level rank, or job where nobody can
        be told; transient_error and persistent_error at level gpu or rank; not_a_number at level
        rank where one rank alone rejected its result; application_error at level job, which names
        nobody. Partition key: run.

    Raises:
        SchemaError: A frame lacks a column.
    """
    told = events.pipe(require, EVENTS).sort("time", "source", "position", nulls_last=True)
    placed = roles.pipe(require, ROLES).collect()
    saves = proven_saves(events)
    found = [
        *_mismatches(told, placed, saves),
        *_reruns(told, saves),
        *_rejections(told, saves),
    ]
    return verdict_frame(found)


def _mismatches(
    events: pl.LazyFrame, roles: pl.DataFrame, saves: pl.DataFrame
) -> Iterable[Verdict]:
    """Yield the verdicts on replicas whose weights are not those of the first one."""
    kinds = ["replica_mismatch", "replica_match"]
    rows = events.filter(pl.col("kind").is_in(kinds)).collect()
    for part in rows.partition_by("run", maintain_order=True):
        odd = part.filter(pl.col("kind") == "replica_mismatch")
        if odd.is_empty():
            continue
        run = odd["run"][0]
        mine = pl.col("run").eq_missing(pl.lit(run, dtype=pl.String))
        known = roles.filter(mine).select("rank", "host").drop_nulls("rank")
        matched = part.filter(pl.col("kind") == "replica_match")["code"].cast(
            pl.Int64, strict=False
        )
        step = matched.max()
        way = (
            restore_words(saves, run, step + 1)
            if isinstance(step, int)
            else "restore a checkpoint from before hashes last agreed"
        )
        yield from _odd_replicas(odd, known, way)


def _odd_replicas(odd: pl.DataFrame, known: pl.DataFrame, way: str) -> Iterable[Verdict]:
    firsts = odd.drop_nulls("rank").unique("rank", keep="first", maintain_order=True).to_dicts()
    world = known["rank"].n_unique()
    counts = {row["rank"]: odd.filter(pl.col("rank") == row["rank"]).height for row in firsts}
    is_few = bool(firsts) and (
        len(firsts) <= MAX_SUSPECT_SHARE * world if world else len(firsts) == 1
    )
    if not is_few:
        yield _undecided(odd, way)
        return
    hosts = dict(known.drop_nulls("host").unique("rank").iter_rows())
    for row in firsts:
        what = f"{counts[row['rank']]} of its parameters have another hash than the first replica's"
        yield Verdict(
            kind="numerical",
            level="rank",
            subject=Subject(
                run=row["run"], host=row["host"] or hosts.get(row["rank"]), rank=row["rank"]
            ),
            onset=row["time"],
            detected=row["time"],
            cause="replica_differs",
            confidence="high",
            peers="the first data-parallel replica",
            peer_count=max(world - len(firsts), 1),
            evidence=(quoted(row, what), quoted(row, row["message"] or "")),
            action=f"take its host out of training and test its GPUs, then {way}",
            needed=_REPLAY,
        )


def _undecided(odd: pl.DataFrame, way: str) -> Verdict:
    """Return the verdict where most replicas differ from the first: that may be the odd one."""
    first = odd.row(0, named=True)
    count = odd["rank"].n_unique()
    what = f"weights of {count} ranks differ from the first replica's: the first may be the odd one"
    return Verdict(
        kind="numerical",
        level="job",
        subject=Subject(run=first["run"]),
        onset=first["time"],
        detected=first["time"],
        cause="replicas_differ",
        confidence="medium",
        evidence=(quoted(first, what), quoted(first, first["message"] or "")),
        alternatives=(f"rank {FIRST_REPLICA}",),
        action=f"stop the run, test the GPUs of the first replica first, then {way}",
        needed="hashes of each replica, not only whether they match: the majority is right",
    )


_VERDICTS: Final[dict[str, tuple[str, Confidence, str]]] = {
    "transient": (
        "transient_error",
        "medium",
        "test this GPU out of training; an operation that is not deterministic looks the same",
    ),
    "persistent": (
        "persistent_error",
        "high",
        "take the GPU on which this rank ran in the attempt before out of training",
    ),
    "correct": (
        "application_error",
        "medium",
        "drain nobody: another GPU computes the same; look at the batch and the program",
    ),
}


def _reruns(events: pl.LazyFrame, saves: pl.DataFrame) -> Iterable[Verdict]:
    """Yield the verdicts on results that were computed again."""
    rows = events.filter(pl.col("kind") == "result_check").collect()
    step = label_value("step").cast(pl.Int64, strict=False)
    for part in rows.with_columns(step=step).partition_by("run", maintain_order=True):
        ends = part.filter(pl.col("code").is_in(list(_VERDICTS)))
        firsts = ends.unique(["code", "rank"], keep="first", maintain_order=True)
        unexpected = part.filter(pl.col("code").is_in(["unexpected", "repeated"]))
        for row in firsts.iter_rows(named=True):
            yield _rerun(row, unexpected, saves)


def _rerun(row: dict[str, Any], unexpected: pl.DataFrame, saves: pl.DataFrame) -> Verdict:
    cause, confidence, action = _VERDICTS[row["code"]]
    mine = unexpected.filter(pl.col("rank").eq_missing(pl.lit(row["rank"], dtype=pl.Int32)))
    seen = mine if mine.height else unexpected
    told = seen.drop_nulls("step")["step"]
    step = int(told[0]) if told.len() else None
    before = seen.drop_nulls("host").filter(pl.col("host") != (row["host"] or ""))["host"]
    place = {"host": row["host"], "device": row["device"], "rank": row["rank"]}
    if row["code"] == "persistent":
        place |= {"host": before[0] if before.len() else None, "device": None}
    level: Level = "gpu" if place["device"] is not None else "rank"
    if row["code"] == "correct":
        place, level = {}, "job"
    way = "" if step is None or level == "job" else f"; {restore_words(saves, row['run'], step)}"
    quotes = [quoted(row, row["message"] or "")]
    quotes += [quoted(one, one["message"] or "") for one in seen.head(MAX_QUOTED).to_dicts()]
    return Verdict(
        kind="numerical",
        level=level,
        subject=Subject(run=row["run"], **_subject(place)),
        onset=row["time"],
        detected=row["time"],
        onset_step=step,
        cause=cause,
        confidence=confidence,
        evidence=tuple(quotes),
        action=f"{action}{way}",
        needed=_REPLAY if row["code"] == "transient" else None,
    )


def _subject(place: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a subject: a GPU is named by its number on its host."""
    number = place.pop("device", None)
    return {**place, "gpu": int(number) if number is not None and number.isdigit() else None}


def _rejections(events: pl.LazyFrame, saves: pl.DataFrame) -> Iterable[Verdict]:
    """Yield the verdict on the one rank that rejected its own result; of many none is at fault."""
    names = ("rank_said", "host_said", "gpu_said", "step_said", "value_said")
    parts = pl.col("message").str.extract_groups(_REJECTED).struct.rename_fields(list(names))
    rows = (
        events.filter(pl.col("kind") == "traceback", pl.col("message").str.contains(_REJECTED))
        .with_columns(parts.alias("said"))
        .unnest("said")
        .with_columns(pl.col("rank_said", "gpu_said", "step_said").cast(pl.Int64))
        .collect()
    )
    for part in rows.partition_by("run", maintain_order=True):
        step = int(part["step_said"].to_numpy().min())
        first = part.filter(pl.col("step_said") == step)
        if first["rank_said"].n_unique() == 1:
            yield _rejection(first.row(0, named=True), saves)


def _rejection(row: dict[str, Any], saves: pl.DataFrame) -> Verdict:
    way = restore_words(saves, row["run"], row["step_said"])
    what = (
        f"rank {row['rank_said']} alone computed {row['value_said']} at step {row['step_said']}, "
        "before anything was reduced"
    )
    return Verdict(
        kind="numerical",
        level="rank",
        subject=Subject(
            run=row["run"],
            host=row["host_said"].lower(),
            rank=row["rank_said"],
            gpu=row["gpu_said"],
        ),
        onset=row["time"],
        detected=row["time"],
        onset_step=row["step_said"],
        cause="replica_not_a_number",
        confidence="low",
        evidence=(quoted(row, what), quoted(row, row["message"])),
        alternatives=("the batch of that rank",),
        action=f"test this GPU, then {way}; a bad batch of that rank alone looks the same",
        needed=_REPLAY,
    )
