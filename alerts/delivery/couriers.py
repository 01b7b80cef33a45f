"""Couriers: take letters from the outbox, send them, write down what became of them.

Source: the pattern "transactional outbox" (microservices.io): at least once. A worker that dies
between sending and writing sends again, by the same key, which receivers know again. Nothing dies
of waiting: a receiver that is down for a day gets everything afterwards, in order.
"""

import logging
import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event
from typing import Final

from sqlalchemy import Connection, Engine

from alerts.delivery.answers import Answer, Delivered, Later, Refused
from alerts.delivery.backoff import RetryParams, retry_seconds
from alerts.delivery.claims import Claim, ClaimParams, claim_letter, has_letter
from alerts.delivery.letters import LetterError, Receiver
from alerts.delivery.outbox import (
    ActionError,
    finish_delivered,
    finish_later,
    finish_refused,
    letter_of,
)
from alerts.delivery.renewals import standing_body
from alerts.delivery.rests import begin_rest, is_resting
from alerts.storing.databases import reading

Clock = Callable[[], datetime]

POLL_SECONDS: Final = 0.5
"""Time between two passes."""

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CourierParams:
    """How letters are delivered.

    Attributes:
        claims: How letters are claimed.
        retries: How long to wait between tries.
        max_letters: Letters to one receiver in one pass.
        draw: Draws a number from 0 to 1 for each wait.
    """

    claims: ClaimParams = field(default_factory=ClaimParams)
    retries: RetryParams = field(default_factory=RetryParams)
    max_letters: int = 1000
    draw: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one pass did.

    Attributes:
        delivered: Letters that were taken.
        later: Letters that wait for another try.
        refused: Letters that are dead.
    """

    delivered: int = 0
    later: int = 0
    refused: int = 0


_USUAL: Final = CourierParams()


def deliver_due(
    engine: Engine,
    receivers: Mapping[str, Receiver],
    *,
    now: Clock,
    claim_as: str,
    params: CourierParams = _USUAL,
) -> Pass:
    """Deliver what is due to each receiver, one after the other.

    A receiver that cannot take a letter now is left alone until the next pass, so that one that is
    down costs one try a pass, whatever waits for it.

    Args:
        engine: The incident database.
        receivers: The receivers by name; letters to others are left alone.
        now: The clock.
        claim_as: Who we are; unique among all that run.
        params: How to deliver.
    """
    answers = [
        answer
        for name, receiver in sorted(receivers.items())
        for answer in _Courier(engine, name, receiver, now, claim_as, params).answers()
    ]
    return Pass(
        delivered=sum(isinstance(one, Delivered) for one in answers),
        later=sum(isinstance(one, Later) for one in answers),
        refused=sum(isinstance(one, Refused) for one in answers),
    )


def run_couriers(
    engine: Engine,
    receivers: Mapping[str, Receiver],
    *,
    stop: Event,
    now: Clock,
    claim_as: str,
) -> None:
    """Deliver until told to stop, each receiver by a thread of its own: none waits for another."""

    def run(name: str) -> None:
        only = {name: receivers[name]}
        while not stop.is_set():
            try:
                deliver_due(engine, only, now=now, claim_as=claim_as)
            except Exception as error:  # noqa: BLE001 -- the edge of a loop: the next pass may do
                _LOG.warning("a pass to receiver %s failed: %s", name, type(error).__name__)
            stop.wait(POLL_SECONDS)

    if receivers:
        with ThreadPoolExecutor(max_workers=len(receivers)) as pool:
            list(pool.map(run, sorted(receivers)))


@dataclass(frozen=True, slots=True)
class _Courier:
    """Who brings letters to one receiver."""

    engine: Engine
    name: str
    receiver: Receiver
    now: Clock
    claim_as: str
    params: CourierParams

    def answers(self) -> Iterator[Answer]:
        """Send what is due, up to the first letter that has to wait; yield each answer."""
        for _ in range(self.params.max_letters):
            if not self._may_have_letter():
                return
            with self.engine.begin() as connection:
                claim, standing = self._claimed(connection)
            if claim is None:
                return
            answer = self._sent(claim, standing)
            with self.engine.begin() as connection:
                self._finish(connection, claim, answer)
            yield answer
            if isinstance(answer, Later):
                return

    def _may_have_letter(self) -> bool:
        with reading(self.engine) as connection:
            return has_letter(connection, self.name, self.params.claims, now=self.now())

    def _claimed(
        self, connection: Connection
    ) -> tuple[Claim, Mapping[str, object] | None] | tuple[None, None]:
        """Return the next letter, and what its receiver was told before."""
        now = self.now()
        if is_resting(connection, self.name, now=now, locks=True):
            return None, None
        claims = self.params.claims
        claim = claim_letter(connection, self.name, claims, now=now, claim_as=self.claim_as)
        if claim is None:
            return None, None
        if self.receiver.min_gap_seconds > 0:
            begin_rest(connection, self.name, self.receiver.min_gap_seconds, now=now)
        return claim, standing_body(connection, claim.row) if self.receiver.renewal else None

    def _sent(self, claim: Claim, standing: Mapping[str, object] | None) -> Answer:
        """Send a letter; a fault of ours is no reason to lose it, or to hold up the others."""
        try:
            return self.receiver.send(letter_of(claim.row, standing), now=self.now())
        except (LetterError, ActionError) as error:
            return Refused(reason=str(error))
        except Exception as error:  # noqa: BLE001 -- the edge of a loop over independent letters
            # Neither the error's text nor its trace is told: they may hold a secret.
            name = type(error).__name__
            _LOG.error("letter %s to receiver %s: %s", claim.row["key"], self.name, name)
            return Later(reason=f"fault of ours: {name}")

    def _finish(self, connection: Connection, claim: Claim, answer: Answer) -> None:
        """Write down what became of a letter."""
        now, retries = self.now(), self.params.retries
        match answer:
            case Delivered():
                finish_delivered(connection, claim, self.receiver.renewal, now=now)
            case Refused():
                finish_refused(connection, claim, answer.reason)
            case Later():
                wait = retry_seconds(claim.attempts, retries, draw=self.params.draw())
                due = now + timedelta(seconds=wait)
                finish_later(connection, claim, answer.reason, due=due)
                if answer.rest_seconds is not None:
                    rest = min(answer.rest_seconds, retries.max_rest_seconds)
                    begin_rest(connection, self.name, rest, now=now)
