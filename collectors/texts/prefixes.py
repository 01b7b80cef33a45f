"""Peel launcher prefixes off log lines, in any order, until none fits.

Source: formats of NCCL and PyTorch-distributed logs, section 1.2, one row of that table each. The
first prefix that gives a column wins it: the outermost names the printer's time and host best.
"""

import re
from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.texts.ascii_patterns import ascii_pattern
from collectors.texts.browser_clock import kibana_time
from collectors.texts.few_texts import has_match, matches
from collectors.texts.file_places import are_of_one_file, file_number, file_numbers
from collectors.texts.stamps import iso_time

MAX_ROUNDS: Final = 6
"""Stacks of launchers deeper than this have not been seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """One launcher's prefix.

    Attributes:
        pattern: Anchored; its named groups are the columns it gives.
        min_share: The share of lines that must have it before any is believed; labels that could
            be plain text need nearly all.
    """

    pattern: str
    min_share: float = 0.0


_STAMP: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?"

_RECORD: Final = r"(?P<rest>\[(?:rank|default|trainer)\d+\]:|:::MLLOG|\S+:\d+:\d+ \[)"
"""How the records begin that may follow a prefix too weak to be believed alone."""

PREFIXES: Final = (
    Prefix(pattern=r"^(?:\x1b?\[\d{1,3}(?:;\d{1,3})*m ?)+"),
    Prefix(pattern=r"^\[rank(?P<rank>\d+)\]:? ?"),
    Prefix(pattern=r"^\[pod/(?P<host>[^/\]]+)/[^\]]+\] ?"),
    Prefix(pattern=r"^\[[A-Za-z_][A-Za-z0-9_.-]*?(?P<local_rank>\d+)\]: ?"),
    Prefix(
        pattern=r"^(?:(?P<time>\d\S*?):? )?\[[^,\[\]]+,(?P<task>\d+)\]"
        r"(?:\[(?P<host>[^:\[\]]+):[^\[\]]+\])?<(?:stdout|stderr|stddiag)>: ?"
    ),
    Prefix(
        pattern=r"^(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))(?::? |\t)"
    ),
    Prefix(pattern=r"^\([^()]*?pid=\d+(?:, ip=(?P<host>[0-9A-Fa-f:.]+))?\) ?"),
    Prefix(pattern=rf"^(?P<time>{_STAMP}) (?P<host>[A-Za-z][\w.-]*\d[\w.-]*): "),
    Prefix(pattern=rf"^\[?(?P<time>{_STAMP})\]? (?P<rest>\[(?:rank|default|trainer)\d+\]:)"),
    Prefix(pattern=r"^(?P<kibana>[A-Z][a-z]{2} \d{1,2}, \d{4} @ \d\d:\d\d:\d\d\.\d{3})[\t |]+"),
    Prefix(pattern=rf"^ *(?P<task>\d+): {_RECORD}"),
    Prefix(pattern=r"^ *(?P<task>\d+): ", min_share=0.3),
    Prefix(pattern=r"^\[(?P<task>\d+)\] ", min_share=0.9),
    Prefix(pattern=r"^[a-z][\w.-]*-\d+ +\| ", min_share=0.9),
    Prefix(pattern=r"^(?P<host>[A-Za-z][\w.-]*\d[\w.-]*): ", min_share=0.9),
)
"""Sure ones first. The label of a bare `12: `, `[12] ` or `name: ` is text unless most have it."""

_COUNTER: Final = r"^\[?(\d+)(?:\]|:) "

_MIN_COUNTED_LINES: Final = 20

_MIN_COUNTER: Final = 1000
"""A viewer's line counter rises on every line; short texts are believed when it starts high."""

_REPEATED: Final = r" ?\[repeated (\d+)x across cluster\].*$"

_COLUMN: Final = {"time": "stamp"}
"""Names of groups that are not their column's."""

_ANY: Final = ascii_pattern("|".join(re.sub(r"\(\?P<\w+>", "(?:", one.pattern) for one in PREFIXES))
"""A line without any of them is the usual one, and one look at it is enough."""

_GIVEN: Final = ("stamp", "host", "rank", "local_rank", "task", "kibana")


def peel_prefixes(lines: pl.DataFrame, time_zone: str, among: pl.Series) -> pl.DataFrame:
    """Return the lines without their prefixes and with what those say.

    Args:
        lines: `position`, `text`, with `stamp` (text) and `host` where an outer layer gave them.
        time_zone: IANA zone of stamps that carry none.
        among: Positions of all lines of the text; the others are known to have no prefix.

    Returns:
        The lines with `time` (UTC), `host`, `rank`, `local_rank`, `task` and `repeats`; null is
        not said.
    """
    missing = [name for name in _GIVEN if name not in lines.columns]
    plain = _drop_counter(_counted(lines, among))
    bare = plain.with_columns(pl.lit(None, dtype=pl.String).alias(n) for n in missing)
    if not has_match(bare["text"], _ANY):
        return _finished(bare, time_zone)
    todo, done = bare.with_row_index("order"), list[pl.DataFrame]()
    for _ in range(MAX_ROUNDS):
        before = todo["text"]
        for prefix, files in _present(todo):
            todo = _peel(todo, prefix, files)
        changed = todo["text"] != before
        done.append(todo.filter(~changed))
        todo = todo.filter(changed)
        if todo.is_empty():
            break
    return _finished(pl.concat([*done, todo]).sort("order").drop("order"), time_zone)


def _counted(lines: pl.DataFrame, among: pl.Series) -> pl.DataFrame:
    """Return lines with the number of their `file`, and how many lines it has: `file_lines`.

    Those are all lines of the text, or the pieces of them that are left, whichever are more.
    """
    numbered = lines.with_columns(file_number())
    if are_of_one_file(among):
        return numbered.with_columns(file_lines=pl.lit(max(len(among), lines.height), pl.UInt32))
    ends = file_numbers(among).rle().struct.unnest()
    sizes = ends["len"].gather(ends["value"].search_sorted(numbered["file"]))
    pieces = pl.len().over("file")
    return numbered.with_columns(file_lines=pl.max_horizontal(sizes, pieces))


def _finished(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    counted = _with_repeats(lines).with_columns(
        pl.col("rank", "local_rank", "task").cast(pl.Int32, strict=False),
        time=pl.lit(None, dtype=TIME),
    )
    if counted["stamp"].null_count() < counted.height:
        counted = counted.with_columns(time=iso_time(pl.col("stamp"), time_zone))
    if counted["kibana"].null_count() < counted.height:
        viewed = kibana_time(lines, time_zone)
        counted = counted.with_columns(time=pl.col("time").fill_null(viewed))
    return counted.drop("file", "file_lines")


def _with_repeats(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines without Ray's mark of equal ones left out, and with how many those are."""
    if not lines["text"].str.contains("x across cluster]", literal=True).any():
        return lines.with_columns(repeats=pl.lit(None, dtype=pl.Int32))
    return lines.with_columns(
        pl.col("text").str.replace(_REPEATED, ""),
        repeats=pl.col("text").str.extract(_REPEATED).cast(pl.Int32, strict=False),
    )


def _drop_counter(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines without the line numbers of a viewer, which rise from line to line."""
    whole = lines.filter(pl.len().over("file") == pl.col("file_lines"))
    may_count = whole.filter(pl.col("text").str.contains(_COUNTER).all().over("file"))
    if may_count.is_empty():
        return lines
    count = pl.col("text").str.extract(_COUNTER).cast(pl.Int64, strict=False)
    is_rising = (count.null_count() == 0) & (count.diff().drop_nulls() > 0).all() & (pl.len() > 1)
    is_sure = (pl.len() >= _MIN_COUNTED_LINES) | (count.first() >= _MIN_COUNTER)
    files = may_count.group_by("file").agg(is_counted=is_rising & is_sure).filter("is_counted")
    bare = pl.col("text").str.replace(_COUNTER, "")
    is_counted = pl.col("file").is_in(files["file"].implode())
    return lines.with_columns(pl.when(is_counted).then(bare).otherwise("text").alias("text"))


def _present(lines: pl.DataFrame) -> list[tuple[Prefix, pl.Series | None]]:
    """Return the prefixes that any line has, and in which files; null is all."""
    texts = lines["text"]
    if are_of_one_file(lines["position"]):
        return [(prefix, None) for prefix in PREFIXES if has_match(texts, prefix.pattern)]
    found = [(prefix, matches(texts, prefix.pattern)) for prefix in PREFIXES]
    return [(prefix, lines["file"].filter(fits).unique()) for prefix, fits in found if fits.any()]


def _peel(lines: pl.DataFrame, prefix: Prefix, files: pl.Series | None) -> pl.DataFrame:
    """Return the lines without one prefix, in files in which enough of them have it."""
    pattern = ascii_pattern(prefix.pattern)
    fits = lines["text"].str.contains(pattern)
    if files is not None:
        fits &= lines["file"].is_in(files.implode())
    if prefix.min_share:
        enough = pl.col("fits").sum().over("file") >= prefix.min_share * pl.col("file_lines")
        fits &= lines.with_columns(fits=fits).select(enough).to_series()
    if not fits.any():
        return lines
    given, keep = _groups(prefix.pattern)
    found = lines.select(
        pl.when(fits).then(pl.col("text").str.extract(pattern, at)).alias(name)
        for name, at in given.items()
    )
    rest = pl.when(fits).then(pl.col("text").str.replace(pattern, keep))
    return lines.with_columns(
        *(pl.col(name).fill_null(found[name]) for name in given), text=rest.otherwise("text")
    )


def _groups(pattern: str) -> tuple[dict[str, int], str]:
    """Return the columns that a pattern's groups give, and what of its text stays."""
    numbers = re.compile(pattern).groupindex
    given = {_COLUMN.get(name, name): at for name, at in numbers.items() if name != "rest"}
    return given, "${rest}" if "rest" in numbers else ""
