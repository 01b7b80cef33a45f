"""OpenSLO's alert policies: pairs of windows, inline or by name."""

from decimal import Decimal

import pytest
import yaml

from slo.annotations import AnnotationError
from slo.documents import DocumentError
from slo.objectives import Objective
from slo.specs import parse_objectives
from slo.windows import RECOMMENDED_WINDOWS, BurnWindow


def named(kind: str, name: str, spec: dict[str, object]) -> dict[str, object]:
    """A document of a kind."""
    return {"apiVersion": "openslo/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def condition(severity: str = "page", **parts: object) -> dict[str, object]:
    """A condition that works, changed."""
    burn = {"kind": "burnrate", "threshold": 2, "lookbackWindow": "1h", "alertAfter": "5m", **parts}
    return {"severity": severity, "condition": burn}


def policy(*conditions: object, **parts: object) -> dict[str, object]:
    """A policy of conditions."""
    targets = [{"targetRef": "mail"}]
    return {"conditions": list(conditions), "notificationTargets": targets, **parts}


def inline(spec: dict[str, object]) -> dict[str, object]:
    """A condition that stands inside its policy."""
    return {"kind": "AlertCondition", "metadata": {"name": "c"}, "spec": spec}


def read(
    *policies: object, others: tuple[object, ...] = (), windows: str | None = None
) -> Objective:
    """The objective with alert policies, beside other documents."""
    metric = {"metricSource": {"spec": {"query": "x_total"}}}
    spec: dict[str, object] = {
        "service": "s",
        "indicator": {"spec": {"ratioMetric": {"bad": metric, "total": metric}}},
        "timeWindow": [{"duration": "30d", "isRolling": True}],
        "budgetingMethod": "Occurrences",
        "objectives": [{"target": 0.99}],
        "alertPolicies": list(policies),
    }
    slo = named("SLO", "calm", spec)
    if windows is not None:
        slo["metadata"] = {"name": "calm", "annotations": {"paceline/windows": windows}}
    (found,) = parse_objectives(yaml.safe_dump_all([*others, slo]), source="x.yml")
    return found


EXPECTED = BurnWindow(
    severity="page",
    long_seconds=3600,
    short_seconds=300,
    factor=Decimal(2),
    budget_ratio=Decimal(2) * 3600 / (30 * 86400),
    for_seconds=300,
)


@pytest.mark.parametrize(
    ("asked", "others"),
    [
        pytest.param({"kind": "AlertPolicy", "spec": policy(inline(condition()))}, (), id="inline"),
        pytest.param(
            {"alertPolicyRef": "p"},
            (named("AlertPolicy", "p", policy(inline(condition()))),),
            id="a policy by reference",
        ),
        pytest.param(
            "p",
            (
                named("AlertPolicy", "p", policy({"conditionRef": "c"})),
                named("AlertCondition", "c", condition()),
                named("AlertNotificationTarget", "mail", {"target": "email"}),
            ),
            id="policy and condition by name",
        ),
    ],
)
def test_policy(asked: object, others: tuple[object, ...]) -> None:
    """A condition is a pair, whose short window is a twelfth of the one that it names."""
    assert read(asked, others=others).windows == (EXPECTED,)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("page", "page"), ("Critical", "page"), ("sev1", "page"), ("warning", "ticket")],
)
def test_severity(word: str, expected: str) -> None:
    """Words for what wakes someone are pages, all others tickets."""
    found = read({"spec": policy(inline(condition(severity=word)))})

    assert [window.severity for window in found.windows] == [expected]


def test_never_told() -> None:
    """A policy that never tells of a breach leaves the pairs recorded and muted."""
    found = read({"spec": policy(inline(condition()), alertWhenBreaching=False)})

    assert (found.windows, found.muted) == (RECOMMENDED_WINDOWS, ("page", "ticket"))


def test_no_policy() -> None:
    """An empty list asks for nothing of its own."""
    assert read().windows == RECOMMENDED_WINDOWS


def test_both() -> None:
    """Policies and windows of ours contradict each other."""
    with pytest.raises(AnnotationError, match="either alertPolicies or paceline/windows"):
        read({"spec": policy(inline(condition()))}, windows="by-share")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        pytest.param("gone", "no document of kind AlertPolicy named 'gone'", id="no policy"),
        pytest.param({}, "no document of kind AlertPolicy named None", id="neither"),
        pytest.param(
            {"spec": policy({"conditionRef": "gone"})},
            "no document of kind AlertCondition named 'gone'",
            id="no condition",
        ),
        pytest.param(
            {"spec": policy(inline(condition()), inline(condition()))},
            "at most 1 item",
            id="two conditions",
        ),
        pytest.param(
            {"spec": policy(inline(condition(op="lt")))}, "Input should be 'gt'", id="below"
        ),
        pytest.param(
            {"spec": policy(inline(condition(kind="forecast")))},
            "Input should be 'burnrate'",
            id="another kind of condition",
        ),
    ],
)
def test_refused(asked: object, message: str) -> None:
    """What cannot be found or mapped is refused by name."""
    with pytest.raises(DocumentError, match=message):
        read(asked)


def test_twins() -> None:
    """Two policies of one name are refused."""
    twin = named("AlertPolicy", "p", policy(inline(condition())))
    with pytest.raises(DocumentError, match="document 2: wanted a name of its own, found 'p'"):
        read("p", others=(twin, twin))
