"""Read the straggler reports of nvidia-resiliency-ext in a log.

Source: formats of progress streams, section 13.1: Lightning's and NeMo's callback, Megatron-Bridge.
A report lists the worst and the best ranks alone, each score cut to two digits; a warning lists all
ranks below the tool's threshold; Bridge prints the least, median and best score instead.
"""

import re
from typing import Final

import polars as pl

from collectors.frames import LABEL
from collectors.identity import canonical_host
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.plain_counts import count_of
from collectors.texts.stamps import iso_time
from collectors.training.score_events import SCORE_KIND, labels, score_rows
from collectors.training.score_texts import Score, number_of, scores_in

SCORE_HINT: Final = (
    r"Rank=\d+ Node=|STRAGGLER DETECTION WARNING|perf_scores|_perf scores: |"
    r"(?:relative|individual) performance:|Straggler report processing time"
)

_HEAD: Final = r"\b(?i:(GPU|section)s?\b[^:]*?) (relative|individual) performance:\s*$"

_EMPTY: Final = r"(?:\]|-|:)\s*$"
"""The end of a log's prefix with nothing behind it: the report begins on the next line."""

_RANK: Final = r"^\s*Rank=(?P<rank>\d+) Node=(?P<host>\S*) Score=(?P<score>\S+)\s*$"

_PLAIN: Final = (
    rf"{_HEAD}|^\s*(?:Worst|Best) performing \d+/\d+ [Rr]anks:|Straggler report processing time:"
)

_WARNING: Final = re.compile(
    r"STRAGGLER DETECTION WARNING: Some (?P<what>GPU|section)s? (?P<how>.*?)\.? "
    r"Affected [^:]*: (?P<who>.*)"
)

_MEMBER: Final = re.compile(r"StragglerId\(rank=(?P<rank>\d+)(?:, node='(?P<node>[^']*)')?\)")

_STATISTICS: Final = re.compile(
    r"(?P<what>gpu|section)_(?P<how>relative|individual)_perf scores: (?P<body>\{.*)"
)

_STATISTIC: Final = re.compile(r"_perf/(?P<name>\w+)['\"]?: (?P<value>[-\w.+]+)")


def read_score_reports(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the scores in a log.

    Args:
        lines: `LINES`.
        options: The zone of stamps that carry none.

    Returns:
        `EVENTS` of kind perf_score: `rank` and `host` of whom the score is, `code` what was scored
        (`gpu relative`, `section individual` ...), `attributes` with `score`; `flagged` where the
        tool warns of the rank; `statistic` (min, median, max) where no rank is named.
    """
    text = pl.col("text")
    is_ours = text.str.contains(SCORE_HINT)
    near = lines.filter(is_ours | is_ours.shift(-1, fill_value=False))
    listed = _listed(near)
    told = near.filter(text.str.contains(r"STRAGGLER DETECTION WARNING|_perf[ _]scores"))
    spoken = [
        _spoken(said).with_columns(line=pl.lit(line, dtype=lines.schema["line"]))
        for line, said in told.select("line", "text").iter_rows()
    ]
    opens = text.str.contains(_EMPTY) & text.str.contains(_HEAD).shift(-1, fill_value=False)
    plain = near.filter(text.str.contains(_PLAIN) | opens)["line"]
    parts = [one for one in (listed, *spoken) if one.height]
    if not parts:
        return LineReading(claimed=plain)
    scores = pl.concat(parts, how="diagonal").sort("line", maintain_order=True)
    own = near.select("line", "position", _time(options))
    events = scores.join(own, on="line", how="left", maintain_order="left")
    claimed = pl.concat([events["line"], plain]).unique().sort()
    return LineReading(
        reading=reading_of(events=events.with_columns(canonical_host(pl.col("host")))),
        claimed=claimed,
    )


def _time(options: ReadOptions) -> pl.Expr:
    """Return the time of each line; a report goes over many, and the last stamp speaks for it."""
    own = iso_time(pl.col("text"), options.time_zone)
    return pl.col("time").fill_null(own).forward_fill().alias("time")


def _listed(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the ranks that a report lists, each under the last head before it."""
    text = pl.col("text")
    head = pl.concat_str(
        text.str.extract(_HEAD, 1).str.to_lowercase(), text.str.extract(_HEAD, 2), separator=" "
    )
    marked = lines.with_columns(code=head.forward_fill()).filter(text.str.contains(_RANK))
    groups = marked.select(text.str.extract_groups(_RANK)).unnest("text")
    known = marked.select("line", "code", message="text").hstack(groups)
    told = [labels(score=number_of(score)) for score in known["score"].to_list()]
    return known.with_columns(
        pl.col("rank").cast(pl.Int64, strict=False),
        kind=pl.lit(SCORE_KIND),
        severity=pl.lit("info"),
        count=pl.lit(1),
        attributes=pl.Series(told, dtype=pl.List(LABEL)),
    ).drop("score")


def _spoken(line: str) -> pl.DataFrame:
    """Return what one line says: scores by rank, ranks warned of, or statistics over all."""
    warning, statistics = _WARNING.search(line), _STATISTICS.search(line)
    if warning is not None:
        return _warned(warning)
    if statistics is not None:
        return _summed(statistics)
    return score_rows(scores_in(line), {})


def _warned(found: re.Match[str]) -> pl.DataFrame:
    how = "relative" if "relative" in found["how"] else "individual"
    code = f"{found['what'].lower()} {how}"
    named = {one["rank"]: one["node"] for one in _MEMBER.finditer(found["who"])}
    ranks = named or dict.fromkeys(re.findall(r"\d+", found["who"]))
    nodes = {rank: node for rank, node in ranks.items() if node}
    known = [rank for rank in map(count_of, ranks) if rank is not None]
    scores = [Score(what=code, rank=rank, score=float("nan")) for rank in known]
    rows = score_rows(scores, nodes)
    told = [labels(flagged="true")] * rows.height
    return rows.with_columns(
        message=pl.lit(found[0][:200]),
        severity=pl.lit("warning"),
        attributes=pl.Series(told, dtype=rows.schema["attributes"]),
    )


def _summed(found: re.Match[str]) -> pl.DataFrame:
    """Return the statistics over all ranks, one row each, of no rank."""
    code = f"{found['what']} {found['how']}"
    values = [(one["name"], number_of(one["value"])) for one in _STATISTIC.finditer(found["body"])]
    scores = [Score(what=code, rank=0, score=value) for _, value in values]
    told = [labels(score=value, statistic=name) for name, value in values]
    rows = score_rows(scores, {})
    return rows.with_columns(
        rank=pl.lit(None, dtype=pl.Int64),
        message=pl.lit(found[0][:200]),
        attributes=pl.Series(told, dtype=rows.schema["attributes"]),
    )
