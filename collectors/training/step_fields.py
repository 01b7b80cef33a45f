"""What step records call things: one table from their keys to ours, and the columns it gives.

Source: keys of per-rank JSON lines in the field (formats of progress streams, sections 11-13);
suffixes name the unit, as in `comm_s`, `step_time_seconds`, `dur_ms`.
"""

import re
from collections.abc import Iterable
from typing import Final

import polars as pl

from collectors.identity import canonical_host
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import epoch_time, iso_time
from collectors.training.elapsed import elapsed_seconds
from collectors.training.printed_numbers import printed_number

TEXTS: Final = {
    "event": ("event", "event_name"),
    "run": ("run", "run_id", "run_name", "job", "job_id", "job_name"),
    "host": ("host", "hostname", "host_name", "node", "node_name"),
    "gpu": ("gpu_uuid", "uuid"),
    "phase": ("phase", "span"),
    "when": (
        "t",
        "ts",
        "time",
        "timestamp",
        "end_time",
        "wall_time",
        "ts_ms",
        "time_ms",
        "t_ms",
        "ts_us",
        "time_us",
        "ts_ns",
        "time_ns",
        "time_unix",
        "_timestamp",
    ),
    "message": ("message", "msg", "reason", "error"),
    "elapsed": ("elapsed_time",),
    "wall": ("wall",),
    "checksum": (
        *("checksum", "param_checksum", "params_checksum", "weight_checksum", "weights_checksum"),
        *("grad_checksum", "param_hash", "params_hash", "weight_hash", "weights_hash", "grad_hash"),
        *("model_hash", "state_hash", "model_checksum", "state_checksum"),
    ),
    "step_rate": (
        "steps_per_second",
        "steps_per_sec",
        "iterations_per_second",
        "throughput/batches_per_sec",
    ),
}
"""Our text column: the keys that mean it; the first that an object has is taken."""

COUNTS: Final = {
    "attempt": ("attempt", "attempt_index", "restart_count"),
    "rank": ("rank", "global_rank", "worker"),
    "step": (
        "step",
        "iteration",
        "iter",
        "global_step",
        "num_updates",
        "update",
        "current_steps",
        "_step",
        "completed_step",
        "global_step/max_steps",
        "trainer/global_step",
        "train/global_step",
        "batch",
    ),
    "index": ("local_rank", "gpu_index", "gpu"),
    "dp": ("dp", "dp_rank"),
    "pp": ("pp", "pp_rank", "stage"),
    "tp": ("tp", "tp_rank"),
    "ep": ("ep", "ep_rank"),
    "world": ("world", "world_size"),
}
"""Our whole-number column: the keys that mean it."""

NUMBERS: Final = {
    "loss": (
        "loss",
        "train_loss",
        "lm_loss",
        "lm loss",
        "train/loss",
        "learning/loss",
        "train_loss_step",
        "train/loss_step",
        "loss_step",
        "reduced_train_loss",
        "training_loss",
        "loss/train/total",
        "train/CrossEntropyLoss",
        "train/CE loss",
    ),
    "grad_norm": (
        "grad_norm",
        "gradnorm",
        "gnorm",
        "grad norm",
        "train/grad_norm",
        "learning/grad_norm",
        "gradient_norm",
        "optim/total_grad_norm",
    ),
    "tokens": ("tokens", "n_tokens", "num_tokens", "tokens_per_step"),
    "samples": ("samples", "n_samples", "num_samples", "batch_size", "global_batch_size"),
}
"""Our measured column: the keys that mean it."""

_DURATIONS: Final = {
    "step_seconds": (
        "step",
        "iteration",
        "iter",
        "step_time",
        "iteration_time",
        "iter_time",
        "elapsed",
        "time_per_step",
        "train_step_time",
        "train_step_timing in s",
        "perf/step_time",
        "dt",
    ),
    "data_seconds": (
        "data",
        "data_time",
        "data_loading",
        "data_wait",
        "dataloader",
        "input",
        "input_wait",
        "h2d",
    ),
    "compute_seconds": ("compute", "compute_time", "forward_backward", "fwd_bwd"),
    "forward_seconds": ("forward", "fwd", "forward_compute"),
    "backward_seconds": ("backward", "bwd", "backward_compute"),
    "comm_seconds": (
        "comm",
        "comm_time",
        "comm_wait",
        "communication",
        "wait",
        "comm/wait",
        "all_reduce",
        "allreduce",
        "sync",
    ),
    "optimizer_seconds": ("optim", "optimizer", "opt", "optimizer_step"),
    "checkpoint_seconds": ("checkpoint", "ckpt", "checkpoint_save"),
    "phase_seconds": ("dur", "duration"),
}

_SUFFIXES: Final = (("_s", 1.0), ("_sec", 1.0), ("_seconds", 1.0), ("_ms", 1e-3), ("_us", 1e-6))

_MORE_KEYS: Final = {
    "step_seconds": (
        ("time_s", 1.0),
        ("time_sec", 1.0),
        ("time_seconds", 1.0),
        ("seconds_per_step", 1.0),
        ("s_per_step", 1.0),
        ("ms_per_step", 1e-3),
    ),
}
"""Keys that no stem and suffix make; `time_ms` is a clock."""

DURATIONS: Final = {
    column: tuple((f"{stem}{suffix}", unit) for suffix, unit in _SUFFIXES for stem in stems)
    + tuple((stem, 1.0) for stem in stems if stem not in {"step", "iteration", "iter"})
    + _MORE_KEYS.get(column, ())
    for column, stems in _DURATIONS.items()
}
"""Our duration column: its keys, each with the seconds in its unit; a bare key counts seconds."""

PHASES: Final = {
    stem: column
    for column, stems in _DURATIONS.items()
    for stem in stems
    if column != "phase_seconds"
}
"""The column that a phase's name stands for."""

_EVALUATION: Final = re.compile(r"(?i)(?:eval|val|valid|validation|test)[_/ ]")

_EVALUATION_KEY: Final = r'"(?i:eval|val|valid|validation|test)[_/ ][^"]*"\s*:'
"""A key of another loop than training."""

_KEYS: Final = frozenset(
    key for table in (TEXTS, COUNTS, NUMBERS) for keys in table.values() for key in keys
) | frozenset(key for keys in DURATIONS.values() for key, _ in keys)


def known_keys(data: bytes) -> list[str]:
    """Return the keys of our tables that occur in a text, in alphabetical order."""
    found = {key.decode() for key in re.findall(rb'"([A-Za-z_][\w/ ().-]{0,40})"\s*:', data)}
    return sorted(found & _KEYS)


def normal_fields(objects: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return the objects with our columns in place of their keys.

    Args:
        objects: `position`, `text` and text columns called by the keys of the source.
        options: The zone of stamps that carry none.

    Returns:
        `position`, `text`; every column of the tables; `time` (UTC), `clock_seconds` (a time that
        is no epoch: seconds of some clock, or of the step), `elapsed_seconds` (since the start),
        `evaluated` (it holds figures of another loop than training). Null: the object does not say
        it.
    """
    have = set(objects.columns)
    columns = {name: _first(keys, have) for name, keys in TEXTS.items()}
    columns |= {name: _count(_first(keys, have)) for name, keys in COUNTS.items()}
    columns |= {"evaluated": _evaluated(have)}
    columns |= {name: printed_number(_first(keys, have)) for name, keys in NUMBERS.items()}
    columns |= {name: _seconds(keys, have) for name, keys in DURATIONS.items()}
    frame = objects.select("position", "text", **columns)
    clock = printed_number(pl.col("when"))
    time = epoch_time(clock).fill_null(iso_time(pl.col("when"), options.time_zone))
    return frame.with_columns(
        canonical_host(pl.col("host")),
        time=time,
        elapsed_seconds=elapsed_seconds(pl.col("elapsed")).fill_null(
            printed_number(pl.col("wall"))
        ),
        step_seconds=pl.col("step_seconds").fill_null(_inverse(pl.col("step_rate"))),
        clock_seconds=pl.when(epoch_time(clock).is_null()).then(clock),
    )


def _evaluated(have: set[str]) -> pl.Expr:
    """Return whether an object holds figures of an evaluation, by its text where it is JSON."""
    columns = [pl.col(key).is_not_null() for key in sorted(have) if _EVALUATION.match(key)]
    in_text = pl.col("text").str.contains(_EVALUATION_KEY)
    return pl.any_horizontal(in_text, *columns).fill_null(value=False)


def _first(keys: Iterable[str], have: set[str]) -> pl.Expr:
    found = [pl.col(key) for key in keys if key in have]
    return pl.coalesce(found) if found else pl.lit(None, dtype=pl.String)


def _inverse(text: pl.Expr) -> pl.Expr:
    """Return the seconds of a step from a rate of steps; null for one that is not positive."""
    rate = printed_number(text)
    return pl.when(rate.is_finite() & (rate > 0)).then(1 / rate)


def _count(text: pl.Expr) -> pl.Expr:
    number = printed_number(text.str.replace(r"^(\d+)/\d+$", "${1}"))
    return (
        pl.when(number.is_finite() & (number == number.floor()))
        .then(number)
        .cast(pl.Int64, strict=False)
    )


def _seconds(keys: Iterable[tuple[str, float]], have: set[str]) -> pl.Expr:
    found = [printed_number(pl.col(key)) * unit for key, unit in keys if key in have]
    seconds = pl.coalesce(found) if found else pl.lit(None, dtype=pl.Float64)
    return pl.when(seconds.is_finite() & (seconds >= 0)).then(seconds)
