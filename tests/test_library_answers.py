"""Tests of what is asked of an incident: the same as the commands say, and shown in a notebook."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import altair as alt
import polars as pl
import pytest
import vl_convert

from alerts.incidents import Incident
from collectors.readings import Reading, reading_of
from detectors.verdicts import VERDICTS, verdicts_of
from paceline import (
    Evidence,
    explain,
    incidents,
    plot_ranks,
    plot_suspect,
    plot_timeline,
    postmortem,
    simulated,
    verdicts,
)
from paceline.choices import UnknownIncidentError
from paceline.explanation_output import explanation_text
from paceline.library.charts import NothingToDrawError, color
from paceline.library.incidents import INCIDENT_ROWS, UnknownVerdictError
from paceline.reports.postmortem_text import postmortem_markdown
from paceline.reports.postmortems import postmortem_of
from paceline.simulation.orion import OrionParams

SMALL = OrionParams(nodes=4, minutes=20, onset_minutes=8, fault_minutes=8)
PLOTS = [pytest.param(plot, id=plot.__name__) for plot in (plot_timeline, plot_ranks)]


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    """What the sources of a small cluster with a throttled GPU wrote, opened."""
    return simulated("INC-2291", seed=3, params=SMALL)


@pytest.fixture(scope="module")
def nothing() -> Evidence:
    """Evidence of a host that says nothing wrong."""
    events = pl.DataFrame({"host": ["n1"], "kind": ["boot"], "source": ["kern.log"]})
    return Evidence(name="logs", reading=reading_of(events=events))


def colours_of(chart: alt.TopLevelMixin) -> set[str]:
    """What of a chart's text still wants a style sheet."""
    return {part for part in str(chart.to_dict()).split("'") if "var(--" in part}


def test_incidents(evidence: Evidence) -> None:
    """Incidents are those of the analysis, in their order, as objects and as a frame."""
    found = incidents(evidence)
    plain = [{item.name: getattr(one, item.name) for item in fields(Incident)} for one in found]

    assert (
        [Incident(**one) for one in plain],
        found.frame.schema,
        found.frame.select("id", "culprit", "cause").rows(),
    ) == (
        evidence.analysis.incidents,
        INCIDENT_ROWS,
        [(one.id, "gpu 1 (rank 9) on hx8-002", "thermal") for one in evidence.analysis.incidents],
    )


def test_places(evidence: Evidence) -> None:
    """An incident is found by its place, by its name, or among some."""
    found = incidents(evidence)
    first = found[0]

    assert (
        found.named(first.id[:5]),
        found.named("gravest"),
        list(found[:1]),
        found[1:].items,
    ) == (
        first,
        first,
        [first],
        (),
    )


def test_verdicts(evidence: Evidence) -> None:
    """Verdicts are those of the analysis, numbered as `explain` counts, with whom they name."""
    frame = verdicts(evidence)

    assert (
        verdicts_of(frame.select(VERDICTS.names())),
        frame["number"].to_list(),
        frame["who"][0],
    ) == (
        evidence.analysis.verdicts,
        list(range(1, frame.height + 1)),
        "gpu 1 (rank 9) on hx8-002",
    )


def test_explanation(evidence: Evidence) -> None:
    """An explanation says what the command says, and its thresholds as a frame."""
    why = explain(evidence, 1)
    text = explanation_text(why, 1, len(evidence.analysis.verdicts))
    ends = [margin.gone_at for one in why.findings for margin in one.margins]

    assert (f"{why!r}".replace("\n", "").replace(" ", ""), why.thresholds["gone_at"].to_list()) == (
        text.replace("\n", "").replace(" ", ""),
        ends,
    )


def test_postmortem(evidence: Evidence) -> None:
    """A postmortem is the command's document, of an incident or of its name."""
    chosen = incidents(evidence)[0]
    documents = {postmortem(evidence, one).markdown for one in (chosen, chosen.id, "gravest")}
    (first,) = evidence.analysis.incidents

    assert documents == {postmortem_markdown(postmortem_of(evidence.analysis, first))}


def test_simulated(evidence: Evidence) -> None:
    """The simulated cluster is called by its incident, and says that it is SIMULATED."""
    assert (evidence.name, evidence.notes[0].split(".")[0], evidence.runs) == (
        "ORION-256: INC-2291",
        "SIMULATED: ORION-256, scenario throttled-gpu, seed 3",
        ["W-TRAIN"],
    )


def test_worked_out_once(evidence: Evidence) -> None:
    """The same evidence is analysed once, however much is asked of it."""
    before = evidence.analysis
    incidents(evidence)
    verdicts(evidence)

    assert evidence.analysis is before


def test_cards(evidence: Evidence, golden: Callable[[str, str], None]) -> None:
    """An incident shows headline, culprit, evidence and cost, in a notebook and on a terminal."""
    found = incidents(evidence)
    shown = [f"{found!r}", f"{found[0]!r}", found[0]._repr_html_(), ""]

    golden("library_incident.txt", "\n\n".join(shown))


def test_lists_show(evidence: Evidence) -> None:
    """One incident shows as itself; of several, or of none, there is a list too."""
    found = incidents(evidence)
    many = type(found)(items=(*found.items, *found.items))

    assert (
        found._repr_html_() == found[0]._repr_html_(),
        "2 incidents" in many._repr_html_(),
        "not a proof of health" in found[1:]._repr_html_(),
    ) == (True, True, True)


def test_postmortem_shows(evidence: Evidence) -> None:
    """A postmortem shows as the document that it is."""
    document = postmortem(evidence)

    assert (
        document._repr_markdown_(),
        f"{document!r}",
        document._repr_html_().startswith("<h1>Postmortem: W-TRAIN runs slow"),
    ) == (document.markdown, document.markdown, True)


@pytest.mark.parametrize("plot", PLOTS)
def test_plots(evidence: Evidence, plot: Callable[..., alt.TopLevelMixin]) -> None:
    """A plot is a chart of Altair that draws without a style sheet of ours."""
    chart = plot(evidence)
    drawn: str = vl_convert.vegalite_to_svg(chart.to_dict())

    assert (colours_of(chart), drawn.startswith("<svg"), color("var(--alarm)") in drawn) == (
        set(),
        True,
        True,
    )


def test_peers(evidence: Evidence) -> None:
    """The suspect is drawn a panel a measure: its ranks' work, then what its evidence speaks of."""
    chart = plot_suspect(evidence).to_dict()
    drawn: str = vl_convert.vegalite_to_svg(chart)

    assert ([panel["title"]["text"] for panel in chart["vconcat"]], "var(--" in drawn) == (
        [
            "Data and compute time of gpu 1 (rank 9) on hx8-002",
            "SM clock of gpu 1 (rank 9) on hx8-002",
            "GPU temperature of gpu 1 (rank 9) on hx8-002",
        ],
        False,
    )


@pytest.mark.parametrize(
    ("dropped", "plot", "message"),
    [
        pytest.param(
            {"steps"}, plot_timeline, "no judged step of W-TRAIN; step logs", id="no step"
        ),
        pytest.param({"steps"}, plot_ranks, "fewer than two ranks of W-TRAIN report", id="no rank"),
        pytest.param(
            {"steps", "samples"},
            plot_suspect,
            "nothing of W-TRAIN has a time or a step; give logs",
            id="no clock",
        ),
    ],
)
def test_nothing_to_draw(
    evidence: Evidence, dropped: set[str], plot: Callable[..., Any], message: str
) -> None:
    """What cannot be drawn is refused with the input that would show it."""
    told = {
        item.name: getattr(evidence.reading, item.name)
        for item in fields(Reading)
        if item.name not in dropped
    }
    less = Evidence(name="logs", reading=Reading(**told))

    with pytest.raises(NothingToDrawError, match=message):
        plot(less, incidents(evidence)[0])


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        pytest.param(
            lambda evidence: explain(evidence, 99),
            UnknownVerdictError,
            r"no verdict 99; there are:\n  1  slow",
            id="a number that is too high",
        ),
        pytest.param(
            lambda evidence: explain(evidence, 0),
            UnknownVerdictError,
            r"no verdict 0; there are:\n  1  slow",
            id="numbers begin at 1",
        ),
        pytest.param(
            lambda evidence: postmortem(evidence, "zzz"),
            UnknownIncidentError,
            r"no incident 'zzz'; known: \w+ \(W-TRAIN runs slow",
            id="no such incident",
        ),
        pytest.param(
            lambda evidence: plot_timeline(evidence, "zzz"),
            UnknownIncidentError,
            r"no incident 'zzz'; known: \w+ \(W-TRAIN runs slow",
            id="no such incident to draw",
        ),
    ],
)
def test_unknown(
    evidence: Evidence, ask: Callable[[Evidence], object], error: type[Exception], message: str
) -> None:
    """What does not exist is refused with what does."""
    with pytest.raises(error, match=message):
        ask(evidence)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        pytest.param(
            explain,
            UnknownVerdictError,
            "no verdict 1: nothing was found in logs; look at what was read",
            id="nothing to explain",
        ),
        pytest.param(postmortem, UnknownIncidentError, "no incident there", id="nothing to tell"),
        pytest.param(plot_suspect, UnknownIncidentError, "no incident there", id="nothing to draw"),
    ],
)
def test_nothing(
    nothing: Evidence, ask: Callable[[Evidence], object], error: type[Exception], message: str
) -> None:
    """Where nothing was found, nothing can be explained, and that is said."""
    with pytest.raises(error, match=message):
        ask(nothing)


def test_empty(nothing: Evidence) -> None:
    """Without a finding there are frames without rows, and a word that this is no proof."""
    found = incidents(nothing)

    assert (
        verdicts(nothing).shape,
        found.frame.shape,
        len(found),
        "not a proof" in f"{found!r}",
    ) == (
        (0, len(VERDICTS) + 2),
        (0, len(INCIDENT_ROWS)),
        0,
        True,
    )
