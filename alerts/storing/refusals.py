"""Why the incident database refuses what it is asked.

What the state of an incident does not allow is refused by `alerts.lifecycle`.
"""

from alerts.lifecycle import RefusedActionError


class UnknownIncidentError(LookupError):
    """No incident has this id, number or alias."""


class StaleVersionError(ValueError):
    """The incident has changed since the person saw it."""


class ReusedKeyError(ValueError):
    """A key that named one request is used for another."""


class RefusedMergeError(RefusedActionError):
    """Two incidents cannot be made one."""


class RefusedSplitError(RefusedActionError):
    """Findings cannot be taken out of an incident."""
