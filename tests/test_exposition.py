"""Pages of Prometheus text exposition and OpenMetrics."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.frames import REJECTS
from collectors.metrics import exposition
from collectors.metrics.exposition import read_page


def page_of(folder: Path, text: str) -> exposition.Page:
    """Return the page that a file with this text holds."""
    path = folder / "page.prom"
    path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    return read_page(path, "page")


def values(page: exposition.Page) -> list[float | None]:
    """Return the points' values."""
    return page.series.points["value"].to_list()


def labels(page: exposition.Page) -> list[dict[str, str]]:
    """Return the label sets as dictionaries."""
    rows = page.series.identities["labels"].to_list()
    return [{pair["key"]: pair["value"] for pair in row} for row in rows]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param('a{x="1"} 5', {"x": "1"}, id="a label"),
        pytest.param('a{ x = "1" , y="2" , } 5', {"x": "1", "y": "2"}, id="blanks, last comma"),
        pytest.param('a {x="1"}\t5', {"x": "1"}, id="a tab before the value"),
        pytest.param('a{x="},{"} 5', {"x": "},{"}, id="braces and commas inside a value"),
        pytest.param(r'a{x="q\"q"} 5', {"x": 'q"q'}, id="an escaped quote"),
        pytest.param(r'a{x="b\\n\n"} 5', {"x": "b\\n\n"}, id="an escaped backslash before an n"),
        pytest.param("a{} 5", {}, id="empty braces"),
        pytest.param("a 5", {}, id="no labels"),
        pytest.param('a{x=""} 5', {"x": ""}, id="an empty value"),
        pytest.param('a{x="é≠"} 5', {"x": "é≠"}, id="a value beyond ASCII"),
    ],
)
def test_labels(tmp_path: Path, line: str, expected: dict[str, str]) -> None:
    """Labels are read as the grammar has them, whatever stands inside their quotes."""
    page = page_of(tmp_path, line)

    assert (labels(page), values(page)) == ([expected], [5.0])


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        pytest.param("1e+09", 1e9, None, id="an exponent"),
        pytest.param("-0.5", -0.5, None, id="a negative number"),
        pytest.param("NaN", None, "non_finite", id="not a number"),
        pytest.param("+Inf", None, "non_finite", id="infinity"),
        pytest.param("<<<NOT_SUPPORTED>>>", None, "not_supported", id="a sentinel that is text"),
        pytest.param("[GPU requires reset]", None, "gpu_requires_reset", id="words of an error"),
        pytest.param("N/A 1767585600000", None, "n/a", id="a word and a time stamp"),
    ],
)
def test_values(tmp_path: Path, text: str, value: float | None, reason: str | None) -> None:
    """A value that is none is null with its reason; it is never a number."""
    points = page_of(tmp_path, f'a{{x="1"}} {text}').series.points

    assert points.select("value", "reason").rows() == [(value, reason)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('a{x="1"} 5', None, id="no stamp is no time"),
        pytest.param('a{x="1"} 5 1767585600500', 500_000, id="milliseconds"),
        pytest.param('a{x="1"} 5 1767585600.25\n# EOF', 250_000, id="OpenMetrics has seconds"),
        pytest.param(
            'a{x="1"} 5 1767585600.25 # {id="}"} 1\n# EOF', 250_000, id="an exemplar is left out"
        ),
        pytest.param(
            'a{x="1"} 5 1767585600500\n# EOF', 500_000, id="seconds of year 58000 are milliseconds"
        ),
    ],
)
def test_times(tmp_path: Path, text: str, expected: int | None) -> None:
    """Stamps are milliseconds, or seconds on OpenMetrics pages; without one the time is null."""
    start = datetime(2026, 1, 5, 4, tzinfo=UTC)
    moment = None if expected is None else start.replace(microsecond=expected)

    assert page_of(tmp_path, text).series.points["time"].to_list() == [moment]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param('a{x="1"} ', "no sample: a name, labels and a value were wanted", id="empty"),
        pytest.param('a{x="1"} NVIDIA H200', "the value is no number", id="a name for a value"),
        pytest.param('a{x="1",x="2"} 5', "a label is given twice", id="a label twice"),
        pytest.param("a{x=1} 5", "labels do not follow the grammar", id="a value without quotes"),
        pytest.param(
            'a{x="1"} 5 soon', "text after the value is no time stamp", id="words after the value"
        ),
        pytest.param('a{x="1"} 5 1e30', "time stamp out of range", id="a time beyond all time"),
        pytest.param("hello", "no sample: a name, labels and a value were wanted", id="a word"),
    ],
)
def test_rejects(tmp_path: Path, line: str, reason: str) -> None:
    """A line that is no sample is one reject with its line number; the rest of the page stays."""
    page = page_of(tmp_path, f'b{{x="1"}} 1\n{line}\nb{{x="2"}} 2\n')

    assert page.rejects.drop("count").rows() == [("page", 2, line.strip(), reason)]
    assert values(page) == [1.0, 2.0]


def test_repeated_type(tmp_path: Path) -> None:
    """A repeated TYPE and an empty value cost a warning and a line, not the page."""
    text = (
        "# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
        'DCGM_FI_DEV_SM_CLOCK{gpu="0"} 1755\n'
        "# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
        'DCGM_FI_DEV_SM_CLOCK{gpu="1"} \n'
        'DCGM_FI_DEV_SM_CLOCK{gpu="2"} 1740\n'
    )
    page = page_of(tmp_path, text)

    assert values(page) == [1755.0, 1740.0]
    assert page.rejects["position"].to_list() == [4]
    assert page.repeats.rows() == [("TYPE", "DCGM_FI_DEV_SM_CLOCK", 2, 3)]


def test_history_may_repeat_declarations(tmp_path: Path) -> None:
    """In a file of several scrapes a repeated TYPE is no fault."""
    page = page_of(tmp_path, "# TYPE a gauge\na 1 1000\n# TYPE a gauge\na 2 2000\n")

    assert page.repeats.height == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a 1\na 1\nb 2", [(0, 1.0), (0, 2.0)], id="a line twice is one"),
        pytest.param("a 1\nb 2\na 1\nb 2", [(0, 1.0), (0, 2.0), (1, 1.0), (1, 2.0)], id="pages"),
        pytest.param("a 1\na 3", [(0, 1.0), (1, 3.0)], id="another value is another scrape"),
        pytest.param("a 1 1000\na 1 1000", [(None, 1.0), (None, 1.0)], id="times tell scrapes"),
    ],
)
def test_pages(tmp_path: Path, text: str, expected: list[tuple[int | None, float]]) -> None:
    """Without time stamps a series that comes again opens the next scrape of the file."""
    assert page_of(tmp_path, text).series.points.select("page", "value").rows() == expected


def test_big_integers_keep_their_digits(tmp_path: Path) -> None:
    """Digits that float64 cannot hold stay as text beside the value."""
    points = page_of(tmp_path, "a 9223372036854775794\nb 9007199254740991").series.points

    assert points["text"].to_list() == ["9223372036854775794", None]


def test_blocks_join(tmp_path: Path) -> None:
    """A page read in small blocks gives what it gives in one."""
    text = "".join(f'a{{x="{n % 3}"}} {n} {n}000\n' for n in range(50)) + "oops\na 1"
    whole = page_of(tmp_path, text)
    cut = read_page(tmp_path / "page.prom", "page", block_bytes=64)

    assert cut.series.points.equals(whole.series.points)
    assert cut.series.identities.equals(whole.series.identities)
    assert cut.rejects.equals(whole.rejects)


def test_empty_page(tmp_path: Path) -> None:
    """A page of comments holds no points and no rejects."""
    page = page_of(tmp_path, "# nothing\n\n# EOF\n")

    assert (page.series.points.height, page.rejects.height) == (0, 0)


LINES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ['a{x="1"} 5', "a 5 6", 'a{x="\\"}"} NaN', "# TYPE a gauge", "", "a{", 'b{x="1"} N/A', "}"]
    ),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, max_size=12))
def test_each_line_is_accounted_for(tmp_path: Path, lines: list[str]) -> None:
    """Whatever the text, a line that is neither empty nor a comment is a point or a reject."""
    path = tmp_path / "page.prom"
    path.write_bytes("\n".join(lines).encode("utf-8", errors="replace"))
    page = read_page(path, "page")
    stripped = [
        line.strip(" \t\r\ufeff") for line in path.read_bytes().decode(errors="replace").split("\n")
    ]
    due = {at for at, line in enumerate(stripped, 1) if line and not line.startswith("#")}
    read = pl.concat([page.series.points["position"], page.rejects["position"]])

    assert read.is_unique().all()
    twins = due - set(read)
    assert set(read) <= due
    assert all(stripped[at - 1] in stripped[: at - 1] for at in twins)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    """Arbitrary bytes never raise."""
    path = tmp_path / "page.prom"
    path.write_bytes(data)

    assert read_page(path, "page").rejects.columns == REJECTS.names()
