"""Read `trainer_state.json`, in which Hugging Face's trainers keep their history, step by step.

Source: formats of progress streams, section 5: `log_history` is a list of objects with their step,
and without any time. A file that was cut keeps the objects before the cut.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import Reading, count_lines
from collectors.sniffing import SURE, Head, ReadOptions
from collectors.texts.json_lines import read_json_lines
from collectors.texts.plain_lines import decoded, plain_lines
from collectors.training.step_fields import known_keys
from collectors.training.step_records import read_records

_HISTORY: Final = re.compile(r'"log_history"\s*:\s*\[')

_OBJECT: Final = re.compile(r"\{[^{}]*\}")


def wants_trainer_states(head: Head) -> float:
    """Return how sure it is that a head is a trainer's state."""
    is_object = head.text.lstrip().startswith("{")
    return SURE if is_object and _HISTORY.search(head.text) else 0.0


def read_trainer_states(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the steps and evaluations in a trainer's state.

    Args:
        path: The file.
        source: The name to quote.
        options: Of no use here: the file has no time.

    Returns:
        `STEPS` with losses and without times, `EVENTS` of evaluations and of the run's summary.
        `position` is the line on which an object begins.

    Raises:
        OSError: The file cannot be read.
    """
    data = path.read_bytes()
    text = decoded(data)
    found = _HISTORY.search(text)
    start = found.end() if found else len(text)
    pieces = [(one.start(), one.group()) for one in _OBJECT.finditer(text, start)]
    flat = "\n".join(" ".join(piece.split()) for _, piece in pieces).encode()
    objects, broken = read_json_lines(flat, known_keys(flat))
    lines = [text.count("\n", 0, at) + 1 for at, _ in pieces]
    whole = dict(enumerate(lines, 1))
    placed = [_placed(frame, whole) for frame in (objects, broken)]
    reading = read_records(placed[0], placed[1], (path.name, source), options)
    total = plain_lines(data).height
    return count_lines(reading, total - reading.rejects.height)


def _placed(frame: pl.DataFrame, lines: dict[int, int]) -> pl.DataFrame:
    """Return objects with the line of the file on which each begins."""
    line = pl.col("position").replace_strict(lines, return_dtype=pl.Int64)
    return frame.with_columns(position=line) if frame.height else frame
