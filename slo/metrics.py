"""The metric contract: every name that `/metrics` exposes and that rules and dashboards may use.

One module names them, so that a rule, a panel and the service cannot drift apart. Label `run`
names the training job (`job` is Prometheus' own scrape label). Cardinality is bounded: series of
an ended run and of healthy ranks beyond the top ones go away.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric that Paceline exposes.

    Attributes:
        name: Full Prometheus name, base unit last.
        kind: Prometheus type.
        labels: Every label beside `instance` and Prometheus' own `job`.
        help: One line for people: what a value means, and what no series means.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str


RUN_LABELS = ("cluster", "run")
RANK_LABELS = ("cluster", "run", "rank", "node", "gpu")

STEPS_TOTAL = Metric(
    name="paceline_training_steps_total",
    kind="counter",
    labels=RUN_LABELS,
    help="Training steps completed and judged; warm-up, checkpoint and evaluation steps are left "
    "out. No series: no progress source for this run.",
)
SLOW_STEPS_TOTAL = Metric(
    name="paceline_training_slow_steps_total",
    kind="counter",
    labels=RUN_LABELS,
    help="Judged steps slower than the set ratio to the run's own healthy baseline. Exists from "
    "the first judged step on, so no series means not judged, never zero.",
)
STEP_SECONDS = Metric(
    name="paceline_training_step_seconds",
    kind="gauge",
    labels=RUN_LABELS,
    help="Seconds of the newest completed step of the run.",
)
PRODUCTIVE_SECONDS_TOTAL = Metric(
    name="paceline_training_productive_seconds_total",
    kind="counter",
    labels=RUN_LABELS,
    help="Seconds spent in steps that were kept, at the pace of the run's healthy baseline.",
)
WALL_SECONDS_TOTAL = Metric(
    name="paceline_training_wall_seconds_total",
    kind="counter",
    labels=RUN_LABELS,
    help="Seconds for which the run held its allocation.",
)
RANK_SLOWDOWN_RATIO = Metric(
    name="paceline_rank_slowdown_ratio",
    kind="gauge",
    labels=RANK_LABELS,
    help="Compute time of a rank over the median of its same-role peers; 1 is alike.",
)
RANK_COMM_WAIT_RATIO = Metric(
    name="paceline_rank_comm_wait_ratio",
    kind="gauge",
    labels=RANK_LABELS,
    help="Share of the step a rank waits in communication; the culprit waits least.",
)
DEVICE_PEER_RATIO = Metric(
    name="paceline_device_peer_ratio",
    kind="gauge",
    labels=("cluster", "node", "device", "signal"),
    help="A device's signal over the median of its peers; 1 is alike.",
)
NODE_STATE = Metric(
    name="paceline_node_state",
    kind="gauge",
    labels=("cluster", "node"),
    help="0 unknown, 1 healthy, 2 suspect, 3 faulty, 4 maintenance. No series: never seen.",
)
LINK_FAULT_SCORE = Metric(
    name="paceline_link_fault_score",
    kind="gauge",
    labels=("cluster", "switch", "port"),
    help="0 clean to 1 certain fault of the link, judged on its receiving end.",
)
LEMON_SCORE = Metric(
    name="paceline_lemon_score",
    kind="gauge",
    labels=("cluster", "node"),
    help="Decayed count of failures blamed on the node, over 28 days.",
)
VERDICTS = Metric(
    name="paceline_verdicts",
    kind="gauge",
    labels=("cluster", "kind", "level"),
    help="Open findings by kind and level.",
)
INCIDENT_OPEN = Metric(
    name="paceline_incident_open",
    kind="gauge",
    labels=("cluster", "incident"),
    help="1 while the incident is open.",
)
SOURCE_AGE_SECONDS = Metric(
    name="paceline_source_age_seconds",
    kind="gauge",
    labels=("cluster", "source"),
    help="Age of the newest sample of a source; the series exists for every configured source.",
)

METRICS: tuple[Metric, ...] = (
    STEPS_TOTAL,
    SLOW_STEPS_TOTAL,
    STEP_SECONDS,
    PRODUCTIVE_SECONDS_TOTAL,
    WALL_SECONDS_TOTAL,
    RANK_SLOWDOWN_RATIO,
    RANK_COMM_WAIT_RATIO,
    DEVICE_PEER_RATIO,
    NODE_STATE,
    LINK_FAULT_SCORE,
    LEMON_SCORE,
    VERDICTS,
    INCIDENT_OPEN,
    SOURCE_AGE_SECONDS,
)
METRICS_BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}
