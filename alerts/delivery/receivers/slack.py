"""Slack, incoming webhook.

Source: Slack, "Sending messages using incoming webhooks", "Formatting text for app surfaces" and
"Rate limits": the address is the secret; `&`, `<` and `>` are escaped; a header takes 150
characters, a section 3,000, a message 50 blocks; about one message a second; the answer is the
plain text `ok`, and anything else is an error. A message cannot be edited or taken back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Final

from pydantic import SecretStr

from alerts.delivery.answers import Answer, Later, Refused
from alerts.delivery.http_calls import HttpLimits, answer_of, refuse_address, told
from alerts.delivery.letters import Letter, Renewal
from alerts.delivery.posting import Posting, hidden, reply_to_json
from alerts.delivery.telling import Places, links_of, title_text
from alerts.pages import page_text

MAX_HEADER: Final = 150
MAX_SECTION: Final = 3000
_FENCE: Final = "```"
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_COLOURS: Final = {"page": "#D55E00", "ticket": "#E69F00", "resolved": "#0072B2"}
"""Of the palette of Okabe and Ito, for colour-blind people; the title says it in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackReceiver:
    """A channel of Slack.

    Attributes:
        url: Address of its webhook: whoever knows it can post.
        places: Where people go on.
        limits: When to give up.
        min_gap_seconds: Shortest time between two messages.
        renewal: Null: Slack remembers.
    """

    url: SecretStr
    places: Places = field(default_factory=Places)
    limits: HttpLimits = field(default_factory=HttpLimits)
    min_gap_seconds: float = 1.0
    renewal: Renewal | None = None

    def __post_init__(self) -> None:
        """Refuse an address that nobody can call."""
        refuse_address(self.url.get_secret_value())

    def send(self, letter: Letter, *, now: datetime) -> Answer:
        """Post the message of a letter."""
        posting = Posting(url=self.url, limits=self.limits)
        reply = reply_to_json(posting, slack_message(letter, self.places))
        if isinstance(reply, Later):
            return reply
        if reply.status == HTTPStatus.OK and reply.body.strip() != b"ok":
            return hidden(Refused(reason=f"answered: {told(reply.body)}"), posting)
        return hidden(answer_of(reply, now=now), posting)


def slack_message(letter: Letter, places: Places) -> Mapping[str, object]:
    """Return the message of a letter: its title, the page to read as it is, the links."""
    title = title_text(letter)
    links = [f"<{_address(link.url)}|{link.text}>" for link in links_of(letter.incident, places)]
    blocks: list[Mapping[str, object]] = [
        {"type": "header", "text": {"type": "plain_text", "text": escaped(title, MAX_HEADER)}},
        *({"type": "section", "text": _text(part)} for part in _parts(page_text(letter.incident))),
        *([{"type": "context", "elements": [_text(" | ".join(links))]}] if links else []),
    ]
    colour = "resolved" if letter.action == "resolve" else letter.incident.severity
    return {
        "text": escaped(title, MAX_SECTION),
        "attachments": [{"color": _COLOURS[colour], "blocks": blocks}],
    }


def escaped(text: str, max_length: int) -> str:
    """Return a text as Slack takes it, at most so long; no escape is cut in two."""
    parts = [_ESCAPES.get(sign, sign) for sign in text]
    if sum(map(len, parts)) <= max_length:
        return "".join(parts)
    kept, length = list[str](), 1
    for part in parts:
        length += len(part)
        if length > max_length:
            break
        kept.append(part)
    return "".join(kept) + "…"


def _parts(text: str) -> Iterable[str]:
    """Yield a text in code blocks of whole lines, each short enough for a section."""
    room = MAX_SECTION - 2 * len(_FENCE) - 2
    part = ""
    for line in text.splitlines():
        # A fence within the data would end the code block, and what follows would be markup.
        safe = escaped(line.replace("`", "'"), room)
        if part and len(part) + len(safe) + 1 > room:
            yield f"{_FENCE}\n{part}{_FENCE}"
            part = ""
        part += f"{safe}\n"
    yield f"{_FENCE}\n{part}{_FENCE}"


def _text(text: str) -> Mapping[str, object]:
    return {"type": "mrkdwn", "text": text}


def _address(url: str) -> str:
    """Return an address that cannot end its own link."""
    return escaped(url.replace("|", "%7C"), MAX_SECTION)
