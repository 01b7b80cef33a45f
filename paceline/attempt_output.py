"""The attempts of runs for machines: waits, ends and who ended them, and rounds of elastic jobs."""

from datetime import datetime

import polars as pl

from collectors.training.rounds import ROUND_FLAG
from detectors.verdicts import rfc3339
from slo.attempts import run_attempts


def attempts_json(jobs: pl.DataFrame) -> list[dict[str, object]]:
    """Return one object an attempt, by run: a scheduler's first, then rounds of its launcher.

    Args:
        jobs: `JOBS`.
    """
    is_round = pl.col("flags").list.contains(ROUND_FLAG).fill_null(value=False)
    told = run_attempts(jobs.filter(~is_round).lazy()).collect()
    rounds = jobs.filter(is_round).sort("run", "attempt")
    found = [_plain(row) for row in told.to_dicts()]
    return found + [
        _plain({name: row[name] for name in ("run", "attempt", "start", "world")})
        | {"began_by": row["reason"]}
        for row in rounds.to_dicts()
    ]


def _plain(row: dict[str, object]) -> dict[str, object]:
    times = {name: rfc3339(at) for name, at in row.items() if isinstance(at, datetime)}
    return row | times
