"""What stays of a finding, a firing and an incident when times and evidence move.

An id of `alerts.titles.incident_id` holds the onset, and an onset is an estimate: it moves as data
come in. What is recognised across ticks is who it is about and what is wrong with them.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

from alerts.firings import Firing
from alerts.incidents import Incident
from alerts.titles import ID_CHARACTERS
from detectors.promotion import rack_of
from detectors.verdicts import Subject, Verdict

_OF_A_RUN: Final = frozenset({"run", "attempt", "rank", "worker", "dp", "pp", "tp", "ep", "group"})
"""Parts of a subject that a run gives out and takes back; what is left is a thing one can touch."""
_BURN: Final = ("objective", "run", "severity", "long_seconds", "short_seconds")


def digest(*parts: object) -> str:
    """Return a short hash of parts, in their order."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:ID_CHARACTERS]


def verdict_identity(verdict: Verdict) -> str:
    """Return a hash of kind, level and subject."""
    return digest(verdict.kind, verdict.level, sorted(verdict.subject.known().items()))


def firing_identity(firing: Firing) -> str:
    """Return a hash of what burns, for whom, in which pair of windows."""
    return digest(*(getattr(firing, name) for name in _BURN))


def told_firing_identity(body: Mapping[str, object]) -> str:
    """Return the identity of a firing in the form of the JSON contract."""
    return digest(*(body[name] for name in _BURN))


def likeness(incident: Incident) -> str:
    """Return a hash of what is wrong with which thing, whatever run it is in.

    A finding about a rank of a run, with no host or device, is like another of that run only.
    Without a finding it is what burns.
    """
    lead = next(iter((*incident.suspects, *incident.context)), None)
    if lead is None:
        names = sorted({(one.objective, one.run or "") for one in incident.burns})
        return digest("burn", names)
    return digest(lead.kind, sorted(_lasting(lead.subject).items()))


def _lasting(subject: Subject) -> dict[str, str | int]:
    known = subject.known()
    things = {name: value for name, value in known.items() if name not in _OF_A_RUN}
    return things or {name: value for name, value in known.items() if name != "attempt"}


def places(subjects: Iterable[Subject]) -> frozenset[str]:
    """Return the names of hosts, switches and ranks that subjects are about.

    A rank is only the same within a run; hosts that only share a rack share no place.
    """
    return frozenset(
        f"{name}={value}" for one in subjects for name, value in marks(one) if name != "rack"
    )


def marks(subject: Subject) -> list[tuple[str, str]]:
    """Return what an incident about this subject can be found by: names and values."""
    ends = [end.split(":")[0] for end in (subject.link or "").split(" - ") if end]
    found = [("host", name) for name in (subject.host, *ends) if name]
    racks = [subject.rack, *(rack_of(name) for _, name in found)]
    found += [("switch", subject.switch)] if subject.switch else []
    found += [("rack", name) for name in racks if name]
    if subject.rank is not None:
        found.append(("rank", f"{subject.run}/{subject.rank}"))
    return sorted(set(found))
