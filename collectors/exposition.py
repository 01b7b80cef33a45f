"""Read pages of Prometheus text exposition and OpenMetrics into series.

Source: Prometheus exposition format and OpenMetrics 1.0. We differ where live exporters do: one
bad line costs that line, a repeated HELP or TYPE is a warning, and what TYPE claims is ignored.
Time stamps are whole milliseconds, on OpenMetrics pages (`# EOF`) seconds. A page without time
stamps has null times: when it was taken is not in it, and the file's own date is not evidence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl

from collectors.blanks import word_reason
from collectors.frames import REJECTS, TIME, conform, schema_of
from collectors.readings import MAX_REJECT_CHARACTERS
from collectors.series import IDENTITIES, POINTS, Series, number_pages, value_columns

BLOCK_BYTES: Final = 32 * 1024 * 1024
"""Read at once; memory is a few times this and what the points take."""

MIN_MILLISECONDS: Final = 1e11
"""An OpenMetrics stamp from here on is in milliseconds after all: in seconds it is year 5138."""

MAX_MICROSECONDS: Final = 9e18

REPEATS: Final = schema_of(
    {"keyword": pl.String, "name": pl.String, "count": pl.Int32, "position": pl.Int64}
)
"""A HELP or TYPE that was given `count` times; `position` is the line of the second."""

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_NAME: Final = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL: Final = rf"[a-zA-Z_][a-zA-Z0-9_]*\s*=\s*{_QUOTED}"
_LINE: Final = rf'^({_NAME}(?:\s*\{{(?:[^"}}]|{_QUOTED})*\}}|\s))\s*(\S+)\s*(.*)$'
_TAIL: Final = r"^(?:[^{]*\{.*\}|\S+\s)\s*(.*?)(?:\s+\d{9,})?$"
_HEAD: Final = rf"^{_NAME}\s*(?:\{{\s*(?:{_LABEL}\s*,\s*)*(?:{_LABEL}\s*)?\}})?$"
_COMMENT: Final = r"^#\s*(HELP|TYPE)\s+(\S+)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a file in exposition format holds.

    Attributes:
        series: The points and their label sets.
        rejects: `REJECTS`, one row a line that is no sample.
        repeats: `REPEATS`.
    """

    series: Series
    rejects: pl.DataFrame
    repeats: pl.DataFrame


def read_page(path: Path, source: str) -> Page:
    """Return the series in the file at `path`.

    Args:
        path: A text file in exposition format, one scrape or many below each other.
        source: The name to quote in rejects.

    Returns:
        The page; each line that is neither empty nor a comment is a point or a reject, but for
        an untimed line that repeats the one before it.
    """
    heads = pl.DataFrame(schema={"head": pl.String, "series": pl.UInt32, "problem": pl.String})
    points, rejects, comments = [POINTS.to_frame()], [REJECTS.to_frame()], [REPEATS.to_frame()]
    with path.open("rb") as stream:
        to_microseconds = _stamp_unit(stream)
        for lines in _line_blocks(stream):
            comments.append(_declared(lines))
            samples = _split(lines)
            heads = _known(heads, samples)
            joined = samples.join(heads, on="head", how="left", maintain_order="left")
            good, bad = _sort_out(joined, to_microseconds)
            points.append(good)
            rejects.append(
                conform(bad.lazy().with_columns(source=pl.lit(source)), REJECTS).collect()
            )
    kept = number_pages(pl.concat(points))
    return Page(
        series=Series(points=kept, identities=_identities(heads, kept)),
        rejects=pl.concat(rejects).with_columns(source=pl.lit(source)),
        repeats=_repeats(comments, kept),
    )


def _stamp_unit(stream: BinaryIO) -> pl.Expr:
    """Return how a time stamp of this file becomes microseconds."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - 64))
    is_open_metrics = b"# EOF" in stream.read()
    stream.seek(0)
    stamp = pl.col("stamp").cast(pl.Float64, strict=False)
    if not is_open_metrics:
        return stamp * 1e3
    return pl.when(stamp.abs() < MIN_MILLISECONDS).then(stamp * 1e6).otherwise(stamp * 1e3)


def _line_blocks(stream: BinaryIO) -> Iterator[pl.DataFrame]:
    """Yield the file's lines as `position`, `line`, a block at a time and never half a line."""
    rest, offset = b"", 1
    while block := stream.read(BLOCK_BYTES):
        data = rest + block
        cut = data.rfind(b"\n") + 1
        rest = data[cut:]
        if cut:
            lines = _lines_of(data[:cut], offset)
            offset += lines.height
            yield lines
    if rest:
        yield _lines_of(rest, offset)


def _lines_of(data: bytes, offset: int) -> pl.DataFrame:
    text = data.decode("utf-8", errors="replace").encode()
    return (
        pl.read_lines(text, name="line", row_index_name="position", row_index_offset=offset)
        .with_columns(pl.col("line").str.strip_chars(" \t\r\ufeff"))
        .with_columns(pl.col("position").cast(pl.Int64))
    )


def _declared(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the names that HELP and TYPE lines speak of, with how often they do."""
    parts = pl.col("line").str.extract_groups(_COMMENT).struct
    return (
        lines.lazy()
        .filter(pl.col("line").str.starts_with("#"))
        .select("position", keyword=parts["1"], name=parts["2"])
        .drop_nulls("name")
        .group_by("keyword", "name", maintain_order=True)
        .agg(count=pl.len(), position=pl.col("position").get(1, null_on_oob=True))
        .cast(REPEATS)
        .collect()
    )


def _split(lines: pl.DataFrame) -> pl.DataFrame:
    """Return sample lines as `position`, `line`, `head`, `text` (the value), `stamp`.

    Nearly all lines end their labels at the only brace that closes; finding it is several times
    faster than the pattern that knows of quotes.
    """
    line = pl.col("line")
    samples = lines.lazy().filter((line != "") & ~line.str.starts_with("#"))
    is_plain = (
        (line.str.count_matches("}", literal=True) == 1)
        & line.str.contains("} ", literal=True)
        & ~line.str.contains("\t", literal=True)
    )
    halves, rest = pl.col("halves").struct, pl.col("rest").struct
    plain = (
        samples.filter(is_plain)
        .with_columns(halves=line.str.splitn("} ", 2))
        .with_columns(rest=halves["field_1"].str.strip_chars_start(" ").str.splitn(" ", 2))
        .select(
            "position",
            "line",
            head=pl.concat_str(halves["field_0"], pl.lit("}")),
            text=rest["field_0"],
            stamp=_stamp(rest["field_1"]),
        )
    )
    parts = pl.col("parts").struct
    other = (
        samples.filter(~is_plain)
        .with_columns(parts=line.str.extract_groups(_LINE))
        .select(
            "position",
            "line",
            head=parts["1"].str.strip_chars(),
            text=parts["2"],
            stamp=_stamp(parts["3"]),
        )
    )
    return pl.concat([plain, other]).sort("position").collect()


def _stamp(rest: pl.Expr) -> pl.Expr:
    """Return what follows a value, without the exemplar of an OpenMetrics line; null if nothing."""
    stamp = rest.str.replace(r"\s*#\s.*$", "").str.strip_chars(" ")
    return pl.when(stamp != "").then(stamp)


def _known(heads: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """Return `heads` with the label sets added that came up in `samples`."""
    new = (
        samples.lazy()
        .select("head")
        .drop_nulls()
        .unique(maintain_order=True)
        .join(heads.lazy(), on="head", how="anti", maintain_order="left")
        .with_row_index("series", offset=heads.height)
        .with_columns(problem=_head_problem())
        .select("head", "series", "problem")
        .collect()
    )
    return heads.vstack(new)


def _head_problem() -> pl.Expr:
    keys = pl.element().str.extract(r"^([a-zA-Z0-9_]+)", 1)
    names = pl.col("head").str.extract_all(_LABEL).list.eval(keys)
    return (
        pl.when(~pl.col("head").str.contains(_HEAD))
        .then(pl.lit("labels do not follow the grammar"))
        .when(names.list.n_unique() < names.list.len())
        .then(pl.lit("a label is given twice"))
    )


def _sort_out(joined: pl.DataFrame, stamp: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the block's `POINTS` and its rejects without their source."""
    value, text, reason = value_columns(pl.col("text"))
    is_number = value.is_not_null() | reason.is_not_null()
    word = pl.col("word")
    in_range = stamp.is_null() | (stamp.abs() < MAX_MICROSECONDS)
    problem = (
        pl.when(pl.col("head").is_null())
        .then(pl.lit("no sample: a name, labels and a value were wanted"))
        .when(pl.col("problem").is_not_null())
        .then("problem")
        .when(word.is_not_null())
        .then(None)
        .when(~is_number)
        .then(pl.lit("the value is no number"))
        .when(pl.col("stamp").is_not_null() & stamp.is_null())
        .then(pl.lit("text after the value is no time stamp"))
        .when(~in_range)
        .then(pl.lit("time stamp out of range"))
    )
    time = pl.when(in_range).then(stamp).round().cast(pl.Int64, strict=False).cast(TIME)
    spelled = (
        joined.lazy()
        .filter(~is_number)
        .select("position", word=word_reason(pl.col("line").str.extract(_TAIL, 1)))
    )
    told = joined.lazy().join(spelled, on="position", how="left", maintain_order="left")
    judged = told.with_columns(
        value,
        text,
        pl.coalesce(reason, pl.when(~is_number).then(word)).alias("reason"),
        time=time,
        page=pl.lit(None, pl.UInt32),
        wrong=problem,
    )
    cut = pl.col("line").str.head(MAX_REJECT_CHARACTERS)
    good = judged.filter(pl.col("wrong").is_null()).select(POINTS.names())
    bad = judged.filter(pl.col("wrong").is_not_null())
    rejects = bad.select("position", text=cut, reason="wrong")
    return good.collect(), rejects.collect()


def _identities(heads: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Return the label sets that have points, taken apart."""
    element = pl.element()
    value = element.str.extract(r'(?s)=\s*"(.*)"$', 1)
    plain = (
        value.str.replace_all(r"\\", "\0", literal=True)
        .str.replace_all(r"\"", '"', literal=True)
        .str.replace_all(r"\n", "\n", literal=True)
        .str.replace_all("\0", "\\", literal=True)
    )
    label = pl.struct(
        element.str.extract(r"^([a-zA-Z0-9_]+)", 1).alias("key"), plain.alias("value")
    )
    return (
        heads.join(points, on="series", how="semi", maintain_order="left")
        .with_columns(
            name=pl.col("head").str.extract(rf"^({_NAME})", 1),
            labels=pl.col("head").str.extract_all(_LABEL).list.eval(label),
        )
        .select(IDENTITIES.names())
        .cast(IDENTITIES)
    )


def _repeats(comments: list[pl.DataFrame], points: pl.DataFrame) -> pl.DataFrame:
    """Return declarations that came again; in a history of many scrapes that is no fault."""
    times = points["time"]
    if times.n_unique() > 1:
        return REPEATS.to_frame()
    return (
        pl.concat(comments)
        .group_by("keyword", "name", maintain_order=True)
        .agg(pl.col("count").sum(), pl.col("position").drop_nulls().first())
        .filter(pl.col("count") > 1)
        .cast(REPEATS)
    )
