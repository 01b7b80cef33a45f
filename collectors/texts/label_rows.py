"""Attributes of an event that is built as a row, from values by name."""

from collections.abc import Mapping


def label_rows(told: Mapping[str, object]) -> list[dict[str, str]]:
    """Return `attributes` of a row of `EVENTS`, in the order given.

    Args:
        told: Values by the name of the attribute; one that is null is left out.
    """
    return [{"key": name, "value": str(value)} for name, value in told.items() if value is not None]
