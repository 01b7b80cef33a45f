"""Read PyTorch profiler traces (Kineto): the steps of one rank, and its NCCL kernels.

Source: formats of progress streams, section 13.2. Only the file's name tells the rank of older
traces. Time stamps are microseconds of the host's clock, since 1970 or since `baseTimeNanoseconds`;
clocks of hosts differ, so only lengths are compared. The rank whose NCCL kernels are short came
last and waited least.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeGuard

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.identity import file_rank
from collectors.readings import MAX_REJECT_CHARACTERS, Reading, count_lines, reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.texts.json_documents import mapping_of
from collectors.texts.json_numbers import whole_of
from collectors.training.chrome_events import TraceText
from collectors.training.kineto_steps import SPANS, steps_of_spans, transfers_of_spans

_SIGN: Final = re.compile(
    r'"schemaVersion"|"distributedInfo"|"deviceProperties"|ProfilerStep#'
    r'|"cat"\s*:\s*"(?:(?:gpu_)?user_annotation|cpu_op|kernel|cuda_runtime)"',
    re.IGNORECASE,
)

_WANTED: Final = re.compile(r'"[Kk]ernel"|ProfilerStep#|DataLoader')

_STEP: Final = re.compile(r"^ProfilerStep#([0-9]{1,18})$")

_RANK: Final = re.compile(r'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*([0-9]{1,9})\b')

_BASE: Final = re.compile(r'"baseTimeNanoseconds"\s*:\s*([0-9]{1,19})\b')

_HOST: Final = re.compile(r"^(?P<host>[A-Za-z][\w.-]*?)_\d+\.(?:\d+\.)?pt\.trace\.json$")
"""Name that `torch.profiler.tensorboard_trace_handler` gives."""

_EPOCH_MICROSECONDS: Final = 1e14
"""Stamps above count from 1970, below from a base."""

_MAX_MICROSECONDS: Final = 1e18
"""No time is larger: thirty thousand years. Python's JSON may hold numbers that no float does."""

MAX_ROWS: Final = 50_000

_TORN: Final = "cut or broken trace: what follows is not read"

_ROWS: Final = schema_of(
    {
        "kind": pl.String,
        "step": pl.Int64,
        "start": pl.Float64,
        "seconds": pl.Float64,
        "operation": pl.String,
        "group": pl.String,
        "world": pl.Int32,
        "sequence": pl.Int64,
        "elements": pl.Int64,
        "datatype": pl.String,
    }
)


def wants_kineto_traces(head: Head) -> float:
    """Return how sure it is that a head is a trace of PyTorch's profiler."""
    text = head.text.lstrip()
    is_trace = text.startswith(("{", "[")) and ('"traceEvents"' in text or '"ph"' in text)
    is_cut = text.startswith("{") and '"schemaVersion"' in text and '"deviceProperties"' in text
    return 0.96 if (is_trace and _SIGN.search(text)) or is_cut else 0.0


def read_kineto_traces(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the steps and timed collectives of one rank's trace.

    Args:
        path: The file; its name tells the rank where the trace does not.
        source: The name to quote.
        options: `host` wins over the one in the file's name.

    Returns:
        `STEPS`, one row a `ProfilerStep`: `compute_seconds` and `comm_seconds` are how long any
        kernel, or any NCCL kernel, ran in it, `data_seconds` how long none did, or how long the
        host waited for data if that is more; null where the trace has none of the kind at all.
        In a trace of collectives alone `compute_seconds` is the rest of the step.
        `TRANSFERS` of the NCCL kernels, with their wait for the others. A trace that is cut is
        read as far as it goes, with a reject. `lines_used` counts events.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as stream:
        text = TraceText(stream=stream, wanted=_WANTED)
        parts = [_ROWS.to_frame(), *_parts(text)]
    spans = pl.concat(parts).with_columns(time=_time(_BASE.search(text.around)))
    rank, named = _RANK.search(text.around), _HOST.match(path.name)
    told = {
        "rank": pl.lit(int(rank[1]) if rank else file_rank(path.name), dtype=pl.Int32),
        "host": pl.lit(options.host or (named["host"].lower() if named else None), dtype=pl.String),
        "source": pl.lit(source),
    }
    lost = [{"source": source, "text": path.name[:MAX_REJECT_CHARACTERS], "reason": _TORN}]
    reading = reading_of(
        steps=steps_of_spans(spans.select(SPANS.names()), torn=text.torn).with_columns(**told),
        transfers=transfers_of_spans(spans).with_columns(**told),
        rejects=pl.DataFrame(lost if text.torn else [], schema=dict.fromkeys(lost[0], pl.String)),
    )
    return count_lines(reading, text.event_count)


def _parts(text: TraceText) -> Iterator[pl.DataFrame]:
    """Yield the spans of a trace, many at a time: rows of Python are large."""
    rows = (row for one in text.events() if (row := _row(one)) is not None)
    while part := [*islice(rows, MAX_ROWS)]:
        yield pl.DataFrame(part, schema=_ROWS, orient="row")


def _row(event: dict[str, Any]) -> tuple[object, ...] | None:
    """Return what an event tells: a step, a wait for data, or a kernel; null for any other."""
    start, length, name = event.get("ts"), event.get("dur"), str(event.get("name"))
    if not _is_time(start) or not _is_time(length):
        return None
    kind, step = _kind(name, str(event.get("cat")).lower())
    if kind is None:
        return None
    told = mapping_of(event.get("args")) if kind == "nccl" else {}
    return (
        kind,
        step,
        float(start),
        length / 1e6,
        _text(told, "Collective name") or (name if kind == "nccl" else None),
        _text(told, "Process Group Name"),
        _whole(told, "Group size"),
        _whole(told, "Seq"),
        _whole(told, "In msg nelems"),
        _text(told, "dtype"),
    )


def _is_time(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and abs(value) < _MAX_MICROSECONDS


def _kind(name: str, category: str) -> tuple[str | None, int | None]:
    found = _STEP.match(name)
    if found:
        return ("gpu_step" if category.startswith("gpu") else "step"), int(found[1])
    if category == "kernel":
        return ("nccl" if name.lower().startswith("nccl") else "kernel"), None
    is_data = "DataLoader" in name and not category.startswith("gpu")
    return ("data" if is_data else None), None


def _text(args: dict[str, Any], key: str) -> str | None:
    value = args.get(key)
    return None if value is None else str(value)


def _whole(args: dict[str, Any], key: str) -> int | None:
    value = whole_of(args.get(key))
    return value if value is not None and 0 <= value < 2**31 else None


def _time(base: re.Match[str] | None) -> pl.Expr:
    """Return the time of stamps; null where they count from a base that is not told."""
    start = pl.col("start")
    offset = int(base[1]) / 1e3 if base else None
    absolute = pl.when(start >= _EPOCH_MICROSECONDS).then(start).otherwise(start + offset)
    return absolute.round().cast(pl.Int64, strict=False).cast(TIME)
