"""Read per-rank step records: JSON lines of steps, of phases, and of a run's start and end.

Source: our own run driver's lines and the generic per-rank table (formats of progress streams,
sections 12 and 13.4). A record is a step when it has a step number, a phase when it also names
one, an event when it names that.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.identity import file_rank, gpu_device
from collectors.readings import MAX_REJECT_CHARACTERS, Reading, count_lines, reading_of
from collectors.sniffing import SURE, Head, ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.json_lines import read_json_lines
from collectors.training.step_fields import PHASES, known_keys, normal_fields
from collectors.training.step_table import join_phases, steps_of

_CLASSES: Final = ("step", "phase", "event", "evaluation", "misfit")

_MISFIT: Final = "neither a step, a known phase nor an event"

_STEP_EVENTS: Final = ("step", "train_step", "train", "iteration", "log")
"""Names of an `event` that only say: this is a step."""

_KINDS: Final = {
    r"^(?:run_|job_|train(?:ing)?_)?(?:start|started|begin|resume)": "run_start",
    r"^(?:run_|job_|train(?:ing)?_)?(?:end|ended|exit|finish|finished|done|stop)": "run_end",
    r"(?i)checkpoint|ckpt": "checkpoint",
    r"(?i)^eval|validat": "evaluation",
}
"""Our kind of an event: the pattern of the names that mean it."""

_HINT: Final = re.compile(
    r'"(?:step|iteration|iter|global_step(?:/max_steps)?|num_updates|current_steps|_step)"\s*:'
    r'|"event"\s*:\s*"(?:start|begin|end)"'
)

_SUMMARY: Final = r'"train_runtime"\s*:'
"""A key of a trainer's last words, whose loss is a mean over the whole run."""

_HEAD_RECORDS: Final = 50


def wants_step_records(head: Head) -> float:
    """Return how sure it is that a head holds JSON lines of steps."""
    lines = head.lines[:_HEAD_RECORDS]
    records = [line for line in lines if line.lstrip().startswith('{"') and _HINT.search(line)]
    return SURE if lines and 2 * len(records) >= len(lines) else 0.0


def read_step_records(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the steps, events, jobs and placements in a file of JSON lines.

    Args:
        path: The file; a rank that its records do not say is taken from its name.
        source: The name to quote.
        options: The zone of stamps that carry none.

    Returns:
        A reading whose `run` is null where the records do not name it.

    Raises:
        OSError: The file cannot be read.
    """
    data = path.read_bytes()
    objects, broken = read_json_lines(data, known_keys(data))
    return read_records(objects, broken, (path.name, source), options)


def read_records(
    objects: pl.DataFrame, broken: pl.DataFrame, names: tuple[str, str], options: ReadOptions
) -> Reading:
    """Return the steps, events, jobs and placements in objects whose keys the table knows.

    Args:
        objects: `position`, `text` and text columns called by the keys of the source; null: an
            object lacks the key.
        broken: `position`, `text` and `reason` of pieces that are no object.
        names: Of the file, whose rank is believed, and of the source, to quote.
        options: The zone of stamps that carry none.
    """
    source = names[1]
    records = _classed(normal_fields(objects, options), file_rank(names[0]))
    by_class = {name: records.filter(pl.col("class") == name) for name in _CLASSES}
    steps = steps_of(pl.concat([by_class["step"], join_phases(by_class["phase"])]))
    misfits = by_class["misfit"].select("position", "text", pl.lit(_MISFIT).alias("reason"))
    rejects = pl.concat([broken, misfits]).unique("position", keep="first", maintain_order=True)
    frames = {
        "steps": steps,
        "events": pl.concat(
            [
                _events_of(pl.concat([by_class["event"], by_class["evaluation"]])),
                _checksums_of(records),
            ],
            how="diagonal_relaxed",
        ),
        "jobs": _jobs_of(records),
        "placements": _placements_of(records),
        "rejects": rejects.with_columns(pl.col("text").str.slice(0, MAX_REJECT_CHARACTERS)),
    }
    reading = reading_of(
        **{name: frame.with_columns(source=pl.lit(source)) for name, frame in frames.items()}
    )
    known = records["position"].unique().is_in(rejects["position"].implode())
    return count_lines(reading, int((~known).sum()))


def _classed(fields: pl.DataFrame, rank: int | None) -> pl.DataFrame:
    """Return the records with class, kind of event, rank (else the file's) and start marks."""
    starts = (pl.col("kind") == "run_start").fill_null(value=False).cum_sum()
    return (
        fields.with_columns(
            pl.col("rank").fill_null(pl.lit(rank, dtype=pl.Int64)), _class().alias("class")
        )
        .with_columns(_event_kind().alias("kind"))
        .with_columns(_told_at_start(name) for name in ("run", "host", "attempt"))
        .with_columns(starts.over("run", "rank").cast(pl.Int64).alias("starts"))
    )


def _class() -> pl.Expr:
    """Return what a record is, one of `_CLASSES`."""
    is_event = pl.col("event").is_not_null() & ~pl.col("event").is_in(_STEP_EVENTS)
    is_phase = pl.col("phase").is_not_null() & pl.col("phase_seconds").is_not_null()
    known_phase = pl.col("phase").str.to_lowercase().is_in(list(PHASES))
    measured = pl.any_horizontal(
        pl.col("loss", "step_seconds", "compute_seconds", "data_seconds").is_not_null()
    )
    is_evaluation = (pl.col("evaluated") & ~measured) | pl.col("text").str.contains(_SUMMARY)
    return (
        pl.when(is_event)
        .then(pl.lit("event"))
        .when((pl.col("step") >= 0) & is_evaluation)
        .then(pl.lit("evaluation"))
        .when((pl.col("step") >= 0) & is_phase & known_phase)
        .then(pl.lit("phase"))
        .when((pl.col("step") >= 0) & ~is_phase)
        .then(pl.lit("step"))
        .otherwise(pl.lit("misfit"))
    )


def _told_at_start(name: str) -> pl.Expr:
    """Return a column, filled in with what the rank's last start says of it."""
    told = pl.when(pl.col("kind") == "run_start").then(name).forward_fill().over("rank")
    return pl.col(name).fill_null(told)


def _event_kind() -> pl.Expr:
    kind = pl.lit("note")
    for pattern, name in reversed(_KINDS.items()):
        kind = pl.when(pl.col("event").str.contains(pattern)).then(pl.lit(name)).otherwise(kind)
    is_evaluation = pl.col("class") == "evaluation"
    told = pl.when(pl.col("class") == "event").then(kind)
    other = pl.when(pl.col("text").str.contains(_SUMMARY)).then(pl.lit("run_summary"))
    return pl.when(is_evaluation).then(other.otherwise(pl.lit("evaluation"))).otherwise(told)


def _events_of(events: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS`; the message of an event without one is its whole record."""
    return events.select(
        "time",
        "host",
        "rank",
        "run",
        "kind",
        "position",
        code=pl.when(pl.col("class") == "evaluation")
        .then(pl.col("step").cast(pl.String))
        .otherwise("event"),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message=pl.col("message").fill_null(pl.col("text")),
    )


def _checksums_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of the checksums that ranks tell beside a step."""
    return records.filter(pl.col("checksum").is_not_null(), pl.col("step") >= 0).select(
        "time",
        "host",
        "rank",
        "run",
        "position",
        kind=pl.lit("checksum"),
        code=pl.col("checksum").str.to_lowercase(),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
        attributes=event_labels({"step": pl.col("step")}),
    )


def _marked_attempt() -> pl.Expr:
    """Return the attempt as told, else by the start marks; steps before the first have one too."""
    place = pl.col("position")
    first_step = place.filter(pl.col("class").is_in(["step", "phase"])).min().over("run")
    first_mark = place.filter(pl.col("kind") == "run_start").min().over("run")
    before = (first_step < first_mark).fill_null(value=False).cast(pl.Int64)
    return pl.col("attempt").fill_null((pl.col("starts") - 1 + before).clip(lower_bound=0))


def _jobs_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return `JOBS` of the attempts with a start or an end; one without an end has no state."""
    start, end = (
        pl.col("time").filter(pl.col("kind") == kind) for kind in ("run_start", "run_end")
    )
    return (
        records.with_columns(attempt=_marked_attempt())
        .filter(pl.col("kind").is_in(["run_start", "run_end"]))
        .group_by("run", "attempt", maintain_order=True)
        .agg(
            start=start.min(),
            end=end.max(),
            hosts=pl.col("host").drop_nulls().unique().sort(),
            world=pl.col("world").max(),
            state=pl.when((pl.col("kind") == "run_end").any()).then(pl.lit("ended")).first(),
        )
    )


def _placements_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return `PLACEMENTS`, one for each rank and attempt of which any record says where it runs."""
    where = ("host", "gpu", "index", "dp", "pp", "tp", "ep")
    return (
        records.with_columns(attempt=_marked_attempt())
        .filter(pl.col("rank").is_not_null() & pl.any_horizontal(pl.col(*where).is_not_null()))
        .group_by("run", "attempt", "rank", maintain_order=True)
        .agg(pl.col(*where).drop_nulls().first())
        .with_columns(gpu=gpu_device(pl.col("gpu"), pl.lit(None, dtype=pl.String), pl.col("index")))
    )
