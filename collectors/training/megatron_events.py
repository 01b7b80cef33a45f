"""Read what Megatron prints between iterations: evaluations, checkpoints, starts and ends.

Source: formats of progress streams, sections 1.3 to 1.5 (NVIDIA/Megatron-LM training.py and
checkpointing.py). Only a line that says a save succeeded proves it; the line that schedules an
asynchronous save is no commit.
"""

from typing import Final

import polars as pl

from collectors.texts.phrases import Phrase, match_phrases
from collectors.texts.stamps import iso_time

_AT: Final = r"iteration +(?P<code>\d+)"

_PHRASES: Final = (
    Phrase(kind="evaluation", pattern=rf"\bvalid(?:ation)?\S* loss at {_AT}"),
    Phrase(
        kind="evaluation", pattern=r"\bvalid(?:ation)?\S* loss at the end of training", code="end"
    ),
    Phrase(kind="evaluation", pattern=r"\bvalid(?:ation)?\S* loss (?:at|on) .*\|"),
    Phrase(
        kind="checkpoint", pattern=rf"successfully saved (?:local )?checkpoint (?:at|from) {_AT}"
    ),
    Phrase(kind="checkpoint_start", pattern=rf"scheduled an async checkpoint save at {_AT}"),
    Phrase(kind="checkpoint_start", pattern=rf"saving checkpoint at {_AT}"),
    Phrase(kind="checkpoint_delete", pattern=rf"successfully deleted checkpoint from {_AT}"),
    Phrase(kind="checkpoint_load", pattern=rf"successfully loaded checkpoint from .* at {_AT}"),
    Phrase(kind="checkpoint_load", pattern=rf"loading (?:\S+ )*checkpoint from .* at {_AT}"),
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
    Phrase(
        kind="memory",
        pattern=r"^\s*\[Rank (?P<rank>\d+)\] \(after (?P<code>\d+) iterations\) memory",
    ),
    Phrase(kind="timers", pattern=r"^\s*time \(ms\)(?: \||$)"),
)

EVENT_LINES: Final = "|".join(
    f"(?:{phrase.pattern.replace('?P<code>', '').replace('?P<rank>', '')})" for phrase in _PHRASES
)
"""Lines that are never the rest of a wrapped iteration."""

_RULE: Final = r"^\s*-{20,}\s*$"
"""The dashes that frame an evaluation."""


def read_megatron_events(lines: pl.DataFrame, time_zone: str) -> tuple[pl.DataFrame, pl.Series]:
    """Return the events between iterations and the lines that tell them.

    Args:
        lines: `LINES`.
        time_zone: IANA zone of stamps that carry none.

    Returns:
        `EVENTS` with `line`: evaluation, checkpoint (a save that succeeded), checkpoint_start,
        checkpoint_load, checkpoint_delete, from_scratch, run_start, run_end, memory, timers;
        `code` is the iteration where one is told. Second, their lines and the dashes round them.
    """
    events = match_phrases(lines, _PHRASES).with_columns(
        time=pl.col("time").fill_null(iso_time(pl.col("text"), time_zone)),
        message="text",
        count=pl.lit(1),
    )
    rules = lines.filter(pl.col("text").str.contains(_RULE))["line"]
    framing = rules if not events.is_empty() else rules.clear()
    return events, pl.concat([events["line"], framing])
