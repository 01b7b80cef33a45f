"""Read what trainers print between steps: evaluations, checkpoints, starts, ends, heartbeats.

Source: formats of progress streams, sections 4 to 10 (torchtitan, Hugging Face's trainers,
Lightning, nanoGPT and relatives, Composer, OLMo, MaxText). Evaluations and checkpoints are planned
pauses; a heartbeat is no progress.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.phrases import Phrase, match_phrases
from collectors.training.own_times import with_own_times

_FACTS: Final = (
    r"^\s*(?:Total train batch size|Total optimization steps|Num Epochs|Num examples|"
    r"Instantaneous batch size|Batch size|Gradient Accumulation steps|"
    r"Number of trainable parameters)\b"
)

_PHRASES: Final = (
    Phrase(kind="evaluation", pattern=r"\bvalidate step: +(?P<code>[\d,]+)"),
    Phrase(kind="evaluation", pattern=r"^\s*step (?P<code>\d+): train loss \S+, val loss "),
    Phrase(kind="evaluation", pattern=r"^\s*step:(?P<code>\d+)/\d+ val_loss:"),
    Phrase(kind="evaluation", pattern=r"^\s*s:(?P<code>\d+) (?:tel|eval):"),
    Phrase(kind="evaluation", pattern=r"^val loss [\d.naif-]+$"),
    Phrase(kind="evaluation", pattern=r"[Cc]ompleted eval after train step:? (?P<code>\d+)\b"),
    Phrase(kind="evaluation", pattern=r"^\s*(?:\*{5} *)?Running (?:Evaluation|Prediction)\b"),
    Phrase(
        kind="evaluation",
        pattern=r"^\s*\[Eval batch=\d+/\d+\](?:\[[^\]]*\])* Eval on (?P<code>.*?) data:?\s*$",
    ),
    Phrase(kind="evaluation", pattern=r"^\s*Eval (?:metrics/)?\S+: \S+$", code="metric"),
    Phrase(kind="evaluation", pattern=r"^\s*(?:Validation|Sanity Checking)\b[^|]*: +\d+%\|"),
    Phrase(kind="evaluation", pattern=r"^\s*(?:INFO\S* )?(?i:starting|running) (?i:eval|valid)"),
    Phrase(
        kind="evaluation",
        pattern=r"\b(?i:step|iter|iteration)s?[ =:#]*(?P<code>\d+)\b.*"
        r"\b(?i:val|valid|validation|eval|test)[ _/](?i:loss)\b",
    ),
    Phrase(kind="checkpoint", pattern=r"Finished saving the checkpoint"),
    Phrase(kind="checkpoint_start", pattern=r"Saving the checkpoint \(or staging"),
    Phrase(kind="checkpoint_load", pattern=r"Finished loading the checkpoint"),
    Phrase(kind="checkpoint_load", pattern=r"\bLoading the checkpoint from (?P<code>\S+?)\.?$"),
    Phrase(kind="checkpoint_load", pattern=r"Continuing training from global step (?P<code>\d+)"),
    Phrase(
        kind="checkpoint_load",
        pattern=r"(?:Restor(?:ing|ed) (?:states |all states )?from the checkpoint (?:path )?at|"
        r"Loading model from|Resuming (?:training )?from(?: checkpoint)?|"
        r"[Rr]estored? (?:from )?checkpoint (?:at|from) step) ?(?P<code>\S+)",
    ),
    Phrase(
        kind="checkpoint",
        pattern=r"\b[Cc]heckpoint saved (?:to|at) (?P<code>\S+)|"
        r"\bsaved a checkpoint at step",
    ),
    Phrase(kind="checkpoint", pattern=r"^saving checkpoint to \S+$"),
    Phrase(
        kind="checkpoint_start",
        pattern=r"(?:Saving model checkpoint to|Saving checkpoint(?: (?:for|at) step| to)?|"
        r"Saving (?:trainer )?state to)\b ?(?P<code>\S*)",
    ),
    Phrase(kind="checkpoint_load", pattern=r"\bLoading checkpoint from (?P<code>\S+)"),
    Phrase(
        kind="run_start",
        pattern=r"\bTraining starts at step:? (?P<code>\d+)|\*{5} Running training \*{5}",
    ),
    Phrase(kind="run_start", pattern=r"^\s*using world size: \d+", code="world"),
    Phrase(kind="run_end", pattern=r"\bTraining completed\b", code="done"),
    Phrase(kind="run_end", pattern=r"`?Trainer\.fit`? stopped: `?max_", code="done"),
    Phrase(kind="run_facts", pattern=_FACTS),
    Phrase(kind="run_facts", pattern=r"\b(?i:world[ _]?size)\b['\"]?[ =:]+(?P<code>\d+)\b"),
    Phrase(kind="run_facts", pattern=r"\bNum_devices: (?P<code>\d+)\b"),
    Phrase(kind="gc", pattern=r"\[GC\] \S+ing \S"),
    Phrase(kind="note", pattern=r"\bre-looped\b", code="dataset_repeats"),
    Phrase(kind="heartbeat", pattern=r"\b(?i:heartbeat)s?\b|\bstill alive\b|\b[Kk]eep-?alive\b"),
)
"""In order: what proves a save comes before what announces one."""

TRAINER_EVENT_HINT: Final = "|".join(
    (
        *("validate step:", "l loss", "l_loss", "l/loss", "n loss", "n_loss", "n/loss", "t loss"),
        *("t_loss", "t/loss", "val_loss:", " tel:", " eval:", "ompleted eval after", "unning Pred"),
        *("unning Eval", "unning eval", "unning valid", "tarting eval", "tarting valid"),
        *("unning Valid", "tarting Eval", "tarting Valid", "Running train", r"\[Eval batch="),
        *("Eval ", "Validation", "Sanity Ch", "heckpoint", "Loading model", "Resuming ", "Restor"),
        *("Saving ", "Training starts", "Training completed", "stopped: ", "Continuing training"),
        *("orld size", "orld_size", "orldsize", "ORLD_SIZE", "Number of train", "Total train"),
        *("Total optim", "Num Epochs", "Num examples", "Instantaneous batch", "Gradient Acc"),
        *("Batch size", "Num_devices", r"\[GC\]", "re-looped", "eartbeat", "HEARTBEAT"),
        *("still alive", "eep-?alive"),
    )
)
"""Words one of which each phrase holds."""


_SECONDS: Final = r"(?:in |collection\. )([\d.]+) seconds"

_WORLD: Final = r"(?i)(?:world[ _]?size['\"]?[ =:]+|Num_devices: )(\d+)"


def read_trainer_events(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the events between the steps of a trainer.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `EVENTS` of kinds evaluation, checkpoint (a save that is done), checkpoint_start,
        checkpoint_load, run_start, run_end, gc, heartbeat, note, run_facts; `code` is the step or
        the path where one is told, the attribute `seconds` how long it took. `JOBS` with the
        number of ranks that the log tells.
    """
    near = lines.filter(pl.col("text").str.contains(TRAINER_EVENT_HINT))
    found = match_phrases(near, _PHRASES)
    if found.is_empty():
        return LineReading()
    seconds = pl.col("text").str.extract(_SECONDS)
    events = with_own_times(found, lines, options).with_columns(
        code=_step_of_path(),
        time="end_time",
        message="text",
        count=pl.lit(1),
        attributes=event_labels({"seconds": seconds}),
    )
    world = pl.col("text").str.extract(_WORLD).cast(pl.Int32, strict=False)
    jobs = found.select(world=world).filter(pl.col("world") > 0).tail(1)
    return LineReading(reading=reading_of(events=events, jobs=jobs), claimed=events["line"])


def _step_of_path() -> pl.Expr:
    """Return the code; of a path that ends in a step (`checkpoint-500`, `step500`) the step."""
    code = pl.col("code").str.replace_all(r"(\d),(\d)", "${1}${2}").str.replace(r"\.+$", "")
    step = code.str.extract(r"(?:checkpoint[-_]?|step[-_]?|ba)(\d+)\D*$")
    return pl.coalesce(step, code)
