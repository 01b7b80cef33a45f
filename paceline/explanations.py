"""Why a verdict was said: who found it, on what lines, and how near it is to not being one."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, cast

import polars as pl

from collectors.readings import Reading
from detectors.verdicts import Verdict, verdicts_of
from paceline.findings import DETECTORS, Detector, DetectorParams, Views, views_of
from paceline.sensitivities import Margin, margin_of, thresholds_of

_PLACE: Final = re.compile(r"^(.+):(\d+)$")

_PLACES: Final = ("rank", "device", "link", "switch", "port", "group", "gpu")
"""Parts of a subject that tell two findings of one host or run apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one detector said, before findings were joined.

    Attributes:
        detector: Its name.
        verdict: What it said.
        margins: Thresholds that would end it, the nearest first.
        unmoved: How many other thresholds end it at no strictness that was tried.
    """

    detector: str
    verdict: Verdict
    margins: tuple[Margin, ...] = ()
    unmoved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a verdict was said.

    Attributes:
        verdict: The verdict.
        findings: What it was joined from.
        lines: The raw lines that its evidence names: source with position, and text.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    lines: tuple[tuple[str, str], ...]


class _Asked:
    """Parameters that remember which part of them was asked for."""

    def __init__(self, params: DetectorParams) -> None:
        self._params = params
        self.names = set[str]()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- any field of the parameters
        self.names.add(name)
        return getattr(self._params, name)


def explain(
    reading: Reading,
    verdict: Verdict,
    params: DetectorParams,
    say: Callable[[str, int, int], None],
) -> Explanation:
    """Return why a verdict was said of a reading.

    Args:
        reading: What was read, with its runs named.
        verdict: One of its verdicts.
        params: The thresholds that it was found with.
        say: Told before each detector: its name, how many are done, how many there are.
    """
    views, findings = views_of(reading, params), list[Finding]()
    for done, (name, detector) in enumerate(DETECTORS):
        say(name, done, len(DETECTORS))
        asked = _Asked(params)
        found = verdicts_of(detector(views, cast("DetectorParams", asked)))
        for one in found:
            if is_part_of(one, verdict):
                margins, unmoved = _margins(detector, views, params, asked.names, one)
                findings.append(
                    Finding(detector=name, verdict=one, margins=margins, unmoved=unmoved)
                )
    return Explanation(
        verdict=verdict, findings=tuple(findings), lines=tuple(_lines(reading, verdict))
    )


def is_part_of(finding: Verdict, verdict: Verdict) -> bool:
    """Return whether a finding is about the subject of a verdict, at its time."""
    mine, other = finding.subject.known(), verdict.subject.known()
    shared = [name for name in _PLACES if name in mine and name in other]
    is_place = all(mine[name] == other[name] for name in shared)
    is_host = mine.get("host") == other.get("host") and mine.get("run") == other.get("run")
    is_whole = (finding.level == "job") == (verdict.level == "job")
    is_near = bool(shared) or finding.level == verdict.level
    return is_place and is_host and is_whole and is_near and _overlap(finding, verdict)


def _overlap(one: Verdict, other: Verdict) -> bool:
    """Return whether two findings were true at the same time; one without a clock always was."""
    if one.onset is None or other.onset is None:
        return True
    last = datetime.max.replace(tzinfo=UTC)
    return one.onset <= (other.cleared or last) and other.onset <= (one.cleared or last)


def _margins(
    detector: Detector,
    views: Views,
    params: DetectorParams,
    names: set[str],
    finding: Verdict,
) -> tuple[tuple[Margin, ...], int]:
    """Return the thresholds that end a finding, the nearest first, and how many do not."""
    told = list[Margin]()
    for name in sorted(names):
        part = getattr(params, name)

        def stands(tighter: object, name: str = name) -> bool:
            part: dict[str, Any] = {name: tighter}
            found = verdicts_of(detector(views, replace(params, **part)))
            return any(_is_same(one, finding) for one in found)

        for threshold in thresholds_of(part):
            margin = margin_of(stands, part, threshold)
            told.append(replace(margin, threshold=replace(threshold, path=(name, *threshold.path))))
    ends = [one for one in told if one.gone_at is not None]
    return tuple(sorted(ends, key=lambda one: (one.reach, one.threshold.path))), len(told) - len(
        ends
    )


def _is_same(one: Verdict, other: Verdict) -> bool:
    return (one.kind, one.level, one.subject) == (other.kind, other.level, other.subject)


def _lines(reading: Reading, verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield the raw lines that the evidence names, as far as they are events."""
    for seen in verdict.evidence:
        place = _PLACE.match(seen.source)
        if place is None:
            continue
        here = (pl.col("source") == place[1]) & (pl.col("position") == int(place[2]))
        texts: Sequence[str] = reading.events.filter(here)["message"].drop_nulls().to_list()
        yield from ((seen.source, text) for text in dict.fromkeys(texts))
