"""Pods and events as tables, and pods as kubectl describes them."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

Read = Callable[..., Reading]

TAKEN = datetime(2031, 2, 3, 6, 0, 0, tzinfo=UTC)


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A reader of one text, through the choice of its dialect."""

    def reader(text: str, **options: Any) -> Reading:
        path = tmp_path / "kubectl.txt"
        path.write_text(text, encoding="utf-8")
        return read_file(path, path.name, ReadOptions(**options))

    return reader


def at(hour: int, minute: int, second: int = 0) -> datetime:
    """Return a time of the day of all tests."""
    return datetime(2031, 2, 3, hour, minute, second, tzinfo=UTC)


WIDE = """\
NAMESPACE   NAME           READY   STATUS             RESTARTS      AGE   IP         NODE     NOMINATED NODE
ml          llm-master-0   1/1     Running            0             2h    10.0.0.1   gpu-n1   <none>
ml          llm-worker-0   0/1     OOMKilled          1 (5m ago)    2h    10.0.0.2   gpu-n2   <none>
ml          llm-worker-1   0/1     Evicted            0             2h    <none>     gpu-n3   <none>
ml          llm-worker-2   0/1     CrashLoopBackOff   7 (2m ago)    2h    10.0.0.4   gpu-n4   <none>
ml          llm-worker-3   0/1     Pending            0             2h    <none>     <none>   <none>
ml          llm-worker-4   0/1     ExitCode:139       0             2h    10.0.0.6   gpu-n6   <none>
No more resources
"""  # noqa: E501 -- as kubectl prints it


@pytest.mark.parametrize("restarts", ["9" * 30, "9" * 5000], ids=["long", "endless"])
def test_numbers_of_a_table_that_are_no_counts(read: Read, restarts: str) -> None:
    """More restarts than can be are not told, and neither is such a number of events."""
    pods = f"NAME  READY  STATUS  RESTARTS  AGE\nllm-worker-0  1/1  Running  {restarts}  3h\n"
    events = (
        "LAST SEEN  TYPE  REASON  OBJECT  COUNT  MESSAGE\n"
        f"3m  Warning  BackOff  pod/llm-worker-0  {restarts}  it waits\n"
    )
    reading = read(f"{pods}\n{events}")
    assert reading.events.select("kind", "count").rows() == [("pod_waiting", 1)]


def test_the_wide_table_of_pods(read: Read) -> None:
    """Each status is what it is elsewhere; who has no node is placed nowhere."""
    reading = read(WIDE)
    assert (
        reading.events.sort("position", maintain_order=True).select("host", "kind", "code").rows(),
        reading.placements.select("run", "rank", "host").rows(),
        reading.jobs.select("run", "state", "hosts").rows(),
        reading.rejects["text"].to_list(),
        reading.lines_used,
    ) == (
        [
            ("gpu-n2", "oom_kill", "137"),
            ("gpu-n2", "restart", "1"),
            ("gpu-n3", "job_cancelled", "EVICTION"),
            ("gpu-n4", "pod_waiting", "CrashLoopBackOff"),
            ("gpu-n4", "restart", "7"),
            ("gpu-n6", "process_exit", "139"),
        ],
        [
            ("llm", 0, "gpu-n1"),
            ("llm", 1, "gpu-n2"),
            ("llm", 2, "gpu-n3"),
            ("llm", 3, "gpu-n4"),
            ("llm", 5, "gpu-n6"),
        ],
        [("llm", "FAILED", ["gpu-n1", "gpu-n2", "gpu-n3", "gpu-n4", "gpu-n6"])],
        ["No more resources"],
        7,
    )


def test_a_table_with_single_blanks(read: Read) -> None:
    """A table that lost its columns on the way is cut at its blanks, but not inside brackets."""
    text = """\
NAME READY STATUS RESTARTS AGE
llm-worker-0 0/1 Error 2 (10m ago) 3h5m
llm-2-x7k2p 1/1 Running 0 5d
"""
    reading = read(text, taken=TAKEN)
    jobs = reading.jobs.select("run", "state", "submit").rows()
    events = reading.events.select("kind", "code", "message").rows()
    assert (jobs, events) == (
        [("llm", "FAILED", datetime(2031, 1, 29, 6, tzinfo=UTC))],
        [
            ("process_exit", None, "pod llm-worker-0 ended: Error, exit code not told"),
            ("restart", "2", "pod llm-worker-0 restarted 2 times"),
        ],
    )


EVENTS = """\
LAST SEEN          TYPE      REASON             OBJECT             MESSAGE
5m                 Normal    Scheduled          pod/llm-worker-1   Successfully assigned ml/llm-worker-1 to gpu-n3
4m12s              Warning   NodeNotReady       node/gpu-n3        Node gpu-n3 status is now: NodeNotReady
4m                 Normal    Preempted          pod/llm-worker-1   Preempted by a pod on node gpu-n4
3m (x5 over 10m)   Warning   FailedScheduling   pod/llm-worker-5   0/4 nodes are available: 4 Insufficient gpu.
<unknown>          Normal    SuccessfulCreate   pytorchjob/llm     Created pod: llm-worker-2
"""  # noqa: E501 -- as kubectl prints it


def test_the_table_of_events(read: Read) -> None:
    """Ages count back from when it was printed; a pod's node is known since it was bound to it."""
    columns = ("time", "last", "host", "run", "kind", "code", "count")
    events = read(EVENTS, taken=TAKEN).events.sort("position").select(columns).rows()
    assert events == [
        (at(5, 55), None, "gpu-n3", "llm", "cluster_event", "Scheduled", 1),
        (at(5, 55, 48), None, "gpu-n3", None, "node_failure", "NodeNotReady", 1),
        (at(5, 56), None, "gpu-n3", "llm", "job_cancelled", "PREEMPTION", 1),
        (at(5, 50), at(5, 57), None, "llm", "pod_waiting", "FailedScheduling", 5),
        (None, None, None, "llm", "cluster_event", "SuccessfulCreate", 1),
    ]


DESCRIBED = """\
Name:             llm-worker-0
Namespace:        ml
Priority:         0
Node:             gpu-n2/10.1.0.2
Start Time:       Mon, 03 Feb 2031 04:00:10 +0000
Labels:           training.kubeflow.org/job-name=llm
                  training.kubeflow.org/replica-index=0
                  training.kubeflow.org/replica-type=worker
Annotations:      <none>
Status:           Running
IP:               10.0.0.2
Controlled By:    PyTorchJob/llm
Init Containers:
  wait:
    State:          Terminated
      Reason:       Completed
      Exit Code:    0
      Finished:     Mon, 03 Feb 2031 04:00:15 +0000
Containers:
  train:
    Container ID:   containerd://abc
    State:          Running
      Started:      Mon, 03 Feb 2031 05:10:00 +0000
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Finished:     Mon, 03 Feb 2031 05:00:00 +0000
    Ready:          True
    Restart Count:  1
    Limits:
      nvidia.com/gpu:  2
    Environment:
      WORLD_SIZE:  16
Conditions:
  Type              Status
  Ready             True
Events:
  Type     Reason     Age                From               Message
  ----     ------     ----               ----               -------
  Normal   Scheduled  125m               default-scheduler  Successfully assigned ml/llm-worker-0
  Warning  BackOff    50m (x3 over 55m)  kubelet, gpu-n2    Back-off restarting failed container
"""


def test_a_description(read: Read) -> None:
    """States, labels, GPUs and events of a described pod are read; each line belongs to it."""
    reading = read(DESCRIBED, taken=TAKEN)
    assert (
        reading.events.select("time", "kind", "code", "host").rows(),
        reading.placements.select("run", "rank", "host", "index").rows(),
        reading.jobs.select("run", "state", "start", "hosts").rows(),
        reading.rejects.height,
    ) == (
        [
            (at(3, 55), "cluster_event", "Scheduled", "gpu-n2"),
            (at(4, 0, 15), "process_exit", "0", "gpu-n2"),
            (at(5, 0), "oom_kill", "137", "gpu-n2"),
            (at(5, 5), "pod_waiting", "BackOff", "gpu-n2"),
            (at(5, 10), "restart", "1", "gpu-n2"),
        ],
        [("llm", 0, "gpu-n2", 0), ("llm", 1, "gpu-n2", 1)],
        [("llm", "RUNNING", at(4, 0, 10), ["gpu-n2"])],
        0,
    )


TAKEN_AWAY = """\
Error from server: one pod is gone
Name:         llm-worker-0
Namespace:    ml
Node:         gpu-n2/10.1.0.2
Status:       Failed
Reason:       Evicted
Message:      The node was low on resource: memory.
Controlled By:  PyTorchJob/llm
Name:         llm-worker-1
Namespace:    ml
Node:         gpu-n3/10.1.0.3
Status:       Failed
Conditions:
  Type               Status
  DisruptionTarget   True
"""


def test_descriptions_of_pods_that_were_taken_away(read: Read) -> None:
    """A reason, or the bare condition, tells that somebody outside ended a pod."""
    reading = read(TAKEN_AWAY)
    assert (
        reading.events.select("host", "kind", "code").rows(),
        reading.rejects["text"].to_list(),
    ) == (
        [("gpu-n2", "job_cancelled", "EVICTION"), ("gpu-n3", "job_cancelled", "EVICTION")],
        ["Error from server: one pod is gone"],
    )
