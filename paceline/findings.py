"""Run every detector over one reading: the list of detectors, and the order of their findings."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from collectors.readings import Reading
from detectors.attribution import attribute
from detectors.cleaning import CleaningParams, clean_steps
from detectors.congestion import CongestionParams, find_congestion
from detectors.counters import CounterParams
from detectors.crashes import CrashParams, find_crashes
from detectors.devices import DeviceParams, find_slow_devices
from detectors.fabric import Fabric, fabric_of
from detectors.hangs import HangParams, find_hangs
from detectors.imbalance import ImbalanceParams, find_imbalance
from detectors.jobs import JobParams, find_slow_jobs
from detectors.links import LinkParams, find_link_faults
from detectors.network_faults import NetworkFaultParams, find_network_faults
from detectors.numerical import find_numerical
from detectors.paces import rank_paces, traced_paces
from detectors.pauses import job_paces
from detectors.placing import rank_roles
from detectors.stragglers import StragglerParams, find_stragglers
from detectors.telemetry import TelemetryParams, find_lost_telemetry
from detectors.verdicts import Verdict, verdicts_of
from paceline.spans import end_of_only_run


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorParams:
    """The thresholds of all detectors; each as its module documents it."""

    cleaning: CleaningParams = field(default_factory=CleaningParams)
    stragglers: StragglerParams = field(default_factory=StragglerParams)
    imbalance: ImbalanceParams = field(default_factory=ImbalanceParams)
    jobs: JobParams = field(default_factory=JobParams)
    devices: DeviceParams = field(default_factory=DeviceParams)
    crashes: CrashParams = field(default_factory=CrashParams)
    network: NetworkFaultParams = field(default_factory=NetworkFaultParams)
    hangs: HangParams = field(default_factory=HangParams)
    counters: CounterParams = field(default_factory=CounterParams)
    links: LinkParams = field(default_factory=LinkParams)
    congestion: CongestionParams = field(default_factory=CongestionParams)
    telemetry: TelemetryParams = field(default_factory=TelemetryParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """What the detectors take: the reading's frames, and what is derived from them once."""

    samples: pl.LazyFrame
    events: pl.LazyFrame
    collectives: pl.LazyFrame
    fabric: Fabric
    steps: pl.LazyFrame
    roles: pl.LazyFrame
    paces: pl.LazyFrame
    job_paces: pl.LazyFrame


Detector = Callable[[Views, DetectorParams], pl.DataFrame]

DETECTORS: Final[tuple[tuple[str, Detector], ...]] = (
    ("stragglers", lambda v, p: find_stragglers(v.paces, p.stragglers)),
    ("imbalance", lambda v, p: find_imbalance(v.paces, p.imbalance)),
    ("jobs", lambda v, p: find_slow_jobs(v.job_paces, p.jobs)),
    ("devices", lambda v, p: find_slow_devices(v.samples, p.devices)),
    ("crashes", lambda v, p: find_crashes(v.events, v.steps, v.roles, p.crashes)),
    ("network faults", lambda v, p: find_network_faults(v.events, v.roles, p.network)),
    ("hangs", lambda v, p: find_hangs(v.steps, v.collectives, v.events, v.roles, p.hangs)),
    ("links", lambda v, p: find_link_faults(v.fabric, p.links)),
    ("congestion", lambda v, p: find_congestion(v.fabric, p.congestion)),
    ("numerical", lambda v, _: find_numerical(v.steps)),
    ("telemetry", lambda v, p: find_lost_telemetry(v.samples, v.events, p.telemetry)),
)
"""Every detector: adding one is one line here."""


def views_of(reading: Reading, params: DetectorParams) -> Views:
    """Return what the detectors take, each derived frame computed once."""
    samples, steps = reading.samples.lazy(), reading.steps.lazy()
    events = reading.events.lazy()
    roles = rank_roles(reading.placements.lazy(), samples).collect()
    clean = clean_steps(steps, params.cleaning).collect().lazy()
    paces = pl.concat([rank_paces(clean, roles.lazy()), traced_paces(reading.ops.lazy())])
    return Views(
        samples=samples,
        events=events,
        collectives=reading.collectives.lazy(),
        fabric=fabric_of(samples, events, reading.links.lazy(), params.counters),
        steps=steps,
        roles=roles.lazy(),
        paces=paces.collect().lazy(),
        job_paces=job_paces(clean).collect().lazy(),
    )


def find_all(
    reading: Reading, params: DetectorParams, say: Callable[[str, int, int], None]
) -> list[Verdict]:
    """Return the findings of all detectors, joined into causes, in reading order.

    Args:
        reading: What was read, with its runs named.
        params: The thresholds.
        say: Told before each detector: its name, how many are done, how many there are.
    """
    views = views_of(reading, params)
    ended = replace(params.hangs, data_end=end_of_only_run(reading))
    told = replace(params, hangs=ended)
    found: list[Verdict] = []
    for done, (name, detector) in enumerate(DETECTORS):
        say(name, done, len(DETECTORS))
        found += verdicts_of(detector(views, told))
    return attribute(found, views.roles.collect())
