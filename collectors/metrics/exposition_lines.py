"""From lines of an exposition page to points: the grammar of samples, label sets and comments.

Source: Prometheus exposition format and OpenMetrics 1.0. We differ where live exporters do: one
bad line costs that line, and what TYPE claims is ignored.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.metrics.series import IDENTITIES, POINTS, value_columns
from collectors.readings import MAX_REJECT_CHARACTERS
from collectors.texts.blanks import word_reason

MAX_MICROSECONDS: Final = 9e18

REPEATS: Final = schema_of(
    {"keyword": pl.String, "name": pl.String, "count": pl.Int32, "position": pl.Int64}
)
"""A HELP or TYPE that was given `count` times; `position` is the line of the second."""

HEADS: Final = schema_of(
    {"head": pl.String, "series": pl.UInt32, "whole": pl.String, "problem": pl.String}
)
"""Name and labels of a series as `split_samples` cuts them, and as they stand in the line; what is
wrong with them, null if nothing."""

_NO_REJECTS: Final = schema_of(
    {"position": pl.Int64, "text": pl.String, "reason": pl.String}
).to_frame()

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_NAME: Final = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL: Final = rf"[a-zA-Z_][a-zA-Z0-9_]*\s*=\s*{_QUOTED}"
_LINE: Final = rf'^({_NAME}(?:\s*\{{(?:[^"}}]|{_QUOTED})*\}}|\s))\s*(\S+)\s*(.*)$'
_TAIL: Final = r"^(?:[^{]*\{.*\}|\S+\s)\s*(.*?)(?:\s+\d{9,})?$"
_HEAD: Final = rf"^{_NAME}\s*(?:\{{\s*(?:{_LABEL}\s*,\s*)*(?:{_LABEL}\s*)?\}})?$"
_EXEMPLAR: Final = r"\s*#\s.*$"
"""What an OpenMetrics line may have after its stamp."""

_COMMENT: Final = r"^#\s*(HELP|TYPE)\s+(\S+)"


def lines_of(data: bytes, offset: int) -> pl.DataFrame:
    """Return lines as `position`, counted from `offset`, and `line` without blanks around it."""
    is_plain = data.isascii() and b"\r" not in data and b"\t" not in data
    text = data if is_plain else data.decode("utf-8", errors="replace").encode()
    lines = pl.read_lines(text, name="line", row_index_name="position", row_index_offset=offset)
    line = pl.col("line")
    has_edge = line.str.starts_with(" ") | line.str.ends_with(" ")
    if not is_plain or lines.select(has_edge.any()).item():
        lines = lines.with_columns(line.str.strip_chars(" \t\r\ufeff"))
    return lines.with_columns(pl.col("position").cast(pl.Int64))


def declared(lines: pl.DataFrame) -> pl.DataFrame:
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


def split_samples(lines: pl.DataFrame) -> pl.DataFrame:
    """Return sample lines as `position`, `line`, `head`, `text` (the value), `stamp`.

    Nearly all lines end their labels at the only brace that closes; finding it is several times
    faster than the pattern that knows of quotes. Such a head lacks its brace.
    """
    line = pl.col("line")
    halves = line.str.splitn("} ", 2).struct.rename_fields(["head", "rest"])
    wanted = lines.filter((line != "") & ~line.str.starts_with("#"))
    samples = wanted.with_columns(halves.alias("halves")).unnest("halves")
    is_plain = samples.select(
        pl.col("rest").is_not_null()
        & ~pl.col("rest").str.contains("}", literal=True)
        & ~pl.col("head").str.contains("}", literal=True)
        & ~line.str.contains("\t", literal=True)
        & ~pl.col("rest").str.contains("#", literal=True)
    ).to_series()
    if is_plain.all():
        return _plain(samples)
    return pl.concat([_plain(samples.filter(is_plain)), _other(samples.filter(~is_plain))]).sort(
        "position"
    )


def _plain(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the parts of lines whose labels end at the first brace that closes."""
    rest = pl.col("rest").str.strip_chars_start(" ").str.splitn(" ", 2)
    parts = rest.struct.rename_fields(["text", "after"])
    return (
        samples.select("position", "line", "head", parts.alias("parts"))
        .unnest("parts")
        .select("position", "line", "head", "text", stamp=_filled(pl.col("after")))
    )


def _other(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the parts of any other line, with the pattern that knows of quotes."""
    parts = pl.col("line").str.extract_groups(_LINE).struct
    return samples.select(
        "position",
        "line",
        head=parts["1"].str.strip_chars(),
        text=parts["2"],
        stamp=_filled(parts["3"].str.replace(_EXEMPLAR, "")),
    )


def _filled(stamp: pl.Expr) -> pl.Expr:
    """Return what follows a value; null if nothing."""
    bare = stamp.str.strip_chars(" ")
    return pl.when(bare != "").then(bare)


def known_heads(heads: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """Return `heads` with the label sets added that came up in `samples`."""
    new = (
        samples.lazy()
        .select("head")
        .drop_nulls()
        .unique(maintain_order=True)
        .join(heads.lazy(), on="head", how="anti", maintain_order="left")
        .with_row_index("series", offset=heads.height)
        .with_columns(whole=_whole_head())
        .with_columns(problem=_head_problem())
        .select(heads.columns)
        .collect()
    )
    return heads.vstack(new)


def _whole_head() -> pl.Expr:
    """Return a head with the brace that `split_samples` has taken off."""
    head = pl.col("head")
    has_open = head.str.contains("{", literal=True)
    return pl.when(has_open & ~head.str.ends_with("}")).then(head + "}").otherwise(head)


def _head_problem() -> pl.Expr:
    keys = pl.element().str.extract(r"^([a-zA-Z0-9_]+)", 1)
    names = pl.col("whole").str.extract_all(_LABEL).list.eval(keys)
    return (
        pl.when(~pl.col("whole").str.contains(_HEAD))
        .then(pl.lit("labels do not follow the grammar"))
        .when(names.list.n_unique() < names.list.len())
        .then(pl.lit("a label is given twice"))
    )


def sort_out(joined: pl.DataFrame, unit: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the block's `POINTS` and its rejects without their source.

    What is a number at a time of a known series, nearly every line, takes no further look.
    """
    value, text, reason = value_columns(pl.col("text"))
    whole = joined.with_columns(
        value,
        text,
        reason.alias("reason"),
        micros=unit,
        is_stamped=pl.col("stamp").is_not_null(),
        page=pl.lit(None, pl.UInt32),
    )
    is_timed = pl.col("micros").abs() < MAX_MICROSECONDS
    is_point = whole.select(
        pl.col("head").is_not_null()
        & pl.col("problem").is_null()
        & pl.col("value").is_not_null()
        & (is_timed.fill_null(value=False) | ~pl.col("is_stamped"))
    ).to_series()
    if is_point.all():
        return _points_of(whole), _NO_REJECTS
    good, bad = _second_look(whole.filter(~is_point))
    points = pl.concat([_points_of(whole.filter(is_point)), good]).sort("position")
    return points, bad


def _points_of(judged: pl.DataFrame) -> pl.DataFrame:
    time = pl.col("micros").round().cast(pl.Int64).cast(TIME)
    return judged.with_columns(time=time).select(POINTS.names())


def _second_look(doubtful: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return points without a value, and rejects, of lines that are no plain sample."""
    is_number = pl.col("value").is_not_null() | pl.col("reason").is_not_null()
    spelled = word_reason(pl.col("line").str.extract(_TAIL, 1))
    micros = pl.col("micros")
    in_range = micros.is_null() | (micros.abs() < MAX_MICROSECONDS)
    problem = (
        pl.when(pl.col("head").is_null())
        .then(pl.lit("no sample: a name, labels and a value were wanted"))
        .when(pl.col("problem").is_not_null())
        .then("problem")
        .when(pl.col("word").is_not_null())
        .then(None)
        .when(~is_number)
        .then(pl.lit("the value is no number"))
        .when(pl.col("is_stamped") & micros.is_null())
        .then(pl.lit("text after the value is no time stamp"))
        .when(~in_range)
        .then(pl.lit("time stamp out of range"))
    )
    judged = (
        doubtful.with_columns(word=pl.when(~is_number).then(spelled))
        .with_columns(wrong=problem)
        .with_columns(micros=pl.when(in_range).then(micros), reason=pl.coalesce("reason", "word"))
    )
    good = _points_of(judged.filter(pl.col("wrong").is_null()))
    cut = pl.col("line").str.head(MAX_REJECT_CHARACTERS)
    bad = judged.filter(pl.col("wrong").is_not_null())
    return good, bad.select("position", text=cut, reason="wrong")


def identities_of(heads: pl.DataFrame) -> pl.DataFrame:
    """Return label sets taken apart.

    Args:
        heads: `HEADS`.
    """
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
        heads.with_columns(
            name=pl.col("whole").str.extract(rf"^({_NAME})", 1),
            labels=pl.col("whole").str.extract_all(_LABEL).list.eval(label),
        )
        .select(IDENTITIES.names())
        .cast(IDENTITIES)
    )
