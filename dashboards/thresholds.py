"""From which value on a number is worth a colour; the boards read these and nothing else.

Where a detector or a rule decides on the same number, its own constant is used, so that a panel
turns when an alert does. The others are ours, with the reason beside them.
"""

from typing import Final

from dashboards.fields import INFORMATION_COLOR
from detectors.device_values import SpeedSignal
from detectors.episodes import EpisodeParams
from detectors.lemon_params import GateParams
from detectors.lemon_tiers import TierParams
from slo.data_rules import MAX_AGE_SECONDS
from slo.windows import RECOMMENDED_WINDOWS

_EPISODES: Final = EpisodeParams()
_TIERS: Final = TierParams()

# Below it lies what fail-slow studies count as noise; 1.28 is the mean slowdown of the straggling
# jobs in ByteDance's trace study, so the second is worse than the usual case.
MIN_SLOW_RATIO = _EPISODES.min_slowdown
MIN_VERY_SLOW_RATIO = _EPISODES.strong_slowdown

# The same two limits, seen from the whole run: its pace is the reciprocal of its slowdown.
MIN_FAIR_PACE_RATIO = 1 / MIN_VERY_SLOW_RATIO
MIN_GOOD_PACE_RATIO = 1 / MIN_SLOW_RATIO

# A rank that waits less than half of what its peers wait is the one they wait for; ours, since
# waiting shares differ by job and only the comparison inside one job means something.
MAX_CULPRIT_WAIT_RATIO = 0.5

# Two missed scrapes of a minute; then the age at which the rules say that data have stopped.
MIN_LATE_SECONDS = 120.0
MIN_STALE_SECONDS = float(MAX_AGE_SECONDS)

# The score is a confidence from 0 to 1; from the middle on a fault is likelier than none.
MIN_SUSPECT_LINK_SCORE = 0.5
MIN_FAULTY_LINK_SCORE = 0.9

# How far a device is from its peers, either way: the least level of a slow device, and the ratio
# from which a detector asks for less persistence.
MIN_OFF_PEERS_RATIO = round(SpeedSignal(bad=1).min_level - 1, 6)
MIN_FAR_OFF_PEERS_RATIO = round(_EPISODES.strong_slowdown - 1, 6)

# A pool may have as many nodes drained at once; a rack's share is an outage of the pool.
MIN_FIT_SHARE = 1 - _TIERS.max_pool_share
MIN_USABLE_SHARE = 1 - _TIERS.max_rack_share

# Weighted failures below which nothing is said of a node.
MIN_LEMON_SCORE = GateParams().min_failures
MIN_BAD_LEMON_SCORE = 2 * MIN_LEMON_SCORE

# Of the time of a port, ours: the objective of the library allows 1 in 100, and above 1 in 10 a
# collective that spans the port is slower by the least slowdown that detectors name.
MIN_PAUSED_SHARE = 0.01
MIN_MUCH_PAUSED_SHARE = 0.1

# A quarter of the budget left is the usual moment to stop risky changes; ours.
MIN_CALM_BUDGET_SHARE = 0.25

# Share of the time that a device is held back by heat or power; as a slowdown of the same size.
MIN_THROTTLED_SHARE = MIN_OFF_PEERS_RATIO

BURN_FACTORS = tuple(sorted({float(window.factor) for window in RECOMMENDED_WINDOWS}))
"""Burn rates from which pairs of windows alert, the slowest first."""

# Below the first step every panel is grey, for what was not measured.
SLOWDOWN_STEPS = (("green", 0.0), ("orange", MIN_SLOW_RATIO), ("red", MIN_VERY_SLOW_RATIO))
PACE_STEPS = (("red", 0.0), ("orange", MIN_FAIR_PACE_RATIO), ("green", MIN_GOOD_PACE_RATIO))
AGE_STEPS = (("green", 0.0), ("orange", MIN_LATE_SECONDS), ("red", MIN_STALE_SECONDS))
LINK_STEPS = (("green", 0.0), ("orange", MIN_SUSPECT_LINK_SCORE), ("red", MIN_FAULTY_LINK_SCORE))
OFF_PEERS_STEPS = (
    ("green", 0.0),
    ("orange", MIN_OFF_PEERS_RATIO),
    ("red", MIN_FAR_OFF_PEERS_RATIO),
)
FIT_STEPS = (("red", 0.0), ("orange", MIN_USABLE_SHARE), ("green", MIN_FIT_SHARE))
LEMON_STEPS = (("green", 0.0), ("orange", MIN_LEMON_SCORE), ("red", MIN_BAD_LEMON_SCORE))
PAUSED_STEPS = (("green", 0.0), ("orange", MIN_PAUSED_SHARE), ("red", MIN_MUCH_PAUSED_SHARE))
BUDGET_STEPS = (("orange", 0.0), ("green", MIN_CALM_BUDGET_SHARE))
OVERSPENT_COLOR = "red"
BURN_STEPS = (
    ("green", 0.0),
    *zip(("yellow", "orange", "red", "dark-red"), BURN_FACTORS, strict=True),
)
COUNT_STEPS = (("green", 0.0), ("orange", 1.0))
BAD_COUNT_STEPS = (("green", 0.0), ("red", 1.0))
INFORMATION_STEPS = ((INFORMATION_COLOR, 0.0),)
