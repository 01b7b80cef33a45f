"""Pyrra's resources: ratio, latency and gauge; groups only where they are asked for."""

from decimal import Decimal

import pytest
import yaml

from slo.documents import DocumentError
from slo.objectives import AlertLabel, Counting, Objective
from slo.specs import parse_objectives
from slo.windows import PeriodTooShortError, windows_by_period

DAY = 86400
RATIO = {"errors": {"metric": 'req{code=~"5.."}'}, "total": {"metric": "req"}}
LATENCY = {
    "success": {"metric": 'req_seconds_bucket{code=~"2..",le="1"}'},
    "total": {"metric": 'req_seconds_count{code=~"2.."}'},
}


def resource(indicator: object, **parts: object) -> str:
    """A resource with an indicator."""
    return yaml.safe_dump(
        {
            "apiVersion": "pyrra.dev/v1alpha1",
            "kind": "ServiceLevelObjective",
            "metadata": {
                "name": "req-errors",
                "namespace": "monitoring",
                "labels": {"prometheus": "k8s", "pyrra.dev/team": "web"},
                "annotations": {"pyrra.dev/runbook_url": "https://example.org/r"},
            },
            "spec": {"target": "99.9", "window": "4w", "indicator": indicator, **parts},
        }
    )


def read(indicator: object, **parts: object) -> Objective:
    """The objective of an indicator."""
    (found,) = parse_objectives(resource(indicator, **parts), source="x.yml")
    return found


def test_ratio() -> None:
    """Errors over all; a regular expression never groups (case 31)."""
    found = read({"ratio": RATIO}, description="Of a thousand one.")

    assert (found.name, found.target_percent, found.description, found.group_labels) == (
        "req-errors",
        Decimal("99.9"),
        "Of a thousand one.",
        (),
    )
    assert (found.bad and found.bad.text, found.total.text) == ('req{code=~"5.."}', "req")
    assert found.windows == windows_by_period(28 * DAY, scrape_seconds=15)
    assert found.labels == (AlertLabel(name="team", value="web"),)
    assert found.runbook_url == "https://example.org/r"


def test_grouping() -> None:
    """Grouping splits the budget; a label of alerts that groups, too, is the group's."""
    found = read(
        {"ratio": {**RATIO, "grouping": ["handler", "team"]}}, alerting={"labels": {"tier": "1"}}
    )

    assert (found.group_labels, found.labels) == (
        ("handler", "team"),
        (AlertLabel(name="original_tier", value="1"),),
    )


def test_latency() -> None:
    """The bucket at the bound is good, by both spellings of it (case 37)."""
    found = read({"latency": LATENCY})

    assert (found.good and found.good.text, found.total.text) == (
        'req_seconds_bucket{code=~"2..",le=~"1(\\\\.0)?"}',
        'req_seconds_count{code=~"2.."}',
    )


def test_bool_gauge() -> None:
    """Samples of a gauge of 1 and 0 are counted, not rated (case 23)."""
    found = read({"bool_gauge": {"metric": "probe_ok", "grouping": ["instance"]}})

    assert (found.counting, found.good, found.group_labels, found.sample_bound) == (
        Counting.SAMPLES,
        found.total,
        ("instance",),
        None,
    )


@pytest.mark.parametrize(
    ("alerting", "expected"),
    [
        ({"disabled": True}, ("page", "ticket")),
        ({"burnrates": False}, ("page", "ticket")),
        ({"name": "Burns", "absentName": "Gone"}, ()),
    ],
)
def test_alerting(alerting: dict[str, object], expected: tuple[str, ...]) -> None:
    """Alerts that are switched off leave the pairs recorded."""
    assert read({"ratio": RATIO}, alerting=alerting).muted == expected


def test_native() -> None:
    """A native histogram is refused with what to use."""
    with pytest.raises(
        DocumentError, match="found latencyNative, whose fractions are interpolated"
    ):
        read({"latencyNative": {"total": {"metric": "x"}, "latency": "1s"}})


@pytest.mark.parametrize(
    ("indicator", "message"),
    [
        pytest.param({}, "wanted one of ratio, latency and bool_gauge", id="none"),
        pytest.param({"ratio": RATIO, "latency": LATENCY}, "wanted one of ratio", id="two"),
        pytest.param(
            {"latency": {**LATENCY, "success": {"metric": "req_seconds_bucket"}}},
            "wanted a bucket with le as latency.success",
            id="no bound",
        ),
    ],
)
def test_refused(indicator: object, message: str) -> None:
    """An indicator that says nothing, or two things, is refused."""
    with pytest.raises(DocumentError, match=message):
        read(indicator)


@pytest.mark.parametrize("window", ["1d", "1h"])
def test_short(window: str) -> None:
    """Case 15: a window too short for Pyrra's shares is refused, naming the least possible."""
    with pytest.raises(PeriodTooShortError, match=r"at least 5\.6 d"):
        read({"ratio": RATIO}, window=window)
