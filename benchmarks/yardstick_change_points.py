"""Yardstick Y3: change points of single series, against several people's marks.

Data: the Turing Change Point Dataset (van den Burg and Williams, 2020), 30 univariate series. The
metric is that of its benchmark: F1 with a margin of five ticks, and cover. The published figures
are the defaults of the methods named, on the same 30 series. Parameters may be chosen on the even
half only: series whose name's SHA-256 is even.
"""

import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.figures import Figure
from detectors.change_points import ChangePointParams, find_change_points
from detectors.panels import Floats

NAME: Final = "Y3 change points"
MARGIN_TICKS: Final = 5
BAR_F1: Final = 0.75
BAR_COVER: Final = 0.71
PUBLISHED: Final = (
    "binseg 0.738/0.693, pelt 0.728/0.695, amoc 0.699/0.697, bocpd 0.696/0.636, "
    "nothing 0.668/0.575, Otava 0.601/0.506"
)

Finder = Callable[[Floats], list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One series and what people marked in it.

    Attributes:
        values: Shape (ticks,).
        marks: The change points of each annotator; some marked none.
        even: Whether parameters may be chosen on it.
    """

    values: Floats
    marks: tuple[frozenset[int], ...]
    even: bool


def figures(data: Path) -> list[Figure]:
    """Return the figures of the yardstick.

    Args:
        data: Folder that holds `tcpd`.
    """
    series = read_series(data / "tcpd")
    halves = _row(_ours, series)
    finders = [("nothing", _nothing), *_ruptures()]
    beside = [_row(finder, series) for _, finder in finders]
    every = halves.pop("all")
    published = Figure(
        yardstick=NAME,
        what="F1/cover, ours, all 30",
        value=_pair(every),
        bar=f"{BAR_F1}/{BAR_COVER}",
        holds=every[0] >= BAR_F1 and every[1] >= BAR_COVER,
        beside=PUBLISHED,
    )
    ours = [
        Figure(yardstick=NAME, what=f"F1/cover, ours, {half} half", value=_pair(found))
        for half, found in halves.items()
    ]
    others = [
        Figure(
            yardstick=NAME,
            what=f"F1/cover, {name}, even, odd, all",
            value=", ".join(_pair(row[half]) for half in ("even", "odd", "all")),
        )
        for (name, _), row in zip(finders, beside, strict=True)
    ]
    return [published, *ours, *others]


def read_series(folder: Path) -> list[Series]:
    """Return the series of the folder that have marks, by name."""
    told = json.loads((folder / "annotations.json").read_text())
    found: list[Series] = []
    for path in sorted((folder / "datasets").glob("*.json")):
        document: dict[str, Any] = json.loads(path.read_text())
        name = document["name"]
        found.append(
            Series(
                values=np.array(document["series"][0]["raw"], dtype=np.float64),
                marks=tuple(frozenset(one) for one in told[name].values()),
                even=int(sha256(name.encode()).hexdigest(), 16) % 2 == 0,
            )
        )
    return found


def f1_of(marks: Sequence[frozenset[int]], found: Sequence[int]) -> float:
    """Return F1 with the margin: precision against all marks, recall as the mean over people."""
    ours = {0, *found}
    sets = [one | {0} for one in marks]
    precision = _matched(frozenset[int]().union(*sets), ours) / len(ours)
    recall = float(np.mean([_matched(one, ours) / len(one) for one in sets]))
    return 2.0 * precision * recall / (precision + recall)


def cover_of(marks: Sequence[frozenset[int]], found: Sequence[int], ticks: int) -> float:
    """Return how well the pieces of each person are covered by one of ours, by length."""
    ours = _pieces(found, ticks)
    return float(
        np.mean(
            [
                sum(
                    (stop - at) / ticks * _best((at, stop), ours)
                    for at, stop in _pieces(one, ticks)
                )
                for one in marks
            ]
        )
    )


def _row(finder: Finder, series: Sequence[Series]) -> dict[str, tuple[float, float]]:
    """Return mean F1 and cover of a method on each half and on all."""
    scored: list[tuple[float, float]] = []
    for one in series:
        found = finder(one.values)
        scored.append((f1_of(one.marks, found), cover_of(one.marks, found, one.values.size)))
    table = np.array(scored)
    even = np.array([one.even for one in series])
    halves = {"even": even, "odd": ~even, "all": np.ones_like(even)}
    means = {half: table[mask].mean(axis=0) for half, mask in halves.items()}
    return {half: (float(both[0]), float(both[1])) for half, both in means.items()}


def _ours(values: Floats) -> list[int]:
    return [one.at for one in find_change_points(values, ChangePointParams())]


def _nothing(_: Floats) -> list[int]:
    return []


def _ruptures() -> list[tuple[str, Finder]]:
    """Return the searches of ruptures for changes of the mean; none where it is not installed.

    It has no default penalty: 3 ln n on standardised series is close to the MBIC, which the
    published runs of binseg and pelt use. A linear kernel is the squared error, searched by PELT.
    """
    if find_spec("ruptures") is None:
        print(f"{NAME} | ruptures is not installed (pip install ruptures): published figures only")
        return []
    library = importlib.import_module("ruptures")

    searches = {
        "pelt": library.KernelCPD(kernel="linear", min_size=2, jump=1),
        "binseg": library.Binseg(model="l2", min_size=2, jump=1),
    }

    def searched(search: Any) -> Finder:
        def found(values: Floats) -> list[int]:
            scores = (values - values.mean()) / (values.std() or 1.0)
            bounds: list[int] = search.fit(scores).predict(pen=3.0 * log(values.size))
            return bounds[:-1]

        return found

    return [(f"ruptures {name}", searched(search)) for name, search in searches.items()]


def _matched(marks: frozenset[int], found: set[int]) -> int:
    """Return how many marks have a point of their own within the margin."""
    free = set(found)
    for mark in sorted(marks):
        near = [(abs(mark - one), one) for one in free if abs(mark - one) <= MARGIN_TICKS]
        if near:
            free.remove(min(near)[1])
    return len(found) - len(free)


def _pieces(bounds: Sequence[int] | frozenset[int], ticks: int) -> list[tuple[int, int]]:
    inner = {one for one in bounds if 0 < one < ticks}
    return list(pairwise(sorted({0, ticks} | inner)))


def _best(piece: tuple[int, int], others: Sequence[tuple[int, int]]) -> float:
    """Return the largest Jaccard index of a piece with any other."""
    start, stop = piece
    return max(
        max(0, min(stop, to) - max(start, at)) / (max(stop, to) - min(start, at))
        for at, to in others
    )


def _pair(both: tuple[float, float]) -> str:
    return f"{both[0]:.3f}/{both[1]:.3f}"
