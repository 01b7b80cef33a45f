"""What to do about each kind of finding: pages in Markdown, served as they are documented.

They are written in `docs/runbooks/`, and the wheel carries them beside this module: an installed
service shows the pages of its own version, without a network.
"""

from functools import cache
from pathlib import Path
from typing import Final, get_args

from markdown_it import MarkdownIt

from alerts.service.settings import ServiceSettings
from detectors.verdicts import Kind

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_PLACES: Final = (
    Path(__file__).parent / "runbooks",
    Path(__file__).parents[2] / "docs" / "runbooks",
)
"""Where the pages are: in an installed wheel, and in the tree."""


class UnknownRunbookError(LookupError):
    """There is no page for such a kind."""


def runbook_url(kind: str, settings: ServiceSettings) -> str:
    """Return where the page for a kind of finding is."""
    return f"{(settings.runbook_base_url or '/runbooks').rstrip('/')}/{kind}"


def runbook_text(kind: str) -> str:
    """Return the page for a kind of finding, in Markdown.

    Raises:
        UnknownRunbookError: There is no such kind.
    """
    if kind not in KINDS:
        raise UnknownRunbookError(f"no runbook for {kind!r}; there is one for {', '.join(KINDS)}")
    folder = next(place for place in _PLACES if place.is_dir())
    return (folder / f"{kind}.md").read_text(encoding="utf-8")


@cache
def runbook_html(kind: str) -> str:
    """Return the page for a kind of finding as HTML; links between pages stay within the service.

    Raises:
        UnknownRunbookError: There is no such kind.
    """
    html: str = MarkdownIt("commonmark", {"html": False}).render(runbook_text(kind))
    return html.replace('.md">', '">')
