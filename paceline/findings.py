"""Run every detector over one reading: the list of detectors, and the order of their findings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import polars as pl

from collectors.readings import Reading
from detectors.attribution import attribute
from detectors.benchmarks import find_failed_benchmarks
from detectors.between_steps import BetweenParams, find_between_steps
from detectors.blind_ports import BlindParams, find_blind_ports
from detectors.buffers import BufferParams, find_buffer_faults
from detectors.bus_errors import BusErrorParams, find_bus_errors
from detectors.cleaning import CleaningParams, clean_steps
from detectors.clocks import with_one_clock
from detectors.congestion import CongestionParams, find_congestion
from detectors.corroboration import corroborated
from detectors.corruption import find_corruption
from detectors.counters import CounterParams
from detectors.crashes import CrashParams, find_crashes
from detectors.degrading_links import DegradingParams, find_degrading_links
from detectors.device_hosts import find_slow_device_hosts
from detectors.devices import DeviceParams, find_slow_devices
from detectors.doubtful_figures import find_doubtful_figures
from detectors.fabric import Fabric, fabric_of
from detectors.flaps import FlapParams, find_flaps
from detectors.hang_devices import HangDeviceParams, told_by_devices
from detectors.hang_hosts import told_by_kernels
from detectors.hangs import HangParams, find_hangs
from detectors.histories import find_hidden_attempts
from detectors.imbalance import ImbalanceParams, find_imbalance
from detectors.job_moments import job_moments
from detectors.jobs import JobParams, find_slow_jobs
from detectors.late_ranks import LateParams, find_late_ranks
from detectors.launches import LaunchParams, find_launch_gaps, without_launches
from detectors.lemon_histories import Records
from detectors.lemon_params import LemonParams
from detectors.lemons import find_lemons
from detectors.links import LinkParams, find_link_faults
from detectors.loss_scales import ScaleParams, find_stuck_scales
from detectors.lost_collectors import CollectorParams, find_lost_collectors
from detectors.lost_progress import find_lost_progress
from detectors.marks import MarkParams, find_mark_faults
from detectors.mtus import MtuParams, find_mtu_faults
from detectors.network_faults import NetworkFaultParams, find_network_faults
from detectors.numerical import find_numerical
from detectors.paces import rank_paces, traced_waits
from detectors.pair_times import PairParams, find_slow_pairs
from detectors.pauses import job_paces
from detectors.pcie_links import PcieParams, find_degraded_pcie
from detectors.placing import rank_roles
from detectors.planned_pauses import without_planned_pauses
from detectors.port_faults import PortFaultParams, find_port_faults
from detectors.quiet.activity_sags import ActivityParams, find_activity_sags
from detectors.quiet.checkpoint_writers import WriterParams, find_slow_writers
from detectors.quiet.checksum_differences import find_checksum_differences
from detectors.quiet.data_stalls import StallParams, find_data_stalls
from detectors.quiet.loss_anomalies import LossParams, find_loss_anomalies
from detectors.quiet.periodic_sags import (
    SagParams,
    find_periodic_sags,
    without_repeated_pauses,
)
from detectors.quiet.rank_saves import save_times
from detectors.quiet.replica_differences import find_replica_differences
from detectors.quiet.replica_values import ReplicaParams
from detectors.quiet.result_checks import find_result_checks
from detectors.quiet.shared_waits import SharedParams, with_shared_waits
from detectors.quiet.skipped_steps import SkipParams, find_skipped_steps
from detectors.reported_extremes import ExtremeParams, find_reported_extremes
from detectors.scores import ScoreParams, find_scored_ranks
from detectors.short_jobs import ShortJobParams, find_short_slow_jobs
from detectors.short_reports import ShortReportParams, find_short_reports
from detectors.skewed_clocks import ClockParams, find_skewed_clocks
from detectors.slow_paths import PathParams, find_slow_paths
from detectors.slow_ports import PortPaceParams, find_slow_ports
from detectors.status_faults import find_status_faults
from detectors.storms import StormParams, find_storms
from detectors.stragglers import StragglerParams, find_stragglers
from detectors.telemetry import TelemetryParams, find_lost_telemetry
from detectors.throughput_changes import find_throughput_changes
from detectors.told_timeouts import with_timeouts
from detectors.traced_stragglers import TraceParams, find_traced_stragglers
from detectors.travelled_errors import TravelledParams, find_travelled_errors
from detectors.uneven_work import UnevenParams, find_uneven_work
from detectors.unready_hosts import UnreadyParams, find_unready_hosts
from detectors.verdicts import Verdict, verdicts_of
from detectors.widths import WidthParams, find_degraded_links
from paceline.spans import end_of_only_run


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorParams:
    """The thresholds of all detectors; each as its module documents it."""

    cleaning: CleaningParams = field(default_factory=CleaningParams)
    stragglers: StragglerParams = field(default_factory=StragglerParams)
    short_reports: ShortReportParams = field(default_factory=ShortReportParams)
    extremes: ExtremeParams = field(default_factory=ExtremeParams)
    scores: ScoreParams = field(default_factory=ScoreParams)
    imbalance: ImbalanceParams = field(default_factory=ImbalanceParams)
    traces: TraceParams = field(default_factory=TraceParams)
    uneven: UnevenParams = field(default_factory=UnevenParams)
    jobs: JobParams = field(default_factory=JobParams)
    short_jobs: ShortJobParams = field(default_factory=ShortJobParams)
    between: BetweenParams = field(default_factory=BetweenParams)
    clocks: ClockParams = field(default_factory=ClockParams)
    devices: DeviceParams = field(default_factory=DeviceParams)
    crashes: CrashParams = field(default_factory=CrashParams)
    network: NetworkFaultParams = field(default_factory=NetworkFaultParams)
    hangs: HangParams = field(default_factory=HangParams)
    hang_devices: HangDeviceParams = field(default_factory=HangDeviceParams)
    counters: CounterParams = field(default_factory=CounterParams)
    links: LinkParams = field(default_factory=LinkParams)
    degrading: DegradingParams = field(default_factory=DegradingParams)
    slow_ports: PortPaceParams = field(default_factory=PortPaceParams)
    flaps: FlapParams = field(default_factory=FlapParams)
    widths: WidthParams = field(default_factory=WidthParams)
    port_faults: PortFaultParams = field(default_factory=PortFaultParams)
    travelled: TravelledParams = field(default_factory=TravelledParams)
    congestion: CongestionParams = field(default_factory=CongestionParams)
    storms: StormParams = field(default_factory=StormParams)
    buffers: BufferParams = field(default_factory=BufferParams)
    marks: MarkParams = field(default_factory=MarkParams)
    bus_errors: BusErrorParams = field(default_factory=BusErrorParams)
    unready: UnreadyParams = field(default_factory=UnreadyParams)
    mtus: MtuParams = field(default_factory=MtuParams)
    blind: BlindParams = field(default_factory=BlindParams)
    collectors: CollectorParams = field(default_factory=CollectorParams)
    scales: ScaleParams = field(default_factory=ScaleParams)
    losses: LossParams = field(default_factory=LossParams)
    replicas: ReplicaParams = field(default_factory=ReplicaParams)
    skips: SkipParams = field(default_factory=SkipParams)
    sags: SagParams = field(default_factory=SagParams)
    activity: ActivityParams = field(default_factory=ActivityParams)
    writers: WriterParams = field(default_factory=WriterParams)
    stalls: StallParams = field(default_factory=StallParams)
    shared: SharedParams = field(default_factory=SharedParams)
    pcie: PcieParams = field(default_factory=PcieParams)
    telemetry: TelemetryParams = field(default_factory=TelemetryParams)
    pairs: PairParams = field(default_factory=PairParams)
    paths: PathParams = field(default_factory=PathParams)
    late: LateParams = field(default_factory=LateParams)
    launches: LaunchParams = field(default_factory=LaunchParams)
    lemons: LemonParams = field(default_factory=LemonParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """What the detectors take: the reading's frames, and what is derived from them once."""

    samples: pl.LazyFrame
    events: pl.LazyFrame
    collectives: pl.LazyFrame
    transfers: pl.LazyFrame
    coverage: pl.LazyFrame
    fabric: Fabric
    ops: pl.LazyFrame
    steps: pl.LazyFrame
    clean_steps: pl.LazyFrame
    run_jobs: pl.LazyFrame
    records: Records
    roles: pl.LazyFrame
    paces: pl.LazyFrame
    job_paces: pl.LazyFrame


Detector = Callable[[Views, DetectorParams], pl.DataFrame]

DETECTORS: Final[tuple[tuple[str, Detector], ...]] = (
    ("stragglers", lambda v, p: find_stragglers(v.paces, p.stragglers)),
    ("short reports", lambda v, p: find_short_reports(v.steps, v.roles, p.short_reports)),
    ("reported extremes", lambda v, p: find_reported_extremes(v.events, p.extremes)),
    ("scores", lambda v, p: find_scored_ranks(v.events, p.scores)),
    ("imbalance", lambda v, p: find_imbalance(v.paces, p.imbalance)),
    ("traces", lambda v, p: find_traced_stragglers(v.ops, p.traces)),
    ("uneven work", lambda v, p: find_uneven_work(v.paces, p.uneven)),
    (
        "periodic sags",
        lambda v, p: find_periodic_sags(v.paces, v.job_paces, v.events, p.sags),
    ),
    ("activity sags", lambda v, p: find_activity_sags(v.samples, v.roles, p.activity)),
    (
        "checkpoint writers",
        lambda v, p: find_slow_writers(save_times(v.steps, v.events, v.roles), p.writers),
    ),
    ("data stalls", lambda v, p: find_data_stalls(v.clean_steps, v.roles, p.stalls)),
    ("jobs", lambda v, p: find_slow_jobs(v.job_paces, p.jobs, job_paces(v.steps))),
    ("short jobs", lambda v, p: find_short_slow_jobs(v.job_paces, p.short_jobs)),
    ("between steps", lambda v, p: find_between_steps(v.clean_steps, p.jobs, p.between)),
    ("clocks", lambda v, p: find_skewed_clocks(v.clean_steps, p.clocks)),
    ("devices", lambda v, p: find_slow_devices(v.samples, p.devices)),
    ("device hosts", lambda v, p: find_slow_device_hosts(v.samples, p.devices)),
    (
        "crashes",
        lambda v, p: find_crashes(
            with_timeouts(v.events, v.collectives), v.steps, v.roles, p.crashes
        ),
    ),
    ("network faults", lambda v, p: find_network_faults(v.events, v.roles, p.network)),
    (
        "hangs",
        lambda v, p: find_hangs(
            v.steps, without_launches(v.collectives), v.events, v.roles, p.hangs
        ),
    ),
    ("launches", lambda v, p: find_launch_gaps(v.collectives, v.events, v.roles, p.launches)),
    ("late ranks", lambda v, p: find_late_ranks(v.transfers, p.late)),
    ("slow pairs", lambda v, p: find_slow_pairs(v.transfers, v.roles, p.pairs)),
    ("slow paths", lambda v, p: find_slow_paths(v.transfers, p.paths)),
    ("benchmarks", lambda v, _: find_failed_benchmarks(v.events)),
    ("corruption", lambda v, _: find_corruption(v.transfers, v.events)),
    ("links", lambda v, p: find_link_faults(v.fabric, p.links)),
    ("degrading links", lambda v, p: find_degrading_links(v.fabric, p.degrading)),
    ("slow ports", lambda v, p: find_slow_ports(v.fabric, p.slow_ports)),
    ("flaps", lambda v, p: find_flaps(v.fabric, p.flaps)),
    ("widths", lambda v, p: find_degraded_links(v.fabric, p.widths)),
    ("port faults", lambda v, p: find_port_faults(v.fabric, p.port_faults)),
    ("status faults", lambda v, _: find_status_faults(v.fabric)),
    ("travelled errors", lambda v, p: find_travelled_errors(v.fabric, p.travelled)),
    ("congestion", lambda v, p: find_congestion(v.fabric, p.congestion)),
    ("storms", lambda v, p: find_storms(v.fabric, p.storms)),
    ("buffers", lambda v, p: find_buffer_faults(v.fabric, p.buffers)),
    ("marks", lambda v, p: find_mark_faults(v.fabric, p.marks)),
    ("bus errors", lambda v, p: find_bus_errors(v.fabric, p.bus_errors)),
    ("unready hosts", lambda v, p: find_unready_hosts(v.fabric, p.unready)),
    ("MTUs", lambda v, p: find_mtu_faults(v.fabric, p.mtus)),
    ("blind ports", lambda v, p: find_blind_ports(v.fabric, p.blind)),
    ("collectors", lambda v, p: find_lost_collectors(v.events, v.coverage, p.collectors)),
    ("numerical", lambda v, _: find_numerical(v.steps, v.events)),
    ("losses", lambda v, p: find_loss_anomalies(v.steps, v.events, p.losses)),
    ("replicas", lambda v, p: find_replica_differences(v.steps, v.events, v.roles, p.replicas)),
    ("checksums", lambda v, _: find_checksum_differences(v.events, v.roles)),
    ("result checks", lambda v, _: find_result_checks(v.events, v.roles)),
    ("skipped steps", lambda v, p: find_skipped_steps(v.steps, v.events, p.skips)),
    ("lost progress", lambda v, _: find_lost_progress(v.events, v.steps)),
    ("loss scales", lambda v, p: find_stuck_scales(v.events, p.scales)),
    ("throughput changes", lambda v, _: find_throughput_changes(v.events, v.steps)),
    ("doubtful figures", lambda v, _: find_doubtful_figures(v.events)),
    ("pcie links", lambda v, p: find_degraded_pcie(v.samples, p.pcie)),
    ("telemetry", lambda v, p: find_lost_telemetry(v.samples, v.events, p.telemetry)),
    ("histories", lambda v, _: find_hidden_attempts(v.run_jobs, v.events, v.steps)),
    ("lemons", lambda v, p: find_lemons(v.records, p.lemons)),
)
"""Every detector: adding one is one line here."""

NOTHING_FOLDED: Final[Mapping[str, pl.DataFrame]] = MappingProxyType({})
"""No detector knows anything from before: each looks at the whole reading."""


def views_of(reading: Reading, params: DetectorParams) -> Views:
    """Return what the detectors take, each derived frame computed once."""
    samples, steps = reading.samples.lazy(), reading.steps.lazy()
    told = pl.concat([reading.events.lazy(), job_moments(reading.jobs.lazy())])
    events = with_one_clock(told).collect().lazy()
    roles = rank_roles(reading.placements.lazy(), samples).collect()
    judged = without_planned_pauses(clean_steps(steps, params.cleaning), events)
    clean = judged.collect().lazy()
    paces = pl.concat([rank_paces(clean, roles.lazy()), traced_waits(reading.ops.lazy())])
    return Views(
        samples=samples,
        events=events,
        collectives=reading.collectives.lazy(),
        transfers=reading.transfers.lazy(),
        coverage=reading.coverage.lazy(),
        fabric=fabric_of(samples, events, reading.links.lazy(), params.counters),
        ops=reading.ops.lazy(),
        steps=steps,
        clean_steps=clean,
        run_jobs=reading.jobs.lazy(),
        records=Records.of(reading),
        roles=roles.lazy(),
        paces=paces.collect().lazy(),
        job_paces=job_paces(clean, reading.jobs.lazy()).collect().lazy(),
    )


def find_all(
    reading: Reading,
    params: DetectorParams,
    say: Callable[[str, int, int], None],
    folded: Mapping[str, pl.DataFrame] = NOTHING_FOLDED,
) -> list[Verdict]:
    """Return the findings of all detectors, joined into causes, in reading order.

    Args:
        reading: What was read, with its runs named.
        params: The thresholds.
        say: Told before each detector: its name, how many are done, how many there are.
        folded: `VERDICTS` of detectors that are done already, by name.
    """
    return find_in(views_of(reading, params), reading, params, say, folded)


def find_in(
    views: Views,
    reading: Reading,
    params: DetectorParams,
    say: Callable[[str, int, int], None],
    folded: Mapping[str, pl.DataFrame],
) -> list[Verdict]:
    """Return the findings of all detectors over the views of a reading; see `find_all`.

    Args:
        views: `views_of` the reading.
        reading: What was read.
        params: The thresholds.
        say: Told before each detector.
        folded: `VERDICTS` of detectors that go on from what they knew, by name: these do not look
            at the views.
    """
    ended = replace(params.hangs, data_end=end_of_only_run(reading))
    told = replace(params, hangs=ended)
    found: list[Verdict] = []
    for done, (name, detector) in enumerate(DETECTORS):
        say(name, done, len(DETECTORS))
        found += verdicts_of(folded[name] if name in folded else detector(views, told))
    once = with_shared_waits(without_repeated_pauses(found), params.shared)
    joined = corroborated(once, views.events)
    stalled = told_by_devices(joined, views.samples, views.roles, params.hang_devices)
    placed = told_by_kernels(stalled, views.events, views.roles)
    return attribute(placed, views.roles.collect())
