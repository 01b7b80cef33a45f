"""Lints of windows: each says what was found and the way out."""

from dataclasses import replace
from decimal import Decimal

import pytest

from slo.lints import Lint, LintParams, least_target, lint_one_failure, lint_reach, lint_windows
from slo.windows import RECOMMENDED_WINDOWS, BurnWindow, windows_by_share

DAY = 86400
PAGE, _, _, TICKET = RECOMMENDED_WINDOWS


def lint(*windows: BurnWindow, target: str = "99.9", days: int = 30) -> list[Lint]:
    """Messages of warning and error about windows."""
    lints = lint_windows(
        windows, target_percent=Decimal(target), period_seconds=days * DAY, params=LintParams()
    )
    return [each for each in lints if each.level != "note"]


@pytest.mark.parametrize(
    ("target", "factor", "expected"),
    [
        pytest.param("90", "14.4", "works from 93.06 %", id="case 11: 90 percent with 14.4"),
        pytest.param("90", "16.8", "works from 94.05 %", id="case 11: 90 percent with 16.8"),
        pytest.param("93", "14.4", "works from 93.06 %", id="case 11: 93 percent with 14.4"),
        pytest.param("93", "16.8", "works from 94.05 %", id="case 11: 93 percent with 16.8"),
        pytest.param("90", "10", "works from 90.01 %", id="a threshold of exactly 1 is never met"),
    ],
)
def test_unreachable(target: str, factor: str, expected: str) -> None:
    """A factor that no outage can reach is an error that names the pair and what would work."""
    (found,) = lint_reach(replace(PAGE, factor=Decimal(factor)), Decimal(target))

    assert (found.code, found.level) == ("unreachable", "error")
    assert found.text.startswith("page 1h/5m: ")
    assert expected in found.text


@pytest.mark.parametrize("target", ["95", "99.9"])
@pytest.mark.parametrize("factor", ["14.4", "16.8"])
def test_reachable(target: str, factor: str) -> None:
    """Case 11: at 95 percent and above both page factors can fire."""
    assert lint_reach(replace(PAGE, factor=Decimal(factor)), Decimal(target)) == []


def test_least_target() -> None:
    """The least target is the first hundredth at which a full outage exceeds the threshold."""
    assert [str(least_target(Decimal(f))) for f in ("14.4", "16.8", "6", "3")] == [
        "93.06",
        "94.05",
        "83.34",
        "66.67",
    ]


def test_recommended_windows_are_clean() -> None:
    """The workbook's windows on 30 days give no warning."""
    assert lint(*RECOMMENDED_WINDOWS) == []


def test_factor_below_one() -> None:
    """Case 13: the 28-day ticket at 0.9333 alerts on a service that keeps its objective."""
    (found,) = lint(*windows_by_share(28 * DAY), days=28)

    assert (found.code, found.level) == ("factor-below-one", "warning")
    assert "ticket 3d/6h: factor 0.9333 is below 1" in found.text


def test_share_of_another_period() -> None:
    """Case 19: on 7 days, the real share and the factor for the promised one are printed."""
    (found,) = lint(PAGE, days=7)

    assert found == Lint(
        code="budget-share",
        level="warning",
        text="page 1h/5m: fires when 8.57% of the 7d budget is gone, not 2.00%; for that the "
        "factor is 3.36",
    )


@pytest.mark.parametrize(
    ("change", "days", "codes"),
    [
        pytest.param({"short_seconds": 45}, 30, ["short-window", "window-ratio"], id="3 scrapes"),
        pytest.param({"short_seconds": 1800}, 30, ["window-ratio"], id="a long short window"),
        pytest.param(
            {"long_seconds": 20 * DAY, "short_seconds": 2 * DAY, "factor": Decimal("1.5")},
            14,
            ["longer-than-period", "longer-than-retention", "budget-share"],
            id="a window longer than period and retention",
        ),
        pytest.param(
            {"factor": Decimal(1), "budget_ratio": Decimal(1) / 720},
            30,
            ["page-at-one"],
            id="a page at burn rate one",
        ),
    ],
)
def test_lengths(change: dict[str, int], days: int, codes: list[str]) -> None:
    """Windows that hold too few scrapes or more than there is are named."""
    assert [found.code for found in lint(replace(PAGE, **change), days=days)] == codes


def test_order_of_factors() -> None:
    """A longer window with a factor no smaller is named: it can only fire later."""
    found = lint(PAGE, replace(TICKET, factor=PAGE.factor, budget_ratio=Decimal("1.44")))

    assert [each.code for each in found] == ["budget-gone", "factor-order"]


def test_sum_of_shares() -> None:
    """Pairs that each leave something, and together nothing, are named."""
    long = replace(TICKET, factor=Decimal(6), budget_ratio=Decimal("0.6"))
    short = replace(TICKET, severity="page", long_seconds=2 * DAY, factor=Decimal(9))

    (found,) = lint(replace(short, budget_ratio=Decimal("0.6")), long)

    assert found == Lint(
        code="budget-sum",
        level="warning",
        text="the pairs fire at 60.00%, 60.00% of the 30d budget, 120.00% together: what fires "
        "one after the other comes when the budget is gone; use smaller factors or shorter windows",
    )


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param("99.9", "below 69.4 events per hour", id="three nines"),
        pytest.param("99", "below 6.94 events per hour", id="two nines"),
    ],
)
def test_one_failure(target: str, expected: str) -> None:
    """The traffic below which a single bad event pages is told."""
    (found,) = lint_one_failure(PAGE, Decimal(target))

    assert expected in found.text


def test_one_failure_of_the_unreachable() -> None:
    """What can never fire has no such traffic."""
    assert lint_one_failure(PAGE, Decimal(90)) == []
