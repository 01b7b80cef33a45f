"""OpenSLO v1alpha: the same objectives as in v1, and by name what has no counterpart."""

from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from slo.calendars import Calendar
from slo.documents import DocumentError
from slo.objectives import Counting, Method, Objective, SampleBound
from slo.slices import Slices
from slo.specs import load_objectives, parse_objectives

DATA = Path(__file__).parent / "data" / "slo"
RATIO = {
    "incremental": True,
    "bad": {"source": "prometheus", "queryType": "promql", "query": "bad"},
    "total": {"query": "all"},
}


def read(target: dict[str, object], **parts: object) -> Objective:
    """The objective of a target."""
    spec = {
        "service": "s",
        "timeWindows": [{"count": 4, "unit": "Week", "isRolling": True}],
        "objectives": [target],
        **parts,
    }
    text = yaml.safe_dump(
        {
            "apiVersion": "openslo/v1alpha",
            "kind": "SLO",
            "metadata": {"name": "calm", "annotations": {"paceline/group-labels": "g"}},
            "spec": spec,
        }
    )
    (found,) = parse_objectives(text, source="x.yml")
    return found


def test_examples() -> None:
    """Each objective has a ratio of its own; several are numbered."""
    found = load_objectives(DATA / "openslo-alpha.yml")

    assert [(o.name, o.title, str(o.target_percent), o.good and o.good.text) for o in found] == [
        (
            "shop-good-answers",
            "The shop answers",
            "99.9",
            'http_request_duration_seconds_count{code!~"(5..|429)",job="shop"}',
        ),
        (
            "api-buckets-0",
            "The API is fast",
            "99",
            'apiserver_request_duration_seconds_bucket{le="0.4",verb!="WATCH"}',
        ),
        (
            "api-buckets-1",
            "The API is fast",
            "99.9",
            'apiserver_request_duration_seconds_bucket{le=~"5(\\\\.0)?",verb!="WATCH"}',
        ),
    ]


def test_ratio() -> None:
    """An incremental ratio is one of counters; annotations of ours stay."""
    found = read({"ratioMetrics": RATIO, "target": 0.99})

    assert (found.counting, found.group_labels, found.period_seconds) == (
        Counting.COUNTER,
        ("g",),
        28 * 86400,
    )


def test_windowed() -> None:
    """`counter` is the newer word for it, and wins."""
    found = read({"ratioMetrics": {**RATIO, "counter": False}, "target": 0.99})

    assert found.counting is Counting.WINDOWED


def test_slices_and_calendar() -> None:
    """Slices and calendars are said as in v1."""
    calendar = {"startTime": "2026-01-01 00:00:00", "timeZone": "UTC"}
    found = read(
        {
            "ratioMetrics": RATIO,
            "target": 0.99,
            "timeSliceTarget": 0.9,
            "timeSliceWindow": 1,
        },
        budgetingMethod="Timeslices",
        timeWindows=[{"count": 1, "unit": "Month", "calendar": calendar}],
    )

    assert (found.method, found.slices, found.calendar) == (
        Method.TIMESLICES,
        Slices(seconds=60, target_ratio=Decimal("0.9")),
        Calendar(unit="month", zone="UTC"),
    )


def test_threshold() -> None:
    """A threshold is of the whole document's indicator."""
    found = read(
        {"op": "lt", "value": 5, "target": 0.99},
        indicator={"thresholdMetric": {"query": "queue"}},
    )

    assert found.sample_bound == SampleBound(sign="<", value=5.0)


@pytest.mark.parametrize("parts", [{}, {"indicator": {"thresholdMetric": {"query": "q"}}}])
def test_refused(parts: dict[str, object]) -> None:
    """One indicator is wanted: neither none nor two."""
    target = {"ratioMetrics": RATIO, "target": 0.9} if parts else {"target": 0.9}
    with pytest.raises(DocumentError, match="either ratioMetrics or an indicator's"):
        read(target, **parts)


def test_titles() -> None:
    """Several objectives with names of their own carry them in the title."""
    text = (DATA / "openslo-alpha.yml").read_text(encoding="utf-8")
    found = parse_objectives(
        text.replace(
            "      target: 0.999\n  timeWindows",
            "      target: 0.999\n      displayName: Slow ones\n  timeWindows",
        ),
        source="x.yml",
    )

    assert [one.title for one in found][-1] == "The API is fast: Slow ones"
