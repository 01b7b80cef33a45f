"""Cut the text of sacct into records and cells, and put together what free texts tore apart.

Source: formats of GPU and host streams, section 7.2: rows with too many cells are rejoined at the
free texts, rows with too few with the lines that follow.
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

from collectors.frames import conform, schema_of
from collectors.slurm.sacct_columns import (
    HEADER,
    JOB_ID,
    SEPARATOR,
    Layout,
    guess_layout,
    layout_of,
)

CELL_COLUMNS: Final = (
    "jobid",
    "jobidraw",
    "jobname",
    "user",
    "state",
    "submit",
    "eligible",
    "start",
    "end",
    "elapsed",
    "elapsedraw",
    "planned",
    "reserved",
    "totalcpu",
    "usercpu",
    "systemcpu",
    "exitcode",
    "nodelist",
    "failednode",
    "reason",
    "restarts",
    "ntasks",
    "maxrss",
    "alloctres",
)
"""The columns of sacct that are read, in lower case."""

RECORDS: Final = schema_of(
    {
        "record": pl.Int64,
        "position": pl.Int64,
        "rejoined": pl.Boolean,
        **dict.fromkeys(CELL_COLUMNS, pl.String),
    }
)
"""One record. `record` is the number of its first line that is not blank, `position` that line in
the file; `rejoined` tells one that its own text had torn. A cell is null where there is no such
column, empty where it is empty."""

_RULE: Final = r"^-+(?: +-+)+$"

_START: Final = rf"^\s*{JOB_ID}\W"

MAX_PIECES: Final = 200
"""A free text of more lines is not put together: rather it is a file that lost its rest."""


def read_records(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the records of a text of sacct, and the lines that belong to them.

    Args:
        lines: `PLAIN_LINES`. Each header begins a section of its own; lines above the first one
            belong to none, unless no line is a header and their own forms tell their columns.

    Returns:
        `RECORDS`, and `position` and `record` of every line of a record; a header and its rule
        have a null record.
    """
    text = pl.col("text")
    marked = lines.with_row_index("record").with_columns(
        pl.col("record").cast(pl.Int64), is_rule=text.str.contains(_RULE)
    )
    header = pl.when(text.str.contains(HEADER) | _is_ruled_header()).then(text)
    headed = marked.with_columns(header=header, section=header.is_not_null().cum_sum())
    parts, used = [RECORDS.to_frame()], [_parts_of(headed.clear())]
    if not headed["header"].count():
        layout = guess_layout(lines.filter(text.str.contains(_START))["text"])
        headed = headed.with_columns(section=pl.lit(1) if layout else pl.lit(0))
        sections: list[tuple[Layout | None, pl.DataFrame]] = [(layout, headed)] if layout else []
    else:
        sections = list(_sections(headed))
    for layout, section in sections:
        records, pieces = _ruled(section) if layout is None else _delimited(section, layout)
        heads = section.filter(pl.col("header").is_not_null() | pl.col("is_rule"))
        own = heads.with_columns(record=pl.lit(None, pl.Int64))
        parts.append(records)
        used += [_parts_of(own), _parts_of(pieces)]
    return pl.concat(parts).sort("record"), pl.concat(used).sort("position")


def _parts_of(lines: pl.DataFrame) -> pl.DataFrame:
    return lines.select("position", "record")


def _is_ruled_header() -> pl.Expr:
    """Return whether a line is a header with blanks between names: the next one is its rule."""
    below = pl.col("is_rule").shift(-1).fill_null(value=False)
    return below & pl.col("text").str.contains(r"(?i)^\s*(?:\w+ +)*JobID(?:Raw)?(?: |$)")


def _sections(lines: pl.DataFrame) -> Iterable[tuple[Layout | None, pl.DataFrame]]:
    """Yield the sections of a text with their layouts; that of a ruled table is null.

    Sections under the same header are one: their lines are not neighbours.
    """
    below = lines.with_columns(
        is_ruled=pl.col("is_rule").any().over("section"),
        header=pl.col("header").first().over("section"),
        own="header",
    ).filter(pl.col("section") > 0)
    for (header, is_ruled), section in below.group_by("header", "is_ruled", maintain_order=True):
        layout = None if is_ruled else layout_of(str(header))
        if layout is not None or is_ruled:
            yield layout, section.with_columns(header="own")


def _delimited(section: pl.DataFrame, layout: Layout) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the records of rows with delimiters, and their lines with `record`."""
    rows = section.filter(pl.col("header").is_null())
    text = pl.col("text").str.replace_all(layout.delimiter, SEPARATOR, literal=True)
    counted = rows.with_columns(text, cells=text.str.count_matches(SEPARATOR, literal=True) + 1)
    whole = counted.filter(pl.col("cells") == layout.width)
    torn = counted.filter(pl.col("cells") != layout.width)
    pieces = torn.with_columns(_owners(torn, whole["record"], layout))
    lines = pl.concat([whole, pieces])
    joined = _joined(lines, layout)
    plain = _split(joined.filter(~pl.col("rejoined")), layout)
    mended = _matched(joined.filter("rejoined"), layout)
    records = pl.concat([plain, mended])
    return records, lines.join(records, on="record", how="semi")


def _owners(torn: pl.DataFrame, whole: pl.Series, layout: Layout) -> pl.Series:
    """Return the record of each torn line: that of the first line of its text.

    A loop, over torn lines only: where a record ends depends on where the one before it did.
    """
    width = layout.width
    last_is_free = layout.is_free(layout.names[-1])
    begins: list[bool] = torn["text"].str.contains(rf"^{JOB_ID}{SEPARATOR}").to_list()
    numbers: list[int] = torn["record"].to_list()
    counts: list[int] = torn["cells"].to_list()
    is_first = layout.names[0] in ("jobid", "jobidraw")
    known = set(whole.to_list())
    owners: dict[int, int] = {}
    first, cells = -1, width
    for line, count, start in zip(numbers, counts, begins, strict=True):
        before = line - 1
        goes_on = before in owners and owners[before] == first and line - first < MAX_PIECES
        is_open = goes_on and cells < width
        is_tail = last_is_free and not is_open and (before in known or before in owners)
        if (is_first and start) or not (is_open or is_tail):
            first, cells = line, count
        elif is_open:
            cells += count - 1
        else:
            first, cells = owners.get(before, before), width
        owners[line] = first
    return pl.Series("record", list(owners.values()), dtype=pl.Int64)


def _joined(lines: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Return one row a record, with its whole text; blank lines inside it come back."""
    gap = pl.col("position").diff().fill_null(0).over("record").cast(pl.UInt32)
    texts = lines.sort("record", "position").with_columns(gap=gap)
    breaks = pl.lit("\n").repeat_by("gap").list.join("")
    return (
        texts.with_columns(text=pl.concat_str(breaks, "text"))
        .group_by("record", maintain_order=True)
        .agg(
            pl.col("position").first(),
            pl.col("text").str.join(""),
            rejoined=(pl.len() > 1) | (pl.col("cells").first() != layout.width),
        )
        .with_columns(
            pl.col("text").str.replace(f"{SEPARATOR}$", "") if layout.is_closed else "text"
        )
    )


def _split(rows: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Return `RECORDS` of rows with as many cells as columns; those of no job are left out."""
    cells = pl.col("text").str.split(SEPARATOR)
    named = {name: cells.list.get(at, null_on_oob=True) for at, name in enumerate(layout.names)}
    return _as_records(rows, named)


def _matched(rows: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """Return `RECORDS` of rows whose cells only the forms of the columns can tell apart."""
    found = rows.filter(pl.col("text").str.contains(layout.pattern))
    groups = pl.col("text").str.extract_groups(layout.pattern).struct
    back = {
        name: groups.field(name).str.replace_all(SEPARATOR, layout.delimiter, literal=True)
        for name in layout.names
    }
    return _as_records(found, back)


def _as_records(rows: pl.DataFrame, cells: dict[str, pl.Expr]) -> pl.DataFrame:
    known = {name: cells[name].str.strip_chars() for name in CELL_COLUMNS if name in cells}
    told = rows.lazy().select("record", "position", "rejoined", **known)
    job = pl.coalesce("jobid", "jobidraw")
    return conform(told, RECORDS).filter(job.str.contains(rf"^{JOB_ID}$")).collect()


def _ruled(section: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the records of a table under a line of dashes, whose dashes are its columns."""
    rule = str(section.filter("is_rule")["text"][0])
    header = str(section.filter(pl.col("header").is_not_null())["text"][0])
    starts = [at for at, sign in enumerate(rule) if sign == "-" and rule[max(at - 1, 0)] != "-"]
    starts = sorted({0, *starts})
    spans = [(at, rule.find(" ", at)) for at in starts]
    names = [header[at : end if end > 0 else None].strip().lower() for at, end in spans]
    text = pl.col("text")
    cells = {
        name: text.str.slice(at, end - at if end > 0 else None)
        for name, (at, end) in zip(names, spans, strict=True)
    }
    is_row = pl.col("header").is_null() & ~pl.col("is_rule")
    rows = section.filter(is_row).with_columns(rejoined=pl.lit(value=False))
    records = _as_records(rows, cells)
    return records, rows.join(records, on="record", how="semi")
