"""False-discovery rates against the definition."""

from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.multiplicity import discovery_rates

CHANCES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


def rejected(p_values: list[float], tests: int, rate: float) -> set[int]:
    """Benjamini and Hochberg's rule: the k smallest, for the last k with p(k) <= k q / m."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    last = max((k for k, at in enumerate(order, 1) if p_values[at] * tests / k <= rate), default=0)
    return set(order[:last])


@settings(deadline=None)
@given(CHANCES, st.integers(0, 100), st.sampled_from([0.01, 0.05, 0.3]))
def test_discovery_rates(p_values: list[float], more: int, rate: float) -> None:
    """A finding's rate is at most q exactly if the rule at q rejects it."""
    rates = discovery_rates(p_values, len(p_values) + more)

    chosen = {p_values[at] for at in rejected(p_values, len(p_values) + more, rate)}
    assert {p for p, found in zip(p_values, rates, strict=True) if found <= rate} == chosen


def test_no_findings() -> None:
    """Nothing found has no rates."""
    assert discovery_rates([], 10) == []
