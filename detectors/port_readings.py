"""Which samples are of ports, and of which port each lane, priority or queue is a part.

Source: fabric reference, section 5; naming of parts as `collectors.frames` has it.
"""

from typing import Final

import polars as pl

from collectors.frames import SAMPLES, require

PORT_KINDS: Final = ("nic", "switch_port")

PART_KINDS: Final = ("lane", "priority", "queue", "priority_group")
"""Devices that are a part of a port; their name is the port's, a slash, and the part's own."""

SPEEDS: Final = ("port_rate_bytes_per_second", "network_speed_bytes_per_second")
"""Signals that tell how much a port can carry."""

_ENTITY: Final = ("host", "device_kind", "device", "signal")


def port_readings(samples: pl.LazyFrame) -> pl.LazyFrame:
    """Return the samples of ports and their parts, with `port` and `port_kind`, time by time.

    With them come `entity` and `port_number`, which number the counters and the ports.

    Args:
        samples: `SAMPLES`; rows without a time are left out, and of two of one device, signal and
            time the one with the larger value stays, whatever the order of rows.
    """
    known = (
        samples.pipe(require, SAMPLES)
        .filter(pl.col("device_kind").is_in([*PORT_KINDS, *PART_KINDS]))
        .drop_nulls("time")
    )
    names = known.select(_ENTITY).unique().sort(_ENTITY, nulls_last=True).pipe(_placed)
    return (
        known.with_columns(pl.col("value").fill_nan(None))
        .join(names, on=_ENTITY, nulls_equal=True)
        .sort("entity", "time", "value", "exact", "wraps_at", "reason", nulls_last=False)
        .unique(["entity", "time"], keep="last", maintain_order=True)
    )


def _placed(names: pl.LazyFrame) -> pl.LazyFrame:
    """Return the entities with their numbers, the ports that they are parts of, and their kinds.

    Numbers are short keys for what is sorted and grouped millions of times.
    """
    is_part = pl.col("device_kind").is_in(PART_KINDS)
    port = pl.when(is_part).then(pl.col("device").str.replace(r"/[^/]*$", "")).otherwise("device")
    kind = pl.when(~is_part).then("device_kind").drop_nulls().first()
    near = [kind.over(keys) for keys in (["host", "port"], ["host"])]
    own = pl.when(~is_part).then("device_kind")
    return (
        names.with_row_index("entity")
        .with_columns(port=port)
        .with_columns(
            port_kind=pl.coalesce(own, *near, pl.lit("switch_port")),
            port_number=pl.struct("host", "port").rank("dense"),
        )
    )
