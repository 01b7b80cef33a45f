"""Captured output of commands: which host, port and time each line of a file belongs to.

People keep what a terminal showed: prompts and commands between outputs, a loop's `date` before
each round, the host before each part as pdsh, dshbak, Ansible and `watch` write it. What no line
says is taken from the file's name (see `collectors.taken`).
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.sniffing import ReadOptions
from collectors.taken import taken_at, taken_on
from collectors.texts.capture_marks import COMMAND_START, file_device, marks_of
from collectors.texts.plain_lines import plain_lines

CAPTURED: Final = schema_of(
    {
        "position": pl.Int64,
        "text": pl.String,
        "time": TIME,
        "host": pl.String,
        "command": pl.String,
        "device": pl.String,
        "segment": pl.UInt32,
        "is_mark": pl.Boolean,
    }
)
"""One line that is not blank. `segment` counts the marks (prompts, stamps, hosts) above it:
nothing goes on over one. `command` and `device` are the last ones above, the device the file
name's if there is none; null if nothing tells."""

MIN_LABELLED_SHARE: Final = 0.9
"""A host in front of the lines is a label only if nearly all of them have one."""

_LABEL: Final = r"^([a-z][a-z0-9]*(?:-[a-z0-9]+)*-?\d+): ?(.*)$"
_LABEL_WORD: Final = r"^[a-z0-9]+(?:-[a-z0-9]+)+$"


def captured(data: bytes, source: str, options: ReadOptions) -> pl.DataFrame:
    """Return the lines of a capture with what stands around them.

    Args:
        data: The file's bytes.
        source: The file's name with its folders.
        options: The zone of stamps without one, and what the caller knows of host and time.

    Returns:
        `CAPTURED`, in the file's order; lines with a host in front are sorted by it, since pdsh
        mixes hosts.
    """
    lines = _labelled(plain_lines(data))
    marks = marks_of(lines, options.time_zone)
    return (
        lines.lazy()
        .join(marks.lazy(), on="position", how="left", maintain_order="left")
        .with_columns(is_mark=pl.any_horizontal(pl.col(_OWN).is_not_null()))
        .pipe(_carried, source, options)
        .select(CAPTURED.names())
        .collect()
    )


_OWN: Final = ("stamp", "own_host", "own_command", "own_device")


def _carried(lines: pl.LazyFrame, source: str, options: ReadOptions) -> pl.LazyFrame:
    """Return the lines with what the marks above them say."""
    label = pl.col("label")
    turned = (label != label.shift()).fill_null(value=False)
    is_other = pl.any_horizontal(pl.col("own_command", "own_host").is_not_null())
    anew = pl.when(is_other).then(pl.lit(""))
    device = pl.coalesce("own_device", anew).forward_fill().over("label")
    host = pl.coalesce("own_host", pl.lit(None, pl.String)).forward_fill().over("label")
    return lines.with_columns(
        segment=(pl.col("is_mark") | turned).cum_sum().cast(pl.UInt32),
        time=pl.col("stamp")
        .forward_fill()
        .over("label")
        .fill_null(pl.lit(taken_at(source, options), TIME)),
        host=pl.coalesce(label, host, pl.lit(taken_on(source, options), pl.String)),
        command=pl.col("own_command").forward_fill().over("label"),
        device=pl.coalesce(
            pl.when(device != "").then(device), pl.lit(file_device(source), pl.String)
        ),
    )


def _labelled(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with the host in front of each as `label`, null where that is no custom."""
    label = pl.col("text").str.extract(_LABEL, 1)
    is_host = label.str.contains(_LABEL_WORD) & ~pl.col("text").str.contains(COMMAND_START)
    share = lines.select(is_host.fill_null(value=False).mean()).item() or 0.0
    if share < MIN_LABELLED_SHARE:
        return lines.with_columns(label=pl.lit(None, pl.String))
    return lines.with_columns(
        label=pl.when(is_host).then(label),
        text=pl.when(is_host).then(pl.col("text").str.extract(_LABEL, 2)).otherwise("text"),
    ).sort("label", maintain_order=True)
