"""What UFM telemetry says beside its measures: far ends, names, and why links went down.

Source: Mellanox/ufm_sdk_3.0 (netfix, log analyzer). Opcodes and blame are the switch's own words
for the last time its link went down. A far end that is blank or 0 is a link that is down now.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.infiniband.cables import cables_of
from collectors.infiniband.link_texts import aliases_of
from collectors.infiniband.node_names import MAX_NIC_PORT, looks_like_switch

NOTHING: Final = r"(?i)^\s*(?:n/?a|none|null|-|0x0+|0+)?\s*$"
"""What stands where there is no far end and no reason."""

_PORT: Final = ("guid", "port")


def telemetry_cables(kept: pl.DataFrame) -> pl.DataFrame:
    """Return `LINKS`, a row each time a port got another far end."""
    names = kept.select(far_guid="guid", known="name", far_is_switch="is_switch").unique(
        "far_guid", keep="last", maintain_order=True
    )
    far = kept.drop_nulls(["far_guid", "far_port"]).sort(*_PORT, "time", maintain_order=True)
    end = pl.concat_str("far_guid", pl.lit(" "), "far_port")
    moved = far.filter((end != end.shift().over(_PORT)).fill_null(value=True))
    joined = moved.join(names, on="far_guid", how="left", maintain_order="left")
    far_text = pl.coalesce("known", "far_name", "far_guid")
    by_name = looks_like_switch(pl.col("far_name"), pl.col("far_port"))
    by_port = pl.col("far_port").cast(pl.Int64, strict=False) > MAX_NIC_PORT
    far_switch = pl.coalesce(
        "far_is_switch", pl.when(pl.col("far_name").is_not_null()).then(by_name), by_port
    )
    peers = joined.select(
        "time",
        text_a=pl.coalesce("name", "guid"),
        number_a="port",
        switch_a="is_switch",
        text_b=far_text,
        number_b="far_port",
        switch_b=far_switch.fill_null(value=False),
    )
    ends = ["node_a", "port_a", "node_b", "port_b", "time"]
    return cables_of(peers).unique(ends, keep="first", maintain_order=True)


def telemetry_aliases(kept: pl.DataFrame) -> pl.DataFrame:
    """Return `ALIASES` of the nodes whose description is known."""
    blank = pl.lit(None, pl.String)
    once = kept.drop_nulls("name").unique("guid", keep="first", maintain_order=True)
    return aliases_of(
        once.select(
            *("time", "host", "nic", "device", "guid"), lid=blank, label=blank, switch="is_switch"
        )
    )


CAUSES: Final = {
    "local_reason_opcode": "local",
    "remote_reason_opcode": "remote",
    "down_blame": "blame",
    "status_message": "status",
}
"""What a switch says of its last link-down, to the column of a record."""


def telemetry_causes(kept: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of kind `link_down_cause`: each time a port names another reason.

    `code` is the local opcode, null where there is none; all words are in `attributes`.
    """
    texts = [pl.col(name).fill_null("") for name in CAUSES.values()]
    state = pl.concat_str(texts, separator="|")
    reasoned = pl.any_horizontal(
        ~pl.col(name).str.contains(NOTHING) for name in ("local", "remote", "blame")
    )
    local = pl.col("local").str.strip_chars()
    rows = (
        kept.sort(*_PORT, "time", maintain_order=True)
        .with_columns(state=state)
        .filter((pl.col("state") != pl.col("state").shift().over(_PORT)).fill_null(value=True))
        .filter(reasoned)
        .with_columns(attributes=_told())
        .with_columns(
            kind=pl.lit("link_down_cause"),
            code=pl.when(~local.str.contains(NOTHING)).then(local),
            severity=pl.lit("low"),
            peer=pl.concat_str("far_guid", "far_port", separator=" "),
            message=pl.col("attributes").list.eval(_worded()).list.join(", "),
        )
    )
    return conform(rows.lazy(), EVENTS).collect()


def _told() -> pl.Expr:
    """Return what a record says of a link-down, by name, without what it does not say."""
    pairs = [
        pl.struct(key=pl.lit(key), value=pl.col(name).str.strip_chars())
        for key, name in CAUSES.items()
    ]
    told = pl.element().struct["value"]
    return pl.concat_list(pairs).list.eval(pl.element().filter(told.is_not_null() & (told != "")))


def _worded() -> pl.Expr:
    return pl.element().struct["key"] + pl.lit(" ") + pl.element().struct["value"]
