"""Read what Megatron prints between iterations: evaluations, checkpoints, starts and ends.

Source: formats of progress streams, sections 1.3 and 1.4, 2.2 and 2.4 (NVIDIA/Megatron-LM
training.py and checkpointing.py, Megatron-Bridge, NeMo). Only a line that says a save succeeded
proves it; the line that schedules an asynchronous save is no commit.
"""

from typing import Final

import polars as pl

from collectors.texts.event_labels import event_labels
from collectors.texts.phrases import Phrase, match_phrases
from collectors.texts.stamps import iso_time

_AT: Final = r"iteration +(?P<code>\d+)"

_LOSS: Final = r"\b(?:valid|validation|test)(?:-\S+)? loss (?:at|on)"

_PHRASES: Final = (
    Phrase(kind="evaluation", pattern=rf"{_LOSS} (?:the )?{_AT}"),
    Phrase(kind="evaluation", pattern=rf"{_LOSS} the end of training", code="end"),
    Phrase(kind="evaluation", pattern=rf"{_LOSS} .*\|"),
    Phrase(
        kind="evaluation", pattern=r"^\s*(?:Validation: iteration \d+/|Evaluating (?:iter|on) )"
    ),
    Phrase(
        kind="checkpoint", pattern=rf"successfully saved (?:local )?checkpoint (?:at|from) {_AT}"
    ),
    Phrase(kind="checkpoint", pattern=r"^\s*successfully saved (?P<device>\S*/\S+)$"),
    Phrase(kind="checkpoint_start", pattern=rf"scheduled an async checkpoint save at {_AT}"),
    Phrase(
        kind="checkpoint_start",
        pattern=rf"global rank +(?P<rank>\d+) is saving checkpoint at {_AT}",
    ),
    Phrase(kind="checkpoint_start", pattern=rf"saving checkpoint at {_AT}"),
    Phrase(kind="checkpoint_delete", pattern=rf"successfully deleted checkpoint from {_AT}"),
    Phrase(kind="checkpoint_load", pattern=rf"successfully loaded checkpoint from .*at {_AT}"),
    Phrase(kind="checkpoint_load_start", pattern=rf"loading (?:\S+ )*checkpoint from .*at {_AT}"),
    Phrase(kind="checkpoint_load_start", pattern=r"\bloading (?:\w+ )*checkpoint from "),
    Phrase(
        kind="from_scratch",
        pattern=r"could not find the metadata file|will not load any checkpoints and will start",
        severity="warning",
    ),
    Phrase(kind="run_start", pattern=r"\[before the start of training step\] datetime"),
    Phrase(kind="run_end", pattern=r"\[after training is done\] datetime", code="done"),
    Phrase(kind="run_end", pattern=rf"\[exiting program at {_AT}\] datetime"),
    Phrase(kind="run_end", pattern=r"\[exiting program after receiving (?P<code>SIG[A-Z]+)"),
    Phrase(kind="run_end", pattern=r"\[exiting program after \d+[.\d]* minutes\]", code="time"),
    Phrase(kind="note", pattern=r"^\s*\[[a-z][^\]]*\] datetime: ", code="mark"),
    Phrase(
        kind="memory",
        pattern=r"^\s*\[Rank (?P<rank>\d+)\] \(after (?P<code>\d+) iterations\) memory",
    ),
    Phrase(kind="step_time", pattern=r"\bStep Time : [\d.]+ ?s GPU utilization: "),
    Phrase(kind="note", pattern=r"\bEffective Tera Flops per GPU: ", code="tera_flops"),
)

EVENT_HINT: Final = (
    r"loss (?:at|on) |checkpoint|datetime: |metadata file|memory \(MB\)|Step Time : |Tera Flops|"
    r"Validation: |Evaluating |successfully saved"
)
"""Words one of which each phrase holds."""

_RULE: Final = r"^\s*-{20,}\s*$"
"""The dashes that frame an evaluation."""

_STEP_TIME: Final = r"Step Time : ([\d.]+) ?s GPU utilization: ([\d.]+) ?MODEL_TFLOP/s/GPU"


def read_megatron_events(lines: pl.DataFrame, time_zone: str) -> tuple[pl.DataFrame, pl.Series]:
    """Return the events between iterations and the lines that tell them.

    Args:
        lines: `LINES`.
        time_zone: IANA zone of stamps that carry none.

    Returns:
        `EVENTS` with `line`: evaluation, checkpoint (a save that succeeded), checkpoint_start,
        checkpoint_load, checkpoint_load_start, checkpoint_delete, from_scratch, run_start, run_end,
        memory, step_time (attributes `step_seconds` and `throughput_flops`), note. `code` is the
        iteration where one is told; what an evaluation or a memory line says are attributes, in its
        own words. Second, their lines and the dashes round them.
    """
    told = lines.filter(pl.col("text").str.contains(EVENT_HINT))
    matched = match_phrases(told, _PHRASES)
    claimed = matched["line"]
    events = _once(matched).with_columns(
        time=pl.col("time").fill_null(iso_time(pl.col("text"), time_zone)),
        device=pl.lit(None, dtype=pl.String),
        message="text",
        count=pl.lit(1),
        attributes=_attributes(),
    )
    if events.is_empty():
        return events, claimed
    rules = lines.filter(pl.col("text").str.contains(_RULE))["line"]
    return events, pl.concat([claimed, rules])


def _once(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events without the second line of the pair that a missing checkpoint prints."""
    is_scratch = pl.col("kind") == "from_scratch"
    near = pl.col("line") - pl.col("line").shift(1) <= 1
    again = is_scratch & is_scratch.shift(1) & near & pl.col("text").str.contains("will not load")
    return events.filter(~again.fill_null(value=False))


def _attributes() -> pl.Expr:
    """Return what a line says between its bars, or of a step's time in base units."""
    text = pl.col("text")
    seconds, tera = (
        text.str.extract(_STEP_TIME, at).cast(pl.Float64, strict=False) for at in (1, 2)
    )
    flops = (tera * 1e12).cast(pl.String)
    measured = event_labels({"step_seconds": seconds.cast(pl.String), "throughput_flops": flops})
    pieces = text.str.split("|").list.slice(1).list.eval(_pair(pl.element())).list.drop_nulls()
    return (
        pl.when(pl.col("kind").is_in(["evaluation", "memory"]))
        .then(pl.when(pieces.list.len() > 0).then(pieces))
        .when(pl.col("kind") == "step_time")
        .then(measured)
    )


def _pair(piece: pl.Expr) -> pl.Expr:
    """Return `name: value` as a label; null if it is none."""
    parts = piece.str.extract_groups(r"^ *(?P<key>[^|]*\S): +(?P<value>\S.*?) *$")
    return pl.when(parts.struct.field("key").is_not_null()).then(parts)
