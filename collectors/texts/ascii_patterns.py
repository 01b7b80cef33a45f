r"""Patterns of logs without the classes of Unicode: cheaper to build, and to look for.

`\d`, `\w` and `\b` mean every script's digits, letters and word ends. Logs of programs have those
of ASCII, and such a pattern is built in a fraction of the time and matched without a detour.
Polars keeps few patterns at hand, so a reader of many small files builds each of them anew. Source:
the documentation of Rust's `regex` crate, sections on Unicode and on performance.
"""

from functools import cache
from typing import Final

_OUTSIDE: Final = {"d": "[0-9]", "w": "[A-Za-z0-9_]", "b": r"(?-u:\b)"}

_INSIDE: Final = {"d": "0-9", "w": "A-Za-z0-9_"}


@cache
def ascii_pattern(pattern: str) -> str:
    r"""Return a pattern whose `\d`, `\w` and `\b` are those of ASCII.

    Args:
        pattern: One of Rust's `regex` without nested classes.
    """
    parts, at, inside = list[str](), 0, False
    while at < len(pattern):
        step = 2 if pattern[at] == "\\" else 1
        part = pattern[at : at + step]
        if step == 1 and not inside and part == "[":
            step = len(_opening(pattern[at:]))
            part, inside = pattern[at : at + step], True
        elif part == "]":
            inside = False
        elif step > 1:
            part = (_INSIDE if inside else _OUTSIDE).get(part[1], part)
        parts.append(part)
        at += step
    return "".join(parts)


def _opening(rest: str) -> str:
    """Return how a class opens: a bracket right after it is a member of the class."""
    start = 2 if rest[1:2] == "^" else 1
    return rest[: start + (rest[start : start + 1] == "]")]
