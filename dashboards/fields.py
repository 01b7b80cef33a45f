"""How a value is shown: unit, colours, words, and where a click on it leads.

Grafana paints a value in the colour of the highest step that it reaches, and an empty result in
the colour of the first step. The first step is therefore always grey: what nobody measured must
not look healthy.
"""

from dataclasses import dataclass
from typing import TypeAlias

from dashboards.jsontree import Json

Steps: TypeAlias = tuple[tuple[str, float], ...]

NO_DATA_COLOR = "#8e8e8e"
NO_DATA_TEXT = "no data"
INFORMATION_COLOR = "blue"

NO_DATA_MAPPING: Json = {
    "type": "special",
    "options": {
        "match": "null+nan",
        "result": {"text": NO_DATA_TEXT, "color": NO_DATA_COLOR, "index": 0},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """How the values of a panel, or of one column, are shown.

    Attributes:
        unit: Grafana's id of the unit.
        steps: Colour and the value from which it holds, ascending.
        base: Colour below the first step; one that warns where values may be below zero, since a
            base without a value takes them all, and grey would hide them.
        decimals: Digits after the point; None leaves the choice to Grafana.
        min_value: Lower end of axis or bar; None fits it to the data.
        max_value: Upper end of axis or bar; None fits it to the data.
        mappings: Words in place of values.
        links: Where a click on the value leads.
    """

    unit: str
    steps: Steps = ()
    base: str = NO_DATA_COLOR
    decimals: int | None = None
    min_value: float | None = None
    max_value: float | None = None
    mappings: tuple[Json, ...] = ()
    links: tuple[Json, ...] = ()


def build_steps(steps: Steps, base: str = NO_DATA_COLOR) -> list[Json]:
    """Return threshold steps on a base, which is grey unless values may be below zero."""
    first: Json = {"color": base, "value": None}
    return [first, *({"color": color, "value": value} for color, value in steps)]


def build_defaults(field: Field) -> Json:
    """Return `fieldConfig.defaults` of a field, coloured by its thresholds."""
    return {
        "color": {"mode": "thresholds"},
        "decimals": field.decimals,
        "links": list(field.links),
        "mappings": [NO_DATA_MAPPING, *field.mappings],
        "max": field.max_value,
        "min": field.min_value,
        "noValue": NO_DATA_TEXT,
        "thresholds": {"mode": "absolute", "steps": build_steps(field.steps, field.base)},
        "unit": field.unit,
    }


def build_states(texts: dict[int, tuple[str, str]]) -> tuple[Json, ...]:
    """Return mappings of whole-number states to words, and one that shows every other value.

    Args:
        texts: Word and colour by state.
    """
    named = {
        str(state): {"text": text, "color": color, "index": index}
        for index, (state, (text, color)) in enumerate(sorted(texts.items()), start=1)
    }
    other = {"text": "unlisted state", "color": "purple", "index": len(named) + 1}
    return (
        {"type": "value", "options": named},
        {"type": "range", "options": {"from": None, "to": None, "result": other}},
    )


def build_override(name: str, **properties: object) -> Json:
    """Return an override of one field by name; `__` in a property's name stands for a dot."""
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [
            {"id": key.replace("__", "."), "value": value} for key, value in properties.items()
        ],
    }
