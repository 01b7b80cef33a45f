"""OpenSLO documents: what is read, and what is refused by name."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from slo.annotations import AnnotationError
from slo.documents import DocumentError
from slo.objectives import GroupLabelError, Method, TargetError
from slo.periods import PeriodError
from slo.queries import QueryError
from slo.schemes import SchemeError
from slo.specs import load_library, load_objectives, parse_objectives
from slo.windows import RECOMMENDED_WINDOWS, PeriodTooShortError

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


def test_library() -> None:
    """The objective that is shipped is about slow training steps, by cluster and run."""
    (found,) = load_library()

    assert (
        found.name,
        found.target_percent,
        found.period_seconds,
        found.bad.text if found.bad else None,
        found.total.text,
        found.group_labels,
        found.slow_step_ratio,
        found.windows,
        found.method,
    ) == (
        "training-steps",
        Decimal(99),
        30 * 86400,
        "paceline_training_slow_steps_total",
        "paceline_training_steps_total",
        ("cluster", "run"),
        1.1,
        RECOMMENDED_WINDOWS,
        Method.OCCURRENCES,
    )


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


def test_load(tmp_path: Path) -> None:
    """A file is read as its text is."""
    path = tmp_path / "calm.yml"
    path.write_text(document(), encoding="utf-8")

    assert load_objectives(path) == parse_objectives(document(), source="calm.yml")


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(FileNotFoundError, match=r"found no file .*gone\.yml"):
        load_objectives(tmp_path / "gone.yml")
