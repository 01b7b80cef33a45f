"""Pods, events and training jobs as `kubectl get -o json` and `-o yaml` print them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.kubernetes.documents import read_kubernetes_documents
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

Read = Callable[[Any], Reading]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A reader of one document, or of a text as it is, through the choice of its dialect."""

    def reader(document: Any) -> Reading:
        path = tmp_path / "pods.json"
        text = document if isinstance(document, str) else json.dumps(document)
        path.write_text(text, encoding="utf-8")
        return read_file(path, path.name, ReadOptions())

    return reader


def pod(name: str, **status: Any) -> dict[str, Any]:
    """Return a worker of the job `llm` on the node of its number."""
    role, number = name.rsplit("-", 2)[1:]
    labels = {
        "training.kubeflow.org/job-name": "llm",
        "training.kubeflow.org/replica-type": role,
        "training.kubeflow.org/replica-index": number,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": "2031-02-03T04:00:00Z"},
        "spec": {"nodeName": f"GPU-{role[0]}{number}", "containers": [{"name": "train"}]},
        "status": {"phase": "Failed", "startTime": "2031-02-03T04:00:10Z", **status},
    }


def ended(code: int, reason: str, at: str = "05:00:00", **more: Any) -> dict[str, Any]:
    """Return the status of a container that ended."""
    told = {"exitCode": code, "reason": reason, "finishedAt": f"2031-02-03T{at}Z", **more}
    return {"name": "train", "restartCount": 0, "state": {"terminated": told}}


def taken(reason: str) -> dict[str, Any]:
    """Return the condition of a pod that was taken away."""
    at = "2031-02-03T04:59:30Z"
    told = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    return told | {"lastTransitionTime": at}


def at(hour: int, minute: int, second: int) -> datetime:
    """Return a time of the day of all tests."""
    return datetime(2031, 2, 3, hour, minute, second, tzinfo=UTC)


def told(reading: Reading) -> list[tuple[Any, ...]]:
    """Return kind, code, host and severity of the events."""
    return reading.events.select("kind", "code", "host", "severity").rows()


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(
            {"containerStatuses": [ended(137, "OOMKilled")]},
            [("oom_kill", "137", "gpu-w1", "critical")],
            id="a kill for memory is one, whatever its number",
        ),
        pytest.param(
            {"containerStatuses": [ended(137, "Error")]},
            [("process_exit", "137", "gpu-w1", "error")],
            id="a kill that nobody explains is an exit by a signal",
        ),
        pytest.param(
            {"containerStatuses": [ended(143, "Error")]},
            [("process_exit", "143", "gpu-w1", "error")],
            id="a polite end keeps its number",
        ),
        pytest.param(
            {"containerStatuses": [ended(139, "Error")]},
            [("process_exit", "139", "gpu-w1", "error")],
            id="a segmentation fault keeps its number",
        ),
        pytest.param(
            {"containerStatuses": [ended(0, "Error", signal=9)]},
            [("process_exit", "-9", "gpu-w1", "error")],
            id="a signal that is told beats an exit code of nothing",
        ),
        pytest.param(
            {"containerStatuses": [ended(0, "Completed")]},
            [("process_exit", "0", "gpu-w1", "info")],
            id="a clean end is no error",
        ),
        pytest.param(
            {
                "conditions": [taken("PreemptionByScheduler")],
                "containerStatuses": [ended(137, "Error")],
            },
            [
                ("job_cancelled", "PREEMPTION", "gpu-w1", "error"),
                ("closing", "137", "gpu-w1", "info"),
            ],
            id="a preempted pod was stopped from outside: its exit is no crash",
        ),
        pytest.param(
            {
                "conditions": [taken("DeletionByTaintManager")],
                "containerStatuses": [ended(143, "Error")],
            },
            [
                ("node_failure", "DeletionByTaintManager", "gpu-w1", "error"),
                ("closing", "143", "gpu-w1", "info"),
            ],
            id="a pod whose node was tainted lost its node",
        ),
        pytest.param(
            {
                "conditions": [taken("TerminationByKubelet")],
                "reason": "Preempting",
                "containerStatuses": [ended(1, "Error")],
            },
            [
                ("job_cancelled", "PREEMPTION", "gpu-w1", "error"),
                ("process_exit", "1", "gpu-w1", "error"),
            ],
            id="an exception of a pod that is then taken away stays an exception",
        ),
        pytest.param(
            {"reason": "Evicted", "message": "The node was low on resource: memory."},
            [("job_cancelled", "EVICTION", "gpu-w1", "error")],
            id="an evicted pod needs no condition to say so",
        ),
        pytest.param(
            {
                "phase": "Pending",
                "containerStatuses": [
                    {"name": "train", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
                    {"name": "side", "state": {"waiting": {"reason": "ContainerCreating"}}},
                ],
            },
            [("pod_waiting", "ImagePullBackOff", "gpu-w1", "warning")],
            id="waiting for an image is told, being made is not",
        ),
    ],
)
def test_how_containers_end(
    read: Read, status: dict[str, Any], expected: list[tuple[Any, ...]]
) -> None:
    """Exit code and reason say how a container ended, the pod's condition who took it away."""
    document = {"apiVersion": "v1", "kind": "List", "items": [pod("llm-worker-1", **status)]}
    assert told(read(document)) == expected


def test_a_container_that_was_restarted(read: Read) -> None:
    """The last state tells why a running container was started again, and how often that was."""
    again = {
        "name": "train",
        "restartCount": 3,
        "state": {"running": {"startedAt": "2031-02-03T05:00:20Z"}},
        "lastState": ended(139, "Error")["state"],
    }
    reading = read(pod("llm-worker-0", phase="Running", containerStatuses=[again]))
    events = reading.events.select("time", "kind", "code").rows()
    assert (events, reading.jobs.select("run", "state", "hosts").rows()) == (
        [(at(5, 0, 0), "process_exit", "139"), (at(5, 0, 20), "restart", "3")],
        [("llm", "RUNNING", ["gpu-w0"])],
    )


def test_places_of_pods_with_gpus(read: Read) -> None:
    """The master holds the first ranks, a worker as many as it has GPUs; each pod is its node's."""
    pods = [pod("llm-worker-0", phase="Running"), pod("llm-master-0", phase="Running")]
    for one in pods:
        one["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "2"}}
    reading = read({"apiVersion": "v1", "kind": "PodList", "items": pods})
    assert (
        reading.placements.sort("rank").select("run", "attempt", "rank", "host", "index").rows(),
        reading.aliases.select("host", "device_kind", "alias_kind", "alias").rows(),
    ) == (
        [
            ("llm", 0, 0, "gpu-m0", 0),
            ("llm", 0, 1, "gpu-m0", 1),
            ("llm", 0, 2, "gpu-w0", 0),
            ("llm", 0, 3, "gpu-w0", 1),
        ],
        [("gpu-w0", "node", "pod", "llm-worker-0"), ("gpu-m0", "node", "pod", "llm-master-0")],
    )


def test_a_pod_made_anew(read: Read) -> None:
    """A pod with the place of an older one, on another node, is the next attempt of that place."""
    old, new = pod("llm-worker-0", containerStatuses=[ended(137, "Error")]), pod("llm-worker-0")
    new["metadata"]["creationTimestamp"] = "2031-02-03T05:10:00Z"
    new["spec"]["nodeName"] = "gpu-spare"
    new["status"] = {"phase": "Running", "startTime": "2031-02-03T05:10:05Z"}
    reading = read({"apiVersion": "v1", "kind": "List", "items": [new, old]})
    jobs = reading.jobs.select("run", "attempt", "state", "exit", "hosts").rows()
    placed = reading.placements.select("attempt", "rank", "host").sort("attempt").rows()
    assert (jobs, placed) == (
        [("llm", 0, "FAILED", "137", ["gpu-w0"]), ("llm", 1, "RUNNING", None, ["gpu-spare"])],
        [(0, 0, "gpu-w0"), (1, 0, "gpu-spare")],
    )


def test_sets_of_jobs_number_their_pods(read: Read) -> None:
    """In a set of jobs a pod's rank counts over the jobs, and a label tells the attempt."""
    pods: list[dict[str, Any]] = []
    for slice_, index in ((0, 0), (0, 1), (1, 0), (1, 1)):
        one = pod(f"llm-workers-{slice_}-{index}-x7k2p-worker-0", phase="Running")
        one["metadata"]["labels"] = {
            "jobset.sigs.k8s.io/jobset-name": "llm",
            "jobset.sigs.k8s.io/job-index": str(slice_),
            "jobset.sigs.k8s.io/restart-attempt": "2",
            "batch.kubernetes.io/job-completion-index": str(index),
        }
        one["spec"]["nodeName"] = f"n{slice_}{index}"
        pods.append(one)
    placed = read({"apiVersion": "v1", "kind": "List", "items": pods}).placements
    assert placed.select("run", "attempt", "rank", "host").rows() == [
        ("llm", 2, 0, "n00"),
        ("llm", 2, 1, "n01"),
        ("llm", 2, 2, "n10"),
        ("llm", 2, 3, "n11"),
    ]


def test_yaml_tells_what_json_tells(read: Read, tmp_path: Path) -> None:
    """The same list as YAML gives the same rows."""
    items = [
        pod("llm-worker-0", containerStatuses=[ended(137, "OOMKilled")]),
        pod("llm-worker-1", conditions=[taken("PreemptionByScheduler")]),
    ]
    document = {"apiVersion": "v1", "items": items, "kind": "List"}
    path = tmp_path / "pods.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    spelled = read_file(path, "pods.json", ReadOptions())
    names = ("jobs", "placements", "aliases", "events")
    assert [spelled.frame(name).rows() for name in names] == [
        read(document).frame(name).rows() for name in names
    ]


EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "involvedObject": {"kind": "Pod", "name": "llm-worker-1"},
    "reason": "Evicted",
    "message": "The node was low on resource: memory.",
    "type": "Warning",
    "count": 2,
    "firstTimestamp": "2031-02-03T05:00:00Z",
    "lastTimestamp": "2031-02-03T05:00:30Z",
    "source": {"component": "kubelet", "host": "gpu-n2"},
}


FIRST, LAST = at(5, 0, 0), at(5, 0, 30)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {},
            ("job_cancelled", "EVICTION", "gpu-n2", "llm", 2, FIRST, LAST),
            id="an eviction is somebody outside, reported by the pod's node",
        ),
        pytest.param(
            {"reason": "OOMKilling", "involvedObject": {"kind": "Node", "name": "gpu-n7"}},
            ("oom_kill", None, "gpu-n7", None, 2, FIRST, LAST),
            id="a kill for memory is the node's that it is about",
        ),
        pytest.param(
            {"reason": "NodeNotReady", "involvedObject": {"kind": "Node", "name": "gpu-n7"}},
            ("node_failure", "NodeNotReady", "gpu-n7", None, 2, FIRST, LAST),
            id="a node that is not ready any more is lost",
        ),
        pytest.param(
            {"reason": "TaintManagerEviction", "message": "Cancelling deletion of Pod"},
            ("cluster_event", "TaintManagerEviction", "gpu-n2", "llm", 2, FIRST, LAST),
            id="an eviction that is called off ends nothing",
        ),
        pytest.param(
            {
                "reason": "Started",
                "count": None,
                "firstTimestamp": None,
                "lastTimestamp": None,
                "eventTime": "2031-02-03T05:00:01.000000Z",
                "reportingComponent": "scheduler",
            },
            ("cluster_event", "Started", None, "llm", 1, at(5, 0, 1), None),
            id="the new form of events has one time",
        ),
    ],
)
def test_events(read: Read, changes: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """Reasons of events become our kinds; the count and the last time are kept."""
    events = read({"apiVersion": "v1", "kind": "EventList", "items": [EVENT | changes]}).events
    columns = ("kind", "code", "host", "run", "count", "time", "last")
    assert events.select(columns).row(0) == expected


def condition(kind: str, at: str, **more: str) -> dict[str, str]:
    """Return a condition that holds."""
    return {"type": kind, "status": "True", "lastTransitionTime": f"2031-02-03T{at}Z", **more}


def test_a_training_job(read: Read) -> None:
    """A job's object tells its state, its size, its restarts and its end."""
    template = {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}]}}
    document = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "llm", "creationTimestamp": "2031-02-03T04:00:00Z"},
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": template},
                "Worker": {"replicas": 3, "template": template},
            }
        },
        "status": {
            "startTime": "2031-02-03T04:00:05Z",
            "conditions": [
                condition("Created", "04:00:00"),
                condition("Restarting", "05:00:00", message="1 worker failed"),
                condition("Failed", "06:00:00", reason="DeadlineExceeded"),
            ],
        },
    }
    reading = read(document)
    assert (
        reading.jobs.select("run", "state", "world", "start", "end", "reason").rows(),
        reading.events.select("time", "kind", "code", "run").rows(),
    ) == (
        [("llm", "TIMEOUT", 32, at(4, 0, 5), at(6, 0, 0), "DeadlineExceeded")],
        [
            (at(5, 0, 0), "restart", None, "llm"),
            (at(6, 0, 0), "job_cancelled", "TIME LIMIT", "llm"),
        ],
    )


@pytest.mark.parametrize("number", ["9" * 30, "²", "9" * 5000], ids=["long", "odd", "endless"])
def test_numbers_that_are_no_counts(read: Read, number: str) -> None:
    """What cannot be a count is not told, wherever it stands; the rest is."""
    one = pod("llm-worker-0", containerStatuses=[{"name": "train", "restartCount": number}])
    one["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] = number
    one["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": number}}
    job = {"apiVersion": "x/v1", "kind": "JobSet", "metadata": {"name": "llm"}}
    job |= {"status": {"restarts": number}, "spec": {"replicatedJobs": [{"replicas": number}]}}
    items = [one, job, EVENT | {"count": number}]
    reading = read({"apiVersion": "v1", "kind": "List", "items": items})
    assert (
        reading.placements.select("attempt", "rank", "host").rows(),
        reading.events["count"].to_list(),
        reading.jobs.select("attempt", "world").rows(),
    ) == ([(0, 0, "gpu-w0")], [1], [(0, None), (None, None)])


@pytest.mark.parametrize(
    ("text", "rejects"),
    [
        pytest.param(
            json.dumps(EVENT) + "\n" + json.dumps(EVENT)[:90] + "\n",
            [(2, "torn JSON")],
            id="a watch that was killed leaves its last document torn",
        ),
        pytest.param(
            'apiVersion: v1\nkind: Pod\nmetadata: {name: "x\n',
            [(None, "torn YAML")],
            id="a torn YAML document is one reject",
        ),
        pytest.param(
            '{"apiVersion": "v1", "kind": "PodList", "items": []}\n',
            [(1, "no pods, events or jobs in it")],
            id="an empty list holds nothing",
        ),
    ],
)
def test_what_cannot_be_read(read: Read, text: str, rejects: list[tuple[Any, ...]]) -> None:
    """What is torn or empty is said, with its place."""
    assert read(text).rejects.select("position", "reason").rows() == rejects


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 900), junk=st.binary(max_size=12), is_yaml=st.booleans())
def test_every_line_is_accounted_for(cut: int, junk: bytes, is_yaml: bool, tmp_path: Path) -> None:
    """Torn anywhere, or with bytes in it: nothing is raised and each line is used or rejected."""
    one = pod("llm-worker-0", containerStatuses=[ended(137, "OOMKilled")])
    text = yaml.safe_dump(one) if is_yaml else json.dumps(one, indent=1)
    data = text.encode()[:cut] + junk + text.encode()[cut:]
    path = tmp_path / "pods"
    path.write_bytes(data)
    reading = read_kubernetes_documents(path, "pods", ReadOptions())
    decoded = data.decode("utf-8", errors="replace").replace("\0", "").split("\n")
    rejected = reading.rejects["count"].fill_null(1).sum()
    assert reading.lines_used + rejected == sum(bool(line.strip()) for line in decoded)
