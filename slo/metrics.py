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
LEMON_SIGNALS = Metric(
    name="paceline_lemon_signals",
    kind="gauge",
    labels=("cluster", "node", "signal"),
    help="What stands behind a lemon score, over 28 days, by `signal`: failures_alone (of jobs on "
    "one node), failures_shared, excluding_jobs, xids (distinct), tickets, drains, hours (of use). "
    "No series: no source counts it.",
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
INCIDENT_TIMESTAMP_SECONDS = Metric(
    name="paceline_incident_timestamp_seconds",
    kind="gauge",
    labels=("cluster", "incident", "mark"),
    help="Unix time of a mark in the life of an incident: onset, detected, paged, acknowledged, "
    "mitigated, resolved. No series: it has not happened, or nobody knows when.",
)
INCIDENT_LOST_GPU_SECONDS = Metric(
    name="paceline_incident_lost_gpu_seconds",
    kind="gauge",
    labels=("cluster", "incident"),
    help="Seconds of GPUs that the incident has cost so far. No series: the cost is not known.",
)
SOURCE_AGE_SECONDS = Metric(
    name="paceline_source_age_seconds",
    kind="gauge",
    labels=("cluster", "source"),
    help="Age of the newest sample of a source; the series exists for every configured source.",
)

CHECKPOINTS_TOTAL = Metric(
    name="paceline_checkpoints_total",
    kind="counter",
    labels=RUN_LABELS,
    help="Checkpoints that ended, committed or not. No series: no source tells of this run's.",
)
CHECKPOINT_FAILURES_TOTAL = Metric(
    name="paceline_checkpoint_failures_total",
    kind="counter",
    labels=RUN_LABELS,
    help="Checkpoints that were begun and never committed. Exists from the first checkpoint on, so "
    "no series means not told, never zero.",
)
CHECKPOINT_SECONDS = Metric(
    name="paceline_checkpoint_seconds",
    kind="histogram",
    labels=RUN_LABELS,
    help="Seconds that committed checkpoints held training up. No series: no source tells.",
)
ATTEMPTS_TOTAL = Metric(
    name="paceline_run_attempts_total",
    kind="counter",
    labels=RUN_LABELS,
    help="Attempts of the run that ended, for whatever reason. No series: no source tells.",
)
ATTEMPT_FAILURES_TOTAL = Metric(
    name="paceline_run_attempt_failures_total",
    kind="counter",
    labels=RUN_LABELS,
    help="Attempts that a failure ended; done and cancelled ones are none. Exists from the first "
    "end on, so no series means not told, never zero.",
)
RESUME_SECONDS = Metric(
    name="paceline_run_resume_seconds",
    kind="histogram",
    labels=RUN_LABELS,
    help="Seconds from the end of a failed attempt to the first new step of the next one. No "
    "series: nothing has resumed, or no source tells.",
)
JOB_START_SECONDS = Metric(
    name="paceline_job_start_seconds",
    kind="histogram",
    labels=("cluster",),
    help="Seconds from a job's start on its hosts to its first step. No series: no job told both.",
)
PORT_PAUSED_SECONDS_TOTAL = Metric(
    name="paceline_port_paused_seconds_total",
    kind="counter",
    labels=("cluster", "node", "device"),
    help="Seconds for which the network told the port to stop. No series: the port counts no pause "
    "time, which says nothing about pauses.",
)
PORT_WATCHED_SECONDS_TOTAL = Metric(
    name="paceline_port_watched_seconds_total",
    kind="counter",
    labels=("cluster", "node", "device"),
    help="Seconds over which the pause time of the port was counted, gaps left out. No series: the "
    "port counts no pause time.",
)
WATCH_TICKS_TOTAL = Metric(
    name="paceline_watch_ticks_total",
    kind="counter",
    labels=("cluster",),
    help="Ticks of the watch that were done.",
)
WATCH_SKIPPED_TICKS_TOTAL = Metric(
    name="paceline_watch_skipped_ticks_total",
    kind="counter",
    labels=("cluster",),
    help="Ticks that were left out because the one before took too long.",
)
WATCH_TICK_SECONDS = Metric(
    name="paceline_watch_tick_seconds",
    kind="gauge",
    labels=("cluster",),
    help="Seconds that the last tick took.",
)
WATCH_GROUP_HELD = Metric(
    name="paceline_watch_group_held",
    kind="gauge",
    labels=("cluster", "group"),
    help="1 for each group of a shared fleet that this instance judges; `fleet` joins what all "
    "found. No series: another instance has it, or nothing is shared.",
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
    LEMON_SIGNALS,
    VERDICTS,
    INCIDENT_OPEN,
    INCIDENT_TIMESTAMP_SECONDS,
    INCIDENT_LOST_GPU_SECONDS,
    SOURCE_AGE_SECONDS,
    CHECKPOINTS_TOTAL,
    CHECKPOINT_FAILURES_TOTAL,
    CHECKPOINT_SECONDS,
    ATTEMPTS_TOTAL,
    ATTEMPT_FAILURES_TOTAL,
    RESUME_SECONDS,
    JOB_START_SECONDS,
    PORT_PAUSED_SECONDS_TOTAL,
    PORT_WATCHED_SECONDS_TOTAL,
    WATCH_TICKS_TOTAL,
    WATCH_SKIPPED_TICKS_TOTAL,
    WATCH_TICK_SECONDS,
    WATCH_GROUP_HELD,
)
METRICS_BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}
