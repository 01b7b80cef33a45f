"""Which incident is meant, by its id, by the first characters of it, or as the gravest."""

from collections.abc import Sequence
from typing import Final, TypeVar

from alerts.incidents import Incident

GRAVEST: Final = "gravest"
"""The incident that `analyze` tells first."""

_Some = TypeVar("_Some", bound=Incident)


class UnknownIncidentError(LookupError):
    """No incident is called so, or several are."""


def chosen_incident(incidents: Sequence[_Some], name: str) -> _Some:
    """Return the incident that is meant.

    Args:
        incidents: In reading order.
        name: An id, the first characters of one, or `gravest`.

    Raises:
        UnknownIncidentError: None is called so, or several are; the message lists those that are.
    """
    if not incidents:
        raise UnknownIncidentError("no incident there: nothing was found in what could be read")
    if name == GRAVEST:
        return incidents[0]
    meant = [one for one in incidents if one.id.startswith(name)]
    if len(meant) == 1:
        return meant[0]
    known = "; ".join(f"{one.id} ({one.title})" for one in meant or incidents)
    what = "several incidents begin with" if meant else "no incident"
    raise UnknownIncidentError(f"{what} '{name}'; known: {known}")
