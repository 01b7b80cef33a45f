"""Objectives that get into each other's way: ids that look alike, one promise made twice.

Source: reports to slok/sloth of rules that overwrite each other. Names of alerts and of files are
made from ids, and not every place tells `a-b`, `A_b` and `a.b` apart.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from slo.lints import Lint
from slo.objectives import Objective


def lint_collisions(objectives: Sequence[Objective]) -> list[Lint]:
    """Return every message about objectives that are to live side by side, by id."""
    return [*_lint_ids(objectives), *_lint_promises(objectives)]


def _lint_ids(objectives: Sequence[Objective]) -> Iterator[Lint]:
    """Yield an error for each id that two have, and a warning for ids that look alike."""
    alike: dict[str, list[str]] = defaultdict(list)
    for objective in objectives:
        alike[_folded(objective.name)].append(objective.name)
    for _, names in sorted(alike.items()):
        for name in sorted({one for one in names if names.count(one) > 1}):
            yield Lint(
                code="same-id",
                level="error",
                text=f"{name!r} is the id of {names.count(name)} objectives, whose records would "
                "overwrite each other; rename one",
            )
        if len(set(names)) > 1:
            yield Lint(
                code="similar-ids",
                level="warning",
                text=f"{' and '.join(map(repr, sorted(set(names))))} differ in case or in -, _ "
                "and . only: names of alerts and files made from them are taken for each other; "
                "rename one",
            )


def _folded(name: str) -> str:
    """Return an id without what is easily overlooked."""
    return name.casefold().translate(str.maketrans("", "", "-_."))


def _lint_promises(objectives: Sequence[Objective]) -> Iterator[Lint]:
    """Yield a note for each promise that is made under two ids."""
    same: dict[object, list[str]] = defaultdict(list)
    for one in objectives:
        promise = (one.total, one.bad, one.good, one.group_labels, one.sample_bound, one.method)
        same[promise, one.target_percent, one.period_seconds, one.calendar, one.slices].append(
            one.name
        )
    for names in same.values():
        if len(set(names)) > 1:
            yield Lint(
                code="same-promise",
                level="note",
                text=f"{', '.join(sorted(set(names)))} promise the same about the same series: one "
                "outage alerts for each; keep one",
            )
