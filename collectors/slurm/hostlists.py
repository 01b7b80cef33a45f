"""Read Slurm's short form of many host names: `hx8-[001-004,007],login1`.

Source: formats of GPU and host streams, section 7.5; Slurm `src/common/hostlist.c` for the grammar.
Brackets may come several times in a name (their product is meant), and the zeros in front of a
range's low bound set the width of all its numbers.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Final

import polars as pl

MAX_HOSTS: Final = 262_144
"""A list of more is refused: `x[0-999999999]` is a typing error, not a cluster."""

_ITEM: Final = re.compile(r"(?:[^\s,\[\]]|\[[^\[\]]*\])+")

_PART: Final = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")

_RANGE: Final = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


class HostlistError(ValueError):
    """A text is no list of hosts, or one of too many."""


def expand_hostlist(text: str, max_hosts: int = MAX_HOSTS) -> list[str]:
    """Return the names that a list of hosts stands for, each once, in its order.

    Args:
        text: Items between commas or blanks; commas in brackets belong to the item.
        max_hosts: The most names that it may stand for.

    Raises:
        HostlistError: A bracket is not closed or holds no ranges, or there are too many names.
    """
    rest = _ITEM.sub("", text)
    if rest.strip(", \t\n"):
        raise HostlistError(f"wanted host names with closed brackets, found {text[:80]!r}")
    names: dict[str, None] = {}
    for item in _ITEM.findall(text):
        room = max_hosts - len(names)
        names |= dict.fromkeys(itertools.islice(_names(item, max_hosts), room + 1))
        if len(names) > max_hosts:
            raise HostlistError(
                f"wanted at most {max_hosts} hosts, found more in {text[:80]!r}; raise max_hosts"
            )
    return list(names)


def _names(item: str, max_hosts: int) -> Iterator[str]:
    """Yield the names of one item, its last bracket counting fastest."""
    parts = [
        [literal] if literal else _numbers(ranges, max_hosts)
        for ranges, literal in _PART.findall(item)
    ]
    return ("".join(chosen) for chosen in itertools.product(*parts))


def _numbers(ranges: str, max_hosts: int) -> list[str]:
    """Return the numbers of one bracket, as wide as each low bound is printed."""
    numbers: list[str] = []
    for one in ranges.split(","):
        found = _RANGE.fullmatch(one.strip())
        if not found:
            raise HostlistError(f"wanted a number or a range in brackets, found {one[:40]!r}")
        low, high = found[1], found[2] or found[1]
        count = int(high) - int(low) + 1
        if count < 1 or len(numbers) + count > max_hosts:
            raise HostlistError(f"wanted a rising range of at most {max_hosts}, found {one!r}")
        numbers += [str(at).zfill(len(low)) for at in range(int(low), int(high) + 1)]
    return numbers


def hosts_of(lists: pl.Series) -> pl.Series:
    """Return the hosts of each list of a column, in lower case; null where none can be told.

    Args:
        lists: Texts. Brackets are a grammar that no expression reads, so each different text is
            read once; a cluster's jobs share few of them.
    """
    texts = lists.unique().drop_nulls().to_list()
    known = {text: _hosts_or_none(text) for text in texts}
    table = pl.DataFrame(
        {"text": list(known), "hosts": list(known.values())},
        schema={"text": pl.String, "hosts": pl.List(pl.String)},
    )
    rows = pl.DataFrame({"text": lists}, schema={"text": pl.String})
    return rows.join(table, on="text", how="left", maintain_order="left")["hosts"]


def _hosts_or_none(text: str) -> list[str] | None:
    try:
        return expand_hostlist(text.strip().lower()) or None
    except HostlistError:
        return None
