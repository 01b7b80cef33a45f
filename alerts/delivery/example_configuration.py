"""An Alertmanager configuration that works with us in both directions.

Source: Prometheus Alertmanager, "Configuration" (0.25), and `slo.alert_routes`. Everything of our
rules goes to the webhook first, the pairs with it, since a pair says how fast a budget burns; what
we push comes under one name, and a page of ours holds back those of Prometheus about the same run:
it tells of them.
"""

from collections.abc import Iterable
from typing import Final, cast

import yaml

from alerts.delivery.alert_forms import ALERT_NAME, INCIDENT_LABEL
from slo.alert_routes import alert_routes
from slo.objectives import Objective
from slo.yaml_text import dump_yaml

WEBHOOK: Final = "paceline"
_HEAD: Final = """\
# Alertmanager with Paceline: an example that works, to be merged into your own.
# Made by `alerts.delivery.example_configuration`; give `page`, `ticket` and `data` ways to people.
"""


def example_configuration(
    objectives: Iterable[Objective], *, webhook_url: str, token_file: str
) -> str:
    """Return a configuration of Alertmanager, as YAML.

    Args:
        objectives: Whose alerts it routes.
        webhook_url: Where our webhook is.
        token_file: File with the token of scope `ingest` that the webhook asks for.
    """
    # What `alert_routes` writes is a mapping with these three keys.
    whole = cast("dict[str, dict[str, list[object]]]", yaml.safe_load(alert_routes(objectives)))
    rest = cast("dict[str, list[object]]", whole)
    routes = whole["route"]["routes"]
    whole["route"]["routes"] = [_everything(), *_pushed(), *routes]
    rest["receivers"].append(_webhook(webhook_url, token_file))
    rest["inhibit_rules"].append(_inhibition())
    return _HEAD + dump_yaml(whole)


def _everything() -> dict[str, object]:
    """Return the route of all alerts of our rules to the webhook; other routes see them too."""
    return {
        "receiver": WEBHOOK,
        "matchers": ['objective!=""'],
        "group_by": ["objective", "run"],
        "group_wait": "10s",
        "group_interval": "1m",
        "repeat_interval": "5m",
        "continue": True,
    }


def _pushed() -> list[dict[str, object]]:
    """Return the routes of incidents that we push: one notification each."""
    return [
        {
            "receiver": severity,
            "matchers": [f'alertname="{ALERT_NAME}"', f'severity="{severity}"'],
            "group_by": [INCIDENT_LABEL],
            "group_wait": "0s",
        }
        for severity in ("page", "ticket")
    ]


def _webhook(url: str, token_file: str) -> dict[str, object]:
    authorization = {"type": "Bearer", "credentials_file": token_file}
    return {
        "name": WEBHOOK,
        "webhook_configs": [
            {
                "url": url,
                "send_resolved": True,
                "http_config": {"authorization": authorization},
            }
        ],
    }


def _inhibition() -> dict[str, object]:
    """Return that a page of ours holds back pages and tickets about its run."""
    return {
        "source_matchers": [f'alertname="{ALERT_NAME}"', 'severity="page"', 'run!=""'],
        "target_matchers": ['objective!=""', 'severity=~"page|ticket"'],
        "equal": ["run"],
    }
