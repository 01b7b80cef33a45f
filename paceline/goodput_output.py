"""What `paceline goodput` prints: where the time of each run went, and what is not known of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import orjson
import polars as pl

from alerts.wording import amount_text, counted_text, percent_text, span_text
from detectors.verdicts import rfc3339
from paceline.fleet_review import FleetReview
from slo.losses import SECONDS_PER_HOUR
from slo.parts import PARTS

NAMELESS: Final = "a run without a name"


def goodput_bytes(review: FleetReview) -> bytes:
    """Return runs, attempts and what is not known, as JSON, indented, with a final line break.

    Args:
        review: What the history tells.
    """
    told = {
        "runs": plain_rows(review.goodput.runs.drop("attempt")),
        "attempts": plain_rows(review.goodput.attempts.drop("save_count")),
        "ettr": plain_rows(review.ettr),
        "needs": review.goodput.needs.to_dicts(),
        "undated": list(review.goodput.undated),
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def plain_rows(frame: pl.DataFrame) -> list[dict[str, object]]:
    """Return rows for machines: times as RFC 3339, and no number that is none.

    Args:
        frame: Any frame.
    """
    return [{name: _plain(value) for name, value in row.items()} for row in frame.to_dicts()]


def _plain(value: object) -> object:
    return rfc3339(value) if isinstance(value, datetime) else value


def goodput_text(review: FleetReview, top: int) -> str:
    """Return what people read.

    Args:
        review: What the history tells.
        top: How many runs to show; those that lost most come first.
    """
    runs = worst_first(review.goodput.runs)
    shown = runs.head(top)
    parts = [_head(runs)]
    parts += [_run_text(row, review) for row in shown.iter_rows(named=True)]
    if runs.height > top:
        parts.append(f"and {runs.height - top} more runs; --top shows more, --format json all\n")
    names = ", ".join(name or NAMELESS for name in review.goodput.undated)
    if names:
        parts.append(f"No moment is known of {names}: stamps of steps or accounts would decide.\n")
    return "\n".join(parts)


def worst_first(runs: pl.DataFrame) -> pl.DataFrame:
    """Return runs by what they lost, then by their wall time.

    Args:
        runs: `GOODPUT`.
    """
    keys = ["gpu_hours_lost", "wall_seconds", "run"]
    return runs.sort(keys, descending=[True, True, False], nulls_last=True)


def _head(runs: pl.DataFrame) -> str:
    """Return what all runs add up to, in GPU-hours where sizes are known."""
    sized = runs.filter(pl.col("gpus") > 0, pl.col("goodput_ratio").is_not_null())
    hours = pl.col("wall_seconds") - pl.col("queue_seconds").fill_null(0.0)
    held = float((sized.select(hours * pl.col("gpus"))).to_series().sum()) / SECONDS_PER_HOUR
    lost = float(sized["gpu_hours_lost"].sum())
    stepping = runs["goodput_ratio"].drop_nulls().len()
    head = f"{counted_text(runs.height, 'run')}, {stepping:,} with steps"
    if not held:
        return f"{head}; GPU-hours are not known.\n"
    return (
        f"{head}: at least {amount_text(lost)} of {amount_text(held)} GPU-hours were not "
        f"productive ({percent_text(lost / held)}).\n"
    )


def _run_text(row: Mapping[str, Any], review: FleetReview) -> str:
    """Return a run: its parts, its ETTR and what is not known."""
    size = f", {row['gpus']} GPUs" if row["gpus"] else ""
    lines = [f"{row['run'] or NAMELESS}: goodput {goodput_phrase(row)}{size}"]
    lines += [_part_text(part, row) for part in PARTS if row[f"{part}_seconds"]]
    named = pl.col("run").eq_missing(pl.lit(row["run"], pl.String))
    (expected,) = review.ettr.filter(named).to_dicts()
    lines.append(f"  {ettr_text(expected)}")
    needs = review.goodput.needs.filter(named)["need"]
    lines += [f"  not known - {need}" for need in needs]
    return "\n".join([*lines, ""])


def goodput_phrase(row: Mapping[str, Any]) -> str:
    """Return the goodput of a run in words: a bound where slow steps cannot be told.

    Args:
        row: Of `GOODPUT`.
    """
    bound = "at most " if row["goodput_ratio"] and row["straggler_seconds"] is None else ""
    return f"{bound}{percent_text(row['goodput_ratio'])} of {span_text(row['wall_seconds'])}"


def _part_text(part: str, row: Mapping[str, Any]) -> str:
    seconds = row[f"{part}_seconds"]
    hours = "" if row["gpus"] is None else f"{seconds * row['gpus'] / SECONDS_PER_HOUR:,.1f}"
    share = percent_text(seconds / row["wall_seconds"])
    held = "-" if part == "queue" else hours or "?"
    return f"  {part:<10} {share:>6}  {span_text(seconds):>8}  {held:>9} GPU-h  {PARTS[part]}"


def ettr_text(row: Mapping[str, Any]) -> str:
    """Return expected and observed ETTR of a run, side by side.

    Args:
        row: Of `EXPECTATIONS`.
    """
    seen = row["observed_ettr"]
    observed = "not known" if seen is None else f"{seen:.3f}"
    if row["need"] is not None:
        return f"ETTR observed {observed}; expected is not known: {row['need']} would decide"
    low, high = row["min_expected_ettr"], row["max_expected_ettr"]
    if row["expected_ettr"] is None:
        return f"ETTR observed {observed}, expected at least {low:.3f} (MODELED; nothing failed)"
    return (
        f"ETTR observed {observed}, expected {row['expected_ettr']:.3f} "
        f"({low:.3f} to {high:.3f}, MODELED)"
    )
