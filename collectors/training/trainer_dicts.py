"""Read the dicts that Hugging Face's trainers print, and the progress bars that date them.

Source: formats of progress streams, section 5 (transformers 4 and 5, ms-swift, LLaMA-Factory,
Axolotl). The dict has no step number: the bar before it does. Values may be texts, and nan is a
bare word.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.training.elapsed import elapsed_seconds
from collectors.training.own_times import with_own_times
from collectors.training.printed_numbers import dict_number, printed_number
from collectors.training.progress_bars import BAR, bar_columns, bar_paces
from collectors.training.resumed_rates import resumed_rate_events

DICT_START: Final = (
    r"\{'(?:loss|learning_rate|grad_norm|epoch|num_tokens|train_\w+|eval_\w+|rewards?/\w+)': "
)

DICT_HINT: Final = rf"{DICT_START}|\*\*\*\*\* (?:train|eval) metrics|%\||it \["

_METRICS: Final = r"^\s+(?:(?:train|eval)_\w+|epoch|total_flos) += "

_MAX_WRAPPED_LINES: Final = 3

_MIN_TOTAL_SHARE: Final = 0.3
"""Bars of a total that stand before so many of the dicts are those of the training loop."""

_SUMMARY: Final = (
    *("train_runtime", "train_loss"),
    *("train_steps_per_second", "train_samples_per_second"),
)

_EVALUATION: Final = ("eval_loss", "eval_runtime")

_STARTS: Final = r"\*{5} Running training|Continuing training from|[Rr]esum(?:ing|ed) "


def read_trainer_dicts(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps and events in a trainer's dicts.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `STEPS`, the step as the dict tells it, else the last training bar, else its epoch by the
        lines that tell the steps of all epochs, else null; its time is the bar's seconds since the
        dict before, `interval_mean`. `EVENTS` of kind evaluation, run_summary (a trainer's last
        words, one a process) and warning, code `resumed_rate`: rates of a resumed run that count
        the work of the attempts before.
    """
    dicts, parts = _dicts_of(lines)
    bars = _bars_of(lines, dicts)
    metrics = _metric_lines(lines)
    claimed = pl.concat([parts, bars["line"], metrics])
    if dicts.is_empty():
        return LineReading(claimed=claimed)
    placed = with_own_times(_placed(dicts, bars, lines), lines, options)
    is_step = pl.col("text").str.contains("'loss': ", literal=True)
    steps, others = placed.filter(is_step), placed.filter(~is_step)
    events = pl.concat([_events_of(others), resumed_rate_events(others, lines)], how="diagonal")
    return LineReading(reading=reading_of(steps=_steps_of(steps), events=events), claimed=claimed)


def _dicts_of(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return the dicts, each on one line, and all lines that they stand on.

    A dict that was cut goes on within three lines, of which none begins another.
    """
    text = pl.col("text")
    starts = text.str.contains(rf"^\s*{DICT_START}")
    parts = lines.with_columns(starts=starts, dict=starts.cum_sum()).filter(pl.col("dict") > 0)
    if parts.is_empty():
        return lines.clear(), lines["line"].clear()
    near = pl.col("line") - pl.col("line").first().over("dict") <= _MAX_WRAPPED_LINES
    closed = text.str.contains("}", literal=True).cum_sum().shift(1, fill_value=0).over("dict")
    drawn = text.str.contains(BAR)
    kept = parts.filter(near, closed == 0, pl.col("starts") | ~drawn)
    joined = kept.group_by("dict", maintain_order=True).agg(
        pl.exclude("text", "starts").first(), pl.col("text").str.join("")
    )
    whole = joined.filter(text.str.contains("}", literal=True))
    known = kept.filter(pl.col("dict").is_in(whole["dict"].implode()))
    return whole.drop("dict"), known["line"]


def _bars_of(lines: pl.DataFrame, dicts: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with bars, and which of them are of the training loop."""
    drawn = lines.filter(pl.col("text").str.contains(BAR)).select("line", **bar_columns())
    steps = dicts.filter(pl.col("text").str.contains("'loss': ", literal=True)).select("line")
    before = steps.sort("line").join_asof(
        drawn.drop_nulls("bar_total").select("line", "bar_total").sort("line"),
        on="line",
        strategy="backward",
        check_sortedness=False,
    )["bar_total"]
    share = before.value_counts().filter(
        pl.col("bar_total").is_not_null(), pl.col("count") >= _MIN_TOTAL_SHARE * before.len()
    )
    return drawn.with_columns(
        is_training=pl.col("bar_total").is_in(share["bar_total"].implode())
        if len(share)
        else pl.col("bar_total").is_not_null()
    )


def _placed(dicts: pl.DataFrame, bars: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Return the dicts with the training bar before them, and the loop that this bar belongs to."""
    training = bars.filter("is_training").drop("is_training").sort("line")
    marks = lines.filter(pl.col("text").str.contains(_STARTS)).select("line", is_mark=pl.lit(1))
    both = pl.concat([training, marks], how="diagonal").sort("line")
    restarts = pl.col("bar_seconds") < pl.col("bar_seconds").forward_fill().shift(1)
    loops = both.with_columns(
        loop=(restarts.fill_null(value=False) | pl.col("is_mark").is_not_null()).cum_sum()
    ).drop_nulls("bar_step")
    is_begun = pl.col("bar_step") > 0
    first = loops.with_columns(
        first_step=pl.col("bar_step").filter(is_begun).first().over("loop"),
        first_seconds=pl.col("bar_seconds").filter(is_begun).first().over("loop"),
    )
    return (
        dicts.sort("line")
        .join_asof(first, on="line", strategy="backward", check_sortedness=False)
        .with_columns(told=_told_step(lines))
    )


def _told_step(lines: pl.DataFrame) -> pl.Expr:
    """Return the step that a dict itself tells, or its epoch does where all steps are told."""
    text = pl.col("text")
    own = text.str.extract(r"'global_step(?:/max_steps)?': '?(\d+)").cast(pl.Int64, strict=False)
    total = printed_number(text.str.extract(r"Total optimization steps = ([0-9,]+)"))
    epochs = printed_number(text.str.extract(r"Num Epochs = ([0-9,]+)"))
    per_epoch = lines.select(total.drop_nulls().last() / epochs.drop_nulls().last()).item()
    by_epoch = (dict_number("epoch") * pl.lit(per_epoch, dtype=pl.Float64)).round()
    step = by_epoch.cast(pl.Int64, strict=False)
    return pl.coalesce(own, pl.when(pl.col("bar_step").is_null()).then(step))


def _steps_of(dicts: pl.DataFrame) -> pl.DataFrame:
    gap = pl.col("step").diff()
    own = elapsed_seconds(pl.col("text").str.extract(r"'elapsed_time': '([^']+)'"))
    by_text, by_wall = (one.diff() / gap for one in (own, pl.col("tick_seconds")))
    rows = bar_paces(dicts.with_columns(step=pl.coalesce("told", "bar_step")))
    seconds = pl.coalesce("bar_pace", by_text, pl.when(pl.col("bar_step").is_null()).then(by_wall))
    sound = pl.when((gap > 0) & (seconds > 0)).then(seconds)
    return rows.with_columns(
        interval_steps=pl.when(gap > 0).then(gap),
        step_seconds=sound,
        time_kind=pl.when(sound.is_not_null()).then(pl.lit("interval_mean")),
        loss=dict_number("loss"),
        grad_norm=dict_number("grad_norm"),
        loss_state=pl.lit("printed"),
        rank=pl.lit(None),
    )


def _events_of(dicts: pl.DataFrame) -> pl.DataFrame:
    text = pl.col("text")
    is_summary = text.str.contains("'train_runtime'", literal=True)
    is_evaluation = text.str.contains("'eval_", literal=True)
    kind = (
        pl.when(is_summary)
        .then(pl.lit("run_summary"))
        .when(is_evaluation)
        .then(pl.lit("evaluation"))
        .otherwise(pl.lit("note"))
    )
    return dicts.with_columns(
        kind=kind,
        code=pl.coalesce("told", "bar_step").cast(pl.String),
        time="end_time",
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
        attributes=event_labels({name: dict_number(name) for name in (*_SUMMARY, *_EVALUATION)}),
    )


def _metric_lines(lines: pl.DataFrame) -> pl.Series:
    """Return the lines of a `train metrics` table, which says again what a dict said."""
    text = pl.col("text")
    heads = text.str.contains(r"^\s*\*{5} (?:train|eval) metrics \*{5}")
    if not lines.select(heads.any()).item():
        return lines["line"].clear()
    return lines.filter(heads | text.str.contains(_METRICS))["line"]
