"""Rules that run in a real Prometheus: what they record and which alerts they raise, step by step.

A thread exports counters, the server scrapes them each second, and an outage is planted. Afterwards
our evaluator gets the samples that the server has, and has to come to the same.
PACELINE_LIVE_SECONDS makes it last longer.
"""

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

import polars as pl
import pytest
import requests

from collectors.frames import TIME
from slo.alert_states import burn_alerts
from slo.burns import burn_rates
from slo.growth import BurnParams, Mode
from slo.metrics import SLOW_STEPS_TOTAL, STEPS_TOTAL
from slo.rules import BUDGET_INTERVAL, PAGE_INTERVAL, TICKET_INTERVAL, burn_rules
from slo.specs import load_ready
from slo.windows import BurnWindow, Severity, duration

SECONDS = float(os.environ.get("PACELINE_LIVE_SECONDS", "45"))
OUTAGE = (0.3 * SECONDS, 0.6 * SECONDS)
STEPS_A_SECOND = 40
RACE = timedelta(milliseconds=150)
PARITY = BurnParams(mode=Mode.PARITY, scrape_seconds=1.0)


def pair(severity: Severity, long: int, short: int, factor: str, keep: int) -> BurnWindow:
    """A pair whose windows are seconds."""
    return BurnWindow(
        severity=severity,
        long_seconds=long,
        short_seconds=short,
        factor=Decimal(factor),
        budget_ratio=Decimal("0.1"),
        for_seconds=2,
        keep_firing_seconds=keep,
    )


WINDOWS = (
    pair("page", 12, 4, "20", 0),
    pair("page", 18, 6, "10", 3),
    pair("ticket", 30, 9, "2", 0),
)
OBJECTIVE = replace(load_ready(), period_seconds=60, windows=WINDOWS)
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yml]
scrape_configs:
- job_name: trainer
  static_configs: [{{targets: ["{target}"]}}]
"""


class Server(Protocol):
    """What a server of the fixture offers."""

    @property
    def url(self) -> str:
        """Where it answers."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the server has of one selector, as a frame: labels, `time` and `value`."""

    frame: pl.DataFrame

    def where(self, **labels: str) -> pl.DataFrame:
        """Return the rows with these labels."""
        return self.frame.filter(pl.col(name) == value for name, value in labels.items())


def exposition(elapsed: float) -> str:
    """What the trainer's counters say some seconds after the start; run `hurt` has an outage."""
    steps = int(STEPS_A_SECOND * elapsed)
    slow = int(STEPS_A_SECOND / 2 * (min(max(elapsed, OUTAGE[0]), OUTAGE[1]) - OUTAGE[0]))
    lines: list[str] = []
    for name, values in ((STEPS_TOTAL.name, (steps, steps)), (SLOW_STEPS_TOTAL.name, (slow, 0))):
        lines.append(f"# TYPE {name} counter")
        for run, value in zip(("hurt", "well"), values, strict=True):
            lines.append(f'{name}{{cluster="c",run="{run}"}} {value}')
    return "\n".join([*lines, ""])


@contextmanager
def trainer() -> Generator[str]:
    """A trainer that is scraped; yields its address."""
    start = time.monotonic()

    class Handler(BaseHTTPRequestHandler):
        """Answers every scrape."""

        def do_GET(self) -> None:
            """Write the counters of this moment."""
            body = exposition(time.monotonic() - start).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Say nothing."""
            del code, size

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def raw(url: str, selector: str) -> Answers:
    """Every sample that the server has of a selector."""
    reply = requests.get(
        f"{url}/api/v1/query", params={"query": f"{selector}[1h]"}, timeout=30
    ).json()
    assert reply["status"] == "success", reply
    rows: list[dict[str, Any]] = [
        {**result["metric"], "ms": round(stamp * 1000), "value": float(value)}
        for result in reply["data"]["result"]
        for stamp, value in result["values"]
    ]
    stamp = pl.from_epoch("ms", time_unit="ms").dt.replace_time_zone("UTC").cast(TIME)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return Answers(frame=frame.with_columns(time=stamp).drop("ms").rename({"__name__": "metric"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a live server scraped, recorded and raised."""

    scraped: Answers
    recorded: Answers
    alerts: Answers
    since: Answers


@pytest.fixture(scope="module")
def run(live_prometheus: Callable[[dict[str, str]], AbstractContextManager[Server]]) -> Run:
    """The rules after an outage came and went under them."""
    rules = burn_rules(OBJECTIVE)
    for interval in (PAGE_INTERVAL, TICKET_INTERVAL, BUDGET_INTERVAL):
        rules = rules.replace(f"interval: {interval}\n", "interval: 1s\n")
    with trainer() as target:
        files = {"prometheus.yml": CONFIG.format(target=target), "rules.yml": rules}
        with live_prometheus(files) as server:
            time.sleep(SECONDS)
            return Run(
                scraped=raw(server.url, '{__name__=~"paceline_training.*"}'),
                recorded=raw(server.url, '{__name__=~"paceline_slo:(bad|total).*"}'),
                alerts=raw(server.url, "ALERTS"),
                since=raw(server.url, "ALERTS_FOR_STATE"),
            )


def series(run: Run) -> pl.DataFrame:
    """What was scraped, as our evaluator takes it."""
    return run.scraped.frame.select("metric", "cluster", "run", "time", "value")


def times_of(run: Run, window: BurnWindow) -> pl.Series:
    """When the group of a pair was evaluated."""
    record = f"paceline_slo:total:increase{duration(window.long_seconds)}"
    return run.recorded.where(metric=record)["time"].unique().sort()


def burns_at(run: Run, window: BurnWindow) -> pl.DataFrame:
    """Our burn rates of a pair at each evaluation; `late` is without the newest scrape.

    A scrape that began just before an evaluation may not have been stored by then.
    """
    objective = replace(OBJECTIVE, windows=(window,))
    samples, times = series(run), times_of(run, window)
    stamps = samples["time"].unique()
    whole = burn_rates(samples, objective, times, PARITY).with_columns(late=False)
    races = [now for now in times if ((stamps <= now) & (stamps > now - RACE)).any()]
    late = [
        burn_rates(
            samples.filter(pl.col("time") <= now - RACE),
            objective,
            pl.Series([now], dtype=TIME),
            PARITY,
        ).with_columns(late=True)
        for now in races
    ]
    return pl.concat([whole, *late])


def recorded_at(run: Run, window: BurnWindow) -> pl.DataFrame:
    """What was recorded of a pair's windows, one row an evaluation and run."""
    lengths = {"long": window.long_seconds, "short": window.short_seconds}
    columns = [
        run.recorded.where(metric=f"paceline_slo:{events}:increase{duration(seconds)}").select(
            "run", "time", pl.col("value").alias(f"{name}_{events}_recorded")
        )
        for name, seconds in lengths.items()
        for events in ("bad", "total")
    ]
    first, *rest = columns
    for other in rest:
        first = first.join(other, on=["run", "time"])
    return first


def agreeing(run: Run, window: BurnWindow) -> pl.DataFrame:
    """Our burn rates of a pair that equal what was recorded, one row an evaluation and run."""
    names = [f"{w}_{events}" for w in ("long", "short") for events in ("bad", "total")]
    same = [
        (pl.col(name) - pl.col(f"{name}_recorded")).abs() <= 1e-9 * pl.col(name).abs()
        for name in names
    ]
    joined = burns_at(run, window).join(recorded_at(run, window), on=["run", "time"])
    return joined.filter(*same).sort("run", "time", "late").unique(["run", "time"], keep="first")


@pytest.mark.parametrize("window", WINDOWS, ids=[window.name for window in WINDOWS])
def test_recorded(run: Run, window: BurnWindow) -> None:
    """At each evaluation, bad and total events of both windows are those of our evaluator."""
    recorded = recorded_at(run, window).filter(
        pl.col("long_total_recorded") > 0, pl.col("short_total_recorded") > 0
    )

    assert recorded.height > SECONDS
    assert agreeing(run, window).height == recorded.height


@pytest.mark.parametrize("window", WINDOWS, ids=[window.name for window in WINDOWS])
def test_alert_states(run: Run, window: BurnWindow) -> None:
    """At each evaluation, an alert is pending, firing or not there as our evaluator has it."""
    objective, times = replace(OBJECTIVE, windows=(window,)), times_of(run, window)
    burns = agreeing(run, window)
    (firing,) = burn_alerts(burns, objective, times).filter(run="hurt").iter_rows(named=True)
    held = set(burns.filter("fires", run="hurt")["time"])
    end = firing["resolved_at"]
    expected = {
        now: "firing" if firing["fired_at"] <= now else "pending"
        for now in times
        if (now in held or firing["fired_at"] <= now) and now < end
    }
    labels = {"alertname": "TrainingStepsBudgetBurn", "long": duration(window.long_seconds)}
    found = run.alerts.where(**labels)
    since = run.since.where(**labels)["value"].unique().to_list()

    assert dict(zip(found["time"], found["alertstate"], strict=True)) == expected
    assert since == [float(int(firing["active_at"].timestamp()))]
    assert found["run"].unique().to_list() == ["hurt"]


def test_one_page(run: Run) -> None:
    """One page fires exactly while any of its pairs does, and nothing is said about the data."""
    firing = run.alerts.where(alertstate="firing")
    pairs = firing.filter(pl.col("tier") == "page")["time"].unique().sort().to_list()
    page = firing.filter(pl.col("alertname") == "TrainingStepsPage").sort("time")

    assert page["time"].to_list() == pairs
    assert page.select("cluster", "run", "severity", "long").unique().rows() == [
        ("c", "hurt", "page", None)
    ]
    assert set(firing["severity"]) == {"info", "page", "ticket"}
    assert page["time"].to_list()[-1] < run.recorded.frame["time"].sort().to_list()[-1]
