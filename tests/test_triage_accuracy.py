"""Yardsticks of triage: thresholds judged on families that they were not chosen on."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl
import pytest
import yaml

from collectors.signatures.failure_lines import read_failure_lines
from collectors.signatures.library import any_pattern, read_signatures
from collectors.sniffing import ReadOptions
from detectors.known_failures import library_space
from detectors.masked_texts import masked_text
from detectors.triage import TriageParams, name_lines

DATA = Path(__file__).parent / "data" / "triage"
ANY: Final = 1e-9
GRID: Final = [at / 100 for at in range(10, 100)]
FOLDS: Final = 5
AIM: Final = 0.95


class Judged(NamedTuple):
    """What triage makes of a labelled text: by a rule, or how like it is to which family."""

    label: str
    rule: str | None
    family: str | None
    similarity: float
    is_failure: bool

    def named(self, threshold: float, quiet: float | None = None) -> str | None:
        """The family at a threshold; lines that do not say that they fail may have another."""
        least = threshold if self.is_failure or quiet is None else quiet
        return self.rule or (self.family if self.similarity >= least else None)


def texts_of(name: str) -> list[tuple[str, str]]:
    """The labelled texts of a file: label and text, lines parted."""
    told = yaml.safe_load((DATA / f"{name}.yml").read_text(encoding="utf-8"))
    return [
        (label, line.replace("\\n", "\n"))
        for label, block in told.items()
        for line in block.splitlines()
    ]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Judged]]:
    """Takes each text through the reader and both steps, and says what its first line is."""
    library = read_signatures()
    space = library_space(library)
    params = TriageParams(min_similarity=ANY, min_quiet_similarity=ANY)
    folder = tmp_path_factory.mktemp("texts")

    @cache
    def judge(name: str) -> list[Judged]:
        texts = texts_of(name)
        path = folder / f"{name}.txt"
        path.write_text("".join(f"{text}\n" for _, text in texts), encoding="utf-8")
        lines = pl.concat(read_failure_lines(path, name, ReadOptions(), any_pattern(library)))
        ends = list(accumulate(text.count("\n") + 1 for _, text in texts))
        named = name_lines(lines, library, space, params).sort("position", descending=True)
        found = {bisect_left(ends, row["position"]): row for row in named.iter_rows(named=True)}
        return [one_of(label, found.get(at)) for at, (label, _) in enumerate(texts)]

    return judge


def one_of(label: str, row: dict[str, object] | None) -> Judged:
    """What was found of a text; one that no reader looks at is nothing."""
    if row is None:
        return Judged(label, None, None, 0.0, is_failure=False)
    nearest = row["nearest"]
    assert isinstance(nearest, list)
    rule = str(row["family"]) if row["step"] == "rule" else None
    return Judged(
        label, rule, nearest[0]["family"], nearest[0]["similarity"], bool(row["is_failure"])
    )


def right_share(texts: Iterable[Judged], threshold: float, quiet: float | None = None) -> float:
    """How many known texts are named right."""
    said = [one.named(threshold, quiet) == one.label for one in texts]
    return sum(said) / len(said)


def unknown_share(texts: Iterable[Judged], threshold: float, quiet: float | None = None) -> float:
    """How many unknown texts are named nothing."""
    said = [one.named(threshold, quiet) is None for one in texts]
    return sum(said) / len(said)


def parted(texts: list[Judged], fold: int) -> tuple[list[Judged], list[Judged]]:
    """The texts of the families of a fold, and those of all others."""
    labels = sorted({one.label for one in texts})
    ours = [one for one in texts if labels.index(one.label) % FOLDS == fold]
    return ours, [one for one in texts if one not in ours]


def test_cross_fitted(judged: Callable[[str], list[Judged]]) -> None:
    """A threshold chosen on some families does on the others what is asked for."""
    known, unknown = list[bool](), list[bool]()
    for fold in range(FOLDS):
        ours, others = parted(judged("unknown"), fold)
        chosen = next(at for at in GRID if unknown_share(others, at) >= AIM)
        known += [one.named(chosen) == one.label for one in parted(judged("known"), fold)[0]]
        unknown += [one.named(chosen) is None for one in ours]

    assert sum(known) / len(known) >= 0.95
    assert sum(unknown) / len(unknown) >= 0.9


@pytest.mark.parametrize(
    ("name", "share", "least"),
    [
        pytest.param("known", right_share, 0.99, id="wordings in view of which rules were added"),
        pytest.param("held_out", right_share, 0.95, id="wordings of a first look, seen since"),
        pytest.param("held_out_2", right_share, 0.92, id="wordings of a second look"),
        pytest.param("held_out_3", right_share, 0.92, id="wordings of a third look"),
        pytest.param("unknown", unknown_share, 0.95, id="families that it does not have"),
        pytest.param("benign", unknown_share, 0.95, id="lines of healthy runs"),
    ],
)
def test_as_shipped(
    judged: Callable[[str], list[Judged]],
    name: str,
    share: Callable[[Iterable[Judged], float, float], float],
    least: float,
) -> None:
    """The thresholds that come along keep what the pages say of them."""
    params = TriageParams()

    assert share(judged(name), params.min_similarity, params.min_quiet_similarity) >= least


def test_likeness_alone(judged: Callable[[str], list[Judged]]) -> None:
    """Without any rule most wordings still find their family first."""
    texts = judged("known")
    alone = [one._replace(rule=None) for one in texts]

    assert right_share(alone, ANY) >= 0.9


def test_benign_lines_are_no_new_failures(judged: Callable[[str], list[Judged]]) -> None:
    """Healthy lines that talk of errors make no clusters either."""
    assert [one for one in judged("benign") if one.is_failure] == []


@pytest.mark.parametrize("name", ["known", "held_out", "held_out_2", "held_out_3"])
def test_wordings_are_others(name: str) -> None:
    """No labelled wording is one of the library's examples."""
    library = read_signatures()
    shipped = set(library["examples"].explode(empty_as_null=True).to_list())

    assert [text for _, text in texts_of(name) if text in shipped] == []


def test_labels() -> None:
    """Enough families with ten wordings each, and enough that is none of them."""
    known = pl.Series([label for label, _ in texts_of("known")]).value_counts(name="count")

    assert known.height >= 40
    assert known["count"].unique().to_list() == [10]
    assert len(texts_of("unknown")) >= 60
    assert len(texts_of("benign")) >= 100
    assert set(known.to_series(0)) <= set(read_signatures()["family"])


def test_masks_keep_wordings_apart() -> None:
    """Examples of the library are different texts also once they are masked."""
    library = read_signatures().select("family", shape="examples")
    shapes = library.explode("shape", empty_as_null=True)
    masked = shapes.with_columns(masked_text(pl.col("shape"))).unique()
    doubles = masked.filter(pl.col("shape").is_duplicated())

    assert doubles.is_empty()
