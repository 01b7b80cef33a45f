"""The contract of a need: one thing that a detector looks at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a detector looks at.

    Attributes:
        detector: Its name in `paceline.findings.DETECTORS`.
        what: The thing, in words.
        frame: The frame that holds it.
        names: Signals (of samples) or kinds (of events) of which any one will do; columns (of
            other frames) that a row must have.
        blinds: What nobody can say without it.
    """

    detector: str
    what: str
    frame: str
    names: tuple[str, ...]
    blinds: str
