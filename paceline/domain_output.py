"""What `paceline failures` prints of causes, jobs and parts: what they cost, what hangs on them."""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from alerts.wording import amount_text, percent_text
from paceline.goodput_output import NAMELESS
from paceline.text_tables import table

_TITLES: Final = {
    "cause": ("cause",),
    "job": ("job",),
    "node": ("host",),
    "part": ("gpu", "rack", "switch", "storage"),
}
"""Tables of domains, and the kinds in each; a failure lies in several."""

_NOBODY: Final = {"job": NAMELESS, "host": "(not told which)"}


def domain_texts(domains: pl.DataFrame, top: int) -> list[str]:
    """Return what failures cost by cause, job and node, and by what holds or serves nodes.

    Args:
        domains: `DOMAIN_COSTS`.
        top: Rows of each table.
    """
    shown = {
        title: domains.filter(pl.col("kind").is_in(kinds)).group_by("kind", maintain_order=True)
        for title, kinds in _TITLES.items()
    }
    rows = {title: groups.head(top).to_dicts() for title, groups in shown.items()}
    return [
        table(f"By {title}", [_heads(title), *map(_cells, found)])
        for title, found in rows.items()
        if found
    ]


def _heads(title: str) -> tuple[str, ...]:
    return (title, "failures", "GPU-hours", "second order", "their GPU-hours")


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what began in a domain and what that cost, and the same of jobs that made room."""
    forced = amount_text(row["second_order_gpu_hours"]) if row["second_order"] else "-"
    return (
        _name(row["kind"], row["domain"]),
        f"{row['failures']:,}",
        amount_text(row["gpu_hours_lost"]),
        f"{row['second_order']:,}",
        forced,
    )


def _name(kind: str, domain: str | None) -> str:
    if domain is None:
        return _NOBODY[kind]
    if kind == "cause":
        return domain.replace("_", " ")
    return domain if kind in _NOBODY else f"{kind} {domain}"


def radii_text(radii: pl.DataFrame, top: int) -> str:
    """Return what hangs on the parts that most hangs on, a few of each kind.

    Args:
        radii: `BLAST_RADII`.
        top: About three times as many as are shown of a kind.
    """
    rows = [("part", "runs", "ranks in it", "ranks at risk", "share of rank-hours")]
    shown = radii.group_by("kind", maintain_order=True).head(max(1, top // 3))
    rows += [
        (
            f"{row['kind']} {row['domain']}{_rail(row['rail'])}",
            f"{row['runs']:,}",
            _count(row["ranks_inside"]),
            _count(row["ranks_at_risk"]),
            percent_text(row["share_at_risk"]) if row["share_at_risk"] is not None else "?",
        )
        for row in shown.iter_rows(named=True)
    ]
    return table("Blast radius", rows)


def _rail(rail: int | None) -> str:
    return "" if rail is None else f" (rail {rail})"


def _count(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"
