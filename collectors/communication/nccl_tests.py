"""Read the tables of nccl-tests and rccl-tests, alone or inside a log.

Source: formats of NCCL logs, section 7 (NVIDIA/nccl-tests `src/common.cu`, `src/util.cu` to 2.19,
ROCm rccl-tests). NCCL's own lines may stand anywhere between the rows; they are NCCL's to read.
"""

from typing import Final

import polars as pl

from collectors.communication.nccl_test_devices import DEVICE, read_devices, run_shapes
from collectors.communication.nccl_test_ends import ENDS, FAILURE, read_ends, read_failures
from collectors.communication.nccl_test_rows import read_rows
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions

NCCL_TESTS_HINT: Final = (
    r"^#\s+(?:size|bytes|Rank|nThread|Out of bounds|Avg bus|Collective test)\b"
    r"|Test (?:NCCL|CUDA|HIP|RCCL) failure|Test timeout \(|: Test failure "
)

HEADER: Final = r"^#\s*(?:size|bytes)\b.*\b(?:cpu)?time\b.*\b(?:alg|bus)bw\b"

_ROW: Final = r"^\s*-?\d+\s+[-+.\w]+(?:\s|$)|^\s*\d+\.\d+\s+\d+\.\d+\s"
"""A row, or one half of a row that others' lines stand in the middle of."""

_PROGRAM: Final = r"(?:^|[/ ])(\w+?)_perf(?:_mpi)?(?:\s|$)"

_COMMAND: Final = (
    r"^\s*(?:[+$] ?)?(?:\S*/|(?:mpirun|mpiexec|srun|env|time|[A-Z_]+=\S+)\s(?:.*[/ ])?)?"
    r"\w+?_perf(?:_mpi)?(?:\s|$)"
)
"""The command that starts a test; other lines that name the program are not its own."""

_START: Final = (
    r"^rccl-tests: Version|^#\s*(?:nThread|Using devices|nccl-tests version|rccl-tests"
    r"|Collective test starting|Errors with asterisks"
    r"|Writing JSON output|skipping json|Blocking Enabled|Per-Iteration Report"
    r"|Parallel Init Enabled|Reducing maxBytes|GPU memory usage|error:|rccl version|RCCL version)"
)

_MARK: Final = (
    r"^#[\s#.]*$|^#\s+(?:\(B\)|\(bytes\))|^#\s+out-of-place|^#\s+\(elements\)"
    r"|^\s*(?:out-of-place\s+in-place)"
)

_PARTS: Final = {
    "header": HEADER,
    "device": DEVICE,
    "end": ENDS,
    "start": _START,
    "mark": _MARK,
    "failure": FAILURE,
    "row": _ROW,
    "command": _COMMAND,
}
"""What a line of a benchmark can be: the first that fits."""

_PREAMBLE: Final = ("start", "device", "command", "header")


def read_nccl_tests(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return what benchmark tables in a log tell.

    Args:
        lines: `LINES`.
        options: The zone of stamps at the end of rows.

    Returns:
        `TRANSFERS`, two of each row of a table: `out_of_place` and `in_place`, with the algorithm
        where the table tells it. `group` is the hosts of the run with `+` between; world, nodes
        and group are null where the device lines do not tell them all. `PLACEMENTS` of ranks that
        all runs of the log put on one host. `EVENTS` of kinds `data_corruption`, `benchmark_end`,
        `benchmark_failure`, and `benchmark_cut` at the last row of a table without an end.
    """
    marked = _marked(lines)
    if marked.is_empty():
        return LineReading()
    devices = read_devices(marked.filter(pl.col("part") == "device"))
    shapes = run_shapes(marked, devices)
    rows = read_rows(marked, options.time_zone).join(shapes, on="table", how="left")
    ends = read_ends(marked, rows)
    events = pl.concat([ends, read_failures(marked)], how="diagonal").sort("position")
    taken = pl.concat([rows["line"], rows["second_line"].drop_nulls(), events["line"]])
    claimed = marked.filter((pl.col("part") != "row") | pl.col("line").is_in(taken.implode()))
    places = devices.group_by("rank", maintain_order=True).agg(
        pl.col("host").unique(), pl.col("gpu", "index").first()
    )
    sure = places.filter(pl.col("host").list.len() == 1).with_columns(pl.col("host").list.first())
    return LineReading(
        reading=reading_of(transfers=rows, events=events, placements=sure),
        claimed=claimed["line"],
    )


def _marked(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines that may belong to a benchmark, with their `part` and their `table`.

    A table begins with the first line of a preamble after rows or an end.
    """
    text = pl.col("text")
    may_be = text.str.starts_with("#") | text.str.contains(rf"{_ROW}|_perf|Test \w+|^rccl-tests")
    part = pl.coalesce(
        pl.when(text.str.contains(pattern)).then(pl.lit(name)) for name, pattern in _PARTS.items()
    )
    known = lines.filter(may_be).with_columns(part=part).drop_nulls("part")
    is_preamble = pl.col("part").is_in(_PREAMBLE)
    is_first = is_preamble & ~is_preamble.shift(fill_value=False)
    plain = known.filter(pl.col("part") != "mark").with_columns(table=is_first.cum_sum())
    marks = known.filter(pl.col("part") == "mark").with_columns(
        table=pl.lit(None, dtype=plain.schema["table"])
    )
    both = pl.concat([plain, marks]).sort("line")
    return both.with_columns(
        pl.col("table").forward_fill(),
        program=text.str.extract(_PROGRAM, 1),
    )
