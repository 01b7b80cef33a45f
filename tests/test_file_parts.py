"""Taking files into a store: each line once, whatever grows, moves, repeats or is cut."""

import gzip
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.sniffing import ReadOptions
from collectors.storage.file_contents import read_bytes, read_contents, role_of
from collectors.storage.file_ledger import CollectedFile, read_entries
from collectors.storage.file_parts import FileReader
from collectors.storage.store import Store
from collectors.training.attempts import mend_attempts

NOW = datetime(2026, 2, 1, tzinfo=UTC)
LONG_AGO = datetime(2026, 1, 5, tzinfo=UTC).timestamp()


def steps(first: int, last: int) -> str:
    """Lines of a trainer's log, one a step."""
    return "".join(
        f"[2026-01-05 04:{step // 60:02d}:{step % 60:02d}] iteration {step}/ 900 | "
        "elapsed time per iteration (ms): 1000.0 | lm loss: 2.0E+00\n"
        for step in range(first, last + 1)
    )


class Bench:
    """A store, a folder of files, and a reader of them; its clock stands still."""

    def __init__(self, folder: Path) -> None:
        """Make both below a folder."""
        self.folder = folder / "logs"
        self.folder.mkdir()
        self.store = Store.open_at(str(folder / "store"), create=True)

    def write(self, name: str, text: str | bytes, *, age: float = LONG_AGO) -> Path:
        """Write a file that was changed long ago."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        os.utime(path, (age, age))
        return path

    def take(
        self,
        *names: str,
        is_following: bool = False,
        parts: int | None = None,
    ) -> int:
        """Take files, or the first parts of each, and return how many rows were added."""
        reader = FileReader(
            store=self.store,
            options=ReadOptions(),
            clock=lambda: NOW,
            is_following=is_following,
        )
        added = 0
        for name in names:
            taken = reader.collect(self.file(name), read_entries(self.store))
            for number, part in enumerate(taken, start=1):
                added += sum(part.values())
                if number == parts:
                    taken.close()
                    break
        return added

    def take_all(self) -> None:
        """Take all files, the newest last, as who follows them does."""
        self.take(*sorted(path.name for path in self.folder.iterdir()), is_following=True)

    def file(self, name: str) -> CollectedFile:
        """The file of a name, as a walk over the folder finds it."""
        path = self.folder / name
        return CollectedFile(
            path=path, source=name, root="logs", folder=str(path.parent), stem=path.stem
        )

    def steps(self) -> list[int]:
        """All stored steps, in order."""
        return self.store.read("steps").collect()["step"].sort().to_list()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty store and an empty folder."""
    return Bench(tmp_path)


@pytest.mark.parametrize("is_following", [False, True], ids=["once", "following"])
def test_a_log_that_grows(bench: Bench, *, is_following: bool) -> None:
    """Each line of a growing log is stored once, and so is each later line."""
    for last in (5, 5, 9, 20):
        bench.write("train.log", steps(1, last))
        bench.take("train.log", is_following=is_following)

    assert bench.steps() == list(range(1, 21))


def test_positions_go_on(bench: Bench) -> None:
    """Lines that are added later keep their numbers in the whole file."""
    bench.write("train.log", steps(1, 5))
    bench.take("train.log")
    bench.write("train.log", steps(1, 5) + "what is this\n" + steps(6, 6))
    bench.take("train.log")

    rejects = bench.store.read("rejects").collect()
    assert rejects.select("position", "text").rows() == [(6, "what is this")]
    assert bench.steps() == [1, 2, 3, 4, 5, 6]


def test_attempts_go_on(bench: Bench) -> None:
    """Attempts of lines that are added later are counted from the first line of the file."""
    text = steps(1, 5) + steps(3, 6) + steps(2, 4)
    bench.write("train.log", text)
    bench.take("train.log")
    bench.write("train.log", text + steps(5, 6) + steps(1, 2))
    bench.take("train.log")

    stored = bench.store.read_all()
    mended = mend_attempts(stored.steps, stored.events).sort("position")
    assert mended["attempt"].to_list() == [0] * 5 + [1] * 4 + [2] * 5 + [3] * 2


@given(
    writes=st.lists(
        st.sampled_from(["line", "half", "take", "rotate", "pack", "truncate"]), max_size=14
    )
)
@settings(max_examples=12, deadline=None)
def test_each_line_once_whatever_is_done(
    tmp_path_factory: pytest.TempPathFactory, writes: list[str]
) -> None:
    """A log that is written to in halves of lines, rotated, packed and emptied is read once."""
    bench = Bench(tmp_path_factory.mktemp("replay"))
    text, step, rotated = "", 0, 0
    for write in writes:
        if write == "line":
            step += 1
            text += steps(step, step) if text.endswith("\n") or not text else ""
        elif write == "half" and (text.endswith("\n") or not text):
            step += 1
            whole = steps(step, step)
            bench.write("train.log", text + whole[:40], age=NOW.timestamp())
            bench.take("train.log", is_following=True)
            text += whole
        elif write == "rotate" and text:
            rotated += 1
            bench.write(f"train.log.{rotated}", text)
            text = ""
        elif write == "pack" and text:
            rotated += 1
            bench.write(f"train.log.{rotated}.gz", gzip.compress(text.encode()))
            text = ""
        elif write == "truncate" and text:
            bench.write("train.log", text)
            bench.take("train.log", is_following=True)
            text = ""
        bench.write("train.log", text, age=NOW.timestamp())
        if write == "take":
            bench.take_all()
    bench.take_all()

    assert bench.steps() == list(range(1, step + 1))


def test_half_a_line_waits(bench: Bench) -> None:
    """While a log is written to, a line without an end is not a line yet."""
    whole = steps(1, 3)
    bench.write("train.log", whole[:-20], age=NOW.timestamp())
    bench.take("train.log", is_following=True)
    before = bench.steps()
    bench.write("train.log", whole, age=NOW.timestamp())
    bench.take("train.log", is_following=True)

    assert (before, bench.steps()) == ([1, 2], [1, 2, 3])


def test_nothing_to_take(bench: Bench) -> None:
    """An empty file, and one without a whole line yet, give nothing and leave no mark."""
    bench.write("empty.log", "")
    bench.write("half.log", "no end")
    bench.take("empty.log", "half.log", is_following=True)

    assert read_entries(bench.store) == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(["old/train.log"], 1, id="a copy in another folder is the same file"),
        pytest.param(["rank7.log"], 2, id="a name that tells a rank makes another file"),
        pytest.param(["hx8-017/train.log"], 2, id="a folder that tells a host makes another file"),
        pytest.param(["train-20260105T040302Z.log"], 2, id="so does a name that tells a time"),
    ],
)
def test_the_same_bytes_elsewhere(bench: Bench, names: list[str], expected: int) -> None:
    """The same bytes are the same file, unless the name says something to the reader."""
    for name in ("train.log", *names):
        bench.write(name, steps(1, 2))
        bench.take(name)

    assert bench.steps() == sorted([1, 2] * expected)


@pytest.mark.parametrize("aside", ["train.log.1", "train.log-20260105", "moved.log"])
def test_a_log_that_is_put_aside(bench: Bench, aside: str) -> None:
    """A log that grew before it was renamed gives its new lines, and so does the new one."""
    path = bench.write("train.log", steps(1, 5))
    bench.take("train.log")
    bench.write("train.log", steps(1, 8))
    shutil.move(path, bench.folder / aside)
    bench.write("train.log", steps(9, 10))
    bench.take(aside, "train.log")

    assert bench.steps() == list(range(1, 11))


def test_a_log_that_is_packed(bench: Bench) -> None:
    """A log that is packed when it is put aside is the same log, also if it grew before."""
    bench.write("train.log", steps(1, 5))
    bench.take("train.log")
    bench.write("train.log.1.gz", gzip.compress(steps(1, 5).encode()))
    bench.take("train.log.1.gz")
    bench.write("train.log.2.gz", gzip.compress(steps(1, 8).encode()))
    bench.take("train.log.2.gz", is_following=True)

    assert bench.steps() == list(range(1, 9))


def test_a_log_that_starts_anew(bench: Bench) -> None:
    """A log that was emptied and written again is another file under the same name."""
    bench.write("train.log", steps(1, 5))
    bench.take("train.log")
    bench.write("train.log", steps(40, 41))
    bench.take("train.log")

    assert bench.steps() == [1, 2, 3, 4, 5, 40, 41]


def page(scrapes: int) -> str:
    """An archive of scrapes of a GPU, one a minute."""
    start = int(LONG_AGO) * 1000
    lines = ["# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"]
    labels = 'gpu="0",UUID="GPU-0",Hostname="n1"'
    lines += [
        f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} {50 + at} {start + 60_000 * at}\n"
        for at in range(scrapes)
    ]
    return "".join(lines)


def test_a_page_that_grows(bench: Bench) -> None:
    """A file whose lines need those before them is read again, and only new rows are stored."""
    for scrapes in (3, 5, 5):
        bench.write("gpu.prom", page(scrapes))
        bench.take("gpu.prom")
    bench.write("gpu.prom", page(7)[:-10], age=NOW.timestamp())
    bench.take("gpu.prom", is_following=True)

    assert bench.store.read("samples").collect()["value"].sort().to_list() == [
        50.0 + at for at in range(6)
    ]


def test_a_document_is_whole_when_it_is_quiet(bench: Bench) -> None:
    """A file that is no list of lines is taken when nobody has written to it for a while."""
    text = '{"status":"success","data":{"resultType":"vector","result":[]}}'
    bench.write("answer.json", text, age=NOW.timestamp() - 5)
    bench.take("answer.json", is_following=True)
    before = len(read_entries(bench.store))
    bench.write("answer.json", text)
    bench.take("answer.json", is_following=True)

    assert (before, len(read_entries(bench.store))) == (0, 1)


def test_a_cut_is_finished_first(bench: Bench) -> None:
    """After a kill between the parts and the ledger, and a growth, each line is there once."""
    bench.write("train.log", steps(1, 5))
    bench.take("train.log")
    bench.write("train.log", steps(1, 8))
    bench.take("train.log", parts=1)
    assert [one.is_stored for one in read_entries(bench.store)].count(False) == 1
    bench.write("train.log", steps(1, 12))
    bench.take("train.log")

    assert bench.steps() == list(range(1, 13))
    assert all(one.is_stored for one in read_entries(bench.store))


def test_a_cut_before_all_tables(bench: Bench) -> None:
    """A whole file that was cut between two tables heals, though it grew meanwhile."""
    text = steps(1, 4) + "what is this\n"
    bench.write("train.log", text)
    bench.take("train.log", parts=1)
    bench.store.place.open("rejects").delete()
    bench.write("train.log", text + steps(5, 6))
    bench.take("train.log")

    assert bench.steps() == [1, 2, 3, 4, 5, 6]


@given(
    cuts=st.lists(st.integers(0, 60), max_size=5).map(sorted),
    text=st.text("ab\n", max_size=60),
    whole_lines=st.booleans(),
)
def test_starts_of_a_file(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], text: str, *, whole_lines: bool
) -> None:
    """A start has the digest that the file had when it ended there, packed or not."""
    folder = tmp_path_factory.mktemp("starts")
    plain, packed, cut = folder / "plain", folder / "packed", folder / "cut"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    found = read_contents(plain, cuts, whole_lines=whole_lines)
    end = text.rfind("\n") + 1 if whole_lines else len(text)

    assert found == read_contents(packed, cuts, whole_lines=whole_lines)
    assert [one.size for one in found] == sorted({at for at in (*cuts, end) if 0 < at <= end})
    for one in found:
        cut.write_text(text[: one.size])
        assert read_contents(cut, [], whole_lines=False) == [one]


def test_torn_gzip(tmp_path: Path) -> None:
    """What can be unpacked of a torn gzip is its content."""
    path = tmp_path / "torn.gz"
    path.write_bytes(gzip.compress(b"line\n" * 9)[:-6])

    assert b"".join(read_bytes(path, 5, 15)) == b"line\n" * 2


def test_roles() -> None:
    """A name tells a rank, a host and a time, or nothing."""
    names = ["train.log", "hx8-017/rank3-20260105T040302Z.out"]

    assert [role_of(name, ReadOptions()) for name in names] == [
        "- - -",
        "3 hx8-017 2026-01-05 04:03:02+00:00",
    ]


def test_ages(bench: Bench) -> None:
    """The age of a file counts from the last time somebody wrote to it."""
    path = bench.write("x.log", "x\n", age=NOW.timestamp() - 60)
    reader = FileReader(store=bench.store, options=ReadOptions(), clock=lambda: NOW)

    assert reader.age(path) == timedelta(minutes=1)
