"""Lists of sinfo and squeue."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.slurm.slurm_listings import read_slurm_listings, wants_slurm_listings
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import plain_lines

Read = Callable[[str], Reading]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A reader of one text, through the choice of its dialect."""

    def reader(text: str) -> Reading:
        path = tmp_path / "slurm.txt"
        path.write_text(text, encoding="utf-8")
        return read_file(path, path.name, ReadOptions())

    return reader


BARE = """hx8-044|drained*|xid 79|bad|2026-01-05T04:05:00
hx8-045|mixed-|none|Unknown
hx8-045|mixed-|none|Unknown
hx8-046|idle
"""

LONG = """NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_F REASON
hx8-044        1      gpu*    drained* 64      2:16:2 1000000        0      1   (null) xid 79 here
hx8-045        1      gpu*   allocated 64      2:16:2 1000000        0      1   (null) none
"""

SHORT = """PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
gpu*         up   infinite      2  drain hx8-[044-045]
gpu*         up   infinite      1   idle hx8-046
"""

REASONS = """REASON               USER      TIMESTAMP           NODELIST
xid 79 on gpu        root      2026-01-05T04:05:00 hx8-044
"""

BARS = """NODELIST|STATE|REASON|TIMESTAMP
hx8-044|down*|dead|2026-01-05T04:05:00
"""

QUEUE = """             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
             88213       gpu llm abl    alice  R   10:00      2 hx8-[001-002]
     88214_[5-9%2]       gpu      llm    alice PD       0:00      2 (Resources)
"""

AT = datetime(2026, 1, 5, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            BARE,
            [
                (AT, "hx8-044", "IDLE+DRAIN+NOT_RESPONDING", "xid 79|bad"),
                (None, "hx8-045", "MIXED+PLANNED", None),
                (None, "hx8-046", "IDLE", None),
            ],
            id="between bars, a node of two partitions once",
        ),
        pytest.param(
            LONG,
            [
                (None, "hx8-044", "IDLE+DRAIN+NOT_RESPONDING", "xid 79 here"),
                (None, "hx8-045", "ALLOCATED", None),
            ],
            id="the long list by node",
        ),
        pytest.param(
            SHORT,
            [
                (None, "hx8-044", "DRAIN", None),
                (None, "hx8-045", "DRAIN", None),
                (None, "hx8-046", "IDLE", None),
            ],
            id="the short list by partition",
        ),
        pytest.param(REASONS, [(AT, "hx8-044", None, "xid 79 on gpu")], id="reasons say no state"),
        pytest.param(
            BARS, [(AT, "hx8-044", "DOWN+NOT_RESPONDING", "dead")], id="bars and a header"
        ),
    ],
)
def test_nodes(read: Read, text: str, expected: list[tuple[Any, ...]]) -> None:
    """Each node is one event of its state."""
    reading = read(text)
    events = reading.events.select("time", "host", "code", "message")
    assert (events.rows(), reading.rejects.height) == (expected, 0)


def test_a_queue(read: Read) -> None:
    """A job waits for a reason, or is on its nodes."""
    jobs = read(QUEUE).jobs
    columns = ("run", "name", "user", "state", "elapsed_seconds", "hosts", "reason")
    assert jobs.select(columns).rows() == [
        ("88213", "llm abl", "alice", "RUNNING", 600.0, ["hx8-001", "hx8-002"], None),
        ("88214_[5-9%2]", "llm", "alice", "PENDING", 0.0, None, "Resources"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a|b|c\n1|2|3\n", id="any table"),
        pytest.param("NAME STATE\nx idle\n", id="states of something else"),
        pytest.param("", id="nothing"),
        pytest.param("idle|hx8-001\n", id="the other way round"),
    ],
)
def test_other_texts_are_left_alone(text: str) -> None:
    """Only a list of nodes or jobs is one."""
    assert wants_slurm_listings(Head(name="x", data=text.encode())) == 0.0


@settings(max_examples=30)
@given(
    lines=st.lists(
        st.one_of(
            st.sampled_from([*BARE.splitlines(), *LONG.splitlines(), *QUEUE.splitlines(), ""]),
            st.binary(max_size=30).map(lambda data: data.decode("latin-1")),
        ),
        max_size=10,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_every_line_is_accounted_for(lines: list[str], end: str, tmp_path_factory: Any) -> None:
    """Torn, doubled, mixed or foreign: each line that is not blank is used or rejected."""
    path = tmp_path_factory.mktemp("s") / "list.txt"
    path.write_bytes(end.join(lines).encode("utf-8"))

    reading = read_slurm_listings(path, "list.txt", ReadOptions())

    rejected = reading.rejects["count"].fill_null(1).sum()
    assert reading.lines_used + rejected == plain_lines(path.read_bytes()).height


def test_a_queue_between_bars(tmp_path: Path) -> None:
    """Squeue with a format of its own: starts are read, and a planned one is none."""
    path = tmp_path / "squeue.txt"
    path.write_text(
        "JOBID|NAME|USER|ST|TIME|START_TIME|NODELIST(REASON)\n"
        "77|llm|ana|R|1:02:03|2026-01-05T01:00:00|n[001-002]\n"
        "80_[1-3]|llm|ana|PD|0:00|2026-01-06T01:00:00|(Resources)\n",
        encoding="utf-8",
    )
    reading = read_file(path, path.name, ReadOptions())
    assert (
        reading.jobs.select("run", "state", "start", "hosts", "reason").rows(),
        reading.rejects.height,
    ) == (
        [
            ("77", "RUNNING", datetime(2026, 1, 5, 1, tzinfo=UTC), ["n001", "n002"], None),
            ("80_[1-3]", "PENDING", None, None, "Resources"),
        ],
        0,
    )
