"""Plots of budgets and fleets for notebooks: burn rates, lemons, goodput; charts of Altair."""

from datetime import timedelta
from pathlib import Path
from typing import Final

import altair as alt
import polars as pl

from collectors.frames import TIME
from paceline.budget_output import group_name
from paceline.goodput_output import NAMELESS, worst_first
from paceline.library.budgets import source_of, the_objective
from paceline.library.charts import NothingToDrawError, color, looked
from paceline.library.evidence import Evidence
from paceline.library.fleet import goodput, lemons
from paceline.reports.drawing import ALARM, CALM, MUTED, WIDTH_PIXELS
from slo.burns import burn_rates
from slo.growth import BurnParams
from slo.objectives import Objective
from slo.parts import PARTS
from slo.policy_replays import NoHistoryError
from slo.windows import BurnWindow, duration

MAX_BARS: Final = 12
"""Runs or nodes of a plot; the frames hold all."""
BURN_POINTS: Final = 240
"""Evaluations along a plot of burn rates."""

_BURN_PIXELS: Final = 90
_BAR_PIXELS: Final = 30
_NAMES: Final = alt.Axis(minExtent=0, maxExtent=260, labelLimit=250)
_FLAT: Final = alt.Axis(minExtent=0)
_CLOCK: Final = alt.Axis(format="%d %b %H:%M", grid=False, tickCount=8, minExtent=0)


def plot_burn(
    evidence: Evidence, objective: Objective | str | Path | None = None
) -> alt.VConcatChart:
    """Return how fast a budget burnt: a panel a pair of windows, with the rate that it fires at.

    Drawn is the lower of the rates of both windows, for both must exceed the limit.

    Args:
        evidence: What was opened; of a Prometheus its own series are counted, else steps.
        objective: What is promised, or a file of it; null is the ready objective for steps.

    Raises:
        NoSeriesError: Nothing there is counted by the objective.
        NoHistoryError: There is no sample of it.
        NothingToDrawError: No window has an event.
    """
    wanted = the_objective(objective)
    rates = _burns(evidence, wanted)
    if rates.is_empty():
        raise NothingToDrawError(f"no window of {wanted.name} has an event; give more steps")
    panels = [_burn_panel(rates, window) for window in wanted.windows]
    stack: alt.VConcatChart = alt.vconcat(*panels, title=wanted.title, spacing=6)
    return looked(stack)


def plot_lemons(evidence: Evidence) -> alt.LayerChart:
    """Return how often the worst nodes fail, in multiples of their pool, with the 90 % interval.

    Args:
        evidence: What was opened; best of a whole fleet.

    Raises:
        NoJobsError: Nothing tells of any job.
        NothingToDrawError: The history is too short to judge anybody.
    """
    review = lemons(evidence)
    if review.ranking.is_empty():
        raise NothingToDrawError(
            f"jobs span {review.span_days:.1f} days; {review.params.min_span_days:.0f} are needed "
            "to tell a lemon from bad luck: open weeks of accounts"
        )
    rows = review.ranking.head(MAX_BARS).select(
        "is_lemon", "ratio", "ratio_low", "ratio_high", "failures", "days", who=_who()
    )
    base = alt.Chart({"values": rows.to_dicts()})
    y = alt.Y("who:N", sort=None, title=None, axis=_NAMES)
    x = alt.X("ratio:Q", title="failures, as a multiple of the pool's rate", axis=_FLAT)
    shade = alt.when("datum.is_lemon").then(alt.value(color(ALARM)))
    told = ["who:N", "ratio:Q", "ratio_low:Q", "ratio_high:Q", "failures:Q", "days:Q"]
    paint = shade.otherwise(alt.value(color(CALM)))
    span = base.mark_rule(strokeWidth=2).encode(
        x="ratio_low:Q", x2="ratio_high:Q", y=y, color=paint
    )
    dots = base.mark_point(filled=True, size=70).encode(x=x, y=y, color=paint, tooltip=told)
    one = alt.Chart({"values": [{"x": 1.0}]}).mark_rule(color=color(MUTED), strokeDash=[6, 3])
    title = "Nodes by how often they fail"
    layers = [one.encode(x="x:Q"), span, dots]
    return looked(alt.LayerChart(layer=layers, width=WIDTH_PIXELS, title=title))


def plot_goodput(evidence: Evidence) -> alt.Chart:
    """Return where the time of runs went: a bar a run, of parts that sum to its wall.

    Args:
        evidence: What was opened.

    Raises:
        NoJobsError: No moment of any run is known.
    """
    runs = worst_first(goodput(evidence).runs).head(MAX_BARS)
    rows = [
        {"run": row["run"] or NAMELESS, "part": part, "hours": seconds / 3600.0, "order": at}
        for row in runs.iter_rows(named=True)
        for at, part in enumerate(PARTS)
        if (seconds := row[f"{part}_seconds"])
    ]
    parts = [part for part in PARTS if any(row["part"] == part for row in rows)]
    shades = alt.Scale(domain=parts, range=[color(f"var(--part-{part})") for part in parts])
    chart: alt.Chart = (
        alt.Chart({"values": rows}, title="Where the time of runs went")
        .mark_bar()
        .encode(
            x=alt.X("hours:Q", title="hours of wall time", axis=_FLAT),
            y=alt.Y("run:N", sort=None, title=None, axis=_NAMES),
            color=alt.Color("part:N", scale=shades, sort=parts, title=None),
            order=alt.Order("order:Q"),
            tooltip=["run:N", "part:N", alt.Tooltip("hours:Q", format=".2f")],
        )
        .properties(width=WIDTH_PIXELS, height=alt.Step(_BAR_PIXELS))
    )
    return looked(chart)


def _burns(evidence: Evidence, objective: Objective) -> pl.DataFrame:
    """Return the lower burn rate of each pair over the evidence's time, by group."""
    history = source_of(evidence, objective).history(objective)
    span = history.span()
    if span is None:
        raise NoHistoryError(f"objective {objective.name!r}: {evidence.name} has no sample of it")
    begin = span[0] if evidence.pulled is None else evidence.pulled.start
    reach = timedelta(seconds=max(objective.period_seconds, *objective.window_seconds))
    series = history.read(begin - reach, span[1] + timedelta(milliseconds=1))
    if series.is_empty():
        raise NoHistoryError(f"objective {objective.name!r}: {evidence.name} has no sample of it")
    every = max(timedelta(seconds=1), (span[1] - begin) / BURN_POINTS)
    times = pl.datetime_range(begin, span[1], every, eager=True).cast(TIME).alias("time")
    rates = burn_rates(series, objective, times, BurnParams())
    known = rates.drop_nulls(["long_burn_rate", "short_burn_rate"])
    groups = [group_name(row, objective.group_labels) for row in known.iter_rows(named=True)]
    return known.select(
        "severity",
        "long_seconds",
        "short_seconds",
        pl.Series("group", groups, dtype=pl.String),
        time=pl.col("time").dt.epoch("ms"),
        rate=pl.min_horizontal("long_burn_rate", "short_burn_rate"),
    )


def _burn_panel(rates: pl.DataFrame, window: BurnWindow) -> alt.LayerChart:
    """Return one pair's panel: a line a group, and the limit."""
    same = [
        pl.col(name) == getattr(window, name)
        for name in ("severity", "long_seconds", "short_seconds")
    ]
    rows = rates.filter(*same).select("time", "rate", "group").to_dicts()
    domain = rates.select(start=pl.col("time").min(), end=pl.col("time").max()).row(0)
    x = alt.X("time:T", scale=alt.Scale(type="utc", domain=list(domain)), title=None, axis=_CLOCK)
    y = alt.Y("rate:Q", title="burn rate")
    line = alt.Chart({"values": rows}).mark_line(color=color(CALM), strokeWidth=2)
    limit = alt.Chart({"values": [{"rate": float(window.factor)}]}).mark_rule(
        color=color(ALARM), strokeDash=[6, 3]
    )
    pair = f"{duration(window.long_seconds)} and {duration(window.short_seconds)}"
    told = ["group:N", "rate:Q"]
    layers = [line.encode(x=x, y=y, detail="group:N", tooltip=told), limit.encode(y=y)]
    title = f"{window.severity}, {pair}: fires above {window.factor:.3g}"
    return alt.LayerChart(layer=layers, width=WIDTH_PIXELS, height=_BURN_PIXELS, title=title)


def _who() -> pl.Expr:
    """Return whom a row of a ranking is about."""
    part = pl.format("{} on {}", "part", "host")
    return pl.when(pl.col("part").is_null()).then(pl.col("host")).otherwise(part)
