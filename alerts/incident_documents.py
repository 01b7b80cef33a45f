"""Incidents and findings read back from the form of the JSON contract."""

from collections.abc import Mapping
from typing import Final

from pydantic import TypeAdapter, ValidationError

from alerts.incidents import Incident
from detectors.verdicts import Verdict

_INCIDENTS: Final = TypeAdapter(Incident)
_VERDICTS: Final = TypeAdapter(Verdict)


class IncidentDocumentError(ValueError):
    """A document is no incident or finding of the JSON contract."""


def read_incident(body: Mapping[str, object]) -> Incident:
    """Return the incident that `alerts.incidents.incident_json` wrote.

    Raises:
        IncidentDocumentError: It is none; the message names the places that are wrong.
    """
    try:
        return _INCIDENTS.validate_python(dict(body))
    except ValidationError as error:
        raise _refusal("an incident", error) from error


def read_verdict(body: Mapping[str, object]) -> Verdict:
    """Return the finding that `detectors.verdicts.verdict_json` wrote.

    Raises:
        IncidentDocumentError: It is none; the message names the places that are wrong.
    """
    try:
        return _VERDICTS.validate_python(dict(body))
    except ValidationError as error:
        raise _refusal("a finding", error) from error


def _refusal(wanted: str, error: ValidationError) -> IncidentDocumentError:
    places = sorted({".".join(map(str, one["loc"])) for one in error.errors()})
    return IncidentDocumentError(
        f"wanted {wanted} as `paceline analyze --format json` prints it, found wrong or missing: "
        f"{', '.join(places)}"
    )
