"""Declared maintenance: whom it is for, and that no time is without a zone."""

from datetime import UTC, datetime

import pytest
import yaml

from slo.documents import DocumentError
from slo.exclusions import Exclusion, ExclusionError
from slo.objectives import Objective
from slo.specs import load_ready, parse_objectives


def objective(name: str, service: str) -> str:
    """A document of an objective."""
    metric = {"metricSource": {"spec": {"query": "x_total"}}}
    return yaml.safe_dump(
        {
            "apiVersion": "openslo/v1",
            "kind": "SLO",
            "metadata": {"name": name},
            "spec": {
                "service": service,
                "indicator": {"spec": {"ratioMetric": {"bad": metric, "total": metric}}},
                "timeWindow": [{"duration": "30d", "isRolling": True}],
                "budgetingMethod": "Occurrences",
                "objectives": [{"target": 0.99}],
            },
        }
    )


def maintenance(**parts: object) -> str:
    """A document of maintenance, changed."""
    spec = {
        "start": "2026-02-20T02:00:00Z",
        "end": "2026-02-20T04:00:00+01:00",
        "author": "ada",
        "reason": "switches",
        "objectives": ["a"],
        **parts,
    }
    document = {
        "apiVersion": "paceline/v1",
        "kind": "Maintenance",
        "metadata": {"name": "m"},
        "spec": spec,
    }
    return yaml.safe_dump(document)


def read(*documents: str) -> list[Objective]:
    """The objectives a and b of one service, and c of another, beside documents."""
    objectives = [objective("a", "s"), objective("b", "s"), objective("c", "t")]
    return parse_objectives("---\n".join([*documents, *objectives]), source="x.yml")


NIGHT = Exclusion(
    start=datetime(2026, 2, 20, 2, tzinfo=UTC),
    end=datetime(2026, 2, 20, 3, tzinfo=UTC),
    author="ada",
    reason="switches",
)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param({}, ["a"], id="one objective"),
        pytest.param({"objectives": [], "services": ["s"]}, ["a", "b"], id="a service"),
        pytest.param({"services": ["t"]}, ["a", "c"], id="both"),
    ],
)
def test_for(parts: dict[str, object], expected: list[str]) -> None:
    """Maintenance is for the objectives and services that it names."""
    found = read(maintenance(**parts))

    assert {one.name: one.exclusions for one in found if one.exclusions} == dict.fromkeys(
        expected, (NIGHT,)
    )


def test_order() -> None:
    """Exclusions are by time, whichever document stands first."""
    early = maintenance(start="2026-02-19T02:00:00Z")

    assert read(maintenance(), early) == read(early, maintenance())


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        pytest.param(
            {"start": "2026-01-01T10:00:00"},
            ExclusionError,
            "document 1: maintenance wants times with a zone, as in 2026-01-01T10:00:00Z",
            id="case 61: a time without a zone",
        ),
        pytest.param({"start": "soon"}, DocumentError, "found 'soon'", id="no time"),
        pytest.param({"end": "2026-02-20T01:00:00Z"}, ExclusionError, "end after", id="backwards"),
        pytest.param({"author": " "}, ExclusionError, "wants an author", id="nobody"),
        pytest.param(
            {"objectives": []}, DocumentError, "that the maintenance is for", id="for none"
        ),
        pytest.param(
            {"objectives": ["z"]}, DocumentError, "nothing here is called .'z'.", id="unknown"
        ),
        pytest.param({"services": ["z"]}, DocumentError, "services: .'s', 't'.", id="no service"),
    ],
)
def test_refused(parts: dict[str, object], error: type[Exception], message: str) -> None:
    """What could exclude anything by accident is refused."""
    with pytest.raises(error, match=message):
        read(maintenance(**parts))


@pytest.mark.parametrize("text", ["2026-01-01T10:00:00Z", "2026-01-01T11:00:00+01:00"])
def test_zones(text: str) -> None:
    """Case 61: times with a zone are read, whichever."""
    (found,) = (one for one in read(maintenance(start=text)) if one.exclusions)

    assert found.exclusions[0].start == datetime(2026, 1, 1, 10, tzinfo=UTC)


def test_none() -> None:
    """What nothing is declared for has no exclusion."""
    assert load_ready().exclusions == ()
