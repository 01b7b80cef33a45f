"""Whether the counts of an objective can contradict each other at all.

Source: reports to pyrra-dev/pyrra and slok/sloth of more good, or more bad, events than events: two
metrics counted at different layers.
"""

from slo.objectives import Counting, Objective


def can_contradict(objective: Objective) -> bool:
    """Return whether there could be more bad or good events than events.

    There cannot where their series are some of those of all events, unless a gauge's values are
    added up, of which only 0 and 1 make sense.
    """
    part = objective.bad or objective.good or objective.total
    is_part = part.metric == objective.total.metric
    is_part = is_part and set(objective.total.matchers) <= set(part.matchers)
    is_summed = objective.counting is Counting.SAMPLES and objective.sample_bound is None
    return is_summed or not is_part
