"""Tests of the edge to pandas: values, nulls and zones come over as they are."""

import sys
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.library.pandas_edge import NoPandasError, to_pandas

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("column", "kind", "values"),
    [
        pytest.param(pl.Series([3, None], dtype=pl.Int32), "Int64", [3, None], id="counts"),
        pytest.param(pl.Series([3, None], dtype=pl.UInt8), "UInt64", [3, None], id="no sign"),
        pytest.param(pl.Series([0.5, None]), "float64", [0.5, None], id="ratios"),
        pytest.param(pl.Series([True, None]), "boolean", [True, None], id="yes and no"),
        pytest.param(pl.Series(["a", None]), "object", ["a", None], id="texts"),
        pytest.param(pl.Series([["a"], None]), "object", [["a"], None], id="lists"),
        pytest.param(
            pl.Series([{"host": "hx8-001"}]), "object", [{"host": "hx8-001"}], id="structures"
        ),
        pytest.param(
            pl.Series([NOON, None]).cast(pl.Datetime("us", "UTC")),
            "datetime64[us, UTC]",
            [NOON, None],
            id="times in UTC",
        ),
        pytest.param(
            pl.Series([NOON]).cast(pl.Datetime("us", "Asia/Tokyo")),
            "datetime64[us, Asia/Tokyo]",
            [NOON],
            id="times of another zone",
        ),
        pytest.param(
            pl.Series([datetime(2026, 1, 5, 12)]),  # noqa: DTZ001 -- without a zone is the case
            "datetime64[us]",
            [datetime(2026, 1, 5, 12)],  # noqa: DTZ001 -- as above
            id="times without a zone",
        ),
    ],
)
def test_columns(column: pl.Series, kind: str, values: list[Any]) -> None:
    """A column keeps its values; a null is what pandas has for it."""
    table = to_pandas(pl.DataFrame({"it": column}))
    known = [
        None if one else value for one, value in zip(table["it"].isna(), table["it"], strict=True)
    ]

    assert (str(table["it"].dtype), known) == (kind, values)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.text(max_size=5),
            st.none() | st.booleans(),
        ),
        max_size=6,
    )
)
def test_rows(rows: list[tuple[int | None, str | None, bool | None]]) -> None:
    """Any rows come over, in order, and none that are none."""
    schema = {"count": pl.Int64(), "name": pl.String(), "is_ours": pl.Boolean()}
    table = to_pandas(pl.DataFrame(rows, schema=schema, orient="row"))
    told = [
        tuple(None if table[name].isna()[at] else table[name][at] for name in schema)
        for at in range(len(table))
    ]

    assert told == rows


def test_no_column() -> None:
    """A frame without columns is a table without any."""
    assert to_pandas(pl.DataFrame()).shape == (0, 0)


def test_no_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pandas the error says how to get it, and that Polars does as well."""
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(NoPandasError, match=r"wanted pandas, .*`pip install pandas`, or stay"):
        to_pandas(pl.DataFrame())
