"""Which rows of a frame a suspect stands for: from a verdict's subject to ranks and devices."""

from typing import Final

import polars as pl

from detectors.verdicts import Subject, Verdict

_WHOLE_HOST: Final = "host"


def rank_rows(verdict: Verdict) -> pl.Expr:
    """Return which rows of a `PACES` are about the suspect's ranks.

    A suspect that names no rank, GPU or host of the run (a switch, the whole job) has no rows.
    """
    subject = verdict.subject
    if subject.rank is not None:
        return (pl.col("rank") == subject.rank).fill_null(value=False)
    if subject.host is None:
        return pl.lit(value=False)
    own = pl.col("host") == subject.host
    if verdict.level != _WHOLE_HOST and subject.gpu is not None:
        own &= pl.col("index") == subject.gpu
    return own.fill_null(value=False)


def device_rows(subject: Subject) -> pl.Expr:
    """Return which rows of a `SAMPLES` are about the suspect's device."""
    if subject.device is not None:
        own = pl.col("device") == subject.device
        return own.fill_null(value=False) & _on_host(subject)
    if subject.gpu is None:
        return pl.lit(value=False)
    own = (pl.col("index") == subject.gpu) & (pl.col("device_kind") == "gpu")
    return own.fill_null(value=False) & _on_host(subject)


def _on_host(subject: Subject) -> pl.Expr:
    if subject.host is None:
        return pl.lit(value=True)
    return (pl.col("host") == subject.host).fill_null(value=False)
