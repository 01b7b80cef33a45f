"""Series that selectors would pick, made up for tests of rules.

Nobody has to say which label values exist: a value is guessed from the matchers themselves, and
refused where a regular expression is too involved to guess for.
"""

import re
from contextlib import suppress
from dataclasses import replace
from typing import Final

from slo.objectives import Objective
from slo.selectors import Matcher, MatchSign, Selector, quoted

_OPPOSITE: Final[dict[str, MatchSign]] = {"=": "!=", "!=": "=", "=~": "!~", "!~": "=~"}
_COMMON: Final = ("500", "200", "other", "a")
_OPTIONAL: Final = re.compile(r"\([^()]*\)\?")

Labels = dict[str, str]


class NoExampleError(ValueError):
    """No label value is known that a matcher would accept."""


def part_of(objective: Objective) -> Selector:
    """Return the selector of the bad events, or of the good ones."""
    return objective.bad or objective.good or objective.total


def part_labels(objective: Objective, group: str) -> Labels:
    """Return labels that the bad or good part accepts, of one group."""
    return _labels(objective, part_of(objective).matchers, group)


def total_labels(objective: Objective, group: str) -> Labels:
    """Return labels that the total accepts, and that are not those of its bad or good part.

    Raises:
        NoExampleError: Every series of the total would be one of the part.
    """
    total, part = objective.total, part_of(objective)
    if part.metric != total.metric:
        return _labels(objective, total.matchers, group)
    for matcher in part.matchers:
        refused = replace(matcher, sign=_OPPOSITE[matcher.sign])
        with suppress(NoExampleError):
            return _labels(objective, (*total.matchers, refused), group)
    raise NoExampleError(
        f"wanted series of {total.text} that are not of {part.text}, found none; "
        "write the promtool test by hand"
    )


def group_of(objective: Objective, group: str) -> Labels:
    """Return the labels of one made-up group."""
    return {label: f"{label}-{group}" for label in objective.group_labels}


def is_picked(selector: Selector, metric: str, labels: Labels) -> bool:
    """Return whether a selector picks a series."""
    return metric == selector.metric and all(
        _accepts(matcher, labels.get(matcher.label, "")) for matcher in selector.matchers
    )


def series_text(metric: str, labels: Labels) -> str:
    """Return a series as promtool and PromQL write it."""
    inside = ",".join(f"{name}={quoted(value)}" for name, value in sorted(labels.items()))
    return f"{metric}{{{inside}}}"


def _labels(objective: Objective, matchers: tuple[Matcher, ...], group: str) -> Labels:
    """Return labels that matchers accept, of one group."""
    labels = group_of(objective, group)
    for name in sorted({matcher.label for matcher in matchers}):
        asked = [matcher for matcher in matchers if matcher.label == name]
        labels[name] = _example(asked, preferred=labels.get(name, _COMMON[0]))
    return labels


def _example(matchers: list[Matcher], *, preferred: str) -> str:
    """Return a value of one label that each of its matchers accepts."""
    written = [part for matcher in matchers for part in matcher.value.split("|")]
    short = [_OPTIONAL.sub("", value) for value in written]
    for value in (preferred, *_COMMON, *written, *short):
        if all(_accepts(matcher, value) for matcher in matchers):
            return value
    wanted = " and ".join(f"{m.label}{m.sign}{m.value!r}" for m in matchers)
    raise NoExampleError(
        f"wanted a value that fulfils {wanted}, found none; write the promtool test by hand"
    )


def _accepts(matcher: Matcher, value: str) -> bool:
    """Return whether a label value fulfils a matcher."""
    if matcher.sign in {"=", "!="}:
        is_same = value == matcher.value
    else:
        is_same = re.fullmatch(matcher.value, value) is not None
    return is_same == (matcher.sign in {"=", "=~"})
