"""The API: it answers as its OpenAPI says, and whoever may not, or sends nonsense, is told so."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from sqlalchemy import select

from alerts.incidents import Incident
from alerts.service.action_routes import Step
from alerts.service.app import create_app
from alerts.service.live import Live
from alerts.service.settings import ServiceSettings
from alerts.service.token_buckets import Rate
from alerts.service.tokens import Scope, token_of
from alerts.service.webhook_routes import EXAMPLE
from alerts.storing.incident_store import IncidentStore
from alerts.storing.records import IncidentFilters, PageRequest
from alerts.storing.tables import INBOX

NAMES = ("anna", "board", "alertmanager", "hasty")
SECRETS = {name: f"{name}-token-0123456789" for name in NAMES}
TOKENS = (
    token_of("anna", SECRETS["anna"], [Scope.READ, Scope.ACT], Rate(per_second=1e6, burst=10**6)),
    token_of("board", SECRETS["board"], [Scope.READ]),
    token_of("alertmanager", SECRETS["alertmanager"], [Scope.INGEST]),
    token_of("hasty", SECRETS["hasty"], [Scope.READ], Rate(per_second=0.1, burst=1)),
)
MAX_BODY_BYTES = 10_000
PROBLEM = "application/problem+json"
FEW = settings(max_examples=3, suppress_health_check=[*HealthCheck])


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A service with one incident.

    Attributes:
        app: The app.
        store: Its store.
        id: Id of the incident.
    """

    app: FastAPI
    store: IncidentStore
    id: str

    def ask(self, method: str, path: str, who: str | None = "anna", **told: Any) -> Any:
        """Return the answer to a request; `{id}` in the path is the incident."""
        headers = dict(told.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {SECRETS.get(who, who)}"
        client = TestClient(self.app, raise_server_exceptions=False, follow_redirects=False)
        return client.request(method, path.replace("{id}", self.id), headers=headers, **told)

    def act(self, step: str, body: object = None, **headers: str) -> Any:
        """Return the answer to an action of Anna."""
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", f"/api/v1/incidents/{{id}}/{step}", json=body, headers=told)

    def kinds(self) -> list[str]:
        """Return what happened to the incident."""
        return [entry.kind for entry in self.store.history(self.id)]


def service(store: IncidentStore, live: Live, now: datetime, **told: Any) -> Api:
    """Return a service over a store with one incident."""
    options = {"tokens": TOKENS, "max_body_bytes": MAX_BODY_BYTES, **told}
    app = create_app(store, live=live, settings=ServiceSettings(**options), now=lambda: now)
    (record,) = store.find(IncidentFilters(), PageRequest()).records
    return Api(app=app, store=store, id=record.id)


@pytest.fixture(scope="module")
def still_api(
    open_thermal_store: Callable[[], AbstractContextManager[IncidentStore]],
    still_live: Live,
    service_now: datetime,
) -> Iterator[Api]:
    """A service with one incident, for requests that change nothing."""
    with open_thermal_store() as store:
        yield service(store, still_live, service_now)


@pytest.fixture
def make_api(
    thermal_store: IncidentStore, still_live: Live, service_now: datetime
) -> Callable[..., Api]:
    """A factory of services with one incident, with other settings or another watch."""

    def make(live: Live = still_live, **told: Any) -> Api:
        return service(thermal_store, live, service_now, **told)

    return make


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    """A service with one incident."""
    return make_api()


READS = [
    "/api/v1/incidents",
    "/api/v1/incidents/{id}",
    "/api/v1/incidents/{id}/history",
    "/api/v1/incidents/{id}/verdicts",
    "/api/v1/incidents/{id}/evidence",
    "/api/v1/verdicts",
    "/api/v1/slo",
    "/api/v1/sources",
    "/api/v1/nodes",
]
WRITES = [
    ("acknowledge", None),
    ("note", {"note": "seen"}),
    ("assign", {"assignee": "anna"}),
    ("merge", {"other": "x"}),
    ("split", {"verdicts": ["x"]}),
]


@pytest.mark.parametrize("path", READS)
def test_reads(still_api: Api, path: str) -> None:
    """What is asked for again and has not changed is not sent again."""
    first = still_api.ask("GET", path)
    again = still_api.ask(
        "GET", path, headers={"If-None-Match": f'"other", W/{first.headers["ETag"]}'}
    )

    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


@pytest.mark.parametrize("path", [*READS, "/metrics"])
def test_reads_are_guarded(still_api: Api, path: str) -> None:
    """Reading needs a known token that may read."""
    answers = [
        still_api.ask("GET", path, who) for who in (None, "nobody-0123456789", "alertmanager")
    ]

    assert [answer.status_code for answer in answers] == [401, 401, 403]
    assert {answer.headers["Content-Type"] for answer in answers} == {PROBLEM}
    assert all("WWW-Authenticate" in answer.headers for answer in answers)


@pytest.mark.parametrize(("step", "body"), WRITES)
def test_writes_are_guarded(still_api: Api, step: str, body: object) -> None:
    """Acting needs a token that may act; one that may read or ingest may not, nor may a cookie."""
    path = f"/api/v1/incidents/{{id}}/{step}"
    before = still_api.kinds()
    answers = [
        still_api.ask("POST", path, who, json=body) for who in (None, "board", "alertmanager")
    ]
    login = still_api.ask("POST", "/login", None, data={"token": SECRETS["anna"]})
    cookie = {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}
    by_cookie = still_api.ask("POST", path, None, json=body, headers=cookie)

    assert [one.status_code for one in (*answers, by_cookie)] == [401, 403, 403, 401]
    assert still_api.kinds() == before


def test_incident(still_api: Api) -> None:
    """An incident is told with its times from the onset and with what it rests on."""
    told = still_api.ask("GET", "/api/v1/incidents/{id}").json()
    seen = still_api.ask("GET", "/api/v1/incidents/{id}/evidence").json()["evidence"]

    assert (told["state"], told["severity"], told["ttd_seconds"]) == ("open", "page", 240.0)
    assert told["body"]["suspects"][0]["subject"]["host"] == "hx8-015"
    assert [one["source"] for one in seen] == ["gpu samples", "rank-116.log:120"]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        pytest.param("", 1, id="all"),
        pytest.param("?state=open&state=resolved", 1, id="any of two states"),
        pytest.param("?state=resolved", 0, id="another state"),
        pytest.param("?severity=page&run=W-TRAIN&host=hx8-015&kind=slow", 1, id="all at once"),
        pytest.param("?host=hx8-016", 0, id="another host"),
        pytest.param("?since=2026-01-05T02:15:00%2B01:00", 1, id="since its onset, in a zone"),
        pytest.param("?since=2026-01-06T00:00:00Z", 0, id="since later"),
        pytest.param("?before=1", 0, id="nothing before the first"),
    ],
)
def test_filters(still_api: Api, query: str, count: int) -> None:
    """A list holds the incidents that fit every filter."""
    assert len(still_api.ask("GET", f"/api/v1/incidents{query}").json()["incidents"]) == count


@pytest.mark.parametrize(
    ("query", "count"),
    [
        pytest.param("", 1, id="all"),
        pytest.param("?kind=slow&host=hx8-015&lasting=true", 1, id="all filters at once"),
        pytest.param("?kind=hang", 0, id="another kind"),
        pytest.param("?host=hx8-016", 0, id="another host"),
        pytest.param("?after=gone", 0, id="after one that is not there"),
    ],
)
def test_verdict_filters(still_api: Api, query: str, count: int) -> None:
    """A list holds the findings that fit every filter."""
    assert len(still_api.ask("GET", f"/api/v1/verdicts{query}").json()["verdicts"]) == count


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("?limit=0", id="an empty page"),
        pytest.param("?limit=100000", id="an endless page"),
        pytest.param("?before=99999999999999999999", id="a number beyond every database"),
        pytest.param("?since=2026-01-05T01:15:00", id="a time without a zone"),
        pytest.param("?since=9999-12-31T23:59:59-12:00", id="a time beyond the calendar"),
        pytest.param("?run=%00", id="a zero byte"),
        pytest.param("?state=broken", id="no state of ours"),
        pytest.param("?colour=red", id="no filter of ours"),
    ],
)
def test_bad_queries(still_api: Api, query: str) -> None:
    """A query that does not fit is refused with the place that does not, and not with its text."""
    answer = still_api.ask("GET", f"/api/v1/incidents{query}")

    assert (answer.status_code, answer.headers["Content-Type"]) == (422, PROBLEM)
    assert answer.json()["errors"][0]["place"].startswith("query.")


def test_actions(api: Api) -> None:
    """An incident goes through its life, each step said by whoever took it."""
    steps = ("acknowledge", "mitigate", "resolve", "reopen")
    answers = [api.act(step, {"note": "why"}) for step in steps]
    noted = api.act("note", {"note": "fan 3 stands still\nordered"})
    assigned = api.act("assign", {"assignee": None})

    states = [one.json()["state"] for one in (*answers, noted)]
    assert states == ["acknowledged", "mitigated", "resolved", "open", "open"]
    assert assigned.json()["assignee"] is None
    assert {entry.actor for entry in api.store.history(api.id)} == {"data", "anna"}


def test_replay(api: Api) -> None:
    """The same request again is done once; its key for another request is refused."""
    once = api.act("note", {"note": "seen"}, Idempotency_Key="k1")
    again = api.act("note", {"note": "seen"}, Idempotency_Key="k1")
    other = api.act("resolve", Idempotency_Key="k1")

    assert (once.status_code, again.status_code, other.status_code) == (200, 200, 422)
    assert api.kinds().count("note") == 1


def test_if_match(api: Api) -> None:
    """A write over a version that is not the caller's is refused."""
    tag = api.ask("GET", "/api/v1/incidents/{id}").headers["ETag"]
    answers = [
        api.act("note", {"note": "first"}, If_Match=tag),
        api.act("note", {"note": "second"}, If_Match=tag),
        api.act("note", {"note": "third"}, If_Match='W/"v1"'),
        api.act("note", {"note": "fourth"}, If_Match="*"),
    ]

    assert [one.status_code for one in answers] == [200, 412, 412, 200]


@pytest.mark.parametrize(
    ("step", "body", "status"),
    [
        pytest.param("reopen", None, 409, id="a step that the state does not allow"),
        pytest.param("explode", None, 422, id="no step of ours"),
        pytest.param("note", {"note": ""}, 422, id="an empty note"),
        pytest.param("note", {"note": "x" * 5000}, 422, id="a note without an end"),
        pytest.param("note", {"note": "a\x00b"}, 422, id="a zero byte"),
        pytest.param("note", {"note": "x", "more": 1}, 422, id="a key that is not known"),
        pytest.param("merge", {"other": "gone"}, 404, id="a merge with nothing"),
        pytest.param("merge", {"other": "{id}"}, 409, id="a merge with itself"),
        pytest.param("split", {"verdicts": ["gone"]}, 409, id="a split of what it does not have"),
    ],
)
def test_refused_actions(still_api: Api, step: str, body: object, status: int) -> None:
    """What cannot be done is refused, and nothing is written."""
    before = still_api.kinds()
    answer = still_api.act(step, json.loads(json.dumps(body).replace("{id}", still_api.id)))

    assert (answer.status_code, answer.headers["Content-Type"]) == (status, PROBLEM)
    assert still_api.kinds() == before


def test_merge_and_split(api: Api, slow_host_incident: Incident, service_now: datetime) -> None:
    """Incidents are merged by hand, and a finding is split off again as one of its own."""
    api.store.refresh([slow_host_incident], now=service_now)
    listed = api.ask("GET", "/api/v1/incidents").json()["incidents"]
    (other,) = [one["id"] for one in listed if one["id"] != api.id]
    found = api.ask("GET", f"/api/v1/incidents/{other}/verdicts").json()["verdicts"]
    merged = api.act("merge", {"other": other})
    whole = api.ask("GET", "/api/v1/incidents/{id}/verdicts").json()["verdicts"]
    split = api.act("split", {"verdicts": [found[0]["id"]]})
    rest = api.ask("GET", "/api/v1/incidents/{id}/verdicts").json()["verdicts"]

    assert [one.status_code for one in (merged, split)] == [200, 200]
    assert (len(whole), len(rest)) == (2, 1)
    assert split.json()["id"] not in {api.id, other}


def test_surrogates(still_api: Api) -> None:
    """A half of a letter, which no database takes, is refused."""
    answer = still_api.ask(
        "POST",
        "/api/v1/incidents/{id}/note",
        content=b'{"note": "\\ud800"}',
        headers={"Content-Type": "application/json"},
    )

    assert answer.status_code == 422


def queued(api: Api) -> int:
    """Return how many messages wait in the inbox."""
    with api.store.engine.connect() as connection:
        return len(connection.execute(select(INBOX)).all())


def webhook(api: Api, body: object, who: str | None = "alertmanager") -> Any:
    """Return the answer to a webhook."""
    return api.ask("POST", "/api/v1/alertmanager", who, json=body)


def test_webhook(api: Api) -> None:
    """A message is queued once however often it comes, and unknown keys are left alone."""
    later = EXAMPLE | {"notification_reason": "repeat"}
    answers = [webhook(api, body) for body in (EXAMPLE, EXAMPLE, later)]

    assert [one.status_code for one in answers] == [202, 202, 202]
    assert answers[0].json() == answers[1].json()
    assert queued(api) == 2


@pytest.mark.parametrize(
    ("body", "who", "status"),
    [
        pytest.param(EXAMPLE, None, 401, id="nobody"),
        pytest.param(EXAMPLE, "anna", 403, id="somebody who may read and act"),
        pytest.param({}, "alertmanager", 400, id="no webhook"),
        pytest.param(EXAMPLE | {"version": "3"}, "alertmanager", 400, id="an older version"),
        pytest.param(EXAMPLE | {"groupKey": "x" * 20_000}, "alertmanager", 413, id="too large"),
    ],
)
def test_refused_webhooks(still_api: Api, body: object, who: str | None, status: int) -> None:
    """What may not, or can never be understood, is refused and not queued."""
    answer = webhook(still_api, body, who)

    assert (answer.status_code, answer.headers["Content-Type"]) == (status, PROBLEM)
    assert queued(still_api) == 0


def test_oversized_stream(still_api: Api) -> None:
    """A body that does not say its length is cut off where it becomes too large."""
    sent = list[int]()

    def endless() -> Any:
        for number in range(1000):
            sent.append(number)
            yield b" " * 1000

    answer = still_api.ask("POST", "/api/v1/alertmanager", "alertmanager", content=endless())

    assert (answer.status_code, answer.headers["Content-Type"]) == (413, PROBLEM)
    assert queued(still_api) == 0


def test_rate(api: Api) -> None:
    """A token that asks too often is told when to come back; others are not held up."""
    answers = [api.ask("GET", "/api/v1/sources", who) for who in ("hasty", "hasty", "board")]

    assert [one.status_code for one in answers] == [200, 429, 200]
    assert answers[1].headers["Retry-After"] == "10"


def test_guessing(make_api: Callable[..., Api]) -> None:
    """Unknown tokens share one rate, so that nobody guesses for long and no known one suffers."""
    api = make_api(anonymous_rate=Rate(per_second=0.001, burst=3))
    guesses = [api.ask("GET", "/api/v1/sources", f"guess-{at}-0123456789") for at in range(5)]

    assert [one.status_code for one in guesses] == [401, 401, 401, 429, 429]
    assert api.ask("GET", "/api/v1/sources", "board").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Host": "127.0.0.1:8000"}, 200, id="this machine"),
        pytest.param({"Host": "localhost"}, 200, id="this machine by name"),
        pytest.param({"Host": "rebound.example"}, 401, id="a name of a stranger that leads here"),
        pytest.param(
            {"Host": "localhost", "Sec-Fetch-Site": "cross-site"}, 401, id="another site's page"
        ),
        pytest.param(
            {"Host": "localhost", "Sec-Fetch-Site": "same-origin"}, 200, id="a page of ours"
        ),
    ],
)
def test_anonymous(make_api: Callable[..., Api], headers: dict[str, str], status: int) -> None:
    """What is open without a token is open to this machine alone, for acting as for reading."""
    api = make_api(anonymous_scopes=frozenset(Scope))
    answers = [
        api.ask("GET", "/api/v1/sources", None, headers=headers),
        api.ask("POST", "/api/v1/incidents/{id}/acknowledge", None, headers=headers),
    ]

    assert [one.status_code for one in answers] == [status, status]


@pytest.mark.parametrize(
    ("age_seconds", "expected"),
    [
        pytest.param(12, (200, "ready"), id="a young tick"),
        pytest.param(301, (503, "not ready"), id="an old tick"),
        pytest.param(-60, (200, "ready"), id="a clock that was set back"),
        pytest.param(None, (503, "not ready"), id="no tick yet"),
    ],
)
def test_readiness(
    make_api: Callable[..., Api],
    still_live: Any,
    service_now: datetime,
    age_seconds: int | None,
    expected: tuple[int, str],
) -> None:
    """The service is ready while its database answers and its last tick is young."""
    tick = None if age_seconds is None else service_now - timedelta(seconds=age_seconds)
    answer = make_api(replace(still_live, tick=tick)).ask("GET", "/readyz", None)

    assert (answer.status_code, answer.json()["status"]) == expected


def test_lost_database(api: Api) -> None:
    """Without its database the service lives, is not ready, and says so without internals."""
    api.store.engine.dispose()
    path = api.store.engine.url.database
    assert path is not None
    with api.store.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE incident_history")
    answer = api.ask("GET", "/api/v1/incidents/{id}/history")

    assert (api.ask("GET", "/healthz", None).status_code, answer.status_code) == (200, 503)
    assert [word for word in (path, "incident_history", "sqlite") if word in answer.text] == []


def test_metrics(still_api: Api, still_live: Live) -> None:
    """Prometheus gets what the watch exposes, byte for byte."""
    answer = still_api.ask("GET", "/metrics")

    assert answer.content == still_live.metrics()
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_answers_are_closed(still_api: Api) -> None:
    """Every answer forbids to be framed, guessed, kept or sent on, a refusal too."""
    answers = [still_api.ask("GET", path) for path in ("/healthz", "/nowhere", "/api/v1/incidents")]
    answers.append(webhook(still_api, EXAMPLE | {"groupKey": "x" * 20_000}))

    assert [one.headers["X-Content-Type-Options"] for one in answers] == ["nosniff"] * 4
    assert {one.headers["Content-Security-Policy"] for one in answers} == {
        "default-src 'none'; frame-ancestors 'none'"
    }


def test_secrets_stay_here(still_api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """No token is said back or logged, wherever it was put."""
    secret = SECRETS["anna"]
    answers = [
        still_api.ask("GET", f"/api/v1/incidents?token={secret}"),
        still_api.act("note", {"note": 1, "token": secret}),
        still_api.ask("POST", "/api/v1/alertmanager", "alertmanager", json={"status": secret}),
        still_api.ask("GET", "/api/v1/sources", f"{secret}-wrong"),
    ]

    assert [one.status_code for one in answers] == [422, 422, 400, 401]
    assert [one.text for one in answers if secret in one.text] == []
    assert secret not in caplog.text


def test_guide(still_api: Api) -> None:
    """Each path and each scope that the guide names is there, and each path of the API is named."""
    guide = (Path(__file__).parent.parent / "docs" / "guides" / "use-the-api.md").read_text("utf-8")
    told = still_api.app.openapi()["paths"]
    reads = {path.replace("{incident_id}", "ID") for path in told if "get" in told[path]}
    steps = {*get_args(Step), *(step for step, _ in WRITES)}

    assert set(re.findall(r"`GET (/api/v1/\S+)`", guide)) == {
        path for path in reads if path.startswith("/api/v1")
    }
    assert [name for name in (*steps, *Scope) if f"`{name}`" not in guide] == []


def test_schemathesis(api: Api) -> None:
    """Whatever the OpenAPI allows, and what it does not, gets an answer that it tells of."""
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", api.app)
    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]
    asked = Counter[str]()

    def ask(case: Case) -> None:
        asked[case.operation.label] += 1
        if asked[case.operation.label] % 2 and "incident_id" in case.path_parameters:
            case.path_parameters["incident_id"] = api.id
        who = "alertmanager" if case.path.endswith("alertmanager") else "anna"
        case.call_and_validate(headers={"Authorization": f"Bearer {SECRETS[who]}"}, checks=checks)

    for found in schema.get_all_operations():
        operation = found.ok()
        FEW(given(case=operation.as_strategy())(ask))()
        if operation.method == "post":
            wrong = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
            FEW(given(case=wrong)(ask))()

    assert len(asked) == len(READS) + len(WRITES) + len(("webhook", "healthz", "readyz", "metrics"))
