"""When and where a file was taken."""

from datetime import UTC, datetime

import pytest

from collectors.sniffing import ReadOptions
from collectors.taken import taken_at, taken_on

MOMENT = datetime(2026, 1, 5, 4, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("hx8-017/ethtool-eth4-20260105T040302Z.txt", MOMENT, id="a basic stamp"),
        pytest.param("perfquery_2026-01-05T04:03:02Z", MOMENT, id="an extended stamp"),
        pytest.param(
            "dom-2026-01-05_05-03-02.txt", MOMENT, id="without Z the stamp is in the zone given"
        ),
        pytest.param("ethtool-eth4.txt", None, id="no stamp, no time"),
        pytest.param("a-20261345T040302.txt", None, id="month 13 is no stamp"),
        pytest.param("job-2026010504030299.txt", None, id="a long number is no stamp"),
    ],
)
def test_taken_at(name: str, expected: datetime | None) -> None:
    """The time in a file's name is believed, nothing else is."""
    assert taken_at(name, ReadOptions(time_zone="Europe/Berlin")) == expected


def test_the_caller_knows_best_when() -> None:
    """What the caller says beats the name."""
    later = datetime(2026, 2, 1, tzinfo=UTC)

    assert taken_at("x-20260105T040302Z", ReadOptions(taken=later)) == later


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("drop/hx8-017/ethtool.txt", "hx8-017", id="a folder"),
        pytest.param("drop/HX8-017.log", "hx8-017", id="the file, in lower case"),
        pytest.param("leaf-r3-02/rank12.txt", "leaf-r3-02", id="a rank is no host"),
        pytest.param("run12/mlx5_4.txt", None, id="a run or a device is no host"),
        pytest.param("drop/q32.csv", None, id="a short word with a number is no host"),
        pytest.param("drop/node017.csv", "node017", id="one with three digits is"),
        pytest.param("dmesg-hx8-060.log", "hx8-060", id="a kernel log of a host"),
        pytest.param("hx8-060_dmesg.txt", "hx8-060", id="a host's kernel log"),
    ],
)
def test_taken_on(name: str, expected: str | None) -> None:
    """The innermost part of a path that looks like a host is the host."""
    assert taken_on(name, ReadOptions()) == expected


def test_the_caller_knows_best_where() -> None:
    """What the caller says beats the name."""
    assert taken_on("hx8-017.txt", ReadOptions(host="HX8-018")) == "hx8-018"


def test_a_moment_without_a_zone_is_refused() -> None:
    """A time that could be two is refused at the door."""
    with pytest.raises(ValueError, match="taken must have a zone"):
        ReadOptions(taken=datetime(2026, 1, 5))  # noqa: DTZ001 -- the point of the test
