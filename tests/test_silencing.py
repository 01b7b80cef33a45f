"""Tests of what keeps incidents quiet."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerts.policies.policies import Policy
from alerts.policies.silencing import Quiet, decide_quiet
from alerts.policies.traits import traits_of
from alerts.storing.records import IncidentRecord, MaintenanceWindow

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
POLICY = Policy(version=1)
LEAF = {"kind": "link_fault", "level": "group", "subject": {"switch": "leaf-3"}}
LINK = {
    "kind": "link_fault",
    "level": "link",
    "subject": {"link": "leaf-3:p1 - h1:ib0"},
}
RACK = {"kind": "slow", "level": "rack", "subject": {"rack": "r3"}}


def slow(host: str = "gpu-r3-n1", rank: int = 8) -> dict[str, Any]:
    """Return that a rank is slow."""
    subject = {"run": "orion", "rank": rank, "host": host}
    return {"kind": "slow", "level": "rank", "subject": subject}


def incident(name: str, *verdicts: dict[str, Any], **other: Any) -> IncidentRecord:
    """Return an incident of run `orion`."""
    victims, burns = other.pop("victims", []), other.pop("burns", [])
    body = {
        "suspects": list(verdicts),
        "context": [],
        "burns": [{"objective": one, "run": "orion"} for one in burns],
        "blast_radius": {"jobs": ["orion"], "victims": victims},
    }
    told: dict[str, Any] = {"severity": "ticket", "onset": START, "number": ord(name)}
    told |= {"detected": START, "paged_at": None, "title": name, "run": "orion", "state": "open"}
    stamps = {"first_seen": START, "updated": START, "version": 1}
    return IncidentRecord(id=name, body=body, **{**told, **stamps, **other})


def explained(*records: IncidentRecord, above: dict[str, str] | None = None) -> dict[str, str]:
    """Return which incident is kept quiet by which."""
    upstream = {host: frozenset({switch}) for host, switch in (above or {}).items()}
    about = {one.id: (one, traits_of(one, upstream)) for one in records}
    quiet = decide_quiet(about, [], POLICY, now=START)
    return {name: one.inhibited_by for name, one in quiet.items() if one.inhibited_by}


LATE = START + timedelta(minutes=30)


@pytest.mark.parametrize(
    ("records", "above", "expected"),
    [
        pytest.param(
            [incident("a", LEAF), incident("b", slow())],
            {"gpu-r3-n1": "leaf-3"},
            {"b": "a"},
            id="a rank below a bad leaf",
        ),
        pytest.param(
            [incident("a", LEAF), incident("b", slow())],
            {"gpu-r3-n1": "leaf-4"},
            {},
            id="a rank below another leaf",
        ),
        pytest.param(
            [incident("a", LEAF, victims=["rank 8"]), incident("b", slow())],
            {},
            {"b": "a"},
            id="a rank among the victims",
        ),
        pytest.param(
            [
                incident("a", LINK, victims=["h7"]),
                incident("b", slow("h7")),
                incident("c", slow("h8")),
            ],
            {},
            {"b": "a"},
            id="a link explains its victims only",
        ),
        pytest.param(
            [
                incident("a", RACK),
                incident("b", slow("gpu-r3-n9")),
                incident("c", slow("gpu-r4-n1")),
            ],
            {},
            {"b": "a"},
            id="a rack explains its hosts",
        ),
        pytest.param(
            [incident("a", RACK), incident("b", slow(), severity="page")],
            {},
            {},
            id="a ticket explains no page",
        ),
        pytest.param(
            [incident("a", RACK, severity="page"), incident("b", slow(), severity="page")],
            {},
            {"b": "a"},
            id="a page explains a page",
        ),
        pytest.param(
            [incident("a", RACK, onset=LATE), incident("b", slow())],
            {},
            {},
            id="what was there before is not explained",
        ),
        pytest.param(
            [incident("a", RACK, onset=None), incident("b", slow())],
            {},
            {"b": "a"},
            id="a cause without a clock",
        ),
        pytest.param(
            [incident("a", RACK, state="resolved", resolved_at=START), incident("b", slow())],
            {},
            {},
            id="what is over explains nothing",
        ),
        pytest.param(
            [incident("a", LEAF), incident("b", LEAF)],
            {},
            {},
            id="two causes do not silence each other",
        ),
        pytest.param(
            [incident("a", severity="page", burns=["steps"]), incident("b", burns=["steps"])],
            {},
            {"b": "a"},
            id="a page covers the burn of its objective",
        ),
        pytest.param(
            [
                incident("a", severity="page", burns=["steps"]),
                incident("b", slow(), burns=["steps"]),
            ],
            {},
            {},
            id="a page covers no finding",
        ),
        pytest.param(
            [incident("a", severity="page", burns=["steps"]), incident("b", burns=["saves"])],
            {},
            {},
            id="a page covers no other objective",
        ),
    ],
)
def test_inhibition(
    records: list[IncidentRecord], above: dict[str, str], expected: dict[str, str]
) -> None:
    """What explains an incident keeps it quiet, in whatever order they are told."""
    told = [explained(*order, above=above) for order in (records, records[::-1])]

    assert told == [expected, expected]


@pytest.mark.parametrize(
    ("matchers", "starts", "quiet"),
    [
        pytest.param({"rack": "r3"}, 0, True, id="its rack"),
        pytest.param({"rack": "r3", "run": "ori*"}, 0, True, id="its rack and run"),
        pytest.param({"rack": "r3", "run": "vega"}, 0, False, id="another run"),
        pytest.param({"rack": "r3"}, 1, False, id="not yet"),
        pytest.param({"rack": "r3"}, -60, False, id="no more"),
        pytest.param({}, 0, False, id="a window over nothing"),
    ],
)
def test_maintenance(matchers: dict[str, str], starts: int, *, quiet: bool) -> None:
    """Planned work keeps quiet what it is about, while it lasts; its end is outside."""
    begin = START + timedelta(minutes=starts)
    window = MaintenanceWindow(
        id="w", matchers=matchers, starts=begin, ends=begin + timedelta(hours=1), who="a", why="b"
    )
    record = incident("a", slow())

    told = decide_quiet({"a": (record, traits_of(record))}, [window], POLICY, now=START)

    assert told == {"a": Quiet(maintenance="w" if quiet else None)}
    assert told["a"].is_quiet is quiet
