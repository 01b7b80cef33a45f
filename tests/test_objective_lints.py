"""Lints of whole objectives: each says what was found and the way out."""

from dataclasses import replace
from decimal import Decimal

import pytest

from slo.calendars import Calendar
from slo.guards import Guard
from slo.lints import Lint, LintParams
from slo.objective_lints import lint_objective
from slo.objectives import AlertLabel, Counting, Method, Objective
from slo.selectors import parse_selector
from slo.slices import Slices
from slo.specs import load_library, load_ready
from slo.windows import RECOMMENDED_WINDOWS, windows_by_period

DAY = 86400
CALM = replace(load_ready(), group_labels=())
SLICED = replace(CALM, method=Method.TIMESLICES, slices=Slices(seconds=60, target_ratio=Decimal(1)))


def lint(objective: Objective, *, notes: bool = False) -> list[Lint]:
    """Messages about an objective; notes only where they are asked for."""
    found = lint_objective(objective, LintParams())
    return [each for each in found if notes or each.level != "note"]


def codes(objective: Objective, *, notes: bool = False) -> list[str]:
    """Codes of the messages."""
    return [each.code for each in lint(objective, notes=notes)]


@pytest.mark.parametrize("objective", [pytest.param(one, id=one.name) for one in load_library()])
def test_library_is_clean(objective: Objective) -> None:
    """What we ship has neither an error nor a warning."""
    assert lint(objective) == []


def test_too_tight() -> None:
    """Five nines leave less than people can react in, and the seconds are told."""
    (found,) = lint(replace(CALM, target_percent=Decimal("99.999")))

    assert found == Lint(
        code="too-tight",
        level="warning",
        text="99.999 % leaves 25.9 s of full outage in 30d, faster than people are; lower the "
        "target, or let machines answer",
    )


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        pytest.param(
            replace(
                CALM,
                calendar=Calendar(unit="month", zone="UTC"),
                windows=windows_by_period(30 * DAY, scrape_seconds=15),
            ),
            ["calendar-shares"],
            id="shares of a month that is not always as long",
        ),
        pytest.param(
            replace(CALM, calendar=Calendar(unit="month", zone="UTC")), [], id="a calendar month"
        ),
        pytest.param(
            replace(
                CALM,
                calendar=Calendar(unit="day", zone="UTC"),
                period_seconds=DAY,
                windows=RECOMMENDED_WINDOWS[:1],
            ),
            ["budget-share"],
            id="a calendar day is too short for shares",
        ),
        pytest.param(
            replace(CALM, target_percent=Decimal("0.999"), windows=RECOMMENDED_WINDOWS[3:]),
            ["percent-as-ratio"],
            id="a ratio where percent is meant",
        ),
        pytest.param(SLICED, [], id="slices of a minute"),
        pytest.param(
            replace(SLICED, slices=Slices(seconds=3600, target_ratio=Decimal(1))),
            ["window-under-slice", "window-under-slice"],
            id="short windows that hold no slice",
        ),
        pytest.param(
            replace(SLICED, slices=Slices(seconds=240, target_ratio=Decimal(1))),
            ["window-cuts-slice", "window-cuts-slice"],
            id="windows that cut slices",
        ),
        pytest.param(
            replace(
                SLICED, slices=Slices(seconds=300, target_ratio=Decimal(1)), period_seconds=DAY // 4
            ),
            [
                "budget-share",
                "budget-share",
                "longer-than-period",
                "budget-share",
                "longer-than-period",
                "budget-share",
                "budget-gone",
                "budget-gone",
                "no-bad-slice",
            ],
            id="a period in which no slice may be bad",
        ),
        pytest.param(
            replace(
                SLICED,
                method=Method.RATIO_TIMESLICES,
                slices=Slices(seconds=60),
                guard=Guard(by_traffic=True),
            ),
            ["idle-guard"],
            id="slices come evenly",
        ),
        pytest.param(
            replace(CALM, guard=Guard(min_bad_count=1, confidence_ratio=0.5)),
            ["idle-guard", "idle-guard"],
            id="guards that never bind",
        ),
        pytest.param(
            replace(SLICED, guard=Guard(min_bad_count=61)),
            ["blocking-guard"],
            id="more bad slices than an hour has",
        ),
        pytest.param(replace(SLICED, guard=Guard(min_bad_count=2)), [], id="a guard of slices"),
        pytest.param(
            replace(CALM, guard=Guard(min_bad_count=2, by_traffic=True, confidence_ratio=0.95)),
            [],
            id="guards that bind",
        ),
        pytest.param(
            replace(CALM, group_labels=("le",)), ["group-by-bucket"], id="a bucket is no group"
        ),
        pytest.param(
            replace(CALM, group_labels=("pod",)), ["group-cardinality"], id="a pod is no group"
        ),
        pytest.param(
            replace(CALM, group_labels=("a", "b", "c", "d", "e")),
            ["group-cardinality"],
            id="labels that multiply",
        ),
        pytest.param(replace(CALM, bad=CALM.total), ["same-metric"], id="every event would be bad"),
        pytest.param(
            replace(CALM, bad=None, good=CALM.total), ["same-metric"], id="every event is good"
        ),
        pytest.param(
            replace(CALM, bad=None, good=CALM.total, counting=Counting.SAMPLES),
            [],
            id="samples of a gauge are good and all at once",
        ),
        pytest.param(
            replace(
                CALM,
                total=parse_selector("x_total"),
                bad=parse_selector('x_total{code=~"5.."}'),
                group_labels=("code",),
            ),
            ["group-by-outcome"],
            id="case 31: grouped by what tells bad from good",
        ),
        pytest.param(
            replace(CALM, labels=(AlertLabel(name="original_severity", value="sms"),)),
            ["label-renamed"],
            id="a label that our alerts set themselves",
        ),
    ],
)
def test_codes(objective: Objective, expected: list[str]) -> None:
    """Each mistake has its message, and what is fine has none."""
    assert codes(objective) == expected


def test_short_slices() -> None:
    """A slice must hold four scrapes."""
    found = lint_objective(SLICED, LintParams(scrape_seconds=30))

    assert [each.code for each in found if each.level == "error"] == ["short-slice"]


def test_notes() -> None:
    """Good to know: retention, bound of groups, muted pairs, and one failure where it can fire."""
    grouped = replace(load_ready(), muted=("page", "ticket"))

    assert codes(grouped, notes=True) == [
        *["budget-share"] * 4,
        *["one-failure"] * 4,
        "period-beyond-retention",
        "group-bound",
        "muted",
    ]


def test_one_failure_is_guarded() -> None:
    """Where two bad events are asked for, no single one fires anything."""
    guarded = replace(CALM, guard=Guard(min_bad_count=2))

    assert "one-failure" not in codes(guarded, notes=True)


def test_one_slice() -> None:
    """A single bad slice fires a pair when its share of the long window is above the threshold."""
    strict = replace(SLICED, target_percent=Decimal("99.9"))
    texts = [each.text for each in lint(strict, notes=True) if each.code == "one-failure"]

    assert texts == [
        "page 1h/5m: a single bad slice fires it, since the long window holds 60",
    ]


def test_retention() -> None:
    """With samples kept long enough nothing is said about them."""
    found = lint_objective(CALM, LintParams(retention_seconds=400 * DAY))

    assert "period-beyond-retention" not in [each.code for each in found]
