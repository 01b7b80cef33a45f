"""Sources that fell silent: a ticket of their own, never a page and never health.

Source: the reference on alerts, checklist, number 5: an alert on the age of data per objective,
apart from those on burn. What nobody can see is not known, and nobody is woken for what is not
known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from alerts.policies.policies import DataAge
from alerts.wording import span_text
from detectors.verdicts import Evidence, Subject, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAge:
    """How old the newest data of a source are.

    Attributes:
        name: What people call the source.
        newest: Time of its newest data; null when it never gave any.
        since: When we began to wait for it.
    """

    name: str
    newest: datetime | None
    since: datetime


def decide_data_ages(
    sources: Sequence[SourceAge], before: Sequence[Verdict], rule: DataAge, *, now: datetime
) -> list[Verdict]:
    """Return a finding for each silent source, and for each that was silent until now.

    Args:
        sources: All sources that data are expected from.
        before: What was returned the last time.
        rule: From which age on a source is silent.
        now: The time.
    """
    known = {one.subject.group: one for one in before if one.cleared is None}
    ordered = sorted(sources, key=lambda one: one.name)
    return [
        verdict
        for source in ordered
        if (verdict := _judged(source, known, rule.max_age, now)) is not None
    ]


def _judged(
    source: SourceAge, known: Mapping[str | None, Verdict], max_age: timedelta, now: datetime
) -> Verdict | None:
    onset = source.newest or source.since
    told = known.get(source.name)
    if now - onset <= max_age:
        return None if told is None else replace(told, cleared=max(onset, told.onset or onset))
    if told is not None:
        return told
    never = "never gave data" if source.newest is None else "gave its newest data then"
    return Verdict(
        kind="telemetry_lost",
        level="group",
        subject=Subject(group=source.name),
        onset=onset,
        detected=onset + max_age,
        confidence="high",
        cause="silent source",
        evidence=(Evidence(source=source.name, time=onset, what=never),),
        action=f"look whether {source.name} runs and can be reached; until it answers, what it "
        f"would show is not known (silent for more than {span_text(max_age.total_seconds())})",
    )
