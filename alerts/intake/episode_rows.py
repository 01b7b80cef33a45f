"""Episodes as rows of the incident database, and back."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, select

from alerts.alert_episodes import EndKind, Episode
from alerts.storing.tables import ALERT_EPISODES
from alerts.storing.upserts import upsert

Histories = Mapping[str, Sequence[Episode]]
"""Episodes by fingerprint, each in the order of their beginnings."""


def read_histories(connection: Connection, fingerprints: Collection[str]) -> Histories:
    """Return the episodes of some alerts.

    Their rows are locked, where a database can do that, until the transaction ends.
    """
    query = (
        select(ALERT_EPISODES)
        .where(ALERT_EPISODES.c.fingerprint.in_(sorted(fingerprints)))
        .order_by(ALERT_EPISODES.c.fingerprint, ALERT_EPISODES.c.starts_at)
        .with_for_update()
    )
    histories: dict[str, list[Episode]] = {}
    for row in connection.execute(query).mappings():
        histories.setdefault(row["fingerprint"], []).append(episode_of(row))
    return histories


def episode_of(row: RowMapping) -> Episode:
    """Return the episode of a row."""
    kind = row["end_kind"]
    return Episode(
        fingerprint=row["fingerprint"],
        starts_at=row["starts_at"],
        ends_at=row["ends_at"],
        end_kind=None if kind is None else EndKind(kind),
        labels=row["labels"],
        annotations=row["annotations"],
        seen_at=row["last_seen"],
        due_at=row["due_at"],
    )


def save_histories(
    connection: Connection, before: Histories, after: Histories, groups: Mapping[str, str]
) -> int:
    """Write the episodes that are new or have changed; return how many.

    Args:
        connection: Within a transaction.
        before: Episodes as they were read.
        after: The same after some messages.
        groups: Hash of the group that each alert came in, by fingerprint; no group leaves that of
            known rows.
    """
    known = {_key(one): one for history in before.values() for one in history}
    told = [one for history in after.values() for one in history]
    rows = [_row(one, groups) for one in told if known.get(_key(one)) != one]
    for names in sorted({tuple(row) for row in rows}):
        query = upsert(connection.dialect.name, ALERT_EPISODES)
        written = {name: query.excluded[name] for name in names if name not in _KEY}
        same = [row for row in rows if tuple(row) == names]
        connection.execute(
            query.on_conflict_do_update(index_elements=list(_KEY), set_=written), same
        )
    return len(rows)


_KEY = ("fingerprint", "starts_at")


def _key(episode: Episode) -> tuple[str, datetime]:
    return episode.fingerprint, episode.starts_at


def _row(episode: Episode, groups: Mapping[str, str]) -> dict[str, Any]:
    group = groups.get(episode.fingerprint)
    return {
        "fingerprint": episode.fingerprint,
        "starts_at": episode.starts_at,
        "status": "firing" if episode.is_open else "resolved",
        "labels": dict(episode.labels),
        "annotations": dict(episode.annotations),
        "ends_at": episode.ends_at,
        "end_kind": episode.end_kind and episode.end_kind.value,
        "due_at": episode.due_at,
        "last_seen": episode.seen_at,
    } | ({} if group is None else {"group_key_hash": group})
