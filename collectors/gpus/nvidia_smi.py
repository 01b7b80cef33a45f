"""Read what `nvidia-smi` prints: query tables, `dmon`, `pmon`, and the `-q` report.

Source: nvidia-smi manual. Whatever the form, sentences about lost GPUs may stand between its rows.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from collectors.gpus.gpu_aliases import first_seen, gpu_aliases
from collectors.gpus.gpu_cells import measure_cells
from collectors.gpus.gpu_streams import read_measured
from collectors.gpus.gpu_tables import warnings_of
from collectors.gpus.smi_monitors import MONITOR_HEADER, read_monitors
from collectors.gpus.smi_queries import HEADER_LINE, is_header, read_queries
from collectors.gpus.smi_reports import REPORT_TITLE, read_reports
from collectors.gpus.smi_rows import SmiPart
from collectors.gpus.smi_sentences import SENTENCE, sentence_events
from collectors.readings import Reading, join_readings, reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_on
from collectors.texts.plain_lines import account, plain_lines

_JUDGED_LINES: Final = 200
_ROW: Final = r"^\s*\d{1,3}, .*(?: %| W| MiB| MHz)\s*(?:,|$)"
_SUMMARY: Final = r"^[|+]"
_SUMMARY_TITLE: Final = r"^\|\s*NVIDIA-SMI "
_XML_TITLE: Final = "<nvidia_smi_log>"

UNREAD: Final = "this form of nvidia-smi is for people: use --query-gpu with --format=csv"


def wants_nvidia_smi(head: Head) -> float:
    """Return how sure it is that a file is nvidia-smi's output, and not a log that holds some."""
    lines = head.column.head(_JUDGED_LINES)
    if head.is_binary or lines.is_empty():
        return 0.0
    if _XML_TITLE in head.text[:2000]:
        return 0.9
    form = _form(lines)
    if form is None:
        return 0.6 if _share(lines, _ROW) == 1.0 else 0.0
    return 0.95 if _share(lines, form) >= 0.5 else 0.0  # noqa: PLR2004 -- half: most are ours


def _form(lines: pl.Series) -> str | None:
    """Return a pattern of the lines of the form that a head's title or header tells."""
    if lines.str.contains(_SUMMARY_TITLE).any():
        return _SUMMARY
    if lines.str.contains(REPORT_TITLE).any():
        return r".* : |^ *[A-Z][^:]*$|" + REPORT_TITLE
    if lines.str.contains(MONITOR_HEADER).any():
        return r"^#|^\s*[\d-]"
    named = lines.filter(lines.str.strip_chars().str.contains(HEADER_LINE))
    headers = [line for line in named.to_list() if is_header(line)]
    return None if not headers else rf"^[^,]*(?:,[^,]*){{{headers[0].count(',')},}}$"


def _share(lines: pl.Series, pattern: str) -> float:
    """Return the share of lines that fit a pattern or are a sentence."""
    fits = lines.str.contains(pattern) | lines.str.contains(SENTENCE)
    return int(fits.sum()) / len(lines)


def read_nvidia_smi(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what nvidia-smi printed.

    Args:
        path: The file.
        source: The name to quote; a host or a time in it is believed.
        options: Zone of the stamps, and what the text does not say.

    Returns:
        A reading with samples, the events that fields and sentences show, and the names of the
        GPUs. A column that is not read is a warning, a row that does not fit a reject.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    is_sentence = pl.col("text").str.contains(SENTENCE)
    part = _reader(lines)(lines.filter(~is_sentence), source, options)
    told = sentence_events(lines)
    events = _placed([told, part.events, warnings_of(part.columns)], part.cells)
    placed = events.with_columns(host=pl.lit(taken_on(source, options), pl.String))
    reasoned = lines.join(part.reasons, on="position", how="left", maintain_order="left")
    used = pl.concat([part.used, told["position"]])
    own = account(reasoned, used, source, events=placed)
    names = [gpu_aliases(part.named, source), first_seen(part.aliases, source)]
    named = reading_of(aliases=pl.concat(names))
    return join_readings([own, named, read_measured(measure_cells(part.cells), source)])


_Reader = Callable[[pl.DataFrame, str, ReadOptions], SmiPart]


def _reader(lines: pl.DataFrame) -> _Reader:
    """Return the reader of the form that the text is in."""
    text = lines["text"].str.strip_chars_start()
    if text.str.contains(REPORT_TITLE).any():
        return read_reports
    if text.str.contains(MONITOR_HEADER).any():
        return read_monitors
    if text.str.contains(_SUMMARY_TITLE).any() or text.str.contains(_XML_TITLE).any():
        return _leave
    return read_queries


def _leave(lines: pl.DataFrame, _source: str, _options: ReadOptions) -> SmiPart:
    return SmiPart(reasons=lines.select("position", reason=pl.lit(UNREAD)))


def _placed(events: Sequence[pl.DataFrame], cells: pl.DataFrame) -> pl.DataFrame:
    """Return events of lines at the last time that was printed before them."""
    whole = pl.concat(events)
    stamps = cells.select("position", "time").drop_nulls().unique().sort("position")
    ordered = whole.drop("time").sort("position", nulls_last=False)
    return ordered.join_asof(stamps, on="position", strategy="backward")
