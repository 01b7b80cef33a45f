"""What stays of samples when they are gone: how groups of peers were, and how far each device was.

Source: methods reference, sections 2 and 3, for which statistics of a group a judgement rests on.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of

PEER_STATISTICS: Final = schema_of(
    {
        "time": TIME,
        "step_seconds": pl.Int32,
        "device_kind": pl.String,
        "model": pl.String,
        "run": pl.String,
        "peer_host": pl.String,
        "signal": pl.String,
        "device_count": pl.Int64,
        "sample_count": pl.Int64,
        "median": pl.Float64,
        "mad": pl.Float64,
        "q05": pl.Float64,
        "q25": pl.Float64,
        "q75": pl.Float64,
        "q95": pl.Float64,
    }
)
"""A group of peers over [time, time + step_seconds): statistics of its devices' medians. A group is
devices of a kind, model and run; of disks, those of a host (`peer_host`, else null). `mad` is the
median distance from the median, in the signal's unit and not scaled."""

PEER_RATIOS: Final = schema_of(
    {
        "time": TIME,
        "step_seconds": pl.Int32,
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "index": pl.Int32,
        "model": pl.String,
        "run": pl.String,
        "signal": pl.String,
        "sample_count": pl.Int64,
        "median": pl.Float64,
        "peer_median": pl.Float64,
        "ratio": pl.Float64,
        "peer_count": pl.Int64,
    }
)
"""A device over [time, time + step_seconds): its median, and the ratio of it to the median of its
group, which is null where that is zero. `peer_count` counts the others of the group."""
