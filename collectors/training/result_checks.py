"""Read what programs say of results that they checked: hashes of weights, and steps run twice.

Source: NVIDIA/Megatron-LM `megatron/core/utils.py` and `megatron/training/training.py` (hashes of
all parameters against the first data-parallel rank), `megatron/core/rerun_state_machine.py` (an
unexpected result is computed again, then on another GPU). The program's last word on a second
rerun is printed by the *other* GPU, where the result was right.
"""

from typing import Final

import polars as pl

from collectors.identity import canonical_host
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.phrases import Phrase, match_phrases

_PLACE: Final = r"\bRank (?P<rank>\d+), node (?P<host>[^\s,]+), device (?P<device>\d+)"

_AT: Final = r"iteration[ #]*(\d+)"

_MESSAGE: Final = r"\(message='([^']*)'\)|\(possible Application error\) \(([^)]*)\)"

_MATCH: Final = r">>> Weight hashes match after (?P<code>\d+) iterations"

_PHRASES: Final = (
    Phrase(
        kind="replica_mismatch",
        pattern=r"\[Rank (?P<rank>\d+)\] Hash not matching for (?P<code>\S+) in model chunk",
        severity="critical",
    ),
    Phrase(kind="replica_match", pattern=_MATCH),
    Phrase(
        kind="result_check",
        pattern=_PLACE + r": Possible transient error!",
        code="transient",
        severity="critical",
    ),
    Phrase(
        kind="result_check",
        pattern=_PLACE + r": Possible persistent error!",
        code="persistent",
        severity="critical",
    ),
    Phrase(
        kind="result_check",
        pattern=_PLACE + r": Correct result \(but possible Application error\)",
        code="correct",
        severity="error",
    ),
    Phrase(
        kind="result_check",
        pattern=r"First rerun: unexpected result is reproducible within the tolerance",
        code="repeated",
        severity="error",
    ),
    Phrase(
        kind="result_check",
        pattern=r"Got rescheduled on the same GPU\. .*"
        r"\(node: (?P<host>[^\s,]+), gpu: (?P<device>\d+)\)",
        code="repeated",
        severity="error",
    ),
    Phrase(
        kind="result_check",
        pattern=r"\bUnexpected result \S+ at \S+ line \d+, invo[kc]ation #\d+ at iteration #\d+",
        code="unexpected",
        severity="error",
    ),
    Phrase(
        kind="result_check",
        pattern=r"\b(?:First|Second) rerun: unexpected result is (?:not )?reproducible",
        code="rerun",
    ),
    Phrase(kind="result_check", pattern=r"(?:^|:)Result validation enabled$", code="enabled"),
)

RESULT_HINT: Final = (
    r"Hash not matching for|Weight hashes match|Possible (?:transient|persistent) error!|"
    r"possible Application error|unexpected result is|rescheduled on the same GPU|"
    r"Unexpected result .* at iteration #|Result validation enabled"
)
"""Words one of which each phrase holds."""


def read_result_checks(lines: pl.DataFrame, _options: ReadOptions) -> LineReading:
    """Return what programs say of results that they checked.

    Args:
        lines: `LINES`.

    Returns:
        `EVENTS` of kind replica_mismatch (`code` is the parameter), replica_match (`code` is the
        iteration) and result_check, whose code is unexpected, transient (another result on the
        same GPU), repeated (the same again), persistent (another result on another GPU; told by
        that one), correct (the same there), rerun or enabled; attributes `step` and `message`.
    """
    near = lines.filter(pl.col("text").str.contains(RESULT_HINT))
    found = match_phrases(near, _PHRASES)
    if found.is_empty():
        return LineReading()
    text = pl.col("text")
    said = pl.coalesce(text.str.extract(_MESSAGE, 1), text.str.extract(_MESSAGE, 2))
    events = found.with_columns(
        canonical_host(pl.col("host")),
        device_kind=pl.when(pl.col("device").is_not_null()).then(pl.lit("gpu")),
        message="text",
        count=pl.lit(1),
        attributes=event_labels({"step": text.str.extract(_AT), "message": said}),
    )
    return LineReading(reading=reading_of(events=events), claimed=events["line"])
