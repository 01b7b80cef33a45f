"""OpenSLO documents: what is read, and what is refused by name."""

from collections.abc import Callable
from decimal import Decimal

import pytest
import yaml

from slo.annotations import AnnotationError
from slo.calendars import Calendar
from slo.documents import DocumentError
from slo.objectives import Counting, GroupLabelError, Method, SampleBound, TargetError
from slo.periods import PeriodError
from slo.queries import QueryError
from slo.schemes import SchemeError
from slo.slices import Slices
from slo.specs import parse_objectives
from slo.windows import PeriodTooShortError

SERVICE = "apiVersion: openslo/v1\nkind: Service\nmetadata: {name: s}\nspec: {}\n"
Change = Callable[[dict[str, dict[str, object]]], object]


def metric(query: str) -> dict[str, object]:
    """A counter of a document."""
    return {"metricSource": {"type": "Prometheus", "spec": {"query": query}}}


def ratio(**parts: str) -> dict[str, object]:
    """An indicator over counters."""
    metrics = {name: metric(query) for name, query in parts.items()}
    return {"ratioMetric": {"counter": True, **metrics}}


def document(change: Change = lambda _: None) -> str:
    """A document that works, changed."""
    whole: dict[str, dict[str, object]] = {
        "metadata": {"name": "calm", "annotations": {}},
        "spec": {
            "service": "s",
            "indicator": {"spec": ratio(bad="bad_total", total="all_total")},
            "timeWindow": [{"duration": "30d", "isRolling": True}],
            "budgetingMethod": "Occurrences",
            "objectives": [{"targetPercent": 99.9}],
        },
    }
    change(whole)
    return yaml.safe_dump({"apiVersion": "openslo/v1", "kind": "SLO", **whole})


def annotate(**notes: str) -> str:
    """A document with annotations of ours."""
    ours = {f"paceline/{name.replace('_', '-')}": text for name, text in notes.items()}
    return document(lambda d: d["metadata"].update(annotations=ours))


def target(**parts: object) -> str:
    """A document with another target."""
    return document(lambda d: d["spec"].update(objectives=[parts]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(target(targetPercent=99.9), "99.9", id="percent"),
        pytest.param(target(target=0.999), "99.9", id="a ratio becomes percent without noise"),
        pytest.param(target(target=0.9), "90", id="a round ratio has no exponent"),
        pytest.param(target(targetPercent="99.99990"), "99.99990", id="text is kept as written"),
    ],
)
def test_target(text: str, expected: str) -> None:
    """A target is decimal text, as exact as it was written."""
    (found,) = parse_objectives(text, source="x.yml")

    assert str(found.target_percent) == expected


def test_annotations() -> None:
    """What OpenSLO has no field for comes from annotations of ours."""
    (found,) = parse_objectives(
        annotate(
            group_labels="cluster, run",
            slow_step_ratio="1.25",
            windows="by-share",
            runbook_url="https://example.org/r",
            dashboard_url="https://example.org/d",
        ),
        source="x.yml",
    )

    assert (
        found.group_labels,
        found.slow_step_ratio,
        found.windows[0].factor,
        found.runbook_url,
        found.dashboard_url,
    ) == (
        ("cluster", "run"),
        1.25,
        Decimal("14.4"),
        "https://example.org/r",
        "https://example.org/d",
    )


def test_windows_by_period() -> None:
    """Windows may be fixed shares of the period."""
    (found,) = parse_objectives(annotate(windows="by-period"), source="x.yml")

    assert found.windows[0].factor == 14


def test_annotations_of_others() -> None:
    """Annotations of other tools are left alone."""
    text = document(lambda d: d["metadata"].update(annotations={"other/tool": "x"}))

    assert [found.name for found in parse_objectives(text, source="x.yml")] == ["calm"]


def test_several_documents() -> None:
    """Each SLO of a text is an objective; an SLI is found by its name; a Service is passed over."""
    referring = document(
        lambda d: (
            d["metadata"].update(name="fast"),
            d["spec"].pop("indicator"),
            d["spec"].update(indicatorRef="shared"),
        )
    )
    shared = yaml.safe_dump(
        {
            "apiVersion": "openslo/v1",
            "kind": "SLI",
            "metadata": {"name": "shared"},
            "spec": ratio(good='good_total{a="b"}', total="all_total"),
        }
    )
    text = f"{document()}---\n{referring}---\n{shared}---\n{SERVICE}---\n"

    found = parse_objectives(text, source="x.yml")

    assert [(o.name, o.bad and o.bad.text, o.good and o.good.text) for o in found] == [
        ("calm", "bad_total", None),
        ("fast", None, 'good_total{a="b"}'),
    ]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        pytest.param("a: [", DocumentError, "wanted YAML", id="no YAML"),
        pytest.param("", DocumentError, "at least one objective", id="nothing"),
        pytest.param("- a", DocumentError, "found 'list'", id="a list"),
        pytest.param("kind: Pod", DocumentError, "found None of kind 'Pod'", id="another kind"),
        pytest.param(
            document().replace("openslo/v1", "openslo/v2"),
            DocumentError,
            "found 'openslo/v2' of kind 'SLO'",
            id="another version",
        ),
        pytest.param(
            document(lambda d: d["spec"].update(colour="red")),
            DocumentError,
            "spec.colour: Extra inputs are not permitted, found 'red'",
            id="an unknown field",
        ),
        pytest.param(
            document(lambda d: d["spec"].pop("service")),
            DocumentError,
            "spec.service: Field required",
            id="a missing field",
        ),
        pytest.param(
            document(lambda d: d["spec"].update(alertPolicies=["mine"])),
            DocumentError,
            "no document of kind AlertPolicy named 'mine'",
            id="an alert policy that is nowhere",
        ),
        pytest.param(
            document(lambda d: d["spec"].update(budgetingMethod="Timeslices")),
            DocumentError,
            "wanted timeSliceTarget with Timeslices",
            id="slices without a target",
        ),
        pytest.param(
            document(lambda d: d["metadata"].update(name="No Name")),
            DocumentError,
            "metadata.name",
            id="a name that is none",
        ),
        pytest.param(
            document() + "---\n" + document(),
            DocumentError,
            "document 2: wanted a name of its own, found 'calm' again",
            id="the same name twice",
        ),
        pytest.param(
            document(lambda d: d["spec"].update(indicator={"spec": ratio(total="t")})),
            DocumentError,
            "either good or bad events",
            id="neither good nor bad events",
        ),
        pytest.param(
            document(
                lambda d: d["spec"].update(indicator={"spec": ratio(good="g", bad="b", total="t")})
            ),
            DocumentError,
            "either good or bad events",
            id="good and bad events",
        ),
        pytest.param(
            document(lambda d: (d["spec"].pop("indicator"), d["spec"].update(indicatorRef="x"))),
            DocumentError,
            "no document of kind SLI named 'x'; known: ",
            id="an indicator that is nowhere",
        ),
        pytest.param(
            target(target=0.9, targetPercent=90), DocumentError, "either target", id="two targets"
        ),
        pytest.param(
            target(target=99.9),
            DocumentError,
            "if that is in percent, write targetPercent: 99.9",
            id="percent where a ratio is wanted",
        ),
        pytest.param(target(displayName="x"), DocumentError, "either target", id="no target"),
        pytest.param(target(targetPercent=100), TargetError, "found 100", id="no budget"),
        pytest.param(target(target=1), TargetError, "found 100", id="no budget, as a ratio"),
        pytest.param(target(targetPercent=0), TargetError, "found 0", id="nothing promised"),
        pytest.param(
            target(targetPercent="many"), DocumentError, "valid decimal, found 'many'", id="words"
        ),
        pytest.param(
            document(
                lambda d: d["spec"].update(
                    timeWindow=[{"duration": "1M", "isRolling": False}],
                )
            ),
            PeriodError,
            "found '1M' with isRolling: false",
            id="a calendar month",
        ),
        pytest.param(
            document(
                lambda d: d["spec"].update(
                    indicator={"spec": ratio(bad="rate(bad_total[5m])", total="all_total")}
                )
            ),
            QueryError,
            "the same function and window in both queries",
            id="a rate over a counter",
        ),
        pytest.param(
            annotate(color="x"),
            AnnotationError,
            "unknown annotation .'paceline/color'.; known",
            id="a misspelt annotation",
        ),
        pytest.param(annotate(windows="mine"), SchemeError, "found 'mine'", id="a scheme"),
        pytest.param(annotate(slow_step_ratio="1"), AnnotationError, "found '1'", id="ratio 1"),
        pytest.param(annotate(slow_step_ratio="x"), AnnotationError, "found 'x'", id="no ratio"),
        pytest.param(annotate(group_labels="long"), GroupLabelError, "'long'", id="our own label"),
        pytest.param(
            document(
                lambda d: (
                    d["metadata"].update(annotations={"paceline/windows": "by-period"}),
                    d["spec"].update(timeWindow=[{"duration": "24h", "isRolling": True}]),
                )
            ),
            PeriodTooShortError,
            "at least 5.6 d",
            id="case 15: one day with windows by period",
        ),
    ],
)
def test_refused(text: str, error: type[Exception], message: str) -> None:
    """A document that cannot be done justice is refused: wanted, found, and the way out."""
    with pytest.raises(error, match=message):
        parse_objectives(text, source="x.yml")


def test_several_targets() -> None:
    """Several targets of a document are several objectives, told apart by name or by number."""
    targets = [
        {"displayName": "Internal goal", "target": 0.995},
        {"op": "gt", "targetPercent": 99},
    ]
    text = document(lambda d: d["spec"].update(objectives=targets))

    found = parse_objectives(text, source="x.yml")

    assert [(o.name, o.title, str(o.target_percent)) for o in found] == [
        ("calm-internal-goal", "calm: Internal goal", "99.5"),
        ("calm-99", "calm: 99 %", "99"),
    ]


def sliced(method: str, **parts: object) -> str:
    """A document by a method of slices."""
    return document(
        lambda d: d["spec"].update(
            budgetingMethod=method, objectives=[{"targetPercent": 95, **parts}]
        )
    )


@pytest.mark.parametrize(
    ("text", "method", "slices"),
    [
        pytest.param(
            sliced("Timeslices", timeSliceTarget=0.95, timeSliceWindow="1m"),
            Method.TIMESLICES,
            Slices(seconds=60, target_ratio=Decimal("0.95")),
            id="judged slices",
        ),
        pytest.param(
            sliced("Timeslices", timeSliceTarget=1, timeSliceWindow=5),
            Method.TIMESLICES,
            Slices(seconds=300, target_ratio=Decimal(1)),
            id="a plain number is minutes",
        ),
        pytest.param(
            sliced("Timeslices", timeSliceTarget=1, timeSliceWindow="10"),
            Method.TIMESLICES,
            Slices(seconds=600, target_ratio=Decimal(1)),
            id="so is one in quotes",
        ),
        pytest.param(
            sliced("RatioTimeslices", timeSliceWindow="1h"),
            Method.RATIO_TIMESLICES,
            Slices(seconds=3600),
            id="slices that are averaged",
        ),
    ],
)
def test_slices(text: str, method: Method, slices: Slices) -> None:
    """A period is cut as the document says."""
    (found,) = parse_objectives(text, source="x.yml")

    assert (found.method, found.slices) == (method, slices)


def window(**parts: object) -> str:
    """A document with another time window."""
    return document(lambda d: d["spec"].update(timeWindow=parts))


def test_calendar() -> None:
    """A calendar window is a period of the calendar in its zone; isRolling may be left out."""
    calendar = {"startTime": "2026-01-01 00:00:00", "timeZone": "Europe/Berlin"}
    (found,) = parse_objectives(window(duration="1M", calendar=calendar), source="x.yml")

    assert (found.calendar, found.period_seconds) == (
        Calendar(unit="month", zone="Europe/Berlin"),
        30 * 86400,
    )


def test_rolling_without_saying_so() -> None:
    """Without a calendar a window is a rolling one, and one mapping stands for a list of it."""
    (found,) = parse_objectives(window(duration="4w"), source="x.yml")

    assert (found.calendar, found.period_seconds) == (None, 28 * 86400)


def threshold(query: str, note: str | None = None, **parts: object) -> str:
    """A document about a threshold."""

    def change(whole: dict[str, dict[str, object]]) -> None:
        whole["spec"]["indicator"] = {"spec": {"thresholdMetric": metric(query)}}
        whole["spec"]["objectives"] = [{"targetPercent": 99, **parts}]
        if note:
            whole["metadata"]["annotations"] = {"paceline/threshold": note}

    return document(change)


def test_threshold() -> None:
    """A threshold judges samples of a gauge."""
    (found,) = parse_objectives(threshold("queue_length", op="lte", value=5), source="x.yml")

    assert (found.counting, found.sample_bound, found.good) == (
        Counting.SAMPLES,
        SampleBound(sign="<=", value=5.0),
        found.total,
    )


def test_histogram_threshold() -> None:
    """An annotation makes the threshold a bound of a histogram."""
    text = threshold("wait_seconds", "histogram", op="lte", value=0.4)
    (found,) = parse_objectives(text, source="x.yml")

    assert (found.good and found.good.text, found.total.text, found.counting) == (
        'wait_seconds_bucket{le="0.4"}',
        "wait_seconds_count",
        Counting.COUNTER,
    )


def raw(**parts: object) -> str:
    """A document about a ratio that is divided already."""
    return document(lambda d: d["spec"].update(indicator={"spec": {"ratioMetric": parts}}))


def test_raw() -> None:
    """A ratio is taken apart into its events."""
    query = "sum(rate(ok_total[5m])) / sum(rate(all_total[5m]))"
    (found,) = parse_objectives(raw(rawType="success", raw=metric(query)), source="x.yml")

    assert (found.good and found.good.text, found.total.text) == ("ok_total", "all_total")


def test_windowed() -> None:
    """Totals over the window that a source keeps are not rated."""
    indicator = {"ratioMetric": {"counter": False, "bad": metric("bad"), "total": metric("all")}}
    text = document(lambda d: d["spec"].update(indicator={"spec": indicator}))
    (found,) = parse_objectives(text, source="x.yml")

    assert found.counting is Counting.WINDOWED


def grouped(labels: str | None, by: str = " by (a, b) ") -> str:
    """A document whose queries group, with an annotation that may, too."""

    def change(whole: dict[str, dict[str, object]]) -> None:
        spec = ratio(bad=f"sum{by}(rate(bad_total[5m]))", total=f"sum{by}(rate(all_total[5m]))")
        whole["spec"]["indicator"] = {"spec": spec}
        if labels is not None:
            whole["metadata"]["annotations"] = {"paceline/group-labels": labels}

    return document(change)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(grouped(None), ("a", "b"), id="queries group"),
        pytest.param(grouped("b, a"), ("b", "a"), id="both group alike"),
        pytest.param(grouped("a", by=""), ("a",), id="the annotation groups"),
        pytest.param(grouped(None, by=""), (), id="nobody groups"),
    ],
)
def test_groups(text: str, expected: tuple[str, ...]) -> None:
    """Groups come from `by`, or from the annotation."""
    (found,) = parse_objectives(text, source="x.yml")

    assert found.group_labels == expected


def test_regex_never_groups() -> None:
    """Case 31: a regular expression picks series and never splits the budget."""
    indicator = ratio(bad='req_total{code=~"5.."}', total="req_total")
    text = document(lambda d: d["spec"].update(indicator={"spec": indicator}))
    (found,) = parse_objectives(text, source="x.yml")

    assert found.group_labels == ()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        pytest.param(
            sliced("Timeslices", timeSliceTarget=0.9),
            DocumentError,
            "wanted timeSliceWindow with",
            id="no length of a slice",
        ),
        pytest.param(
            sliced("RatioTimeslices", timeSliceTarget=0.9, timeSliceWindow="1m"),
            DocumentError,
            "wanted timeSliceTarget with Timeslices",
            id="averaged slices are not judged",
        ),
        pytest.param(
            sliced("Occurrences", timeSliceWindow="1m"),
            DocumentError,
            "and not with Occurrences; found '1m'",
            id="events are not cut",
        ),
        pytest.param(
            sliced("Timeslices", timeSliceTarget=1.5, timeSliceWindow="1m"),
            DocumentError,
            "above 0 and at most 1, found 1.5",
            id="a slice's target is a share",
        ),
        pytest.param(
            sliced("Timeslices", timeSliceTarget=1, timeSliceWindow="90s"),
            DocumentError,
            "whole minutes, found 90 s",
            id="a slice is whole minutes",
        ),
        pytest.param(
            window(duration="1M", isRolling=True, calendar={"timeZone": "UTC"}),
            PeriodError,
            "with isRolling: true and a calendar",
            id="rolling and a calendar",
        ),
        pytest.param(threshold("x", op="lt"), DocumentError, "wanted op and value", id="no value"),
        pytest.param(threshold("x", value=1), DocumentError, "wanted op and value", id="no op"),
        pytest.param(
            target(op="lt", targetPercent=99),
            DocumentError,
            "found lt with a ratioMetric",
            id="a ratio that is to be below",
        ),
        pytest.param(
            document(lambda d: d["spec"].update(indicator={"spec": {}})),
            DocumentError,
            "either ratioMetric or thresholdMetric",
            id="an empty indicator",
        ),
        pytest.param(raw(raw=metric("a / b")), DocumentError, "wanted rawType", id="no rawType"),
        pytest.param(
            raw(rawType="failure", raw=metric("a / b"), total=metric("c")),
            DocumentError,
            "and no good, bad or total",
            id="raw and total",
        ),
        pytest.param(
            raw(good=metric("a_total")), DocumentError, "wanted total events", id="no total"
        ),
        pytest.param(
            raw(rawType="failure", bad=metric("a_total"), total=metric("b_total")),
            DocumentError,
            "and no rawType",
            id="rawType without raw",
        ),
        pytest.param(
            grouped("a"), AnnotationError, "found .'a'. and .'a', 'b'.", id="two groupings"
        ),
        pytest.param(
            document(
                lambda d: d["spec"].update(
                    indicator={
                        "spec": {
                            "ratioMetric": {
                                "bad": {
                                    "metricSource": {"type": "Datadog", "spec": {"query": "x"}}
                                },
                                "total": metric("b_total"),
                            }
                        }
                    }
                )
            ),
            DocumentError,
            "answers PromQL .*found 'Datadog'",
            id="a source that answers no PromQL",
        ),
        pytest.param(
            raw(bad={"metricSource": {"type": "Mimir", "spec": {}}}, total=metric("b_total")),
            DocumentError,
            "wanted a query in metricSource.spec",
            id="no query",
        ),
    ],
)
def test_refused_parts(text: str, error: type[Exception], message: str) -> None:
    """What cannot be done justice is refused by name."""
    with pytest.raises(error, match=message):
        parse_objectives(text, source="x.yml")


def source_document(type_: str) -> str:
    """A data source of a type, named `mine`."""
    return yaml.safe_dump(
        {
            "apiVersion": "openslo/v1",
            "kind": "DataSource",
            "metadata": {"name": "mine"},
            "spec": {"type": type_, "connectionDetails": {"url": "x"}},
        }
    )


def test_source_by_name() -> None:
    """The type of a source may stand in a document of its own."""
    part = {"metricSource": {"metricSourceRef": "mine", "spec": {"promql": "bad_total"}}}
    text = raw(counter=True, bad=part, total=metric("all_total"))

    (found,) = parse_objectives(f"{text}---\n{source_document('Thanos')}", source="x.yml")
    with pytest.raises(DocumentError, match="found 'BigQuery'"):
        parse_objectives(f"{text}---\n{source_document('BigQuery')}", source="x.yml")

    assert found.bad is not None
    assert found.bad.text == "bad_total"


@pytest.mark.parametrize("labels", [{"team": ["a", "b"]}, ["a", {"b": "c"}]])
def test_labels_in_any_form(labels: object) -> None:
    """Labels are for people: a list and a map are read alike."""
    text = document(lambda d: d["metadata"].update(labels=labels))

    assert [one.labels for one in parse_objectives(text, source="x.yml")] == [()]
