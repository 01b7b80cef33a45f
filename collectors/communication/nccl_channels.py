"""Read how NCCL connected its ranks: channels, rings and trees, each edge once.

Source: formats of NCCL logs, section 3.2 (`Channel`, `Ring`, `Trees`; 2.10 to 2.30; before 2.7
connections are called rings). Both numbers of a connection are ranks of its communicator; the
device after a network's name counts on the printing host. Each channel of an edge has a line of its
own: an edge is one event that lists them.
"""

from typing import Final

import polars as pl

from collectors.communication.nccl_records import Records
from collectors.texts.event_labels import event_labels
from collectors.texts.file_places import are_of_one_file, file_number

_EDGE: Final = (
    r"^(?P<from>\d+)(?:\[(?P<from_device>[0-9a-fA-F]+)\])? -> "
    r"(?P<to>\d+)(?:\[(?P<to_device>[0-9a-fA-F]+)\])?"
    r"(?: \[(?P<direction>send|receive)\])? via (?P<via>.+)$"
)

_TRANSPORT: Final = r"^(P2P|SHM|NET|COLLNET|NVLS|direct shared memory)"

_DEVICE: Final = r"^(?:NET|COLLNET)/(.+)/(\d+)(?:\((\d+)\))?(?:/\D[^/]*)*$"
"""Plugin, which may hold blanks and strokes, device, and the rank whose proxy is used."""

_CUT: Final = r"\d$"
"""A torn text that ends so may have lost digits."""

_WHOSE: Final = ("host", "rank", "pid", "cuda_device")

_TREES: Final = r"^(?:NVLS )?Trees? "

_CHANNEL: Final = r"^(?:Channel|Ring) (\d+)"


def is_topology(texts: pl.Series) -> pl.Series:
    """Return whether messages are those of channels, rings or trees."""
    return texts.str.contains("^(?:Channel |Ring |Trees |NVLS Tree)")


def read_channels(records: Records) -> pl.DataFrame:
    """Return one event for each edge, neighbourhood or tree that a process tells.

    Args:
        records: Whole NCCL records that `is_topology` fits.

    Returns:
        Events with the `line` of the first: `channel`, whose `code` is how (`via`), `peer` the
        other end's rank in the communicator; `ring` (`code` is `7 -> 0 -> 1`, or the order of
        all), `tree`. `count` is how many lines there are, `last` the time of the last.
    """
    repeats = _repeats(records.rows)
    said = repeats.hstack(_halves(records.texts)[repeats["said"]])
    folded = said.group_by(*_WHOSE, file_number(), "field_1", maintain_order=True).agg(
        pl.col("line", "position", "time", "field_0").first(),
        pl.col("last").max(),
        pl.col("count").sum(),
        channels=pl.col("channel").unique().sort().str.join(" "),
    )
    told = folded.with_columns(told=pl.col("field_1").str.extract_groups(_EDGE)).unnest("told")
    is_edge = pl.col("via").is_not_null()
    edges = told.filter(is_edge).with_columns(_edge())
    return pl.concat([edges, told.filter(~is_edge).pipe(_shapes)], how="diagonal").select(
        *_WHOSE, "line", "position", "time", "last", "count", "kind", "code", "peer", "extra",
        severity=pl.lit("info"),
    )  # fmt: skip


def _halves(texts: pl.Series) -> pl.DataFrame:
    """Return what stands before and after the colon of messages, and the channel they tell."""
    halves = texts.str.splitn(" : ", 2).struct.unnest()
    return halves.with_columns(channel=pl.col("field_0").str.extract(_CHANNEL))


def _repeats(records: pl.DataFrame) -> pl.DataFrame:
    """Return one row for what a process says in the same words, where it says so first.

    Args:
        records: Rows of NCCL records; `said` numbers their different texts.
    """
    what = pl.col("head").cast(pl.UInt64) * 2**32 + pl.col("said")
    whose = ["rank"] if records["rank"].null_count() < records.height else []
    files = [] if are_of_one_file(records["position"]) else [file_number()]
    told = records.with_row_index("at").group_by(what.alias("what"), *whose, *files)
    firsts = told.agg(pl.col("at").min(), last=pl.col("time").max(), count=pl.len()).sort("at")
    rows = records.select(*_WHOSE, "line", "position", "time", "said")[firsts["at"]]
    return rows.hstack(firsts.select("last", "count"))


def _edge() -> list[pl.Expr]:
    receives = (pl.col("direction") == "receive").fill_null(value=False)
    mine, other = (pl.when(receives).then(one).otherwise(two) for one, two in _ENDS)
    labels = {
        "comm_rank": mine,
        "direction": pl.col("direction"),
        **via_parts(pl.col("via"), pl.lit(value=False)),
        "channels": pl.col("channels"),
        "device": pl.when(receives).then("to_device").otherwise("from_device"),
    }
    return [
        pl.lit("channel").alias("kind"),
        pl.col("via").alias("code"),
        other.alias("peer"),
        event_labels(labels).alias("extra"),
    ]


_ENDS: Final = (("to", "from"), ("from", "to"))


def via_parts(via: pl.Expr, is_torn: pl.Expr) -> dict[str, pl.Expr]:
    """Return what a connection runs over: what a torn text does not show is not known.

    Args:
        via: `NET/IB/1/GDRDMA`, `P2P/CUMEM`, `SHM/direct/direct` ...
        is_torn: Whether its end is missing.
    """
    transport = via.str.extract(_TRANSPORT).replace("direct shared memory", "SHM")
    device = pl.when(~(is_torn & via.str.contains(_CUT))).then(via.str.extract(_DEVICE, 2))
    direct = via.str.contains("/GDRDMA", literal=True)
    said = (transport == "NET") & (direct | ~is_torn)
    return {
        "transport": transport,
        "plugin": via.str.extract(_DEVICE, 1),
        "net_device": device,
        "proxy_rank": via.str.extract(_DEVICE, 3),
        "gdr": pl.when(said).then(pl.when(direct).then(pl.lit("true")).otherwise(pl.lit("false"))),
    }


def _shapes(folded: pl.DataFrame) -> pl.DataFrame:
    """Return rings and trees, which connect nothing by themselves."""
    trees = pl.col("field_0").str.contains(_TREES)
    return folded.with_columns(
        kind=pl.when(trees).then(pl.lit("tree")).otherwise(pl.lit("ring")),
        code=pl.when(~trees).then(pl.col("field_1").str.replace_all(r" +", " ").str.strip_chars()),
        peer=pl.lit(None, dtype=pl.String),
        extra=event_labels({"channels": pl.col("channels")}),
    )
