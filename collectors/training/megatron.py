"""Read the iteration lines of Megatron-LM and its relatives, and what stands between them.

Source: formats of progress streams, sections 1.1 to 1.4 and 2.1 to 2.4 (NVIDIA/Megatron-LM
training.py, v1.0 to core 0.19, and forks). A loss that is not positive is left out of the line; the
elapsed time is the mean since the last line.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.line_reading import LineReading, is_taken_apart
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import LINES
from collectors.training.megatron_events import EVENT_HINT, read_megatron_events
from collectors.training.megatron_forms import READ_PARTS, read_forms
from collectors.training.megatron_intervals import loss_states, with_intervals
from collectors.training.megatron_records import RECORD, read_records, whole_records
from collectors.training.own_times import nearer_time, with_own_times
from collectors.training.sample_rates import wrong_rates
from collectors.training.throughputs import changed_definitions

MEGATRON_HINT: Final = rf"iteration|{EVENT_HINT}"

_BEGINNINGS: Final = ("run_start", "checkpoint_load", "checkpoint_load_start")

_LOGGER: Final = r"[:\]\-|>]\s*$"
"""How the prefix of a logger ends that was cut off a record; its stamp may be the only one."""


def read_megatron(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps and events that Megatron's lines tell.

    Args:
        lines: `LINES`.
        options: The zone of Megatron's stamps, which carry none.

    Returns:
        `STEPS` of the whole job, rank and attempt null, `interval_mean` over the steps since the
        last line; see `loss_states` for a loss that is not there. `EVENTS` of evaluations,
        checkpoints, starts and ends (see `read_megatron_events`), of TFLOP/s that begin to
        count something else (see `changed_definitions`), and of rates that cannot be (see
        `wrong_rates`).
    """
    formed, known = _formed(lines, options)
    lines = lines.select(LINES.names())
    whole = _whole(lines["text"], known)
    between = lines.filter(~whole)
    events, event_lines = read_megatron_events(between, options.time_zone)
    others, other_lines = read_records(lines, whole, known, event_lines, options.time_zone)
    records = pl.concat([formed, others], how="diagonal").sort("line")
    if records.is_empty() and event_lines.is_empty():
        return LineReading()
    loggers = _loggers(between, records, options)
    timed = records if loggers.is_empty() else _with_stamps(records, loggers)
    steps = _steps_of(with_intervals(timed, _marks(events)))
    told = [events, changed_definitions(steps), wrong_rates(steps)]
    return LineReading(
        reading=reading_of(
            steps=steps,
            events=pl.concat(told, how="diagonal_relaxed").sort("line", maintain_order=True),
        ),
        claimed=pl.concat([formed["line"], other_lines, event_lines, loggers["line"]]),
    )


def _formed(lines: pl.DataFrame, options: ReadOptions) -> tuple[pl.DataFrame, pl.Series]:
    """Return the records that have a usual form, and which lines they are."""
    known = is_taken_apart(lines)
    others = lines.select(*RECORD, "text").filter(~known)
    formed, fits = read_forms(others, options.time_zone)
    if not known.any():
        return formed.drop("text"), fits
    usual = lines.select(*RECORD, *READ_PARTS).filter(known)
    records = pl.concat([usual, formed.drop("text")], how="diagonal")
    return records, known.scatter((~known).arg_true(), fits)


def _whole(text: pl.Series, known: pl.Series) -> pl.Series:
    """Return which lines hold a whole record; some are known to."""
    rest = (~known).arg_true()
    return known.clone().scatter(rest, whole_records(text.gather(rest)))


def _loggers(lines: pl.DataFrame, records: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return the prefixes of loggers that stand before records: `line`, `position`, `stamped`."""
    pieces = lines.filter(pl.col("is_torn") & pl.col("text").str.contains(_LOGGER))
    if pieces.is_empty():
        return pl.DataFrame(schema={"line": pl.Int64, "position": pl.Int64, "stamped": TIME})
    before = records.select("position", next_line="line").unique("position", keep="first")
    mine = pieces.join(before, on="position").filter(pl.col("line") + 1 == pl.col("next_line"))
    timed = with_own_times(mine, lines, options)
    return timed.select("line", "position", stamped="end_time")


def _with_stamps(records: pl.DataFrame, loggers: pl.DataFrame) -> pl.DataFrame:
    """Return the records with the stamps of their loggers, where they have none of their own."""
    stamps = loggers.select("position", "stamped").unique("position", keep="first")
    joined = records.join(stamps, on="position", how="left", maintain_order="left")
    return joined.with_columns(own_time=pl.coalesce("own_time", "stamped")).drop("stamped")


def _marks(events: pl.DataFrame) -> pl.DataFrame:
    """Return the lines at which an attempt begins, with the iteration that was loaded."""
    resumed = pl.when(pl.col("kind") != "run_start").then("code")
    return events.filter(pl.col("kind").is_in(_BEGINNINGS)).select(
        pl.col("line").cast(pl.Int64), resumed=resumed.cast(pl.Int64, strict=False)
    )


def _steps_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return `STEPS` and what `changed_definitions` takes, by line."""
    per_step = [
        (pl.col(f"consumed_{name}").diff() / pl.col("gap")).alias(f"{name}_read")
        for name in ("tokens", "samples")
    ]
    numbered = records.with_columns(
        *per_step,
        end_time=nearer_time(pl.col("own_time"), pl.col("time")),
        step_seconds=(pl.col("elapsed_ms") / 1000).fill_null(pl.col("elapsed_s")),
        loss=pl.coalesce("main_loss", "other_loss"),
    )
    return numbered.with_columns(
        time_kind=pl.lit("interval_mean"),
        samples=pl.coalesce("samples", pl.when(pl.col("samples_read") > 0).then("samples_read")),
        tokens=pl.when(pl.col("tokens_read") > 0).then("tokens_read"),
        skipped_steps="skipped",
        loss_state=loss_states(),
    )
