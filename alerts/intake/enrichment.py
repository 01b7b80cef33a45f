"""What Prometheus fired, with culprit and evidence: its firings join the incidents that we know.

Source: design of the alert path: a burn says that users feel it, a finding says why, and one page
tells of both. A watch joins both in its tick (`hear_firings`); a service without one has `enrich`.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from pydantic import TypeAdapter
from sqlalchemy import Engine, or_, select

from alerts.alert_episodes import Episode, EpisodeParams
from alerts.blast_radii import RunFacts
from alerts.faults import JoinParams
from alerts.firings import Firing
from alerts.incidents import join_incidents
from alerts.intake.episode_rows import episode_of
from alerts.intake.fired import firings_of_histories
from alerts.intake.linking import link_episodes
from alerts.storing.databases import reading
from alerts.storing.incident_store import IncidentStore
from alerts.storing.records import Change
from alerts.storing.tables import ALERT_EPISODES, INCIDENTS, VERDICTS
from detectors.verdicts import Verdict
from slo.objectives import Objective

KEPT: Final = timedelta(hours=1)
"""How long a firing that has ended is still told to the incidents, so that they hear of its end."""

_VERDICTS: Final = TypeAdapter(Verdict)
_USUAL: Final = EpisodeParams()


def prometheus_firings(
    engine: Engine,
    objectives: Mapping[str, Objective],
    *,
    now: datetime,
    params: EpisodeParams = _USUAL,
) -> list[Firing]:
    """Return the burns that Prometheus tells of: those that last, and those that ended lately.

    One that ended is told as long as its incident is not over, whenever that was.

    Args:
        engine: The incident database.
        objectives: What is known of objectives, by name.
        now: The time.
        params: When two episodes are one.
    """
    unresolved = select(INCIDENTS.c.id).where(INCIDENTS.c.state != "resolved")
    lately = or_(
        ALERT_EPISODES.c.status == "firing",
        ALERT_EPISODES.c.ends_at > now - KEPT,
        # Of an end that is told late, an incident hears all the same.
        ALERT_EPISODES.c.last_seen > now - KEPT,
        ALERT_EPISODES.c.incident.in_(unresolved),
    )
    about = ALERT_EPISODES.c.labels["objective"].as_string().is_not(None)
    query = (
        select(ALERT_EPISODES)
        .where(lately, about)
        .order_by(ALERT_EPISODES.c.fingerprint, ALERT_EPISODES.c.starts_at)
    )
    histories: dict[str, list[Episode]] = {}
    with reading(engine) as connection:
        for row in connection.execute(query).mappings():
            histories.setdefault(row["fingerprint"], []).append(episode_of(row))
    return firings_of_histories(histories.values(), objectives, params)


def hear_firings(
    engine: Engine, objectives: Mapping[str, Objective], now: datetime
) -> list[Firing]:
    """Return the burns that Prometheus tells of, after their alerts were filed with incidents."""
    link_episodes(engine, now=now)
    return prometheus_firings(engine, objectives, now=now)


def enrich(
    store: IncidentStore,
    objectives: Mapping[str, Objective],
    *,
    now: datetime,
    joining: JoinParams,
    params: EpisodeParams = _USUAL,
) -> list[Change]:
    """Join what Prometheus fired with the findings that are kept, and return what changed.

    For a service without a watch.

    Args:
        store: The incidents.
        objectives: What is known of objectives, by name.
        now: The time.
        joining: When symptoms are one fault.
        params: When two episodes are one.
    """
    firings = prometheus_firings(store.engine, objectives, now=now, params=params)
    if not firings:
        return []
    verdicts = kept_verdicts(store.engine)
    incidents = join_incidents(verdicts, firings, RunFacts.unknown(), joining, now=now)
    burning = [one for one in incidents if one.burns]
    changes = store.refresh(burning, now=now)
    link_episodes(store.engine, now=now)
    return changes


def kept_verdicts(engine: Engine) -> list[Verdict]:
    """Return the findings of incidents that are not over."""
    query = (
        select(VERDICTS.c.body)
        .join(INCIDENTS, VERDICTS.c.incident == INCIDENTS.c.id)
        .where(INCIDENTS.c.state != "resolved")
        .order_by(VERDICTS.c.id)
    )
    with reading(engine) as connection:
        bodies = connection.execute(query).scalars().all()
    return [_VERDICTS.validate_python(body) for body in bodies]
