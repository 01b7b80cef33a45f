"""What PagerDuty, Slack and webhooks are sent, and that no secret shows anywhere."""

import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from alerts.delivery.answers import Answer, Delivered, Later, Refused
from alerts.delivery.letters import Action, Letter
from alerts.delivery.receivers.alertmanager import AlertmanagerReceiver
from alerts.delivery.receivers.pagerduty import PagerDutyReceiver
from alerts.delivery.receivers.slack import MAX_SECTION, SlackReceiver, escaped, slack_message
from alerts.delivery.receivers.webhooks import WebhookReceiver
from alerts.delivery.telling import Places, links_of
from alerts.incidents import Incident
from alerts.notifications import parse_notification
from alerts.pages import page_text

NOW = datetime(2026, 1, 5, 2, tzinfo=UTC)
PLACES = Places(service_url="https://paceline.example/")
SECRET = "s3cret-0123456789"  # noqa: S105 - made up
TITLE = "orion runs slow: host hx8-015 (thermal)"


def letter(incident: Incident, action: Action = "trigger") -> Letter:
    """A letter about an incident."""
    return Letter(key="k", dedup_key="d" * 64, action=action, incident=incident, created=NOW)


def receivers(url: str) -> list[Any]:
    """One receiver of each kind, each with a secret."""
    secret = SecretStr(SECRET)
    return [
        PagerDutyReceiver(routing_key=secret, url=f"{url}/enqueue"),
        SlackReceiver(url=SecretStr(f"{url}/services/{SECRET}")),
        WebhookReceiver(url=SecretStr(f"{url}/hook/{SECRET}"), token=secret),
        AlertmanagerReceiver(url=SecretStr(url), token=secret),
    ]


def test_pagerduty(http_receiver: Any, slow_host_incident: Incident) -> None:
    """An event has the page in its details, the links, and one key from trigger to resolve."""
    team = PagerDutyReceiver(routing_key=SecretStr(SECRET), url=http_receiver.url, places=PLACES)
    actions: list[Action] = ["trigger", "acknowledge", "resolve"]
    answers = [team.send(letter(slow_host_incident, one), now=NOW) for one in actions]
    events = [orjson.loads(one.body) for one in http_receiver.received]

    head = {"routing_key": SECRET, "dedup_key": "d" * 64}
    assert answers == [Delivered()] * 3
    assert events[1:] == [head | {"event_action": one} for one in actions[1:]]
    assert events[0] == head | {
        "event_action": "trigger",
        "payload": {
            "summary": f"[PAGE] {TITLE}",
            "source": "host hx8-015",
            "severity": "critical",
            "timestamp": "2026-01-05T01:20:00Z",
            "custom_details": {"page": page_text(slow_host_incident)},
        },
        "links": [
            {"href": link.url, "text": link.text} for link in links_of(slow_host_incident, PLACES)
        ],
    }


def test_links(slow_host_incident: Incident) -> None:
    """Links lead to the incident, its runbook, and the dashboard at its time."""
    burn = replace(slow_host_incident.burns[0], runbook_url=None, dashboard_url=None)
    bare = replace(slow_host_incident, burns=(burn,))
    found = [link.url for link in links_of(slow_host_incident, PLACES)]

    assert found == [
        f"https://paceline.example/incidents/{slow_host_incident.id}",
        "https://runbooks.example/steps",
        "https://grafana.example/d/job?var-run=orion&from=1767574200000&to=now",
    ]
    assert links_of(bare, Places()) == ()
    assert [link.url for link in links_of(bare, PLACES)][1:] == [
        "https://paceline.example/runbooks/slow"
    ]
    assert [link.url for link in links_of(bare, Places(runbooks_url="https://r.example/"))] == [
        "https://r.example/slow"
    ]


def test_dashboard_of_the_past(slow_host_incident: Incident) -> None:
    """When the fault is over, its dashboard ends a little after it."""
    over = replace(slow_host_incident, cleared=datetime(2026, 1, 5, 2, tzinfo=UTC))
    timeless = replace(slow_host_incident, onset=None, detected=None)

    assert links_of(over, Places())[1].url.endswith("&from=1767574200000&to=1767580200000")
    assert links_of(timeless, Places())[1].url == "https://grafana.example/d/job?var-run=orion"


def test_slack(slow_host_incident: Incident) -> None:
    """A message has title, page and links; what data hold is neither markup nor a mention."""
    message: Any = slack_message(letter(slow_host_incident), PLACES)
    (attachment,) = message["attachments"]
    header, page, links = attachment["blocks"]

    assert message["text"] == header["text"]["text"] == f"[PAGE] {TITLE}"
    assert page["text"]["text"].startswith(f"```\n[PAGE] {TITLE}\n")
    assert "rank 116 takes &lt;1.4&gt; s &amp; more" in page["text"]["text"]
    assert links["elements"][0]["text"].startswith(
        f"<https://paceline.example/incidents/{slow_host_incident.id}|Incident> | <https://runbooks"
    )


def test_long_page(slow_host_incident: Incident) -> None:
    """A long page is cut between lines into sections that Slack takes."""
    suspect = slow_host_incident.suspects[0]
    seen = replace(suspect.evidence[0], what="`<!channel>` " + "&" * 300)
    noisy = replace(suspect, evidence=(seen,) * 4)
    incident = replace(slow_host_incident, suspects=(noisy,) * 3)
    message: Any = slack_message(letter(incident, "resolve"), Places())
    header, *pages, _links = message["attachments"][0]["blocks"]
    texts = [page["text"]["text"] for page in pages]

    assert header["text"]["text"] == f"Resolved: [PAGE] {TITLE}"
    assert len(texts) == 2
    assert max(map(len, texts)) <= MAX_SECTION
    assert all(text.count("```") == 2 for text in texts)
    assert "<!channel>" not in "".join(texts)


@given(text=st.text(alphabet="&<>ab", max_size=60), limit=st.integers(min_value=1, max_value=60))
def test_escaped(text: str, limit: int) -> None:
    """An escaped text fits, and no escape in it is cut in two."""
    found = escaped(text, limit)
    plain = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")

    assert len(found) <= limit
    assert text.startswith(plain.removesuffix("…"))


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        pytest.param(200, b"ok\n", Delivered(), id="taken"),
        pytest.param(200, b"invalid_blocks", Refused(reason="answered: invalid_blocks"), id="not"),
        pytest.param(404, b"no_team", Refused(reason="answered 404: no_team"), id="gone"),
        pytest.param(500, b"rollup_error", Later(reason="answered 500"), id="in trouble"),
        pytest.param(None, b"", Later(reason="no answer: RemoteDisconnected"), id="not there"),
    ],
)
def test_slack_answers(
    http_receiver: Any,
    slow_host_incident: Incident,
    status: int | None,
    body: bytes,
    expected: Answer,
) -> None:
    """Slack takes a message by saying `ok`, and by nothing else."""
    http_receiver.answers(status, body)
    team = SlackReceiver(url=SecretStr(http_receiver.url))

    assert team.send(letter(slow_host_incident), now=NOW) == expected


@pytest.mark.parametrize(
    ("action", "status"),
    [
        pytest.param("trigger", "firing", id="it fires"),
        pytest.param("acknowledge", "firing", id="somebody is at it"),
        pytest.param("resolve", "resolved", id="it is over"),
    ],
)
def test_webhook(
    http_receiver: Any, slow_host_incident: Incident, action: Action, status: str
) -> None:
    """A webhook reads like Alertmanager's, with episode, objectives and evidence beside it."""
    hook = WebhookReceiver(
        url=SecretStr(f"{http_receiver.url}/x"), token=SecretStr(SECRET), places=PLACES
    )
    answer = hook.send(letter(slow_host_incident, action), now=NOW)
    (got,) = http_receiver.received
    (alert,) = parse_notification(got.body).alerts
    ours = orjson.loads(got.body)

    assert (answer, alert.status) == (Delivered(), status)
    assert (got.headers["authorization"], got.headers["idempotency-key"]) == (
        f"Bearer {SECRET}",
        "k",
    )
    assert alert.labels == {
        "alertname": "PacelineIncident",
        "incident": slow_host_incident.id,
        "severity": "page",
        "run": "orion",
        "kind": "slow",
        "host": "hx8-015",
    }
    assert (ours["action"], ours["episode_id"], ours["slo"]) == (
        action,
        "d" * 64,
        ["training-steps"],
    )
    assert [one["cause"] for one in ours["evidence"]] == ["thermal"]


def test_no_secret_shows(
    http_receiver: Any, slow_host_incident: Incident, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither a receiver's looks, its refusals, nor any log holds a secret."""
    told = []
    with caplog.at_level(logging.DEBUG):
        for receiver in receivers(http_receiver.url):
            http_receiver.answers(403, f"who is {SECRET}?".encode())
            told.append(repr(receiver.send(letter(slow_host_incident), now=NOW)))
            told.append(repr(receiver))

    assert len(http_receiver.received) == 4
    assert SECRET not in "".join([*told, caplog.text])
    assert "answered 403: who is ***?" in told[0]
