"""The blocks of errors and warnings in a RAS report: who is missing, dead, failed or apart.

Source: formats of NCCL logs, section 5.1. A block lists the minority, and the minority may be
ahead. A rank listed under a count stands where the count says.
"""

from typing import Final

import polars as pl

from collectors.communication.ras_sizes import with_sizes
from collectors.identity import canonical_host
from collectors.texts.event_labels import event_labels

HEADING: Final = (
    r"^\s*(?:#(?P<index>\d+)-\d+ \((?P<hash>[0-9a-fA-F]{1,16})\) )?"
    r"(?P<what>INCOMPLETE|ERROR|MISMATCH|DEAD|TIMEOUT)\s*$"
)

_RANK: Final = (
    r"^\s*Rank (?P<group_rank>\d+)(?: has (?:status (?P<status>\w+)"
    r"|launched up to operation (?P<launched>\d+)|(?P<none>not launched any operations))"
    r"| reported (?P<reported>.+?))? -- "
    r"(?:GPU (?P<gpu>\d+)(?: \(NVML (?P<nvml>\d+)\))? managed by process (?P<pid>\d+) "
    r"on node (?P<node>\S+)|\[process information not found\])"
)

_PROCESS: Final = r"^\s*Process (?P<pid>\d+) on node (?P<node>\S+) managing GPUs? (?P<gpus>[\d,]+)"

_COUNT: Final = (
    r"^\s*(?P<ranks>\d+) ranks? (?:have|has) (?:launched up to operation (?P<launched>\d+)"
    r"|(?P<none>not launched any operations)|status (?P<status>\w+))"
)

_MISSING: Final = r"^\s*Missing (?:communicator )?data from (\d+) (?:ranks?|job process)"

_KIND: Final = r"^\s*Communicator ranks have different (\w+)"

_TIMEOUTS: Final = r"^\s*Encountered (\d+) communication timeouts? while"

_ERRORS: Final = r"^\s*(?:Initialization|Asynchronous) errors?(?:\(s\))? on \d+ ranks?"

_DEAD: Final = r"^\s*\d+ job process(?:es)? (?:is|are) considered dead"

BLOCK_LINES: Final = (
    HEADING.replace("?P<index>", "").replace("?P<hash>", "").replace("?P<what>", ""),
    r"^\s*Rank \d+ (?:.* )?-- (?:GPU \d|\[process information)",
    r"^\s*Process \d+ on node \S+ managing GPU",
    r"^\s*\d+ ranks? (?:have|has) (?:launched up to|not launched any|status )",
    _MISSING,
    _KIND,
    _TIMEOUTS,
    _ERRORS,
    _DEAD,
)
"""Lines of blocks; any of them makes a text a report."""


def read_blocks(report: pl.DataFrame, groups: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `COLLECTIVES` and `EVENTS` of the blocks; see `collectors.communication.ras_texts`.

    Args:
        report: The lines of reports.
        groups: What `collectors.communication.ras_tables.read_groups` returns.
    """
    blocks = with_sizes(_under_headings(report), groups)
    ranks = _ranks(blocks)
    counts = _counts(blocks)
    told = [_launched(ranks), _missing(ranks), counts.drop_nulls("enqueued")]
    collectives = pl.concat(told, how="diagonal")
    events = [_rank_events(ranks), _count_events(counts), _process_events(blocks)]
    return (
        collectives.select(*_TOLD, "state").sort("position", maintain_order=True),
        pl.concat([*events, _timeouts(blocks)], how="diagonal"),
    )


_TOLD: Final = (
    "position",
    "time",
    "host",
    "rank",
    "group",
    "group_rank",
    "operation",
    "enqueued",
)


def _under_headings(report: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with what the heading, the kind and the count above them say."""
    text = pl.col("text")
    heading = text.str.extract_groups(HEADING).struct
    is_heading = text.str.contains(HEADING)
    kind = text.str.extract(_KIND, 1)
    count = text.str.extract_groups(_COUNT).struct
    of_count = {f"above_{name}": count.field(name) for name in ("launched", "none", "status")}
    is_count = text.str.contains(_COUNT)
    starts = is_heading | text.str.contains(f"{_MISSING}|{_KIND}|{_ERRORS}|{_DEAD}")
    return (
        report.with_columns(block=is_heading.cum_sum(), section=(starts | is_count).cum_sum())
        .with_columns(
            group=heading.field("hash").str.to_lowercase().first().over("block"),
            index=heading.field("index").cast(pl.Int64, strict=False).first().over("block"),
            what=heading.field("what").first().over("block"),
            operation=kind.forward_fill().over("block"),
            says_missing=text.str.contains(_MISSING).first().over("section"),
            **{name: values.first().over("section") for name, values in of_count.items()},
        )
        .with_columns(
            operation=pl.when(~pl.col("operation").is_in(["collective", "status"])).then(
                "operation"
            )
        )
    )


def _number(text: pl.Expr) -> pl.Expr:
    return text.cast(pl.Int64, strict=False)


def _ranks(blocks: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of ranks, with where each stands and why its numbers cannot be."""
    lines = blocks.filter(pl.col("text").str.contains(_RANK)).drop("host", "rank")
    found = lines.hstack(lines.select(pl.col("text").str.extract_groups(_RANK)).unnest("text"))
    told = pl.any_horizontal(
        pl.col(
            "status", "launched", "none", "reported", "above_launched", "above_none"
        ).is_not_null()
    )
    is_missing = ~told & (pl.col("says_missing") | (pl.col("what") == "INCOMPLETE")).fill_null(
        value=False
    )
    number = _number(pl.col("group_rank"))
    is_wrong = number.is_null() | (number >= pl.col("most_ranks")) | pl.col("is_invalid")
    none = pl.coalesce("none", "above_none").is_not_null()
    return found.with_columns(
        host=canonical_host(pl.col("node")),
        group_rank=number,
        status=pl.coalesce("status", "above_status"),
        enqueued=pl.when(none)
        .then(-1)
        .otherwise(_number(pl.coalesce("launched", "above_launched"))),
        is_missing=is_missing,
        is_wrong=is_wrong,
        rank=pl.when(pl.col("is_world") & ~is_wrong).then(number),
    )


def _launched(ranks: pl.DataFrame) -> pl.DataFrame:
    sound = ranks.filter(~pl.col("is_wrong"), pl.col("reported").is_null())
    return sound.drop_nulls("enqueued").with_columns(state=pl.lit("launched"))


def _missing(ranks: pl.DataFrame) -> pl.DataFrame:
    return ranks.filter("is_missing", ~pl.col("is_wrong")).with_columns(state=pl.lit("missing"))


def _counts(blocks: pl.DataFrame) -> pl.DataFrame:
    """Return the lines that count ranks which stand alike."""
    lines = blocks.filter(pl.col("text").str.contains(_COUNT), ~pl.col("is_invalid"))
    found = lines.hstack(lines.select(pl.col("text").str.extract_groups(_COUNT)).unnest("text"))
    return found.with_columns(
        host=pl.lit(None, pl.String),
        rank=pl.lit(None, pl.Int64),
        group_rank=pl.lit(None, pl.Int64),
        enqueued=pl.when(pl.col("none").is_not_null())
        .then(-1)
        .otherwise(_number(pl.col("launched"))),
        state=pl.lit("launched"),
    )


def _rank_events(ranks: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of ranks that are missing, report an error, or have another status."""
    is_odd = pl.col("is_wrong") | (pl.col("status").is_not_null() & pl.col("enqueued").is_null())
    kind = (
        pl.when("is_missing")
        .then(pl.lit("rank_missing"))
        .when(pl.col("reported").is_not_null())
        .then(pl.lit("ras_error"))
        .when(is_odd)
        .then(pl.lit("ras_standing"))
    )
    is_bad = pl.col("is_missing") | pl.col("reported").is_not_null()
    said = pl.coalesce("reported", "status")
    device = pl.coalesce("nvml", "gpu")
    severity = pl.when(is_bad & ~pl.col("is_wrong")).then(pl.lit("error"))
    return ranks.select(
        *("position", "time", "host", "rank"),
        device=device,
        device_kind=pl.when(device.is_not_null()).then(pl.lit("gpu")),
        kind=kind,
        code=pl.when("is_wrong").then(pl.lit("invalid")).otherwise(said),
        severity=severity.otherwise(pl.lit("warning")),
        count=pl.lit(1, pl.Int32),
        message="text",
        attributes=_rank_labels(),
    ).drop_nulls("kind")


def _rank_labels() -> pl.Expr:
    names = ("group", "group_rank", "pid", "size")
    invalid = pl.when("is_wrong").then(pl.lit("rank"))
    return event_labels({**{name: pl.col(name) for name in names}, "invalid": invalid})


def _count_events(counts: pl.DataFrame) -> pl.DataFrame:
    names = ("group", "ranks", "operation", "enqueued", "status", "size")
    return counts.select(
        "position",
        "time",
        kind=pl.lit("ras_standing"),
        code="status",
        severity=pl.lit("info"),
        count=pl.lit(1, pl.Int32),
        message="text",
        attributes=event_labels({name: pl.col(name) for name in names}),
    )


def _process_events(blocks: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of processes that do not answer, or are taken for dead."""
    groups = pl.col("text").str.extract_groups(_PROCESS).struct
    is_dead = (pl.col("what") == "DEAD").fill_null(value=False)
    gpu = groups.field("gpus").str.extract(r"^(\d+)$", 1)
    return blocks.filter(pl.col("text").str.contains(_PROCESS)).select(
        "position",
        "time",
        host=canonical_host(groups.field("node")),
        device=gpu,
        device_kind=pl.when(gpu.is_not_null()).then(pl.lit("gpu")),
        kind=pl.when(is_dead).then(pl.lit("process_dead")).otherwise(pl.lit("process_missing")),
        code=pl.lit(None, pl.String),
        severity=pl.lit("error"),
        count=pl.lit(1, pl.Int32),
        message="text",
        attributes=event_labels({name: groups.field(name) for name in ("pid", "gpus")}),
    )


def _timeouts(blocks: pl.DataFrame) -> pl.DataFrame:
    return blocks.filter(pl.col("text").str.contains(_TIMEOUTS)).select(
        "position",
        "time",
        kind=pl.lit("ras_timeout"),
        code=pl.col("text").str.extract(_TIMEOUTS, 1),
        severity=pl.lit("warning"),
        count=pl.lit(1, pl.Int32),
        message="text",
    )
