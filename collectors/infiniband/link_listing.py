"""Read what `iblinkinfo` lists: every port of the subnet and what is at its end.

Source: linux-rdma/rdma-core `infiniband-diags/iblinkinfo.c`. In line form each line names its node,
in block form a line above does. The printed front-panel number stands in brackets where the tool
has a map of it.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.infiniband.link_texts import (
    ARROW,
    SEEN,
    degraded_events,
    link_aliases,
    link_cables,
    link_fields,
    link_samples,
    placed,
)
from collectors.infiniband.node_names import looks_like_switch
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.line_stamps import stamped
from collectors.texts.plain_lines import account, judged_lines, plain_lines

_LINE: Final = r'^\s*(?P<guid>0x[0-9a-fA-F]+)\s+"(?P<name>[^"]*)"\s+(?P<rest>\d+.*==\(.*)$'
_BLOCK: Final = (
    r"^(?P<kind>Switch|CA|RT|Router)(?::| )\s*(?:(?P<guid>0x[0-9a-fA-F]+)\s+)?(?P<name>.*?):?\s*$"
)
_MIN_SHARE: Final = 0.5


def wants_link_listing(head: Head) -> float:
    """Return how sure it is that a file is output of `iblinkinfo`."""
    if ")==>" not in head.text:
        return 0.0
    lines = judged_lines(head)
    drawn = sum(1 for line in lines if re.search(ARROW, line) and "Link info:" not in line)
    told = sum(1 for line in lines if re.search(ARROW, line) or re.match(_BLOCK, line))
    return 0.94 if drawn and told >= _MIN_SHARE * len(lines) else 0.0


def read_link_listing(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the links that `iblinkinfo` listed.

    Args:
        path: The file.
        source: The name to quote; a time in it is believed.
        options: The time of a file that does not say it.

    Returns:
        Cables, further names, samples of state, width and rate, and an event for each link that
        runs below what its ends can do. A port that is down has a state and nothing else.
    """
    lines = _situated(stamped(plain_lines(path.read_bytes()), source, options))
    drawn = placed(lines.drop_nulls(["status", "name"]).select(SEEN.names()))
    links = drawn.filter(~pl.col("is_aggregation"))
    heads = lines.filter(pl.col("is_head") | pl.col("is_stamp"))["position"]
    told = pl.when(pl.col("text").str.contains(ARROW)).then(pl.lit("aggregation node or no port"))
    return account(
        lines.select("position", "text", reason=told),
        pl.concat([links["position"], heads]),
        source,
        samples=link_samples(links),
        links=link_cables(links),
        aliases=link_aliases(links),
        events=degraded_events(links),
    )


def _situated(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with the node they speak of and the parts of a drawn link."""
    text = pl.col("text")
    line, block = text.str.extract_groups(_LINE).struct, text.str.extract_groups(_BLOCK).struct
    is_head = text.str.contains(_BLOCK) & ~text.str.contains(ARROW)
    opened = lines.with_columns(
        is_head=is_head,
        own_guid=line.field("guid"),
        own_name=line.field("name"),
        drawn=pl.coalesce(line.field("rest"), "text"),
        kind=pl.when(is_head).then(block.field("kind")),
        head_guid=pl.when(is_head).then(block.field("guid")),
        head_name=pl.when(is_head).then(block.field("name")),
    ).with_columns(block=pl.col("is_head").cum_sum())
    above = pl.col("kind", "head_guid", "head_name").first().over("block")
    name = pl.coalesce(_filled("own_name"), _filled("head_name"))
    guid = pl.coalesce("own_guid", "head_guid", text.str.extract(r"^\s*(0x[0-9a-fA-F]+)\s"))
    named = opened.with_columns(above).with_columns(
        *link_fields(pl.col("drawn")), name=pl.coalesce(name, guid), guid=guid
    )
    return named.with_columns(is_switch=_is_switch())


def _filled(column: str) -> pl.Expr:
    return pl.when(pl.col(column).str.strip_chars() != "").then(column)


def _is_switch() -> pl.Expr:
    """Return whether a line's node is a switch: its block says so, or its name and ports do."""
    kind = pl.col("kind")
    highest = pl.col("port").cast(pl.Int64, strict=False).max().over("name")
    by_name = looks_like_switch(pl.col("name"), highest.cast(pl.String))
    return pl.when(kind.is_not_null()).then(kind == "Switch").otherwise(by_name)
