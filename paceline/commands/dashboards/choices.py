"""What the commands of boards share: which boards, for which sources, and whose Grafana."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from dashboards.boards import build_board_trees, build_text
from dashboards.exporters.choices import UnknownSourceError, build_sources
from dashboards.exporters.tables import UnknownVersionError
from dashboards.jsontree import Json
from dashboards.own_boards import OwnBoardError, build_own_boards, known_series, load_own_boards
from dashboards.shipping.servers import HttpServer
from paceline.commands.arguments import refused

SourceOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="NAME=VERSION",
        help="Version of an exporter that the boards ask, such as dcgm=4.6; may stand twice.",
        show_default=False,
    ),
]
OwnOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="FILE.py",
        help="A board of your own, beside ours; the file is run. May stand twice.",
        show_default=False,
    ),
]
FolderOption: TypeAlias = Annotated[
    str, typer.Option("--folder", metavar="UID", help="Uid of the folder in Grafana.")
]
TokenOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="Token of a service account; without it the variable GRAFANA_TOKEN.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The boards of one call.

    Attributes:
        trees: Plain JSON by uid.
        series: Labels by name of every series that they may ask.
    """

    trees: Mapping[str, Json]
    series: Mapping[str, frozenset[str]]

    @property
    def texts(self) -> dict[str, str]:
        """Every board's text by uid."""
        return {uid: build_text(tree) for uid, tree in self.trees.items()}


def chosen_boards(sources: list[str] | None, own: list[Path] | None) -> Chosen:
    """Return the boards that options choose, or refuse them in one line."""
    versions = dict(_pair("--source", text) for text in sources or [])
    try:
        trees = build_board_trees(build_sources(versions))
        plans = load_own_boards(own or [])
        added = build_own_boards(plans)
    except (UnknownSourceError, UnknownVersionError, OwnBoardError) as error:
        raise refused(str(error)) from error
    return Chosen(
        trees=dict(sorted({**trees, **added}.items())), series=known_series(plans.values())
    )


def chosen_server(url: str, token_file: Path | None) -> HttpServer:
    """Return the Grafana at an address, with the token of a file or of the environment."""
    token = os.environ.get("GRAFANA_TOKEN", "")
    if token_file is not None:
        try:
            token = token_file.read_text(encoding="utf-8")
        except OSError as error:
            raise refused(f"cannot read {token_file}: {error.strerror}") from error
    return HttpServer(url=url.rstrip("/"), token=token.strip())


def chosen_labels(texts: list[str] | None) -> dict[str, str]:
    """Return the labels that an option gives."""
    return dict(_pair("--label", text) for text in texts or [])


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise refused(f"{option} wants NAME=VALUE, found {text!r}")
    return name, value
