"""Read what sacct prints of jobs: with delimiters, or in columns of fixed width.

Source: formats of GPU and host streams, section 7.2. What has become of each line is counted; the
rest of the work is in `collectors.slurm.sacct_records` and `collectors.slurm.slurm_jobs`.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import Reading
from collectors.slurm.sacct_columns import HEADER, JOB_ID, layout_of
from collectors.slurm.sacct_records import read_records
from collectors.slurm.slurm_jobs import failed_node_events, job_rows, jobs_of, step_events
from collectors.slurm.slurm_states import STATE
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import account, plain_lines

_HEAD_LINES: Final = 50

_RULED: Final = r"(?im)^\s*(?:\w+ +)*JobID(?:Raw)?(?: +\w+)* *\r?\n-+(?: +-+)+ *\r?$"

_ROW: Final = rf"^{JOB_ID}\|(?:.*\|)?(?:{STATE})(?:\||$)"

_SURE: Final = 0.9

_QUEUE: Final = "NODELIST(REASON)"
"""A column of squeue, whose rows look like those of sacct."""


def wants_sacct(head: Head) -> float:
    """Return how sure it is that a head is of sacct: by its header, else by the form of rows."""
    if head.is_binary:
        return 0.0
    lines = [line.strip() for line in head.lines[:_HEAD_LINES]]
    if any(_QUEUE in line for line in lines):
        return 0.0
    if any(re.match(HEADER, line) and layout_of(line) for line in lines):
        return _SURE
    if re.search(_RULED, head.text):
        return _SURE
    rows = sum(bool(re.match(_ROW, line)) for line in lines)
    return _SURE if rows and 2 * rows >= len(lines) else 0.0


def read_sacct(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the jobs of a text of sacct.

    Args:
        path: The file.
        source: The name to quote.
        options: The zone of its stamps, which carry none.

    Returns:
        `JOBS`, one row an attempt, and `EVENTS` of kind `job_step` for the steps: a step is no job.
        Lines that could not be put together to a row are rejects.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    records, used = read_records(lines)
    rows = job_rows(records, source, options)
    events = pl.concat([step_events(rows), failed_node_events(rows)])
    return account(lines, used["position"], source, jobs=jobs_of(rows), events=events)
