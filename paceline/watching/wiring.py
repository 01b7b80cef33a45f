"""Wire one instance from its settings: everything that can be refused is, before anything runs."""

import os
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import Engine, make_url
from sqlalchemy.exc import ArgumentError

from alerts.delivery.couriers import run_couriers
from alerts.delivery.letters import Receiver
from alerts.delivery.telling import Places
from alerts.intake.alertmanager_api import AlertmanagerApi
from alerts.intake.working import run_inbox
from alerts.policies.policies import Policy, ReceiverRule, Route
from alerts.policies.policy_files import PolicyFileError, read_policy
from alerts.storing.databases import (
    DatabaseBusyError,
    DatabaseUnreachableError,
    DatabaseUrlError,
    DatabaseVersionError,
    open_database,
)
from alerts.storing.incident_store import IncidentStore
from alerts.storing.notifying import Telling
from alerts.storing.refusals import UnknownIncidentError
from paceline.receiver_settings import AlertmanagerSettings, receiver_of
from paceline.setting_parts import SettingsError, secret_of
from paceline.settings import Settings
from paceline.watching.artist import Artist
from paceline.watching.board import Board
from paceline.watching.commits import Committer
from paceline.watching.leases import HELD_TICKS, LEADER, Lease
from paceline.watching.parts import objectives_of, sources_of, watch_of
from paceline.watching.running import Instance, instance_name, only_one, resume, stderr_teller
from paceline.watching.watch import Watch

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """An instance, and what works beside it.

    Attributes:
        instance: The watch with its board.
        background: Loops that run until `stop`, by name.
        stop: Set when no more is wanted.
        is_resumed: Whether it goes on where it left off.
    """

    instance: Instance
    background: Mapping[str, Callable[[], None]]
    stop: threading.Event
    is_resumed: bool


@contextmanager
def wired(settings: Settings, environ: Mapping[str, str], clock: Clock) -> Generator[Wired]:
    """Give an instance that is ready to run; at the end all that it holds is let go.

    Args:
        settings: The settings.
        environ: The environment, for secrets.
        clock: Says what time it is.

    Raises:
        SettingsError: Something cannot be used; in one line.
    """
    receivers = _receivers(settings, environ)
    policy = policy_of(settings)
    objectives = objectives_of(settings)
    with ExitStack() as stack:
        stack.enter_context(only_one(Path(settings.state)))
        engine = _database(settings, environ)
        stack.callback(engine.dispose)
        store = IncidentStore(engine, telling=Telling(policy=policy))
        committer = _committer(settings, store)
        sources = sources_of(settings, environ)
        watch = watch_of(settings, sources, objectives, committer, clock())
        stack.callback(watch.close)
        is_resumed = resume(watch, settings)
        stop = threading.Event()
        yield Wired(
            instance=_instance(settings, watch, store, clock()),
            background=_background(settings, environ, store, receivers, clock, stop),
            stop=stop,
            is_resumed=is_resumed,
        )
        committer.give_up(clock())
        if watch.share is not None:
            watch.share.leave()


def _committer(settings: Settings, store: IncidentStore) -> Committer:
    name = instance_name(settings)
    lease = Lease(name=LEADER, holder=name, length=HELD_TICKS * settings.watch.tick)
    return Committer(store=store, lease=lease, cursor=f"watch/{name}")


def _instance(settings: Settings, watch: Watch, store: IncidentStore, now: datetime) -> Instance:
    return Instance(
        watch=watch,
        store=store,
        board=_board(watch, store, now),
        artist=Artist(name_of=_kept_id(store)),
        teller=stderr_teller(),
        settings=settings,
    )


def policy_of(settings: Settings) -> Policy:
    """Return the policy of the settings; without a file every receiver is told of everything.

    Raises:
        SettingsError: The file cannot be used, or names receivers that the settings do not have.
    """
    names = [one.name for one in settings.receivers]
    if settings.policy is None:
        routes = (Route(receivers=tuple(names)),) if names else ()
        return Policy(
            version=1, receivers=tuple(ReceiverRule(name=one) for one in names), routes=routes
        )
    try:
        policy = read_policy(Path(settings.policy))
    except PolicyFileError as error:
        raise SettingsError(f"policy: {'; '.join(str(error).split(chr(10)))}") from error
    strange = [one.name for one in policy.receivers if one.name not in names]
    if strange:
        raise SettingsError(
            f"policy {settings.policy} names receivers that the settings do not have: "
            f"{', '.join(strange)}; add [[receivers]]"
        )
    return policy


def _receivers(settings: Settings, environ: Mapping[str, str]) -> dict[str, Receiver]:
    service = settings.service
    places = Places(
        service_url=None if service is None else service.public_url or _own_url(settings),
        runbooks_url=None if service is None else service.runbook_base_url,
    )
    return {one.name: receiver_of(one, places, environ) for one in settings.receivers}


def _own_url(settings: Settings) -> str | None:
    service = settings.service
    if service is None or service.port == 0:
        return None
    host = f"[{service.host}]" if ":" in service.host else service.host
    return f"http://{host}:{service.port}"


def _database(settings: Settings, environ: Mapping[str, str]) -> Engine:
    url = settings.database or f"sqlite:///{Path(settings.state) / 'incidents.db'}"
    try:
        if settings.database_password is not None:
            password = secret_of(settings.database_password, environ).get_secret_value()
            url = make_url(url).set(password=password).render_as_string(hide_password=False)
        return open_database(url)
    except (
        ArgumentError,
        DatabaseBusyError,
        DatabaseUnreachableError,
        DatabaseUrlError,
        DatabaseVersionError,
    ) as error:
        raise SettingsError(f"database: {' '.join(str(error).split())}") from None


def _kept_id(store: IncidentStore) -> Callable[[str], str]:
    def kept(incident_id: str) -> str:
        try:
            return store.get(incident_id).id
        except UnknownIncidentError:
            return incident_id

    return kept


def _board(watch: Watch, store: IncidentStore, now: datetime) -> Board:
    sources = watch.sources

    def path_of(name: str) -> Path | None:
        return next((path for one in sources if (path := one.path_of(name))), None)

    return Board(unasked=watch.ages.states(now), path_of=path_of, kept_id=_kept_id(store))


def _background(  # noqa: PLR0913, PLR0917 -- the parts of one instance, each used once
    settings: Settings,
    environ: Mapping[str, str],
    store: IncidentStore,
    receivers: Mapping[str, Receiver],
    clock: Clock,
    stop: threading.Event,
) -> dict[str, Callable[[], None]]:
    """Return the loops beside the watch: couriers for the outbox, and a worker for the inbox."""
    own = f"{instance_name(settings)}-{os.getpid()}"

    def deliver() -> None:
        run_couriers(store.engine, receivers, stop=stop, now=clock, claim_as=own)

    def work() -> None:
        run_inbox(store.engine, stop=stop, now=clock, source=_alertmanager(settings, environ))

    loops: dict[str, Callable[[], None]] = {"couriers": deliver} if receivers else {}
    return loops | ({"inbox": work} if settings.service is not None else {})


def _alertmanager(settings: Settings, environ: Mapping[str, str]) -> AlertmanagerApi | None:
    """Return the Alertmanager to ask for what a webhook left out: the first of the receivers."""
    found = [one for one in settings.receivers if isinstance(one, AlertmanagerSettings)]
    if not found:
        return None
    first = found[0]
    url = SecretStr(first.url) if isinstance(first.url, str) else secret_of(first.url, environ)
    token = None if first.token is None else secret_of(first.token, environ)
    return AlertmanagerApi(url=url, token=token)
