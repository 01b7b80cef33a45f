"""A whole service in one process, for benchmarks that kill or load it: webhook, inbox, outbox.

Run by them: `python -m benchmarks.service_worker DATABASE_URL PORT RECEIVER_URL [TICK_SECONDS]`.
"""

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from pydantic import SecretStr

from alerts.delivery.claims import ClaimParams
from alerts.delivery.couriers import CourierParams, deliver_due
from alerts.delivery.receivers.webhooks import WebhookReceiver
from alerts.faults import JoinParams
from alerts.intake.enrichment import enrich
from alerts.intake.working import work_inbox
from alerts.policies.policies import Policy, ReceiverRule, Route
from alerts.service.live import NodeState, RawLine, SloState, SourceState
from alerts.storing.databases import open_database
from alerts.storing.incident_store import IncidentStore
from alerts.storing.notifying import Telling

POLICY = Policy(
    version=1, receivers=(ReceiverRule(name="team"),), routes=(Route(receivers=("team",)),)
)
PARAMS = CourierParams(claims=ClaimParams(lease_seconds=1.0))
"""A short lease, so that what a killed worker held is sent again while we watch."""
PAUSE_SECONDS = 0.1

Step = Callable[[], object]


class Nothing:
    """A watch that knows nothing."""

    def sources(self) -> Sequence[SourceState]:
        """Return none."""
        return ()

    def nodes(self) -> Sequence[NodeState]:
        """Return none."""
        return ()

    def slo_state(self) -> Sequence[SloState]:
        """Return none."""
        return ()

    def plots(self, incident_id: str) -> Mapping[str, str]:
        """Return none."""
        del incident_id
        return {}

    def raw_lines(self, source: str) -> Sequence[RawLine]:
        """Return none."""
        del source
        return ()

    def last_tick(self) -> datetime | None:
        """Return now: it never lags."""
        return now()

    def metrics(self) -> bytes:
        """Return none."""
        return b""

    def shares(self) -> Mapping[str, int]:
        """Return none."""
        return {}


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def steps_of(database_url: str, receiver_url: str) -> tuple[IncidentStore, list[Step]]:
    """Return the incidents of a database, and what works inbox, incidents and outbox once."""
    engine = open_database(database_url)
    store = IncidentStore(engine, telling=Telling(policy=POLICY))
    receivers = {"team": WebhookReceiver(url=SecretStr(receiver_url), name="team")}
    return store, [
        lambda: work_inbox(engine, now=now()),
        lambda: enrich(store, {}, now=now(), joining=JoinParams()),
        partial(deliver_due, engine, receivers, now=now, claim_as="worker", params=PARAMS),
    ]


def work(database_url: str, receiver_url: str) -> None:
    """Work everything but the webhook, one step after the other, for ever."""
    _, steps = steps_of(database_url, receiver_url)
    while True:
        for step in steps:
            step()
        time.sleep(PAUSE_SECONDS / 5)


def for_ever(step: Step, pause_seconds: float) -> None:
    """Do a step again and again."""
    while True:
        step()
        time.sleep(pause_seconds)


def main(database_url: str, port: str, receiver_url: str, tick: str = "0.1") -> None:
    """Serve until killed."""
    import uvicorn

    from alerts.service.app import create_app
    from alerts.service.settings import ServiceSettings
    from alerts.service.token_buckets import Rate
    from alerts.service.tokens import Scope
    from paceline.watching.serving import TURN_SECONDS

    store, steps = steps_of(database_url, receiver_url)
    for step, pause in zip(steps, (PAUSE_SECONDS, float(tick), PAUSE_SECONDS), strict=True):
        threading.Thread(target=for_ever, args=(step, pause), daemon=True).start()
    settings = ServiceSettings(
        anonymous_scopes=frozenset(Scope),
        anonymous_rate=Rate(per_second=100_000.0, burst=100_000),
    )
    app = create_app(store, live=Nothing(), settings=settings, now=now)
    sys.setswitchinterval(TURN_SECONDS)
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning", access_log=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
