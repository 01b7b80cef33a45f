"""Turn log texts into events by a table of phrases: the first that fits a text names it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.texts.ascii_patterns import ascii_pattern
from collectors.texts.few_texts import has_match, names_digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A text that a program is known to print.

    Attributes:
        kind: The event's kind.
        pattern: Searched in the text. Groups named `code`, `peer`, `device`, `rank` and `host`
            fill the columns of these names.
        severity: info, warning, error or critical; cascades are warnings.
        code: The event's code where the text holds none.
        device_kind: What `device` names; kept only where a device is named.
    """

    kind: str
    pattern: str
    severity: str = "info"
    code: str | None = None
    device_kind: str | None = None


_GROUPS: Final = ("code", "peer", "device", "rank", "host")

MAX_RECORDS_AT_ONCE: Final = 4096

_ADDED: Final = ("kind", "severity", "code", "peer", "device", "device_kind")


def match_phrases(records: pl.DataFrame, phrases: Sequence[Phrase]) -> pl.DataFrame:
    """Return the records that a phrase fits, as events, in the order of `line`.

    Args:
        records: `line`, `text`, and whatever else is to be kept.
        phrases: The table; the first that fits a text wins.

    Returns:
        The records with `kind`, `severity`, `code`, `peer`, `device`, `device_kind` (all text);
        `rank` and `host` of the text win over those of the record. Null is not said.
    """
    absent = {name: pl.lit(None, dtype=pl.String) for name in (*_ADDED, "host")}
    absent["rank"] = pl.lit(None, dtype=pl.Int32)
    lacking = {name: null for name, null in absent.items() if name not in records.columns}
    rest = records.with_columns(**lacking)
    found = [rest.clear()]
    for phrase in _present(rest, phrases):
        fits = rest["text"].str.contains(ascii_pattern(phrase.pattern))
        if fits.any():
            found.append(_named(rest.filter(fits), phrase))
            rest = rest.filter(~fits)
    return pl.concat(found).sort("line", maintain_order=True)


def _present(records: pl.DataFrame, phrases: Sequence[Phrase]) -> Sequence[Phrase]:
    """Return the phrases worth a look: of few records those that fit any, found all at once.

    Over many records it is quicker to look at each phrase in turn, since those that fit leave.
    """
    if records.height > MAX_RECORDS_AT_ONCE or not phrases:
        return phrases
    texts = records["text"]
    # Texts that differ in their numbers alone are one for all phrases that name no digit.
    shapes = texts.str.replace_all("[0-9]", "0").unique()
    return [
        phrase
        for phrase in phrases
        if has_match(texts if names_digits(phrase.pattern) else shapes, phrase.pattern)
    ]


def _named(hits: pl.DataFrame, phrase: Phrase) -> pl.DataFrame:
    groups = hits.select(pl.col("text").str.extract_groups(ascii_pattern(phrase.pattern))).unnest(
        "text"
    )
    given = {name: groups[name] for name in _GROUPS if name in groups.columns}
    code = pl.lit(phrase.code, dtype=pl.String)
    columns = {
        name: pl.lit(values.cast(hits.schema[name], strict=False)).fill_null(pl.col(name))
        for name, values in given.items()
    }
    return hits.with_columns(
        **{"code": code}
        | columns
        | {"kind": pl.lit(phrase.kind), "severity": pl.lit(phrase.severity)},
    ).with_columns(
        device_kind=pl.when(pl.col("device").is_not_null()).then(
            pl.lit(phrase.device_kind, dtype=pl.String)
        )
    )
