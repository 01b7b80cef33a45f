"""Read `rdma statistic`: transport counters of RDMA ports, as text and as JSON.

Source: iproute2 `rdma/stat.c`; Linux kernel, hardware counters of `mlx5_ib`. Counters of single
queue pairs are parts of a port's, and left out.
"""

import re
from typing import Any, Final

import polars as pl

from collectors.ethernet.capture_sections import Section, set_aside
from collectors.ethernet.port_values import PORT_VALUES
from collectors.ethernet.rdma_fields import rdma_fields
from collectors.frames import conform
from collectors.sniffing import ReadOptions
from collectors.texts.json_shapes import is_list, is_object

LINK: Final = r"^(?:\d+/\d+: )?link (\S+?/\d+)\s+((?:[a-z]\w* \d+\s*)+)$"

QUEUE_PAIR: Final = r"^(?:\d+/\d+: )?link \S+ (?:cntn|qp|lqpn|qp-type|pid|comm|mr|mrn)\b"

OF_QUEUE_PAIR: Final = "counter of a queue pair"


def read_rdma_lines(lines: pl.DataFrame, _options: ReadOptions) -> Section:
    """Return the counters in lines of `rdma statistic`.

    Args:
        lines: `CAPTURED`.

    Returns:
        The counters of ports; lines of queue pairs are set aside.
    """
    text = pl.col("text").str.strip_chars()
    is_pair = text.str.contains(QUEUE_PAIR)
    pairs = lines.filter(is_pair)["position"]
    found = lines.filter(~is_pair & text.str.contains(LINK)).with_columns(
        device=text.str.extract(LINK, 1),
        pairs=text.str.extract(LINK, 2).str.extract_all(r"[a-z]\w* \d+"),
    )
    rows = found.explode("pairs").with_columns(
        key=pl.col("pairs").str.extract(r"^(\w+)", 1),
        text=pl.col("pairs").str.extract(r"(\d+)$", 1),
    )
    return Section(
        values=_known(rows), used=found["position"], aside=set_aside(pairs, OF_QUEUE_PAIR)
    )


def rdma_document_values(document: object) -> pl.DataFrame | None:
    """Return `PORT_VALUES` of what `rdma statistic -j` prints; null if it is something else."""
    entries = document if is_list(document) else []
    keys = frozenset(rdma_fields()["key"])
    rows = [
        {"device": f"{entry['ifname']}/{entry['port']}", "key": str(key), "text": str(value)}
        for entry in entries
        if is_object(entry) and _is_port(entry, keys)
        for key, value in entry.items()
        if re.fullmatch(r"\d+", str(value)) and key not in ("ifindex", "port")
    ]
    if not rows:
        return None
    frame = pl.DataFrame(rows).with_columns(position=pl.lit(None, pl.Int64))
    return _known(frame)


def _is_port(entry: dict[str, Any], keys: frozenset[str]) -> bool:
    """Return whether an object of JSON is what a port counts, and not its queue pairs."""
    return {"ifname", "port"} <= set(entry) and not keys.isdisjoint(entry) and "cntn" not in entry


def _known(rows: pl.DataFrame) -> pl.DataFrame:
    known = rows.join(rdma_fields(), on="key", how="inner", maintain_order="left")
    placed = known.with_columns(device_kind=pl.lit("nic"))
    return conform(placed.lazy(), PORT_VALUES).collect()
