"""Jobs that stand in several groups at once, in logs of public shape, from text to verdict."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest

from detectors.verdicts import Verdict

NAMES = {
    "tensor": "TENSOR_MODEL_PARALLEL_GROUP",
    "data": "DATA_PARALLEL_GROUP",
    "pipeline": "PIPELINE_MODEL_PARALLEL_GROUP",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """Ranks in tensor groups side by side, data groups across them, stages after those."""

    tensor: int
    data: int
    stages: int = 1

    @property
    def ranks(self) -> range:
        """All ranks."""
        return range(self.tensor * self.data * self.stages)

    def head(self, rank: int, axis: str, *, name: str | None = None) -> str:
        """How a watchdog names a rank's group along an axis, and its place there."""
        place, number = self.place(rank, axis)
        return f"PG ID 2 PG GUID {number}({NAMES[axis] if name is None else name}) Rank {place}"

    def place(self, rank: int, axis: str) -> tuple[int, int]:
        """The rank's place along an axis, and a number that only its group there has."""
        width = {"tensor": 1, "data": self.tensor, "pipeline": self.tensor * self.data}[axis]
        size = {"tensor": self.tensor, "data": self.data, "pipeline": self.stages}[axis]
        place = rank // width % size
        return place, 1000 * (1 + list(NAMES).index(axis)) + rank - place * width

    def mates(self, rank: int, axis: str) -> set[int]:
        """All ranks of the rank's group along an axis."""
        group = self.place(rank, axis)[1]
        return {one for one in self.ranks if self.place(one, axis)[1] == group}


def timed_out(
    rank: int, work: int, head: str, call: str = "ALLREDUCE", *, size: int = 5, second: int = 10
) -> str:
    """A watchdog's time-out and the status behind it, as torch 2.6 prints them."""
    c10 = f"[rank{rank}]:[E311 04:00:{second:02}.000000900 ProcessGroupNCCL.cpp:632]"
    return (
        f"{c10} [{head}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={work}, "
        f"OpType={call}, NumelIn={size}, NumelOut={size}, Timeout(ms)=600000) ran for 600013 "
        f"milliseconds before timing out.\n{c10} [{head}]  failure detected by watchdog at work "
        f"sequence id: {work} PG status: last enqueued work: {work}, last completed work: "
        f"{work - 1}\n"
    )


def nested(mesh: Mesh, absent: Iterable[int], name: str | None = None) -> str:
    """The mates of absent ranks wait in their tensor group, all others in their data group."""
    gone = set(absent)
    mates = {one for rank in gone for one in mesh.mates(rank, "tensor")}
    return "".join(
        timed_out(rank, 7000, mesh.head(rank, "tensor", name=name))
        if rank in mates
        else timed_out(rank, 55, mesh.head(rank, "data", name=name))
        for rank in mesh.ranks
        if rank not in gone
    )


def three_levels(absent: int) -> str:
    """Some wait in the group of all, some in their data groups, the mates in their tensor group."""
    mesh = Mesh(tensor=4, data=8)
    mates = mesh.mates(absent, "tensor")
    return "".join(
        timed_out(rank, 7000, mesh.head(rank, "tensor"))
        if rank in mates
        else timed_out(rank, 55, mesh.head(rank, "data"))
        if rank < 16
        else timed_out(rank, 9, f"PG ID 0 PG GUID 0(default_pg) Rank {rank}")
        for rank in mesh.ranks
        if rank != absent
    )


def staged(absent: int) -> str:
    """The neighbours of a stage wait for its sends, its mates in their tensor group."""
    mesh = Mesh(tensor=2, data=2, stages=4)
    mates = mesh.mates(absent, "tensor")
    line = {peer for one in mates for peer in mesh.mates(one, "pipeline")} - mates
    return "".join(
        timed_out(rank, 7000, mesh.head(rank, "tensor"))
        if rank in mates
        else timed_out(rank, 40 - rank, mesh.head(rank, "pipeline"), "RECV")
        if rank in line
        else timed_out(rank, 55, mesh.head(rank, "data"))
        for rank in mesh.ranks
        if rank != absent
    )


SQUARE = Mesh(tensor=8, data=8)
SIGNAL = (
    "[rank41]:[E311 04:00:11.000000900 ProcessGroupNCCL.cpp:1683] [PG ID 0 PG GUID 0(default_pg) "
    "Rank 41] Received a dump signal due to a collective timeout from  rank 0 and we will try our "
    "best to dump the debug info. Last enqueued NCCL work: -1, last completed NCCL work: -1.This\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(nested(SQUARE, [41]), [41], id="a member of a tensor group"),
        pytest.param(nested(SQUARE, [40]), [40], id="the first of one"),
        pytest.param(nested(SQUARE, [47]), [47], id="the last of one, behind all who spoke there"),
        pytest.param(nested(SQUARE, [63]), [63], id="the last of all, above all who spoke"),
        pytest.param(nested(SQUARE, [41], name="undefined"), [41], id="groups without a name"),
        pytest.param(nested(Mesh(tensor=2, data=8), [4]), [4], id="one of two"),
        pytest.param(nested(Mesh(tensor=2, data=8), [5]), [5], id="the other of two"),
        pytest.param(nested(SQUARE, [12, 41]), [12, 41], id="two that hang by themselves"),
        pytest.param(nested(SQUARE, [41, 44]), [41, 44], id="two of one group"),
        pytest.param(three_levels(13), [13], id="three groups inside each other"),
        pytest.param(staged(5), [5], id="a stage whose neighbours wait for its sends"),
        pytest.param(
            nested(SQUARE, [41]) + SIGNAL, [41], id="who answers the call to dump waits nowhere"
        ),
    ],
)
def test_the_innermost_silence_is_named(
    log_verdicts: Callable[[dict[str, str]], list[Verdict]], text: str, expected: list[int]
) -> None:
    """From time-outs alone: who waits elsewhere is a link, who waits nowhere the chain's end."""
    found = log_verdicts({"train.log": text})
    assert [(v.kind, v.level, v.subject.rank) for v in found] == [
        ("hang", "rank", rank) for rank in expected
    ]
