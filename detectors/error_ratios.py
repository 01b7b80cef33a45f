"""How long bits must run before an error ratio means anything.

Source: fabric reference, section 7.2 (the rule of three: no error in N bits shows a ratio below
about 3/N at 95 %). A poll of one minute cannot confirm 1e-14; readings have to be added up.
"""

from typing import Final

RULE_OF_THREE: Final = 3.0
"""-ln(0.05): what N times the ratio must be for "none seen" to be unlikely at 95 %."""

FLOOR_RATIO: Final = 1e-30
"""A ratio below this says that no error was seen: tools print 1.5e-254 or 15e-255 for it."""


def seconds_to_tell(error_ratio: float, bits_per_second: float, errors: float = 1.0) -> float:
    """Return how long a line must run for so many errors to be expected.

    Args:
        error_ratio: Errors a bit; above 0.
        bits_per_second: Of the line, idles included.
        errors: 1 for the least that can be seen, `RULE_OF_THREE` to confirm a clean line.

    Raises:
        ValueError: The ratio or the rate is not above 0.
    """
    if error_ratio <= 0 or bits_per_second <= 0:
        raise ValueError(
            f"error_ratio and bits_per_second must be above 0, got {error_ratio} and "
            f"{bits_per_second}"
        )
    return errors / (error_ratio * bits_per_second)


def duration_text(seconds: float) -> str:
    """Return seconds as people say them: `50 s`, `125 min`, `13.9 h`."""
    if seconds < 120:  # noqa: PLR2004 -- two minutes
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"  # noqa: PLR2004 -- two hours
