"""Columns of UFM telemetry: what each says, in the CSV's names and in those of the stream.

The stream calls them `Infiniband_SymbolErrors_u_Errors`: the unit stands behind `_u_`. Source:
Mellanox/ufm_sdk_3.0 (telemetry streaming, bring-up and log analyzer plugins). `Time_since_last_
clear` is in minutes; one document says milliseconds, the code that uses it does not.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of
from collectors.infiniband.lane_rates import GIGABIT_BYTES
from collectors.infiniband.port_counters import counter_key, port_counters

CONTEXT: Final = {
    "timestamp": "stamp",
    "source_id": "source_guid",
    "node_guid": "guid",
    "port_number": "port",
    "port_num": "port",
    "node_description": "name",
    "node_desc": "name",
    "link_partner_node_guid": "far_guid",
    "link_partner_port": "far_port",
    "link_partner_port_num": "far_port",
    "link_partner_description": "far_name",
    "local_reason_opcode": "local",
    "remote_reason_opcode": "remote",
    "down_blame": "blame",
    "status_message": "status",
    "device_id": "device_number",
    "port_type": "plane",
    "plane_type": "plane",
    "plane": "plane",
    "plane_num": "plane",
}
"""Columns that say of which port a record is, and how that port went down."""

_LEVELS: Final = (
    (r"^(?:total_)?raw_ber$", "pre_fec_error_ratio", 1.0),
    (r"^effective_ber$", "post_fec_error_ratio", 1.0),
    (r"^symbol_ber$", "symbol_error_ratio", 1.0),
    (r"^module_temperature$", "module_temperature_celsius", 1.0),
    (r"^time_since_last_clear(?:_+min_*|_*\[min\])?$", "seconds_since_clear", 60.0),
)
"""Pattern of a column, its signal, and what one of its unit is in ours."""

_STREAMED: Final = {
    "xmitwait": "portxmitwait",
    "pckout": "portxmitpkts",
    "pckin": "portrcvpkts",
    "linkrecovers": "linkerrorrecoverycounter",
    "linkdowned": "linkdownedcounter",
    "rcverrors": "portrcverrors",
    "xmtdiscards": "portxmitdiscards",
    "linkintegrityerrors": "locallinkintegrityerrors",
    "rcvremotephyserrors": "portrcvremotephysicalerrors",
    "xmtconstrainterrors": "portxmitconstrainterrors",
    "rcvconstrainterrors": "portrcvconstrainterrors",
    "excbufoverrunerrors": "excessivebufferoverrunerrors",
    "rcvswrelayerrors": "portrcvswitchrelayerrors",
}
"""The stream's own words, to the key of the counter."""

_AMOUNTS: Final = {"mbout": "transmitted_bytes_total", "mbin": "received_bytes_total"}

_UNIT_BYTES: Final = {"gb": GIGABIT_BYTES, "mb": 1e6}
"""Units of the stream's amounts of data: gigabits, and megabytes as their name says."""

_UNIT: Final = r"_u_(\w+)$"
_BIN: Final = r"^hist_?(\d+)$"
_LANE: Final = r"_?lane_?(\d+)$"
_WIDE: Final = r"(?:extended|ext)$"

COLUMNS: Final = schema_of(
    {
        "name": pl.String,
        "signal": pl.String,
        "factor": pl.Float64,
        "bits": pl.Int32,
        "wide": pl.Boolean,
        "part": pl.String,
        "kind": pl.String,
    }
)
"""A column that measures. `part` is the lane or bin of a port, with its number, null for the port;
`kind` is counter, bin or level; `wide` is whether its name says that it has 64 bits."""


def plain_name(name: pl.Expr) -> pl.Expr:
    """Return a column's name in lower case without the stream's additions."""
    lower = name.str.strip_chars().str.to_lowercase()
    return lower.str.replace(_UNIT, "").str.replace(r"^infiniband_", "")


def telemetry_columns(names: pl.Series) -> pl.DataFrame:
    """Return `COLUMNS` of those of `names` that measure something we know, in their order."""
    plain = plain_name(pl.col("name"))
    key = counter_key(plain.str.replace(_LANE, "")).replace(_STREAMED)
    table = port_counters().rename({"factor": "words", "signal": "counter"})
    given = names.unique(maintain_order=True).to_frame("name")
    level, level_factor = _level(plain)
    amount, amount_factor = _amount(plain)
    known = (
        given.with_columns(
            plain=plain,
            key=key,
            level=pl.coalesce(level, amount),
            level_factor=pl.coalesce(level_factor, amount_factor),
            lane=plain.str.extract(_LANE, 1),
            number=plain.str.extract(_BIN, 1),
        )
        .join(table, on="key", how="left", maintain_order="left")
        .with_columns(**_meaning())
    )
    return known.drop_nulls(["signal", "factor"]).select(COLUMNS.names()).cast(COLUMNS)


def _meaning() -> dict[str, pl.Expr]:
    """Return the columns of `COLUMNS` from what is known of a name."""
    is_bin, is_level = pl.col("number").is_not_null(), pl.col("level").is_not_null()
    bins = pl.when(is_bin).then(pl.lit("fec_bin_codewords_total"))
    lane, number = (
        pl.concat_str(pl.lit(word), name) for word, name in (("lane", "lane"), ("bin", "number"))
    )
    kind = pl.when(is_level).then(pl.lit("level")).when(is_bin).then(pl.lit("bin"))
    return {
        "signal": pl.coalesce("counter", "level", bins),
        "factor": pl.coalesce(
            "level_factor", pl.col("words").cast(pl.Float64), pl.when(is_bin).then(1.0)
        ),
        "wide": pl.col("plain").str.contains(_WIDE),
        "part": pl.coalesce(lane, number),
        "kind": kind.otherwise(pl.lit("counter")),
    }


def _amount(plain: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the signal and the factor of a column that holds an amount of data."""
    signal = plain.replace_strict(_AMOUNTS, default=None, return_dtype=pl.String)
    unit = pl.col("name").str.to_lowercase().str.extract(_UNIT, 1).fill_null("mb")
    factor = unit.replace_strict(_UNIT_BYTES, default=None, return_dtype=pl.Float64)
    return signal, pl.when(signal.is_not_null()).then(factor)


def _level(plain: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the signal and the factor of a column that holds a level."""
    signals = [pl.when(plain.str.contains(each)).then(pl.lit(name)) for each, name, _ in _LEVELS]
    factors = [pl.when(plain.str.contains(each)).then(pl.lit(one)) for each, _, one in _LEVELS]
    return pl.coalesce(signals), pl.coalesce(factors)
