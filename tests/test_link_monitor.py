"""What `ip -timestamp monitor link` prints."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.dialects import read_file
from collectors.port_logs.link_monitor import read_link_monitor, wants_link_monitor
from collectors.sniffing import Head, ReadOptions
from collectors.texts.envelope import read_lines

BLOCKS = """Timestamp: Sun Mar  9 04:11:07 2031 123456 usec
12: eth4: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq state DOWN group default
    link/ether b8:3f:d2:0a:00:77 brd ff:ff:ff:ff:ff:ff
Timestamp: Sun Mar  9 04:11:08 2031 000001 usec
12: eth4: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq state DOWN group default
    link/ether b8:3f:d2:0a:00:77 brd ff:ff:ff:ff:ff:ff
[2031-03-09T04:11:09.123456] 12: eth4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP
[2031-03-09T04:12:09.123456] 12: eth4: <BROADCAST,MULTICAST> mtu 9000 qdisc mq state DOWN
[2031-03-09T04:13:09.123456] 13: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN
[2031-03-09T04:14:09.123456] Deleted 14: swp3@br0: <BROADCAST,UP> mtu 9000 qdisc mq state DOWN
stray text
"""


def test_blocks(tmp_path: Path) -> None:
    """Only a state that differs from the one before is a change of the link."""
    path = tmp_path / "monitor.txt"
    path.write_text(BLOCKS, encoding="utf-8")

    reading = read_file(path, path.name, ReadOptions())

    def at(minute: int, second: int, micros: int) -> datetime:
        return datetime(2031, 3, 9, 4, minute, second, micros, tzinfo=UTC)

    events = reading.events.select("time", "device_kind", "device", "kind")
    assert (events.rows(), reading.lines_used, reading.rejects["text"].to_list()) == (
        [
            (at(11, 7, 123456), "nic", "eth4", "link_down"),
            (at(11, 9, 123456), "nic", "eth4", "link_up"),
            (at(12, 9, 123456), "nic", "eth4", "admin_down"),
            (at(13, 9, 123456), "interface", "lo", "link_unchanged"),
            (at(14, 9, 123456), "switch_port", "swp3", "link_down"),
        ],
        10,
        ["stray text"],
    )


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        pytest.param(BLOCKS, 0.95, id="blocks with times"),
        pytest.param("12: eth4: <UP> mtu 9000 state UP\n", 0.0, id="a listing has no times"),
    ],
)
def test_wants(text: str, sure: float) -> None:
    """A monitor is told from a listing by its times."""
    assert wants_link_monitor(Head(name="x", data=text.encode())) == sure


def test_nothing_of_it() -> None:
    """Other logs are left alone."""
    assert read_link_monitor(read_lines(b"Timestamp: now\n"), ReadOptions()).claimed.len() == 0
