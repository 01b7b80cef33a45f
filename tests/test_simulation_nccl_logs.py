"""NCCL logs: every process starts; in a hang all but the culprit time out, where they wait."""

import re
from collections import Counter
from pathlib import Path

import pytest

from paceline.simulation.orion import OrionParams, Truth, simulate

INFO = re.compile(r"^\[default[0-7]\]:(?:NCCL version 2\.27\.7|hx8-\d{3}:\d+:\d+ \[[0-7]\] NCCL )")
C10 = re.compile(
    r"^\[default[0-7]\]:\[rank(\d+)\]:\[E105 (\d\d:\d\d:\d\d\.\d{9}) "
    r"ProcessGroupNCCL\.cpp:\d+\] (.*)"
)
AGENT = re.compile(r"^E0105 [\d:.]+ \d+ torch/distributed/elastic/\S+\] failed \(exitcode: (-\d)\)")
STATUS = re.compile(
    r"PG GUID (\d+)\((\w+)\) Rank \d+\]  failure detected by watchdog at work sequence id: (\d+) "
    r"PG status: last enqueued work: (\d+), last completed work: (\d+)$"
)
SIGNAL = re.compile(
    r"timeout from +(?:rank (\d+)|this local rank) .* NCCL work: (\d+), .*: (\d+)\.$"
)
PARAMS = OrionParams(nodes=8, minutes=20.0, onset_minutes=8.0, timeout_seconds=120.0)


@pytest.fixture(scope="module")
def hang(tmp_path_factory: pytest.TempPathFactory) -> tuple[Truth, list[str]]:
    """A small cluster that hangs, and all lines of its logs."""
    folder = tmp_path_factory.mktemp("hang")
    truth = simulate("nccl-hang", folder, seed=4, params=PARAMS)
    return truth, lines_below(folder)


def lines_below(folder: Path) -> list[str]:
    """Return all nodes' lines, node after node."""
    return [
        line
        for path in sorted((folder / "sources" / "nccl").glob("*.log"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def test_every_line_has_a_known_shape(hang: tuple[Truth, list[str]]) -> None:
    """Lines are NCCL's, c10's or torchrun's own, and nothing else."""
    _, lines = hang

    strange = [
        line for line in lines if not (INFO.match(line) or C10.match(line) or AGENT.match(line))
    ]
    assert strange == []


def test_every_rank_comes_up(tmp_path: Path) -> None:
    """Each process completes its three communicators, and members agree on a group's name."""
    simulate("healthy", tmp_path, seed=1, params=OrionParams(nodes=8, minutes=4.0))
    found = [
        (int(place), int(size), name)
        for line in lines_below(tmp_path)
        for place, size, name in re.findall(
            r" rank (\d+) nranks (\d+) .* commId (0x[0-9a-f]+) - Init COMPLETE", line
        )
    ]

    sizes = Counter(size for _, size, _ in found)
    groups = {size: {name for _, own, name in found if own == size} for size in sizes}
    assert sizes == {64: 64, 8: 64, 2: 64}
    assert {size: len(names) for size, names in groups.items()} == {64: 1, 8: 8, 2: 32}


def test_who_reports_and_where(hang: tuple[Truth, list[str]]) -> None:
    """The culprit's peers wait in their own groups with it, the rest in the job's."""
    truth, lines = hang
    assert truth.culprit is not None
    reports = [
        (int(found[1]), status.groups())
        for line in lines
        if (found := C10.match(line)) and (status := STATUS.search(found[3]))
    ]

    waiting = Counter(str(status[1]) for _, status in reports)
    assert waiting == {
        "TENSOR_MODEL_PARALLEL_GROUP": 7,
        "DATA_PARALLEL_GROUP": 1,
        "default_pg": 55,
    }
    assert truth.culprit.rank not in {rank for rank, _ in reports}
    assert all(
        (int(at), int(done)) == (int(enqueued), int(enqueued) - 1)
        for _, (_, _, at, enqueued, done) in reports
    )


def test_the_culprit_is_one_behind(hang: tuple[Truth, list[str]]) -> None:
    """The culprit only passes on the signal, with one operation less than the job's others."""
    truth, lines = hang
    assert truth.culprit is not None
    signals = {
        int(found[1]): (int(signal[2]), int(signal[3]))
        for line in lines
        if (found := C10.match(line)) and (signal := SIGNAL.search(found[3]))
    }

    behind = {rank for rank, (enqueued, completed) in signals.items() if enqueued == completed}
    assert len(signals) == 64
    assert truth.culprit.rank in behind
    assert len(behind) == 1 + 7 + 1
    own = [line for line in lines if f"[rank{truth.culprit.rank}]:" in line]
    assert [("dump" in line) for line in own] == [True, True]


def test_time_outs_come_after_the_limit(hang: tuple[Truth, list[str]]) -> None:
    """Each watchdog fires within a second of its limit, and torchrun counts the dead."""
    _, lines = hang
    waited = [
        int(ms) for line in lines for ms in re.findall(r"ran for (\d+) milliseconds before", line)
    ]
    codes = Counter(found[1] for line in lines if (found := AGENT.match(line)))

    assert len(waited) == 63
    assert 120_000 <= min(waited) <= max(waited) <= 121_000
    assert codes == {"-6": 63, "-9": 1}


def test_a_recording_may_end_before_the_time_out(tmp_path: Path) -> None:
    """A hang whose limit is not reached leaves no line but those of the start."""
    params = OrionParams(nodes=4, minutes=12.0, onset_minutes=8.0)
    simulate("nccl-hang", tmp_path, seed=4, params=params)

    assert [line for line in lines_below(tmp_path) if not INFO.match(line)] == []
