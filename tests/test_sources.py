"""Tests of reading folders."""

from pathlib import Path

import pytest

from collectors.sniffing import ReadOptions
from paceline.sources import NoSuchPathError, find_files, read_sources

STEP = '{"step": 7, "rank": 0, "t": 1767571200.5, "compute_s": 1.0, "step_s": 2.0}\n'
WATCHDOG = (
    "[rank3]:[E1104 02:11:07.418220913 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600013 milliseconds before timing out.\n"
)


def test_names_and_order(tmp_path: Path) -> None:
    """Every file below a folder is found once, by name, and hidden ones are not."""
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    for name in ("logs/b.log", "logs/a.log", "logs/deep/c.log", "logs/.hidden"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    found = find_files([tmp_path / "logs", tmp_path / "logs" / "a.log"])

    assert [one.name for one in found] == ["logs/a.log", "logs/b.log", "logs/deep/c.log"]


def test_missing_path(tmp_path: Path) -> None:
    """A path that is not there is refused by name."""
    with pytest.raises(NoSuchPathError, match=r"no such file or folder: .*gone"):
        find_files([tmp_path / "gone"])


@pytest.mark.parametrize(
    ("files", "year"),
    [
        pytest.param({"w.log": WATCHDOG, "rank0.jsonl": STEP}, 2026, id="taken from dated steps"),
        pytest.param({"w.log": WATCHDOG}, None, id="not known without a dated source"),
    ],
)
def test_year_of_undated_stamps(tmp_path: Path, files: dict[str, str], year: int | None) -> None:
    """A stamp without a year takes that of the newest dated source, never today's."""
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    reading = read_sources(find_files([tmp_path]), ReadOptions(), lambda *_: None)
    time = reading.collectives["time"][0]

    assert (time.year if time else None) == year


def test_progress_is_told(tmp_path: Path) -> None:
    """Each file is told with how many are done."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    heard: list[tuple[str, int, int]] = []
    read_sources(find_files([tmp_path]), ReadOptions(year=2026), lambda *part: heard.append(part))

    assert [(done, everything) for _, done, everything in heard] == [(1, 2), (2, 2)]
