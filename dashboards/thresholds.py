"""From which value on a number is worth a colour; the boards read these and nothing else.

Sources: a slowdown below a tenth is within what fail-slow studies count as noise (Greyhound's
verify rule, and the 10 % from which the trace studies call a job straggling); 1.28 is the mean
slowdown of the straggling jobs in ByteDance's trace study, so 1.3 is worse than the usual case.
"""

from dashboards.fields import INFORMATION_COLOR

MIN_SLOW_RATIO = 1.1
MIN_VERY_SLOW_RATIO = 1.3

# The same two limits, seen from the whole run: its pace is the reciprocal of its slowdown.
MIN_FAIR_PACE_RATIO = 1 / MIN_VERY_SLOW_RATIO
MIN_GOOD_PACE_RATIO = 1 / MIN_SLOW_RATIO

# A rank that waits less than half of what its peers wait is the one they wait for; ours, since
# waiting shares differ by job and only the comparison inside one job means something.
MAX_CULPRIT_WAIT_RATIO = 0.5

# Two missed scrapes of a minute; then Prometheus' own staleness limit, beyond which it is silent.
MIN_LATE_SECONDS = 120.0
MIN_STALE_SECONDS = 300.0

# The score is a confidence from 0 to 1; from the middle on a fault is likelier than none.
MIN_SUSPECT_LINK_SCORE = 0.5
MIN_FAULTY_LINK_SCORE = 0.9

# Below the first step every panel is grey, for what was not measured.
SLOWDOWN_STEPS = (("green", 0.0), ("orange", MIN_SLOW_RATIO), ("red", MIN_VERY_SLOW_RATIO))
PACE_STEPS = (("red", 0.0), ("orange", MIN_FAIR_PACE_RATIO), ("green", MIN_GOOD_PACE_RATIO))
AGE_STEPS = (("green", 0.0), ("orange", MIN_LATE_SECONDS), ("red", MIN_STALE_SECONDS))
LINK_STEPS = (("green", 0.0), ("orange", MIN_SUSPECT_LINK_SCORE), ("red", MIN_FAULTY_LINK_SCORE))
INFORMATION_STEPS = ((INFORMATION_COLOR, 0.0),)
