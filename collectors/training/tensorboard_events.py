"""Read TensorBoard event files: every point, none thinned, none purged.

Source: formats of progress streams, section 12; read by the record loader of tensorboard itself,
below the accumulator that keeps a sample of 10,000 points and forgets what a restart replays. A
file that is still written, or whose job was killed, ends within a record.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
from google.protobuf.message import DecodeError
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.util.tensor_util import make_ndarray

from collectors.readings import Reading, count_lines, join_readings, reading_of, reject_file
from collectors.sniffing import SURE, Head, ReadOptions
from collectors.training.metric_points import POINTS, steps_of_points

if TYPE_CHECKING:
    from tensorboard.compat.proto.summary_pb2 import Summary

_MAGIC: Final = b"brain.Event:"
"""What the first record of every event file says, before its version."""

_MAGIC_BYTES: Final = 64

_NAME: Final = "tfevents"

_OTHER_LOOP: Final = re.compile(r"(?i)^(?:eval|evaluation|val|valid|validation|test)$")
"""Folders that writers keep for the figures of another loop than training."""

_FRAME_BYTES: Final = 16
"""Length and two checksums around each record."""

_STARTED: Final = 1
"""`SessionLog.START`."""

_TORN: Final = "torn or damaged record: what follows is not read"

_UNDECODED: Final = "record that is no event"


def wants_tensorboard_events(head: Head) -> float:
    """Return how sure it is that a head is an event file: its first record says so."""
    if _MAGIC in head.data[:_MAGIC_BYTES]:
        return SURE
    return 0.9 if _NAME in head.name and head.is_binary else 0.0


def read_tensorboard_events(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the steps in an event file.

    Args:
        path: The file: one process wrote it, so what a restart wrote is in another one. In a
            folder of evaluations there are no steps of training.
        source: The name to quote.

    Returns:
        `STEPS`, `position` the number of the record; a step that falls is a new attempt. `EVENTS`
        of kind run_start where the writer says that a session starts. A record that is cut or
        whose checksum is wrong is a reject, the records behind it cannot be found. `lines_used`
        counts records.

    Raises:
        OSError: The file cannot be read.
    """
    size = path.stat().st_size
    rows: list[tuple[int, float, str, int, float]] = []
    starts: list[tuple[int, float]] = []
    lost: list[Reading] = []
    records = consumed = 0
    for record in RawEventFileLoader(str(path)).Load():
        records, consumed = records + 1, consumed + len(record) + _FRAME_BYTES
        try:
            event = Event.FromString(record)
        except DecodeError:
            lost.append(reject_file(source, _UNDECODED))
            continue
        if event.session_log.status == _STARTED:
            starts.append((records, event.wall_time))
        rows.extend((records, event.wall_time, *point) for point in _points(event))
    if consumed < size:
        lost.append(reject_file(source, _TORN))
    is_training = _OTHER_LOOP.match(path.parent.name) is None
    found = reading_of(
        steps=steps_of_points(_frame(rows if is_training else [])).with_columns(
            source=pl.lit(source)
        ),
        events=_starts(starts, source),
    )
    return count_lines(join_readings([found, *lost]), records - len(lost) + (consumed < size))


def _points(event: Event) -> Iterator[tuple[str, int, float]]:
    """Yield tag, step and value of the scalars in an event."""
    for value in event.summary.value:
        number = _number(value)
        if number is not None:
            yield value.tag, event.step, number


def _number(value: "Summary.Value") -> float | None:
    """Return the scalar of a value, in the old or the new form; null for what is no scalar."""
    if value.HasField("simple_value"):
        return value.simple_value
    if not value.HasField("tensor"):
        return None
    try:
        array = make_ndarray(value.tensor)
    except (KeyError, TypeError, ValueError):
        return None
    is_scalar = array.size == 1 and np.issubdtype(array.dtype, np.number)
    return float(array.reshape(-1)[0]) if is_scalar else None


def _frame(rows: list[tuple[int, float, str, int, float]]) -> pl.DataFrame:
    names = {"position": pl.Int64, "wall": pl.Float64, "tag": pl.String}
    schema = names | {"step": pl.Int64, "value": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    run = pl.lit(None, dtype=pl.String).alias("run")
    return frame.with_columns(run, time=_time(pl.col("wall"))).select(POINTS.names())


def _time(wall: pl.Expr) -> pl.Expr:
    """Return unix seconds as time; a clock at 0 or beyond all years is none."""
    return pl.from_epoch(
        pl.when(wall.is_between(1.0, 1e11)).then((wall * 1e6).round()).cast(pl.Int64),
        time_unit="us",
    ).dt.replace_time_zone("UTC")


def _starts(starts: list[tuple[int, float]], source: str) -> pl.DataFrame:
    schema = {"position": pl.Int64, "wall": pl.Float64}
    return pl.DataFrame(starts, schema=schema, orient="row").select(
        "position",
        time=_time(pl.col("wall")),
        kind=pl.lit("run_start"),
        code=pl.lit("session_log"),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message=pl.lit("the writer of the event file says that a session starts"),
        source=pl.lit(source),
    )
