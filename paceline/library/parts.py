"""The fields of an answer, to show it as one of a class that shows itself."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def fields_of(told: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of a dataclass by name; their values are the same objects.

    Args:
        told: Any dataclass.
    """
    return {item.name: getattr(told, item.name) for item in fields(told)}
