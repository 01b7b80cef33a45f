"""Read the stamps of a log viewer that prints in the time zone of somebody's browser.

Source: Kibana exports (formats of NCCL and PyTorch-distributed logs, sections 1.2 and 1.4): the
offset is learned from lines that carry a stamp of their own, to the quarter of an hour.
"""

from typing import Final

import polars as pl

_KIBANA: Final = "%b %e, %Y @ %H:%M:%S%.3f"

_OWN: Final = r"\[[IWEFV](\d{1,2}?)(\d\d) (\d\d:\d\d:\d\d)\.\d{6,9} "
"""The stamp inside the text: month, day, time of day, no year."""

_QUARTER: Final = 15 * 60 * 1_000_000


def kibana_time(lines: pl.DataFrame, time_zone: str) -> pl.Expr:
    """Return the UTC time of the stamps in `kibana`, as the clock inside the texts has it.

    Args:
        lines: `kibana`, the viewer's stamp as text, and `text`.
        time_zone: IANA zone of the stamps inside the texts; also the viewer's when no text has one.
    """
    if lines["kibana"].is_null().all():
        return pl.lit(None, dtype=pl.Datetime("us", "UTC"))
    seen = pl.col("kibana").str.to_datetime(_KIBANA, time_unit="us", strict=False)
    month, day, clock = (pl.col("text").str.extract(_OWN, group) for group in (1, 2, 3))
    year = pl.col("kibana").str.extract(r", (\d{4}) @")
    own = pl.concat_str(year, month.str.zfill(2), day, clock, separator=" ").str.to_datetime(
        "%Y %m %d %H:%M:%S", time_unit="us", strict=False
    )
    apart = lines.select((seen - own).dt.total_microseconds().median()).item()
    shift = round((apart or 0) / _QUARTER) * _QUARTER
    local = (seen - pl.duration(microseconds=shift)).dt.replace_time_zone(
        time_zone, ambiguous="earliest", non_existent="null"
    )
    return local.dt.convert_time_zone("UTC")
