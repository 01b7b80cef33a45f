"""The groups that a fleet is shared by, and what each of them finds.

A run is a group: its ranks are each other's peers. Devices and the fabric are compared over the
whole fleet, whoever runs on them: each is one group. What joins findings of several groups, and
every detector that is not listed here, is the fleet's own. So the sum of all groups is what one
process finds, to the last digit: no detector sees less than what it compares.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any, Final

import polars as pl

from collectors.readings import Reading
from detectors.verdicts import VERDICTS, verdict_frame, verdicts_of
from paceline.findings import DETECTORS, DetectorParams, Views

FLEET: Final = "fleet"
"""Joins what all groups found; its owner writes incidents."""

RUN: Final = "run/"
"""Of the names of groups that are runs; a run without a name has an empty one."""

BY_RUN: Final = frozenset(
    {
        *("stragglers", "imbalance", "traces", "uneven work", "periodic sags", "data stalls"),
        *("jobs", "short jobs", "between steps"),
    }
)
"""Detectors that look at steps and traces of one run at a time."""

FAMILIES: Final[Mapping[str, frozenset[str]]] = {
    "devices": frozenset({"device hosts", "pcie links"}),
    "fabric": frozenset(
        {
            *("links", "degrading links", "slow ports", "flaps", "widths", "port faults"),
            *("status faults", "travelled errors", "congestion", "storms", "buffers", "marks"),
            *("bus errors", "unready hosts", "MTUs", "blind ports"),
        }
    ),
}
"""Detectors that compare devices or ports of the whole fleet, and look at no step."""

_OF_RUNS: Final = ("steps", "ops", "collectives", "transfers")
_RUN: Final = pl.col("run").fill_null("")


def groups_of(reading: Reading) -> frozenset[str]:
    """Return the groups of a reading whose runs are named."""
    runs = pl.concat([reading.steps.select("run"), reading.ops.select("run")])
    named = runs.select(_RUN.unique())["run"].to_list()
    return frozenset({FLEET, *FAMILIES, *(f"{RUN}{name}" for name in named)})


def part_of(reading: Reading, groups: Collection[str]) -> Reading:
    """Return as much of a reading as the detectors of some groups look at."""
    if FLEET in groups:
        return reading
    runs = [name.removeprefix(RUN) for name in sorted(groups) if name.startswith(RUN)]
    frames: dict[str, Any] = {
        name: reading.frame(name).filter(_RUN.is_in(runs)) for name in _OF_RUNS
    }
    return replace(reading, **frames)


def find_group(views: Views, params: DetectorParams, group: str) -> bytes:
    """Return what the detectors of a group find, unjoined, in the form in which it is kept.

    Args:
        views: Of a reading that holds at least the group.
        params: The thresholds.
        group: Any but the fleet.
    """
    names = FAMILIES.get(group, BY_RUN)
    seen = views if group in FAMILIES else _of_run(views, group.removeprefix(RUN))
    found = [
        detector(seen, params).with_columns(detector=pl.lit(name))
        for name, detector in DETECTORS
        if name in names
    ]
    return packed(pl.concat(found))


def packed(found: pl.DataFrame) -> bytes:
    """Return findings as they are kept."""
    buffer = BytesIO()
    found.write_ipc(buffer, compression="zstd")
    return buffer.getvalue()


def unpacked(body: bytes) -> pl.DataFrame:
    """Return findings that were kept."""
    return pl.read_ipc(BytesIO(body))


def united(bodies: Iterable[bytes]) -> dict[str, pl.DataFrame]:
    """Return `VERDICTS` of each detector that groups run, over all of them."""
    frames = [unpacked(body) for body in bodies]
    names = sorted(BY_RUN.union(*FAMILIES.values()))
    return {name: _united(frames, name) for name in names}


def _united(frames: Iterable[pl.DataFrame], name: str) -> pl.DataFrame:
    found = [one.filter(pl.col("detector") == name).select(VERDICTS.names()) for one in frames]
    return verdict_frame(verdicts_of(pl.concat(found))) if found else verdict_frame([])


def _of_run(views: Views, run: str) -> Views:
    """Return the views of one run; events stay whole, as they name runs by their hosts too."""
    own = run == _RUN
    return replace(
        views,
        ops=views.ops.filter(own),
        steps=views.steps.filter(own),
        clean_steps=views.clean_steps.filter(own),
        paces=views.paces.filter(own),
        job_paces=views.job_paces.filter(own),
    )
