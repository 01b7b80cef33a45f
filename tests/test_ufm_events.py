"""UFM's event log: ports under their numbers and labels, and the other end."""

from typing import Any

import pytest

from collectors.port_logs.ufm_events import read_ufm_events
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines

HEAD = "2031-03-09 04:11:07.113 [48211]"
LEAF = "Switch [default / Switch: LEAF-R3-02 / 17] [dev_id: b83fd2030a001101]"
TO_HOST = "(Switch:LEAF-R3-02:1/9/1)guid:17 - (Computer:GPU-R3-N07:1)guid:1"
TO_SPINE = (
    "(Switch:LEAF-R3-02:1/9/1)b83fd2030a001101:17 - (Switch:SPINE-S04:1/4/2)fc6a1c0300244e00:8"
)


def read(*lines: str) -> Reading:
    """Return what the dialect makes of lines."""
    text = "\n".join(lines)
    return read_ufm_events(read_lines(text.encode()), ReadOptions(time_zone="UTC")).reading


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            f"{HEAD} [329] WARNING [Link] {LEAF}: Link went down: {TO_HOST}, cable S/N: ZZ000111",
            ("leaf-r3-02", "switch_port", "17", "link_down", "ufm", "gpu-r3-n07 1"),
            id="a link went down",
        ),
        pytest.param(
            f"{HEAD} [328] INFO [Link] {LEAF}: Link went up: {TO_SPINE}",
            ("leaf-r3-02", "switch_port", "17", "link_up", "ufm", "spine-s04 8"),
            id="a link came up",
        ),
        pytest.param(
            f"{HEAD} [702] WARNING [Link] IBPort [default / Switch: LEAF-R3-02 / 1/9/2] [dev_id: "
            "b8]: Peer Port SPINE-S04:1/19/2 is considered by SM as unhealthy due to FLAPPING.",
            ("leaf-r3-02", "switch_port", "1/9/2", "port_error", "unhealthy", "spine-s04 1/19/2"),
            id="the subnet manager calls the peer unhealthy",
        ),
        pytest.param(
            f"{HEAD} [110] MINOR [Link] {LEAF}: Symbol error counter rate exceeded",
            ("leaf-r3-02", "switch_port", "17", "port_error", "symbol_errors", None),
            id="a threshold of symbol errors",
        ),
        pytest.param(
            f"{HEAD} [918] WARNING [Link] {LEAF}: Symbol BER",
            ("leaf-r3-02", "switch_port", "17", "port_error", "symbol_ber", None),
            id="a threshold of the error ratio",
        ),
        pytest.param(
            f"{HEAD} [907] CRITICAL [Link] Switch [default / Switch: LEAF-R3-02] [dev_id: b8]: x",
            ("leaf-r3-02", "node", None, "switch_down", "907", None),
            id="a switch is down",
        ),
        pytest.param(
            f"{HEAD} [1503] WARNING [Link] Grid [Grid]: Duplicate cable detected",
            (None, "node", None, "cable_event", "duplicate", None),
            id="a cable of no node",
        ),
        pytest.param(
            f"{HEAD} [527] INFO [Gateway] Grid [Grid]: all fine",
            (None, "node", None, "ufm_event", "527", None),
            id="any other number",
        ),
    ],
)
def test_events(line: str, expected: tuple[Any, ...]) -> None:
    """Each event names its node, its port and the other end as far as the line does."""
    columns = ("host", "device_kind", "device", "kind", "code", "peer")
    assert read(line).events.select(columns).rows() == [expected]


def test_labels_and_guids_are_aliases() -> None:
    """A port's label and its number are one port, a GUID and a name one switch."""
    line = f"{HEAD} [329] WARNING [Link] {LEAF}: Link went down: {TO_SPINE}"
    aliases = read(line).aliases.sort("host", "alias")
    assert aliases.select("host", "device", "alias_kind", "alias").rows() == [
        ("leaf-r3-02", None, "guid", "0xb83fd2030a001101"),
        ("leaf-r3-02", "17", "label", "1/9/1"),
        ("spine-s04", None, "guid", "0xfc6a1c0300244e00"),
        ("spine-s04", "8", "label", "1/4/2"),
    ]


def test_cables_between_switches() -> None:
    """Of a cable between switches both ends are known; a host's port is only a number."""
    lines = [
        f"{HEAD} [329] WARNING [Link] {LEAF}: Link went down: {ends}"
        for ends in (TO_SPINE, TO_HOST)
    ]
    links = read(*lines).links.select("node_a", "port_a", "node_b", "port_b")
    assert links.rows() == [("leaf-r3-02", "17", "spine-s04", "8")]


def test_a_restart_is_one_event() -> None:
    """More than 50 ports of a device that move within a second are its restart."""
    lines = [
        f"2031-03-09 04:11:07.{port:03d} [1] [329] WARNING [Link] Switch [default / Switch: LEAF-1 "
        f"/ {port}]: Link went down"
        for port in range(1, 65)
    ]
    lines.append(f"{HEAD} [329] WARNING [Link] {LEAF}: Link went down: {TO_HOST}")

    events = read(*lines).events

    assert events.select("host", "device", "kind", "code", "count").rows() == [
        ("leaf-1", None, "boot", "burst", 64),
        ("leaf-r3-02", "17", "link_down", "ufm", 1),
    ]


def test_lines_of_others_are_left_alone() -> None:
    """A log without events of UFM is not claimed."""
    lines = read_lines(b"hello\n2031-03-09 04:11:07.113 [1] [x] WARNING")
    assert read_ufm_events(lines, ReadOptions()).claimed.to_list() == []
