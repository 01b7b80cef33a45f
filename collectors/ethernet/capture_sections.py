"""What one reader finds among the lines of a capture."""

from dataclasses import dataclass, field
from typing import Final

import polars as pl

from collectors.ethernet.port_values import PORT_VALUES
from collectors.frames import ALIASES, EVENTS, schema_of

ASIDE: Final = schema_of({"position": pl.Int64, "reason": pl.String})
"""A line that is understood and of no use, and why."""


def _positions() -> pl.Series:
    return pl.Series("position", [], pl.Int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What the outputs of one tool say.

    Attributes:
        values: `PORT_VALUES`.
        events: `EVENTS`.
        aliases: `ALIASES`.
        used: Positions of the lines that were read, those without a value of their own too.
        aside: `ASIDE`.
    """

    values: pl.DataFrame = field(default_factory=PORT_VALUES.to_frame)
    events: pl.DataFrame = field(default_factory=EVENTS.to_frame)
    aliases: pl.DataFrame = field(default_factory=ALIASES.to_frame)
    used: pl.Series = field(default_factory=_positions)
    aside: pl.DataFrame = field(default_factory=ASIDE.to_frame)


def join_sections(sections: list[Section]) -> Section:
    """Return one section that holds what all say, in their order."""
    return Section(
        values=pl.concat([one.values for one in sections]),
        events=pl.concat([one.events for one in sections]),
        aliases=pl.concat([one.aliases for one in sections]),
        used=pl.concat([one.used for one in sections]),
        aside=pl.concat([one.aside for one in sections]),
    )


def set_aside(positions: pl.Series, reason: str) -> pl.DataFrame:
    """Return `ASIDE` of lines with one reason."""
    return pl.DataFrame({"position": positions}, schema={"position": pl.Int64}).with_columns(
        reason=pl.lit(reason)
    )
