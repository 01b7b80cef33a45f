"""Lengths of time and times of day as a policy file has them."""

import re
from datetime import time, timedelta
from typing import Annotated, Final

from pydantic import BeforeValidator

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_LENGTH: Final = re.compile(r"([0-9]{1,6})([smhd])")
_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


def _length(value: object) -> timedelta:
    found = _LENGTH.fullmatch(value) if isinstance(value, str) else None
    if found is None or int(found.group(1)) == 0:
        raise ValueError("wanted a length of time above 0 with its unit, such as 30s, 15m, 4h, 7d")
    return timedelta(**{_UNITS[found.group(2)]: int(found.group(1))})


def _clock(value: object) -> time:
    found = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError('wanted a time of day in 24 hours, such as "07:00"')
    return time(int(found.group(1)), int(found.group(2)))


Length = Annotated[timedelta, BeforeValidator(_length)]
"""A length of time, written as `15m`."""

Clock = Annotated[time, BeforeValidator(_clock)]
"""A time of day in some zone, written as `07:00`."""
