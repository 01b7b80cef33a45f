"""Links from a panel to another board, with what the reader has chosen."""

from typing import Final

from dashboards.jsontree import Json

_KEPT: Final = "${datasource:queryparam}&${cluster:queryparam}"
_RANGE: Final = "${__url_time_range}"
# Still the same hours when somebody opens the link in a month.
_FIXED_RANGE: Final = "from=${__from}&to=${__to}"


def build_row_link(title: str, uid: str, **fields: str) -> Json:
    """Return the link of a table's row.

    Args:
        title: What a click leads to.
        uid: The board.
        fields: Column whose value is passed, by variable of that board.
    """
    passed = {name: f"${{__data.fields.{field}}}" for name, field in fields.items()}
    return _link(title, uid, passed, _RANGE)


def build_series_link(title: str, uid: str, **labels: str) -> Json:
    """Return the link of a series; labels passed by variable of the board, as in a row's link."""
    passed = {name: f"${{__field.labels.{label}}}" for name, label in labels.items()}
    return _link(title, uid, passed, _RANGE)


def build_incident_link(field: str) -> Json:
    """Return the link of a row to the incident that a column names, with the hours as they are."""
    passed = {"incident": f"${{__data.fields.{field}}}"}
    return _link("Open the incident", "aif-incident", passed, _FIXED_RANGE)


def _link(title: str, uid: str, passed: dict[str, str], time: str) -> Json:
    chosen = "".join(f"&var-{name}={value}" for name, value in passed.items())
    return {"title": title, "url": f"/d/{uid}?{time}&{_KEPT}{chosen}", "targetBlank": False}
