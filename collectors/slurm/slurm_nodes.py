"""Make events of the states of Slurm's nodes, whichever of its tools printed them.

Source: formats of GPU and host streams, section 7.4; sinfo(1) (long states, suffixes) and
scontrol(1) (`IDLE+DRAIN+NOT_RESPONDING`). A state is data: whose fault it is, is not said here.
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

from collectors.frames import EVENTS, TIME, conform, schema_of
from collectors.slurm.slurm_times import stamps_of
from collectors.slurm.slurm_values import device_count, resource_count, size_bytes
from collectors.sniffing import ReadOptions
from collectors.taken import taken_at
from collectors.texts.event_labels import event_labels

NODE_ROWS: Final = schema_of(
    dict.fromkeys(
        (
            "node",
            "state",
            "reason",
            "reason_user",
            "reason_time",
            "gres",
            "gres_used",
            "resources",
            "boot_time",
            "cpu_load",
            "free_memory",
            "comment",
            "extra",
        ),
        pl.String,
    )
    | {"position": pl.Int64}
)  # fmt: skip -- a list of words
"""One node as a tool printed it; null is not printed."""

_BASES: Final = ("UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE")

_WORDS: Final = {
    "DRAINED": "IDLE+DRAIN",
    "DRAINING": "ALLOCATED+DRAIN",
    "DRAIN": "DRAIN",
    "DRNG": "ALLOCATED+DRAIN",
    "ALLOC": "ALLOCATED",
    "MIX": "MIXED",
    "COMP": "COMPLETING",
    "FAILING": "ALLOCATED+FAIL",
    "FAILG": "ALLOCATED+FAIL",
    "INVAL": "INVALID_REG",
    "MAINT": "MAINTENANCE",
    "RESV": "RESERVED",
    "PLND": "PLANNED",
    "BLOCK": "BLOCKED",
    "UNK": "UNKNOWN",
    "REBOOT": "REBOOT_ISSUED",
    "POW_UP": "POWERING_UP",
    "POW_DN": "POWERING_DOWN",
    "NO_RESPOND": "NOT_RESPONDING",
    "PERFCTRS": "PERFCTRS",
}
"""sinfo's words for a state with a flag, and short forms."""

_SUFFIXES: Final = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}

NODE_STATE: Final = (
    rf"(?i:{'|'.join((*_BASES, *_WORDS, 'FAIL', 'RESERVED', 'PLANNED', 'BLOCKED', 'COMPLETING'))})"
    r"[*~#!%$@^+-]*"
)
"""A state as sinfo prints it."""

UNUSABLE_BASES: Final = ("UNKNOWN", "DOWN", "ERROR", "FUTURE")

UNUSABLE_FLAGS: Final = (
    "DRAIN",
    "FAIL",
    "NOT_RESPONDING",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWERING_UP",
    "POWER_DOWN",
    "MAINTENANCE",
    "REBOOT_ISSUED",
    "REBOOT_REQUESTED",
    "INVALID_REG",
    "BLOCKED",
)
"""Flags of a node that takes no work, whatever its base state; `mixed-` is planned, and well."""

_FLAGS: Final = frozenset(
    {
        *_SUFFIXES.values(),
        *UNUSABLE_FLAGS,
        *(word for one in _WORDS.values() for word in one.split("+")),
    }
).difference(_BASES)
"""Flags that are told from the rest of a torn word."""

_NOTHING: Final = ("", "N/A", "None", "NONE", "none", "Unknown", "(null)", "n/a")

_BY: Final = r"(?s)^(.*?)\s*\[([^\[\]@]+)@([^\[\]@]+)\]\s*$"
"""Why, who said so, and when."""


def node_states(text: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return base state and flags of nodes.

    Args:
        text: `IDLE+DRAIN+NOT_RESPONDING`, `DOWN*+CLOUD`, `drained*`, `mixed-`, `allocated+`.

    Returns:
        The base in capitals, null where the words show none; the flags sorted, each once.
    """
    whole = text.str.strip_chars().str.to_uppercase()
    more = pl.when(whole.str.contains(r"^ALLOC(?:ATED)?\+$")).then(pl.lit("+COMPLETING"))
    named = pl.concat_str(whole, more.fill_null(""))
    for sign, flag in _SUFFIXES.items():
        named = named.str.replace_all(sign, f"+{flag}+", literal=True)
    words = named.str.split("+").list.eval(pl.element().replace(_WORDS)).list.join("+")
    parts = words.str.split("+")
    is_base = pl.element().is_in(list(_BASES))
    base = parts.list.eval(pl.element().filter(is_base)).list.first()
    flags = parts.list.eval(pl.element().filter(~is_base, pl.element() != "").unique().sort())
    return base, flags


def node_events(rows: pl.DataFrame, source: str, options: ReadOptions) -> pl.DataFrame:
    """Return `EVENTS` of nodes.

    Args:
        rows: `NODE_ROWS`; a node that is listed once for each of its partitions is one.
        source: The name of the file, which may tell when it was printed.
        options: The zone of stamps without one.

    Returns:
        Of kind node_state: `code` is the base state with its flags in order, `message` the reason,
        `time` when that was set, else when the text was taken; attribute `unusable` is left out
        where no word of the state is known, as in a torn one. Of kind boot: when each node
        started, where it is told.
    """
    base, flags = node_states(pl.col("state"))
    taken = taken_at(source, options)
    told = rows.with_columns(
        pl.col(name).replace(dict.fromkeys(_NOTHING))
        for name in NODE_ROWS.names()
        if name not in ("position", "node", "state")
    )
    split = told.with_columns(
        base=base,
        flags=flags,
        reason=pl.col("reason").str.extract(_BY, 1).fill_null(pl.col("reason")),
        reason_user=pl.coalesce(pl.col("reason").str.extract(_BY, 2), "reason_user"),
        reason_time=pl.coalesce(pl.col("reason").str.extract(_BY, 3), "reason_time"),
        host=pl.col("node").str.strip_chars().str.to_lowercase(),
    )
    timed = split.with_columns(
        reason_at=stamps_of(pl.col("reason_time"), options.time_zone, taken)[0],
        boot_at=stamps_of(pl.col("boot_time"), options.time_zone, taken)[0],
        code=pl.concat_list(pl.col("base").fill_null(""), "flags")
        .list.join("+")
        .str.strip_chars("+"),
        unusable=_unusable(),
    )
    once = timed.unique(["host", "code", "reason", "reason_at"], keep="first", maintain_order=True)
    return pl.concat([_states(once, pl.lit(taken, TIME)), _boots(once)])


def _unusable() -> pl.Expr:
    """Return whether a node takes no work; null where no word of its state is known."""
    base, flags = pl.col("base"), pl.col("flags")
    is_bad = base.is_in(list(UNUSABLE_BASES)).fill_null(value=False) | _has(flags, UNUSABLE_FLAGS)
    return pl.when(base.is_not_null() | _has(flags, _FLAGS)).then(is_bad)


def _has(flags: pl.Expr, wanted: Iterable[str]) -> pl.Expr:
    return flags.list.set_intersection(sorted(wanted)).list.len() > 0


def _states(rows: pl.DataFrame, taken: pl.Expr) -> pl.DataFrame:
    """Return the events of states."""
    gpus = pl.coalesce(
        device_count(pl.col("gres")), resource_count(pl.col("resources"), "gres/gpu")
    )
    said = {
        "base": pl.col("base"),
        "flags": pl.when(pl.col("flags").list.len() > 0).then(pl.col("flags").list.join("+")),
        "unusable": pl.col("unusable"),
        "reason_user": pl.col("reason_user"),
        "reason_time": _rfc3339(pl.col("reason_at")),
        "gpus": gpus,
        "gpus_used": device_count(pl.col("gres_used")),
        "boot_time": _rfc3339(pl.col("boot_at")),
        "cpu_load": pl.col("cpu_load"),
        "free_memory_bytes": size_bytes(pl.col("free_memory")).cast(pl.Int64),
        "comment": pl.col("comment"),
        "extra": pl.col("extra"),
    }
    bad = pl.when("unusable").then(pl.lit("warning")).otherwise(pl.lit("info"))
    return conform(
        rows.lazy().select(
            "host",
            "code",
            "position",
            time=pl.coalesce("reason_at", taken),
            device_kind=pl.lit("node"),
            kind=pl.lit("node_state"),
            severity=bad,
            count=pl.lit(1),
            message="reason",
            attributes=event_labels(said),
        ),
        EVENTS,
    ).collect()


def _boots(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the events of starts."""
    known = rows.drop_nulls("boot_at").unique(["host", "boot_at"], maintain_order=True)
    return conform(
        known.lazy().select(
            "host",
            "position",
            time="boot_at",
            device_kind=pl.lit("node"),
            kind=pl.lit("boot"),
            code=pl.lit("slurm"),
            severity=pl.lit("info"),
            count=pl.lit(1),
            message=pl.lit("BootTime of the node"),
        ),
        EVENTS,
    ).collect()


def _rfc3339(time: pl.Expr) -> pl.Expr:
    return time.dt.to_string("%Y-%m-%dT%H:%M:%SZ")
