"""What `paceline alerts` prints: what a policy would have sent, when, to whom and why."""

from collections.abc import Sequence

import orjson

from alerts.policies.dry_runs import WouldSend
from alerts.wording import clock_text, counted_text
from detectors.verdicts import rfc3339


def would_send_bytes(messages: Sequence[WouldSend]) -> bytes:
    """Return the messages as JSON, indented, with a final line break."""
    rows = [
        {
            "due": rfc3339(one.message.due),
            "decided": rfc3339(one.decided),
            "action": one.message.action,
            "receiver": one.message.receiver,
            "severity": one.message.body["severity"],
            "incident": one.message.incident,
            "number": one.message.body["number"],
            "title": one.message.body["title"],
            "why": one.message.why,
        }
        for one in messages
    ]
    return orjson.dumps({"messages": rows}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def would_send_text(messages: Sequence[WouldSend], incident_count: int) -> str:
    """Return what people read: a line a message, and the sums."""
    lines = [
        f"{clock_text(one.message.due)}  {one.message.action:<11} {one.message.receiver:<12} "
        f"{one.message.body['severity']:<6}  #{one.message.body['number']} "
        f"{one.message.body['title']}  ({one.message.why})"
        for one in messages
    ]
    pages = sum(
        one.message.action == "trigger" and one.message.body["severity"] == "page"
        for one in messages
    )
    told = {one.message.incident for one in messages}
    total = (
        f"{counted_text(len(messages), 'message')}, {counted_text(pages, 'page')} among them, "
        f"about {len(told)} of {counted_text(incident_count, 'incident')}"
    )
    return "\n".join([*lines, total, ""])
