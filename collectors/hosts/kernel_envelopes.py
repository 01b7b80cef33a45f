"""Take kernel lines out of what carried them: kmsg, dmesg, syslog, journal.

Source: formats of GPU and host streams, section 5.1; Linux `Documentation/ABI/testing/dev-kmsg`;
dmesg(1) and journalctl(1) for the printed forms; RFC 3164 and RFC 5424. Nothing is looked for at
the first column: each layer is optional, and a line without any is the message itself.
"""

from typing import Final

import orjson
import polars as pl

from collectors.frames import conform, schema_of
from collectors.identity import canonical_host
from collectors.texts.envelope import ANSI

KERNEL_TEXTS: Final = schema_of(
    {
        "line": pl.Int64,
        "position": pl.Int64,
        "given_time": pl.Datetime("us", "UTC"),
        "host": pl.String,
        "iso": pl.String,
        "bsd": pl.String,
        "ctime": pl.String,
        "epoch": pl.String,
        "uptime": pl.Int64,
        "sequence": pl.String,
        "boot": pl.String,
        "program": pl.String,
        "is_continuation": pl.Boolean,
        "message": pl.String,
    }
)
"""One line with its layers apart. `iso`, `bsd` (no year), `ctime` and `epoch` (microseconds) are
stamps as printed; `uptime` is microseconds since boot; `sequence` and `boot` number the record;
`program` printed it, null for the kernel's own buffer. `is_continuation` tells an indented line
without any layer: it goes on with the record before. Null is not said."""

_DAYS: Final = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"

_MONTHS: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"

_ENVELOPE: Final = (
    r"^\s*(?:<\d{1,3}>(?:1 )?)?"
    r"(?:\d{1,3},(?P<sequence>\d{1,19}),(?P<micros>\d{1,16}),[^;]*;)?"
    r"(?:(?:kern|user|mail|daemon|auth|syslog|authpriv|local\d) *: *[a-z]+ *: *)?"
    rf"(?:(?:{_DAYS} )?(?P<iso>\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?) +)?"
    rf"(?P<bsd>(?:\d{{4}} )?{_MONTHS} {{1,2}}\d{{1,2}} \d\d:\d\d:\d\d(?:[.,]\d+)? +)?"
    r"(?P<epoch>1\d{9}\.\d{6} )?"
    r"(?:(?:(?P<via>[A-Za-z][\w.-]*): )?\[ *(?P<early>\d{1,10}\.\d{6})(?: *<[^>]*>)?\] *"
    r"(?:\[ *[TC]\d+\] *)?)?"
    rf"(?:\[(?P<ctime>{_DAYS} {_MONTHS} +\d{{1,2}} \d\d:\d\d:\d\d \d{{4}})\] *)?"
    r"(?:(?:(?P<host>[\w.:-]+) +)?(?P<program>kernel(?:\[\d+\])?|[A-Za-z][\w.@/-]*\[\d+\])"
    r"(?::| - - -) *)?"
    r"(?:\[ *(?P<late>\d{1,10}\.\d{6})\] *(?:\[ *[TC]\d+\] *)?)?"
    r"(?P<message>.*)$"
)

_JSON: Final = {
    "host": "_HOSTNAME",
    "epoch": "__REALTIME_TIMESTAMP",
    "uptime": "__MONOTONIC_TIMESTAMP",
    "printed": "_SOURCE_MONOTONIC_TIMESTAMP",
    "boot": "_BOOT_ID",
    "program": "SYSLOG_IDENTIFIER",
    "message": "MESSAGE",
}

JOURNAL_START: Final = r'^\s*\{.*"(?:__REALTIME_TIMESTAMP|MESSAGE)"\s*:'
"""How a record of the journal in JSON looks from afar."""


def open_envelopes(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with what their layers say and the message inside.

    Args:
        lines: `line`, `position`, `text`, and `time` and `host` where an outer layer told them.

    Returns:
        `KERNEL_TEXTS` in the same order, one row a line; JSON that is torn is a message as it
        stands.
    """
    text = pl.col("text").str.replace_all(ANSI, "").str.strip_chars_end()
    clean = lines.with_columns(text, outer=pl.col("host"), given_time=pl.col("time"))
    is_json = pl.col("text").str.contains(JOURNAL_START)
    plain = _plain(clean.filter(~is_json))
    journal = _journal(clean.filter(is_json))
    return pl.concat([plain, journal]).sort("line")


def _plain(lines: pl.DataFrame) -> pl.DataFrame:
    groups = pl.col("text").str.extract_groups(_ENVELOPE)
    parts = lines.drop("host").hstack(lines.select(groups).unnest("text"))
    seconds = pl.coalesce("late", "early")
    uptime = pl.coalesce(
        pl.col("micros").cast(pl.Int64, strict=False),
        seconds.str.replace(".", "", literal=True).cast(pl.Int64, strict=False),
    )
    layers = ("sequence", "iso", "bsd", "epoch", "early", "ctime", "program", "late")
    return _typed(
        parts.with_columns(
            pl.col("message").str.replace_all(r"\\x0a", " "),
            host=pl.coalesce("host", "via", "outer"),
            uptime=uptime,
            epoch=pl.col("epoch").str.strip_chars().str.replace(".", "", literal=True),
            is_continuation=pl.col("text").str.contains(r"^\s")
            & pl.all_horizontal(pl.col(name).is_null() for name in layers),
        )
    )


def _journal(lines: pl.DataFrame) -> pl.DataFrame:
    fields = [
        pl.col("text").str.json_path_match(f'$["{key}"]').alias(name) for name, key in _JSON.items()
    ]
    parts = lines.drop("host").with_columns(fields)
    message = pl.coalesce(pl.col("message"), pl.col("text"))
    whole = parts.with_columns(message)
    decoded = whole.with_columns(message=_from_bytes(whole["message"]))
    return _typed(
        decoded.with_columns(
            pl.col("message").str.replace_all(r"\s*\n\s*", " "),
            host=pl.coalesce("host", "outer"),
            uptime=pl.coalesce("printed", "uptime").cast(pl.Int64, strict=False),
            is_continuation=pl.lit(value=False),
        )
    )


def _from_bytes(message: pl.Series) -> pl.Series:
    """Return messages that the journal wrote as arrays of bytes as text.

    It does so for what is not clean UTF-8. Polars reads no text out of such bytes, so that these
    few go one by one.
    """
    at = message.str.contains(r"^\[[\d,\s]+\]$").fill_null(value=False).arg_true()
    return message.scatter(at, [_text_of(array) for array in message.gather(at)])


def _text_of(array: str) -> str:
    """Return the text of an array of bytes; an array that is none stays as it is."""
    try:
        return bytes(orjson.loads(array)).decode("utf-8", errors="replace")
    except ValueError:
        return array


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    typed = conform(frame.lazy(), KERNEL_TEXTS)
    return typed.with_columns(canonical_host(pl.col("host"))).collect()
