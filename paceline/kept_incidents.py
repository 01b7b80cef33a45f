"""Incidents that a store keeps for ever: the page of one, without judging months anew."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from alerts.incident_documents import read_incident
from alerts.incidents import Incident
from collectors.storage.store import Store, is_store
from collectors.storage.store_tables import KEPT_INCIDENTS
from collectors.storage.store_tiers import start_of
from paceline.analysis import Analysis
from paceline.burning import replay_burns
from paceline.history import RECORDS
from paceline.stored_sources import StoredSpan, read_store
from slo.growth import BurnParams

_FRAMES = (*RECORDS, "steps", "coverage")
"""What an incident's page tells beside the incident itself; its verdicts hold what samples said."""


def kept_incident(paths: Sequence[Path], name: str) -> tuple[Path, Incident] | None:
    """Return the kept incident that is meant, and its store.

    Args:
        paths: Where to look; what is no store is left out.
        name: The first characters of its id.

    Returns:
        Null where no store keeps one of that name, or several do: then all is to be judged.
    """
    found = [
        (path, row)
        for path in paths
        if is_store(path)
        for row in _rows(Store.open_at(str(path)), name)
    ]
    if len(found) != 1:
        return None
    path, row = found[0]
    return path, read_incident(orjson.loads(row["document"]))


def _rows(store: Store, name: str) -> list[dict[str, Any]]:
    """Return what is kept under an id, as it was last judged."""
    kept = (
        store.read(KEPT_INCIDENTS.name)
        .filter(pl.col("id").str.starts_with(name))
        .collect()
        .sort("id", "judged_until")
        .unique("id", keep="last", maintain_order=True)
    )
    return kept.rows(named=True)


def analysis_of(root: Path, incident: Incident) -> Analysis:
    """Return what an incident's page rests on: what was read of its days, and the kept findings.

    Args:
        root: The store.
        incident: A kept one.
    """
    reading = read_store(root, _days_of(incident), frames=_FRAMES)
    return Analysis(
        reading=reading,
        verdicts=[*incident.suspects, *incident.context],
        replay=replay_burns(reading.steps, [], scrape_seconds=15.0, params=BurnParams()),
        incidents=[incident],
        as_of=incident.as_of,
    )


def _days_of(incident: Incident) -> StoredSpan:
    """Return the whole days that an incident touches: a day is what it was judged on."""
    first, last = (_day_start(one) for one in (incident.onset, incident.cleared or incident.as_of))
    end = None if last is None else last + timedelta(days=1, microseconds=-1)
    return StoredSpan(start=first, end=end)


def _day_start(time: datetime | None) -> datetime | None:
    return None if time is None else start_of(time.date())
