"""`paceline watch` and `paceline serve`: the live loop, without or with its web page."""

import os
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from paceline.commands.arguments import refused
from paceline.setting_parts import SettingsError
from paceline.settings import ServiceSettings, Settings, load_settings

ConfigOption: TypeAlias = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Settings, as TOML or YAML.")
]
CheckOption: TypeAlias = Annotated[
    bool, typer.Option("--check", help="Check the settings and all that they name, and end.")
]


def watch_command(config: ConfigOption, *, check: CheckOption = False) -> None:
    """Watch what the settings name, tick after tick; with a service in them, serve its pages too.

    Example: paceline watch --config paceline.toml

    Exit 0: a signal ended it. 2: the settings cannot be used.
    """
    _run(_loaded(config), is_check=check)


def serve_command(config: ConfigOption, *, check: CheckOption = False) -> None:
    """Watch what the settings name and serve its pages, on loopback unless told otherwise.

    Example: paceline serve --config paceline.toml

    Exit 0: a signal ended it. 2: the settings cannot be used.
    """
    settings = _loaded(config)
    if settings.service is None:
        settings = settings.model_copy(update={"service": ServiceSettings()})
    _run(settings, is_check=check)


def _loaded(config: Path) -> Settings:
    try:
        return load_settings(config)
    except SettingsError as error:
        raise refused(str(error)) from error


def _run(settings: Settings, *, is_check: bool) -> None:
    from paceline.watching.entry import run_instance  # noqa: PLC0415 -- a wrong file loads nothing

    try:
        run_instance(settings, os.environ, is_check=is_check)
    except SettingsError as error:
        raise refused(str(error)) from error
    if is_check:
        typer.echo("The settings can be used.")
