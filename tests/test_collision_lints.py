"""Collisions: ids that look alike, promises that are made twice."""

from dataclasses import replace
from decimal import Decimal

from slo.collision_lints import lint_collisions
from slo.specs import load_ready

ONE = load_ready()


def named(*names: str) -> list[tuple[str, str]]:
    """Codes and texts about objectives of these names, each about another target."""
    objectives = [
        replace(ONE, name=name, target_percent=Decimal(90 + number))
        for number, name in enumerate(names)
    ]
    return [(lint.code, lint.text.split(":")[0]) for lint in lint_collisions(objectives)]


def test_fine() -> None:
    """Ids that nobody takes for each other are fine."""
    assert named("a-b", "c") == []


def test_same() -> None:
    """Two objectives of one id overwrite each other."""
    assert named("a", "a") == [
        (
            "same-id",
            "'a' is the id of 2 objectives, whose records would overwrite each other; rename one",
        )
    ]


def test_similar() -> None:
    """Case, -, _ and . are overlooked in names of files and alerts."""
    assert named("a-b", "A_b", "a.b", "abc") == [
        ("similar-ids", "'A_b' and 'a-b' and 'a.b' differ in case or in -, _ and . only")
    ]


def test_promise() -> None:
    """One promise under two ids alerts twice."""
    (found,) = lint_collisions([replace(ONE, name="x"), replace(ONE, name="y")])

    assert (found.code, found.level) == ("same-promise", "note")
    assert found.text.startswith("x, y promise the same about the same series")
