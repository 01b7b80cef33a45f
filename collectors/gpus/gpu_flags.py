"""Events from what a GPU says of its own state: memory to be mended, and what it wants done.

Unlike a count, such a flag is no history: as long as it is set, something is to be done. Source:
NVIDIA/DCGM field headers; nvidia-smi manual, remapped rows and recovery actions.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.gpus.measured_order import in_order
from collectors.hosts.xids import ACTIONS
from collectors.texts.event_labels import event_labels

_ACTION: Final = "recovery_action"

_ROWS: Final = (
    (
        "row_remap_pending",
        "gpu_row_remap",
        "pending",
        "medium",
        "rows wait for a reset to be mended",
    ),
    ("row_remap_failed", "gpu_row_remap", "failed", "high", "a row cannot be mended: replace it"),
    ("retired_pages_pending", "gpu_row_remap", "pending", "medium", "pages wait to be retired"),
    ("memory_unrepairable", "gpu_row_remap", "unrepairable", "high", "memory cannot be mended"),
    ("sram_threshold_exceeded", "ecc", "sram_exceeded", "high", "too many errors of the SRAM"),
    (_ACTION, "gpu_recovery_action", "", "medium", "the GPU asks for something to be done"),
)
"""Signal, and the kind, code, severity and message of its event."""

_BY_NUMBER: Final[Mapping[float, str]] = {float(key): name for key, name in ACTIONS.items()}


def flag_events(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one event for each time that a flag of a GPU was set, or changed what it asks for.

    Args:
        measured: `MEASURED`; a null value says nothing.
        source: The name to quote.

    Returns:
        `EVENTS`: of kind `gpu_row_remap` or `ecc` when a flag is set, at first sight too; of kind
        `gpu_recovery_action` when the action is another one, whose code it is. An action that goes
        back to none clears: it is `info`, no fault.
    """
    columns = ["signal", "kind", "code", "severity", "message"]
    meanings = pl.LazyFrame(_ROWS, schema=columns, orient="row")
    value, before = pl.col("value"), pl.col("before").fill_null(0.0)
    is_action = pl.col("signal") == _ACTION
    action = value.replace_strict(
        _BY_NUMBER, default=pl.format("action_{}", value.cast(pl.Int64)), return_dtype=pl.String
    )
    is_flag = pl.col("signal").is_in([row[0] for row in _ROWS]) & (pl.col("device_kind") == "gpu")
    rows = (
        in_order(measured, is_flag)
        .join(meanings, on="signal", how="inner", maintain_order="left")
        .filter(pl.when(is_action).then(value != before).otherwise((value > 0) & (before <= 0)))
        .with_columns(
            device_kind=pl.lit("gpu"),
            code=pl.when(is_action).then(action).otherwise("code"),
            severity=pl.when(value == 0).then(pl.lit("info")).otherwise("severity"),
            attributes=event_labels({"state": _state(is_action)}),
            source=pl.lit(source),
        )
    )
    return conform(rows, EVENTS).collect()


def _state(is_action: pl.Expr) -> pl.Expr:
    opened = pl.when(pl.col("value") > 0).then(pl.lit("opened")).otherwise(pl.lit("cleared"))
    return pl.when(is_action).then(opened)
