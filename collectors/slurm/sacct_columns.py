"""Find out how a text of sacct is laid out: its columns, and what stands between them.

Source: sacct(1) (`--parsable`, `--parsable2`, `--delimiter`, `--noheader`); formats of GPU and host
streams, section 7.2. Nothing is escaped, so only columns of a strict form tell where a free text
ends that holds the delimiter itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.slurm.slurm_states import STATE
from collectors.slurm.slurm_times import NO_STAMP, STAMP
from collectors.slurm.slurm_values import SPAN

JOB_ID: Final = r"\d+(?:_(?:\d+|\[[^\]]*\]?))?(?:\+\d+)?(?:\.\w+)?\+?"
"""`88213`, `88213_4`, `88213_[5-9%2]`, `88213+1`, each maybe with a step; cut where narrow."""

_STAMPS: Final = ("submit", "eligible", "start", "end")

_SPANS: Final = (
    "elapsed",
    "planned",
    "reserved",
    "totalcpu",
    "usercpu",
    "systemcpu",
    "cputime",
    "suspended",
    "timelimit",
)

_NUMBERS: Final = (
    "elapsedraw",
    "plannedcpuraw",
    "resvcpuraw",
    "cputimeraw",
    "timelimitraw",
    "alloccpus",
    "allocnodes",
    "reqcpus",
    "reqnodes",
    "ncpus",
    "nnodes",
    "ntasks",
    "uid",
    "gid",
    "dbindex",
    "associd",
    "priority",
    "qosraw",
    "restarts",
)

FORMS: Final = {
    "jobid": JOB_ID,
    "jobidraw": JOB_ID,
    "state": rf"(?:{STATE})?",
    "exitcode": r"(?:\d+:\d+)?",
    "derivedexitcode": r"(?:\d+:\d+)?",
    **dict.fromkeys(_STAMPS, rf"(?:{STAMP}|{NO_STAMP})?"),
    **dict.fromkeys(_SPANS, rf"(?:{SPAN}|INVALID|UNLIMITED|Partition_Limit)?"),
    **dict.fromkeys(_NUMBERS, r"\d*"),
}
"""Columns of a strict form and that form."""

FREE_TEXTS: Final = (
    "jobname",
    "comment",
    "admincomment",
    "systemcomment",
    "workdir",
    "submitline",
    "constraints",
    "container",
    "extra",
    "stdin",
    "stdout",
    "stderr",
)
"""Columns that may hold anything, the delimiter and line feeds too."""

_LISTS: Final = ("nodelist", "alloctres", "reqtres", "flags", "reason")
"""Columns that hold commas, which is what some people separate with."""

_PLAIN: Final = (
    "account",
    "avecpu",
    "cluster",
    "group",
    "jobname",
    "nodelist",
    "partition",
    "qos",
    "reason",
    "reqmem",
    "user",
    "maxrss",
    "avevmsize",
    "alloctres",
    "reqtres",
    "flags",
    "layout",
    "failednode",
)  # fmt: skip -- a list of words

NAMES: Final = frozenset((*FORMS, *FREE_TEXTS, *_LISTS, *_PLAIN))
"""Names of columns, in lower case, by which a header is recognised."""

SEPARATOR: Final = "\x1f"
"""What stands for the delimiter while cells are told apart: one character that no text holds."""

HEADER: Final = (
    r"(?i)^\s*(?:[A-Z]+(?:[^A-Z0-9\s]+|\t))*Job_?ID(?:Raw)?(?:(?:[^A-Z0-9\s]+|\t)[A-Z]+)*"
    r"(?:[^A-Z0-9\s]+|\t)?$"
)
"""A line of names with the same signs between them, one of which is JobID."""

_MIN_KNOWN_SHARE: Final = 0.5

_GUESSED: Final = {
    "jobid": JOB_ID,
    "state": STATE,
    "stamp": rf"{STAMP}|{NO_STAMP}",
    "elapsed": SPAN,
    "exitcode": r"\d+:\d+",
}
"""Forms by which a column without a name is known, in the order in which they are tried."""

_MOMENTS: Final = {
    1: ("start",),
    2: ("start", "end"),
    3: ("submit", "start", "end"),
    4: ("submit", "eligible", "start", "end"),
}
"""What so many stamps in a row are: the order in which sacct's users ask for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the rows of a text are laid out.

    Attributes:
        names: The columns in lower case, in their order; one that is not known has its number.
        delimiter: What stands between two cells.
        is_closed: Whether it stands behind the last cell too.
    """

    names: tuple[str, ...]
    delimiter: str
    is_closed: bool = False

    @property
    def width(self) -> int:
        """Return how many cells a whole row has; a closed one ends in an empty one."""
        return len(self.names) + self.is_closed

    @property
    def pattern(self) -> str:
        """Return the pattern of a whole record, its cells in groups named after the columns."""
        parts = [f"(?P<{name}>{self._form(name)})" for name in self.names]
        return f"(?s)^{SEPARATOR.join(parts)}$"

    def _form(self, name: str) -> str:
        if self.is_free(name):
            return ".*?"
        return FORMS.get(name, f"[^{SEPARATOR}]*")

    def is_free(self, name: str) -> bool:
        """Return whether a column may hold the delimiter."""
        return name in FREE_TEXTS or (self.delimiter == "," and name in _LISTS)


def layout_of(header: str) -> Layout | None:
    """Return the layout that a header tells; null if it is no header of sacct.

    Brackets are squeue's: `NODELIST(REASON)`.
    """
    if not re.match(HEADER, header) or "(" in header:
        return None
    text = header.strip(" \r\n")
    names = [name for name in re.split(r"[^A-Za-z_]+|\t", text.replace("Job_ID", "JobID")) if name]
    signs = set(re.findall(r"(?<=[A-Za-z])(?:[^A-Za-z0-9_]+)", text))
    known = sum(name.lower() in NAMES for name in names)
    if len(names) < 2 or known < _MIN_KNOWN_SHARE * len(names) or not signs:  # noqa: PLR2004 -- two cells make a row
        return None
    delimiter = min(signs, key=len)
    lowered = [name.lower() for name in names]
    unique = [name if name not in lowered[:at] else f"again{at}" for at, name in enumerate(lowered)]
    return Layout(names=tuple(unique), delimiter=delimiter, is_closed=text.endswith(tuple(signs)))


def guess_layout(lines: pl.Series) -> Layout | None:
    """Return the layout of a text without a header, by the forms of its cells; null if none fits.

    Args:
        lines: Lines of a text whose cells stand between `|`; each begins with a job's number.
    """
    cells = lines.str.split("|")
    count = cells.list.len().mode().min()
    if not isinstance(count, int) or count < 2:  # noqa: PLR2004 -- two cells make a row
        return None
    rows = cells.filter(cells.list.len() == count)
    kinds = [_kind(rows.list.get(at), at) for at in range(count)]
    if kinds[0] != "jobid" or "state" not in kinds:
        return None
    return Layout(names=tuple(_named(kinds)), delimiter="|")


def _kind(cells: pl.Series, at: int) -> str:
    """Return the kind of a column: the first whose form all of its cells have."""
    said = cells.filter(cells != "")
    for kind, form in _GUESSED.items():
        is_telling = kind != "stamp" or said.str.contains(rf"^(?:{STAMP})$").any()
        if said.len() and said.str.contains(rf"^(?:{form})$").all() and is_telling:
            return kind
    return f"column{at}"


def _named(kinds: Sequence[str]) -> list[str]:
    """Return a name for each column, each name once."""
    moments = iter(_MOMENTS.get(kinds.count("stamp"), ()))
    names: list[str] = []
    for at, kind in enumerate(kinds):
        name = next(moments, f"column{at}") if kind == "stamp" else kind
        names.append(name if name not in names else f"column{at}")
    if len(kinds) > 1 and names[1].startswith("column"):
        names[1] = "jobname"
    return names
