"""InfluxDB's line protocol: fields, tags and stamps, whatever they quote and escape."""

from datetime import UTC, datetime

import pytest

from collectors.texts.line_protocol import protocol_fields, tag_of
from collectors.texts.plain_lines import plain_lines

AT = datetime(2031, 3, 9, 4, 11, 7, 123456, tzinfo=UTC)
STAMP = 1930795867_123456789


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            f"ib,host=a x=5i,y=-7i,z=3u {STAMP}",
            [(AT, "a", "x", "5"), (AT, "a", "y", "-7"), (AT, "a", "z", "3")],
            id="types of whole numbers are no part of them, finer digits of a stamp are cut",
        ),
        pytest.param(
            f'ib,host=a state="4: ACTIVE, up",x=5i {STAMP}',
            [(AT, "a", "state", "4: ACTIVE, up"), (AT, "a", "x", "5")],
            id="blanks and commas in quotes part nothing",
        ),
        pytest.param(
            f'ib,host=a note="x=9",x=5i {STAMP}',
            [(AT, "a", "note", "x=9"), (AT, "a", "x", "5")],
            id="a field in another one's quotes is none",
        ),
        pytest.param(
            f"my\\ ib,host=a\\ b,rack=r\\,1 x=1.5 {STAMP}",
            [(AT, "a b", "x", "1.5")],
            id="a backslash takes the meaning of what follows",
        ),
        pytest.param(
            "ib,host=a x=5i 1930795867",
            [(AT.replace(microsecond=0), "a", "x", "5")],
            id="a stamp in seconds",
        ),
        pytest.param("> ib x=5i", [(None, None, "x", "5")], id="neither tags nor a stamp"),
        pytest.param('ib,host=a x=5i,note="torn of', [], id="torn in quotes"),
        pytest.param("ib,host=a x", [], id="torn in a field's name"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_fields(line: str, expected: list[tuple[datetime | None, str | None, str, str]]) -> None:
    """A line is its fields with their time and tags; what is no line has none."""
    found = protocol_fields(plain_lines(line.encode()))

    assert found.select("time", tag_of("host"), "field", "value").rows() == expected
