"""Read the banners of job scripts: `SLURM_JOB_ID=77`, `SLURM_RESTART_COUNT=1`, who is where.

Source: formats of progress streams, section 14.1, and of GPU and host streams, section 7.5;
sbatch(1) and srun(1), output environment variables. Only what a task says of itself places it: the
order of a list of nodes is not the order of the ranks.
"""

from typing import Final

import polars as pl

from collectors.frames import JOBS, PLACEMENTS, conform
from collectors.identity import canonical_host
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.slurm.hostlists import hosts_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.templates import filled

JOB_NUMBER: Final = r"\d+(?:_\d+)?(?:\+\d+)?"
"""A job, a task of its array, a part of a heterogeneous one."""

SLURM_BANNER_HINT: Final = r"SLURMD?_[A-Z]"

_VARIABLE: Final = r"\bSLURMD?_[A-Z_]+\b['\")}]?(?:\s*[=:]|\s+is\b)"
"""A variable with its value, as `env`, `set -x` and people print it."""

_SIGN: Final = r"\b['\")}]?(?:\s*[=:]\s*|\s+is\s+)[\"']?"

_VALUE: Final = r"([^\s\"',;)]+(?:,[^\s\"';)]+)*)"

_NAMES: Final = {
    "job": r"SLURM_JOB_?ID",
    "array": r"SLURM_ARRAY_JOB_ID",
    "task": r"SLURM_ARRAY_TASK_ID",
    "restarts": r"SLURM_RESTART_COUNT",
    "nodelist": r"SLURM_(?:JOB_|STEP_)?NODELIST",
    "tasks": r"SLURM_(?:NTASKS|NPROCS)",
    "name": r"SLURM_JOB_NAME",
    "user": r"SLURM_JOB_USER",
    "rank": r"(?:SLURM_PROCID|\bRANK)",
    "local_rank": r"(?:SLURM_LOCALID|\bLOCAL_RANK)",
    "node": r"(?:SLURMD_NODENAME|\b[Hh]ost(?:name)?|\bHOSTNAME)",
}
"""What a line may say, and the variable that says it."""

_ON: Final = r"\bon (?:host |node )?([A-Za-z][\w.-]*\d[\w.-]*)"

_MAX_GAP_LINES: Final = 20
"""Lines between two variables of one banner; ours."""

_OF_BANNER: Final = ("job", "array", "task", "restarts", "nodelist", "tasks", "name", "user")


def read_slurm_banners(lines: pl.DataFrame, _options: ReadOptions) -> LineReading:
    """Return the jobs and the places of tasks that variables of Slurm tell.

    Args:
        lines: `LINES`.

    Returns:
        `JOBS`, one row a banner: `attempt` is the count of restarts, 0 where it is printed empty,
        null where it is not printed. `EVENTS` of kind run_start, one a banner that names its job.
        `PLACEMENTS` of tasks that name themselves and their host.
    """
    hits = lines.filter(pl.col("text").str.contains(_VARIABLE))
    said = hits.with_columns(**{name: _value(variable) for name, variable in _NAMES.items()})
    banners = _banners(said)
    reading = reading_of(jobs=_jobs(banners), events=_starts(banners), placements=_placements(said))
    return LineReading(reading=reading, claimed=hits["line"])


def _value(variable: str) -> pl.Expr:
    """Return what a line says of a variable: empty where it has no value, null without it."""
    name = rf"{variable}{_SIGN}"
    text = pl.col("text")
    told = text.str.extract(rf"{name}{_VALUE}", 1)
    return pl.when(text.str.contains(name)).then(told.fill_null(""))


def _banners(said: pl.DataFrame) -> pl.DataFrame:
    """Return one row a banner: variables of neighbouring lines, of one job and one restart."""
    own = said.filter(pl.any_horizontal(pl.col(_OF_BANNER).is_not_null()))
    gap = (pl.col("position").diff() > _MAX_GAP_LINES).fill_null(value=False)
    changes = pl.any_horizontal(_changes(name) for name in ("job", "restarts"))
    first = [pl.col(name).drop_nulls().first() for name in (*_OF_BANNER, "time", "host")]
    number = r"^(\d+)$"
    array = filled("{}_{}", pl.col("array"), pl.col("task"))
    return (
        own.with_columns(part=gap.cum_sum())
        .group_by("part", banner=changes.cum_sum().over("part"), maintain_order=True)
        .agg(pl.col("line", "position", "text").first(), *first)
        .with_columns(
            run=pl.coalesce(
                pl.when(array.str.contains(r"^\d+_\d+$")).then(array),
                pl.col("job").str.extract(rf"^({JOB_NUMBER})$"),
            ),
            attempt=pl.when(pl.col("restarts") == "")
            .then(0)
            .otherwise(pl.col("restarts").str.extract(number).cast(pl.Int32, strict=False)),
            world=pl.col("tasks").str.extract(number).cast(pl.Int32, strict=False),
        )
        .with_columns(
            hosts=pl.col("nodelist").map_batches(hosts_of, return_dtype=pl.List(pl.String))
        )
    )


def _changes(name: str) -> pl.Expr:
    """Return whether a variable has another value than before in the same part of the log."""
    told = pl.col(name).forward_fill().over("part")
    return (told != told.shift(1).over("part")).fill_null(value=False)


def _jobs(banners: pl.DataFrame) -> pl.DataFrame:
    told = banners.filter(
        pl.any_horizontal(pl.col("run", "attempt", "hosts", "world").is_not_null())
    )
    rows = conform(told.with_columns(start="time").lazy(), JOBS).collect()
    return rows.unique(maintain_order=True)


def _starts(banners: pl.DataFrame) -> pl.DataFrame:
    said = {
        "restart_count": pl.col("attempt"),
        "hosts": pl.col("nodelist"),
        "tasks": pl.col("world"),
    }
    return banners.filter(pl.col("run").is_not_null()).select(
        "time",
        "host",
        "run",
        "position",
        kind=pl.lit("run_start"),
        code=pl.col("attempt").cast(pl.String),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
        attributes=event_labels(said),
    )


def _placements(said: pl.DataFrame) -> pl.DataFrame:
    """Return where tasks are that say so."""
    node = pl.coalesce(pl.col("node").replace("", None), pl.col("text").str.extract(_ON, 1))
    job, restarts = pl.col("job").forward_fill(), pl.col("restarts").forward_fill()
    return (
        said.select(
            rank=pl.col("rank").cast(pl.Int32, strict=False),
            host=pl.coalesce(canonical_host(node), "host"),
            index=pl.col("local_rank").cast(pl.Int32, strict=False),
            run=job.str.extract(rf"^({JOB_NUMBER})$"),
            attempt=restarts.cast(pl.Int32, strict=False),
        )
        .drop_nulls(["rank", "host"])
        .unique(maintain_order=True)
        .pipe(lambda frame: conform(frame.lazy(), PLACEMENTS).collect())
    )
