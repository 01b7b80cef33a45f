"""Tests of how near a finding is to not being one."""

from dataclasses import dataclass, field

import pytest

from paceline.sensitivities import Margin, Threshold, margin_of, thresholds_of, with_threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """Nested parameters."""

    min_ticks: int = 10
    usual_seconds: float = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of a detector that does not exist."""

    inner: Inner = field(default_factory=Inner)
    min_slowdown: float = 1.1
    max_q_value: float = 0.05
    min_bad_share: float = 0.5
    min_of_nothing: float = 0.0
    is_strict: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.min_slowdown > 5.0:
            raise ValueError("too much")


PARAMS = Params()


def test_thresholds() -> None:
    """Numbers called min or max are thresholds, nested ones too; flags and zeros are none."""
    assert [(one.name, one.value) for one in thresholds_of(PARAMS)] == [
        ("inner.min_ticks", 10.0),
        ("min_slowdown", 1.1),
        ("max_q_value", 0.05),
        ("min_bad_share", 0.5),
    ]


def test_replacing() -> None:
    """One threshold changes, whole where it counts; all else stays."""
    changed = with_threshold(PARAMS, ("inner", "min_ticks"), 12.4)

    assert changed == Params(inner=Inner(min_ticks=12))


@pytest.mark.parametrize(
    ("path", "turns", "stands_to", "gone_at"),
    [
        pytest.param(("min_slowdown",), 1.3, 1.3, 1.3, id="a least value is raised"),
        pytest.param(("max_q_value",), 0.01, 0.01, 0.01, id="a largest value is lowered"),
        pytest.param(("inner", "min_ticks"), 20, 20.5, 20.5, id="a count is raised"),
        pytest.param(("max_q_value",), 0.0, 0.05 / 8, None, id="it stands however strict"),
        pytest.param(("min_bad_share",), 1.0, 1.0, None, id="no share is above all"),
        pytest.param(("min_slowdown",), 99.0, 5.0, 5.0, id="what is refused finds nothing"),
    ],
)
def test_margins(
    path: tuple[str, ...], turns: float, stands_to: float, gone_at: float | None
) -> None:
    """The turning point is found to three percent."""
    threshold = next(one for one in thresholds_of(PARAMS) if one.path == path)

    def stands(params: Params) -> bool:
        value = next(one.value for one in thresholds_of(params) if one.path == path)
        return value <= turns if path[-1].startswith("min_") else value >= turns

    found = margin_of(stands, PARAMS, threshold)

    assert found.stands_to == pytest.approx(stands_to, rel=0.034)
    assert (found.gone_at is None) == (gone_at is None)
    assert gone_at is None or found.gone_at == pytest.approx(gone_at, rel=0.034)


def test_reach() -> None:
    """How many times as strict is the same for least and largest values."""
    least = Threshold(path=("min_slowdown",), value=1.0)
    most = Threshold(path=("max_q_value",), value=0.2)

    assert Margin(threshold=least, stands_to=2.0, gone_at=2.1).reach == 2.0
    assert Margin(threshold=most, stands_to=0.1, gone_at=0.09).reach == 2.0
