"""What the fields of an iteration line are called, and their values wherever they stand.

Source: formats of progress streams, sections 1.1, 2.1 to 2.4 (NVIDIA/Megatron-LM training.py, v1.0
to core 0.19; Megatron-DeepSpeed; Megatron-Bridge; AMD Primus; NeMo's ProgressPrinter). A name holds
its unit; names are compared without blanks, since a wrap may fall inside one.
"""

import re
from typing import Final

import polars as pl

from collectors.texts.stamps import iso_time, plain_times

FIELDS: Final = {
    "elapsed_ms": ("elapsedtimeperiteration(ms)",),
    "elapsed_s": ("elapsedtimeperiteration(s)", "train_step_timingins"),
    "consumed_samples": ("consumedsamples", "consumed_samples"),
    "consumed_tokens": ("consumedtokens", "consumed_tokens"),
    "samples": ("globalbatchsize", "global_batch_size"),
    "sample_rate": ("samplespersecond",),
    "tera_flops": ("throughputperGPU(TFLOP/s/GPU)", "TFLOPs", "tflops"),
    "main_loss": ("lmloss", "lm-loss", "reduced_train_loss", "loss"),
    "loss_scale": ("lossscale",),
    "grad_norm": ("gradnorm", "grad_norm", "grad-norm"),
    "skipped": ("numberofskippediterations",),
}
"""Our column: the names, without blanks, that mean it."""

_COLUMNS: Final = {name: column for column, names in FIELDS.items() for name in names}

_LOSS: Final = r"loss$"

_SIDE_LOSS: Final = r"(?i)balanc|^z_|aux|^mtp|^sop|indexer|valid|eval|^val_"
"""Losses beside the one that is trained on: they are printed though that one is not a number."""

NUMBERS: Final = (*FIELDS, "other_loss")

HEAD: Final = (
    r"^[ \t]*(?:Training epoch [0-9]+, |\[([0-9]{4}-[0-9:. -]+)\] +)?"
    r"iteration +([0-9]+) */ *[0-9]+ *$"
)
"""What stands before the first bar: a stamp since core 0.6, an epoch in NeMo. Without classes of
Unicode the pattern is one-pass, which makes it ten times as fast."""

_VALUE: Final = r"(?i)^\s*(-?(?:[0-9][0-9.,]*(?:E[-+]?[0-9]+)?|nan|inf(?:inity)?))"


def column_of(name: str) -> str | None:
    """Return the column of a field's name; null for fields that nobody needs."""
    bare = "".join(name.split())
    if bare in _COLUMNS:
        return _COLUMNS[bare]
    is_loss = re.search(_LOSS, bare) and not re.search(_SIDE_LOSS, bare)
    return "other_loss" if is_loss else None


def loose_fields(records: pl.DataFrame) -> pl.DataFrame:
    """Return the records with the texts of their fields, in whatever order they stand.

    Args:
        records: `record` and `text`: from the head of a record to its last known bar.

    Returns:
        The records with `stamp`, `step` and each of `NUMBERS` as text; null is not there.
    """
    head, rest = pl.col("text").str.splitn("|", 2).struct.unnest(), pl.col("field_1")
    parts = records.select("record", head).with_columns(
        stamp=pl.col("field_0").str.extract(HEAD, 1), step=pl.col("field_0").str.extract(HEAD, 2)
    )
    pieces = parts.select("record", rest.str.replace_all(r"\s+", "").str.split("|"))
    pairs = (
        pieces.explode("field_1", empty_as_null=True)
        .with_columns(rest.str.extract_groups(r"^(?P<name>.*):(?P<value>[^:]+)$"))
        .unnest("field_1")
        .drop_nulls("name")
    )
    names = pairs["name"].unique(maintain_order=True)
    columns = {name: column_of(name) for name in names}
    column = pl.col("name").replace_strict(columns, default=None, return_dtype=pl.String)
    told = pairs.with_columns(column=column).group_by("record", maintain_order=True)
    values = told.agg(
        pl.col("value").filter(pl.col("column") == name).first().alias(name) for name in NUMBERS
    )
    whole = records.join(parts.select("record", "stamp", "step"), on="record", how="left")
    return whole.join(values, on="record", how="left", maintain_order="left")


def with_numbers(records: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return the records with numbers for texts, and `own_time` for the stamp.

    Args:
        records: `stamp`, `step` and `NUMBERS` as text. Of a pair `now/average` the first counts.
        time_zone: IANA zone of the stamps.
    """
    numbers = [_numbers(records[name]) for name in NUMBERS if name in records.columns]
    absent = [name for name in NUMBERS if name not in records.columns]
    return records.with_columns(
        *numbers,
        *(pl.lit(None, dtype=pl.Float64).alias(name) for name in absent),
        pl.col("step").cast(pl.Int64, strict=False),
        own_time=_times(records["stamp"], time_zone),
    )


def _numbers(texts: pl.Series) -> pl.Series:
    """Return texts as numbers; the costlier look is only for what is no plain number."""
    plain = texts.cast(pl.Float64, strict=False)
    if plain.null_count() == texts.null_count():
        return plain
    careful = texts.str.extract(_VALUE).str.replace_all(",", "", literal=True)
    return plain.fill_null(careful.cast(pl.Float64, strict=False))


def _times(stamps: pl.Series, time_zone: str) -> pl.Series:
    """Return stamps as times; the costlier look is only for those of an odd form."""
    times = plain_times(stamps.cast(pl.String), time_zone)
    if times.null_count() == stamps.null_count():
        return times
    frame = stamps.to_frame("stamp")
    return times.fill_null(frame.select(time=iso_time(pl.col("stamp"), time_zone))["time"])
