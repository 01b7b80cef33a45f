"""Read the entries that Google's ml-goodput-measurement logs: starts, ends and steps of a job.

Source: formats of progress streams, section 15.2; `GoodputRecorder` of ml-goodput-measurement at
57092cf6. Lines are the payloads, or exported entries of Cloud Logging that hold one. One worker
writes for the whole job; what it writes from other threads may lie a little out of order.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.readings import MAX_REJECT_CHARACTERS, Reading, count_lines, reading_of
from collectors.sniffing import SURE, Head, ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.json_lines import read_json_lines
from collectors.texts.stamps import epoch_time

ENTRIES: Final = schema_of(
    {
        "position": pl.Int64,
        "text": pl.String,
        "run": pl.String,
        "what": pl.String,
        "mark": pl.String,
        "type": pl.String,
        "step": pl.Int64,
        "time": TIME,
    }
)
"""One moment of one entry. `what`: job, step, tpu_init, training_prep, data_loading, custom or
elastic; `mark`: start, end or instant. `type` is that of a custom event, `step` that of a step."""

_MOMENTS: Final = {
    "job_start_time": ("job", "start"),
    "tpu_init_start_time": ("tpu_init", "start"),
    "tpu_init_end_time": ("tpu_init", "end"),
    "training_prep_start_time": ("training_prep", "start"),
    "training_prep_end_time": ("training_prep", "end"),
    "data_loading_start_time": ("data_loading", "start"),
    "data_loading_end_time": ("data_loading", "end"),
    "custom_badput_event_start_time": ("custom", "start"),
    "custom_badput_event_end_time": ("custom", "end"),
    "elastic_slice_counts_timestamp": ("elastic", "instant"),
    "step_start_time": ("step", "start"),
    "job_end_time": ("job", "end"),
}
"""Key of a moment: what begins or ends. In the order of moments at one time."""

_SLICES: Final = ("active_slices", "total_slices", "available_slices")

_PAYLOAD: Final = "jsonPayload"

_SAME: Final = ("run", "what", "mark", "type", "step", "time")
"""Columns in which an entry that was delivered twice agrees."""

_FIELDS: Final = ("job_name", "step_count", "custom_badput_event_type", *_SLICES, *_MOMENTS)

_HINT: Final = re.compile(rf'"(?:{"|".join(_MOMENTS)})"\s*:')

_HEAD_LINES: Final = 50

_PAUSES: Final = {
    "evaluation": r"(?i)eval|valid",
    "checkpoint_load": r"(?i)restor|load.*(?:checkpoint|ckpt)|(?:checkpoint|ckpt).*load",
    "checkpoint": r"(?i)checkpoint|ckpt|save",
}
"""Our kind of a custom event: the pattern of the types that mean it."""


def wants_goodput_records(head: Head) -> float:
    """Return how sure it is that a head holds entries of the library."""
    lines = [line for line in head.lines[:_HEAD_LINES] if line.strip()]
    known = [line for line in lines if '"job_name"' in line and _HINT.search(line)]
    return SURE if lines and 2 * len(known) >= len(lines) else 0.0


def read_goodput_records(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the steps, starts, ends and pauses of the jobs in a file of entries.

    Args:
        path: The file, one entry a line.
        source: The name to quote.

    Returns:
        `STEPS` of the whole job: a step lasts until the next one of its attempt starts, or the job
        ends; one that nothing follows is not known to be done, and is none. Its time is without the
        custom events in it. `JOBS`, one row an attempt with its start alone: one that is disrupted
        tells no end. `EVENTS` of kind run_start, run_end, evaluation, checkpoint_start, checkpoint,
        checkpoint_load_start, checkpoint_load, and note for all else, the attribute `seconds` how
        long it took. Data that is loaded beside the steps is no wait: the first loading alone is
        told.

    Raises:
        OSError: The file cannot be read.
    """
    objects, broken = read_json_lines(path.read_bytes(), (*_FIELDS, _PAYLOAD))
    told = _entries_of(objects)
    known = objects["position"].is_in(told["position"].implode())
    entries = _with_attempts(told)
    spans = _spans_of(entries)
    misfits = objects.filter(~known).select(
        "position", "text", reason=pl.lit("no entry of ml-goodput-measurement with a time")
    )
    rejects = pl.concat([broken, misfits]).unique("position", keep="first", maintain_order=True)
    frames = {
        "steps": _steps_of(entries, spans),
        "jobs": _jobs_of(entries),
        "events": pl.concat([_ends_of(entries), _pauses_of(spans)], how="diagonal"),
        "rejects": rejects.with_columns(pl.col("text").str.head(MAX_REJECT_CHARACTERS)),
    }
    whole = reading_of(
        **{name: frame.with_columns(source=pl.lit(source)) for name, frame in frames.items()}
    )
    lost = rejects["position"].implode()
    return count_lines(whole, int((~objects["position"].unique().is_in(lost)).sum()))


def _entries_of(objects: pl.DataFrame) -> pl.DataFrame:
    """Return `ENTRIES` by run and time; those that lie at one time as jobs live."""
    inner = {name: pl.col(_PAYLOAD).str.json_path_match(f"$['{name}']") for name in _FIELDS}
    told = objects.with_columns(pl.coalesce(name, inner[name]).alias(name) for name in _FIELDS)
    step = pl.col("step_count").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    moments = told.unpivot(
        on=list(_MOMENTS),
        index=["position", "text", "job_name", "step_count", "custom_badput_event_type"],
        variable_name="key",
        value_name="seconds",
    ).with_columns(
        step=step,
        time=epoch_time(pl.col("seconds").cast(pl.Float64, strict=False)),
        order=pl.col("key").replace_strict({key: at for at, key in enumerate(_MOMENTS)}),
        what=pl.col("key").replace_strict({key: what for key, (what, _) in _MOMENTS.items()}),
        mark=pl.col("key").replace_strict({key: mark for key, (_, mark) in _MOMENTS.items()}),
    )
    is_whole = pl.col("step").is_not_null() | (pl.col("what") != "step")
    return (
        moments.filter(pl.col("time").is_not_null(), is_whole)
        .rename({"job_name": "run", "custom_badput_event_type": "type"})
        .with_columns(step=pl.when(pl.col("what") == "step").then("step"))
        .sort("run", "time", "order", "step", "type", "position", nulls_last=True)
        .select(pl.col(name).cast(kind) for name, kind in ENTRIES.items())
    )


def _with_attempts(entries: pl.DataFrame) -> pl.DataFrame:
    """Return each entry once, with `attempt`: a start or a step that comes again begins one.

    Steps before the first start are of an attempt whose start was not kept.
    """
    is_job, is_step = pl.col("what") == "job", pl.col("what") == "step"
    begins = is_job & (pl.col("mark") == "start")
    since = begins.cum_sum().over("run")
    before = pl.col("step").forward_fill().shift(1).over("run", "since")
    again = (is_step & (pl.col("step") <= pl.col("before"))).fill_null(value=False)
    first = pl.col("count").filter(begins | is_step).min().over("run")
    number = (pl.col("count") - first.fill_null(pl.col("count"))).clip(0)
    return (
        entries.unique(_SAME, keep="first", maintain_order=True)
        .with_columns(since=since)
        .with_columns(before=before)
        .with_columns(count=(begins | again).cast(pl.Int32).cum_sum().over("run"))
        .with_columns(attempt=number)
        .drop("since", "before", "count")
    )


def _spans_of(entries: pl.DataFrame) -> pl.DataFrame:
    """Return the starts of all but jobs and steps with `end`, `end_position` and `seconds`.

    They are null where no end follows before the next start.
    """
    own = ("run", "attempt", "what", "type")
    ended = (pl.col("mark") == "end").shift(-1).over(own).fill_null(value=False)
    end = pl.when(ended).then(pl.col("time").shift(-1).over(own))
    place = pl.when(ended).then(pl.col("position").shift(-1).over(own))
    return (
        entries.filter(~pl.col("what").is_in(["job", "step"]))
        .with_columns(end=end, end_position=place)
        .filter(pl.col("mark") != "end")
        .with_columns(seconds=_seconds(pl.col("end") - pl.col("time")))
    )


def _seconds(span: pl.Expr) -> pl.Expr:
    return span.dt.total_microseconds() / 1e6


def _steps_of(entries: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return `STEPS`, those that are done."""
    is_end = (pl.col("what") == "job") & (pl.col("mark") == "end")
    moments = entries.filter((pl.col("what") == "step") | is_end)
    steps = moments.with_columns(end_time=pl.col("time").shift(-1).over("run", "attempt"))
    done = steps.filter(pl.col("what") == "step").drop_nulls("end_time")
    pauses = spans.filter(pl.col("what") == "custom").drop_nulls("end").sort("time")
    inside = (
        pauses.select("run", "attempt", "time", "end", "seconds")
        .join_asof(
            done.sort("time").select("run", "attempt", "time", "step", "end_time"),
            on="time",
            by=["run", "attempt"],
            check_sortedness=False,
        )
        .filter(pl.col("end") <= pl.col("end_time"))
        .group_by("run", "attempt", "step")
        .agg(paused=pl.col("seconds").sum())
    )
    gap = _seconds(pl.col("end_time") - pl.col("time"))
    return done.join(
        inside, on=["run", "attempt", "step"], how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(
        step_seconds=(gap - pl.col("paused").fill_null(0.0)).clip(0.0),
        interval_steps=pl.lit(1),
        time_kind=pl.lit("single_step"),
    )


def _jobs_of(entries: pl.DataFrame) -> pl.DataFrame:
    """Return `JOBS`: when each attempt began."""
    return entries.filter(pl.col("what") == "job", pl.col("mark") == "start").select(
        "run", "attempt", start="time"
    )


def _ends_of(entries: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of the starts and ends of jobs."""
    is_start = pl.col("mark") == "start"
    return entries.filter(pl.col("what") == "job").select(
        "run",
        "time",
        "position",
        kind=pl.when(is_start).then(pl.lit("run_start")).otherwise(pl.lit("run_end")),
        code=pl.when(~is_start).then(pl.lit("done")),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
    )


def _pauses_of(spans: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of what went on beside steps; a save and a load tell their start as well."""
    told = spans.filter(
        (pl.col("what") != "data_loading")
        | pl.col("what").is_first_distinct().over("run", "attempt")
    )
    is_custom = pl.col("what") == "custom"
    kind = pl.coalesce(
        pl.when(is_custom & pl.col("type").str.contains(pattern)).then(pl.lit(name))
        for name, pattern in _PAUSES.items()
    )
    named = told.with_columns(kind=kind)
    has_start = pl.col("kind").is_in(["checkpoint", "checkpoint_load"])
    starts = named.filter(has_start).with_columns(
        kind=pl.col("kind") + "_start", seconds=pl.lit(None, pl.Float64)
    )
    ends = named.with_columns(
        time=pl.coalesce("end", "time"), position=pl.coalesce("end_position", "position")
    ).filter(pl.col("end").is_not_null() | pl.col("kind").is_null())
    return pl.concat([starts, ends]).select(
        "run",
        "time",
        "position",
        pl.col("kind").fill_null("note"),
        code=pl.coalesce("type", "what"),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
        attributes=event_labels({"seconds": pl.col("seconds")}),
    )
