"""Tests of what carries kernel lines: layers come off, and nothing else does."""

import json

import polars as pl
import pytest

from collectors.frames import TIME
from collectors.hosts.kernel_envelopes import open_envelopes

MESSAGE = "NVRM: loading"


def opened(text: str) -> dict[str, object]:
    """Return what one line says, without what it does not."""
    none = {"time": pl.lit(None, dtype=TIME), "host": pl.lit(None, dtype=pl.String)}
    lines = pl.DataFrame({"line": [0], "position": [1], "text": [text]}).with_columns(**none)
    row = open_envelopes(lines).row(0, named=True)
    return {
        name: value
        for name, value in row.items()
        if value not in {None, False} and name not in {"line", "position"}
    }


def journal(message: object, **fields: str) -> str:
    """Return a record of the journal."""
    return json.dumps({"__REALTIME_TIMESTAMP": "1767585782211323", "MESSAGE": message} | fields)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(MESSAGE, {}, id="nothing"),
        pytest.param(f"   {MESSAGE}", {"is_continuation": True}, id="a line that goes on"),
        pytest.param(
            f"6,4411,2071664210,c,caller=T12;{MESSAGE}",
            {"sequence": "4411", "uptime": 2071664210},
            id="kmsg with more fields",
        ),
        pytest.param(f"<4>[    2.000001] {MESSAGE}", {"uptime": 2000001}, id="raw dmesg"),
        pytest.param(
            f"[    2.000001] [  T123] {MESSAGE}", {"uptime": 2000001}, id="dmesg with callers"
        ),
        pytest.param(
            f"[    2.000001 <    0.000001>] {MESSAGE}", {"uptime": 2000001}, id="dmesg with deltas"
        ),
        pytest.param(
            f"[    2.000001] hx8-017 kernel: {MESSAGE}",
            {"uptime": 2000001, "host": "hx8-017", "program": "kernel"},
            id="the journal's monotonic form",
        ),
        pytest.param(
            f"1767585782.211323 HX8-017 kernel: {MESSAGE}",
            {"epoch": "1767585782211323", "host": "hx8-017", "program": "kernel"},
            id="the journal's unix form",
        ),
        pytest.param(
            f"Mon 2026-01-05 04:03:02 UTC hx8-017 kernel: {MESSAGE}",
            {"iso": "2026-01-05 04:03:02 UTC", "host": "hx8-017", "program": "kernel"},
            id="the journal's full form",
        ),
        pytest.param(
            f"<4>1 2026-01-05T04:03:02.2+00:00 hx8-017.cl kernel - - - {MESSAGE}",
            {"iso": "2026-01-05T04:03:02.2+00:00", "host": "hx8-017.cl", "program": "kernel"},
            id="RFC 5424",
        ),
        pytest.param(
            f"hx8-017: [    2.000001] {MESSAGE}",
            {"host": "hx8-017", "uptime": 2000001},
            id="many hosts' dmesg behind their names",
        ),
        pytest.param(
            f"2026-01-05T04:03:02,211323+00:00 {MESSAGE}",
            {"iso": "2026-01-05T04:03:02,211323+00:00"},
            id="dmesg with ISO time has no host",
        ),
        pytest.param(
            journal(MESSAGE, _HOSTNAME="hx8-017", _BOOT_ID="b", __MONOTONIC_TIMESTAMP="12"),
            {"epoch": "1767585782211323", "host": "hx8-017", "boot": "b", "uptime": 12},
            id="the journal's JSON",
        ),
        pytest.param(
            journal(list(MESSAGE.encode())), {"epoch": "1767585782211323"}, id="a message in bytes"
        ),
    ],
)
def test_layers(text: str, expected: dict[str, object]) -> None:
    """Each layer gives what it says, and the message is what is left."""
    assert opened(text) == expected | {"message": MESSAGE}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(list("pythön".encode()), "pythön", id="bytes that are UTF-8"),
        pytest.param([80, 255, 7], "P\ufffd\x07", id="bytes that are not"),
        pytest.param([80, 300], "[80,300]", id="numbers that are no bytes"),
        pytest.param("[1, 2, x]", "[1, 2, x]", id="text in brackets"),
        pytest.param("a\n  b", "a b", id="line feeds"),
    ],
)
def test_journal_messages(message: object, expected: str) -> None:
    """The journal's message is text, whatever its bytes; one of several lines is one."""
    assert opened(journal(message))["message"] == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("EDAC MC0: 1 CE", id="EDAC"),
        pytest.param("pcieport 0000:97:01.0: AER: Corrected error", id="AER"),
        pytest.param("task python:12 blocked for more than 120 seconds", id="task"),
        pytest.param('{"MESSAGE": "torn', id="torn JSON"),
    ],
)
def test_messages_that_look_like_layers(text: str) -> None:
    """The first words of a message are no host and no program."""
    assert opened(text) == {"message": text}
    assert opened(f"[    2.000001] {text}")["message"] == text
