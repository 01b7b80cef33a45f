"""Findings over all incidents, page by page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, Select, select, tuple_

from alerts.storing.databases import reading
from alerts.storing.records import VerdictRecord
from alerts.storing.tables import VERDICTS
from detectors.verdicts import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictFilters:
    """Which findings are wanted; what is null asks for nothing.

    Attributes:
        kind: Those of this kind.
        host: Those on this host.
        lasting: Only those that have not cleared.
    """

    kind: Kind | None = None
    host: str | None = None
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictPage:
    """A part of a list of findings.

    Attributes:
        records: The findings, the last to be found first.
        next_after: What `after` the next page has; null when this is the last.
    """

    records: tuple[VerdictRecord, ...]
    next_after: str | None


def find_verdicts(
    engine: Engine, filters: VerdictFilters, *, limit: int, after: str | None = None
) -> VerdictPage:
    """Return a page of findings, the last to be found first.

    Args:
        engine: An engine of `alerts.storing.databases.open_database`.
        filters: Which are wanted.
        limit: How many at most.
        after: Id of the last finding of the page before; null for the first page. One that is not
            there any more leaves the rest empty.
    """
    order = VERDICTS.c.first_seen, VERDICTS.c.id
    query = _filtered(filters).order_by(*(column.desc() for column in order))
    if after is not None:
        last = select(*order).where(VERDICTS.c.id == after).scalar_subquery()
        query = query.where(tuple_(*order) < last)
    with reading(engine) as connection:
        rows = [dict(row) for row in connection.execute(query.limit(limit + 1)).mappings()]
    records = tuple(_record(row) for row in rows[:limit])
    return VerdictPage(records=records, next_after=records[-1].id if len(rows) > limit else None)


def _filtered(filters: VerdictFilters) -> Select[Any]:
    query = select(VERDICTS)
    if filters.kind is not None:
        query = query.where(VERDICTS.c.kind == filters.kind)
    if filters.host is not None:
        query = query.where(VERDICTS.c.host == filters.host)
    if filters.lasting:
        query = query.where(VERDICTS.c.cleared.is_(None))
    return query


def _record(row: Mapping[str, Any]) -> VerdictRecord:
    return VerdictRecord(
        id=row["id"],
        incident=row["incident"],
        body=row["body"],
        first_seen=row["first_seen"],
        last_seen=row["last_seen"],
        cleared=row["cleared"],
        pinned=bool(row["pinned"]),
    )
