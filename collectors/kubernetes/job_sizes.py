"""How many GPUs the object of a training job asks for: replicas, times the GPUs of one.

Source: Kubeflow training operator (`pytorchReplicaSpecs`, `mpiReplicaSpecs`), JobSet
(`replicatedJobs`), batch/v1 Job (`parallelism`).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from collectors.kubernetes.pods import gpu_count
from collectors.texts.json_documents import items_of, mapping_of, text_of
from collectors.texts.plain_counts import count_of

_SPECS: Final = r"ReplicaSpecs"

_MAX_WORLD: Final = 2**31


def job_world(spec: Mapping[str, Any]) -> int | None:
    """Return the GPUs that a job asks for; null where its templates name none.

    Args:
        spec: The `spec` of the object.
    """
    counts = [number * gpus for number, gpus in _groups(spec) if gpus is not None]
    world = sum(counts)
    return world if 0 < world < _MAX_WORLD else None


def _groups(spec: Mapping[str, Any]) -> Iterator[tuple[int, int | None]]:
    """Yield how many pods each part of a job has, and how many GPUs each of them."""
    for name, parts in spec.items():
        if name.endswith(_SPECS):
            for part in map(mapping_of, mapping_of(parts).values()):
                yield _whole(part.get("replicas")), _gpus(part.get("template"))
    for part in map(mapping_of, items_of(spec.get("replicatedJobs"))):
        inner = mapping_of(mapping_of(part.get("template")).get("spec"))
        jobs, pods = _whole(part.get("replicas")), _whole(inner.get("parallelism"))
        yield jobs * pods, _gpus(inner.get("template"))
    if "template" in spec:
        yield _whole(spec.get("parallelism")), _gpus(spec.get("template"))


def _whole(value: object) -> int:
    """Return a count; one where none is told, which is what Kubernetes takes."""
    count = count_of(text_of(value))
    return 1 if count is None else count


def _gpus(template: object) -> int | None:
    inner = mapping_of(mapping_of(template).get("spec"))
    return gpu_count(items_of(inner.get("containers")))
