"""Sloth's specs: the same meaning in our form, and by name what has none."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from slo.documents import DocumentError
from slo.objectives import AlertLabel, Counting, Objective
from slo.queries import QueryError
from slo.schemes import windows_of
from slo.specs import load_objectives, parse_objectives
from slo.windows import RECOMMENDED_WINDOWS

DATA = Path(__file__).parent / "data" / "slo"
DAY = 86400


def spec(change: Callable[[dict[str, object]], object] = lambda _: None) -> str:
    """A spec that works, its one objective changed."""
    slo: dict[str, object] = {
        "name": "answers",
        "objective": 99.9,
        "sli": {"events": {"error_query": "bad_total", "total_query": "all_total"}},
    }
    change(slo)
    return yaml.safe_dump({"version": "prometheus/v1", "service": "s", "slos": [slo]})


def read(text: str) -> list[Objective]:
    """The objectives of a text."""
    return parse_objectives(text, source="x.yml")


def test_first() -> None:
    """Queries become events, labels stay on alerts, and windows are Sloth's, without a wait."""
    (found,) = load_objectives(DATA / "sloth-first.yml")

    assert (found.name, found.service, found.target_percent, found.runbook_url) == (
        "shop-answers",
        "shop",
        Decimal("99.9"),
        "https://example.org/shop",
    )
    assert (found.bad and found.bad.text, found.total.text) == (
        'http_request_duration_seconds_count{code=~"(5..|429)",job="shop"}',
        'http_request_duration_seconds_count{job="shop"}',
    )
    assert found.windows == windows_of("sloth", 30 * DAY, "x")
    assert found.labels_of("page") == {
        "category": "availability",
        "team": "checkout",
        "original_tier": "2",
        "original_severity": "shop-page",
        "routing_key": "shop",
    }
    assert found.labels_of("ticket")["channel"] == "#shop"


def test_bucket() -> None:
    """All but the fast ones are bad: the bucket is the good part."""
    _, found = load_objectives(DATA / "sloth-bucket.yml")

    assert (found.name, found.bad, found.good and found.good.text) == (
        "api-latency",
        None,
        'apiserver_request_duration_seconds_bucket{le="0.4",verb!="WATCH"}',
    )


def test_silent() -> None:
    """Alerts that are switched off leave the pairs recorded."""
    (found,) = load_objectives(DATA / "sloth-silent.yml")

    assert (found.muted, found.alerting_windows, len(found.windows)) == (("page", "ticket"), (), 4)


KUBERNETES = """\
apiVersion: sloth.slok.dev/v1
kind: PrometheusServiceLevel
metadata: {name: x, namespace: monitoring}
spec:
  service: home
  sloPlugins: {chain: [{id: sloth.dev/contrib/alert_for/v1}]}
  slos:
    - name: up
      objective: 95
      sli:
        raw:
          errorRatioQuery: |
            1 - (sum(sum_over_time(up[{{.window}}])) / sum(count_over_time(up[{{.window}}])))
      alerting:
        name: HomeDown
        pageAlert: {for: 5m, labels: {severity: home}}
        ticketAlert: {disable: true}
status: {lastPromOpRulesSuccessfulGenerated: "2026-01-01T00:00:00Z"}
"""


def test_kubernetes() -> None:
    """A resource of Kubernetes is in camel case; a ratio over a gauge is its samples."""
    (found,) = read(KUBERNETES)

    assert (found.name, found.counting, found.good, found.muted) == (
        "home-up",
        Counting.SAMPLES,
        found.total,
        ("ticket",),
    )
    assert [window.for_seconds for window in found.windows] == [300, 300, 0, 0]
    assert found.labels == (AlertLabel(name="original_severity", value="home", severity="page"),)


def windows(period: str) -> str:
    """Sloth's windows for a period."""
    pairs = [(1, "2m", "30m"), (2, "15m", "3h"), (5, "1h", "12h"), (5, "3h", "36h")]
    quick, slow, third, fourth = (
        {"errorBudgetPercent": percent, "shortWindow": short, "longWindow": long}
        for percent, short, long in pairs
    )
    return yaml.safe_dump(
        {
            "apiVersion": "sloth.slok.dev/v1",
            "kind": "AlertWindows",
            "spec": {
                "sloPeriod": period,
                "page": {"quick": quick, "slow": slow},
                "ticket": {"quick": third, "slow": fourth},
            },
        }
    )


def test_alert_windows() -> None:
    """Windows that are read beside a spec are meant for it, with their period."""
    (found,) = read(f"{spec()}---\n{windows('30d')}")

    assert [(window.name, f"{float(window.factor):.4g}") for window in found.windows] == [
        ("page 30m/2m", "14.4"),
        ("page 3h/15m", "4.8"),
        ("ticket 12h/1h", "3"),
        ("ticket 36h/3h", "1"),
    ]
    assert found.period_seconds == 30 * DAY


def test_two_periods() -> None:
    """Of two sets of windows nobody knows which is meant."""
    with pytest.raises(DocumentError, match="found those of 30d, 7d; read one at a time"):
        read(f"{spec()}---\n{windows('30d')}---\n{windows('7d')}")


def test_every_document() -> None:
    """Case 45: of a file with two documents both are read."""
    text = spec()

    found = read(f"{text}---\n{text.replace('service: s', 'service: t')}")

    assert [one.name for one in found] == ["s-answers", "t-answers"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        pytest.param(
            lambda slo: slo.update(sli={"plugin": {"id": "x"}}),
            DocumentError,
            "found an SLI plug-in; write its queries out",
            id="an SLI plug-in",
        ),
        pytest.param(
            lambda slo: slo.update(plugins={"chain": [{"id": "mine/v1"}]}),
            DocumentError,
            "without plug-ins, found mine/v1",
            id="a plug-in in the chain",
        ),
        pytest.param(
            lambda slo: slo.update(sli={}), DocumentError, "either events or raw", id="no SLI"
        ),
        pytest.param(
            lambda slo: slo.update(sli={"raw": {"error_ratio_query": "job:errors:ratio"}}),
            QueryError,
            "name its two counters",
            id="a ratio that is recorded already",
        ),
        pytest.param(
            lambda slo: slo.update(
                sli={
                    "events": {
                        "error_query": "sum_over_time((count(x < 5))[{{.window}}:]) OR vector(0)",
                        "total_query": "sum_over_time((count(x))[{{.window}}:])",
                    }
                }
            ),
            QueryError,
            "record the inner query first",
            id="a subquery",
        ),
        pytest.param(
            lambda slo: slo.update(name="../x"), DocumentError, "slos.0.name", id="no file's name"
        ),
        pytest.param(
            lambda slo: slo.update(colour="red"), DocumentError, "slos.0.colour", id="a field"
        ),
    ],
)
def test_refused(
    change: Callable[[dict[str, object]], object], error: type[Exception], message: str
) -> None:
    """What has no meaning in our form is refused with the reason."""
    with pytest.raises(error, match=message):
        read(spec(change))


def test_recommended() -> None:
    """Over 30 days Sloth's factors are the workbook's."""
    (found,) = read(spec())

    assert [float(window.factor) for window in found.windows] == [
        float(window.factor) for window in RECOMMENDED_WINDOWS
    ]
