"""Times as Kubernetes prints them: RFC 3339, or with the day of the week in descriptions."""

import polars as pl

from collectors.frames import TIME
from collectors.texts.stamps import iso_time


def kubernetes_time(text: pl.Expr) -> pl.Expr:
    """Return the time of a stamp of the API or of `kubectl describe`; null for other text.

    Args:
        text: `2031-02-03T04:05:06Z`, with or without a fraction, or `Mon, 03 Feb 2031 04:05:06
            +0000`.
    """
    spelled = text.str.to_datetime("%a, %d %b %Y %H:%M:%S %z", strict=False, time_unit="us")
    return pl.coalesce(iso_time(text, "UTC"), spelled.dt.convert_time_zone("UTC").cast(TIME))
