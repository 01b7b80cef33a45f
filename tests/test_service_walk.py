"""A walk through the pages in a real browser: find the culprit, open evidence, act, and resolve."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from alerts.service.app import create_app
from alerts.service.settings import ServiceSettings
from alerts.service.tokens import Scope, token_of
from alerts.storing.incident_store import IncidentStore

SECRET = "anna-token-0123456789"  # noqa: S105 - a secret of this test alone
PHONE = {"width": 375, "height": 780}
DRAWING = '<svg viewBox="0 0 700 100"><rect width="700" height="100" fill="var(--calm)"/></svg>'
SCHEMES: tuple[Any, ...] = ("light", "dark")
GRAVE = {"serious", "critical"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A running service.

    Attributes:
        url: Where it answers.
        store: Its store.
    """

    url: str
    store: IncidentStore


@pytest.fixture
def place(thermal_store: IncidentStore, still_live: Any, service_now: datetime) -> Iterator[Place]:
    """A service with one incident on a port of the loopback."""
    settings = ServiceSettings(
        tokens=[token_of("anna", SECRET, [Scope.READ, Scope.ACT])], refresh_seconds=0.2
    )
    live = replace(still_live, drawings={"ranks": DRAWING})
    app = create_app(thermal_store, live=live, settings=settings, now=lambda: service_now)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Place(url=f"http://127.0.0.1:{port}", store=thermal_store)
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """The system's Chromium."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, place: Place) -> Iterator[Page]:
    """A phone that is logged in, on the list of incidents; what its console says is an error."""
    said = list[str]()
    # axe is put into the page from outside, which the page's own policy forbids.
    context = browser.new_context(viewport=PHONE, bypass_csp=axe_file() is not None)
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.on("console", lambda message: said.append(message.text) if is_bad(message) else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(place.url)
    page.get_by_label("Your token").fill(SECRET)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Incidents").wait_for()
    yield page
    context.close()
    assert said == []


def is_bad(message: ConsoleMessage) -> bool:
    """Return whether the console complains of the page, and not of an answer that it lacks."""
    return message.type in {"error", "warning"} and "Failed to load" not in message.text


def axe_file() -> Path | None:
    """Return axe-core's script, where somebody has fetched it; see CONTRIBUTING."""
    path = Path(os.environ.get("PACELINE_AXE") or Path.home() / ".cache/paceline/axe.min.js")
    return path if path.is_file() else None


def test_walk(page: Page, place: Place) -> None:
    """On a phone: culprit, evidence down to the raw line, note, acknowledge, resolve."""
    page.get_by_role("link", name="W-TRAIN runs slow").click()
    culprit = page.locator("#suspect .accused").inner_text()
    page.locator("details[data-raw]").nth(1).locator("summary").click()
    raw = page.locator("details[data-raw] mark").inner_text()
    page.get_by_label("Note for whoever comes next").fill("fan 3 stands still")
    page.get_by_role("button", name="Write note").click()
    page.get_by_role("button", name="Acknowledge").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Resolve").click()
    page.locator("#head .badge.resolved").wait_for()
    kinds = [entry.kind for entry in place.store.history(page.url.rpartition("/")[2])]

    assert culprit == "gpu 4 (rank 116) on hx8-015"
    assert raw.startswith("120  step 120 took 21.9 s </td><script>alert(1)</script>")
    assert kinds == ["opened", "note", "acknowledge", "resolve"]
    assert "fan 3 stands still" in page.locator("#history").inner_text()


def test_live(page: Page, place: Place, service_now: datetime) -> None:
    """An open page follows, keeps what was typed and opened, and says when it is old."""
    page.get_by_role("link", name="W-TRAIN runs slow").click()
    page.get_by_label("Note for whoever comes next").fill("half a sentence")
    page.locator("#victims summary").click()
    name = page.url.rpartition("/")[2]
    place.store.act(name, "acknowledge", actor="bert", at=service_now, key="k1")
    page.locator("#head .badge.acknowledged").wait_for()

    assert page.get_by_label("Note for whoever comes next").input_value() == "half a sentence"
    assert page.locator("#victims").get_attribute("open") is not None
    assert page.locator("#live").inner_text().startswith("live, ")

    page.route("**/*", lambda route: route.fulfill(status=503, body="gone"))
    page.locator("#live.is-old").wait_for()

    assert page.locator("#live").inner_text().startswith("not live since ")


def test_fits_a_phone(page: Page, place: Place) -> None:
    """No page is wider than a phone, the keyboard gets past the menu, and axe finds no fault."""
    incident = page.get_by_role("link", name="W-TRAIN runs slow").get_attribute("href")
    page.keyboard.press("Tab")
    skip = page.evaluate("document.activeElement.textContent")
    script = axe_file()
    for scheme, path in product(SCHEMES, ("/", "/fleet", "/runbooks/slow", "/login", incident)):
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{place.url}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], path
        if script is not None:
            page.evaluate(script.read_text(encoding="utf-8"))
            faults = page.evaluate("axe.run()")["violations"]
            assert [one["id"] for one in faults if one["impact"] in GRAVE] == [], path

    assert skip == "To the content"
