"""The file dialects that hold metrics: exposition pages, API answers, export lines."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import EVENTS, REJECTS, conform
from collectors.metric_mappers import read_series
from collectors.metrics.exposition import read_page
from collectors.metrics.prometheus_answers import Answer, read_answers
from collectors.metrics.series import date_pages
from collectors.readings import Reading, count_lines, join_readings, reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_at
from collectors.texts.templates import filled

_DECLARATION: Final = re.compile(r"#\s*(?:HELP|TYPE|UNIT)\s+[a-zA-Z_:][\w:]*(?:\s|$)|# EOF$")
_SAMPLE: Final = re.compile(r'[a-zA-Z_:][\w:]*\s*\{\s*(?:[a-zA-Z_]\w*\s*=\s*".*)?\}\s*\S*(?:\s|$)')
_ANSWER: Final = re.compile(rb'\{\s*"(?:status"\s*:\s*"(?:success|error)"|metric"\s*:\s*\{)')
_RESULT: Final = re.compile(rb'\{[^\0]*"resultType"\s*:')
_JUDGED_LINES: Final = 200
_MIN_SHARE: Final = 0.5


def wants_exposition(head: Head) -> float:
    """Return how sure it is that a file is in exposition format."""
    lines = head.lines[:_JUDGED_LINES]
    if head.is_binary or not lines:
        return 0.0
    declared = sum(1 for line in lines if _DECLARATION.match(line))
    sampled = sum(1 for line in lines if _SAMPLE.match(line.strip()))
    if declared:
        return 0.95
    return 0.9 if sampled >= _MIN_SHARE * len(lines) else 0.0


def read_exposition(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a page of metrics says; see `collectors.metrics.exposition` for its grammar.

    Args:
        path: The file.
        source: The name to quote in evidence.
        options: When a page without stamps was taken, if its name does not tell.
    """
    page = read_page(path, source)
    repeats = page.repeats.with_columns(
        kind=pl.lit("warning"),
        code=pl.lit("repeated_declaration"),
        severity=pl.lit("low"),
        message=filled("{} of {} is given more than once", "keyword", "name"),
        source=pl.lit(source),
    )
    own = reading_of(rejects=page.rejects, events=conform(repeats.lazy(), EVENTS))
    points = date_pages(page.series.points, taken_at(source, options))
    said = read_series(replace(page.series, points=points), source)
    unread = int(said.rejects["count"].sum())
    return count_lines(join_readings([own, said]), page.lines - page.rejects.height - unread)


def wants_prometheus_answer(head: Head) -> float:
    """Return how sure it is that a file holds answers of the HTTP API or export lines."""
    start = head.data.lstrip(b"\xef\xbb\xbf \t\r\n")
    return 0.97 if _ANSWER.match(start) or _RESULT.match(start) else 0.0


def read_prometheus_answer(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a file of API answers, or of VictoriaMetrics export lines, says.

    Args:
        path: The file.
        source: The name to quote in evidence.
        options: Not used: stamps are in UTC.
    """
    del options
    return reading_of_answer(read_answers(path), source)


def reading_of_answer(answer: Answer, source: str) -> Reading:
    """Return what an answer says, its rejects and its warnings with it.

    Args:
        answer: Any number of answers, read.
        source: The name to quote in evidence.
    """
    rejects = pl.DataFrame(
        [(source, *row) for row in answer.rejects],
        schema=REJECTS,
        orient="row",
    )
    warnings = pl.DataFrame(
        answer.warnings, schema={"position": pl.Int64, "message": pl.String}, orient="row"
    ).with_columns(
        kind=pl.lit("warning"),
        code=pl.lit("partial_answer"),
        severity=pl.lit("low"),
        source=pl.lit(source),
    )
    own = reading_of(rejects=rejects, events=conform(warnings.lazy(), EVENTS))
    said = read_series(answer.series(), source)
    return count_lines(join_readings([own, said]), answer.lines_used)
