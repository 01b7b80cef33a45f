"""The timeline of a backtest: known incidents above, below them what each policy fires and when."""

import re
from collections.abc import Iterator
from typing import Any, Final

import altair as alt

from paceline.backtests import Backtest
from paceline.reports.drawing import ALARM, CALM, INK, MUTED, svg_of
from slo.backtest_scores import WHOLE

_ROW_PIXELS: Final = 26
_LEAST_RATIO: Final = 0.004
"""Bars are drawn at least this wide, as a share of the axis: a page of minutes in ten weeks."""

# The light colours of the page's style sheet, for a picture that stands by itself.
_COLORS: Final = {
    "--ink": "#1b2330",
    "--muted": "#5b6676",
    "--grid": "#dde2e9",
    "--calm": "#2f6fb3",
    "--alarm": "#c2410c",
    "--healthy": "#e6eaf0",
}


def backtest_svg(backtest: Backtest) -> str:
    """Return the timeline as a picture that stands by itself."""
    replay = backtest.current.replay
    start, end = (one.timestamp() * 1000 for one in (replay.start, replay.end))
    rows = list(_bars(backtest, start, max(end, start + 60_000)))
    names = list(dict.fromkeys([*_names(backtest), *(row["name"] for row in rows)]))
    base = alt.Chart({"values": rows or [{}]})
    x = alt.X(
        "start:T",
        scale=alt.Scale(type="utc", domain=[start, max(end, start + 60_000)], nice=False),
        axis=alt.Axis(format="%d %b %H:%M", grid=False, tickCount=8),
        title=None,
    )
    y = alt.Y("name:N", sort=names, scale=alt.Scale(domain=names), axis=None)
    bars = base.mark_bar(height=12).encode(
        x=x, x2="end:T", y=y, color=alt.Color("color:N", scale=None)
    )
    labels = (
        alt.Chart({"values": [{"name": name} for name in names]})
        .mark_text(align="left", color=INK, fontSize=12, limit=200)
        .encode(x=alt.value(712), y=y, text="name:N")
    )
    svg = svg_of([bars, labels], height=_ROW_PIXELS * len(names), prefix="backtest")
    return standing_alone(svg)


def standing_alone(svg: str) -> str:
    """Return a drawing for a page as a file of its own: with a namespace and colours."""
    colors = "".join(f"{name}:{color};" for name, color in _COLORS.items())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" style="{colors}background:#ffffff"'
    return re.sub(r"^\s*<svg", head, svg, count=1)


def _names(backtest: Backtest) -> Iterator[str]:
    """Yield the rows from above to below."""
    if backtest.incidents is not None:
        yield "known incidents"
    for policy in backtest.policies:
        for row in policy.scores.iter_rows(named=True):
            yield _name(policy.name, row)


def _name(policy: str, row: dict[str, Any]) -> str:
    return f"{row['severity']} {row['alert']}, {policy}"


def _bars(backtest: Backtest, start: float, end: float) -> Iterator[dict[str, Any]]:
    least = (end - start) * _LEAST_RATIO
    known = [] if backtest.incidents is None else backtest.incidents.to_dicts()
    for row in known:
        until = end if row["end"] is None else row["end"].timestamp() * 1000
        yield _bar("known incidents", row["start"].timestamp() * 1000, until, least) | {
            "color": MUTED
        }
    for policy in backtest.policies:
        for row in policy.alerts.iter_rows(named=True):
            until = end if row["resolved_at"] is None else row["resolved_at"].timestamp() * 1000
            bar = _bar(_name(policy.name, row), row["fired_at"].timestamp() * 1000, until, least)
            color = ALARM if row["severity"] == "page" else CALM
            yield bar | {"color": color if row["alert"] == WHOLE else MUTED}


def _bar(name: str, start: float, end: float, least: float) -> dict[str, Any]:
    return {"name": name, "start": start, "end": max(end, start + least)}
