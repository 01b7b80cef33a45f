"""The objective refuses at the door what no rule could be made of."""

from dataclasses import replace
from decimal import Decimal

import pytest

from slo.calendars import Calendar
from slo.objectives import AlertLabel, GroupLabelError, Method, Objective, TargetError
from slo.selectors import Selector
from slo.windows import RECOMMENDED_WINDOWS


def objective(target: str = "99", *, bad: bool = True, groups: tuple[str, ...] = ()) -> Objective:
    """A plain objective."""
    return Objective(
        name="o",
        title="O",
        description="",
        service="s",
        target_percent=Decimal(target),
        period_seconds=2592000,
        total=Selector(metric="all_total"),
        bad=Selector(metric="bad_total") if bad else None,
        group_labels=groups,
        windows=RECOMMENDED_WINDOWS,
    )


@pytest.mark.parametrize("target", ["0", "100", "-1", "100.5", "NaN", "Infinity"])
def test_impossible_target(target: str) -> None:
    """A target without budget, or that is no share, is refused with what was found."""
    with pytest.raises(TargetError, match=f"above 0 and below 100 percent, found {target}"):
        objective(target)


def test_no_part() -> None:
    """Without bad or good events there is nothing to count."""
    with pytest.raises(ValueError, match="either bad or good"):
        objective(bad=False)


@pytest.mark.parametrize("label", ["severity", "long", "value", "a-b", ""])
def test_impossible_group_label(label: str) -> None:
    """A label that rules set themselves, or that is no name, cannot group."""
    with pytest.raises(GroupLabelError, match=f"cannot group by '{label}'"):
        objective(groups=(label,))


def test_derived() -> None:
    """Budget, windows and promise follow from what was written."""
    found = objective("99.95")

    assert (found.budget, found.window_seconds, found.promise) == (
        Decimal("0.0005"),
        (300, 1800, 3600, 7200, 21600, 86400, 259200),
        "99.95 % over 30d",
    )


def test_calendar_promise() -> None:
    """A promise for a calendar says which one, and where."""
    found = replace(objective("99.95"), calendar=Calendar(unit="month", zone="Europe/Berlin"))

    assert found.promise == "99.95 % in a calendar month (Europe/Berlin)"


def test_slices_belong_to_their_methods() -> None:
    """A method of slices without any is refused."""
    with pytest.raises(ValueError, match="wanted slices with the methods Timeslices"):
        replace(objective(), method=Method.TIMESLICES)


def test_labels() -> None:
    """Alerts carry the labels of all, and those of their severity."""
    labels = (
        AlertLabel(name="team", value="a"),
        AlertLabel(name="route", value="b", severity="page"),
    )
    found = replace(objective(), labels=labels, muted=("ticket",))

    assert [found.labels_of(severity) for severity in ("page", "ticket", None)] == [
        {"team": "a", "route": "b"},
        {"team": "a"},
        {"team": "a"},
    ]
    assert {window.severity for window in found.alerting_windows} == {"page"}


@pytest.mark.parametrize("label", ["severity", "run", "a-b"])
def test_impossible_label(label: str) -> None:
    """Alerts carry no label that a group has, that rules set, or that is no name."""
    with pytest.raises(GroupLabelError, match=f"alerts cannot carry the label '{label}'"):
        replace(objective(groups=("run",)), labels=(AlertLabel(name=label, value="x"),))
