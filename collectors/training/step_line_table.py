"""The step lines of smaller trainers: what each prints, field by field.

Source: formats of progress streams, sections 4 (torchtitan), 7 (nanoGPT, its speed runs, llm.c), 10
(MaxText) and 11 (XTuner). Fields are looked for one by one, since each version adds and moves some.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from collectors.training.printed_numbers import NUMBER


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """The step line of one trainer.

    Attributes:
        literal: Text without which no line is one: the cheap first look.
        pattern: What makes it one.
        step: Pattern whose only group is the step.
        fields: Patterns by our column, one group each: `loss`, `grad_norm`, `tokens` (of a step),
            `seconds` and `milliseconds` (of a step), `total_milliseconds` (since the start),
            `rate` (tokens a second of one device), `teraflops` (a second, of one device),
            `data_seconds` (before the told seconds), `memory_gibibytes`, `memory_percent`,
            `flops_percent`.
        time_kind: What its time stands for; `arrival` is the time between lines.
        is_per_rank: The line is about the rank that prints it, not about the job.
    """

    literal: str
    pattern: str
    step: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    time_kind: str = "single_step"
    is_per_rank: bool = False


STEP_LINES: Final = (
    StepLine(
        literal="  loss: ",
        pattern=r"(?:^|[^a-z ]) *step: +[0-9,]+  +loss: ",
        step=r"step: +([0-9,]+)",
        fields={
            "loss": rf"  loss: +{NUMBER}",
            "grad_norm": rf"  grad_norm: +{NUMBER}",
            "rate": rf"  (?:tps|wps): +{NUMBER}",
            "memory_gibibytes": rf"  memory: +{NUMBER}GiB",
            "memory_percent": rf"  memory: +[0-9.]+GiB\({NUMBER}%\)",
            "teraflops": rf"  tflops: +{NUMBER}",
            "flops_percent": rf"  mfu: +{NUMBER}%",
        },
        time_kind="arrival",
    ),
    StepLine(
        literal=": loss ",
        pattern=r"^\s*iter [0-9]+: loss ",
        step=r"iter ([0-9]+)",
        fields={"loss": rf": loss {NUMBER}", "milliseconds": rf", time {NUMBER}ms"},
    ),
    StepLine(
        literal="train_time:",
        pattern=r"^\s*step:[0-9]+/[0-9]+ train_(?:loss|time):",
        step=r"step:([0-9]+)",
        fields={
            "loss": rf" train_loss:{NUMBER}",
            "total_milliseconds": rf" train_time:{NUMBER}ms",
        },
        time_kind="interval_mean",
    ),
    StepLine(
        literal=" trl:",
        pattern=r"^\s*s:[0-9]+ trl:",
        step=r"s:([0-9]+)",
        fields={"loss": rf" trl:{NUMBER}", "grad_norm": rf" norm:{NUMBER}"},
    ),
    StepLine(
        literal=" tok/s",
        pattern=r"^\s*step +[0-9]+/[0-9]+ \| loss ",
        step=r"step +([0-9]+)",
        fields={
            "loss": rf"\| loss +{NUMBER}",
            "grad_norm": rf"\| norm +{NUMBER}",
            "milliseconds": rf"\| +{NUMBER} ms",
        },
    ),
    StepLine(
        literal="completed step: ",
        pattern=r"completed step: [0-9]",
        step=r"completed step: ([0-9]+)",
        fields={
            "loss": rf"\bloss: {NUMBER}",
            "grad_norm": rf"\bgrad_norm: {NUMBER}",
            "seconds": rf"\bseconds: {NUMBER}",
            "teraflops": rf"TFLOP/s/device: {NUMBER}",
            "tokens": rf"\btotal_weights: {NUMBER}",
        },
    ),
    StepLine(
        literal="completed profiler ",
        pattern=r"completed profiler (?:de)?activation(?:/deactivation)? step: [0-9]",
        step=r"activation step: ([0-9]+)",
    ),
    StepLine(
        literal="data_time: ",
        pattern=r"Epoch [0-9]+ +Step +[0-9]+/[0-9]+",
        step=r"Step +([0-9]+)/",
        fields={
            "loss": rf"\b(?:reduced_)?(?:llm_|total_)?loss: +{NUMBER}",
            "grad_norm": rf"\bgrad_norm: +{NUMBER}",
            "data_seconds": rf"\bdata_time: +{NUMBER}",
            "seconds": rf"\btime: +{NUMBER}",
            "tokens": rf"\btext_tokens: +{NUMBER}",
        },
        is_per_rank=True,
    ),
)
"""By trainer: torchtitan, nanoGPT, modded-nanogpt, llm.c (log and console), MaxText (and its lines
without a time, round profiles) and XTuner (one log a rank; the told time comes after the
loading)."""

OTHER_STEP_LINE: Final = StepLine(
    literal="loss",
    pattern=r"(?i)(?:^|[^a-z_])(?:global[_ ])?(?:step|iter|iteration)s?[ =:#]*[0-9]+(?:/[0-9]+)?"
    r"(?:[^0-9].*)?[^a-z0-9](?:train(?:ing)?[_ /]|lm[_ ])?loss[ =:]+-?[0-9ni]",
    step=r"(?i)(?:^|[^a-z_])(?:global[_ ])?(?:step|iter|iteration)s?[ =:#]*([0-9]+)",
    fields={
        "loss": rf"(?i)loss[ =:]+{NUMBER}",
        "grad_norm": rf"(?i)(?:grad[_ ]?norm|gnorm)[ =:]+{NUMBER}",
        "seconds": r"(?i)(?:step[_ ]?time|iter[_ ]?time|time/step|[ ,|]dt|[ ,|]time)"
        r"(?:\(s\))?[ =:]+([0-9.]+(?:[eE][-+]?[0-9]+)?)(?: ?s(?:ec\w*)?\b| ?[,|;)\]]| ?$)",
        "milliseconds": r"(?i)(?:step[_ ]?time|iter[_ ]?time|time/step|[ ,|]dt|[ ,|]time)"
        r"(?:\(ms\))?[ =:]+([0-9.]+) ?ms",
    },
)
"""Any line that tells a step and its loss."""

OTHER_LOOPS: Final = r"(?i)(?:^|[^a-z])(?:eval\w*|val|valid\w*|test)(?:[^a-z]|$)"
"""Words of lines that tell of another loop than training."""

STEP_LINE_HINT: Final = (
    r"step: +[\d,]+  +loss: |iter \d+: loss |step:\d+/\d+ train_|s:\d+ trl:|\| loss +\S+.* tok/s|"
    r"completed (?:step|profiler)|Step +\d+/\d+ .*data_time: "
)

OTHER_STEP_HINT: Final = r"[Ll](?:oss|OSS)[ =:]+[-0-9ni]"

_ABSL: Final = r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+:\d+\] "

STEP_LINE_START: Final = (
    rf"(?:\[titan\] \d{{4}}-\d\d-\d\d |iter \d+: loss |step:\d+/\d+ (?:train|val)_|"
    rf"{_ABSL}completed step: )"
)
"""How such a line begins where processes that share a pipe glued it to another."""

STEP_LINE_MARK: Final = r"\[titan\] |iter \d+: loss |step:\d+/|completed step: "

STEP_LINE_SURE: Final = (
    rf"^(?:\[titan\] [^ ]+ [^ ]+ - [^ ]+ - INFO - step: |iter \d+: loss |{_ABSL}completed step: )"
)
"""Lines that are nobody else's."""
