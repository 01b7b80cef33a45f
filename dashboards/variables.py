"""What every board has beside its panels: variables, annotations, links, time and refresh."""

from dataclasses import dataclass

from dashboards.grafana import build_object, build_plain
from dashboards.jsontree import Json
from dashboards.normaliser import DATA_SOURCE

FOLDER_TITLE = "AI fleet"
FOLDER_UID = "aif"
FLEET_TAG = "ai-fleet"

# Grafana's own numbers, from its schema of variables.
REFRESH_ON_TIME_CHANGE = 2
SORT_ALPHABETICAL = 1
SORT_NUMERICAL = 3

# Sources are scraped every 15 s or slower: a faster refresh only costs queries.
REFRESH_CHOICES = ["30s", "1m", "5m", "15m", "30m", "1h"]

GRAFANA_SOURCE: Json = {"type": "grafana", "uid": "-- Grafana --"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What names a board and says how it opens.

    Attributes:
        uid: Stable for ever, since links and bookmarks hold it.
        title: Unique in the folder.
        description: The question that the board answers.
        start: Beginning of the range that it opens with, such as `now-6h`.
    """

    uid: str
    title: str
    description: str
    start: str


def build_board(head: Head, variables: list[Json], panels: list[Json]) -> Json:
    """Return a board as grafanalib encodes it, still to be made normal."""
    annotations = build_object("Annotations", list=build_annotations())
    return build_plain(
        "Dashboard",
        uid=head.uid,
        title=head.title,
        description=head.description,
        annotations=annotations,
        editable=False,
        graphTooltip=1,
        links=[_fleet_links()],
        panels=panels,
        refresh=REFRESH_CHOICES[1],
        tags=[FLEET_TAG],
        templating=build_object("Templating", list=variables),
        time=build_object("Time", start=head.start, end="now"),
        timePicker=build_object("TimePicker", refreshIntervals=REFRESH_CHOICES, timeOptions=[]),
        timezone="utc",
    )


def build_source_variable() -> Json:
    """Return the choice of the Prometheus to ask."""
    return build_plain(
        "Template", name="datasource", label="Data source", type="datasource", query="prometheus"
    )


def build_choice(name: str, label: str, query: str, *, numeric: bool = False) -> Json:
    """Return a variable with one value at a time."""
    return _query_variable(name, label, query, numeric=numeric)


def build_filter(name: str, label: str, query: str, *, numeric: bool = False) -> Json:
    """Return a variable that narrows a board, and opens with all values."""
    everything: Json = {
        "includeAll": True,
        "multi": True,
        "allValue": ".+",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }
    return _query_variable(name, label, query, numeric=numeric) | everything


def build_annotations() -> list[Json]:
    """Return what is drawn across all plots: what people did, what happened, what fired."""
    firing = 'ALERTS{alertstate="firing", severity=~"page|ticket", cluster="$cluster"}'
    return [
        _tagged("Incidents", "red", "incident"),
        _tagged("Deploys and maintenance", "blue", "deploy", "maintenance"),
        _tagged("Restarts", "orange", "restart"),
        _tagged("Checkpoints", "purple", "checkpoint"),
        {
            "name": "Alerts",
            "datasource": DATA_SOURCE,
            "enable": True,
            "iconColor": "orange",
            "target": {"expr": firing, "refId": "Anno"},
            "titleFormat": "{{alertname}}",
            "textFormat": "{{run}} {{node}}",
        },
    ]


def _tagged(name: str, color: str, *tags: str) -> Json:
    return {
        "name": name,
        "datasource": GRAFANA_SOURCE,
        "enable": True,
        "iconColor": color,
        "target": {"limit": 100, "matchAny": True, "tags": list(tags), "type": "tags"},
    }


def _fleet_links() -> Json:
    return build_plain(
        "DashboardLink",
        title="AI fleet boards",
        tags=[FLEET_TAG],
        asDropdown=True,
        includeVars=True,
        keepTime=True,
    )


def _query_variable(name: str, label: str, query: str, *, numeric: bool) -> Json:
    variable = build_plain(
        "Template",
        name=name,
        label=label,
        query=query,
        refresh=REFRESH_ON_TIME_CHANGE,
        sort=SORT_NUMERICAL if numeric else SORT_ALPHABETICAL,
    )
    return variable | {"definition": query}
