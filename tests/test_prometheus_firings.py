"""What Prometheus fired becomes firings of our kind, and finds the incident it belongs to."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select

from alerts.alert_episodes import EndKind, Episode, EpisodeParams
from alerts.faults import JoinParams
from alerts.firings import Firing
from alerts.incidents import Incident, incident_json
from alerts.intake.enrichment import enrich, hear_firings, prometheus_firings
from alerts.intake.episode_rows import save_histories
from alerts.intake.fired import NOT_TOLD, firings_of_histories, unite_firings
from alerts.intake.linking import home_of, known_incident, link_episodes
from alerts.storing.databases import open_database
from alerts.storing.incident_store import IncidentStore
from alerts.storing.tables import ALERT_EPISODES, INCIDENTS
from slo.burn_rules import burn_labels, routed_labels
from slo.data_rules import data_labels
from slo.specs import load_ready

OBJECTIVE = load_ready()
KNOWN = {OBJECTIVE.name: OBJECTIVE}
PAGE = OBJECTIVE.windows[0]
START = datetime(2026, 1, 5, 1, 26, tzinfo=UTC)
RUN = {"cluster": "c", "run": "orion"}
PAIR = {"alertname": "TrainingStepsBudgetBurn", **RUN, **burn_labels(OBJECTIVE, PAGE)}
ROUTED = {"alertname": "TrainingStepsPage", **RUN, **routed_labels(OBJECTIVE, "page")}


def minutes(count: float) -> timedelta:
    """A length of time."""
    return timedelta(minutes=count)


def episode(
    labels: dict[str, str], start: datetime = START, end: datetime | None = None
) -> Episode:
    """An episode of an alert."""
    return Episode(
        fingerprint="-".join(sorted(labels.values())),
        starts_at=start,
        ends_at=end,
        end_kind=EndKind.RESOLVED if end else None,
        labels=labels,
        annotations={"summary": "Steps of others: budget burns fast", "runbook_url": "https://r"},
        seen_at=start,
    )


def firings(*histories: list[Episode], known: Any = KNOWN) -> list[Firing]:
    """The firings behind episodes."""
    return firings_of_histories(histories, known, EpisodeParams())


def test_pair() -> None:
    """A pair's alert is a firing of its objective and windows, without the counts."""
    (found,) = firings([episode(PAIR)])

    assert found == Firing(
        objective="training-steps",
        title=OBJECTIVE.title,
        promise=OBJECTIVE.promise,
        run="orion",
        severity="page",
        long_seconds=3600,
        short_seconds=300,
        factor=float(PAGE.factor),
        active_at=START - timedelta(seconds=PAGE.for_seconds),
        fired_at=START,
        runbook_url="https://r",
    )


def test_routed_alert() -> None:
    """An alert over the pairs is one of them, where they are told; else it says what it is not."""
    alone = firings([episode(ROUTED, START + minutes(1))])
    late = episode(ROUTED, START + minutes(90))
    both = firings([episode(PAIR, end=START + minutes(60))], [episode(ROUTED)], [late])

    assert [(one.pair, one.factor, one.active_at) for one in alone] == [
        ("6h/30m", None, START + minutes(1))
    ]
    assert alone[0].title == f"{OBJECTIVE.title} (pair of windows not told)"
    assert [one.fired_at for one in both] == [START, START + minutes(90)]


def test_unknown_objective() -> None:
    """Of an objective that we do not know, its alert tells the title and the windows."""
    odd = PAIR | {"objective": "x", "long": "2h", "short": "10m"}
    found = firings([episode(odd)], [episode(PAIR)], known={})

    assert sorted((one.title, one.promise, one.pair, one.factor) for one in found) == sorted(
        [
            ("Steps of others", NOT_TOLD, "2h/10m", None),
            ("Steps of others", NOT_TOLD, "1h/5m", 14.4),
        ],
        key=str,
    )


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"alertname": "NodeDown", "severity": "page"}, id="an alert of other rules"),
        pytest.param(RUN | data_labels(OBJECTIVE), id="an alert about data"),
        pytest.param(PAIR | {"long": "1 hour"}, id="a pair whose windows nobody can read"),
    ],
)
def test_no_burn(labels: dict[str, str]) -> None:
    """What tells of no burn is no firing."""
    assert firings([episode(labels)]) == []


def test_no_windows_of_a_severity() -> None:
    """A routed alert of a severity that the objective does not have is none of ours."""
    only_pages = replace(OBJECTIVE, windows=(PAGE,))
    ticket = {**RUN, **routed_labels(OBJECTIVE, "ticket")}

    assert firings([episode(ticket)], known={OBJECTIVE.name: only_pages}) == []


def test_restart() -> None:
    """Two episodes that a restart tore apart are one firing."""
    first = episode(PAIR, end=START + minutes(4))
    found = firings(
        [
            first,
            episode(PAIR, START + minutes(10)),
        ]
    )

    assert [(one.fired_at, one.resolved_at) for one in found] == [(START, None)]


def test_united() -> None:
    """Where we burn the same ourselves, ours stays: it knows the counts."""
    (told,) = firings([episode(PAIR)])
    (routed,) = firings([episode(ROUTED)])
    own = replace(told, long_bad=7.0)
    other = replace(told, run="lyra")

    assert unite_firings([own], [told, routed, other]) == [own, other]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An incident database."""
    engine = open_database(f"sqlite:///{tmp_path / 'paceline.db'}")
    yield engine
    engine.dispose()


def keep(engine: Engine, *histories: list[Episode]) -> None:
    """Write episodes."""
    after = {history[0].fingerprint: history for history in histories}
    with engine.begin() as connection:
        save_histories(connection, {}, after, {})


def homes(engine: Engine) -> dict[str, str | None]:
    """The incident of each alert, by its name."""
    with engine.begin() as connection:
        rows = connection.execute(select(ALERT_EPISODES.c.labels, ALERT_EPISODES.c.incident))
        return {labels["alertname"]: incident for labels, incident in rows}


def test_kept_firings(engine: Engine) -> None:
    """Firings last in the database until an hour after their end."""
    ended = episode(PAIR | {"run": "old"}, START - minutes(200), START - minutes(100))
    lately = episode(PAIR | {"run": "new"}, START - minutes(200), START - minutes(50))
    keep(engine, [ended], [lately], [episode(PAIR)], [episode({"alertname": "NodeDown"})])

    found = prometheus_firings(engine, KNOWN, now=START)

    assert [one.run for one in found] == ["new", "orion"]


def test_links(engine: Engine, slow_host_incident: Incident) -> None:
    """An alert belongs to the incident it names, burns, or is about the host or the run of."""
    row = {
        "number": 1,
        "id": "i",
        "state": "open",
        "severity": "page",
        "run": "orion",
        "title": "t",
        "reopened_count": 0,
        "likeness": "l",
        "body": incident_json(slow_host_incident),
        "first_seen": START,
        "updated": START,
        "version": 1,
    }
    with engine.begin() as connection:
        connection.execute(insert(INCIDENTS).values(**row))
        known = [known_incident(one) for one in connection.execute(select(INCIDENTS)).mappings()]
    keep(
        engine,
        [episode(PAIR)],
        [episode({"alertname": "NodeHot", "instance": "hx8-015:9100"})],
        [episode({"alertname": "PacelineIncident", "incident": "i"})],
        [episode({"alertname": "QueueLong", "run": "orion"})],
        [episode({"alertname": "Elsewhere", "run": "lyra", "host": "hx8-016"})],
    )
    counts = [link_episodes(engine, now=START) for _ in range(2)]

    assert counts == [4, 0]
    assert homes(engine) == {
        "TrainingStepsBudgetBurn": "i",
        "NodeHot": "i",
        "PacelineIncident": "i",
        "QueueLong": "i",
        "Elsewhere": None,
    }
    assert home_of(episode({"alertname": "PacelineIncident", "incident": "?"}), known) is None
    newer = [replace(known[0], id="newer", number=2, is_open=False), *known]
    assert home_of(episode({"alertname": "a", "run": "orion"}), newer) == "i"


def test_enriched(engine: Engine, slow_host_incident: Incident) -> None:
    """What Prometheus fired joins the finding that explains it: one incident, with its culprit."""
    store = IncidentStore(engine)
    now = START + minutes(5)
    store.refresh([replace(slow_host_incident, burns=())], now=START)
    nothing = enrich(store, KNOWN, now=now, joining=JoinParams())
    keep(engine, [episode(PAIR)])
    changes = enrich(store, KNOWN, now=now, joining=JoinParams())
    body = changes[0].after.body

    assert nothing == []
    assert len(changes) == 1
    assert [one["subject"]["host"] for one in body["suspects"]] == ["hx8-015"]
    assert [one["evidence"][0]["source"] for one in body["suspects"]] == ["steps"]
    assert [one["objective"] for one in body["burns"]] == ["training-steps"]
    assert homes(engine) == {"TrainingStepsBudgetBurn": changes[0].after.id}


def test_heard(engine: Engine) -> None:
    """A watch hears what lasts at each tick."""
    keep(engine, [episode(PAIR)])

    assert [one.run for one in hear_firings(engine, KNOWN, START)] == ["orion"]
