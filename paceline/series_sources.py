"""Where `paceline slo report` and `backtest` take series from: logs, a store, files, a Prometheus.

Logs and stores hold steps; their counters are those that `/metrics` would have shown, made as
`paceline analyze` makes them. A file of series, or a Prometheus, has counters already.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

import polars as pl

from collectors.metrics.prometheus import PrometheusServer, fetch_answer
from collectors.metrics.prometheus_answers import Answer
from collectors.metrics.series import Series
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from collectors.storage.store import is_store
from paceline.burning import CLUSTER
from paceline.progress import Say
from paceline.sources import find_files, read_sources
from paceline.stored_sources import StoredSpan, read_store
from slo.counters import counter_series, step_counters
from slo.histories import FrameHistory, SeriesHistory, frame_history
from slo.metrics import SLOW_STEPS_TOTAL, STEPS_TOTAL
from slo.objectives import RESERVED_LABELS, Objective
from slo.training import STEP_COLUMNS, JudgeParams, judge_steps

MAX_FINE_SPAN: Final = timedelta(days=3)
FINE_SECONDS: Final = 15
COARSE_SECONDS: Final = 60
"""Between two scrapes of counters that are made from steps: fine over at most `MAX_FINE_SPAN`."""

_LOGS_TELL: Final = (STEPS_TOTAL.name, SLOW_STEPS_TOTAL.name)
_QUERY_SPAN: Final = timedelta(hours=6)


class NoSeriesError(ValueError):
    """A source has nothing that an objective counts."""


class SeriesSource(Protocol):
    """A place that series come from."""

    @property
    def name(self) -> str:
        """What people gave."""
        ...

    def history(self, objective: Objective) -> SeriesHistory:
        """Return the series that an objective counts.

        Raises:
            NoSeriesError: There are none.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsSource:
    """Logs or a store: counters are made of their steps.

    Attributes:
        name: What people gave.
        reading: What was read.
    """

    name: str
    reading: Reading

    def events(self, objective: Objective) -> pl.DataFrame:
        """Return `STEP_EVENTS`: the steps, judged by the objective's own ratio if it has one."""
        ratio = objective.slow_step_ratio
        params = JudgeParams() if ratio is None else JudgeParams(min_slow_ratio=ratio)
        steps = self.reading.steps.lazy().select(STEP_COLUMNS.names())
        return judge_steps(steps, params).collect()

    def history(self, objective: Objective) -> FrameHistory:
        """Return the step counters as scrapes would have read them.

        Raises:
            NoSeriesError: The objective counts something else, or no step could be judged.
        """
        wanted = _metrics(objective)
        missing = [name for name in wanted if name not in _LOGS_TELL]
        if missing:
            raise NoSeriesError(
                f"objective {objective.name!r} counts {', '.join(missing)}; logs and stores tell "
                f"{', '.join(_LOGS_TELL)} only: give --from a Prometheus or a file of series"
            )
        events = self.events(objective)
        times = _scrapes(events)
        counters = step_counters(events.lazy(), times, cluster=CLUSTER)
        series = counter_series(counters).collect()
        if series.is_empty():
            raise NoSeriesError(self._why_none(events))
        return FrameHistory(series.lazy())

    def _why_none(self, events: pl.DataFrame) -> str:
        """Return why there is no counter, and the way out."""
        if self.reading.steps.is_empty():
            return f"{self.name}: no training step there; give the logs of a trainer, or a store"
        reasons = events.group_by("reason").len().sort("len", "reason", descending=[True, False])
        first = reasons["reason"].drop_nulls().head(1).to_list()
        why = f", most for {first[0]}" if first else ""
        return (
            f"{self.name}: {events.height} steps, and none could be judged{why}; an objective "
            "needs steps with times, beyond the first 20 of each attempt and its first 5 minutes"
        )


def _metrics(objective: Objective) -> list[str]:
    """Return the names of the metrics that an objective counts."""
    selectors = (objective.total, objective.bad, objective.good)
    return [one.metric for one in selectors if one is not None]


def _scrapes(events: pl.DataFrame) -> pl.Series:
    """Return scrape times on whole multiples of their distance, over the steps."""
    ends = events["end_time"].drop_nulls().dt.epoch("us")
    if ends.is_empty():
        return events["end_time"].clear()
    first, last = int(str(ends.min())), int(str(ends.max()))
    is_fine = last - first <= MAX_FINE_SPAN / timedelta(microseconds=1)
    step = 1_000_000 * (FINE_SECONDS if is_fine else COARSE_SECONDS)
    at = pl.int_range(first // step * step, last + step, step, eager=True)
    return at.cast(events.schema["end_time"]).alias("time")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """A file of series, read stretch by stretch.

    Attributes:
        name: What people gave.
        frame: `metric`, labels, `time`, `value`.
    """

    name: str
    frame: pl.LazyFrame

    def history(self, objective: Objective) -> FrameHistory:
        """Return the series of the objective's metrics.

        Raises:
            NoSeriesError: The file has no such metric.
            SeriesColumnsError: It is no file of series.
        """
        whole = frame_history(self.frame)
        wanted = _metrics(objective)
        known = whole.metrics()
        if objective.total.metric not in known:
            raise NoSeriesError(
                f"{self.name}: objective {objective.name!r} counts {objective.total.metric}, "
                f"found {', '.join(known[:9]) or 'no series'}; give the file that has it"
            )
        return FrameHistory(whole.frame.filter(pl.col("metric").is_in(wanted)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusHistory:
    """Series of a Prometheus, fetched as they are asked for.

    Attributes:
        server: Where.
        selectors: What, in PromQL.
        ends: First and last moment.
    """

    server: PrometheusServer
    selectors: Sequence[str]
    ends: tuple[datetime, datetime]

    def span(self) -> tuple[datetime, datetime]:
        """Return the first and the last moment that was asked for."""
        return self.ends

    def read(self, start: datetime, end: datetime) -> pl.DataFrame:
        """Return the samples in `[start, end)`.

        Raises:
            UnreachablePrometheusError: No answer.
            RefusedQueryError: The server refused the query.
        """
        whole = Answer()
        for selector in self.selectors:
            part = fetch_answer(self.server, selector, start, end)
            whole.absorb(part, start.timestamp())
        return wide_series(whole.series())


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusSource:
    """A Prometheus.

    Attributes:
        name: What people gave.
        ends: First and last moment to ask for.
        headers: Sent with each request.
    """

    name: str
    ends: tuple[datetime, datetime]
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def history(self, objective: Objective) -> PrometheusHistory:
        """Return the series that an objective counts."""
        server = PrometheusServer(url=self.name, headers=self.headers, chunk=_QUERY_SPAN)
        selectors = [one.text for one in (objective.total, objective.bad, objective.good) if one]
        return PrometheusHistory(server=server, selectors=selectors, ends=self.ends)


def wide_series(series: Series) -> pl.DataFrame:
    """Return series with a column a label.

    Returns:
        `metric`, labels (null: absent), `time` and `value`. A label whose name a frame of series
        needs itself is left out.
    """
    labels = (
        series.identities.select("series", "labels")
        .explode("labels", empty_as_null=False)
        .unnest("labels")
        .filter(~pl.col("key").is_in(list(RESERVED_LABELS - {"objective"})))
    )
    named = series.identities.select("series", metric="name")
    if labels.height:
        wide = labels.pivot("key", index="series", values="value", sort_columns=True)
        named = named.join(wide, on="series", how="left")
    return named.join(series.points.select("series", "time", "value"), on="series").drop("series")


def open_source(
    place: str, options: ReadOptions, ends: tuple[datetime, datetime], say: Say
) -> SeriesSource:
    """Return the source that a word of the command line means.

    Args:
        place: An address of a Prometheus, a store, a file of series (.parquet, .csv), or logs.
        options: What logs cannot say of themselves.
        ends: First and last moment to ask a Prometheus for.
        say: Told after each file that is read.

    Raises:
        NoSuchPathError: There is no such file or folder.
        NoSeriesError: A file of series is empty or torn.
        UnreadableStoreError: A newer Paceline wrote the store, or files of it are torn or gone.
    """
    if place.startswith(("http://", "https://")):
        return PrometheusSource(name=place, ends=ends)
    path = Path(place)
    if is_store(path):
        return StepsSource(name=place, reading=read_store(path, StoredSpan()))
    table = _series_table(path)
    if table is not None:
        return FileSource(name=place, frame=table)
    return StepsSource(name=place, reading=read_sources(find_files([path]), options, say))


def _series_table(path: Path) -> pl.LazyFrame | None:
    """Return a file of series, not read yet; null when it is something else."""
    if not path.is_file() or path.suffix not in {".parquet", ".csv"}:
        return None
    is_parquet = path.suffix == ".parquet"
    table = pl.scan_parquet(path) if is_parquet else pl.scan_csv(path, try_parse_dates=False)
    try:
        schema = table.collect_schema()
    except pl.exceptions.PolarsError as error:
        raise NoSeriesError(
            f"{path} cannot be read as {path.suffix[1:]}: {error}; give a whole file of series"
        ) from error
    if not {"metric", "time", "value"} <= set(schema):
        return None
    if is_parquet:
        return table
    # Labels are text as written: of numbers the first rows would make other ones, or none at all.
    time = pl.Float64 if schema["time"].is_numeric() else pl.String
    kinds = dict.fromkeys(schema, pl.String) | {"time": time, "value": pl.Float64}
    return pl.scan_csv(path, schema_overrides=kinds)
