"""Points taken out of an answer's body in one go."""

from typing import Any

import orjson
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.metrics.answer_bodies import take_points
from collectors.metrics.prometheus_answers import Answer, read_answer


def body(*series: tuple[dict[str, str], list[list[Any]]], **more: Any) -> bytes:
    """An answer as a server prints it."""
    result = [{"metric": labels, "values": values} for labels, values in series]
    data = {"resultType": "matrix", "result": result}
    return orjson.dumps({"status": "success", "data": data, **more})


def test_points_and_the_rest() -> None:
    """Points come as a table, and a number stands where they were."""
    taken = take_points(body(({"a": "1"}, [[1, "5"], [2.5, "NaN"]]), ({"a": "2"}, [[1, "7"]])))

    assert taken is not None
    assert taken.points.rows() == [(0, 1.0, "5"), (0, 2.5, "NaN"), (1, 1.0, "7")]
    assert [one["values"] for one in taken.document["data"]["result"]] == [[0], [1]]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(body(({"a": "1"}, [[1, 5]])), id="a value that is no text"),
        pytest.param(body(({"a": "1"}, [["x", "5"]])), id="a time that is text"),
        pytest.param(body(({"a": "1"}, [[1, "5", 2]])), id="three in a pair"),
        pytest.param(body(({"a": "1"}, [[None, "5"]])), id="a time that is missing"),
        pytest.param(b'{"values":[[1,"5"', id="torn in the points"),
        pytest.param(b'{"values":[[1,"5"]]', id="torn behind the points"),
        pytest.param(b'{"values":[[1,"5"],[true,"6"]]}', id="a time that is a word"),
    ],
)
def test_another_form_is_left_alone(data: bytes) -> None:
    """What is no list of pairs of a time and a text is for the parser that reads everything."""
    assert take_points(data) is None


TEXTS = st.sampled_from(["1", "-0.5", "NaN", "+Inf", "9223372036854775794", "1e+300", "words"])
TIMES = st.one_of(
    st.integers(0, 2_000_000_000), st.integers(0, 2_000_000_000_000).map(lambda n: n / 1000)
)
POINTS = st.lists(st.tuples(TIMES, TEXTS).map(list), max_size=5)
LABELS = st.dictionaries(
    st.sampled_from(["__name__", "gpu", "x"]), st.text(max_size=12) | st.just('"values":[[1,"2"]]')
)


@given(series=st.lists(st.tuples(LABELS, POINTS), max_size=4))
def test_the_fast_way_says_what_the_slow_way_says(
    series: list[tuple[dict[str, str], list[list[Any]]]],
) -> None:
    """Taken out at once or parsed one by one, the points and labels are the same."""
    data = body(*series, warnings=["part"])
    fast, slow = Answer(), Answer()
    read_answer(fast, data, 1)
    read_answer(slow, data.replace(b'"values":', b'"values": '), 1)

    assert take_points(data) is not None
    assert fast.points().equals(slow.points())
    assert (fast.labels, fast.warnings) == (slow.labels, slow.warnings)
    one, other = fast.series(), slow.series()
    assert one.identities.equals(other.identities)
    assert one.points.select(pl.exclude("position")).equals(
        other.points.select(pl.exclude("position"))
    )
