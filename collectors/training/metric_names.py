"""What metric stores call things: from the name of a series to a column of `STEPS`.

Source: formats of progress streams, sections 1.5, 4, 6, 8 to 10 and 12: tags of Megatron-LM and
its relatives, torchtitan, NeMo, Lightning, Composer, OLMo and MaxText. A name's unit is in it;
Megatron's timers reach a store in seconds, as the slowest rank's.
"""

import re
from typing import Final

import polars as pl

RATE: Final = "rate"
"""The column of samples or tokens a second, which `STEPS` does not have."""

_MILLI: Final = r"(?:ms|milliseconds)"

_NOT_OURS: Final = re.compile(
    r"(?i)\bvs[ _-](?:samples|tokens|hours|time)"
    r"|(?:^|[/_ -])(?:eval|val|valid|validation|test)(?:$|[/_ -])"
)
"""Series over another axis than the step, and those of other loops than training."""

_COLUMNS: Final = tuple(
    (column, re.compile(pattern, re.IGNORECASE))
    for column, pattern in (
        ("comm_seconds", r"(?:all-?reduce|reduce-?scatter|all-?gather|grads-sync)-time$"),
        ("comm_seconds", r"(?:(?:forward|backward)-(?:recv|send)(?:-\w+)*)-time$"),
        ("comm_seconds", r"(?:comm|communication|comm_wait|allreduce)(?:_time)?" + r"_(?:s|ms)$"),
        ("compute_seconds", r"(?:forward|backward)-compute-time$"),
        ("compute_seconds", r"(?:^|/)(?:compute_time|forward_backward)(?:_(?:s|ms|seconds))?$"),
        ("optimizer_seconds", r"(?:^|/)optimizer(?:_step)?[-_]time(?:_(?:s|ms|seconds))?$"),
        ("checkpoint_seconds", r"save-checkpoint-time$|checkpoint[-_]time(?:_(?:s|ms|seconds))?$"),
        ("data_seconds", r"batch-generator-time$"),
        ("data_seconds", r"data_(?:loading|wait)(?:_time)?(?:\(s\)|_s|_ms)?$"),
        ("data_seconds", r"(?:^|/)(?:data_time|data loading \(s\)|dataloader_time)(?:_(?:s|ms))?$"),
        ("step_seconds", r"(?:^|/)iteration[-_]time(?:_(?:s|ms|seconds))?$|end_to_end\(s\)$"),
        ("step_seconds", r"(?:^|/)(?:train_)?step_tim(?:e|ing)(?:_(?:s|ms|seconds)| in s|\(s\))?$"),
        ("step_seconds", r"(?:^|/)(?:time_per_step|step_duration|seconds_per_step)(?:_(?:s|ms))?$"),
        ("step_seconds", r"(?:^|/)(?:iter_time|elapsed_time_per_iteration)(?:_(?:s|ms|seconds))?$"),
        ("grad_norm", r"(?:^|[/_])(?:total_)?grad(?:ient)?[-_ ]?norm$|(?:^|/)gnorm$"),
        ("samples", r"(?:^|/)(?:global[-_ ])?batch[-_ ]size$"),
        ("tokens", r"(?:^|/)tokens_per_step$"),
        (RATE, r"throughput\(tps\)$|(?:tokens|samples)_per_sec(?:ond)?$|(?:^|/)tps$"),
        ("loss", r"(?:^|/)(?:lm|train|training|reduced_train|total)?[-_ ]?loss(?:/train)?$"),
        ("loss", r"(?:^|/)(?:global_avg_loss|CrossEntropyLoss|loss_step|train_loss_step)$"),
    )
)
"""In order of specificity: the first pattern that a name fits says its column."""


def metric_column(name: str) -> tuple[str, float] | None:
    """Return the column of `STEPS` (or `RATE`) of a series, with the size of its unit.

    Args:
        name: The series' name, a path perhaps: `time_metrics/end_to_end(s)`.

    Returns:
        Null for a series that is none of ours: of another loop (validation), over another axis
        (`vs samples`), or of something that no step has.
    """
    if _NOT_OURS.search(name):
        return None
    half, _, rest = name.partition("/")
    plain = half if half == rest else name
    for column, pattern in _COLUMNS:
        if pattern.search(plain):
            is_milli = column.endswith("_seconds") and re.search(rf"(?i)[_( ]{_MILLI}\)?$", plain)
            return column, 1e-3 if is_milli else 1.0
    return None


def known_metrics(names: pl.Series) -> pl.DataFrame:
    """Return the series that are ours: `tag`, `column` and `unit`, the size of one in base units.

    Args:
        names: Names of series, each any number of times.
    """
    found = [(name, metric_column(name)) for name in names.unique().drop_nulls().sort().to_list()]
    rows = [(name, *ours) for name, ours in found if ours is not None]
    schema = {"tag": pl.String, "column": pl.String, "unit": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
