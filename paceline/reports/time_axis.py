"""The axis that all plots of a run share: UTC where a source has a clock, else training steps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

import altair as alt
import polars as pl

from alerts.incidents import Incident
from paceline.reports.drawing import ALARM, CALM, INK, MUTED

MAX_BINS: Final = 120
"""More columns than this are not told apart on a page."""

_DAY_MILLISECONDS: Final = 86_400_000.0
_X_COLUMN: Final = pl.Schema({"x": pl.Float64()})
_ROW_PIXELS: Final = 14
_LATE_SHARE: Final = 0.9
_MARKS: Final = (
    ("onset", ALARM, 0),
    ("detected", CALM, 1),
    ("paged", INK, 2),
    ("cleared", MUTED, 0),
)
"""Moments of an incident, their colour, and the row of their label: neighbours do not overlap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """Where things lie from left to right.

    Attributes:
        start: Left end: milliseconds since the epoch, or a step.
        end: Right end, above `start`.
        has_clock: Whether positions are times.
    """

    start: float
    end: float
    has_clock: bool

    def encoding(self) -> alt.X:
        """Return the axis for a chart whose rows have a column `x`."""
        domain = [self.start, self.end]
        if not self.has_clock:
            scale = alt.Scale(domain=domain, nice=False)
            return alt.X("x:Q", scale=scale, axis=alt.Axis(grid=False, tickCount=10), title="step")
        long = self.end - self.start > _DAY_MILLISECONDS
        axis = alt.Axis(format="%d %b %H:%M" if long else "%H:%M", grid=False, tickCount=10)
        scale = alt.Scale(type="utc", domain=domain, nice=False)
        return alt.X("x:T", scale=scale, axis=axis, title=None)

    def column(self, time: str) -> pl.Expr:
        """Return the position of rows by their time column or their step; null is nowhere."""
        if self.has_clock:
            return _milliseconds(pl.col(time))
        return pl.col("step").cast(pl.Float64)

    def bin_of(self, position: pl.Expr, bins: int) -> pl.Expr:
        """Return the number of the bin, of equally wide ones, that a position lies in."""
        share = (position - self.start) / (self.end - self.start)
        return (share * bins).floor().clip(0, bins - 1).cast(pl.Int32)

    def middle(self, number: pl.Expr, bins: int) -> pl.Expr:
        """Return the position of a bin's middle."""
        return self.start + (number + 0.5) * ((self.end - self.start) / bins)


def _milliseconds(time: pl.Expr) -> pl.Expr:
    return time.dt.epoch("us") / 1000.0


def axis_of(
    frames: Sequence[tuple[pl.DataFrame, str]], incidents: Sequence[Incident]
) -> TimeAxis | None:
    """Return the axis that holds all frames, and the moments of incidents.

    Args:
        frames: Frames with the name of their time column; those without a clock have a `step`.
        incidents: Incidents to be marked: a run that hangs is detected after its last step.

    Returns:
        The axis; null when nothing has a time or a step.
    """
    clocks = [frame.select(x=_milliseconds(pl.col(time))) for frame, time in frames]
    steps = [
        frame.select(x=pl.col("step").cast(pl.Float64))
        for frame, _ in frames
        if "step" in frame.columns
    ]
    for parts, has_clock in ((clocks, True), (steps, False)):
        known = pl.concat([_X_COLUMN.to_frame(), *parts])["x"].drop_nulls()
        if known.len():
            low, high = cast("float", known.min()), cast("float", known.max())
            axis = TimeAxis(start=low, end=max(high, low + 1.0), has_clock=has_clock)
            places = [_place(one, name, axis) for one in incidents for name, _, _ in _MARKS]
            end = max([axis.end, *(place for place in places if place is not None)])
            return replace(axis, end=end)
    return None


def marks_on(axis: TimeAxis, incidents: Sequence[Incident]) -> list[alt.Chart]:
    """Return layers that mark onset, detection, page and end of incidents.

    Args:
        axis: The axis; on one that counts steps only onset and end can be marked.
        incidents: Incidents of one run.
    """
    return [
        layer
        for name, color, row in _MARKS
        for x in dict.fromkeys(_place(one, name, axis) for one in incidents)
        if x is not None and axis.start <= x <= axis.end
        for layer in _mark(axis, x, name, (color, -6 - _ROW_PIXELS * row))
    ]


def _place(incident: Incident, name: str, axis: TimeAxis) -> float | None:
    """Return where a moment of an incident lies; null when it has none on this axis."""
    if axis.has_clock:
        moments = {
            "onset": incident.onset,
            "detected": incident.detected,
            "paged": incident.paged_at,
            "cleared": incident.cleared,
        }
        moment = moments[name]
        return moment.timestamp() * 1000.0 if moment else None
    lead = next(iter((*incident.suspects, *incident.context)), None)
    steps = {"onset": lead.onset_step, "cleared": lead.cleared_step} if lead else {}
    return steps.get(name)


def _mark(axis: TimeAxis, x: float, name: str, look: tuple[str, int]) -> list[alt.Chart]:
    """Return a rule and its label; a label near the right end is written to the left."""
    color, label_y = look
    is_late = x > axis.start + _LATE_SHARE * (axis.end - axis.start)
    base = alt.Chart({"values": [{"x": x, "label": name}]})
    rule = base.mark_rule(color=color, strokeDash=[4, 3], strokeWidth=1.5)
    text = base.mark_text(
        align="right" if is_late else "left", dx=-4 if is_late else 4, color=color, fontSize=12
    )
    label = text.encode(x=axis.encoding(), y=alt.value(label_y), text="label:N")
    return [rule.encode(x=axis.encoding()), label]
