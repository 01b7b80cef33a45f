"""The objective refuses at the door what no rule could be made of."""

from decimal import Decimal

import pytest

from slo.objectives import GroupLabelError, Objective, TargetError
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
