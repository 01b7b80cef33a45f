"""Mask what differs between two tellings of one failure: stamps, places, numbers; keep its words.

Source: the usual preprocessing of log parsers (He et al., Drain, ICWS 2017, section III), with
codes that tell failures apart (Xid, status, signal, errno) kept as words.
"""

from typing import Final

import polars as pl

_DATE: Final = (
    r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r" +\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?(?: \d{4})?"
)

_MASKS: Final[tuple[tuple[str, str], ...]] = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?", " "),
    (_DATE, " "),
    (r"\[rank ?\d+\]:?|\bkernel:|\b[IWEF]\d{4} [\d:.]+", " "),
    (r"\b[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f])?\b", " "),
    (r"\bs?Xid\b\s*(?:\([^)]*\))?\s*[:=]?\s*(\d+)", " xid xid${1} "),
    (r"\b\d+\.\d+\.\d+\.\d+(?:[:<]\d+>?)?", " "),
    (r"\b[a-z0-9]+://\S*/", " /"),
    (r"(?:[\w.+=%@~-]*/)+([\w.+-]+)", " /${1}"),
    (r"\b0[xX][0-9A-Fa-f]+\b|\b[0-9A-Fa-f]{12,}\b|\b[0-9a-f]*\d[0-9a-f]{7,}\b", " "),
    (
        r"(?i)\b(status|errno|exit ?code|signal|code|error|http)[ :=(\[]{1,3}(-?\d{1,3})\b",
        " ${1} ${1}${2} ",
    ),
    (r"\b(?:[A-Za-z]+\d*[-_.])+\d+\b|\b[a-z]{2,}\d*-\d+\b", " "),
    (r"\b\d+(?:[.,]\d+)*(?:[eE][+-]?\d+|[kKMGT]i?B?|ms|s|%)?\b", " "),
    (r"([a-z])([A-Z])", "${1} ${2}"),
    (r"[^A-Za-z0-9]+", " "),
)
"""What is replaced by what, in this order: dates, printers, buses, Xids, addresses, folders, hex,
codes, numbered names, numbers; then names in one word are taken apart."""


_TELLING: Final = r"(?i)xid|err|exit|signal|status|code|http|warn|fatal|fail"
"""Lines whose numbers may tell failures apart; those of others never do."""


def alike_text(text: pl.Expr) -> pl.Expr:
    """Return texts without the numbers that tell nothing: equal ones have equal masked texts.

    It is much quicker than a mask, and takes the many lines of one step after the other together.

    Args:
        text: Lines of logs. Null stays null.
    """
    bare = text.str.replace_all(r"\d+", "0")
    return pl.when(text.str.contains(_TELLING)).then(text).otherwise(bare)


def masked_text(text: pl.Expr) -> pl.Expr:
    """Return texts as they are compared: lower-case words, without what differs by place and time.

    Args:
        text: Lines of logs; of a block, its telling line. Null stays null.
    """
    for wanted, instead in _MASKS:
        text = text.str.replace_all(wanted, instead)
    return text.str.strip_chars().str.to_lowercase()
