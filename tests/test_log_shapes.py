"""Tests of knowing a log by another one."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from collectors.dialects import DIALECTS
from collectors.log_shapes import KnownHeads
from collectors.readings import Reading
from collectors.sniffing import Dialect, Head, ReadOptions

LOG = "hx8-001:1:1 [0] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM\nstep 1 of 2\n"
OTHER_NUMBERS = (
    LOG.replace("hx8-001", "hx8-977").replace("step 1", "step 65").replace("3[3]", "a[9]")
)


@dataclass(frozen=True, kw_only=True)
class Sniffer:
    """A format that counts how often it is asked."""

    mark: str
    asked: list[str] = field(default_factory=list[str])

    def wants(self, head: Head) -> float:
        """Want heads with the mark."""
        self.asked.append(head.name)
        return 0.5 if self.mark in head.text else 0.0


def dialect(sniffer: Sniffer) -> Dialect:
    """Return the format of a sniffer."""
    return Dialect(name=sniffer.mark, wants=sniffer.wants, read=read_nothing)


def read_nothing(_path: Path, _source: str, _options: ReadOptions) -> Reading:
    """Find nothing."""
    return Reading()


def head(name: str, text: str) -> Head:
    """Return the head of a file."""
    return Head(name=name, data=text.encode())


@pytest.mark.parametrize(
    ("name", "text", "is_asked"),
    [
        pytest.param("rank_4095.log", OTHER_NUMBERS, False, id="the same lines of other numbers"),
        pytest.param("rank_1.log", LOG + LOG, False, id="the same lines again"),
        pytest.param("rank_1.log", LOG + "one more\n", True, id="a line of another kind"),
        pytest.param("rank_1.txt", LOG, True, id="a file that is called another way"),
        pytest.param("rank_1.log", "", True, id="a file of nothing"),
    ],
)
def test_heads_alike(name: str, text: str, is_asked: bool) -> None:
    """A head that differs in its numbers alone from a log's is one, and nobody is asked again."""
    sniffers = Sniffer(mark="PAGE"), Sniffer(mark="")
    dialects = tuple(dialect(one) for one in sniffers)
    known = KnownHeads(dialects=dialects, log=dialects[1])
    known.choose(head("rank_0.log", LOG))
    assert known.choose(head(name, text)) is dialects[1]
    assert (len(sniffers[0].asked) == 2) is is_asked


def test_other_formats_are_asked_each_time() -> None:
    """Only plain logs are known by others: a head of another format is looked at itself."""
    sniffers = Sniffer(mark="PAGE"), Sniffer(mark="")
    dialects = tuple(dialect(one) for one in sniffers)
    known = KnownHeads(dialects=dialects, log=dialects[1])
    found = [known.choose(head("page.prom", "PAGE 1\n")) for _ in range(2)]
    assert found == [dialects[0]] * 2
    assert len(sniffers[0].asked) == 2


def test_nobody_wants_a_binary_file() -> None:
    """What no format wants is nobody's, however often it is asked for."""
    log = next(one for one in DIALECTS if one.name == "log")
    known = KnownHeads(dialects=DIALECTS, log=log)
    assert [known.choose(head("core", "\x01\x02\x03")) for _ in range(2)] == [None, None]
