"""Read Slurm's stamps: local without a zone, epoch seconds, or relative to the day of the print.

Source: formats of GPU and host streams, sections 0.3 and 7.1; Slurm `src/common/parse_time.c`
(`SLURM_TIME_FORMAT`: ISO, `relative`, or any format of strftime such as `%s`). Where clocks are set
back an hour comes twice; what Slurm counted itself (Elapsed, Planned) tells which one is meant.
"""

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

import polars as pl

from collectors.frames import TIME
from collectors.texts.stamps import epoch_time

STAMP: Final = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|1\d{9}(?:\.\d+)?"
)
"""A date with its time, maybe with a zone, or epoch seconds."""

NO_STAMP: Final = r"Unknown|None|N/A|NONE|\(null\)|#+|0"
"""What stands for a time that is not yet, or that did not fit."""

_ISO: Final = (
    r"^\s*(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,6})\d*)?(Z|[+-]\d\d:?\d\d)?\s*$"
)

_EPOCH: Final = r"^\s*(1\d{9}(?:\.\d+)?)\s*$"

_NEAR: Final = r"^\s*(?:(Ystday|Tomorr|Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(\d\d:\d\d(?::\d\d)?)\s*$"

_FAR: Final = r"^\s*(\d{1,2} [A-Z][a-z]{2}) (\d\d:\d\d|\d{4})\s*$"

_DAYS: Final = {"Mon": 0, "Tue": 1, "Wed": 2, "Thu": 3, "Fri": 4, "Sat": 5, "Sun": 6}

MOMENTS: Final = ("submit", "start", "end")
"""Of a job, in the order in which they happen."""

_BACKWARDS: Final = 1e12
"""What it costs a reading of stamps to end before it starts: more than any difference."""


def stamps_of(text: pl.Expr, time_zone: str, taken: datetime | None) -> tuple[pl.Expr, pl.Expr]:
    """Return the two times that a stamp may mean: the same, but for an hour that occurs twice.

    Args:
        text: A stamp as Slurm prints it.
        time_zone: IANA zone of stamps without one.
        taken: When the text was printed; relative stamps (`Ystday 10:00`) are null without it.

    Returns:
        First and second meaning, UTC microseconds; null for no time (`Unknown`, `None`, `####`)
        and a local time that does not exist.
    """
    day, clock, fraction, zone = (text.str.extract(_ISO, group) for group in range(1, 5))
    micros = fraction.fill_null("0").str.pad_end(6, "0").cast(pl.Int64, strict=False)
    iso = _moment(day, clock) + pl.duration(microseconds=micros)
    hours, minutes = (
        zone.str.extract(r"[+-](\d\d):?(\d\d)", group).cast(pl.Int64, strict=False).fill_null(0)
        for group in (1, 2)
    )
    shift = pl.duration(hours=hours, minutes=minutes)
    east = pl.when(zone.str.starts_with("-")).then(iso + shift).otherwise(iso - shift)
    absolute = pl.coalesce(
        pl.when(zone.is_not_null()).then(east.dt.replace_time_zone("UTC")),
        epoch_time(text.str.extract(_EPOCH, 1).cast(pl.Float64, strict=False)),
    )
    local = iso
    if taken is not None:
        local = pl.coalesce(iso, *_relative(text, taken.astimezone(ZoneInfo(time_zone))))
    first, second = (
        local.dt.replace_time_zone(time_zone, ambiguous=which, non_existent="null")
        .dt.convert_time_zone("UTC")
        .cast(TIME)
        for which in ("earliest", "latest")
    )
    return pl.coalesce(absolute, first), pl.coalesce(absolute, second)


def _moment(day: pl.Expr, clock: pl.Expr) -> pl.Expr:
    stamp = pl.concat_str(day, pl.lit(" "), clock)
    return stamp.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)


def _relative(text: pl.Expr, taken: datetime) -> tuple[pl.Expr, pl.Expr]:
    """Return the local times of stamps near the day of the print, and of those farther off.

    A day with its month is the last such day: accounts speak of the past.
    """
    today = pl.lit(taken.date())
    word, clock = (text.str.extract(_NEAR, group) for group in (1, 2))
    ahead = word.replace_strict(_DAYS, default=None, return_dtype=pl.Int64) - taken.weekday()
    days = (
        pl.when(word == "Ystday").then(-1).when(word == "Tomorr").then(1).otherwise((ahead + 7) % 7)
    )
    near = today + pl.duration(days=days.fill_null(0))
    whole = pl.when(clock.str.len_chars() == len("HH:MM")).then(clock + ":00").otherwise(clock)
    date, rest = (text.str.extract(_FAR, group) for group in (1, 2))
    is_year = ~rest.str.contains(":")
    day, year_ago = (
        pl.concat_str(date, pl.lit(f" {year}")).str.to_date("%d %b %Y", strict=False)
        for year in (taken.year, taken.year - 1)
    )
    last = pl.when(day <= today).then(day).otherwise(year_ago)
    dated = pl.concat_str(date, rest, separator=" ").str.to_date("%d %b %Y", strict=False)
    far = pl.when(is_year).then(dated).otherwise(last)
    far_clock = pl.when(is_year).then(pl.lit("00:00")).otherwise(rest) + ":00"
    return (
        _moment(near.dt.to_string("%Y-%m-%d"), whole),
        _moment(far.dt.to_string("%Y-%m-%d"), far_clock),
    )


def settle_moments(rows: pl.DataFrame) -> pl.DataFrame:
    """Return jobs with one time for each moment, where the hour met twice made it two.

    Args:
        rows: For each of `MOMENTS` two columns, `submit` and `submit_again`; `elapsed_seconds` and
            `wait_seconds` as Slurm counted them, null if not known.

    Returns:
        The rows, in their order, without the second columns. Of the possible times those count
        that do not run backwards and fit best to what Slurm counted; else the first.
    """
    keyed = rows.with_row_index("row")
    is_double = pl.any_horizontal((pl.col(name) != pl.col(f"{name}_again")) for name in MOMENTS)
    double = keyed.filter(is_double.fill_null(value=False))
    if double.is_empty():
        return rows.drop(f"{name}_again" for name in MOMENTS)
    choices = pl.DataFrame({"choice": range(2 ** len(MOMENTS))})
    picked = [
        pl.when((pl.col("choice") // 2**at) % 2 == 1)
        .then(pl.col(f"{name}_again"))
        .otherwise(pl.col(name))
        .alias(name)
        for at, name in enumerate(MOMENTS)
    ]
    settled = (
        double.join(choices, how="cross")
        .with_columns(picked)
        .with_columns(cost=_misfit())
        .sort("row", "cost", "choice")
        .unique("row", keep="first", maintain_order=True)
        .select(keyed.columns)
    )
    rest = keyed.join(settled, on="row", how="anti")
    return pl.concat([rest, settled]).sort("row").drop("row", *(f"{n}_again" for n in MOMENTS))


def _misfit() -> pl.Expr:
    """Return how badly the times of a job fit to what Slurm counted; the run weighs most."""
    ran = (pl.col("end") - pl.col("start")).dt.total_seconds()
    waited = (pl.col("start") - pl.col("submit")).dt.total_seconds()
    parts = [
        (ran - pl.col("elapsed_seconds")).abs() * 1000,
        (waited - pl.col("wait_seconds")).abs(),
        *(pl.when(span < 0).then(_BACKWARDS) for span in (ran, waited)),
    ]
    return pl.sum_horizontal(part.fill_null(0) for part in parts)
