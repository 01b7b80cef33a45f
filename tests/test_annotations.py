"""Annotations of ours: what each asks for, and that a misspelt one is refused."""

import pytest

from slo.annotations import AnnotationError, Notes, read_annotations
from slo.guards import Guard
from slo.slices import EmptySlice


def read(**notes: object) -> Notes:
    """What annotations ask for."""
    ours = {f"paceline/{name.replace('_', '-')}": value for name, value in notes.items()}
    return read_annotations(ours, "x")


def test_none() -> None:
    """Nothing is asked for, and annotations of others are left alone."""
    assert read_annotations({"other/windows": "mine"}, "x") == Notes()


def test_all() -> None:
    """Each annotation is read; numbers and truths may stand without quotes."""
    found = read(
        group_labels="cluster, run",
        windows="by-share",
        mute="ticket",
        max_groups=100,
        min_bad_count=3,
        guard_by_traffic=True,
        confidence="0.95",
        empty_slices="bad",
        threshold="histogram",
        slow_step_ratio=1.25,
        runbook_url="https://example.org/r",
        dashboard_url="https://example.org/d",
    )

    assert found == Notes(
        group_labels=("cluster", "run"),
        windows="by-share",
        muted=("ticket",),
        max_group_count=100,
        guard=Guard(min_bad_count=3, by_traffic=True, confidence_ratio=0.95),
        empty=EmptySlice.BAD,
        is_histogram=True,
        slow_step_ratio=1.25,
        runbook_url="https://example.org/r",
        dashboard_url="https://example.org/d",
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        pytest.param("color", "x", "unknown annotation .'paceline/color'.; known", id="unknown"),
        pytest.param("mute", "page, all", "to list page and ticket, found 'page, all'", id="mute"),
        pytest.param(
            "max_groups", "0", "from 1 on as paceline/max-groups, found '0'", id="no group"
        ),
        pytest.param("min_bad_count", "-1", "from 0 on as paceline/min-bad-count", id="below zero"),
        pytest.param("min_bad_count", "some", "found 'some'", id="no count"),
        pytest.param("guard_by_traffic", "yes", "to be true or false, found 'yes'", id="no truth"),
        pytest.param(
            "confidence", "1", "paceline/confidence as in '0.95', found '1'", id="certain"
        ),
        pytest.param(
            "confidence", "x", "paceline/confidence as in '0.95', found 'x'", id="no share"
        ),
        pytest.param("empty_slices", "maybe", "to be excluded, good, bad, found", id="a slice"),
        pytest.param("threshold", "x", "to be samples or histogram, found 'x'", id="a threshold"),
        pytest.param("slow_step_ratio", "1", "above 1, as in '1.10', found '1'", id="not slower"),
        pytest.param("slow_step_ratio", "x", "above 1, as in '1.10', found 'x'", id="no ratio"),
    ],
)
def test_refused(name: str, value: str, message: str) -> None:
    """An unknown name and an impossible value are refused."""
    with pytest.raises(AnnotationError, match=message):
        read(**{name: value})
