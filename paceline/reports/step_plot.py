"""Step time of a run against its healthy baseline, with the incident's moments marked."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from alerts.incidents import Incident
from paceline.reports.drawing import CALM, MUTED, Drawing, side_label
from paceline.reports.time_axis import MAX_BINS, TimeAxis, marks_on

_HEIGHT_PIXELS: Final = 210
_MIN_BIN_STEPS: Final = 2


def step_plot(
    events: pl.DataFrame, axis: TimeAxis, incidents: Sequence[Incident], *, prefix: str
) -> str | None:
    """Return the drawing of a run's judged steps as SVG; null when no step was judged.

    Args:
        events: As `step_drawing` takes them.
        axis: The run's axis.
        incidents: What to mark.
        prefix: Unique in the page.
    """
    drawn = step_drawing(events, axis, incidents)
    return None if drawn is None else drawn.svg(prefix)


def step_drawing(
    events: pl.DataFrame, axis: TimeAxis, incidents: Sequence[Incident]
) -> Drawing | None:
    """Return the drawing of a run's judged steps.

    Args:
        events: `STEP_EVENTS` of one run; steps that are not judged (pauses, warm-up) are left out.
        axis: The run's axis.
        incidents: What to mark.

    Returns:
        The drawing; null when no step was judged.
    """
    rows = binned_steps(events, axis).to_dicts()
    if not rows:
        return None
    base = alt.Chart({"values": rows})
    x = axis.encoding()
    y = alt.Y("seconds:Q", scale=alt.Scale(zero=False), title="step time (s)")
    spread = base.mark_area(color=CALM, opacity=0.2).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    pace = base.mark_line(color=MUTED, strokeDash=[6, 3], strokeWidth=1.5)
    line = base.mark_line(color=CALM, strokeWidth=2.5)
    names = [
        side_label("this run", CALM, y=rows[-1]["seconds"], dy=-9).encode(y=alt.Y("y:Q")),
        side_label("healthy pace", MUTED, y=rows[-1]["baseline"], dy=9).encode(y=alt.Y("y:Q")),
    ]
    lines = [spread, pace.encode(x=x, y=alt.Y("baseline:Q")), line.encode(x=x, y=y)]
    marks = marks_on(axis, incidents)
    return Drawing(layers=(*lines, *names, *marks), height=_HEIGHT_PIXELS)


def binned_steps(events: pl.DataFrame, axis: TimeAxis) -> pl.DataFrame:
    """Return the judged steps in at most `MAX_BINS` bins.

    Args:
        events: `STEP_EVENTS` of one run.
        axis: The run's axis.

    Returns:
        `x`, `seconds` (median), `low`, `high` (extremes) and `baseline`, by position; bins without
        a step are no rows, so that a gap is drawn straight and not as zero.
    """
    judged = events.filter(pl.col("reason").is_null()).with_columns(x=axis.column("end_time"))
    known = judged.drop_nulls("x")
    bins = min(MAX_BINS, max(1, known.height // _MIN_BIN_STEPS))
    seconds = pl.col("step_seconds")
    return (
        known.group_by(bin=axis.bin_of(pl.col("x"), bins))
        .agg(
            pl.col("x").mean(),
            seconds.median().alias("seconds"),
            seconds.min().alias("low"),
            seconds.max().alias("high"),
            pl.col("baseline_seconds").median().alias("baseline"),
        )
        .sort("bin")
        .drop("bin")
    )
