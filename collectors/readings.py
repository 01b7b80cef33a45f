"""What a reader hands back: one frame of each kind, most of them empty."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from collectors.frames import (
    COLLECTIVES,
    COVERAGE,
    EVENTS,
    JOBS,
    LINKS,
    OPS,
    PLACEMENTS,
    REJECTS,
    SAMPLES,
    STEPS,
    conform,
)

MAX_REJECT_CHARACTERS: Final = 200
"""Longer rejected lines are cut: enough to recognise one, too little to fill a report."""

FRAMES: Final[Mapping[str, pl.Schema]] = {
    "samples": SAMPLES,
    "steps": STEPS,
    "ops": OPS,
    "collectives": COLLECTIVES,
    "events": EVENTS,
    "jobs": JOBS,
    "placements": PLACEMENTS,
    "links": LINKS,
    "rejects": REJECTS,
    "coverage": COVERAGE,
}
"""Every frame of a reading by its name."""


_EMPTY: Final[Mapping[str, pl.DataFrame]] = {
    name: schema.to_frame() for name, schema in FRAMES.items()
}


def _empty(name: str) -> pl.DataFrame:
    return _EMPTY[name].clone()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All that came out of one input; each frame has its schema of `collectors.frames`.

    Attributes:
        samples: `SAMPLES`.
        steps: `STEPS`.
        ops: `OPS`.
        collectives: `COLLECTIVES`.
        events: `EVENTS`.
        jobs: `JOBS`.
        placements: `PLACEMENTS`.
        links: `LINKS`.
        rejects: `REJECTS`, every line or record that became nothing else.
        coverage: `COVERAGE`.
    """

    samples: pl.DataFrame = field(default_factory=lambda: _empty("samples"))
    steps: pl.DataFrame = field(default_factory=lambda: _empty("steps"))
    ops: pl.DataFrame = field(default_factory=lambda: _empty("ops"))
    collectives: pl.DataFrame = field(default_factory=lambda: _empty("collectives"))
    events: pl.DataFrame = field(default_factory=lambda: _empty("events"))
    jobs: pl.DataFrame = field(default_factory=lambda: _empty("jobs"))
    placements: pl.DataFrame = field(default_factory=lambda: _empty("placements"))
    links: pl.DataFrame = field(default_factory=lambda: _empty("links"))
    rejects: pl.DataFrame = field(default_factory=lambda: _empty("rejects"))
    coverage: pl.DataFrame = field(default_factory=lambda: _empty("coverage"))

    def frame(self, name: str) -> pl.DataFrame:
        """Return the frame called `name`, one of `FRAMES`."""
        frame: pl.DataFrame = getattr(self, name)
        return frame


def reading_of(**frames: pl.DataFrame | pl.LazyFrame) -> Reading:
    """Return a reading of the given frames, each brought to its schema.

    Args:
        **frames: Frames by their name in `FRAMES`; any subset of a schema's columns.

    Returns:
        The reading; frames not given are empty.
    """
    return Reading(
        **{name: conform(frame.lazy(), FRAMES[name]).collect() for name, frame in frames.items()}
    )


def join_readings(readings: Iterable[Reading]) -> Reading:
    """Return one reading that holds the rows of all, in the order given."""
    parts = list(readings)
    if not parts:
        return Reading()
    return Reading(
        **{name: pl.concat([part.frame(name) for part in parts], how="vertical") for name in FRAMES}
    )


def reject_file(source: str, reason: str, text: str = "") -> Reading:
    """Return the reading of an input of which nothing could be read.

    Args:
        source: The input's name.
        reason: Why, in the words of the report.
        text: The start of its content, if that helps to recognise it.
    """
    row = {"source": [source], "text": [text[:MAX_REJECT_CHARACTERS]], "reason": [reason]}
    return reading_of(rejects=pl.DataFrame(row))
