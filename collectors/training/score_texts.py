"""Pull the scores out of the texts of nvidia-resiliency-ext, as Python or JSON prints them.

Source: formats of progress streams, section 13.1; Lightning's callback and Megatron-Bridge. A
score is the reference's median time over the own one: 1 is as fast as the reference, and NaN means
that there was nothing to compare.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any, Final

from collectors.texts.json_documents import mapping_of
from collectors.texts.plain_counts import count_of

_NUMBER: Final = r"-?(?:\d[\d.]*(?:[eE][-+]?\d+)?|nan|NaN|NAN)|None|null"

_DICT: Final = re.compile(
    r"(?P<what>gpu|section)_(?P<how>relative|individual)_perf_scores?['\"]?\s*[:=]?\s*(?P<body>\{.*)"
)

_SECTION: Final = re.compile(r"['\"](?P<section>[^'\"]+)['\"]\s*:\s*\{(?P<body>[^{}]*)\}")

_ITEM: Final = re.compile(rf"['\"]?(?P<rank>\d+)['\"]?\s*:\s*(?P<score>{_NUMBER})")

_THRESHOLD: Final = re.compile(r"threshold['\"]?\s*[:=]?\s*(\d*\.\d+|\d+)")

KEYS: Final = tuple(
    f"{what}_{how}_perf_scores" for what in ("gpu", "section") for how in ("relative", "individual")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What the tool says of one rank.

    Attributes:
        what: `gpu relative`, `gpu individual`, `section relative` or `section individual`.
        rank: Global rank.
        score: 0 to 1; NaN: nothing could be compared.
        section: The section's name; null for GPU scores.
        threshold: What the text says is too low; null if it does not.
    """

    what: str
    rank: int
    score: float
    section: str | None = None
    threshold: float | None = None


def scores_in(text: str) -> Iterator[Score]:
    """Yield the scores of a text that names one of the dictionaries of a report."""
    found = _DICT.search(text)
    if found is None:
        return
    limit = _THRESHOLD.search(text)
    threshold = float(limit[1]) if limit else None
    what = f"{found['what']} {found['how']}"
    sections = [(one["section"], one["body"]) for one in _SECTION.finditer(found["body"])]
    flat = [(None, found["body"].partition("}")[0])]
    for section, body in sections or flat:
        for item in _ITEM.finditer(body):
            if (rank := count_of(item["rank"])) is not None:
                yield Score(
                    what=what,
                    rank=rank,
                    score=number_of(item["score"]),
                    section=section,
                    threshold=threshold,
                )


def scores_of(report: Mapping[str, Any]) -> Iterator[Score]:
    """Yield the scores of a report that was written as JSON."""
    limit = report.get("threshold", report.get("gpu_rel_threshold"))
    threshold = number_of(limit) if isinstance(limit, int | float) else None
    for key in KEYS:
        what = " ".join(key.split("_")[:2])
        for name, value in _items(report.get(key)):
            nested = _items(value)
            section = name if nested else None
            for key_of_rank, score in nested or [(name, value)]:
                if (rank := count_of(key_of_rank)) is not None:
                    yield Score(
                        what=what,
                        rank=rank,
                        score=number_of(score),
                        section=section,
                        threshold=threshold,
                    )


def _items(value: object) -> list[tuple[str, Any]]:
    return [*mapping_of(value).items()]


def number_of(value: object) -> float:
    """Return a score as a number; NaN for what is none."""
    try:
        return float(str(value))
    except ValueError:
        return nan
