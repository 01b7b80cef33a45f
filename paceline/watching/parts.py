"""Make the parts of a watch from its settings; everything that can be refused is refused here."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from alerts.intake.enrichment import hear_firings
from collectors.metrics.prometheus import PrometheusServer, selector
from collectors.sniffing import ReadOptions
from collectors.storage.pull_windows import Source
from detectors.devices import DeviceParams
from paceline.setting_parts import SettingsError, secret_of
from paceline.settings import LogsSettings, PrometheusSettings, Settings
from paceline.watching.burn_watch import BurnWatch, NotWatchedError, refuse_others
from paceline.watching.commits import Committer
from paceline.watching.device_folds import DeviceFolds
from paceline.watching.fences import Fences
from paceline.watching.file_source import FileSource
from paceline.watching.judging import Judge, JudgeSettings
from paceline.watching.memory import Memory, MemoryParams
from paceline.watching.prometheus_source import PrometheusWatch, SeriesParams
from paceline.watching.roster import Roster
from paceline.watching.sharing import Share
from paceline.watching.source_ages import SourceAges
from paceline.watching.sources import WatchedSource
from paceline.watching.totals import Totals
from paceline.watching.vanishing import Vanishing
from paceline.watching.watch import Watch
from slo.growth import BurnParams
from slo.objectives import Objective
from slo.specs import load_library, load_objectives, load_ready


def sources_of(settings: Settings, environ: Mapping[str, str]) -> list[WatchedSource]:
    """Return the sources of the settings, files first.

    Raises:
        SettingsError: A zone, a label or a secret cannot be used.
    """
    files = [_files(one) for one in settings.logs]
    servers = [_server(one, settings, environ) for one in settings.prometheus]
    return [*files, *servers]


def objectives_of(settings: Settings) -> list[Objective]:
    """Return the objectives of the settings; without any, the one that comes with Paceline.

    Raises:
        SettingsError: One cannot be read, or counts what the watch does not make.
    """
    paths = [Path(one) for one in settings.watch.objectives]
    try:
        objectives = load_objectives(*paths) if paths else [load_ready()]
        refuse_others(objectives)
    except (OSError, NotWatchedError, ValueError) as error:
        raise SettingsError(f"watch.objectives: {' '.join(str(error).split())}") from error
    return objectives


def watch_of(
    settings: Settings,
    sources: Sequence[WatchedSource],
    objectives: Sequence[Objective],
    committer: Committer,
    started: datetime,
) -> Watch:
    """Return a watch that begins anew.

    Args:
        settings: The settings.
        sources: What is watched.
        objectives: What is promised.
        committer: Where results go.
        started: When it begins.
    """
    judge = _judge(settings, objectives, committer)
    vanishing = Vanishing(window=settings.watch.window)
    return Watch(
        sources=sources,
        memory=Memory.begin(Path(settings.state), memory_params(settings)),
        judge=judge,
        ages=SourceAges(max_ages={one.name: one.max_age for one in sources}, started=started),
        totals=Totals(),
        committer=committer,
        patience=settings.watch.patience,
        cluster=settings.cluster,
        vanishing=vanishing,
        share=_share(settings, judge, committer, vanishing) if settings.watch.sharing else None,
    )


def _judge(settings: Settings, objectives: Sequence[Objective], committer: Committer) -> Judge:
    known = {one.name: one for one in (*load_library(), *objectives)}
    return Judge(
        settings=JudgeSettings(),
        burns=BurnWatch(
            objectives=objectives,
            params=BurnParams(),
            cluster=settings.cluster,
            every=settings.watch.tick if settings.watch.sharing else None,
        ),
        folds=DeviceFolds(params=DeviceParams()),
        heard=partial(hear_firings, committer.store.engine, known),
    )


def _share(settings: Settings, judge: Judge, committer: Committer, vanishing: Vanishing) -> Share:
    name, every = committer.lease.holder, settings.watch.tick
    return Share(
        store=committer.store,
        judge=judge,
        roster=Roster(name=name, every=every),
        fences=Fences(name=name, every=every),
        vanishing=vanishing,
    )


def memory_params(settings: Settings) -> MemoryParams:
    """Return for how long things are held."""
    return MemoryParams(window=settings.watch.window)


def _files(settings: LogsSettings) -> FileSource:
    try:
        ZoneInfo(settings.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise SettingsError(
            f"logs {settings.name!r}: no time zone {settings.time_zone!r}; give an IANA name such "
            "as Europe/Berlin"
        ) from None
    options = ReadOptions(time_zone=settings.time_zone, year=settings.year, host=settings.host)
    return FileSource(
        name=settings.name, patterns=settings.paths, options=options, max_age=settings.max_age
    )


def _server(
    settings: PrometheusSettings, whole: Settings, environ: Mapping[str, str]
) -> PrometheusWatch:
    try:
        selector(settings.match)
    except ValueError as error:
        raise SettingsError(f"prometheus {settings.name!r}: match: {error}") from error
    headers = dict[str, str]()
    if settings.token is not None:
        token = secret_of(settings.token, environ).get_secret_value()
        headers["Authorization"] = f"Bearer {token}"
    # The next tick is the next try: retries within one would only make it late.
    server = PrometheusServer(
        url=settings.url,
        headers=headers,
        timeout_seconds=settings.timeout.total_seconds(),
        max_retries=0,
    )
    return PrometheusWatch(
        name=settings.name,
        source=Source(server=server, matchers=settings.match),
        max_age=settings.max_age,
        params=SeriesParams(late=settings.late, first=whole.watch.window),
    )
