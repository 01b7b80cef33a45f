"""What a report is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from alerts.incidents import Incident
from collectors.frames import COVERAGE, REJECTS, SAMPLES
from detectors.paces import PACES
from detectors.verdicts import Verdict
from slo.training import STEP_EVENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContents:
    """What a report shows; every frame may be empty, and the report says what it then lacks.

    Attributes:
        title: What people call what was read.
        now: End of the data; null when nothing has a clock.
        verdicts: All findings.
        incidents: All incidents, in reading order.
        events: `STEP_EVENTS`, for step time against its baseline.
        paces: `PACES`, for ranks against their peers.
        samples: `SAMPLES`, for devices against their peers.
        coverage: `COVERAGE`.
        rejects: `REJECTS`.
        notes: Sentences to print under the title, such as that the data is SIMULATED.
    """

    title: str
    now: datetime | None = None
    verdicts: Sequence[Verdict] = ()
    incidents: Sequence[Incident] = ()
    events: pl.DataFrame = field(default_factory=STEP_EVENTS.to_frame)
    paces: pl.DataFrame = field(default_factory=PACES.to_frame)
    samples: pl.DataFrame = field(default_factory=SAMPLES.to_frame)
    coverage: pl.DataFrame = field(default_factory=COVERAGE.to_frame)
    rejects: pl.DataFrame = field(default_factory=REJECTS.to_frame)
    notes: Sequence[str] = ()
