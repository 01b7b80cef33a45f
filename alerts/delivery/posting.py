"""Post JSON to a receiver, and hide its secrets from whatever it says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import orjson
from pydantic import SecretStr

from alerts.delivery.answers import Answer, Later, Refused
from alerts.delivery.http_calls import (
    HttpCall,
    HttpLimits,
    HttpReply,
    NoAnswerError,
    answer_of,
    call_http,
)
from alerts.delivery.redaction import redacted


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """Where JSON goes.

    Attributes:
        url: Address; it may hold a secret.
        headers: What goes beside it.
        secrets: What must not be seen in an answer, beside the address and the headers.
        limits: When to give up.
    """

    url: SecretStr
    headers: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr])
    secrets: Sequence[SecretStr] = ()
    limits: HttpLimits = field(default_factory=HttpLimits)

    def hide(self, text: str) -> str:
        """Return a text without secrets."""
        values = [value.get_secret_value() for value in self.headers.values()]
        bare = [SecretStr(value.removeprefix("Bearer ")) for value in values]
        return redacted(text, [self.url, *self.headers.values(), *bare, *self.secrets])


def post_json(posting: Posting, body: object, *, now: datetime) -> Answer:
    """Post a body and return what became of it."""
    reply = reply_to_json(posting, body)
    return reply if isinstance(reply, Later) else hidden(answer_of(reply, now=now), posting)


def reply_to_json(posting: Posting, body: object) -> HttpReply | Later:
    """Post a body and return the answer, or why none came."""
    headers = {**posting.headers, "Content-Type": SecretStr("application/json")}
    call = HttpCall(
        url=posting.url, body=orjson.dumps(body), headers=headers, limits=posting.limits
    )
    try:
        return call_http(call)
    except NoAnswerError as error:
        return Later(reason=str(error))


def hidden(answer: Answer, posting: Posting) -> Answer:
    """Return an answer whose reason holds no secret."""
    if isinstance(answer, Later | Refused):
        return replace(answer, reason=posting.hide(answer.reason))
    return answer
