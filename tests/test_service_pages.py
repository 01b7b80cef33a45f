"""The pages: what stands on them, in words, harmless whatever the data hold."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from alerts.incidents import Incident
from alerts.service.app import create_app
from alerts.service.pages.rendering import whole_page
from alerts.service.settings import ServiceSettings
from alerts.service.tokens import Scope, token_of
from alerts.storing.incident_store import IncidentStore
from paceline.reports.rank_map import MISSING_COLOR, RATIO_COLORS, RATIO_STOPS

SECRETS = {name: f"{name}-token-0123456789" for name in ("anna", "board", "alertmanager")}
TOKENS = (
    token_of("anna", SECRETS["anna"], [Scope.READ, Scope.ACT]),
    token_of("board", SECRETS["board"], [Scope.READ]),
    token_of("alertmanager", SECRETS["alertmanager"], [Scope.INGEST]),
)
HTML = {"Accept": "text/html"}
DRAWING = "<svg><title>a drawing</title></svg>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """A browser before a service.

    Attributes:
        client: Keeps cookies.
        store: The service's store.
    """

    client: TestClient
    store: IncidentStore

    def read(self, path: str) -> str:
        """Return a page."""
        answer = self.client.get(path, headers=HTML)
        assert answer.status_code == 200, answer.text
        return answer.text

    def words(self, path: str) -> str:
        """Return what a page says, without its markup."""
        (main,) = re.findall(r"<main.*</main>", self.read(path), re.DOTALL)
        return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", main)))

    def incident(self) -> str:
        """Return the path of the first incident of the list."""
        return re.findall(r'href="(/incidents/\w+)"', self.read("/?show=all"))[0]

    def fields(self, path: str, form: str) -> dict[str, str]:
        """Return the hidden fields of a form on a page."""
        (found,) = re.findall(rf'action="{form}"[^>]*>(.*?)</form>', self.read(path), re.DOTALL)
        return dict(re.findall(r'name="(\w+)" value="([^"]*)"', found))

    def send(self, form: str, **told: str) -> Any:
        """Return the answer to a form of the first incident."""
        path = f"{self.incident()}/{form}"
        return self.client.post(path, data=self.fields(self.incident(), path) | told, headers=HTML)


@pytest.fixture
def browse(
    thermal_store: IncidentStore, still_live: Any, service_now: datetime
) -> Callable[..., Browser]:
    """A factory of browsers that are logged in."""

    def open_browser(who: str | None = "anna", live: Any = still_live, **told: Any) -> Browser:
        settings = ServiceSettings(tokens=TOKENS, **told)
        app = create_app(thermal_store, live=live, settings=settings, now=lambda: service_now)
        client = TestClient(app, follow_redirects=False)
        if who is not None:
            client.post("/login", data={"token": SECRETS[who]})
        return Browser(client=client, store=thermal_store)

    return open_browser


def test_headline(browse: Callable[..., Browser]) -> None:
    """An incident says first who is accused, on what evidence, and what to do."""
    browser = browse()
    told = browser.words(browser.incident())
    wanted = [
        "page ▲ open incident 1, nobody has it yet",
        "W-TRAIN runs slow: gpu 4 (rank 116) on hx8-015 (thermal)",
        "Slow, 1.31x of its reference, thermal, against 255 peers, confidence high.",
        "SM clock 1.485 GHz where 255 peers have 1.95 GHz",
        "Drain the node after the next checkpoint; check fans, inlet and thermal paste.",
        "Acknowledge",
        "Detected 2026-01-05 01:19:00 +4m 0s",
        "page 1h/5m fires since 2026-01-05 01:27:02 14.4x 15.1x, 100x 38.5x, 100x",
    ]
    places = [told.find(words) for words in wanted]

    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize(
    "path",
    ["/", "/fleet", "/runbooks", "/runbooks/hang", "{incident}"],
)
def test_nothing_from_elsewhere(browse: Callable[..., Browser], path: str) -> None:
    """A page loads nothing, runs only its own script, and may not be framed."""
    browser = browse()
    answer = browser.client.get(path.replace("{incident}", browser.incident()), headers=HTML)
    policy = answer.headers["Content-Security-Policy"]
    (nonce,) = set(re.findall(r"'nonce-([\w-]+)'", policy))

    assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(policy.split("; "))
    assert set(re.findall(r'<(?:script|style) nonce="([\w-]+)">', answer.text)) == {nonce}
    assert re.findall(r"<(?:script|style)(?! nonce)|\bon\w+=\"|style=\"", answer.text) == []
    assert re.findall(r'(?:src|href)="(?!/|#|data:,|\w+")[^"]*"', answer.text) in (
        [],
        ['href="https://grafana.example/d/aif-job"'],
    )


def test_hostile_words(browse: Callable[..., Browser]) -> None:
    """Markup in evidence and in raw lines is text, marks of direction are shown as lost letters."""
    browser = browse()
    path = browser.incident()
    (raw,) = [
        link
        for link in re.findall(r'data-raw="([^"]+)"', browser.read(path))
        if "step 119" in browser.read(link)
    ]
    pages = [browser.read(path), browser.read(raw)]

    assert all("&lt;script&gt;alert(1)&lt;/script&gt;" in page for page in pages)
    assert [page for page in pages if "<script>alert" in page or "\u202e" in page] == []
    assert 'href="javascript:' not in pages[0]


def test_notes_are_text(browse: Callable[..., Browser]) -> None:
    """A note with markup is shown as it was written."""
    browser = browse()
    answer = browser.send("note", note="<b onclick=alert(1)>fan\r\n{{ 7 * 7 }}")

    assert answer.status_code == 303
    assert "note: <b onclick=alert(1)>fan {{ 7 * 7 }}" in browser.words(browser.incident())
    assert "<b onclick" not in browser.read(browser.incident())


def test_life(browse: Callable[..., Browser]) -> None:
    """Forms take an incident through its life, and the page says who did what."""
    browser = browse()
    for form in ("take", "acknowledge", "mitigate", "resolve"):
        assert browser.send(form).headers["Location"] == browser.incident()
    told = browser.words(browser.incident())

    assert "■ resolved incident 1, anna works on it" in told
    assert "It is over: by anna." in told
    assert "No incident is open. That is no proof of health" in browser.words("/")
    assert browser.send("reopen").status_code == 303
    assert "▲ open" in browser.words(browser.incident())


def test_pressing_twice(browse: Callable[..., Browser]) -> None:
    """A form that is sent twice is done once."""
    browser = browse()
    form = f"{browser.incident()}/note"
    fields = browser.fields(browser.incident(), form) | {"note": "seen"}
    answers = [browser.client.post(form, data=fields) for _ in range(2)]
    kinds = [one.kind for one in browser.store.history(browser.incident().rpartition("/")[2])]

    assert [one.status_code for one in answers] == [303, 303]
    assert kinds.count("note") == 1


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        pytest.param({"form_token": "forged"}, 403, id="a form of another site"),
        pytest.param({"form_token": "ü" * 40}, 403, id="a token in other letters"),
        pytest.param({"key": "a b"}, 422, id="a key that is none"),
        pytest.param({"more": "1"}, 422, id="a field that is not known"),
    ],
)
def test_forged_forms(browse: Callable[..., Browser], changed: dict[str, str], status: int) -> None:
    """A form that is not from a page of this login does nothing."""
    browser = browse()
    answer = browser.send("resolve", **changed)

    assert (answer.status_code, "▲ open" in browser.words(browser.incident())) == (status, True)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"


def test_readers_see_no_forms(browse: Callable[..., Browser]) -> None:
    """Who may only read sees no button, and cannot send what a button would."""
    browser = browse("board")
    path = browser.incident()
    answer = browser.client.post(f"{path}/resolve", data={"form_token": "x", "key": "k"})

    assert "You may read here." in browser.words(path)
    assert "<textarea" not in browser.read(path)
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("path", "location"),
    [
        pytest.param("/", "/login?next=/", id="the list"),
        pytest.param("/incidents/abc", "/login?next=/incidents/abc", id="a link from a page"),
        pytest.param("/incidents/%0d%0aX", "/login?next=/incidents/X", id="a line in it"),
    ],
)
def test_login_first(browse: Callable[..., Browser], path: str, location: str) -> None:
    """Without a login every page leads to it, and from there back."""
    answer = browse(None).client.get(path, headers=HTML)

    assert (answer.status_code, answer.headers["Location"]) == (303, location)


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        pytest.param("/incidents/abc", "/incidents/abc", id="a page of ours"),
        pytest.param("//evil.example", "/", id="another host"),
        pytest.param("https://evil.example", "/", id="another site"),
        pytest.param("/\\evil.example", "/", id="a backslash"),
        pytest.param("/a\r\nSet-Cookie: x=y", "/", id="a line"),
    ],
)
def test_where_a_login_leads(browse: Callable[..., Browser], asked: str, place: str) -> None:
    """A login leads to a page of ours and nowhere else."""
    client = browse(None).client
    answer = client.post("/login", data={"token": SECRETS["anna"], "next": asked})

    assert (answer.status_code, answer.headers["Location"]) == (303, place)
    assert {"HttpOnly", "SameSite=lax"} <= set(answer.headers["Set-Cookie"].split("; "))
    assert SECRETS["anna"] not in answer.headers["Set-Cookie"]


@pytest.mark.parametrize(
    ("token", "headers", "status", "words"),
    [
        pytest.param("guess-0123456789", {}, 401, "This token is not known.", id="a guess"),
        pytest.param(SECRETS["alertmanager"], {}, 403, "may not read pages", id="a program's"),
        pytest.param(
            SECRETS["anna"], {"Sec-Fetch-Site": "cross-site"}, 403, "log in on", id="another site's"
        ),
    ],
)
def test_refused_logins(
    browse: Callable[..., Browser], token: str, headers: Mapping[str, str], status: int, words: str
) -> None:
    """Who may not read pages gets no login, and is told why."""
    answer = browse(None).client.post("/login", data={"token": token}, headers=HTML | headers)

    assert (answer.status_code, words in answer.text) == (status, True)
    assert "Set-Cookie" not in answer.headers
    assert token not in answer.text


def test_logout(browse: Callable[..., Browser]) -> None:
    """A login ends in this browser when its own page asks for it."""
    browser = browse()
    forged = browser.client.post("/logout", data={"form_token": "x"})
    ended = browser.client.post("/logout", data=browser.fields("/", "/logout"))

    assert (forged.status_code, ended.headers["Location"]) == (403, "/login")
    assert browser.client.get("/").status_code == 303


def test_without_tokens(browse: Callable[..., Browser]) -> None:
    """Without a login a link to this machine is followed, and a form from elsewhere is not."""
    browser = browse(None, anonymous_scopes=frozenset(Scope))
    browser.client.base_url = "http://localhost"
    elsewhere = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    followed = browser.client.get("/", headers=elsewhere)
    form = f"{browser.incident()}/acknowledge"
    fields = browser.fields(browser.incident(), form)
    answers = [browser.client.post(form, data=fields, headers=one) for one in (elsewhere, {})]

    assert followed.status_code == 200
    assert [one.headers["Location"] for one in answers] == ["/login?next=/", browser.incident()]


def test_https(browse: Callable[..., Browser]) -> None:
    """Over TLS the cookie never goes without."""
    client = browse(None, is_https=True).client
    answer = client.post("/login", data={"token": SECRETS["anna"]})

    assert "Secure" in answer.headers["Set-Cookie"].split("; ")


def test_fleet(browse: Callable[..., Browser]) -> None:
    """The fleet says in words what is suspect, silent since when, and unknown."""
    told = browse().words("/fleet")
    wanted = [
        "1 of 3 sources are current; 2 silent or unknown",
        "1 suspect, 1 silent, 1 unknown, 1 without a finding",
        "hx8-015 suspect: slow",
        "hx8-017 silent since 2026-01-05 00:40:02 UTC",
        "hx8-018 unknown: never heard of",
        "1 without a finding hx8-016 no finding",
        "rack-7 logs ◌ unknown, silent since 2026-01-05 00:30:02 UTC",
        "switch telemetry ? unknown, never heard of not known not known",
        "page 1h/5m: 38.5x, 100x, threshold 14.4x ▲ fires",
        "threshold 3x, so whether it should fire is not known",
        "gpu 4 (rank 116) on hx8-015 : slow, 1.31x of its reference",
    ]

    assert [words for words in wanted if words not in told] == []


def test_nothing_known(browse: Callable[..., Browser], still_live: Any) -> None:
    """Where nothing is known every page says so, and none says that all is well."""
    empty = replace(
        still_live, tick=None, source_states=(), node_states=(), slo_states=(), lines={}
    )
    browser = browse(live=empty)
    fleet, incident = browser.words("/fleet"), browser.words(browser.incident())
    wanted = [
        "The watch has not looked yet: nothing below is known to be so now.",
        "No source is configured, so nothing is watched.",
        "No node is known",
        "No objective is evaluated.",
    ]

    assert [words for words in wanted if words not in fleet] == []
    assert "15.1x, 100x not known" in incident
    assert "Nothing is drawn" in incident


def test_old_look(browse: Callable[..., Browser], still_live: Any, service_now: datetime) -> None:
    """A page whose last look is old says so above everything else."""
    old = replace(still_live, tick=service_now - timedelta(hours=1))
    browser = browse(live=old)
    told = browser.words(browser.incident())

    assert "The watch has not looked since 2026-01-05 00:40:02 UTC: what stands below" in told


def test_unknown_suspect(
    browse: Callable[..., Browser], thermal_incident: Incident, service_now: datetime
) -> None:
    """Where nobody is accused the page says what would decide, and accuses nobody."""
    browser = browse()
    burn_only = replace(
        thermal_incident,
        id="0123456789abcdef",
        title="eval burns its error budget, suspect unknown",
        run="eval",
        suspects=(),
        needed="step records of each rank",
        burns=tuple(replace(one, run="eval") for one in thermal_incident.burns),
    )
    browser.store.refresh([burn_only], now=service_now)
    told = browser.words(browser.incident())

    assert "Suspect Unknown Nobody is accused: the data cannot tell." in told
    assert "What would decide: step records of each rank." in told
    assert "Runbook: unknown" in told


def test_only_what_changed(browse: Callable[..., Browser]) -> None:
    """An open page asks for its parts again and gets them, or that nothing has changed."""
    browser = browse()
    ask = {"X-Paceline-Part": "live"}
    first = browser.client.get(browser.incident(), headers=ask)
    again = {**ask, "If-None-Match": first.headers["ETag"]}
    same = browser.client.get(browser.incident(), headers=again)
    browser.send("acknowledge")
    after = browser.client.get(browser.incident(), headers=again)

    assert "<html" not in first.text
    assert "<textarea" not in first.text
    assert (same.status_code, after.status_code) == (304, 200)
    assert "acknowledged" in after.text


def test_plots(browse: Callable[..., Browser], still_live: Any) -> None:
    """Drawings stand in their order under their captions, unknown ones after them."""
    drawn = replace(
        still_live,
        drawings=dict.fromkeys(
            ["zoo", "steps", "peers-2: SM clock of gpu 4", "peers-1", "ranks"], DRAWING
        ),
    )
    browser = browse(live=drawn)
    captions = re.findall(r"<figcaption><strong>([^<]+)", browser.read(browser.incident()))

    assert captions == [
        "Rank by time",
        "The suspect against its peers",
        "SM clock of gpu 4",
        "Step time",
        "Zoo",
    ]


def test_colours_of_the_map(browse: Callable[..., Browser], still_live: Any) -> None:
    """The key below the map has the colours and the stops of the map."""
    browser = browse(live=replace(still_live, drawings={"ranks": DRAWING}))
    page = browser.read(browser.incident())
    colours = re.findall(r"\.key\.as-\w+ \{ background: (#\w+)", page)
    stops = re.findall(r"</i>([\d.]+)x", page)

    assert colours == [*RATIO_COLORS, MISSING_COLOR]
    assert [float(stop) for stop in stops] == [*RATIO_STOPS]


def test_runbook_links(browse: Callable[..., Browser]) -> None:
    """An incident links to the page for its kind: the service's own, or the team's."""
    own, theirs = browse(), browse(runbook_base_url="https://wiki.example/gpu")

    assert 'href="/runbooks/slow"' in own.read(own.incident())
    assert 'href="https://wiki.example/gpu/slow"' in theirs.read(theirs.incident())
    assert "What not to do" in own.words("/runbooks/slow")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        pytest.param("/incidents/gone", 404, id="no such incident"),
        pytest.param("/incidents/%00", 422, id="no id of ours"),
        pytest.param("/runbooks/gone", 404, id="no such kind"),
        pytest.param("/nowhere", 404, id="no such page"),
        pytest.param("/?show=broken", 422, id="no such list"),
        pytest.param("{incident}/raw/gone", 404, id="no such evidence"),
    ],
)
def test_missing_pages(browse: Callable[..., Browser], path: str, status: int) -> None:
    """What is not there is said on a page, under the same policy as any other."""
    browser = browse()
    answer = browser.client.get(path.replace("{incident}", browser.incident()), headers=HTML)

    assert (answer.status_code, "To the incidents" in answer.text) == (status, True)
    assert "'nonce-" in answer.headers["Content-Security-Policy"]


def test_older_ones(browse: Callable[..., Browser], thermal_incident: Incident) -> None:
    """A long list goes on where the page before it ended."""
    assert "There is none." in browse().words("/?show=all&before=1")
    assert thermal_incident.title in browse().words("/?show=all&before=2")


def test_broken_templates_are_told() -> None:
    """A page that lacks a value is an error, never a blank."""
    with pytest.raises(Exception, match="is undefined"):
        whole_page("problem.html.j2", {})
