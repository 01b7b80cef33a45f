"""A seed decides where and when; parameters that do not fit are refused."""

import pytest

from paceline.simulation.machine import build_machine, coordinates_of, leaf_name, leaf_port
from paceline.simulation.plan import plan_simulation
from paceline.simulation.scenarios import SCENARIOS, OrionParams, scenario_named


def test_scenarios_know_their_names() -> None:
    """Each scenario is found by its own name and has a line of help."""
    assert [name for name, scenario in SCENARIOS.items() if scenario.name != name] == []
    assert all(scenario.help.endswith(".") for scenario in SCENARIOS.values())


def test_unknown_scenario() -> None:
    """An unknown name is answered with the known ones."""
    with pytest.raises(LookupError, match=r"no scenario 'nosuch'; known: \['bad-qos-profile'"):
        scenario_named("nosuch")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"nodes": 6}, "multiple of 4, got 6", id="half a replica"),
        pytest.param({"nodes": 0}, "multiple of 4, got 0", id="no nodes"),
        pytest.param({"minutes": 0.0}, "minutes must be above 0, got 0.0", id="no time"),
    ],
)
def test_sizes_that_do_not_fit(changes: dict[str, int], message: str) -> None:
    """A cluster that the job's layout doesn't fit is refused when it is described."""
    with pytest.raises(ValueError, match=message):
        OrionParams(**changes)


@pytest.mark.parametrize(
    ("seed", "minutes", "message"),
    [
        pytest.param(-1, 60.0, "seed must be 0 or above, got -1", id="a negative seed"),
        pytest.param(1, 1.0, "minutes must be above 2", id="no time for a step"),
        pytest.param(1, 30.0, "the fault begins 4500 s", id="an onset after the end"),
    ],
)
def test_plans_that_do_not_fit(seed: int, minutes: float, message: str) -> None:
    """A simulation in which the fault could not happen is refused before it runs."""
    with pytest.raises(ValueError, match=message):
        plan_simulation(SCENARIOS["throttled-gpu"], OrionParams(minutes=minutes), seed)


def test_the_culprit_is_drawn() -> None:
    """Seeds strike all over the cluster: nodes, GPUs and both ends of a link."""
    plans = [
        plan_simulation(SCENARIOS["dirty-link"], OrionParams(nodes=4), seed) for seed in range(40)
    ]

    assert {plan.incident.node for plan in plans} == {0, 1, 2, 3}
    assert {plan.incident.at_switch for plan in plans} == {True, False}


def test_names_are_unique() -> None:
    """No two GPUs share a name, and no two on a node a PCI address."""
    machine = build_machine(OrionParams(nodes=8), seed=3)

    addresses = {(rank // 8, bus) for rank, bus in enumerate(machine.pci_bus_ids)}
    assert (len(set(machine.gpu_uuids)), len(addresses), machine.hosts[7]) == (64, 64, "hx8-008")


def test_layout() -> None:
    """Ranks fill a node's tensor group, then stages, then replicas; leaves take 16 hosts."""
    place = coordinates_of(8 * 6 + 5)

    assert (place.dp, place.pp, place.tp) == (1, 2, 5)
    assert (leaf_name(16, 3), leaf_port(16)) == ("leaf-r3-02", 1)
