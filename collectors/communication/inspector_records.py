"""The records of NCCL's Inspector: their shape, and what each of them says.

Source: formats of NCCL logs, section 6.1; NVIDIA/nccl `inspector_json.cc`.
"""

from typing import Any, Final

import polars as pl

from collectors.frames import TIME, TRANSFERS, conform, schema_of
from collectors.identity import canonical_host
from collectors.texts.json_documents import items_of, mapping_of, read_documents

_TEXT: Final = pl.String()
_WHOLE: Final = pl.Int64()
_REAL: Final = pl.Float64()

_HEADER: Final = pl.Struct({"id": _TEXT, "rank": _WHOLE, "n_ranks": _WHOLE, "nnodes": _WHOLE})

_METADATA: Final = pl.Struct({"dump_timestamp_us": _WHOLE, "hostname": _TEXT, "pid": _WHOLE})


def _perf(kind: str, extra: dict[str, pl.DataType]) -> pl.Struct:
    """Return the shape of a timed operation whose fields begin with `kind`."""
    stamps = pl.Struct({f"{kind}_start_ts": _WHOLE, f"{kind}_stop_ts": _WHOLE})
    return pl.Struct(
        {
            kind: _TEXT,
            f"{kind}_sn": _WHOLE,
            f"{kind}_msg_size_bytes": _WHOLE,
            f"{kind}_exec_time_us": _REAL,
            f"{kind}_timing_source": _TEXT,
            f"{kind}_algobw_gbs": _REAL,
            f"{kind}_busbw_gbs": _REAL,
            "event_trace_ts": stamps,
            **extra,
        }
    )


_DROPS: Final = pl.Struct(
    {"coll_dropped_since_last_dump": _WHOLE, "p2p_dropped_since_last_dump": _WHOLE}
)

_OBJECTS: Final = {
    "header": _HEADER,
    "metadata": _METADATA,
    "coll_perf": _perf("coll", {"coll_algo": _TEXT, "coll_proto": _TEXT}),
    "p2p_perf": _perf("p2p", {"p2p_peer": _WHOLE}),
    "dump_stats": _DROPS,
}

RECORDS: Final = schema_of({"position": pl.Int64, "lines": pl.Int64, **_OBJECTS})
"""One record: its first line, how many lines it takes, and its objects; null where it has none."""

_GIGA: Final = 1e9

_MICRO: Final = 1e-6


def plain_records(lines: pl.DataFrame) -> pl.DataFrame | None:
    """Return `RECORDS` of lines that are one object each; null if any is none."""
    body = lines["text"].str.join("\n").item().encode()
    try:
        found = pl.read_ndjson(body, schema=_OBJECTS)
    except (pl.exceptions.PolarsError, ValueError):
        return None
    if found.height != lines.height:
        return None
    return lines.select("position", lines=pl.lit(1, pl.Int64)).hstack(found)


def loose_records(text: str, offset: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `RECORDS` of objects over any number of lines, and the lines of none.

    Args:
        text: Objects one after the other; operations of one header may be a list.
        offset: How many lines of the file come before.
    """
    rows, lost = list[dict[str, Any]](), list[dict[str, Any]]()
    for document in read_documents(text.encode()):
        objects = [mapping_of(one) for one in items_of(document.value)]
        parts = [part for one in objects for part in _parts(one) if _OBJECTS.keys() & part.keys()]
        line = document.line + offset
        if not parts:
            lost.append({"position": line, "text": document.text, "count": document.lines})
        for nth, part in enumerate(parts):
            kept = {name: part[name] for name in _OBJECTS if isinstance(part.get(name), dict)}
            rows.append({"position": line, "lines": 0 if nth else document.lines, **kept})
    shape = {"position": pl.Int64, "text": pl.String, "count": pl.Int64}
    return (
        pl.DataFrame(rows, schema=RECORDS, strict=False),
        pl.DataFrame(lost, schema=shape).filter(pl.col("count") > 0),
    )


def _parts(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a record with one operation each, where it holds a list of them."""
    lists = [name for name in ("coll_perf", "p2p_perf") if isinstance(record.get(name), list)]
    if not lists:
        return [record]
    rest = {name: value for name, value in record.items() if name not in lists}
    return [rest, *({name: one} for name in lists for one in record[name])]


def transfers(records: pl.DataFrame) -> pl.DataFrame:
    """Return `TRANSFERS` of the records that time an operation, in their order."""
    parts = [_timed(records, "coll"), _timed(records, "p2p")]
    return conform(pl.concat(parts, how="diagonal").sort("position").lazy(), TRANSFERS).collect()


def _timed(records: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return the records of one kind of operation, collectives or pairs."""
    perf = pl.col(f"{kind}_perf").struct
    header, metadata = pl.col("header").struct, pl.col("metadata").struct
    stop = perf.field("event_trace_ts").struct.field(f"{kind}_stop_ts")
    micros = pl.coalesce(pl.when(stop > 0).then(stop), metadata.field("dump_timestamp_us"))
    variant = _algorithm() if kind == "coll" else pl.lit(None, pl.String)
    peer = perf.field("p2p_peer") if kind == "p2p" else pl.lit(None, pl.Int64)
    return records.filter(perf.field(kind).is_not_null()).select(
        "position",
        host=canonical_host(metadata.field("hostname")),
        rank=header.field("rank"),
        group=header.field("id"),
        world=header.field("n_ranks"),
        nodes=header.field("nnodes"),
        operation=perf.field(kind),
        sequence=perf.field(f"{kind}_sn"),
        peer_rank=peer,
        bytes=perf.field(f"{kind}_msg_size_bytes"),
        seconds=perf.field(f"{kind}_exec_time_us") * _MICRO,
        algorithm_bytes_per_second=perf.field(f"{kind}_algobw_gbs") * _GIGA,
        bus_bytes_per_second=perf.field(f"{kind}_busbw_gbs") * _GIGA,
        timing=perf.field(f"{kind}_timing_source"),
        variant=variant,
        time=micros.cast(TIME),
    )


def _algorithm() -> pl.Expr:
    """Return algorithm and protocol of a collective; null where neither is told."""
    names = [pl.col("coll_perf").struct.field(name) for name in ("coll_algo", "coll_proto")]
    words = [name.str.to_lowercase() for name in names]
    told = [pl.when(word != "unknown").then(word) for word in words]
    both = pl.concat_str(told, separator=" ", ignore_nulls=True)
    return pl.when(both != "").then(both)


def dropped(records: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of dumps before which the plugin's ring had dropped operations."""
    stats = pl.col("dump_stats").struct
    both = pl.sum_horizontal(
        stats.field(f"{kind}_dropped_since_last_dump") for kind in ("coll", "p2p")
    )
    metadata = pl.col("metadata").struct
    return records.filter(both > 0).select(
        "position",
        time=metadata.field("dump_timestamp_us").cast(TIME),
        host=canonical_host(metadata.field("hostname")),
        kind=pl.lit("records_dropped"),
        code=both.cast(pl.String),
        severity=pl.lit("info"),
        count=pl.lit(1, pl.Int32),
        message=pl.format("{} operations were not written", both),
    )
