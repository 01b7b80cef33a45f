"""What `paceline alerts outbox` prints: what each receiver has not been told, and why."""

from collections.abc import Sequence

import orjson

from alerts.delivery.dead_letters import Backlog, DeadLetter
from alerts.wording import UNKNOWN, clock_text
from detectors.verdicts import rfc3339


def outbox_bytes(backlogs: Sequence[Backlog], dead: Sequence[DeadLetter]) -> bytes:
    """Return backlogs and refused letters as JSON, indented, with a final line break."""
    document = {
        "receivers": [
            {
                "receiver": one.receiver,
                "waiting_count": one.waiting_count,
                "dead_count": one.dead_count,
                "oldest": one.oldest and rfc3339(one.oldest),
                "last_error": one.last_error,
            }
            for one in backlogs
        ],
        "dead": [
            {
                "key": one.key,
                "receiver": one.receiver,
                "incident": one.incident,
                "action": one.action,
                "reason": one.reason,
                "created": rfc3339(one.created),
            }
            for one in dead
        ],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def outbox_text(backlogs: Sequence[Backlog], dead: Sequence[DeadLetter]) -> str:
    """Return what people read: a line a receiver, a line a refused letter."""
    if not backlogs:
        return "every letter was taken\n"
    lines = [_backlog(one) for one in backlogs]
    refused = [
        f"  {clock_text(one.created)}  {one.action} of incident {one.incident or UNKNOWN}: "
        f"{one.reason}"
        for one in dead
    ]
    return "\n".join([*lines, *(["refused:"] if refused else []), *refused, ""])


def _backlog(one: Backlog) -> str:
    waiting = f"{one.waiting_count} waiting"
    since = f", the oldest of {clock_text(one.oldest)}" if one.oldest else ""
    why = f" ({one.last_error})" if one.last_error else ""
    return f"{one.receiver}: {waiting}{since}{why}; {one.dead_count} refused"
