"""Lines of libfabric: their own clock, errors told from the rest."""

from datetime import UTC, datetime
from typing import Any

import pytest

from collectors.communication.libfabric import read_libfabric
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines

START = "libfabric:4412:1762221058:efa:cq:efa_rdm_cq_handle_error():123"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"{START}<warn> err: 61, message: unreachable remote\n",
            ("net_error", "61", "error"),
            id="an error and its number",
        ),
        pytest.param(
            f"{START}<warn> Unresponsive receiver\n", ("net_error", None, "error"), id="no number"
        ),
        pytest.param(f"{START}<info> opened\n", ("note", None, "info"), id="all else"),
    ],
)
def test_lines(text: str, expected: tuple[Any, ...]) -> None:
    """A line has the epoch's time, a kind by its words, and the process that printed it."""
    events = read_libfabric(read_lines(text.encode()), ReadOptions()).reading.events
    when = datetime.fromtimestamp(1762221058, UTC)
    found = events.select("time", "kind", "code", "severity").rows()
    said = {pair["key"]: pair["value"] for pair in events["attributes"][0]}
    assert (found, said) == (
        [(when, *expected)],
        {
            "pid": "4412",
            "provider": "efa",
            "subsystem": "cq",
            "function": "efa_rdm_cq_handle_error",
        },
    )


def test_other_lines_are_left_alone() -> None:
    """What is not of libfabric's form is not claimed."""
    found = read_libfabric(read_lines(b"libfabric:x\nlibfabric:12: hello\n"), ReadOptions())
    assert (found.claimed.len(), found.reading.events.height) == (0, 0)


def test_lines_of_the_old_plugin() -> None:
    """What the plugin printed by itself has the envelope's time and the number it tells."""
    text = (
        "2025-11-04T02:11:07Z WARN: Function: ofi_process_cq Line: 332: NET/OFI Request completed "
        "with error. RC: 4. Error: unreachable remote\n"
        "INFO: Function: ofi_init Line: 99: NET/OFI Selected Provider is efa\n"
    )
    events = read_libfabric(read_lines(text.encode()), ReadOptions()).reading.events
    assert events.select("time", "kind", "code", "severity").rows() == [
        (datetime(2025, 11, 4, 2, 11, 7, tzinfo=UTC), "net_error", "4", "error"),
        (None, "note", None, "info"),
    ]
