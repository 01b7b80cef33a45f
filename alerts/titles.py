"""What an incident is called: a title for people and an id for machines, both without numbers.

A number that changes would break threads and deduplication, so neither holds a measurement.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from detectors.verdicts import Verdict, rfc3339

ID_CHARACTERS: Final = 16
"""64 bits: enough for every incident a cluster will have, short enough to say aloud."""

_HURT: Final[Mapping[str, str]] = {
    "slow": "runs slow",
    "degrading": "gets slower",
    "flapping": "is slow off and on",
    "group_slow": "runs slow",
    "imbalance": "is unevenly split",
    "hang": "hangs",
    "crash": "crashed",
    "mismatch": "disagrees on its collectives",
    "link_fault": "runs over a faulty link",
    "congestion": "runs over a congested network",
    "config_drift": "runs on drifted settings",
    "lemon": "runs on a repeat offender",
    "numerical": "computes doubtful numbers",
    "telemetry_lost": "is partly unwatched",
    "unknown": "shows something undecided",
}


def incident_title(
    runs: Sequence[str], suspects: Sequence[Verdict], context: Sequence[Verdict]
) -> str:
    """Return what is hurt, how, and where.

    Args:
        runs: Training runs.
        suspects: Who is accused, the first of them by name.
        context: Other findings; without a suspect the first of them says what is wrong.
    """
    lead = next(iter((*suspects, *context)), None)
    whom = ", ".join(runs) if runs else "Cluster"
    hurt = _HURT[lead.kind] if lead else "burns its error budget"
    if not suspects:
        return f"{whom} {hurt}, suspect unknown"
    cause = f" ({suspects[0].cause})" if suspects[0].cause else ""
    if suspects[0].level == "job":
        return f"{whom} {hurt} as a whole{cause}"
    return f"{whom} {hurt}: {subject_text(suspects[0])}{cause}"


def subject_text(verdict: Verdict) -> str:
    """Return whom a finding is about: a host by its name alone, whatever its ranks share."""
    if verdict.level == "host" and verdict.subject.host:
        return f"host {verdict.subject.host}"
    return verdict.subject.phrase()


def incident_id(
    runs: Sequence[str],
    onset: datetime | None,
    lead: Verdict | None,
    objectives: Sequence[str],
) -> str:
    """Return a hash of runs, onset, kind and subject.

    Args:
        runs: Training runs.
        onset: When it began; what has no clock is told apart by its step.
        lead: The finding that the incident is about; null when only a burn is known.
        objectives: Names of the objectives that burn, for an incident without a finding.
    """
    step = f"step {lead.onset_step}" if lead else None
    subject = sorted(lead.subject.known().items()) if lead else sorted(objectives)
    parts = (sorted(runs), rfc3339(onset) if onset else step, lead.kind if lead else "", subject)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:ID_CHARACTERS]
