"""Drawings of the report as Altair charts: the same layers, in colours that a notebook knows.

A page's drawings follow its style sheet (`var(--ink)`); a notebook has none of ours, so that names
become the colours of the light page, on white, whatever the notebook's theme.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeVar

import altair as alt
import orjson

from paceline.reports.drawing import INK, LOOK, Drawing

PAPER: Final = "#ffffff"
TITLE_PIXELS: Final = 12
_TITLE: Final = {"anchor": "start", "color": INK, "fontSize": 13}
_SHEETS: Final = ("report.css", "parts.css")
_FIRST_ROOT: Final = re.compile(r":root \{(.*?)\}", re.DOTALL)
_COLOR: Final = re.compile(r"--([\w-]+): (#[0-9a-f]+);")
_NAME: Final = re.compile(r"var\(--([\w-]+)\)")


class NothingToDrawError(ValueError):
    """Nothing in the evidence can be drawn like that."""


@cache
def colors() -> Mapping[str, str]:
    """Return the colours of the light page by their name in its style sheets."""
    folder = files("paceline.reports") / "templates"
    found: dict[str, str] = {}
    for sheet in _SHEETS:
        light = _FIRST_ROOT.search((folder / sheet).read_text(encoding="utf-8"))
        found |= dict(_COLOR.findall(light[1] if light else ""))
    return found


def color(name: str) -> str:
    """Return a text with the light page's colours for what a drawing calls `var(--ink)`."""
    return _NAME.sub(lambda found: colors().get(found[1], found[0]), name)


def chart_of(drawing: Drawing, title: str) -> alt.LayerChart:
    """Return a drawing as a chart.

    Args:
        drawing: The layers.
        title: Above them.
    """
    # Altair made the specification, so that it need not be checked before it is shown.
    chart: alt.LayerChart = alt.LayerChart.from_dict(_spec(drawing, title), validate=False)
    return looked(chart)


def stack_of(drawings: Sequence[tuple[str, Drawing]]) -> alt.VConcatChart:
    """Return drawings below each other as one chart.

    Args:
        drawings: Titles and layers.
    """
    panels = [_spec(drawing, title) for title, drawing in drawings]
    # Rows stand beside the panels: a chart of its own has them, a panel of another must not.
    rows = {name: one for panel in panels for name, one in panel.pop("datasets").items()}
    whole = {"vconcat": panels, "datasets": rows}
    stack: alt.VConcatChart = alt.VConcatChart.from_dict(whole, validate=False)
    return looked(stack)


_Chart = TypeVar("_Chart", alt.Chart, alt.LayerChart, alt.VConcatChart)


def looked(chart: _Chart) -> _Chart:
    """Return a chart that looks like all others."""
    look = _colored(LOOK | {"background": PAPER, "padding": 8, "title": _TITLE})
    dressed: _Chart = chart.copy(deep=False)
    dressed.config = alt.Config.from_dict(look)
    return dressed


def _spec(drawing: Drawing, title: str) -> dict[str, Any]:
    """Return a drawing with its title, which stands above the marks of an incident's moments."""
    spec = drawing.spec()
    bare = {name: part for name, part in spec.items() if name not in {"config", "$schema"}}
    head = {"text": title, "offset": TITLE_PIXELS}
    return _colored(bare | {"title": head})


def _colored(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a specification with colours in the place of their names."""
    told: dict[str, Any] = orjson.loads(color(orjson.dumps(spec).decode()))
    return told
