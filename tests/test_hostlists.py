"""Lists of hosts in Slurm's short form."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.slurm.hostlists import HostlistError, expand_hostlist, hosts_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "hx8-[001-004,007]",
            ["hx8-001", "hx8-002", "hx8-003", "hx8-004", "hx8-007"],
            id="the low bound of a range sets the width",
        ),
        pytest.param(
            "rk[1-2]n[01-02]-ib0",
            ["rk1n01-ib0", "rk1n02-ib0", "rk2n01-ib0", "rk2n02-ib0"],
            id="two brackets are a product",
        ),
        pytest.param(
            "login1,hx8-[1,3-4]",
            ["login1", "hx8-1", "hx8-3", "hx8-4"],
            id="commas in brackets do not separate hosts",
        ),
        pytest.param("hx8-[9-11]", ["hx8-9", "hx8-10", "hx8-11"], id="no zeros, no padding"),
        pytest.param("hx8-[099-101]", ["hx8-099", "hx8-100", "hx8-101"], id="padding over a carry"),
        pytest.param("b,a,b,a[1,1]", ["b", "a", "a1"], id="repeats count once, order stays"),
        pytest.param("a1 b_2.cl\tc-3\n", ["a1", "b_2.cl", "c-3"], id="blanks separate too"),
        pytest.param("a[1- 2]", None, id="a broken range is refused"),
        pytest.param("a[1-2", None, id="an open bracket is refused"),
        pytest.param("a1-2]", None, id="a bracket that was never opened is refused"),
        pytest.param("a[]", None, id="an empty bracket is refused"),
        pytest.param("a[5-1]", None, id="a falling range is refused"),
        pytest.param("a[0-999999999]", None, id="a range of a thousand million is refused"),
        pytest.param("a[1-999]b[1-999]", None, id="a product of too many is refused"),
        pytest.param("", [], id="nothing is no host"),
    ],
)
def test_expansion(text: str, expected: list[str] | None) -> None:
    """A list stands for its names, each once, or is refused."""
    if expected is None:
        with pytest.raises(HostlistError):
            expand_hostlist(text)
    else:
        assert expand_hostlist(text) == expected


def test_a_column_of_lists() -> None:
    """Each row gets the hosts of its list in lower case; what is no list is null."""
    lists = pl.Series(["HX8-[1-2]", None, "a[", "HX8-[1-2]", ""])
    assert hosts_of(lists).to_list() == [["hx8-1", "hx8-2"], None, None, ["hx8-1", "hx8-2"], None]


@given(
    st.lists(
        st.tuples(st.sampled_from(["hx", "rk-", "n_"]), st.integers(0, 500), st.integers(0, 20)),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 5),
)
def test_ranges_are_whole(parts: list[tuple[str, int, int]], width: int) -> None:
    """Every number of every range is there, once."""
    text = ",".join(f"{name}[{low:0{width}}-{low + more}]" for name, low, more in parts)
    expected = {
        f"{name}{str(at).zfill(len(f'{low:0{width}}'))}"
        for name, low, more in parts
        for at in range(low, low + more + 1)
    }
    found = expand_hostlist(text)
    assert (set(found), len(found)) == (expected, len(expected))


@given(st.text(alphabet="ab1-[],0 \n", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text does anything but expand or raise the error of this module."""
    try:
        names = expand_hostlist(text)
    except HostlistError:
        return
    assert all(name and not set(name) & set("[], \n") for name in names)
