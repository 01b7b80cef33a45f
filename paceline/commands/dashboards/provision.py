"""`paceline dashboards provision`: files that servers load boards, data sources and rules from."""

from pathlib import Path
from typing import Annotated

import typer

from dashboards.shipping.provisioning import (
    BOARDS_PATH,
    PROMETHEUS_URL,
    SCRAPE_SECONDS,
    SIDECAR_LABEL,
    Place,
    build_provisioning,
)
from paceline.commands.arguments import writing_to
from paceline.commands.dashboards.choices import (
    OwnOption,
    SourceOption,
    chosen_boards,
    chosen_labels,
)
from slo.specs import load_library


def provision_command(  # noqa: PLR0913 -- one argument an option of the command line
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")],
    *,
    prometheus: Annotated[
        str, typer.Option(metavar="URL", help="Where Grafana reaches Prometheus.")
    ] = PROMETHEUS_URL,
    scrape_seconds: Annotated[
        int, typer.Option(min=1, help="Time between two scrapes; windows of rates follow it.")
    ] = SCRAPE_SECONDS,
    boards_path: Annotated[
        str, typer.Option(metavar="DIR", help="Where the boards will stand on Grafana's disk.")
    ] = BOARDS_PATH,
    namespace: Annotated[str, typer.Option(help="Namespace of the Kubernetes objects.")] = "",
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help=f"Label of the Kubernetes objects; default {SIDECAR_LABEL}=1. May stand twice.",
            show_default=False,
        ),
    ] = None,
    source: SourceOption = None,
    own: OwnOption = None,
) -> None:
    """Write what Grafana, Prometheus and Kubernetes load boards and rules from.

    Example: paceline dashboards provision --out provisioning/ --prometheus http://prometheus:9090
    """
    place = Place(
        boards_path=boards_path,
        prometheus_url=prometheus,
        scrape_seconds=scrape_seconds,
        labels={SIDECAR_LABEL: "1"} | chosen_labels(label),
        namespace=namespace,
    )
    files = build_provisioning(chosen_boards(source, own).texts, load_library(), place)
    with writing_to(out):
        for name, text in sorted(files.items()):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_text(text, encoding="utf-8")
            typer.echo(out / name)
