"""Numbers and times out of columns of bytes."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.texts.stamps import plain_times
from collectors.training.byte_columns import (
    STAMP,
    byte_columns,
    decimals_at,
    integers_at,
    spread,
    times_at,
)


@given(st.lists(st.integers(0, 10**15 - 1), min_size=1, max_size=200), st.integers(0, 9))
def test_decimals_are_what_a_cast_says(numbers: list[int], places: int) -> None:
    """A decimal is the float that a cast of its text gives."""
    texts = [f"{number:015}" for number in numbers]
    whole = 15 - places
    texts = [f"{text[:whole]}.{text[whole:]}" if places else text for text in texts]
    read = decimals_at(
        byte_columns(pl.Series(texts), len(texts[0])), texts[0], slice(0, len(texts[0]))
    )

    assert read is not None
    assert spread(read[1], len(texts)).all()
    assert spread(read[0], len(texts)).to_list() == pl.Series(texts).cast(pl.Float64).to_list()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(["1.25E+00", "2.50E+00"], [1.25, 2.5], id="an exponent that all share"),
        pytest.param(["1.25E-03", "2.50E-03"], [0.00125, 0.0025], id="a negative exponent"),
        pytest.param(["1.25E+09", "2.50E+09"], [1.25e9, 2.5e9], id="a large exponent"),
        pytest.param(["1.25", "x.50"], [1.25, None], id="what is no digit is no number"),
        pytest.param(["1.25E+00", "2.50E-01"], None, id="exponents that differ"),
        pytest.param(["1.25", "12.5"], None, id="points in different places"),
        pytest.param(["nan", "inf"], None, id="words"),
        pytest.param(["1.25E+99", "2.50E+99"], None, id="a power that no float is"),
        pytest.param(["1234567890.123456"], None, id="more digits than a float has"),
    ],
)
def test_decimals(texts: list[str], expected: list[float | None] | None) -> None:
    """Numbers written alike are read, and others are left to a cast."""
    read = decimals_at(
        byte_columns(pl.Series(texts), len(texts[0])), texts[0], slice(0, len(texts[0]))
    )
    told = None
    if read is not None:
        numbers, sound = (spread(one, len(texts)) for one in read)
        told = [number if fits else None for number, fits in zip(numbers, sound, strict=True)]

    assert told == expected


def test_integers_that_are_all_the_same() -> None:
    """A number that all texts share is told once."""
    number, sound = integers_at(byte_columns(pl.Series(["a12", "b12"]), 3), range(1, 3))

    assert (number.tolist(), sound.tolist()) == ([12], [True])


CLOCKS = st.datetimes().map(str)

CHANGED = st.tuples(CLOCKS, st.integers(0, 25), st.sampled_from([*"0123456789 :-.+x"])).map(
    lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :]
)


@given(
    st.lists(CLOCKS | CHANGED, min_size=1, max_size=50),
    st.sampled_from([19, 26]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
)
def test_times_are_what_patterns_say(stamps: list[str], length: int, time_zone: str) -> None:
    """A stamp is the time that a search of it gives; what is none is told."""
    texts = pl.Series([stamp[:length].ljust(length, "0") for stamp in stamps])
    times, sound = times_at(byte_columns(texts, length), slice(0, length), time_zone)
    is_stamp = spread(sound, len(texts))
    searched = plain_times(texts, time_zone)

    assert times.filter(is_stamp).equals(searched.filter(is_stamp), null_equal=True)
    assert (
        not (texts.str.contains(f"^(?:{STAMP.pattern})$") & searched.is_not_null())
        .filter(~is_stamp)
        .any()
    )
