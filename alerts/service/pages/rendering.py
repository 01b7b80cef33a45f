"""From template to answer: escaped names, a policy that lets nothing else in, words for people.

Source: W3C, "Content Security Policy Level 3": with a nonce only our own script and style run,
whatever a title or a log line holds.
"""

import secrets
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import Response

from alerts.pages import page_text
from alerts.service.entity_tags import tagged
from alerts.titles import subject_text
from alerts.wording import (
    amount_text,
    clock_text,
    count_text,
    percent_text,
    rate_text,
    span_text,
)
from detectors.verdicts import rfc3339
from slo.windows import duration

WHOLE: Final = "page.html.j2"
"""Layout of a page."""
PART: Final = "part.html.j2"
"""Layout of what an open page asks for again."""

_HTML: Final = "text/html; charset=utf-8"
_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def whole_page(template: str, told: Mapping[str, object], *, status: int = 200) -> Response:
    """Return a page with a nonce of its own.

    Args:
        template: Name of the template.
        told: What it shows.
        status: HTTP status.
    """
    nonce = secrets.token_urlsafe(16)
    html = _templates().get_template(template).render({**told, "layout": WHOLE, "nonce": nonce})
    policy = _POLICY.format(nonce=nonce)
    return Response(html, status, {"Content-Security-Policy": policy}, _HTML)


def page_part(template: str, told: Mapping[str, object], if_none_match: str | None) -> Response:
    """Return what changes on a page; 304 where nothing has.

    Args:
        template: Name of the template.
        told: What it shows.
        if_none_match: Tag of what the page shows now.
    """
    html = _templates().get_template(template).render({**told, "layout": PART})
    return tagged(html.encode(), if_none_match, media_type=_HTML)


@cache
def _templates() -> Environment:
    """Return the templates; names from data are escaped, and what is not given is an error."""
    templates = Environment(
        loader=PackageLoader("alerts.service.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    templates.filters |= {
        "amount": amount_text,
        "clock": clock_text,
        "count": count_text,
        "drawing": Markup,  # drawings and runbooks are our own, see `Live.plots`
        "duration": duration,
        "moment": _moment,
        "page": page_text,
        "percent": percent_text,
        "rate": rate_text,
        "rfc3339": rfc3339,
        "sentence": _sentence,
        "span": span_text,
        "who": subject_text,
        "words": _words,
    }
    return templates


def _moment(time: datetime | None) -> str:
    """Return a time without its zone, for a page that says once that all of them are UTC."""
    return clock_text(time).removesuffix(" UTC")


def _words(name: str) -> str:
    """Return a name of ours as people write it."""
    return name.replace("_", " ")


def _sentence(words: str) -> str:
    """Return words as a sentence begins; names within them stay as they are."""
    return words[:1].upper() + words[1:]


def _shown(value: object) -> object:
    """Return what a page shows of a value: a text without what could hide a part or turn it round.

    Such letters are control characters and marks of direction; the sign for a lost letter says
    where one stood.
    """
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return "".join(one if one.isprintable() or one in "\t\n" else "�" for one in value)
