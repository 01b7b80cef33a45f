"""Slurm's tables as sites have them: free texts, cut words, odd clocks."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.slurm.slurm_values import span_seconds
from collectors.sniffing import ReadOptions

Read = Callable[..., Reading]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A reader of one text, through the choice of its dialect."""

    def reader(text: str, **options: Any) -> Reading:
        path = tmp_path / "slurm.txt"
        path.write_text(text, encoding="utf-8")
        return read_file(path, path.name, ReadOptions(**options))

    return reader


def at(*parts: int) -> datetime:
    """Return a time in UTC."""
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


NAMES = """JobID|JobName|State|Elapsed|NodeList
88213|llm|abl-3|FAILED|00:10:00|hx8-[001-002]
88214|two
lines|COMPLETED|01:00:00|hx8-003
"""


def test_names_with_pipes_and_line_feeds(read: Read) -> None:
    """A job's name may hold the delimiter and a line feed: the row is rejoined around it."""
    reading = read(NAMES)

    columns = ("run", "name", "state", "elapsed_seconds", "hosts", "flags")
    assert (reading.jobs.select(columns).rows(), reading.rejects.rows(), reading.lines_used) == (
        [
            ("88213", "llm|abl-3", "FAILED", 600.0, ["hx8-001", "hx8-002"], ["rejoined"]),
            ("88214", "two\nlines", "COMPLETED", 3600.0, ["hx8-003"], ["rejoined"]),
        ],
        [],
        4,
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("00:41.305", 41.305, id="a fraction ends minutes and seconds"),
        pytest.param("47:01.250", 2821.25, id="many minutes with a fraction are no hours"),
        pytest.param("3-02:10:09", 267009.0, id="days stand before a dash"),
        pytest.param("00:00:00", 0.0, id="no time used is zero"),
    ],
)
def test_used_cpu_time(text: str, seconds: float) -> None:
    """A span is read from its right."""
    frame = pl.DataFrame({"text": [text]})
    assert frame.select(span_seconds(pl.col("text"))).item() == seconds


STATES = """90100|CANCELLED by 20114|2026-01-05T01:00:00|Unknown|00:00:00
90101|PENDING|Unknown|Unknown|00:00:00
90102|RUNNING|2026-01-05T01:00:00|Unknown|1-02:03:04
90103|OUT_OF_ME+|2026-01-05T01:00:00|2026-01-05T01:09:00|00:09:00
"""


def test_states_with_tails(read: Read) -> None:
    """States are words without their tails, and a time without a value is null."""
    jobs = read(STATES).jobs

    one, nine = at(2026, 1, 5, 1), at(2026, 1, 5, 1, 9)
    columns = ("run", "state", "reason", "start", "end", "elapsed_seconds")
    assert jobs.select(columns).rows() == [
        ("90100", "CANCELLED", "cancelled by 20114", one, None, 0.0),
        ("90101", "PENDING", None, None, None, 0.0),
        ("90102", "RUNNING", None, one, None, 93784.0),
        ("90103", "OUT_OF_MEMORY", None, one, nine, 540.0),
    ]


@pytest.mark.parametrize("wait", ["Planned", "Reserved"], ids=["new name", "old name"])
def test_clocks_set_back_and_starts_to_come(read: Read, wait: str) -> None:
    """The hour that comes twice is told by what Slurm counted, and a planned start is none."""
    text = f"""JobID|Submit|Start|End|{wait}|State|Elapsed
91001|2026-10-25T00:30:00|2026-10-25T02:30:00|2026-10-25T02:10:00|02:00:00|COMPLETED|00:40:00
91002|2026-01-05T04:00:00|2026-01-05T09:00:00|Unknown|00:00:00|PENDING|00:00:00
"""
    jobs = read(text, time_zone="Europe/Berlin").jobs

    moments = ("run", "submit", "start", "end", "elapsed_seconds")
    assert jobs.select(moments).rows() == [
        ("91001", at(2026, 10, 24, 22, 30), at(2026, 10, 25, 0, 30), at(2026, 10, 25, 1, 10), 2400),
        ("91002", at(2026, 1, 5, 3), None, None, 0),
    ]


def test_an_end_never_comes_before_its_start(read: Read) -> None:
    """Without a count of Slurm's, an end in the hour that comes twice is after the start."""
    text = """JobID|Start|End|State
91001|2026-10-25T02:30:00|2026-10-25T02:10:00|COMPLETED
"""
    jobs = read(text, time_zone="Europe/Berlin").jobs
    assert jobs["end"].to_list() == [at(2026, 10, 25, 1, 10)]


NODE = """NodeName=hx8-044 Arch=x86_64 CPULoad=N/A
   OS=Linux 6.8.0-45-generic #45-Ubuntu SMP PREEMPT_DYNAMIC
   Gres=gpu:h100:8(S:0-1) State=IDLE+DRAIN+NOT_RESPONDING ThreadsPerCore=2
   BootTime=None LastBusyTime=Unknown
   Extra={"probe":"2026-01-05 04:00","State=IDLE":"x"}
   Reason=xid 79 on gpu=6 host=bad [root@2026-01-05T04:05:00]
"""


def test_words_in_free_texts_are_no_keys(read: Read) -> None:
    """A reason and an extra text own their lines: what looks like keys in them is none."""
    reading = read(NODE)

    (event,) = reading.events.select("time", "host", "code", "message", "attributes").rows()
    *told, pairs = event
    assert (told, {pair["key"]: pair["value"] for pair in pairs}) == (
        [
            at(2026, 1, 5, 4, 5),
            "hx8-044",
            "IDLE+DRAIN+NOT_RESPONDING",
            "xid 79 on gpu=6 host=bad",
        ],
        {
            "base": "IDLE",
            "flags": "DRAIN+NOT_RESPONDING",
            "unusable": "true",
            "reason_user": "root",
            "reason_time": "2026-01-05T04:05:00Z",
            "gpus": "8",
            "extra": '{"probe":"2026-01-05 04:00","State=IDLE":"x"}',
        },
    )
