"""Cut tables whose header stands on a line of dashes: the dashes say where each column is.

Source: the `simple` layout of python-tabulate, which SONiC's commands print. Cells may hold blanks
(`44.10 MB/s`), so only the dashes can tell where one ends.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of

RULE: Final = r"^\s*-+(?:\s+-+)+\s*$"

CELLS: Final = schema_of(
    {
        "table": pl.UInt32,
        "position": pl.Int64,
        "header": pl.Int64,
        "key": pl.String,
        "column": pl.String,
        "at": pl.UInt32,
        "cell": pl.String,
    }
)
"""One cell of a row. `table` numbers the tables, `header` is the position of its header, `key` the
cell in the first column, `at` counts the columns from 0."""


def table_rows(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of tables, with `table`, `header` (its position), `names` and `rule`.

    Args:
        lines: `CAPTURED`. A table is a line, a rule below it and the lines from there to the next
            mark, table or blank line of the file.

    Returns:
        The rows of tables alone: neither headers nor rules. A table's rows have no gap between
        their positions.
    """
    text = pl.col("text")
    is_rule = text.str.contains(RULE)
    is_header = is_rule.shift(-1).fill_null(value=False) & ~is_rule & ~pl.col("is_mark")
    gap = pl.col("position").diff().fill_null(1) > 1
    starts = is_header | pl.col("is_mark") | gap
    run = starts.cum_sum()
    return (
        lines.with_columns(is_header=is_header, run=run)
        .with_columns(
            names=text.first().over("run"),
            rule=text.get(1, null_on_oob=True).over("run"),
            header=pl.col("position").first().over("run"),
            ruled=pl.col("is_header").first().over("run"),
            row=pl.int_range(pl.len()).over("run"),
        )
        .filter("ruled", pl.col("row") > 1, ~is_rule)
        .with_columns(table=pl.col("run").rle_id())
        .drop("is_header", "run", "ruled", "row")
    )


def table_cells(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of table rows.

    Args:
        rows: What `table_rows` returns.

    Returns:
        `CELLS`, by position and column. A torn row has none. A row that is shifted
        against its columns is cut at runs of blanks, if that gives as many cells.
    """
    parts = [
        _cut(group, str(names), str(rule))
        for (names, rule), group in rows.group_by("names", "rule", maintain_order=True)
    ]
    cells = pl.concat([CELLS.to_frame(), *parts])
    return cells.sort("position", "at", maintain_order=True)


def _cut(rows: pl.DataFrame, names: str, rule: str) -> pl.DataFrame:
    spans = _spans(rule)
    columns = [names[start:stop].strip() for start, stop in spans]
    text = pl.col("text")
    last = spans[-1][0]
    is_cut_well = pl.all_horizontal(
        pl.lit(value=True),
        *(text.str.slice(start - 2, 2).str.contains(r"^\s{0,2}$") for start, _ in spans[1:]),
    )
    is_whole = (text.str.len_chars() >= len(rule)) | (text.str.slice(last, 1) > " ")
    fixed = pl.concat_list(
        text.str.slice(start, None if stop is None else stop - start).str.strip_chars()
        for start, stop in spans
    )
    loose = text.str.strip_chars().str.replace_all(r"\s{2,}", "\t").str.split("\t")
    is_loose = ~is_cut_well & (loose.list.len() == len(spans))
    cells = pl.when(is_cut_well & is_whole).then(fixed).when(is_loose).then(loose)
    return (
        rows.select("table", "position", "header", cell=cells)
        .drop_nulls("cell")
        .with_columns(
            key=pl.col("cell").list.first(),
            column=pl.lit(pl.Series([columns])).first(),
            at=pl.lit(pl.Series([range(len(columns))], dtype=pl.List(pl.UInt32))).first(),
        )
        .explode("cell", "column", "at")
        .select(CELLS.names())
    )


def _spans(rule: str) -> list[tuple[int, int | None]]:
    """Return where each column starts and stops: from its dashes to those of the next."""
    starts = [
        at for at, sign in enumerate(rule) if sign == "-" and (at == 0 or rule[at - 1] != "-")
    ]
    return list(zip(starts, [*starts[1:], None], strict=True))
