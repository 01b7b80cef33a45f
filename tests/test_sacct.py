"""sacct's tables in all their layouts."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.frames import JOBS
from collectors.readings import Reading
from collectors.slurm.sacct import read_sacct, wants_sacct
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import plain_lines

Read = Callable[..., Reading]

FOLDER = os.environ.get("PACELINE_DATA")


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A reader of one text, through the choice of its dialect."""

    def reader(text: str, **options: Any) -> Reading:
        path = tmp_path / "accounts.txt"
        path.write_text(text, encoding="utf-8")
        return read_file(path, path.name, ReadOptions(**options))

    return reader


def at(*parts: int) -> datetime:
    """Return a time in UTC of 5 January 2026."""
    return datetime(2026, 1, 5, *parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


FIXED = """JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
88213          llm abl+        gpu         ml         64 CANCELLED+      0:0
88213.ba+         batch                    ml         64  CANCELLED     0:15
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "JobID|JobName|State|\n1|a|FAILED|\n2|b|TIMEOUT|\n",
            [("1", "a", "FAILED", None), ("2", "b", "TIMEOUT", None)],
            id="a delimiter behind the last cell",
        ),
        pytest.param(
            "JobID|JobName|State|\n1|a|b|FAILED|\n",
            [("1", "a|b", "FAILED", ["rejoined"])],
            id="a delimiter behind the last cell and one in the name",
        ),
        pytest.param(
            "JobID@@JobName@@State\n1@@a|b@@FAILED\n",
            [("1", "a|b", "FAILED", None)],
            id="a delimiter of two characters",
        ),
        pytest.param(
            "JobID,JobName,State,NodeList\n1,a,FAILED,hx8-[1,3]\n",
            [("1", "a", "FAILED", ["rejoined"])],
            id="commas, which lists of nodes hold too",
        ),
        pytest.param(
            "Account|JobName|State|JobID\nx|a|b|FAILED|1\nx|c\nd|FAILED|2\n",
            [("1", "a|b", "FAILED", ["rejoined"]), ("2", "c\nd", "FAILED", ["rejoined"])],
            id="the number last",
        ),
        pytest.param(
            "JobID|State|Comment\n1|FAILED|one\ntwo\n\nthree\n2|FAILED|\n",
            [("1", None, "FAILED", ["rejoined"]), ("2", None, "FAILED", None)],
            id="a free text last goes on until the next number",
        ),
        pytest.param(
            "JobIDRaw|JobName|State\n1|a|FAILED\nJobIDRaw|JobName|State\n2|b|COMPLETED\n",
            [("1", "a", "FAILED", None), ("2", "b", "COMPLETED", None)],
            id="two outputs in one file",
        ),
        pytest.param(
            "JobID|State\n88213_4|FAILED\n88213_[5-9%2]|PENDING\n88213+1|RUNNING\n",
            [
                ("88213+1", None, "RUNNING", None),
                ("88213_4", None, "FAILED", None),
                ("88213_[5-9%2]", None, "PENDING", None),
            ],
            id="tasks, waiting tasks and parts",
        ),
        pytest.param(
            "JobID|State\n1|NODE_FAIL,REQUEUED\n2|RUNNING+COMPLETING\n3|CG\n4|CO+\n",
            [
                ("1", None, "NODE_FAIL", ["REQUEUED"]),
                ("2", None, "RUNNING", ["COMPLETING"]),
                ("3", None, "COMPLETING", ["COMPLETING"]),
                ("4", None, "CO+", None),
            ],
            id="states with flags, codes, and a cut that could be several",
        ),
        pytest.param(
            "JobID|State|NodeList\n1|FAILED|hx8-[1-\n2|FAILED|None assigned\n",
            [("1", None, "FAILED", ["hosts_not_expanded"]), ("2", None, "FAILED", None)],
            id="a list of nodes that is torn",
        ),
        pytest.param(
            FIXED, [("88213", "llm abl+", "CANCELLED", None)], id="columns of fixed width"
        ),
    ],
)
def test_layouts(read: Read, text: str, expected: list[tuple[Any, ...]]) -> None:
    """A job is a job in every layout, and no line is lost."""
    reading = read(text)
    jobs = reading.jobs.select("run", "name", "state", "flags")
    lines = sum(1 for line in text.splitlines() if line.strip())
    assert (jobs.rows(), reading.rejects.rows(), reading.lines_used) == (expected, [], lines)


def test_steps_are_events_of_their_job(read: Read) -> None:
    """A step is no job, even one whose name is cut."""
    text = """JobID|State|Start|End|Elapsed|ExitCode|NodeList|MaxRSS|NTasks|JobName
88213.batch|FAILED|2026-01-05T01:00:00|2026-01-05T01:09:00|00:09:00|1:0|hx8-1|3K|8|batch
88213.0|RUNNING|2026-01-05T01:00:00|Unknown|00:09:00|0:0|hx8-[1-2]||8|python
"""
    reading = read(text)

    events = reading.events.select("time", "host", "run", "kind", "code", "severity", "message")
    pairs = [
        {one["key"]: one["value"] for one in row} for row in reading.events["attributes"].to_list()
    ]
    assert (reading.jobs.height, events.rows(), pairs) == (
        0,
        [
            (at(1, 9), "hx8-1", "88213", "job_step", "FAILED", "warning", "batch"),
            (at(1), None, "88213", "job_step", "RUNNING", "info", "python"),
        ],
        [
            {
                "step": "batch",
                "exit": "1:0",
                "elapsed_seconds": "540",
                "tasks": "8",
                "max_resident_bytes": "3072",
                "hosts": "hx8-1",
            },
            {
                "step": "0",
                "exit": "0:0",
                "elapsed_seconds": "540",
                "tasks": "8",
                "hosts": "hx8-[1-2]",
            },
        ],
    )


def test_a_cut_name_of_a_step_is_known(read: Read) -> None:
    """Narrow columns cut `batch`."""
    pairs = read(FIXED).events["attributes"].to_list()[0]
    assert {one["key"]: one["value"] for one in pairs} == {"step": "batch", "exit": "0:15"}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            ["1|NODE_FAIL|{0}|{0}|{1}", "1|COMPLETED|{1}|{2}|{3}"],
            [(0, "NODE_FAIL"), (1, "COMPLETED")],
            id="a job that ran again has two attempts",
        ),
        pytest.param(
            ["1|COMPLETED|{1}|{2}|{3}", "1|NODE_FAIL|{0}|{0}|{1}"],
            [(0, "NODE_FAIL"), (1, "COMPLETED")],
            id="in whatever order they are printed",
        ),
        pytest.param(
            ["1|FAILED|{0}|{1}|{2}"] * 2, [(0, "FAILED")], id="a row printed twice is one"
        ),
        pytest.param(
            ["1|PENDING|{0}|Unknown|Unknown", "1|RUNNING|{0}|{1}|Unknown", "1|FAILED|{0}|{1}|{2}"],
            [(0, "FAILED")],
            id="of an attempt told while it went on, the end counts",
        ),
        pytest.param(
            ["1|PENDING|{0}|Unknown|Unknown", "1|RUNNING|{0}|{1}|Unknown"],
            [(0, "RUNNING")],
            id="or what was told last",
        ),
        pytest.param(
            ["1|NODE_FAIL|{0}|{1}|{2}", "1|REQUEUED|{0}|{1}|{2}"],
            [(0, "NODE_FAIL"), (1, "REQUEUED")],
            id="two ends of one start stay two rows",
        ),
    ],
)
def test_attempts(read: Read, rows: list[str], expected: list[tuple[int, str]]) -> None:
    """Rows of one number are told apart by submit and start."""
    stamps = [f"2026-01-05T0{hour}:00:00" for hour in range(1, 5)]
    text = "\n".join(["JobID|State|Submit|Start|End", *(row.format(*stamps) for row in rows)])
    assert read(text).jobs.select("attempt", "state").rows() == expected


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        pytest.param("1767574800", at(1), id="epoch seconds"),
        pytest.param("2026-01-05T02:00:00+01:00", at(1), id="a stamp with its zone"),
        pytest.param("02:00:00", at(1), id="a clock of the day it was printed"),
        pytest.param("Ystday 02:00", datetime(2026, 1, 4, 1, tzinfo=UTC), id="yesterday"),
        pytest.param(
            "24 Dec 02:00", datetime(2025, 12, 24, 1, tzinfo=UTC), id="a day of last year"
        ),
        pytest.param(
            "24 Dec 2024", datetime(2024, 12, 23, 23, tzinfo=UTC), id="a day with its year"
        ),
        pytest.param("####", None, id="a stamp that did not fit"),
        pytest.param("None", None, id="no time"),
        pytest.param("2026-03-29T02:30:00", None, id="a time that the clock skipped"),
    ],
)
def test_stamps(read: Read, stamp: str, expected: datetime | None) -> None:
    """Whatever format Slurm was asked for, a stamp is a time or null."""
    text = f"JobID|State|Start\n1|FAILED|{stamp}\n"
    jobs = read(text, time_zone="Europe/Berlin", taken=at(12)).jobs
    assert jobs["start"].to_list() == [expected]


def test_relative_stamps_need_a_day(read: Read) -> None:
    """Without the time of the print, yesterday is no time."""
    text = "JobID|State|Start\n1|FAILED|Ystday 02:00\n"
    assert read(text).jobs["start"].to_list() == [None]


def test_cpu_time_of_its_parts(read: Read) -> None:
    """User and system time add up where the total was not asked for."""
    text = "JobID|State|UserCPU|SystemCPU\n1|FAILED|00:41.305|01:00:00\n"
    assert read(text).jobs["cpu_seconds"].to_list() == [3641.305]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("JobID|JobName|State\n88213|torn\n", "unrecognised line", id="a torn end"),
        pytest.param("JobID|State\nx|FAILED\n", "unrecognised line", id="no number of a job"),
        pytest.param("hello\nJobID|State\n1|FAILED\n", "unrecognised line", id="words above"),
    ],
)
def test_rejects(read: Read, text: str, reason: str) -> None:
    """What is no row is a reject."""
    assert read(text).rejects["reason"].to_list() == [reason]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("JobID\n1\n", id="one column"),
        pytest.param("jobid|loss|epoch|lr|x|y\n1|2|3|4|5|6\n", id="a table of something else"),
        pytest.param("1|2|3\n", id="numbers"),
        pytest.param("a|FAILED\n", id="no number first"),
    ],
)
def test_other_tables_are_left_alone(text: str) -> None:
    """A table is sacct's by its names, or by numbers of jobs and their states."""
    assert wants_sacct(Head(name="x", data=text.encode())) == 0.0


SAMPLE = (
    "JobID|JobName|State|Comment\n1|a|b|FAILED|x\n2|two\nlines|COMPLETED|y\n3.batch|c|RUNNING|\n"
    + FIXED
).splitlines()


@settings(max_examples=40)
@given(
    lines=st.lists(
        st.one_of(
            st.sampled_from([*SAMPLE, "", "\x1b[31m1|a|FAILED|\x1b[0m"]),
            st.binary(max_size=30).map(lambda data: data.decode("latin-1")),
        ),
        max_size=12,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)
@example(lines=[SAMPLE[0], "1|" + "x|" * 500_000], end="\n")
def test_every_line_is_accounted_for(lines: list[str], end: str, tmp_path_factory: Any) -> None:
    """Torn, doubled, coloured or foreign: each line that is not blank is used or rejected."""
    path = tmp_path_factory.mktemp("s") / "sacct.txt"
    path.write_bytes(end.join(lines).encode("utf-8"))

    reading = read_sacct(path, "sacct.txt", ReadOptions())

    rejected = reading.rejects["count"].fill_null(1).sum()
    assert reading.lines_used + rejected == plain_lines(path.read_bytes()).height


def public(name: str) -> Reading:
    """Return the reading of a public table of sacct."""
    path = Path(FOLDER or ".") / "sacct" / f"sample-sacct-{name}.txt"
    return read_file(path, path.name, ReadOptions())


public_data = pytest.mark.skipif(FOLDER is None, reason="PACELINE_DATA is not set: not run")


@public_data
@pytest.mark.parametrize("name", ["fake-line-break", "one-multiline", "multiple-multiline"])
def test_public_tables(name: str) -> None:
    """Rows that a free text tore are read as their joined copies, and nothing is left over."""
    torn, joined = public(name), public(f"{name}-expected")
    columns = [one for one in JOBS.names() if one not in ("source", "flags")]
    assert (torn.jobs.select(columns).rows(), torn.rejects.height, joined.rejects.height) == (
        joined.jobs.select(columns).rows(),
        0,
        0,
    )


@public_data
def test_public_table_over_midnight() -> None:
    """The table over midnight holds 306 jobs, however many steps end after them."""
    whole = public("output-midnight-edge-case")
    small, cleaned = (public(f"output-midnight-edge-case-small{end}") for end in ("", "-expected"))
    assert (
        (whole.jobs.height, whole.jobs["run"].n_unique(), whole.rejects.height),
        small.jobs.select("run", "state", "reason").rows(),
    ) == ((306, 306, 0), cleaned.jobs.select("run", "state", "reason").rows())


@public_data
@pytest.mark.parametrize(
    ("name", "jobs", "lines", "rejected"),
    [
        pytest.param("output", 0, 69, 0, id="steps alone"),
        pytest.param("running-output", 0, 11, 0, id="steps that run"),
        pytest.param("running-output-large", 0, 5041, 0, id="many of the same"),
        pytest.param("output-invalid-utf8", 2, 12, 0, id="bytes that are no text"),
        pytest.param("output-with-invalid-lines", 0, 1, 1, id="a line without its begin"),
    ],
)
def test_public_lines(name: str, jobs: int, lines: int, rejected: int) -> None:
    """Every line of the public tables is a row, a part of one, or a reject."""
    reading = public(name)
    assert (reading.jobs.height, reading.lines_used, reading.rejects.height) == (
        jobs,
        lines,
        rejected,
    )
