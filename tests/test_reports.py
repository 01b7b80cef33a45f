"""The report: it shows what people look for first, escapes what it shows, and needs no network."""

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from alerts.blast_radii import BlastRadius
from alerts.incidents import Incident
from collectors.frames import COVERAGE, REJECTS, SAMPLES, conform
from detectors.paces import PACES
from detectors.verdicts import Evidence, Subject, Verdict
from paceline.reports.contents import ReportContents
from paceline.reports.documents import build_report, coverage_rows, reject_rows
from paceline.reports.peer_plot import binned_peers, peer_plots
from paceline.reports.rank_map import rank_cells, rank_map
from paceline.reports.step_plot import binned_steps, step_plot
from paceline.reports.suspect_places import device_rows, rank_rows
from paceline.reports.time_axis import TimeAxis, axis_of, marks_on
from slo.training import STEP_EVENTS

START = datetime(2026, 1, 5, tzinfo=UTC)
RUN = "W-TRAIN"
STEP_SECONDS = 10.0
HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(1)>&\"'"


def at(step: float) -> datetime:
    """Return when a step ends."""
    return START + timedelta(seconds=STEP_SECONDS * step)


def paces(ranks: int, steps: int, *, run: str = RUN, slow: int = 1) -> pl.DataFrame:
    """Return ranks that work for 5 s, and one that takes 7 s from the middle on."""
    step = pl.int_range(1, steps + 1, eager=True).alias("step").to_frame()
    rank = pl.int_range(ranks, eager=True).alias("rank").to_frame()
    is_slow = (pl.col("rank") == slow) & (pl.col("step") > steps // 2)
    return conform(
        rank.join(step, how="cross")
        .lazy()
        .with_columns(
            run=pl.lit(run),
            attempt=0,
            host=pl.format("host-{}", pl.col("rank") // 8),
            index=pl.col("rank") % 8,
            measure=pl.lit("busy"),
            end_time=pl.lit(START) + pl.duration(seconds=pl.col("step") * int(STEP_SECONDS)),
            pace_seconds=pl.when(is_slow).then(7.0).otherwise(5.0),
        ),
        PACES,
    ).collect()


def events(steps: int, *, run: str = RUN) -> pl.DataFrame:
    """Return steps of 10 s that take 12 s from the middle on; the first is warm-up."""
    step = pl.int_range(1, steps + 1, eager=True).alias("step").to_frame().lazy()
    return conform(
        step.with_columns(
            run=pl.lit(run),
            attempt=0,
            interval_steps=1,
            end_time=pl.lit(START) + pl.duration(seconds=pl.col("step") * int(STEP_SECONDS)),
            step_seconds=pl.when(pl.col("step") > steps // 2).then(12.0).otherwise(10.0),
            baseline_seconds=10.0,
            reason=pl.when(pl.col("step") == 1).then(pl.lit("warm_up")),
        ),
        STEP_EVENTS,
    ).collect()


def samples(gpus: int, steps: int, *, signal: str = "sm_clock_hertz") -> pl.DataFrame:
    """Return clocks of 2 GHz, and one that drops to 1.5 GHz in the middle."""
    step = pl.int_range(1, steps + 1, eager=True).alias("step").to_frame()
    gpu = pl.int_range(gpus, eager=True).alias("index").to_frame()
    is_slow = (pl.col("index") == 1) & (pl.col("step") > steps // 2)
    return conform(
        gpu.join(step, how="cross")
        .lazy()
        .with_columns(
            time=pl.lit(START) + pl.duration(seconds=pl.col("step") * int(STEP_SECONDS)),
            host=pl.lit("host-0"),
            device_kind=pl.lit("gpu"),
            device=pl.format("GPU-{}", "index"),
            signal=pl.lit(signal),
            value=pl.when(is_slow).then(1.5e9).otherwise(2.0e9),
        ),
        SAMPLES,
    ).collect()


GPU = Verdict(
    kind="slow",
    level="gpu",
    subject=Subject(run=RUN, host="host-0", gpu=1, device="GPU-1"),
    confidence="high",
    onset=at(40),
    detected=at(44),
    onset_step=41,
    slowdown=1.4,
    cause="thermal",
    peer_count=15,
    evidence=(
        Evidence(source="gpu samples", what="sm_clock_hertz 1.5e+09 where peers have 2e+09"),
    ),
    action="drain the node",
)
HOST = replace(GPU, level="host", subject=Subject(run=RUN, host="host-0"))
SLOW = Verdict(
    kind="group_slow",
    level="job",
    subject=Subject(run=RUN),
    confidence="medium",
    evidence=(Evidence(source="steps", what="step time 12 s"),),
    needed="phase times",
)
INCIDENT = Incident(
    id="c085e86fc3fff907",
    title="W-TRAIN runs slow: gpu 1 on host-0 (thermal)",
    run=RUN,
    severity="page",
    state="open",
    as_of=at(80),
    onset=at(40),
    onset_before_data=False,
    detected=at(44),
    paged_at=at(50),
    cleared=None,
    ttd_seconds=40.0,
    ttp_seconds=100.0,
    ttr_seconds=None,
    suspects=(GPU,),
    context=(SLOW,),
    burns=(),
    blast_radius=BlastRadius(jobs=(RUN,), ranks=16, hosts=2, gpu_hours_lost=0.36),
    needed=None,
)
UNKNOWN = replace(
    INCIDENT, id="0" * 16, title="W-TRAIN runs slow, suspect unknown", suspects=(), needed="traces"
)
WHOLE = ReportContents(
    title="Throttled GPU",
    now=at(80),
    verdicts=(GPU, SLOW),
    incidents=(INCIDENT,),
    events=events(80),
    paces=paces(16, 80),
    samples=samples(16, 80),
    coverage=conform(
        pl.LazyFrame(
            {
                "entity": ["host-0", "host-1"],
                "signal": ["scrape", "scrape"],
                "seen": [9, 10],
                "expected": [10, 10],
                "source": ["a.prom", "b.prom"],
            }
        ),
        COVERAGE,
    ).collect(),
    rejects=conform(
        pl.LazyFrame(
            {"source": ["x.log"], "position": [3], "text": ["???"], "reason": ["no known format"]}
        ),
        REJECTS,
    ).collect(),
    notes=("SIMULATED data.",),
)
AXIS = TimeAxis(start=0.0, end=100.0, has_clock=False)


@pytest.fixture(scope="module")
def whole() -> str:
    """The page of everything."""
    return build_report(WHOLE)


def words(page: str) -> str:
    """Return the text of a page, its drawings' names included, in one line."""
    bare = re.sub(r"<style>.*?</style>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param("W-TRAIN runs slow: gpu 1 on host-0 (thermal)", id="the incident"),
        pytest.param("1 incident: 1 worth a page, 1 still open.", id="the state of things"),
        pytest.param("Time to detect 40s", id="time to detect"),
        pytest.param("sm_clock_hertz 1.5e+09 where peers have 2e+09", id="the evidence"),
        pytest.param("Next: drain the node.", id="the next step"),
        pytest.param("Step time", id="the step plot"),
        pytest.param("healthy pace", id="the baseline"),
        pytest.param("onset", id="the mark of the onset"),
        pytest.param("Rank by time", id="the map of ranks"),
        pytest.param("Data and compute time of gpu 1 on host-0", id="the suspect's work"),
        pytest.param("SM clock of gpu 1 on host-0", id="the suspect's device"),
        pytest.param("peers, 10-90 %", id="the peers"),
        pytest.param("scrape 2 2 19 20 95 %", id="coverage"),
        pytest.param("no known format 1 1 x.log: ???", id="rejects"),
        pytest.param("[PAGE] W-TRAIN runs slow", id="the page as it is sent"),
        pytest.param("SIMULATED data.", id="notes"),
    ],
)
def test_what_a_report_shows(expected: str, whole: str) -> None:
    """A report holds what people look for first."""
    assert expected in words(whole)


def test_nothing_to_load(whole: str) -> None:
    """Nothing in the page points outside it: no script, no link, no address, no frame."""
    loaders = r"https?:|@import|<(?:script|link|iframe|object|embed)\b|\bstyle=[^>]*url"
    loaded = re.findall(r"\b(?:src|href|srcset|data|action)=\"([^\"]{0,15})", whole)

    assert re.findall(loaders, whole) == []
    assert set(loaded) == {"data:image/png;"}


def test_everything_from_data_is_escaped() -> None:
    """Names and texts from data never become markup, in tables, cards and drawings alike."""
    subject = replace(GPU.subject, run=HOSTILE, host=HOSTILE, device=HOSTILE, gpu=None, rank=1)
    seen = Evidence(source=HOSTILE, what=f"sm_clock_hertz {HOSTILE}")
    verdict = replace(
        GPU, subject=subject, evidence=(seen,), cause=HOSTILE, action=HOSTILE, needed=HOSTILE
    )
    hostile = ReportContents(
        title=HOSTILE,
        verdicts=(verdict,),
        incidents=(replace(INCIDENT, title=HOSTILE, run=HOSTILE, suspects=(verdict,)),),
        events=events(80, run=HOSTILE),
        paces=paces(16, 80, run=HOSTILE),
        coverage=WHOLE.coverage.with_columns(signal=pl.lit(HOSTILE)),
        rejects=WHOLE.rejects.with_columns(
            pl.lit(HOSTILE).alias(name) for name in ("source", "text", "reason")
        ),
        notes=(HOSTILE,),
    )
    page = build_report(hostile)

    assert re.findall(r"<script|<img|</title><", page) == []
    assert "alert(1)" in page


def test_shuffled_rows_give_the_same_page(whole: str) -> None:
    """The page does not depend on the order of rows or findings."""
    shuffled = replace(
        WHOLE,
        verdicts=tuple(reversed(WHOLE.verdicts)),
        **{
            name: getattr(WHOLE, name).sample(fraction=1.0, shuffle=True, seed=7)
            for name in ("events", "paces", "samples", "coverage", "rejects")
        },
    )

    assert build_report(shuffled) == whole


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        pytest.param(
            ReportContents(title="Nothing"),
            [
                "Nothing was found that slows a job",
                "Data up to not known",
                "No run reports steps or rank times",
                "No finding.",
                "No source says how much",
                "Every line was read.",
            ],
            id="nothing at all",
        ),
        pytest.param(
            replace(WHOLE, events=STEP_EVENTS.to_frame(), paces=PACES.to_frame()),
            ["No step of this run could be judged", "Fewer than two ranks", "SM clock of gpu 1"],
            id="device telemetry alone",
        ),
        pytest.param(
            replace(WHOLE, paces=PACES.to_frame(), incidents=(UNKNOWN,)),
            ["Fewer than two ranks", "Suspect unknown. What would decide: traces.", "step time 12"],
            id="the job's own steps alone",
        ),
        pytest.param(
            ReportContents(title="Words", incidents=(INCIDENT,)),
            ["Suspect: gpu 1 on host-0", "so there is nothing to draw"],
            id="an incident without data",
        ),
        pytest.param(
            replace(
                WHOLE,
                incidents=(
                    replace(
                        INCIDENT,
                        severity="ticket",
                        state="resolved",
                        cleared=at(70),
                        ttr_seconds=300.0,
                        paged_at=None,
                        onset_before_data=True,
                        blast_radius=BlastRadius(jobs=()),
                    ),
                    replace(UNKNOWN, run=None),
                ),
                verdicts=(
                    replace(GPU, onset=None, cleared_step=99),
                    replace(GPU, onset=None, onset_step=None, onset_before_data=True,
                            cleared=at(70), slowdown=None, cause=None),
                    replace(GPU, onset=None, onset_step=None, evidence=()),
                ),
            ),
            [
                "2 incidents",
                "Onset (before the data)",
                "Time to page no page",
                "Time to resolve 5m 0s",
                "Ranks, hosts ?, ?",
                "step 41 step 99",
                "before the data 2026-01-05 00:11:40",
                "not known not yet",
            ],
            id="what is known in part",
        ),
    ],
)  # fmt: skip
def test_partial_reports(contents: ReportContents, expected: list[str]) -> None:
    """A report of part of the data says what it lacks, and shows the rest."""
    text = words(build_report(contents))

    assert [one for one in expected if one not in text] == []


def test_a_large_run_stays_small() -> None:
    """A page of 256 ranks and ten thousand steps is far below 2 MB."""
    large = replace(WHOLE, events=events(10_000), paces=paces(256, 480), samples=samples(16, 2_000))

    assert len(build_report(large).encode()) < 500_000


def test_many_rows_are_cut_and_counted() -> None:
    """A table ends after its rows, and says how many it leaves out."""
    verdicts = tuple(replace(GPU, subject=replace(GPU.subject, gpu=at)) for at in range(203))
    text = words(build_report(ReportContents(title="Many", verdicts=verdicts)))

    assert "3 more are in the JSON report." in text


def test_three_runs_are_drawn() -> None:
    """The runs of incidents are drawn first, then the largest; the rest are left out."""
    runs = {"a": 4, "b": 8, "c": 16, "d": 2, RUN: 2}
    contents = ReportContents(
        title="Runs",
        incidents=(INCIDENT,),
        paces=pl.concat(paces(ranks, 8, run=run) for run, ranks in runs.items()),
    )
    found = re.findall(r"<h2>Run (.*?)</h2>", build_report(contents))

    assert found == [RUN, "c", "b"]


def test_run_without_a_name() -> None:
    """Steps that name no run are drawn all the same."""
    unnamed = replace(
        WHOLE, incidents=(), events=events(80).with_columns(run=pl.lit(None, pl.String))
    )

    assert "Run without a name" in words(build_report(replace(unnamed, paces=PACES.to_frame())))


def test_steps_in_bins() -> None:
    """Steps that are not judged are left out; a bin tells median, extremes and baseline."""
    rows = conform(
        pl.LazyFrame(
            {
                "step": [10, 11, 60, 61, 62],
                "step_seconds": [10.0, 14.0, 20.0, 22.0, 99.0],
                "baseline_seconds": [10.0] * 5,
                "reason": [None, None, None, None, "pause"],
            }
        ),
        STEP_EVENTS,
    ).collect()

    assert binned_steps(rows, AXIS).rows() == [
        (10.5, 12.0, 10.0, 14.0, 10.0),
        (60.5, 21.0, 20.0, 22.0, 10.0),
    ]


def test_nothing_judged_is_no_drawing() -> None:
    """Without a judged step there is no step plot."""
    assert step_plot(STEP_EVENTS.to_frame(), AXIS, (), prefix="p") is None


PACE_BY_RANK = ((3, 4.0), (5, 4.0), (7, 8.0))


def rank_row(rank: int, step: int, pace: float | None, **rest: Any) -> dict[str, Any]:
    """Return one rank's step."""
    return {"rank": rank, "step": step, "pace_seconds": pace, "measure": "busy"} | rest


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            [rank_row(rank, step, pace) for rank, pace in PACE_BY_RANK for step in (0, 1)],
            [(0, 0, 1.0), (1, 0, 1.0), (2, 0, 2.0)],
            id="a row a rank, whatever its number",
        ),
        pytest.param(
            [rank_row(0, 0, 4.0), rank_row(1, 0, 4.0), rank_row(2, 0, None)],
            [(0, 0, 1.0), (1, 0, 1.0), (2, 0, None)],
            id="a rank without a report has no ratio",
        ),
        pytest.param(
            [rank_row(rank, 0, 4.0 if rank < 2 else 6.0, pp=rank // 2) for rank in range(4)],
            [(0, 0, 1.0), (1, 0, 1.0), (2, 0, 1.0), (3, 0, 1.0)],
            id="a stage with more work is no straggler",
        ),
        pytest.param(
            [rank_row(rank, 0, 2.0 if rank == 2 else 8.0, measure="wait") for rank in range(3)],
            [(0, 0, 1.0), (1, 0, 1.0), (2, 0, 4.0)],
            id="who waits least is slow",
        ),
    ],
)  # fmt: skip
def test_cells(rows: list[dict[str, Any]], expected: list[tuple[int, int, float | None]]) -> None:
    """A cell is the rank's pace over its role's median; no report is null, not healthy."""
    frame = conform(pl.LazyFrame(rows), PACES).collect()

    assert rank_cells(frame, AXIS).rows() == expected


def test_one_rank_is_no_map() -> None:
    """A rank alone has nobody to be compared with."""
    assert rank_map(paces(1, 8), AXIS, (), prefix="p") is None


def test_no_report_is_not_drawn_as_healthy() -> None:
    """A rank that falls silent gets another colour than one that goes on well."""
    calm = paces(4, 40, slow=-1)
    silent = calm.filter((pl.col("rank") != 2) | (pl.col("step") < 20))
    axis = axis_of([(calm, "end_time")], ())
    assert axis is not None

    assert rank_map(silent, axis, (), prefix="p") != rank_map(calm, axis, (), prefix="p")


def test_suspect_elsewhere_has_no_bracket() -> None:
    """A suspect that is no rank of the run is not marked on the map."""
    switch = replace(INCIDENT, suspects=(replace(GPU, subject=Subject(switch="leaf-1")),))
    axis = axis_of([(paces(4, 8), "end_time")], ())
    assert axis is not None

    assert "leaf-1" not in (rank_map(paces(4, 8), axis, (switch,), prefix="p") or "")


def test_peers_in_bins() -> None:
    """The suspect's median stands over the band of its peers; nobody measured is null."""
    rows = pl.DataFrame(
        {
            "time": [None] * 7,
            "step": [10, 10, 10, 10, 60, 61, 200],
            "value": [7.0, 1.0, 2.0, 3.0, 9.0, None, 5.0],
            "own": [True, False, False, False, True, False, False],
        },
        schema={
            "time": pl.Datetime("us", "UTC"),
            "step": pl.Int64,
            "value": pl.Float64,
            "own": pl.Boolean,
        },
    )

    assert binned_peers(rows.head(4), AXIS).rows() == [(7.0, 2.0, 1.2, 2.8, 50.0)]
    assert binned_peers(rows, AXIS)["own"].to_list() == [8.0]


def test_counters_are_drawn_as_rates() -> None:
    """A counter of the suspect's device is drawn by its growth."""
    name = "link_error_total"
    seen = replace(GPU, evidence=(Evidence(source=name, what="grows"),))
    counters = samples(4, 40, signal=name).with_columns(value=pl.col("time").dt.epoch("s") * 2.0)
    axis = axis_of([(counters, "time")], ())
    assert axis is not None
    (plot,) = peer_plots(
        replace(INCIDENT, suspects=(seen, HOST)), PACES.to_frame(), counters, axis, prefix="p"
    )

    assert plot.caption == "Link error of gpu 1 on host-0"
    assert "per s" in plot.svg


def test_a_device_without_peers_is_not_drawn() -> None:
    """A device that alone is measured stands against nobody."""
    alone = WHOLE.samples.filter(pl.col("index") == 1)
    axis = axis_of([(alone, "time")], ())
    assert axis is not None

    assert peer_plots(INCIDENT, PACES.to_frame(), alone, axis, prefix="p") == []


def test_victims_are_no_peers() -> None:
    """Ranks that suffer with the suspect do not widen the band of healthy ones."""
    axis = axis_of([(WHOLE.paces, "end_time")], ())
    assert axis is not None
    hurt = WHOLE.paces.with_columns(
        pace_seconds=pl.when(pl.col("rank").is_in([2, 3])).then(9.0).otherwise("pace_seconds")
    )
    radius = replace(INCIDENT.blast_radius, victims=("rank 2", "rank 3", "the checkpoint"))
    without = WHOLE.paces.filter(~pl.col("rank").is_in([2, 3]))
    plots = [
        peer_plots(replace(INCIDENT, blast_radius=radius), frame, WHOLE.samples, axis, prefix="p")
        for frame in (hurt, without)
    ]

    assert plots[0] == plots[1]


def test_no_suspect_has_no_peers() -> None:
    """Without a suspect there is nobody to hold against peers."""
    assert peer_plots(UNKNOWN, WHOLE.paces, WHOLE.samples, AXIS, prefix="p") == []


def test_devices_without_a_clock_are_not_drawn() -> None:
    """On an axis of steps, samples have no place; the ranks' work has."""
    stepped = paces(4, 20).with_columns(end_time=pl.lit(None, pl.Datetime("us", "UTC")))
    plots = peer_plots(INCIDENT, stepped, WHOLE.samples, AXIS, prefix="p")

    assert [plot.caption for plot in plots] == ["Data and compute time of gpu 1 on host-0"]


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        pytest.param(replace(GPU, subject=Subject(rank=9)), [9], id="a rank"),
        pytest.param(GPU, [1], id="a gpu of a host"),
        pytest.param(HOST, [0, 1, 2, 3, 4, 5, 6, 7], id="a host"),
        pytest.param(replace(GPU, subject=Subject(run=RUN)), [], id="a job"),
    ],
)
def test_ranks_of_a_suspect(verdict: Verdict, expected: list[int]) -> None:
    """A suspect stands for its own ranks."""
    assert paces(16, 1).filter(rank_rows(verdict))["rank"].to_list() == expected


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        pytest.param(Subject(host="host-0", device="GPU-2"), ["GPU-2"], id="a device of a host"),
        pytest.param(Subject(device="GPU-2"), ["GPU-2"], id="a device by its id alone"),
        pytest.param(Subject(host="host-0", gpu=3), ["GPU-3"], id="a gpu by its number"),
        pytest.param(Subject(host="host-9", gpu=3), [], id="a gpu of another host"),
        pytest.param(Subject(host="host-0"), [], id="a host is no device"),
    ],
)
def test_devices_of_a_suspect(subject: Subject, expected: list[str]) -> None:
    """A suspect stands for its own device."""
    assert samples(4, 1).filter(device_rows(subject))["device"].to_list() == expected


DAY = timedelta(days=3)


@pytest.mark.parametrize(
    ("frame", "incidents", "expected"),
    [
        pytest.param(paces(2, 9), (), (10_000.0, 90_000.0, True), id="times"),
        pytest.param(
            paces(2, 9), (INCIDENT,), (10_000.0, 500_000.0, True), id="a page after the last step"
        ),
        pytest.param(
            paces(2, 9).with_columns(end_time=pl.lit(None, pl.Datetime("us", "UTC"))),
            (),
            (1.0, 9.0, False),
            id="steps where there is no clock",
        ),
        pytest.param(paces(2, 1), (), (10_000.0, 10_001.0, True), id="a single moment"),
        pytest.param(PACES.to_frame(), (), None, id="nothing"),
        pytest.param(SAMPLES.to_frame().rename({"time": "end_time"}), (), None, id="no samples"),
    ],
)
def test_axis(
    frame: pl.DataFrame,
    incidents: tuple[Incident, ...],
    expected: tuple[float, float, bool] | None,
) -> None:
    """The axis spans data and incidents in time, or in steps where nothing has a clock."""
    axis = axis_of([(frame, "end_time")], incidents)

    epoch = START.timestamp() * 1000 if axis and axis.has_clock else 0.0
    found = axis and (axis.start - epoch, axis.end - epoch, axis.has_clock)
    assert found == expected


def test_long_axis_names_days() -> None:
    """Beyond a day the axis names the day beside the hour."""
    start = START.timestamp() * 1000
    long = TimeAxis(start=start, end=start + DAY.total_seconds() * 1000, has_clock=True)

    told = cast("dict[str, Any]", long.encoding().to_dict())
    assert told["axis"]["format"] == "%d %b %H:%M"


def test_marks_on_steps() -> None:
    """On an axis of steps only onset and end of a finding are marked."""
    cleared = replace(INCIDENT, suspects=(replace(GPU, cleared_step=99),))

    assert len(marks_on(AXIS, (cleared,))) == 4
    assert marks_on(AXIS, (replace(UNKNOWN, context=()),)) == []


def test_coverage_by_signal() -> None:
    """Coverage adds up by signal; nothing expected has no share."""
    rows: dict[str, list[Any]] = {
        "signal": ["b", "a", "a"],
        "entity": ["x", "x", "y"],
        "source": ["s", "s", "s"],
        "seen": [0, 1, 2],
        "expected": [0, 4, 2],
    }
    frame = conform(pl.LazyFrame(rows), COVERAGE).collect()

    assert coverage_rows(frame).rows() == [("b", 1, 1, 0, 0, None), ("a", 1, 2, 3, 6, 0.5)]


def test_rejects_by_reason() -> None:
    """Rejects are counted by reason, the most frequent first, each with its first line."""
    rows = {
        "source": ["b", "a", "a"],
        "position": [1, 9, 2],
        "text": ["z", "y", "x"],
        "reason": ["torn", "torn", "blank"],
    }
    frame = conform(pl.LazyFrame(rows), REJECTS).collect()

    assert reject_rows(frame).rows() == [("torn", 2, 2, "a: y"), ("blank", 1, 1, "a: x")]


@contextmanager
def every_host() -> Iterator[tuple[int, list[str]]]:
    """Run a server that stands for the whole network, and note what is asked of it."""
    asked: list[str] = []

    class Note(BaseHTTPRequestHandler):
        """Answers nothing and notes the path."""

        def do_GET(self) -> None:
            """Note a request."""
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Note) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield int(server.server_address[1]), asked
        finally:
            server.shutdown()
            thread.join()


def browse(chromium: str, page: Path, port: int) -> str:
    """Return the page as a browser understood it, with every host name leading to one port."""
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-features=NetworkTimeServiceQuerying",
        f"--user-data-dir={page.parent / 'profile'}",
        f"--host-resolver-rules=MAP * 127.0.0.1:{port}",
        "--dump-dom",
        page.as_uri(),
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def test_chromium_shows_the_suspect_without_network(
    chromium: str, whole: str, tmp_path: Path
) -> None:
    """A browser shows the suspect and its drawings, and asks no host for anything."""
    page = tmp_path / "report.html"
    page.write_text(whole, encoding="utf-8")
    with every_host() as (port, asked):
        shown = browse(chromium, page, port)

    assert "gpu 1 on host-0" in words(shown)
    assert shown.count("<svg") == 4
    assert asked == []


def test_a_page_that_asks_would_be_seen(chromium: str, tmp_path: Path) -> None:
    """The server that stands for the network notes what another page loads."""
    page = tmp_path / "other.html"
    page.write_text('<img src="http://elsewhere.example/x.png">', encoding="utf-8")
    with every_host() as (port, asked):
        browse(chromium, page, port)

    assert asked == ["/x.png"]
