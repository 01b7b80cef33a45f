"""Known incidents as people keep them: a CSV, a JSON list, or what an analysis found."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

import orjson
import polars as pl

from alerts.incidents import Incident
from collectors.frames import TIME, schema_of
from slo.known_incidents import IncidentsError

WAY_OUT: Final = (
    "give a CSV with the columns start, end, label (and those of groups, such as run), or a JSON "
    "list of such objects; times as 2026-01-05T04:00:00Z"
)
_START_NAMES: Final = ("start", "onset")
_END_NAMES: Final = ("end", "cleared")
_LABEL_NAMES: Final = ("label", "title", "id")


def read_incidents(path: Path) -> pl.DataFrame:
    """Return the incidents of a file.

    Args:
        path: A CSV, a JSON list, or the JSON of `paceline analyze`, whose incidents are taken.

    Returns:
        `label`, `start`, `end` (`TIME`; a null end goes on), and each other column as text.

    Raises:
        IncidentsError: There is no such file, it is neither, or a time cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IncidentsError(f"{path}: {error.strerror}; {WAY_OUT}") from error
    try:
        is_json = data.lstrip()[:1] in {b"[", b"{"}
        rows = _json_rows(data, path) if is_json else _csv_rows(data)
        return _table(rows, path)
    except (ValueError, pl.exceptions.PolarsError) as error:
        if isinstance(error, IncidentsError):
            raise
        first = str(error).split("\n", maxsplit=1)[0]
        raise IncidentsError(f"{path}: {first}; {WAY_OUT}") from error


def found_incidents(incidents: Sequence[Incident]) -> pl.DataFrame:
    """Return the incidents of an analysis; those without an onset are left out.

    Returns:
        `label`, `start`, `end` and `run`.
    """
    rows = [
        {"label": one.title, "start": one.onset, "end": one.cleared, "run": one.run}
        for one in incidents
        if one.onset is not None
    ]
    schema = schema_of({"label": pl.String, "start": TIME, "end": TIME, "run": pl.String})
    return pl.DataFrame(rows, schema=schema)


def _csv_rows(data: bytes) -> pl.DataFrame:
    return pl.read_csv(data, infer_schema=False)


def _json_rows(data: bytes, path: Path) -> pl.DataFrame:
    """Return the objects of a JSON list, each field as text."""
    told: Any = orjson.loads(data)
    if isinstance(told, dict):
        told = cast("dict[str, Any]", told).get("incidents")
    if not isinstance(told, list) or not all(isinstance(one, dict) for one in cast("Any", told)):
        raise IncidentsError(f"{path}: found no list of incidents; {WAY_OUT}")
    rows = [
        {name: str(value) for name, value in one.items() if isinstance(value, str | int)}
        for one in cast("list[dict[str, Any]]", told)
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame(rows, schema=schema_of(dict.fromkeys(names, pl.String)))


def _table(rows: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Return the rows under the names that we use, with times."""
    start, end, label = (
        next((name for name in names if name in rows.columns), None)
        for names in (_START_NAMES, _END_NAMES, _LABEL_NAMES)
    )
    if start is None:
        raise IncidentsError(f"{path}: found columns {rows.columns}; {WAY_OUT}")
    never = pl.lit(None, dtype=pl.String)
    return rows.with_columns(
        label=never if label is None else pl.col(label),
        start=_time(pl.col(start)),
        end=_time(never if end is None else pl.col(end)),
    )


def _time(text: pl.Expr) -> pl.Expr:
    """Return text as a time; without a zone it is UTC, empty is null."""
    told = text.str.strip_chars().replace("", None).str.replace(" ", "T", literal=True)
    has_zone = told.str.contains(r"(?:[Zz]|[+-]\d\d:?\d\d)$")
    whole = pl.when(has_zone).then(told).otherwise(told + pl.lit("Z"))
    return whole.str.to_datetime(time_unit="us", time_zone="UTC", strict=True)
