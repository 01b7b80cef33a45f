"""Serve the pages and the API of one instance, until a signal comes."""

import secrets
import socket
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

import uvicorn
from fastapi import FastAPI

from alerts.service.app import create_app
from alerts.service.settings import ServiceSettings as AppSettings
from alerts.service.settings import ServiceSettingsError
from alerts.service.tokens import Scope, TokenError, token_of
from paceline.setting_parts import SettingsError, secret_of
from paceline.settings import ServiceSettings, Settings
from paceline.watching.running import Instance

TURN_SECONDS: Final = 0.0005
"""How long a thread computes while another waits; an answer takes several turns of 5 ms else."""

KEEP_ALIVE_SECONDS: Final = 5
"""An idle connection is closed after so long, so that a stop need not wait for it."""


def app_of(
    instance: Instance,
    settings: Settings,
    environ: Mapping[str, str],
    clock: Callable[[], datetime],
) -> FastAPI:
    """Return the service of an instance.

    Raises:
        SettingsError: A token or a key cannot be used.
    """
    service = settings.service or ServiceSettings()
    try:
        told = _app_settings(service, settings, environ)
    except (TokenError, ServiceSettingsError) as error:
        raise SettingsError(f"service: {error}") from None
    return create_app(instance.store, live=instance.board, settings=told, now=clock)


def listen(service: ServiceSettings) -> socket.socket:
    """Return a socket that listens where the settings say.

    Raises:
        SettingsError: Somebody else does, or the address is not ours.
    """
    family = socket.AF_INET6 if ":" in service.host else socket.AF_INET
    try:
        return socket.create_server((service.host, service.port), family=family)
    except OSError as error:
        raise SettingsError(
            f"service: cannot listen on {service.host} port {service.port}: {error.strerror}; "
            "give another [service] port"
        ) from error


def address_of(listening: socket.socket) -> str:
    """Return the address that a browser takes."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Serve until a signal comes; requests under way are answered."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=KEEP_ALIVE_SECONDS,
    )
    sys.setswitchinterval(TURN_SECONDS)
    uvicorn.Server(config).run(sockets=[listening])


def _app_settings(
    service: ServiceSettings, settings: Settings, environ: Mapping[str, str]
) -> AppSettings:
    tokens = [
        token_of(
            one.name,
            secret_of(one.secret, environ).get_secret_value(),
            [Scope(scope) for scope in one.scopes],
        )
        for one in service.tokens
    ]
    usual = list(Scope) if service.is_local and not tokens else []
    scopes = usual if service.anonymous is None else [Scope(one) for one in service.anonymous]
    key = service.session_key
    return AppSettings(
        tokens=tokens,
        anonymous_scopes=frozenset(scopes),
        session_key=secrets.token_bytes(32)
        if key is None
        else secret_of(key, environ).get_secret_value().encode(),
        is_https=service.is_https,
        runbook_base_url=service.runbook_base_url,
        max_tick_age_seconds=max(300.0, 10 * settings.watch.tick.total_seconds()),
    )
