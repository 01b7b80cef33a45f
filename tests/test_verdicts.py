"""Verdicts come back from their frame as they went in."""

from datetime import UTC, datetime

from detectors.verdicts import VERDICTS, Evidence, Subject, Verdict, verdict_frame, verdicts_of

ONSET = datetime(2026, 1, 5, 0, 35, 6, 677115, tzinfo=UTC)
FULL = Verdict(
    kind="slow",
    level="gpu",
    subject=Subject(run="W-TRAIN", host="hx8-004", gpu=5),
    confidence="high",
    onset=ONSET,
    slowdown=1.31,
    evidence=(Evidence(source="dcgm", time=ONSET, what="clock low"),),
    victims=("rank 1",),
    alternatives=("rank 2",),
)
BARE = Verdict(kind="unknown", level="job", subject=Subject(), confidence="low")


def test_verdicts_survive_their_frame() -> None:
    """A frame of verdicts gives the same verdicts back, unset fields and all."""
    assert verdicts_of(verdict_frame([BARE, FULL])) == [FULL, BARE]


def test_no_rows_are_no_verdicts() -> None:
    """An empty frame is no finding."""
    assert verdicts_of(VERDICTS.to_frame()) == []
