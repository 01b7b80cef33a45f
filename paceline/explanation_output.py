"""An explanation as text for people and as JSON for machines."""

from collections.abc import Iterator
from typing import Final

import orjson

from alerts.titles import subject_text
from alerts.wording import clock_text, counted_text, flat_text
from detectors.verdicts import Verdict, verdict_json
from paceline.explanations import Explanation, Finding
from paceline.sensitivities import Margin

HAIR: Final = 1.1
"""A threshold that may not be drawn tighter by a tenth is near: say so."""


def explanation_text(explanation: Explanation, number: int, count: int) -> str:
    """Return why a verdict was said, step by step.

    Args:
        explanation: Why.
        number: Which verdict it is, from 1.
        count: How many verdicts there are.
    """
    verdict = explanation.verdict
    lines = [
        f"Verdict {number} of {count}: {_headline(verdict)}",
        *_compared(verdict),
        f"  onset {_onset(verdict)}, detected {clock_text(verdict.detected)}, {_ended(verdict)}",
        "",
        "What was seen",
        *(f"  {seen.source}: {seen.what}" for seen in verdict.evidence),
        *([f"  would decide: {verdict.needed}"] if verdict.needed else []),
        "",
        "Who found it, and what would change that",
        *(line for one in explanation.findings for line in _finding(one)),
        *([] if explanation.findings else ["  it was joined from findings about others"]),
    ]
    if explanation.lines:
        told = (f"  {source}: {flat_text(text)}" for source, text in explanation.lines)
        lines += ["", "Raw lines", *told]
    return "\n".join([*lines, ""])


def explanation_bytes(explanation: Explanation) -> bytes:
    """Return the same as JSON, indented, with a final line break."""
    told = {
        "verdict": verdict_json(explanation.verdict),
        "findings": [
            {
                "detector": one.detector,
                "finding": verdict_json(one.verdict),
                "thresholds": [_margin_json(margin) for margin in one.margins],
                "unmoved_thresholds": one.unmoved,
            }
            for one in explanation.findings
        ],
        "lines": [{"source": source, "text": text} for source, text in explanation.lines],
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def verdict_list(verdicts: list[Verdict]) -> str:
    """Return the verdicts with their numbers, a line each."""
    return "\n".join(f"  {at}  {_headline(one)}" for at, one in enumerate(verdicts, start=1))


def _headline(verdict: Verdict) -> str:
    times = "" if verdict.slowdown is None else f" x{verdict.slowdown:.2f}"
    cause = "" if verdict.cause is None else f", {verdict.cause}"
    return (
        f"{verdict.kind}{times}, {subject_text(verdict)}{cause} "
        f"({verdict.level} level, confidence {verdict.confidence})"
    )


def _compared(verdict: Verdict) -> list[str]:
    """Return with whom it was compared, and how likely that is chance."""
    if verdict.peers is None:
        return []
    peers = f"{verdict.peer_count} peers: " if verdict.peer_count else ""
    chance = "" if verdict.q_value is None else f"; false-discovery rate {verdict.q_value:.2g}"
    return [f"  compared with {peers}{verdict.peers}{chance}"]


def _onset(verdict: Verdict) -> str:
    if verdict.onset is None and verdict.onset_step is not None:
        return f"step {verdict.onset_step} (no clock)"
    before = " or before: the data begins there" if verdict.onset_before_data else ""
    return f"{clock_text(verdict.onset)}{before}"


def _ended(verdict: Verdict) -> str:
    told = clock_text(verdict.cleared)
    return "not ended, as far as is told" if verdict.cleared is None else f"ended {told}"


def _finding(finding: Finding) -> Iterator[str]:
    yield f"  {finding.detector}: {_headline(finding.verdict)}"
    for margin in finding.margins:
        yield f"    {_margin(margin)}"
    others = counted_text(finding.unmoved, "other threshold")
    yield f"    with {others} as strict as they go, or eight times as strict, it stands"


def _margin(margin: Margin) -> str:
    """Return how far a threshold may go, with a word where that is near."""
    gone = margin.gone_at if margin.gone_at is not None else margin.stands_to
    is_near = max(gone, margin.threshold.value) / min(gone, margin.threshold.value) < HAIR
    near = "  <- near" if is_near else ""
    return (
        f"{margin.threshold.name} is {margin.threshold.value:.4g}; "
        f"stands to {margin.stands_to:.4g}, gone at {gone:.4g}{near}"
    )


def _margin_json(margin: Margin) -> dict[str, object]:
    return {
        "threshold": margin.threshold.name,
        "set": margin.threshold.value,
        "stands_to": margin.stands_to,
        "gone_at": margin.gone_at,
    }
