"""Runbooks: each kind of finding has one, of one shape, and it is served as it is written."""

import re
from pathlib import Path

import pytest

from alerts.service.runbooks import (
    KINDS,
    UnknownRunbookError,
    runbook_html,
    runbook_text,
    runbook_url,
)
from alerts.service.settings import ServiceSettings

FOLDER = Path(__file__).parent.parent / "docs" / "runbooks"
SECTIONS = ["What it means", "How to confirm", "What to do", "What not to do"]
MAX_WORDS = 320


def test_no_page_is_left_over() -> None:
    """There is a page for each kind of finding, and for nothing else."""
    assert sorted(page.stem for page in FOLDER.glob("*.md")) == sorted([*KINDS, "README"])


@pytest.mark.parametrize("kind", KINDS)
def test_shape(kind: str) -> None:
    """A page has the four sections of its kind, and fits on one screen."""
    text = runbook_text(kind)

    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert len(text.split()) <= MAX_WORDS


@pytest.mark.parametrize("kind", KINDS)
def test_served(kind: str) -> None:
    """A page is served as HTML, and its links lead to pages of the service."""
    html = runbook_html(kind)

    assert html.startswith("<h1>")
    assert set(re.findall(r'href="([^"]+)"', html)) <= set(KINDS)


def test_unknown_kind() -> None:
    """What is no kind has no page, whatever file it would name."""
    with pytest.raises(UnknownRunbookError, match="no runbook for"):
        runbook_text("../architecture")


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        pytest.param(None, "/runbooks/hang", id="the service's own page"),
        pytest.param("https://wiki.example/gpu/", "https://wiki.example/gpu/hang", id="a team's"),
    ],
)
def test_url(base: str | None, expected: str) -> None:
    """A link leads to the service's own page, or to the same name below the team's address."""
    assert runbook_url("hang", ServiceSettings(runbook_base_url=base)) == expected
