"""The scoreboard's rows: one figure each, beside its bar and beside what others reach."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a yardstick.

    Attributes:
        yardstick: Which one, such as `Y1 attribution`.
        what: What was counted or measured, with its unit.
        value: As it is printed, MEASURED in this run.
        bar: What must hold; empty where there is no bar.
        holds: Whether it does; null where there is no bar.
        beside: What other methods reach on the same data, with their names.
    """

    yardstick: str
    what: str
    value: str
    bar: str = ""
    holds: bool | None = None
    beside: str = ""


def data_folder() -> Path | None:
    """Return where the public data lies, from `PACELINE_DATA`; null when it is unset."""
    told = os.environ.get("PACELINE_DATA")
    return Path(told) if told else None


def lines_of(figures: Iterable[Figure]) -> list[str]:
    """Return one line a figure, as it goes into a ticket."""
    marks = {True: "holds", False: "BELOW THE BAR", None: ""}
    return [
        " | ".join(
            part
            for part in (
                one.yardstick,
                f"{one.what}: {one.value}",
                f"bar {one.bar}: {marks[one.holds]}" if one.bar else "",
                f"beside: {one.beside}" if one.beside else "",
            )
            if part
        )
        for one in figures
    ]
