"""Read pluggable modules: `ethtool -m` and SONiC's `show interfaces transceiver ... --dom`.

Power is in dBm; milliwatts are turned into it. A lane without light is `dark`, a copper cable has
no light at all. Source: ethtool `sff-common.c`, `qsfp.c`, `cmis.c`; sonic-net/sonic-utilities
`sfputil`.
"""

from typing import Final

import polars as pl

from collectors.ethernet.capture_sections import Section
from collectors.ethernet.optic_fields import FLAGS, MONITORS, limit_fields
from collectors.ethernet.port_values import COPPER, PORT_VALUES
from collectors.frames import EVENTS, conform
from collectors.sniffing import ReadOptions
from collectors.texts.templates import filled

MODULE_START: Final = r"^\s*Identifier\s*: 0x[0-9a-fA-F]{2} \("

SONIC_START: Final = r"^(Ethernet\S+): (?:SFP EEPROM|.*(?i:transceiver|DOM|module))"

_FIELD: Final = r"^\s*([A-Za-z].*?)\s*:(?: (.*))?$"

_LANE: Final = r"(?i)(?:\((?:channel|chan|lane) (\d+)\)|^[rt]x(\d+)(?:power|bias))"

_COPPER: Final = r"(?i)copper|\bDAC\b|passive"

_NUMBER: Final = r"^(-?(?:\d+\.?\d*|inf)(?:[eE][+-]?\d+)?)"


def read_optics(lines: pl.DataFrame, _options: ReadOptions) -> Section:
    """Return what modules measure.

    Args:
        lines: `CAPTURED`.

    Returns:
        Values of ports and lanes (numbered as the source does) and an event for each alarm that is
        on. A line belongs to the module whose first line is above it.
    """
    text = pl.col("text")
    port = text.str.extract(SONIC_START, 1)
    is_start = text.str.contains(MODULE_START) | port.is_not_null()
    fields = (
        lines.with_columns(port=port, is_start=is_start)
        .with_columns(
            module=pl.col("is_start").cum_sum().over("segment"),
            port=pl.col("port").forward_fill().over("segment"),
        )
        .filter(pl.col("module") > 0, ~pl.col("is_mark"))
        .with_columns(
            name=text.str.extract(_FIELD, 1).str.replace_all(r"\s+", " "),
            value=text.str.extract(_FIELD, 2).fill_null("").str.strip_chars(),
            device=pl.coalesce("port", "device"),
            device_kind=pl.when(pl.col("port").is_not_null())
            .then(pl.lit("switch_port"))
            .otherwise(pl.lit("nic")),
        )
        .filter(pl.col("name").is_not_null())
    )
    return Section(values=_values(fields), events=_events(fields), used=fields["position"])


def _values(fields: pl.DataFrame) -> pl.DataFrame:
    is_copper = (
        pl.col("name").str.contains(r"(?i)transmitter technology|compliance|type|connector")
        & pl.col("value").str.contains(_COPPER)
    ).any()
    key = pl.col("name").str.to_lowercase().str.replace_all(r"[^a-z0-9]+", " ").str.strip_chars()
    keyed = fields.with_columns(
        copper=is_copper.over("segment", "module"),
        index=pl.coalesce(
            pl.col("name").str.extract(_LANE, 1), pl.col("name").str.extract(_LANE, 2)
        ),
        key=key.str.replace(r" (?:channel|chan|lane) \d+$", "").str.replace(
            r"^([rt]x)\d+", "${1}N"
        ),
    )
    monitors = pl.DataFrame(MONITORS, schema=["key", "signal", "factor"], orient="row")
    table = pl.concat([monitors, limit_fields()])
    known = keyed.join(table, on="key", how="inner", maintain_order="left")
    is_power = pl.col("signal").str.ends_with("_power_dbm")
    is_laned = pl.col("signal").is_in(["rx_power_dbm", "tx_power_dbm", "bias_amperes"])
    rows = known.with_columns(
        index=pl.when(is_laned).then(pl.col("index").cast(pl.Int32).fill_null(1)),
        part=pl.when(is_laned).then(pl.lit("lane")),
        text=_printed(pl.col("value"), pl.col("signal").str.ends_with("_dbm")),
        reason=pl.when(is_power & pl.col("copper")).then(pl.lit(COPPER)),
    )
    return conform(rows.lazy(), PORT_VALUES).collect()


def _printed(value: pl.Expr, is_dbm: pl.Expr) -> pl.Expr:
    """Return the number of a field: of a power its dBm, from milliwatts if it says no more."""
    dbm = value.str.extract(r"(-?(?:\d+\.?\d*|inf)(?:[eE][+-]?\d+)?) ?dBm", 1)
    milliwatts = value.str.extract(r"^(\d+\.?\d*(?:[eE][+-]?\d+)?) ?mW", 1).cast(
        pl.Float64, strict=False
    )
    computed = pl.when(milliwatts > 0).then((milliwatts.log10() * 10).cast(pl.String))
    none = pl.when(milliwatts == 0).then(pl.lit("-inf"))
    power = pl.when(is_dbm).then(pl.coalesce(dbm, computed, none))
    return pl.coalesce(power, value.str.extract(_NUMBER, 1), value)


def _events(fields: pl.DataFrame) -> pl.DataFrame:
    """Return one event for each alarm of a module that is on."""
    name = pl.col("name")
    lane = name.str.extract(_LANE, 1)
    flags = fields.filter(
        name.str.contains(FLAGS), pl.col("value").str.contains(r"(?i)^(?:on|yes|true)$|\byes\b")
    ).with_columns(
        code=name.str.replace(r" ?\(.*$", "").str.to_lowercase().str.replace_all(" ", "_"),
        device=pl.when(lane.is_null())
        .then("device")
        .otherwise(filled("{}/lane{}", "device", lane.fill_null(""))),
        device_kind=pl.when(lane.is_null()).then("device_kind").otherwise(pl.lit("lane")),
        kind=pl.lit("module_alarm"),
        severity=pl.lit("medium"),
        message=filled("{}: {}", "name", "value"),
    )
    return conform(flags.lazy(), EVENTS).collect()


def hush_fillers(values: pl.DataFrame) -> pl.DataFrame:
    """Return the values without readings of lanes that a module does not have.

    Modules with fewer lanes than slots print exactly 0.0 (or no light) in the rest: that is a
    filler, neither a strong signal nor a dark one.

    Args:
        values: `PORT_VALUES`.

    Returns:
        The same rows; where the last half or more of a module's lanes are exactly 0.0 and the one
        before is not, those are null with the reason `filler_lane`. A lane whose bias is such a
        filler has no power either.
    """
    lane = ["time", "host", "device", "round", "index"]
    repeat = pl.int_range(pl.len()).over("time", "host", "device", "signal", "part", "index")
    numbered = values.with_columns(row=pl.int_range(pl.len()), round=repeat)
    ranked = _ranked(numbered.filter(pl.col("part") == "lane", pl.col("signal").is_in(_LANED)))
    own = ranked.filter("filler")
    by_bias = own.filter(pl.col("signal") == "bias_amperes").select(lane)
    unlit = ranked.filter(~pl.col("number").is_between(-39.9, -1e-9))
    also = unlit.join(by_bias, on=lane, how="semi", nulls_equal=True)
    rows = pl.concat([own["row"], also["row"]])
    return numbered.with_columns(
        reason=pl.when(pl.col("row").is_in(rows.implode()))
        .then(pl.lit("filler_lane"))
        .otherwise("reason")
    ).drop("row", "round")


_LANED: Final = ("rx_power_dbm", "tx_power_dbm", "bias_amperes")


def _ranked(lanes: pl.DataFrame) -> pl.DataFrame:
    """Return readings of lanes with `number` and whether each is a filler."""
    module = ["time", "host", "device", "round", "signal"]
    place = pl.int_range(pl.len()).over(module)
    used = (pl.col("number") != 0).fill_null(value=True)
    return (
        lanes.with_columns(number=pl.col("text").cast(pl.Float64, strict=False))
        .sort(*module, "index")
        .with_columns(place=place, lanes=pl.len().over(module))
        .with_columns(last=pl.when(used).then("place").max().over(module))
        .with_columns(
            filler=(pl.col("place") > pl.col("last"))
            & ((pl.col("last") + 1) * 2 <= pl.col("lanes"))
        )
        .with_columns(pl.col("filler").fill_null(value=False))
    )
