"""Call every run, device and group of a reading by one name.

Apart from the readers of files, which a store does not need and which load for long.
"""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from collectors.communication.communicators import name_communicators
from collectors.communication.flight_copies import drop_stale_dumps
from collectors.communication.flight_groups import name_groups
from collectors.communication.nccl_places import read_places
from collectors.hosts.replayed_lines import drop_replays
from collectors.hosts.xid_hints import drop_told_xids
from collectors.names.aliases import resolve_devices
from collectors.readings import Reading
from paceline.metric_parts import join_metric_parts
from paceline.naming import Origin, name_runs
from paceline.run_attempts import (
    join_attempts,
    join_exports,
    name_lost_nodes,
    number_rounds,
)
from paceline.successions import number_successions


def name_things(reading: Reading, origins: Mapping[str, Origin]) -> Reading:
    """Return a reading with every run, device and group called by one name.

    Args:
        reading: What all readers found.
        origins: Where each `source` lies.
    """
    placed = _placed(_with_runs(reading, origins))
    named = drop_told_xids(drop_replays(resolve_devices(placed)))
    fresh = drop_stale_dumps(named.collectives, named.events)
    said = name_communicators(fresh, named.events)
    return replace(named, collectives=name_groups(said))


def _placed(reading: Reading) -> Reading:
    """Return a reading with what the lives of communicators tell of where ranks run."""
    placements, aliases = read_places(reading.events)
    return replace(
        reading,
        placements=pl.concat(
            [reading.placements, placements.with_columns(pl.col("attempt").fill_null(0))]
        ),
        aliases=pl.concat([reading.aliases, aliases]),
    )


def _with_runs(reading: Reading, origins: Mapping[str, Origin]) -> Reading:
    named = name_runs(join_attempts(join_exports(reading)), origins)
    return join_metric_parts(number_successions(number_rounds(name_lost_nodes(named))))
