"""The door to grafanalib lets through what Grafana reads, and nothing else."""

import pytest

from dashboards.grafana import UnusableClassError, build_object, build_own_panel, build_plain


@pytest.mark.parametrize("kind", ["Threshold", "Heatmap", "BarGauge", "Graph", "AlertRulev9"])
def test_unusable_classes(kind: str) -> None:
    """A class whose output Grafana misreads is refused, with the way out."""
    with pytest.raises(UnusableClassError, match=rf"'{kind}'.*usable: .*TimeSeries"):
        build_object(kind)


def test_plain() -> None:
    """An object leaves as plain JSON, with those inside it."""
    board = build_plain("Templating", list=[build_object("Time", start="now-1h", end="now")])

    assert board == {"list": [{"from": "now-1h", "to": "now"}]}


def test_own_panel() -> None:
    """A panel of our own shape stands in grafanalib's general frame."""
    panel = build_own_panel({"type": "heatmap", "options": {"calculate": False}}, title="one")

    assert (panel["type"], panel["title"], panel["options"]) == (
        "heatmap",
        "one",
        {"calculate": False},
    )


def test_nan_is_no_json() -> None:
    """A number that JSON cannot say is refused before a file is written."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        build_plain("Time", start=float("nan"), end="now")
