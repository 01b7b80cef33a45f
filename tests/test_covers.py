"""A page covers the tickets of its objective, even one that came a moment before it."""

from datetime import UTC, datetime, timedelta

import pytest

from alerts.covers import CoverParams, SentAlert, decide_covers

START = datetime(2026, 1, 1, 10, tzinfo=UTC)
PAGE_LABELS = {"objective": "steps", "run": "a", "severity": "page", "long": "1h"}
TICKET_LABELS = {"objective": "steps", "run": "a", "severity": "ticket", "long": "1d"}


def sent(labels: dict[str, str], second: float, *, resolved: float | None = None) -> SentAlert:
    """An alert that came some seconds after the start."""
    return SentAlert(
        labels=labels,
        received=START + timedelta(seconds=second),
        resolved=None if resolved is None else START + timedelta(seconds=resolved),
    )


PAGE = sent(PAGE_LABELS, 20)
TICKET = sent(TICKET_LABELS, 5)


@pytest.mark.parametrize(
    ("ticket", "page", "covered"),
    [
        pytest.param(TICKET, PAGE, True, id="a page fifteen seconds after its ticket covers it"),
        pytest.param(TICKET, sent(PAGE_LABELS, 65), True, id="sixty seconds are still in time"),
        pytest.param(TICKET, sent(PAGE_LABELS, 65.1), False, id="later the ticket stands alone"),
        pytest.param(
            sent(TICKET_LABELS, 9000), PAGE, True, id="a page that fires covers what comes"
        ),
        pytest.param(
            sent(TICKET_LABELS, 90),
            sent(PAGE_LABELS, 20, resolved=90),
            False,
            id="a page that is over covers nothing",
        ),
        pytest.param(
            TICKET, sent(PAGE_LABELS | {"run": "b"}, 20), False, id="another run is not covered"
        ),
        pytest.param(
            TICKET,
            sent(PAGE_LABELS | {"objective": "goodput"}, 20),
            False,
            id="another objective is not covered",
        ),
        pytest.param(
            TICKET, sent(PAGE_LABELS | {"team": ""}, 20), True, id="an empty label is no label"
        ),
        pytest.param(
            sent({"severity": "ticket"}, 5),
            sent({"severity": "page"}, 20),
            False,
            id="two alerts without an objective are not about one thing",
        ),
    ],
)
def test_covered(ticket: SentAlert, page: SentAlert, *, covered: bool) -> None:
    """A ticket is covered by the page of its objective and group that comes in time."""
    assert decide_covers([page, ticket], CoverParams()) == ([(ticket, page)] if covered else [])


def test_first_page() -> None:
    """Of several pages the first to come is named, in whatever order they are given."""
    later = sent(PAGE_LABELS | {"long": "6h"}, 30)

    assert decide_covers([later, TICKET, PAGE], CoverParams()) == [(TICKET, PAGE)]
    assert decide_covers([PAGE, TICKET, later], CoverParams()) == [(TICKET, PAGE)]


ROUTED_PAGE = sent(PAGE_LABELS | {"routing_key": "team"}, 20)
ROUTED_TICKET = sent(TICKET_LABELS | {"slack_channel": "#alerts"}, 5)


@pytest.mark.parametrize(
    ("ticket", "params", "covered"),
    [
        pytest.param(ROUTED_TICKET, CoverParams(), False, id="any label may say what is hurt"),
        pytest.param(
            ROUTED_TICKET,
            CoverParams(group_labels=("run", "cluster")),
            True,
            id="routing labels do not, where the group's are known, and both lack one of them",
        ),
        pytest.param(
            sent(TICKET_LABELS | {"run": "b"}, 5),
            CoverParams(group_labels=("run",)),
            False,
            id="another group is not covered",
        ),
    ],
)
def test_routing_labels(ticket: SentAlert, params: CoverParams, *, covered: bool) -> None:
    """Labels that route a page and not its ticket do not keep them apart for those who say so."""
    assert bool(decide_covers([ticket, ROUTED_PAGE], params)) is covered
