"""From chart to markup: inline SVG that follows the page's colours, and PNG for dense cells.

Vega writes colours into SVG as they are given, so `var(--ink)` lets the page's style sheet decide
and one drawing serves light, dark and print. Charts are drawn here, not in the browser: the page
needs no script and no network.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import vl_convert

WIDTH_PIXELS: Final = 700
"""Plot width; the page scales a drawing down where the window is narrower."""
MARGIN_PIXELS: Final = 215
"""Room for names to the right of every plot, so that plots below each other share their axis."""

INK: Final = "var(--ink)"
MUTED: Final = "var(--muted)"
CALM: Final = "var(--calm)"
ALARM: Final = "var(--alarm)"
HEALTHY: Final = "var(--healthy)"

LOOK: Final[dict[str, Any]] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "padding": 2,
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "gridColor": "var(--grid)",
        "domainColor": "var(--grid)",
        "tickColor": "var(--grid)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "minExtent": 44,
        "maxExtent": 44,
    },
}
_NAMESPACES: Final = re.compile(r' xmlns(?::xlink)?="[^"]*"')
_IDS: Final = re.compile(r'(\bid="|url\(#)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Layers over each other, not drawn yet: pages draw them as SVG, notebooks as a chart.

    Attributes:
        layers: The lowest first.
        height: Plot height in pixels.
    """

    layers: tuple[alt.Chart, ...]
    height: int

    def spec(self) -> dict[str, Any]:
        """Return the specification for Vega-Lite, in the page's colours and without its look."""
        layers = alt.layer(*self.layers, _margin(), width=WIDTH_PIXELS, height=self.height)
        spec: dict[str, Any] = layers.to_dict()
        return spec

    def svg(self, prefix: str) -> str:
        """Return the drawing as SVG to be put into a page.

        Args:
            prefix: Unique in the page; ids in the drawing begin with it.
        """
        svg: str = vl_convert.vegalite_to_svg(self.spec(), config=LOOK)
        return _IDS.sub(rf"\g<1>{prefix}-", _NAMESPACES.sub("", svg, count=2))


def side_label(text: str, color: str, *, y: float = 0.0, dy: int = 0) -> alt.Chart:
    """Return a name to the right of the plot.

    Args:
        text: The name.
        color: Its colour.
        y: Its height, in the field `y`; how that is measured is encoded by the caller.
        dy: Pixels below that height.
    """
    mark = alt.Chart({"values": [{"name": text, "y": y}]}).mark_text(
        align="left", baseline="middle", dy=dy, color=color, fontSize=12, limit=MARGIN_PIXELS - 14
    )
    placed: alt.Chart = mark.encode(x=alt.value(WIDTH_PIXELS + 12), text="name:N")
    return placed


def svg_of(layers: Sequence[alt.Chart], *, height: int, prefix: str) -> str:
    """Return layers as one SVG to be put into a page.

    Args:
        layers: Charts over each other, the lowest first.
        height: Plot height in pixels.
        prefix: Unique in the page; ids in the drawing begin with it.
    """
    return Drawing(layers=tuple(layers), height=height).svg(prefix)


def _margin() -> alt.Chart:
    """Return nothing to be seen at the right end of the margin, which keeps it open."""
    point = alt.Chart({"values": [{}]}).mark_point(opacity=0, size=1)
    placed: alt.Chart = point.encode(x=alt.value(WIDTH_PIXELS + MARGIN_PIXELS), y=alt.value(0))
    return placed


def png_uri_of(cells: alt.Chart) -> str:
    """Return a chart without axes as a PNG in a data URI.

    Colours must be opaque: half-transparent ones come out of the converter too dark.
    """
    spec: dict[str, Any] = cells.to_dict()
    look = LOOK | {"padding": 0}
    png: bytes = vl_convert.vegalite_to_png(spec, scale=1, config=look)
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
