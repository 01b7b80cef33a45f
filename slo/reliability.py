"""What failures do to a run in the long term: MTTF, expected ETTR, the best checkpoint interval.

Source: A. Kokolis and others, "Revisiting Reliability in Large-Scale Machine Learning Research
Clusters", arXiv 2410.21680, appendix; its closed form is derived again from the definitions
(progress reference, section 15.1). W = R + Q + U: a run is productive (R), waits in the queue (Q)
or catches up and starts again (U); a failure costs half an interval on average.
Intervals: J. W. Young, "A first order approximation to the optimum checkpoint interval" (1974);
J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006).
"""

import math
from dataclasses import dataclass
from typing import Final

SECONDS_PER_HOUR: Final = 3600.0

SECONDS_PER_DAY: Final = 86400.0

NODE_DAYS: Final = 1000.0
"""Failure rates are told by so many node-days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCosts:
    """What a run pays for being ready to fail; all in seconds.

    Attributes:
        interval_seconds: From one checkpoint to the next; above 0.
        init_seconds: From a start to the first step.
        queue_seconds: From an end to the next start.
        write_seconds: What a checkpoint holds training up.
    """

    interval_seconds: float
    init_seconds: float = 0.0
    queue_seconds: float = 0.0
    write_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse an interval of nothing, and costs below nothing."""
        costs = (self.init_seconds, self.queue_seconds, self.write_seconds)
        if not self.interval_seconds > 0.0 or not all(cost >= 0.0 for cost in costs):
            raise ValueError(
                "interval_seconds must be above 0 and each cost 0 or more, got "
                f"{self.interval_seconds} and {costs}"
            )


def failures_per_second(nodes: float, per_1000_node_days: float) -> float:
    """Return how often a job fails: each node alike, each failure ends the job.

    Args:
        nodes: Nodes of the job.
        per_1000_node_days: Failures in 1000 node-days.
    """
    return nodes * per_1000_node_days / NODE_DAYS / SECONDS_PER_DAY


def mttf_seconds(nodes: float, per_1000_node_days: float) -> float:
    """Return the mean time to failure that a rate projects; infinite where nothing fails.

    Args:
        nodes: Nodes of the job.
        per_1000_node_days: Failures in 1000 node-days.
    """
    rate = failures_per_second(nodes, per_1000_node_days)
    return 1.0 / rate if rate > 0.0 else math.inf


def expected_ettr(rate: float, costs: RunCosts, *, run_seconds: float = math.inf) -> float:
    """Return the share of a run's time in which it is productive, as the closed form has it.

    Args:
        rate: Failures a second.
        costs: What is lost by a failure and between failures.
        run_seconds: Productive time of the run (R); infinite is the limit of long runs.

    Returns:
        0 where failures come faster than the run makes good what each undoes (the form is not
        valid there: it would be negative).
    """
    left = 1.0 - rate * (costs.init_seconds + costs.interval_seconds / 2.0)
    if left <= 0.0:
        return 0.0
    waits = 1.0 + rate * costs.queue_seconds
    first = costs.queue_seconds + costs.init_seconds * waits / left
    whole = waits / left + first / run_seconds
    return 1.0 / whole / (1.0 + costs.write_seconds / costs.interval_seconds)


def young_interval(write_seconds: float, mttf: float) -> float:
    """Return the interval that loses least, to the first order.

    Args:
        write_seconds: What a checkpoint holds training up.
        mttf: Mean time to failure in seconds; infinite asks for no checkpoint at all.
    """
    return math.sqrt(2.0 * write_seconds * mttf)


def daly_interval(write_seconds: float, mttf: float) -> float:
    """Return the interval between the end of a checkpoint and the start of the next one.

    Args:
        write_seconds: What a checkpoint holds training up.
        mttf: Mean time to failure in seconds.

    Returns:
        Daly's estimate of higher order, which is for writes shorter than twice the time to failure;
        beyond that it is the time to failure.
    """
    if write_seconds >= 2.0 * mttf:
        return mttf
    if math.isinf(mttf):
        return math.inf
    part = math.sqrt(write_seconds / (2.0 * mttf))
    return young_interval(write_seconds, mttf) * (1.0 + part / 3.0 + part**2 / 9.0) - write_seconds


def wasted_share(
    interval_seconds: float, write_seconds: float, mttf: float, restart_seconds: float = 0.0
) -> float:
    """Return the share of time that writes, lost work and restarts take, to the first order.

    Args:
        interval_seconds: From one checkpoint to the next.
        write_seconds: What a checkpoint holds training up.
        mttf: Mean time to failure in seconds.
        restart_seconds: From a failure to the first step.
    """
    lost = (interval_seconds / 2.0 + restart_seconds) / mttf
    return write_seconds / interval_seconds + lost


def max_write_seconds(share: float, mttf: float) -> float:
    """Return how long a write may take so that all writes take a share of the time.

    Args:
        share: Of the time, at Young's interval.
        mttf: Mean time to failure in seconds.

    Returns:
        Where the write is `share` of the interval, the interval is `2 * share * mttf`.
    """
    return 2.0 * share**2 * mttf
