"""The door for objectives: every known form, across files, and the ready ones."""

from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slo.documents import DocumentError
from slo.objectives import Method
from slo.specs import (
    NoReadyObjectiveError,
    load_library,
    load_objectives,
    load_ready,
    parse_objectives,
)
from slo.windows import RECOMMENDED_WINDOWS

DATA = Path(__file__).parent / "data" / "slo"
INDICATOR = """\
apiVersion: openslo/v1
kind: SLI
metadata: {name: shared}
spec:
  ratioMetric:
    bad: {metricSource: {spec: {query: bad_total}}}
    total: {metricSource: {spec: {query: all_total}}}
"""
OBJECTIVE = """\
apiVersion: openslo/v1
kind: SLO
metadata: {name: calm}
spec:
  service: s
  indicatorRef: shared
  timeWindow: [{duration: 30d, isRolling: true}]
  budgetingMethod: Occurrences
  objectives: [{target: 0.99}]
"""


def test_ready() -> None:
    """The objective that is meant where none is named is about slow training steps."""
    found = load_ready()

    assert (
        found.name,
        found.target_percent,
        found.bad and found.bad.text,
        found.total.text,
        found.group_labels,
        found.slow_step_ratio,
        found.windows,
        found.method,
    ) == (
        "training-steps",
        Decimal(99),
        "paceline_training_slow_steps_total",
        "paceline_training_steps_total",
        ("cluster", "run"),
        1.1,
        RECOMMENDED_WINDOWS,
        Method.OCCURRENCES,
    )


def test_library() -> None:
    """What is shipped is known by name, in order of names."""
    names = [one.name for one in load_library()]

    assert names == [
        "checkpoint-duration",
        "checkpoint-success",
        "fabric-pause",
        "inference-first-token",
        "inference-inter-token",
        "job-start",
        "training-goodput",
        "training-restarts",
        "training-resume",
        "training-steps",
    ]
    assert [load_ready(name).name for name in names] == names


def test_ready_ones_are_those_of_the_library() -> None:
    """Each objective of the library is ready under its own name."""
    assert [load_ready(one.name) for one in load_library()] == load_library()


def test_not_ready() -> None:
    """A name that nothing has is refused with those that something has."""
    with pytest.raises(NoReadyObjectiveError) as caught:
        load_ready("gone")

    assert str(caught.value).startswith("no ready objective 'gone'; known: checkpoint-duration, ")


def test_across_files(tmp_path: Path) -> None:
    """Documents refer to each other across files and folders; other files are left alone."""
    (tmp_path / "b.yaml").write_text(INDICATOR, encoding="utf-8")
    (tmp_path / "a.yml").write_text(OBJECTIVE, encoding="utf-8")
    (tmp_path / "words.md").write_text("no objective", encoding="utf-8")
    (tmp_path / "folder.yml").mkdir()

    by_folder = load_objectives(tmp_path)
    by_file = load_objectives(tmp_path / "a.yml", tmp_path / "b.yaml")

    assert (by_folder, [one.name for one in by_file]) == (by_file, ["calm"])


def test_every_form_at_once() -> None:
    """Forms may be mixed in a folder."""
    names = [one.name for one in load_objectives(DATA)]

    assert names == [
        "shop-good-answers",
        "api-buckets-0",
        "api-buckets-1",
        "api-availability",
        "api-latency",
        "shop-answers",
        "batch-answers",
    ]


@pytest.mark.parametrize("name", ["gone.yml", "empty"])
def test_no_file(tmp_path: Path, name: str) -> None:
    """A file that is not there, and a folder without any, are named."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=f"found no file .*{name}"):
        load_objectives(tmp_path / name)


def test_no_text(tmp_path: Path) -> None:
    """A file that is no text is named."""
    (tmp_path / "x.yml").write_bytes(b"\xff")
    with pytest.raises(DocumentError, match=r"x\.yml: wanted UTF-8 text"):
        load_objectives(tmp_path / "x.yml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(INDICATOR, "wanted at least one objective", id="no objective"),
        pytest.param(
            f"{INDICATOR}---\n{OBJECTIVE}---\n{OBJECTIVE}",
            "document 3: wanted a name of its own, found 'calm' again",
            id="two of one name",
        ),
        pytest.param(
            "apiVersion: openslo.com/v2alpha\nkind: SLO",
            "is not settled yet; write openslo/v1",
            id="v2alpha",
        ),
        pytest.param("groups: []", "found rules; look at them with `slo check`", id="rules"),
        pytest.param(
            "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule",
            "holds rules and no objectives",
            id="a manifest of rules",
        ),
        pytest.param("apiVersion: v1\nkind: Pod", "found 'v1' of kind 'Pod'; see", id="a pod"),
        pytest.param(
            "apiVersion: openslo/v1\nkind: Budget", "of kind 'Budget'", id="an unknown kind"
        ),
    ],
)
def test_refused(text: str, message: str) -> None:
    """What is no objective is refused with the way out."""
    with pytest.raises(DocumentError, match=message):
        parse_objectives(text, source="x.yml")


FORMS = [OBJECTIVE, INDICATOR, *(p.read_text(encoding="utf-8") for p in sorted(DATA.glob("*.yml")))]
ODD = st.sampled_from(
    ["{}", "[]", "null", "1e400", ".nan", "-1", "x: y", "2026-01-01", "!!set {a}", "&a [*a]", "'"]
)


@given(text=st.sampled_from(FORMS), at=st.integers(0, 60), value=ODD, cut=st.integers(0, 1500))
def test_torn(text: str, at: int, value: str, cut: int) -> None:
    """Whatever stands in a document, it is read or refused, and nothing else is raised."""
    lines = f"{INDICATOR}---\n{text}".splitlines()
    number = at % len(lines)
    lines[number] = f"{lines[number].split(': ')[0]}: {value}"

    for torn in ("\n".join(lines), text[:cut]):
        with suppress(ValueError):
            assert parse_objectives(torn, source="x.yml")
