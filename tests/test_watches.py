"""A fleet watched tick by tick: who alarms, when, and who never does."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.fleets import Fleet, FleetParams
from detectors.watches import Alarm, Watch, WatchParams

Floats = npt.NDArray[np.float64]

DEVICES = 40


def noise(seed: int, ticks: int, devices: int = DEVICES, sigma: float = 0.01) -> Floats:
    """Log ratios of healthy devices."""
    return sigma * np.random.default_rng(seed).standard_normal((devices, ticks))


def watched(ratios: Floats, gaps: tuple[int, ...] = (), params: WatchParams | None = None) -> Watch:
    """A watch that has seen all ticks."""
    watch = Watch(ratios.shape[0], params or WatchParams())
    for at in range(ratios.shape[1]):
        watch.push(ratios[:, at], after_gap=at in gaps)
    return watch


def told(alarms: list[Alarm]) -> list[tuple[int, bool, bool]]:
    """Who alarmed, whether against the peers alone, and whether it is clear again."""
    return [(one.entity, one.is_level, one.cleared is not None) for one in alarms]


def test_health_is_silent() -> None:
    """Noise of half a day on forty devices raises nothing."""
    assert watched(noise(1, 2880)).alarms == []


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        pytest.param(0, 400, [(7, True, False)], id="slow from the first tick, against the peers"),
        pytest.param(200, 400, [(7, False, False)], id="a change, against its own past"),
        pytest.param(200, 300, [(7, False, True)], id="a stretch that ended is clear"),
    ],
)
def test_one_device_alarms(since: int, until: int, expected: list[tuple[int, bool, bool]]) -> None:
    """The slow device alone alarms, once for one fault."""
    ratios = noise(2, 400)
    ratios[7, since:until] += 0.2

    assert told(watched(ratios).alarms) == expected


def test_big_faults_are_found_sooner() -> None:
    """Delay falls with the effect: the short window sees the large fault."""
    delays = list[int]()
    for effect in (0.06, 0.12, 0.5):
        ratios = noise(3, 600, sigma=0.03)
        ratios[7, 250:] += effect
        delays.append(watched(ratios).alarms[0].tick - 250)

    assert delays == sorted(delays, reverse=True)
    assert delays[-1] < 10


def test_levels_of_its_own_are_no_fault() -> None:
    """Devices whose levels lie apart since ever do not alarm; one that moves by less does."""
    ratios = noise(4, 900) + np.random.default_rng(5).normal(0.0, 0.08, (DEVICES, 1))
    ratios[7, 700:] += 0.12

    assert told(watched(ratios).alarms) == [(7, False, False)]


def test_a_gap_makes_the_past_void() -> None:
    """After a gap a new level is none: jobs differ. A suspect is let go."""
    ratios = noise(6, 600)
    ratios[7, 200:300] += 0.2
    watch = watched(ratios, gaps=(300,))

    assert [(one.entity, one.cleared) for one in watch.alarms] == [(7, 300)]


def test_a_spike_is_no_mean() -> None:
    """Single huge values alarm nobody."""
    ratios = noise(7, 600)
    ratios[7, ::150] += 5.0

    assert watched(ratios).alarms == []


def test_silence_is_no_fault() -> None:
    """Values that are not known neither alarm nor count as calm."""
    ratios = noise(8, 400)
    ratios[7, 100:] = np.nan
    ratios[8, 100::2] = np.nan
    ratios[8, 200:] += 0.3

    assert told(watched(ratios).alarms) == [(8, False, False)]


def test_few_devices_have_no_spread() -> None:
    """With fewer devices than a spread needs nothing alarms: others judge them."""
    ratios = noise(9, 300, devices=5)
    ratios[2, 100:] += 0.4

    assert watched(ratios).alarms == []


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 99), shift=st.floats(0.15, 0.6))
def test_order_of_devices_does_not_matter(seed: int, shift: float) -> None:
    """Renumbered devices alarm at the same ticks."""
    ratios = noise(seed, 300)
    ratios[7, 150:] += shift
    order = np.random.default_rng(seed).permutation(DEVICES)
    plain, mixed = watched(ratios).alarms, watched(ratios[order]).alarms

    assert [(int(order[one.entity]), one.tick) for one in mixed] == [
        (one.entity, one.tick) for one in plain
    ]


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 99), stricter=st.floats(1.0, 3.0))
def test_stricter_scores_alarm_no_more(seed: int, stricter: float) -> None:
    """Higher thresholds never name a device that lower ones do not."""
    ratios = noise(seed, 300, sigma=0.05)
    ratios[:5, 150:] += np.linspace(0.05, 0.4, 5)[:, None]
    usual = WatchParams()
    strict = WatchParams(min_scores=tuple(stricter * one for one in usual.min_scores))

    assert {one.entity for one in watched(ratios, params=strict).alarms} <= {
        one.entity for one in watched(ratios).alarms
    }


def test_planted_faults() -> None:
    """SIMULATED: 40 of 40 faults of 1.15x in wandering noise found, no other device named."""
    rng = np.random.default_rng(11)
    found, wrong = 0, 0
    for seed in range(10):
        ratios = noise(seed, 900, sigma=0.02)
        sick = rng.choice(DEVICES, 4, replace=False)
        for device in sick:
            ratios[device, int(rng.integers(300, 600)) :] += 0.14
        named = {one.entity for one in watched(ratios).alarms}
        found, wrong = found + len(named & set(sick)), wrong + len(named - set(sick))

    assert (found, wrong) == (40, 0)


def wandering(seed: int, ticks: int) -> Floats:
    """Values whose means wander, as those of drives under load do; groups of eight."""
    rng = np.random.default_rng(seed)
    slow = np.repeat(rng.normal(0.0, 0.06, (DEVICES, ticks // 60 + 1)), 60, axis=1)[:, :ticks]
    return slow + rng.normal(0.0, 0.05, (DEVICES, ticks))


def folded(values: Floats, gaps: tuple[int, ...] = (), history_ticks: int = 960) -> Fleet:
    """A fold over all ticks; groups of eight devices."""
    params = FleetParams(
        watch=WatchParams(min_slowdown=1.1, min_level=1.1), history_ticks=history_ticks
    )
    fleet = Fleet(np.repeat(np.arange(values.shape[0] // 8), 8), params)
    for at in range(values.shape[1]):
        fleet.push(values[:, at], after_gap=at in gaps)
    return fleet


def spans(fleet: Fleet) -> list[tuple[int, int, int]]:
    """Who is suspect, from which tick to which, to within ten ticks."""
    found = fleet.suspects()
    return [
        (one.entity, round(one.episode.start, -1), round(one.episode.stop, -1)) for one in found
    ]


def test_a_wandering_fleet_names_by_its_alarms() -> None:
    """Where means wander the alarm is the finding, with its stretch and no rate of discovery."""
    values = wandering(1, 900)
    values[12, 500:800] += 0.6
    fleet = folded(values)

    assert spans(fleet) == [(12, 500, 800)]
    assert fleet.suspects()[0].q_value is None


def test_what_leaves_the_window_is_settled() -> None:
    """A stretch longer ago than what is carried is still told; one that lasts keeps its onset."""
    values = wandering(2, 2400)
    values[12, 500:700] += 0.6
    values[30, 900:] += 0.6

    assert spans(folded(values, history_ticks=480)) == [(12, 500, 700), (30, 900, 2400)]


def test_a_calm_fleet_settles_too() -> None:
    """Devices judged by segments are settled the same way."""
    values = noise(3, 2400, sigma=0.005)
    values[12, 500:700] += 0.2
    values[30, 900:] += 0.2

    assert spans(folded(values, history_ticks=480)) == [(12, 500, 700), (30, 900, 2400)]


def test_a_mean_of_spikes_is_no_stretch() -> None:
    """An alarm of which most ticks are on the good side is no finding."""
    values = wandering(4, 700)
    values[12, 400:440:3] += 3.0

    assert folded(values).suspects() == []


def test_small_fleets_are_judged_without_a_watch() -> None:
    """Eight devices are the least for a watch; fewer are judged by segments alone."""
    values = noise(5, 300, devices=4, sigma=0.005)
    values[2, 150:] += 0.3
    fleet = Fleet(np.zeros(4, dtype=np.int64), FleetParams())
    for at in range(300):
        fleet.push(values[:, at])

    assert [(one.entity, one.episode.start) for one in fleet.suspects()] == [(2, 150)]


def test_an_empty_fold_says_nothing() -> None:
    """No device and no tick are no finding."""
    assert Fleet(np.zeros(0, dtype=np.int64), FleetParams()).suspects() == []


def test_room_for_more_devices() -> None:
    """Devices that join change nothing for those that were there."""
    values = wandering(6, 800)
    values[12, 500:] += 0.6
    wide = np.concatenate([np.full((8, 800), np.nan), values])
    wide[:8, 100:] = wandering(7, 700)[:8]
    groups = np.repeat(np.arange(DEVICES // 8), 8)
    params = FleetParams(watch=WatchParams(min_slowdown=1.1, min_level=1.1))
    grown = Fleet(groups, params)
    for at in range(100):
        grown.push(values[:, at])
    grown.widened(np.repeat(np.arange(DEVICES // 8 + 1), 8), np.arange(8, DEVICES + 8))
    for at in range(100, 800):
        grown.push(wide[:, at])
    whole = Fleet(np.repeat(np.arange(DEVICES // 8 + 1), 8), params)
    for at in range(800):
        whole.push(wide[:, at])

    assert grown.suspects() == whole.suspects()
    assert [one.entity for one in grown.suspects()] == [20]
