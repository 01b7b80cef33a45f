"""Stacked bars: what a whole is made of, one bar a row, the same colour for the same part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt

from paceline.reports.drawing import INK, MUTED, WIDTH_PIXELS, svg_of

_ROW_PIXELS: Final = 46
_BAR_PIXELS: Final = 22
_TEXT_PIXELS: Final = 6
_GAP_PIXELS: Final = 1.5
"""Of the ground between two parts, so that neighbours are told apart without their colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar.

    Attributes:
        name: Above it, to the left.
        figure: Above it, to the right.
        parts: How much of each part there is; they sum to the bar.
    """

    name: str
    figure: str
    parts: Mapping[str, float]


def stacked_bars(bars: Sequence[Bar], *, whole: float | None, prefix: str) -> str:
    """Return bars below each other as SVG.

    Args:
        bars: From top to bottom. A part's colour is the page's variable `--part-<name>`.
        whole: What the full width stands for; null fills it by each bar.
        prefix: Unique in the page.
    """
    height = _ROW_PIXELS * len(bars)
    rows = [row for at, bar in enumerate(bars) for row in _rects(bar, at, whole)]
    scale = alt.Scale(domain=[0.0, 1.0], range=[0, WIDTH_PIXELS], nice=False)
    down = alt.Scale(domain=[0, height], range=[0, height], nice=False)
    rects = (
        alt.Chart({"values": rows})
        .mark_rect()
        .encode(
            x=alt.X("start:Q", scale=scale, axis=None),
            x2="end:Q",
            y=alt.Y("top:Q", scale=down, axis=None),
            y2="bottom:Q",
            color=alt.Color("color:N", scale=None),
        )
    )
    texts = [layer for at, bar in enumerate(bars) for layer in _texts(bar, at, scale, down)]
    return svg_of([rects, *texts], height=height, prefix=prefix)


def _rects(bar: Bar, at: int, whole: float | None) -> list[dict[str, Any]]:
    """Return the pieces of a bar, each a hair short of the next."""
    total = whole or sum(bar.parts.values())
    top = at * _ROW_PIXELS + _ROW_PIXELS - _BAR_PIXELS - _TEXT_PIXELS
    found: list[dict[str, Any]] = []
    start = 0.0
    for name, amount in bar.parts.items():
        end = start + amount / total
        gap = min(_GAP_PIXELS / WIDTH_PIXELS, (end - start) / 2.0)
        place = {"start": start, "end": end - gap, "top": top, "bottom": top + _BAR_PIXELS}
        found.append(place | {"color": f"var(--part-{name.replace('_', '-')})"})
        start = end
    return found


def _texts(bar: Bar, at: int, across: alt.Scale, down: alt.Scale) -> list[alt.Chart]:
    """Return the name and the figure above a bar."""
    y = at * _ROW_PIXELS + _TEXT_PIXELS
    left = alt.MarkDef(align="left", baseline="middle", color=INK, type="text")
    right = alt.MarkDef(align="right", baseline="middle", color=MUTED, type="text")
    found: list[alt.Chart] = []
    for text, x, mark in ((bar.name, 0.0, left), (bar.figure, 1.0, right)):
        chart = alt.Chart({"values": [{"text": text, "x": x, "y": y}]}, mark=mark)
        found.append(
            chart.encode(
                x=alt.X("x:Q", scale=across, axis=None),
                y=alt.Y("y:Q", scale=down, axis=None),
                text="text:N",
            )
        )
    return found
