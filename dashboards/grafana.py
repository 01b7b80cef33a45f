"""The one door to grafanalib: its classes by name in, plain JSON out.

grafanalib 0.7.1 carries no types and will not get any, so it is used here only and every answer
leaves as plain data. The door also holds the list of its classes that still emit a shape which
Grafana reads as it stands once normalised; the others emit shapes of Grafana 6 or of dead plugins,
or, like `Threshold`, colour every value with the first step.
"""

import json
from typing import Any, Protocol, cast

from grafanalib import core

from dashboards.jsontree import Json

USABLE_CLASSES = frozenset(
    {
        "Annotations",
        "Dashboard",
        "DashboardLink",
        "RowPanel",
        "Stat",
        "StateTimeline",
        "Table",
        "TableSortByField",
        "Target",
        "Template",
        "Templating",
        "Text",
        "Time",
        "TimePicker",
        "TimeSeries",
    }
)


class _Encodable(Protocol):
    """What grafanalib's classes have in common."""

    def to_json_data(self) -> object:
        """Return the object as dicts, lists and other such objects."""
        ...


class UnusableClassError(ValueError):
    """A grafanalib class was asked for whose output Grafana misreads."""


def build_object(kind: str, **fields: object) -> object:
    """Return a grafanalib object, for use as a field of another one.

    Args:
        kind: Name of a class of `grafanalib.core`.
        fields: What that class takes.

    Raises:
        UnusableClassError: The class is not one of `USABLE_CLASSES`.
    """
    if kind not in USABLE_CLASSES:
        known = ", ".join(sorted(USABLE_CLASSES))
        raise UnusableClassError(
            f"grafanalib's {kind!r} emits a shape that Grafana misreads; usable: {known}; "
            "for another panel give `build_own_panel` the shape of Grafana's own types"
        )
    return getattr(core, kind)(**fields)


def build_plain(kind: str, **fields: object) -> Json:
    """Return what a grafanalib object says, as plain JSON; arguments as in `build_object`."""
    return _plain(build_object(kind, **fields))


def build_own_panel(shape: Json, **fields: object) -> Json:
    """Return a panel of a shape that grafanalib does not know, inside its general frame.

    Args:
        shape: What stands on top of the frame: `type`, `options`, `fieldConfig`.
        fields: What `grafanalib.core.Panel` takes.
    """
    panel = cast("Any", core.Panel)(**fields)
    return _plain(panel.panel_json(shape))


def _plain(thing: object) -> Json:
    text = json.dumps(thing, default=_said_by, allow_nan=False)
    return cast("Json", json.loads(text))


def _said_by(thing: _Encodable) -> object:
    return thing.to_json_data()
