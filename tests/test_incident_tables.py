"""Known incidents from CSV, JSON and an analysis, and what is refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from paceline.incident_tables import read_incidents
from slo.known_incidents import IncidentsError

START, END = datetime(2026, 1, 5, 4, tzinfo=UTC), datetime(2026, 1, 5, 6, tzinfo=UTC)


def written(path: Path, text: str) -> Path:
    """A file with a text."""
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "start,end,label,run\n2026-01-05T04:00:00Z,2026-01-05T06:00:00Z,x,a\n", id="CSV"
        ),
        pytest.param(
            "run,label,end,start\na,x,2026-01-05 07:00:00+01:00,2026-01-05 04:00:00\n",
            id="a blank for T, another zone, no zone is UTC",
        ),
        pytest.param(
            '[{"start": "2026-01-05T04:00:00Z", "end": "2026-01-05T06:00:00Z", "label": "x", '
            '"run": "a", "more": [1]}]',
            id="JSON list",
        ),
        pytest.param(
            '{"incidents": [{"onset": "2026-01-05T04:00:00Z", "cleared": "2026-01-05T06:00:00Z", '
            '"title": "x", "run": "a"}]}',
            id="JSON of an analysis",
        ),
    ],
)
def test_read(tmp_path: Path, text: str) -> None:
    """Each form gives the same incident."""
    table = read_incidents(written(tmp_path / "incidents", text))

    assert table.select("label", "run", "start", "end").rows() == [("x", "a", START, END)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("start\n2026-01-05T04:00:00Z\n", id="no column of ends"),
        pytest.param("start,end\n2026-01-05T04:00:00Z,\n", id="an empty end"),
        pytest.param('[{"start": "2026-01-05T04:00:00Z", "end": null}]', id="a null end"),
    ],
)
def test_goes_on(tmp_path: Path, text: str) -> None:
    """An incident without an end goes on."""
    table = read_incidents(written(tmp_path / "incidents", text))

    assert table.select("label", "start", "end").rows() == [(None, START, None)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(None, "No such file", id="no file"),
        pytest.param("when,what\n1,2\n", "found columns", id="other columns"),
        pytest.param("start\nyesterday\n", "give a CSV", id="no time"),
        pytest.param("[1, 2]", "no list of incidents", id="a list of numbers"),
        pytest.param('{"a": 1}', "no list of incidents", id="another object"),
        pytest.param("[{", "give a CSV", id="torn JSON"),
        pytest.param("", "give a CSV", id="an empty file"),
    ],
)
def test_refusals(tmp_path: Path, text: str | None, words: str) -> None:
    """What is no table of incidents is refused in one line with the way out."""
    path = tmp_path / "incidents"
    if text is not None:
        written(path, text)
    with pytest.raises(IncidentsError, match=words) as caught:
        read_incidents(path)

    assert "\n" not in str(caught.value)
