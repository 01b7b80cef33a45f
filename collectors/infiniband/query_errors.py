"""Read what `ibqueryerrors` prints: counters above a threshold, by node and port.

Source: linux-rdma/rdma-core `infiniband-diags/ibqueryerrors.c`, linux-rdma/infiniband-diags. A
counter that is not printed is below the threshold: neither 0 nor missing, so it has no row. From
2019 to 2026 the tool exchanged the names of the two sets that `--details` adds; which set a name
belongs to and which counter it follows tell whether that happened.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.identity import node_guid
from collectors.infiniband.link_texts import (
    SEEN,
    degraded_events,
    link_aliases,
    link_cables,
    link_fields,
    link_samples,
    placed,
)
from collectors.infiniband.node_names import is_aggregation
from collectors.infiniband.port_tokens import TOKENS, samples_of_tokens
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.line_stamps import stamped
from collectors.texts.plain_lines import account, judged_lines, plain_lines

_NODE: Final = r'^(?:Errors|Data Counters) for (?:(?P<guid>0x[0-9a-fA-F]+)\s+)?"(?P<name>.*)"\s*$'
_PORT: Final = r"^\s*GUID (?P<guid>0x[0-9a-fA-F]+) port (?P<port>ALL|\d+):"
_COUNTER: Final = r"\[(\w+) == (\d+)(?: \(([\d.]+)(\w*)\))?\]"
_SUMMARY: Final = r"^##"
_FAILURE: Final = r"(?i)^ibwarn:|\bquery failed\b|\bbad status \d+|^ibpanic:|mad_rpc"

DISCARDS: Final = "PortXmitDiscards"
ERRORS: Final = "PortRcvErrors"

EXCHANGED: Final = {
    (DISCARDS, "PortLocalPhysicalErrors"): "PortInactiveDiscards",
    (DISCARDS, "PortMalformedPktErrors"): "PortNeighborMTUDiscards",
    (DISCARDS, "PortBufferOverrunErrors"): "PortSwLifetimeLimitDiscards",
    (DISCARDS, "PortDLIDMappingErrors"): "PortSwHOQLifetimeLimitDiscards",
    (ERRORS, "PortInactiveDiscards"): "PortLocalPhysicalErrors",
    (ERRORS, "PortNeighborMTUDiscards"): "PortMalformedPktErrors",
    (ERRORS, "PortSwLifetimeLimitDiscards"): "PortBufferOverrunErrors",
    (ERRORS, "PortSwHOQLifetimeLimitDiscards"): "PortDLIDMappingErrors",
}
"""Counter that a detail follows and the name it was given, to the name it should have: a detail of
the other set than its parent's. A detail of the parent's own set is rightly named."""


def wants_query_errors(head: Head) -> float:
    """Return how sure it is that a file is output of `ibqueryerrors`."""
    if "GUID" not in head.text:
        return 0.0
    lines = judged_lines(head)
    nodes = any(re.match(_NODE, line) for line in lines)
    ports = any(re.match(_PORT, line) for line in lines)
    return 0.96 if nodes and ports else 0.9 if ports else 0.0


def read_query_errors(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what `ibqueryerrors` printed.

    Args:
        path: The file.
        source: The name to quote; a time in it is believed.
        options: The time of a file that does not say it.

    Returns:
        Samples, cables, further names, and an event for each link that runs below what its ends
        can do and for each node that did not answer. A count in the form `12 (12.000)` came from
        64 bits, a bare one from the classic width. Sums over ports are left out.
    """
    lines = _situated(stamped(plain_lines(path.read_bytes()), source, options))
    links = placed(_links(lines))
    dropped = links.filter("is_aggregation").select(node="name", port="port").unique()
    kept = links.filter(~pl.col("is_aggregation"))
    tokens = _tokens(lines).join(dropped, on=["node", "port"], how="anti", maintain_order="left")
    failures = lines.filter(pl.col("text").str.contains(_FAILURE))
    samples = samples_of_tokens(tokens.select(TOKENS.names()))
    used = [kept["position"], tokens["position"], failures["position"], _headers(lines)]
    return account(
        _reasons(lines),
        pl.concat(used),
        source,
        samples=pl.concat([samples, link_samples(kept)]),
        links=link_cables(kept),
        aliases=link_aliases(kept),
        events=pl.concat([degraded_events(kept), _failure_events(failures)]),
    )


def _situated(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with the node and the port they speak of."""
    text = pl.col("text")
    node = text.str.extract_groups(_NODE).struct
    port = text.str.extract_groups(_PORT).struct
    opened = lines.with_columns(
        is_node=text.str.contains(_NODE),
        named=node.field("name"),
        listed=node.field("guid"),
        own=node_guid(port.field("guid")),
        port=port.field("port"),
    ).with_columns(block=pl.col("is_node").cum_sum())
    inside = opened.with_columns(
        pl.col("named", "listed").first().over("block"),
        guid=pl.col("own").forward_fill().over("block"),
    )
    name = pl.when(pl.col("named").str.strip_chars() != "").then("named")
    return inside.with_columns(
        is_port=pl.col("own").is_not_null(),
        is_switch=pl.col("listed").is_not_null(),
        name=pl.coalesce(name, "guid"),
    )


def _links(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the `SEEN` links of the nodes."""
    drawn = lines.select(
        "time", "name", "guid", "is_switch", *link_fields(pl.col("text")), "position"
    )
    return drawn.drop_nulls("status").select(SEEN.names())


def _tokens(lines: pl.DataFrame) -> pl.DataFrame:
    """Return `TOKENS` of real ports, with their `node` description and `port`."""
    whole = pl.col("text").str.extract_all(_COUNTER)
    printed = (
        lines.filter(pl.col("is_port"), pl.col("port") != "ALL", pl.col("name").is_not_null())
        .with_columns(token=whole)
        .explode("token", empty_as_null=True)
        .drop_nulls("token")
    )
    parts = [pl.col("token").str.extract(_COUNTER, at) for at in (1, 2, 3)]
    named = printed.with_columns(counter=parts[0], value=parts[1], human=parts[2])
    is_parent = pl.col("counter").is_in([DISCARDS, ERRORS])
    parent = pl.when(is_parent).then("counter").forward_fill().over("position")
    return _ports(named.with_columns(parent=parent.fill_null("")))


def _ports(named: pl.DataFrame) -> pl.DataFrame:
    table = pl.DataFrame(
        [(*key, right) for key, right in EXCHANGED.items()],
        schema=["parent", "counter", "right"],
        orient="row",
    )
    keys = ["parent", "counter"]
    righted = named.join(table, on=keys, how="left", maintain_order="left")
    fields = ("lid", "label", "status", "far_guid", "far_lid", "far_port", "far_label", "message")
    blank = {name: pl.lit(None, pl.String) for name in (*fields, "far_name")}
    where = placed(righted.with_columns(**blank))
    return where.with_columns(
        node="name",
        name=pl.coalesce("right", "counter"),
        wide=pl.col("human").is_not_null(),
        text=pl.col("value"),
        reason=pl.lit(None, pl.String),
    ).select(*TOKENS.names(), "node", "port")


def _headers(lines: pl.DataFrame) -> pl.Series:
    """Return the positions of lines that say whose counters follow."""
    is_head = pl.col("is_node") & ~is_aggregation(pl.col("named"))
    return lines.filter(is_head | pl.col("is_stamp"))["position"]


def _failure_events(failures: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of nodes that did not answer: their counters are missing, not zero."""
    rows = failures.lazy().select(
        "time",
        "position",
        kind=pl.lit("collector_failed"),
        code=pl.lit("ibqueryerrors"),
        severity=pl.lit("medium"),
        message=pl.col("text").str.strip_chars(),
    )
    return conform(rows, EVENTS).collect()


def _reasons(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with the reason of those that are left out."""
    text = pl.col("text")
    reason = (
        pl.when(pl.col("port") == "ALL")
        .then(pl.lit("sum over all ports"))
        .when(text.str.contains(_SUMMARY))
        .then(pl.lit("a summary, no port"))
        .when(text.str.contains("==>") | text.str.contains(_COUNTER) | pl.col("is_node"))
        .then(pl.lit("aggregation node or no port"))
    )
    return lines.select("position", "text", reason=reason)
