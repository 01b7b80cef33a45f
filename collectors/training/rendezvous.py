"""Read what torchrun's agents agree on: rounds of rendezvous, their ranks, and who is where.

Source: formats of progress streams, section 14.2; PyTorch `torch/distributed/elastic/agent/server/
api.py` (the result block, the restarts). `restart_count` is each agent's own: one that came later
counts from 0 again, so rounds are counted where all agents are known (see
`collectors.training.rounds`).
"""

from typing import Final

import polars as pl

from collectors.communication.c10_lines import year_of
from collectors.identity import canonical_host
from collectors.line_reading import LineReading, printer
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.phrases import Phrase, match_phrases
from collectors.training.agent_stamps import agent_time
from collectors.training.rounds import round_jobs, round_placements, rounds_of

RENDEZVOUS_HINT: Final = (
    r"Rendezvous complete for workers|restart_count=|global_ranks=|keep-alive heartbeat|"
    r"Rendezvous[A-Z]\w+Error"
)

_LOST: Final = (
    Phrase(
        kind="store_lost",
        pattern=r"has failed to send a keep-alive heartbeat to the rendezvous|"
        r"Rendezvous(?:Connection|Timeout|Closed|GracefulExit)\w*Error",
        severity="warning",
        code="rendezvous",
    ),
)
"""What an agent says that has lost the others: the store's host is gone, or slow."""

_RESULT: Final = r"Rendezvous complete for workers"

_FIELD: Final = (
    r"^\s*(restart_count|master_addr|master_port|group_rank|group_world_size|local_ranks|"
    r"role_ranks|global_ranks|role_world_sizes|global_world_sizes|event_log_handler)=(.*)$"
)

_MAX_BLOCK_LINES: Final = 40
"""A block has eleven lines; other printers' may stand between them."""

_FIRST: Final = ("restart_count", "master_addr")
"""A block whose heading is lost begins with its first field."""

_ATTRIBUTES: Final = (
    "master_addr",
    "master_port",
    "group_rank",
    "group_world_size",
    "local_ranks",
    "global_ranks",
    "global_world_sizes",
)

_NO_HOST: Final = r"^(?:localhost|127\.|0\.0\.0\.0|\[?::)"


def read_rendezvous(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the rounds of rendezvous that agents print.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `EVENTS` of kind rendezvous, one an agent and round: code is the agent's `restart_count`,
        the other fields are attributes; of kind store_lost, an agent that lost the others. `JOBS`
        and `PLACEMENTS` of these rounds, numbered as far as these lines tell. The host is the
        printer's, else that of the master for group rank 0.
    """
    near = lines.filter(pl.col("text").str.contains(RENDEZVOUS_HINT) | _is_field())
    marked = _marked(near)
    blocks = _blocks(marked)
    lost = match_phrases(near, _LOST)
    year, zone = year_of(lines, options), options.time_zone
    timed = blocks.with_columns(agent_time(blocks, year, zone)).with_columns(
        host=pl.coalesce("host", _masters_host())
    )
    complaints = lost.with_columns(agent_time(lost, year, zone), message="text", count=pl.lit(1))
    events = _events(timed)
    numbered = rounds_of(events)
    return LineReading(
        reading=reading_of(
            events=pl.concat([events, reading_of(events=complaints).events]),
            jobs=round_jobs(numbered),
            placements=round_placements(numbered),
        ),
        claimed=pl.concat([marked["line"], lost["line"]]),
    )


def _is_field() -> pl.Expr:
    return pl.col("text").str.contains(_FIELD)


def _marked(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of blocks with `name`, `value` and `block`, by printer."""
    text = pl.col("text")
    parts = lines.filter(text.str.contains(_RESULT) | _is_field())
    named = parts.with_columns(
        printer=printer(), name=text.str.extract(_FIELD, 1), value=text.str.extract(_FIELD, 2)
    )
    is_field = pl.col("name").is_not_null()
    before = pl.col("name").shift(1).over("printer")
    is_headed = (pl.col("line").shift(1).over("printer").is_not_null()) & before.is_null()
    starts = ~is_field | ((pl.col("name") == _FIRST[0]) & ~is_headed)
    far = (pl.col("position").diff() > _MAX_BLOCK_LINES).over("printer").fill_null(value=False)
    return named.with_columns(block=(starts | far).cum_sum().over("printer"))


def _blocks(marked: pl.DataFrame) -> pl.DataFrame:
    """Return one row a block, its fields as columns; one without its ranks is none."""
    value, name = pl.col("value").str.strip_chars(), pl.col("name")
    fields = {
        field: value.filter(name == field).first() for field in ("restart_count", *_ATTRIBUTES)
    }
    return (
        marked.group_by("printer", "block", maintain_order=True)
        .agg(pl.col("line", "position", "text", "time", "host").first(), **fields)
        .filter(pl.col("restart_count").is_not_null() | pl.col("global_ranks").is_not_null())
        .sort("line")
    )


def _masters_host() -> pl.Expr:
    """Return the master's host for the agent that is it; an address is no name."""
    address = canonical_host(pl.col("master_addr"))
    is_name = ~address.str.contains(_NO_HOST) & address.str.contains(r"[a-z]")
    return pl.when((pl.col("group_rank") == "0") & is_name).then(address)


def _events(blocks: pl.DataFrame) -> pl.DataFrame:
    said = {name: pl.col(name) for name in _ATTRIBUTES}
    return reading_of(
        events=blocks.select(
            "time",
            "host",
            "position",
            kind=pl.lit("rendezvous"),
            code="restart_count",
            severity=pl.lit("info"),
            count=pl.lit(1),
            message="text",
            attributes=event_labels(said),
        )
    ).events
