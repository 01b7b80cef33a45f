"""The suspect against its peers: one line over the band that most peers keep to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import altair as alt
import polars as pl

from alerts.incidents import Incident
from alerts.titles import subject_text
from detectors.cleaning import CleaningParams, counter_rates
from detectors.verdicts import Verdict
from paceline.reports.drawing import ALARM, CALM, Drawing, side_label
from paceline.reports.suspect_places import device_rows, rank_rows
from paceline.reports.time_axis import MAX_BINS, TimeAxis, marks_on

_HEIGHT_PIXELS: Final = 130
_MAX_SIGNALS: Final = 2
_BAND: Final = (0.1, 0.9)
_RANK: Final = re.compile(r"rank (\d+)")

_UNITS: Final = (
    ("_hertz", 1e-9, "GHz"),
    ("_celsius", 1.0, "C"),
    ("_watts", 1.0, "W"),
    ("_ratio", 100.0, "%"),
    ("_bytes", 1e-9, "GB"),
    ("_seconds", 1.0, "s"),
    ("_total", 1.0, "per s"),
)
"""Ending of a signal's name, and factor and unit for people."""

_SHORT: Final = frozenset({"sm", "gpu", "cpu", "nic", "hbm", "ber", "fec", "ecc", "pcie", "crc"})
"""Words of signals' names that are short for others."""

_PACE_WORDS: Final = {
    "busy": "Data and compute time",
    "not_waiting": "Step time without communication",
    "wait": "Time in communication",
    "step": "Step time",
}
"""What the measures of `PACES` are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerPlot:
    """One drawing.

    Attributes:
        caption: What is drawn.
        svg: The drawing.
    """

    caption: str
    svg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measure:
    """What is compared: rows of `time`, `step`, `value` and `own`."""

    words: str
    unit: str
    rows: pl.DataFrame


def peer_plots(
    incident: Incident,
    paces: pl.DataFrame,
    samples: pl.DataFrame,
    axis: TimeAxis,
    *,
    prefix: str,
) -> list[PeerPlot]:
    """Return the drawings of an incident's first suspect as SVG, each with its caption.

    Args:
        incident: As `peer_drawings` takes it.
        paces: `PACES` of the run.
        samples: `SAMPLES`.
        axis: The run's axis.
        prefix: Unique in the page.
    """
    return [
        PeerPlot(caption=caption, svg=drawn.svg(f"{prefix}-{number}"))
        for number, caption, drawn in peer_drawings(incident, paces, samples, axis)
    ]


def peer_drawings(
    incident: Incident, paces: pl.DataFrame, samples: pl.DataFrame, axis: TimeAxis
) -> list[tuple[int, str, Drawing]]:
    """Return the drawings of an incident's first suspect: its ranks' work, then its device.

    Args:
        incident: The incident; without a suspect there is nothing to draw. Its other suspects and
            its victims are nobody's peers.
        paces: `PACES` of the run.
        samples: `SAMPLES`.
        axis: The run's axis.

    Returns:
        Number of the measure, caption and drawing.
        At most three drawings; none where neither the suspect nor a peer was measured.
    """
    if not incident.suspects:
        return []
    suspect = incident.suspects[0]
    healthy = paces.filter(rank_rows(suspect) | ~_is_sick(incident))
    measures = [*_pace_measure(suspect, healthy), *_device_measures(suspect, samples, axis)]
    plots: list[tuple[int, str, Drawing]] = []
    for number, measure in enumerate(measures):
        rows = binned_peers(measure.rows, axis)
        if rows["own"].count() and rows["middle"].count():
            caption = f"{measure.words} of {subject_text(suspect)}"
            plots.append((number, caption, _draw(rows, measure.unit, incident, axis)))
    return plots


def binned_peers(rows: pl.DataFrame, axis: TimeAxis) -> pl.DataFrame:
    """Return suspect and peers in at most `MAX_BINS` bins.

    Args:
        rows: `time`, `step`, `value` and whether it is the suspect's `own`; a null value is not
            known.
        axis: The run's axis.

    Returns:
        `x`, `own` (median of the suspect), `middle`, `low` and `high` (median, 10 % and 90 % of the
        peers), by position; null where nobody was measured.
    """
    known = rows.with_columns(x=axis.column("time")).filter(
        pl.col("x").is_between(axis.start, axis.end), pl.col("value").is_finite()
    )
    own = known.filter("own")
    bins = min(MAX_BINS, max(1, own["x"].n_unique() // 2))
    value = pl.col("value")
    mine, theirs = value.filter(pl.col("own")), value.filter(~pl.col("own"))
    return (
        known.group_by(bin=axis.bin_of(pl.col("x"), bins))
        .agg(
            mine.median().alias("own"),
            theirs.median().alias("middle"),
            theirs.quantile(_BAND[0], "linear").alias("low"),
            theirs.quantile(_BAND[1], "linear").alias("high"),
        )
        .sort("bin")
        .with_columns(x=axis.middle(pl.col("bin"), bins))
        .drop("bin")
    )


def _is_sick(incident: Incident) -> pl.Expr:
    """Return which rows of a `PACES` are about suspects or victims."""
    numbers = [_RANK.fullmatch(name) for name in incident.blast_radius.victims]
    victims = [int(number[1]) for number in numbers if number]
    suspects = [rank_rows(one) for one in incident.suspects]
    return pl.any_horizontal(pl.col("rank").is_in(victims).fill_null(value=False), *suspects)


def _pace_measure(suspect: Verdict, paces: pl.DataFrame) -> list[_Measure]:
    """Return the work of the suspect's ranks and of the ranks that play the same part."""
    marked = paces.with_columns(own=rank_rows(suspect))
    roles = marked.filter("own").select("pp", "ep", "model").unique()
    peers = marked.join(roles, on=["pp", "ep", "model"], how="semi", nulls_equal=True)
    rows = peers.select("step", "own", time="end_time", value="pace_seconds")
    measure = peers["measure"].drop_nulls().min()
    return [_Measure(words=_PACE_WORDS[str(measure)], unit="s", rows=rows)] if measure else []


def _device_measures(suspect: Verdict, samples: pl.DataFrame, axis: TimeAxis) -> list[_Measure]:
    """Return the signals of the suspect's device that its evidence speaks of."""
    if not axis.has_clock:
        return []
    own = samples.filter(device_rows(suspect.subject))
    seen = " ".join(f"{one.source} {one.what}" for one in suspect.evidence)
    present: list[str] = own["signal"].drop_nulls().unique().sort().to_list()
    named = sorted((seen.find(name), name) for name in present if name in seen)
    alike = ["device_kind", "run", "model"]
    peers = samples.join(own.select(alike).unique(), on=alike, how="semi", nulls_equal=True)
    return [_device_measure(suspect, peers, name) for _, name in named[:_MAX_SIGNALS]]


def _device_measure(suspect: Verdict, samples: pl.DataFrame, signal: str) -> _Measure:
    rows = samples.filter(pl.col("signal") == signal)
    value = pl.col("value")
    if signal.endswith("_total"):
        rows = counter_rates(rows.lazy(), CleaningParams()).collect()
        value = pl.col("rate")
    ending, factor, unit = next(
        (known for known in _UNITS if signal.endswith(known[0])), ("", 1.0, "")
    )
    return _Measure(
        words=_spoken(signal.removesuffix(ending)),
        unit=unit,
        rows=rows.select(
            "time",
            own=device_rows(suspect.subject),
            value=value * factor,
            step=pl.lit(None, dtype=pl.Int64),
        ),
    )


def _spoken(name: str) -> str:
    """Return a signal's name as a caption begins."""
    words = [word.upper() if word in _SHORT else word for word in name.split("_")]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


def _draw(rows: pl.DataFrame, unit: str, incident: Incident, axis: TimeAxis) -> Drawing:
    base = alt.Chart({"values": rows.to_dicts()})
    x = axis.encoding()
    y = alt.Y("low:Q", scale=alt.Scale(zero=False), title=unit or None)
    band = base.mark_area(color=CALM, opacity=0.25).encode(x=x, y=y, y2="high:Q")
    middle = base.mark_line(color=CALM, strokeWidth=1.5).encode(x=x, y=alt.Y("middle:Q"))
    own = base.mark_line(color=ALARM, strokeWidth=2.5).encode(x=x, y=alt.Y("own:Q"))
    layers = (band, middle, own, *_names(rows, incident), *marks_on(axis, [incident]))
    return Drawing(layers=layers, height=_HEIGHT_PIXELS)


def _names(rows: pl.DataFrame, incident: Incident) -> Sequence[alt.Chart]:
    """Return the names of both lines beside the plot, the higher one above."""
    own = rows["own"].drop_nulls()
    middle = rows["middle"].drop_nulls()
    is_above = float(str(own.mean())) >= float(str(middle.mean()))
    suspect_y, peers_y = (30, 60) if is_above else (60, 30)
    name = subject_text(incident.suspects[0])
    return [
        side_label(name, ALARM).encode(y=alt.value(suspect_y)),
        side_label("peers, 10-90 %", CALM).encode(y=alt.value(peers_y)),
    ]
