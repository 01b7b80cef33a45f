"""JSON lines as live jobs leave them: torn tails, glued objects, `NaN` where JSON has no such word.

The rules that live files break: formats of metric stores (JSONL: torn last line, `}{` after a
kill, `NaN` and `Infinity` tokens, keys that differ by line).
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

MAX_LINE_BYTES: Final = 65_536
"""A longer line is no record of ours; it is rejected unread."""

_POSITIONS: Final[dict[str, type[pl.DataType]]] = {"position": pl.Int64, "text": pl.String}

_NOT_JSON_NUMBER: Final = r"([:\[,]\s*)([-+]?(?:[Nn]a[Nn]|[Ii]nf(?:inity)?))(\s*[,}\]])"
"""A bare NaN or infinity as Python and others print it; quoted, it is JSON."""


def read_json_lines(data: bytes, fields: Iterable[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the objects in a JSON-lines text and the pieces that are none.

    Args:
        data: The bytes of a file; what is not UTF-8 becomes replacement characters.
        fields: The keys to take out of each object; a key that an object lacks is null.

    Returns:
        Two frames in the order of the text. Objects: `position` (line number from 1), `text`, and
        each field as text (numbers in their shortest form). Rejects: `position`, `text`, `reason`.
        Two objects on one line are two rows of one position.
    """
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(fields, pl.String)
    lines = _lines_of(data)
    fits = pl.col("text").str.len_bytes() <= MAX_LINE_BYTES
    usable = lines.filter(fits)
    rejects = [_rejected(lines.filter(~fits), "longer than 64 KiB")]
    objects = _decode(usable, schema)
    if objects is None:
        good, bad = _mend(usable)
        objects = _pick(good, schema)
        rejects.append(_rejected(bad, "no JSON object"))
    return objects, pl.concat(rejects).sort("position", maintain_order=True)


def _lines_of(data: bytes) -> pl.DataFrame:
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\0", "")
    return (
        pl.DataFrame({"text": text.split("\n")}, schema={"text": pl.String})
        .with_row_index("position", offset=1)
        .select(pl.col("position").cast(pl.Int64), pl.col("text").str.strip_chars())
        .filter(pl.col("text") != "")
    )


def _rejected(lines: pl.DataFrame, reason: str) -> pl.DataFrame:
    return lines.select("position", "text", pl.lit(reason).alias("reason"))


def _decode(lines: pl.DataFrame, schema: dict[str, type[pl.DataType]]) -> pl.DataFrame | None:
    """Return the lines with their fields, or null if one of them is not an object."""
    if not lines["text"].str.starts_with("{").all():
        return None
    if lines.is_empty():
        return pl.DataFrame(schema=_POSITIONS | schema)
    body = lines["text"].str.join("\n").item().encode()
    try:
        fields = pl.read_ndjson(body, schema=schema)
    except pl.exceptions.ComputeError:
        return None
    return lines.hstack(fields) if fields.height == lines.height else None


def _is_object() -> pl.Expr:
    """Return whether the text is one JSON object; a broken text has no path in it."""
    whole = pl.col("text").str.json_path_match("$")
    return pl.col("text").str.starts_with("{") & whole.is_not_null()


def _mend(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the lines that are objects, some after repair, and the pieces beyond repair."""
    marked = lines.with_columns(_is_object().alias("good"))
    good, broken = marked.filter("good"), marked.filter(~pl.col("good"))
    quoted = pl.col("text")
    for _ in range(2):
        quoted = quoted.str.replace_all(_NOT_JSON_NUMBER, '${1}"${2}"${3}')
    quoted_lines = broken.with_columns(quoted).with_columns(_is_object().alias("good"))
    pieces = (
        quoted_lines.filter(~pl.col("good"))
        .with_columns(pl.col("text").str.replace_all("{", "\n{", literal=True).str.split("\n"))
        .explode("text", empty_as_null=True)
        .with_columns(pl.col("text").str.strip_chars())
        .filter(pl.col("text") != "")
        .with_columns(_is_object().alias("good"))
    )
    whole = pl.concat([good, quoted_lines.filter("good"), pieces.filter("good")])
    rest = pieces.filter(~pl.col("good")).drop("good")
    return whole.drop("good").sort("position", maintain_order=True), rest


def _pick(lines: pl.DataFrame, schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    """Return the lines with their fields, by the lenient parser that found them whole."""
    text = pl.col("text")
    fields = {name: text.str.json_path_match(f"$['{name}']") for name in schema}
    return lines.with_columns(**fields)
