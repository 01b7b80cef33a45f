"""What is measured of open incidents: when they reached what, and what they cost."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from alerts.storing.records import IncidentRecord
from paceline.watching.gauges import Measured
from slo.losses import SECONDS_PER_HOUR
from slo.metrics import INCIDENT_LOST_GPU_SECONDS, INCIDENT_OPEN, INCIDENT_TIMESTAMP_SECONDS


def incident_gauges(records: Sequence[IncidentRecord], cluster: str) -> Iterator[Measured]:
    """Yield the series of open incidents; what has not happened or is not known has none."""
    for record in records:
        labels = (cluster, record.id)
        yield Measured(metric=INCIDENT_OPEN, labels=labels, value=1.0)
        for mark, time in _marks(record).items():
            if time is not None:
                at = (*labels, mark)
                seconds = time.timestamp()
                yield Measured(metric=INCIDENT_TIMESTAMP_SECONDS, labels=at, value=seconds)
        lost = _gpu_hours(record.body)
        if lost is not None:
            cost = lost * SECONDS_PER_HOUR
            yield Measured(metric=INCIDENT_LOST_GPU_SECONDS, labels=labels, value=cost)


def _marks(record: IncidentRecord) -> dict[str, datetime | None]:
    return {
        "onset": record.onset,
        "detected": record.detected,
        "paged": record.paged_at,
        "acknowledged": record.acknowledged_at,
        "mitigated": record.mitigated_at,
        "resolved": record.resolved_at,
    }


def _gpu_hours(body: Mapping[str, Any]) -> float | None:
    """Return what the newest evidence says of the cost."""
    radius = cast("Mapping[str, Any]", body.get("blast_radius") or {})
    lost = radius.get("gpu_hours_lost")
    return None if lost is None else float(lost)
