"""Which incident an alert of Prometheus belongs to.

An alert names an incident of ours (it is one that we pushed), burns an objective that an incident
burns, or is about a host that an incident accuses or a run that it hurts: in this order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Engine, RowMapping, Select, bindparam, or_, select, update

from alerts.alert_episodes import Episode
from alerts.delivery.alert_forms import ALERT_NAME, INCIDENT_LABEL
from alerts.intake.episode_rows import episode_of
from alerts.storing.databases import reading
from alerts.storing.tables import ALERT_EPISODES, INCIDENTS

RECENT: Final = timedelta(hours=6)
"""An episode that ended, and was told of, earlier is linked no more: nobody looks for it."""

_HOST_LABELS: Final = ("host", "node", "hostname", "Hostname", "instance")
"""Labels that name a host; exporters of GPUs and nodes use one or another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIncident:
    """What alerts can be told to be about.

    Attributes:
        id: The incident's id.
        run: Training run; null when none is known or several are hurt.
        burns: Objective and run of each burn.
        hosts: Hosts that it accuses.
        is_open: Whether it lasts.
        number: Newer ones have higher ones.
    """

    id: str
    run: str | None
    burns: frozenset[tuple[str, str | None]]
    hosts: frozenset[str]
    is_open: bool
    number: int


def link_episodes(engine: Engine, *, now: datetime) -> int:
    """Tell each episode of an alert its incident, where one is known; return how many were told."""
    unlinked = ALERT_EPISODES.c.incident.is_(None)
    lately = or_(ALERT_EPISODES.c.status == "firing", ALERT_EPISODES.c.last_seen > now - RECENT)
    with reading(engine) as connection:
        known = [known_incident(row) for row in connection.execute(_recent(now)).mappings()]
        query = select(ALERT_EPISODES).where(unlinked, lately, _may_fit(known))
        episodes = [episode_of(row) for row in connection.execute(query).mappings()]
    homes = [(episode, home_of(episode, known)) for episode in episodes]
    rows = [
        {"of": episode.fingerprint, "since": episode.starts_at, "home": home}
        for episode, home in homes
        if home is not None
    ]
    if rows:
        link = update(ALERT_EPISODES).where(
            ALERT_EPISODES.c.fingerprint == bindparam("of"),
            ALERT_EPISODES.c.starts_at == bindparam("since"),
        )
        with engine.begin() as connection:
            connection.execute(link.values(incident=bindparam("home")), rows)
    return len(rows)


def home_of(episode: Episode, known: Sequence[KnownIncident]) -> str | None:
    """Return the incident that an episode belongs to: of several, an open one, then the newest."""
    labels = episode.labels
    if labels.get("alertname") == ALERT_NAME:
        return next((one.id for one in known if one.id == labels.get(INCIDENT_LABEL)), None)
    burn = (labels.get("objective", ""), labels.get("run"))
    hosts = {_host(labels[name]) for name in _HOST_LABELS if name in labels}
    fitting = (
        [one for one in known if burn in one.burns],
        [one for one in known if one.hosts & hosts],
        [one for one in known if one.run is not None and one.run == labels.get("run")],
    )
    for homes in fitting:
        if homes:
            return max(homes, key=lambda one: (one.is_open, one.number)).id
    return None


def _may_fit(known: Sequence[KnownIncident]) -> ColumnElement[bool]:
    """Return which alerts may belong to an incident: thousands of others are not even looked at."""
    runs = sorted({one.run for one in known if one.run is not None})
    objectives = sorted({objective for one in known for objective, _ in one.burns})
    hosts = sorted({host for one in known for host in one.hosts})
    named = [_label(name).in_(hosts) for name in _HOST_LABELS]
    behind = [_label("instance").startswith(f"{host}:", autoescape=True) for host in hosts]
    return or_(
        _label(INCIDENT_LABEL).in_([one.id for one in known]),
        _label("objective").in_(objectives),
        _label("run").in_(runs),
        *named,
        *behind,
    )


def _label(name: str) -> ColumnElement[str]:
    label: ColumnElement[str] = ALERT_EPISODES.c.labels[name].as_string()
    return label


def _host(text: str) -> str:
    """Return a host without the port of its exporter."""
    name, _, port = text.rpartition(":")
    return name if name and port.isdecimal() else text


def _recent(now: datetime) -> Select[Any]:
    lasts = or_(INCIDENTS.c.state != "resolved", INCIDENTS.c.resolved_at > now - RECENT)
    return select(INCIDENTS).where(lasts, INCIDENTS.c.merged_into.is_(None))


def known_incident(row: RowMapping) -> KnownIncident:
    """Return what alerts can be told to be about of a row of the incidents."""
    body = row["body"]
    return KnownIncident(
        id=row["id"],
        run=row["run"],
        burns=frozenset((burn["objective"], burn["run"]) for burn in body.get("burns", ())),
        hosts=frozenset(_hosts(body.get("suspects", ()))),
        is_open=row["state"] != "resolved",
        number=row["number"],
    )


def _hosts(suspects: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for suspect in suspects:
        host = suspect["subject"].get("host")
        if host is not None:
            yield host
