"""Read the Xids of NVLinks: of NVLink 5 (144 to 150) the line says how bad it is, not the number.

Source: formats of GPU and host streams, section 5.3; NVIDIA Xid catalog, sheet of NVLink 5. Raw
words stay as printed: their decoding changed with driver 575.
"""

from typing import Final

import polars as pl

from collectors.hosts.xid_table import line_severity, plain_word

LINK_XIDS: Final = tuple(str(code) for code in range(144, 151))

OLD_LINK_XID: Final = "74"
"""The Xid of NVLinks before the fifth; its line says which link."""

_LINE: Final = (
    r"^(?P<unit>[A-Z0-9_]+)(?:/(?P<sub>\S+))?\s+(?P<severity>(?i:Fatal|Non-?fatal|Correctable))"
    r"\s+XC\s*(?P<contained>\d+)\s+i\s*(?P<injected>\d+)\s+Link\s+(?P<link>-?\d+)\s*"
    r"(?:\((?P<words>[^)]*)\)?)?"
)

_WORD: Final = r"0x[0-9a-fA-F]+"


def _field(message: pl.Expr, code: pl.Expr, name: str) -> pl.Expr:
    found = message.str.extract_groups(_LINE).struct.field(name)
    return pl.when(code.is_in(LINK_XIDS)).then(found)


def _is_injected(message: pl.Expr, code: pl.Expr) -> pl.Expr:
    return _field(message, code, "injected").cast(pl.Int64, strict=False) > 0


def link_severity(message: pl.Expr, code: pl.Expr) -> pl.Expr:
    """Return the severity that a line says; `info` for an injected error, null if it says none."""
    said = line_severity(_field(message, code, "severity"))
    return pl.when(_is_injected(message, code)).then(pl.lit("info")).otherwise(said)


def _subcode(message: pl.Expr, code: pl.Expr) -> pl.Expr:
    """Return the sub-code: six bits of the first word, `(intrInfo >> 20) & 0x3f`."""
    first = _field(message, code, "words").str.extract(r"0x([0-9a-fA-F]{1,8})\b")
    return first.str.to_integer(base=16, dtype=pl.Int64, strict=False) // 2**20 % 64


def link_fold(message: pl.Expr, code: pl.Expr) -> pl.Expr:
    """Return what makes a link's error the same again; null for other lines."""
    names = ("unit", "sub", "severity", "injected", "link")
    parts = [_field(message, code, name).fill_null("") for name in names]
    subcode = _subcode(message, code).cast(pl.String).fill_null("")
    is_link = _field(message, code, "unit").is_not_null()
    return pl.when(is_link).then(pl.concat_str([*parts, subcode], separator="|"))


def link_attributes(message: pl.Expr, code: pl.Expr) -> dict[str, pl.Expr]:
    """Return the attributes of a link's error by name; null for other lines.

    `link` is null for an error of no single link; `words_count` counts whole and cut words.
    """
    old = pl.when(code == OLD_LINK_XID).then(message.str.extract(r"(?i)\blink (\d+)"))
    link = pl.coalesce(_field(message, code, "link"), old).cast(pl.Int64, strict=False)
    words = _field(message, code, "words").str.extract_all(_WORD)
    contained = _field(message, code, "contained").cast(pl.Int64, strict=False)
    return {
        "link_unit": _field(message, code, "unit"),
        "link_sub_unit": _field(message, code, "sub"),
        "line_severity": plain_word(_field(message, code, "severity")),
        "cross_contained": contained,
        "injected": pl.when(_is_injected(message, code)).then(pl.lit("true")),
        "link": pl.when(link >= 0).then(link),
        "subcode": _subcode(message, code),
        "words_count": pl.when(words.list.len() > 0).then(words.list.len()),
        "words": pl.when(words.list.len() > 0).then(words.list.join(" ")),
    }
