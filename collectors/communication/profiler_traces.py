"""Read the traces of NCCL's example profiler plugin, whole or cut by a kill.

Source: formats of NCCL logs, section 6.2 (NVIDIA/nccl `plugins/profiler/example`). One event a line
that ends in a comma; a killed process leaves no closing bracket, and events without an end: what it
was in, or waited for. Times count from the plugin's start and are no clock of anybody else's.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.communication.profiler_events import open_events, open_operations, paired, timed
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import account, plain_lines

_CATEGORY: Final = (
    r'"cat": ?"(?:GROUP|COLL|P2P|PROXY|NET|GPU|\w+_API|KERNEL_LAUNCH|NET_\w+|CE_\w+)"'
)

_EVENT: Final = r'^\{"name".*\}$'

_BRACKETS: Final = r"^(?:\[|\{\}\s*\]|\]|\{\})$"

_NAME: Final = re.compile(
    r"^[^-]+-(?P<host>[a-z][\w.]*(?:-[\w.]+)*)-\d+\.(?:txt|json)$", re.IGNORECASE
)

_FIELDS: Final = {
    "name": pl.String(),
    "cat": pl.String(),
    "ph": pl.String(),
    "id": pl.Int64(),
    "pid": pl.Int64(),
    "ts": pl.Float64(),
}

_ARGUMENTS: Final = {
    "sequence": r'"SeqNum": ?(\d+)',
    "group": r'"CommHash": ?(\d+)',
    "group_rank": r'"Rank": ?(-?\d+)',
    "peer": r'"Peer": ?(-?\d+)',
    "elements": r'"Count": ?(\d+)',
    "datatype": r'"Datatype": ?"(\w+)"',
    "channel": r'"Channel": ?(\d+)',
    "step": r'"Step": ?(\d+)',
    "algorithm": r'"Algorithm": ?"(\w+)"',
    "protocol": r'"Protocol": ?"(\w+)"',
}
"""Taken from the text: a hash has 64 bits without a sign, more than a JSON reader's integers."""


def wants_profiler_traces(head: Head) -> float:
    """Return how sure it is that a head is such a trace: a list of events of NCCL's categories."""
    text = head.text.lstrip()
    is_list = text.startswith("[") and '"ph"' in text
    return 0.97 if is_list and re.search(_CATEGORY, text) else 0.0


def read_profiler_traces(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a trace tells.

    Args:
        path: The file, named `<prefix>-<host>-<thread>.txt`.
        source: The name to quote.
        options: `host` wins over the file's name.

    Returns:
        `TRANSFERS` of the collectives and pairs that ended: `group` is the communicator's hash in
        decimal digits, exact, `rank` counts inside it. `COLLECTIVES` in state `open`, and `EVENTS`
        of kind `open_operation`, of what did not end; the attribute `waits_for` is `peer`, `wire`
        or `local_gpu` where the step says it, and `last` marks what began last.

    Raises:
        OSError: The file cannot be read.
    """
    named = _NAME.match(path.name)
    host = options.host or (named["host"].lower() if named else None)
    lines = plain_lines(path.read_bytes()).with_columns(
        text=pl.col("text").str.strip_chars().str.strip_chars_end(",")
    )
    is_event = pl.col("text").str.contains(_EVENT)
    events = _decoded(lines.filter(is_event)).with_columns(host=pl.lit(host, pl.String))
    brackets = lines.filter(pl.col("text").str.contains(_BRACKETS) | (pl.col("text") == ""))
    both = paired(events)
    return account(
        lines,
        pl.concat([events["position"], brackets["position"]]),
        source,
        transfers=timed(both),
        collectives=open_operations(both),
        events=open_events(both),
    )


def _decoded(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the events of the lines that are whole: their fields, and the arguments we know."""
    text = pl.col("text")
    fields = {
        name: text.str.json_path_match(f"$.{name}").cast(kind, strict=False)
        for name, kind in _FIELDS.items()
    }
    known = {name: text.str.extract(pattern, 1) for name, pattern in _ARGUMENTS.items()}
    found = lines.select("position", **fields, **known)
    return found.filter(pl.col("ph").is_in(["b", "e"])).drop_nulls(["name", "cat", "id"])
