"""What the sections of an ibdiagnet file say of ports: counters, state, error ratios, modules.

Source: see `collectors.infiniband.diagnostic_sections`. The registers of the physical layer give a
ratio as a coefficient and an exponent; in `PHY_DB16` they are `field12` to `field17`.
"""

from typing import Final

import polars as pl

from collectors.frames import SAMPLES, conform
from collectors.identity import node_guid
from collectors.infiniband.diagnostic_sections import Section
from collectors.infiniband.lane_rates import rate_values, speed_bytes, width_lanes
from collectors.infiniband.link_texts import melted
from collectors.infiniband.port_counters import counter_key, is_wide_name, port_counters
from collectors.infiniband.port_fields import ACTIVE
from collectors.infiniband.port_tokens import TOKENS, absent_reason, whole_number
from collectors.texts.csv_rows import column
from collectors.texts.error_ratios import floored, ratio_of

_GUID: Final = ("nodeguid", "node_guid")
_PORT: Final = ("portnumber", "portnum", "port_number", "port_num")

_RATIOS: Final = {
    "pre_fec_error_ratio": r"^raw_?ber",
    "post_fec_error_ratio": r"^eff(?:ective)?_?ber",
    "symbol_error_ratio": r"^sym(?:bol)?_?ber",
}
_COEFFICIENT: Final = r"_?(?:coef\w*|mantissa)$"
_EXPONENT: Final = r"_?(?:exp\w*|mag\w*)$"

_NUMBERED: Final = {
    "pre_fec_error_ratio": ("field12", "field13"),
    "post_fec_error_ratio": ("field14", "field15"),
    "symbol_error_ratio": ("field16", "field17"),
}
"""Columns of `PHY_DB16`, whose header has numbers for names."""

_NUMBERED_SECTION: Final = "PHY_DB16"


def located(section: Section, ports: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a section with the columns of `ports` that say which port they are of.

    Args:
        section: Any section by node and port.
        ports: `guid`, `port` and what is known of them; rows of other ports are left out.
    """
    keyed = section.rows.with_columns(
        guid=node_guid(column(section.header, *_GUID)), port=column(section.header, *_PORT)
    )
    return keyed.join(ports, on=["guid", "port"], how="inner", maintain_order="left")


def port_keys(section: Section) -> pl.DataFrame:
    """Return `guid` and `port` of a section's rows."""
    return section.rows.select(
        guid=node_guid(column(section.header, *_GUID)), port=column(section.header, *_PORT)
    )


def counter_tokens(section: Section, rows: pl.DataFrame) -> pl.DataFrame:
    """Return `TOKENS` of the counters in a section, of the wide form where it has a value."""
    names = pl.DataFrame({"name": section.header}).with_row_index("at")
    known = names.with_columns(key=counter_key(pl.col("name")), wide=is_wide_name(pl.col("name")))
    counters = known.join(port_counters(), on="key").sort("at")
    each = (
        rows.drop("name", strict=False)
        .join(counters.select("at", "name", "wide", "signal"), how="cross")
        .with_columns(text=pl.col("fields").list.get(pl.col("at"), null_on_oob=True))
        .with_columns(reason=pl.lit(None, pl.String), has=_is_count(pl.col("text")))
    )
    port = ["position", "signal"]
    has_wide = (pl.col("wide") & pl.col("has")).any().over(port)
    has_narrow = (~pl.col("wide") & pl.col("has")).any().over(port)
    told = (pl.col("wide") & (has_wide | ~has_narrow)) | (~pl.col("wide") & ~has_wide)
    once = each.filter(told).unique(port, keep="first", maintain_order=True)
    return once.select(TOKENS.names())


def _is_count(text: pl.Expr) -> pl.Expr:
    number = whole_number(text)
    is_filler = number >= pl.lit(2**64 - 2, pl.UInt64)
    return absent_reason(text).is_null() & number.is_not_null() & ~is_filler


def state_samples(section: Section, rows: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of state, width and rate; a port that is not active has its state alone."""

    def code(*names: str) -> pl.Expr:
        return whole_number(column(section.header, *names)).cast(pl.Int64, strict=False)

    state = code("portstate")
    active = state == ACTIVE
    lanes = pl.when(active).then(width_lanes(code("linkwidthactv")))
    raw = pl.when(active).then(speed_bytes(code("linkspeedactv")))
    values = {
        "port_state": state,
        "port_physical_state": code("portphystate"),
        **rate_values(lanes, raw),
        "max_link_width_lanes": pl.when(active).then(width_lanes(code("linkwidthsup"))),
        "max_lane_rate_bytes_per_second": pl.when(active).then(speed_bytes(code("linkspeedsup"))),
    }
    return melted(rows, values)


def ratio_samples(section: Section, rows: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of bit error ratios; one that says no error was seen has no value."""
    return floored(melted(rows, _ratio_columns(section)))


def _ratio_columns(section: Section) -> dict[str, pl.Expr]:
    """Return signal to ratio, for those whose coefficient and exponent a section has."""
    found: dict[str, pl.Expr] = {}
    for signal, start in _RATIOS.items():
        names = pl.Series(section.header)
        parts = [names.filter(names.str.contains(start + end)) for end in (_COEFFICIENT, _EXPONENT)]
        if all(len(part) for part in parts):
            found[signal] = _ratio(section.header, str(parts[0][0]), str(parts[1][0]))
        elif section.name == _NUMBERED_SECTION:
            found[signal] = _ratio(section.header, *_NUMBERED[signal])
    return found


def _ratio(header: list[str], coefficient: str, exponent: str) -> pl.Expr:
    """Return the ratio of two columns; null where either is -1 or no number."""
    parts = [whole_number(column(header, name)) for name in (coefficient, exponent)]
    return ratio_of(*(part.cast(pl.Float64) for part in parts))


def bin_samples(section: Section, rows: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of the histogram of corrected symbols a code word, a device each bin."""
    bins = [name for name in section.header if name.removeprefix("hist").isdigit()]
    parts = [
        rows.select(
            "time",
            "host",
            device_kind=pl.lit("fec_bin"),
            device=pl.concat_str("device", pl.lit(f"/bin{name.removeprefix('hist')}")),
            signal=pl.lit("fec_bin_codewords_total"),
            value=whole_number(column(section.header, name)).cast(pl.Float64),
        )
        for name in bins
        if name.startswith("hist")
    ]
    frames = [conform(part.lazy(), SAMPLES).collect() for part in parts]
    return pl.concat([SAMPLES.to_frame(), *frames]).drop_nulls("value")


def module_samples(section: Section, rows: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of module temperatures; `0C` is what a port without a module says."""
    return melted(
        rows, {"module_temperature_celsius": celsius(column(section.header, "temperature"))}
    )


def celsius(text: pl.Expr) -> pl.Expr:
    """Return the degrees in `58C`, `58` or `58.3 C`; null for 0, which stands for no module."""
    number = text.str.extract(r"(?i)^\s*(-?\d+(?:\.\d+)?)\s*°?C?\s*$", 1).cast(
        pl.Float64, strict=False
    )
    return pl.when(number != 0).then(number)
