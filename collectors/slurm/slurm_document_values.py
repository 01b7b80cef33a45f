"""Values of Slurm's JSON in all their dresses, as the text that Slurm's other tools print.

Source: formats of GPU and host streams, section 7.3. A number may be bare, a text (`"Infinity"`) or
a struct that says whether it is set; unset is no value, never 0.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

_NO_VALUES: Final = (
    65534,
    65535,
    4294967294,
    4294967295,
    18446744073709551614,
    18446744073709551615,
)
"""NO_VAL and INFINITE of 16, 32 and 64 bits. Source: `slurm/slurm.h`."""


def struct_of(value: object) -> Mapping[str, Any]:
    """Return a struct; an empty one for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: object) -> Sequence[Any]:
    """Return a list; an empty one for any other value."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def number(value: object) -> float | None:
    """Return a number; null for what is not set, infinite or no number.

    Args:
        value: `600`, `null`, `"Infinity"`, or `{"set": true, "infinite": false, "number": 600}`.
    """
    if isinstance(value, dict):
        told = struct_of(cast("object", value))
        is_set = told.get("set", True) and not told.get("infinite", False)
        return number(told.get("number")) if is_set else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return None if value in _NO_VALUES or value != value else value  # noqa: PLR0124 -- NaN differs from itself


def epoch_text(value: object) -> str | None:
    """Return epoch seconds; 0 is a time that is not yet."""
    found = number(value)
    return f"{found:.0f}" if found else None


def clock_text(value: object) -> str | None:
    """Return a span like `0:10:00.500000` of seconds, or of seconds and microseconds."""
    parts = struct_of(value) or {"seconds": value}
    seconds, micros = number(parts.get("seconds")), number(parts.get("microseconds"))
    if seconds is None:
        return None
    whole = int(seconds)
    clock = f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{clock}.{int(micros or 0):06d}"


def states_text(value: object) -> str | None:
    """Return a state with its flags between commas.

    Args:
        value: `"COMPLETED"`, `["RUNNING", "COMPLETING"]`, or `{"current": ..., "reason": ...}`.
    """
    if isinstance(value, dict):
        return states_text(struct_of(cast("object", value)).get("current"))
    if isinstance(value, list):
        return ",".join(str(one) for one in list_of(cast("object", value)) if one) or None
    return text_of(value)


def text_of(value: object) -> str | None:
    """Return a text; null for none, an empty one, and values that are no text."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def exit_text(value: object, *, hides_success: bool) -> str | None:
    """Return `code:signal`, as sacct prints an exit.

    Args:
        value: The status of `wait` (older squeue), or a struct with status, code and signal.
        hides_success: Whether the parser says success for every normal exit, so that it says
            nothing.

    Returns:
        Null where the job has none, or where it is not to be believed.
    """
    struct = struct_of(value)
    if not struct or "set" in struct:
        status = number(value)
        return None if status is None else f"{int(status) >> 8}:{int(status) & 127}"
    told = struct_of(struct.get("signal"))
    code, by = number(struct.get("return_code")), number(told.get("id", told.get("signal_id")))
    states = states_text(struct.get("status")) or ""
    if "PENDING" in states or (code is None and by is None):
        return None
    is_success = not code and not by
    return None if hides_success and is_success else f"{code or 0:.0f}:{by or 0:.0f}"
