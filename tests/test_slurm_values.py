"""Scalars of Slurm's text: spans, sizes, devices, resources."""

from collections.abc import Callable

import polars as pl
import pytest

from collectors.slurm.slurm_values import (
    device_count,
    resource_count,
    size_bytes,
    span_seconds,
    whole_seconds,
)

Reader = Callable[[pl.Expr], pl.Expr]


@pytest.mark.parametrize(
    ("reader", "text", "expected"),
    [
        pytest.param(span_seconds, "1-02:03:04", 93784.0, id="days, hours, minutes, seconds"),
        pytest.param(span_seconds, "100:00:00", 360000.0, id="more than a day in hours"),
        pytest.param(span_seconds, "00:36.857", 36.857, id="minutes and seconds with a fraction"),
        pytest.param(span_seconds, "2-12", 216000.0, id="days and hours"),
        pytest.param(span_seconds, "2-12:30", 217800.0, id="days, hours and minutes"),
        pytest.param(span_seconds, "UNLIMITED", None, id="no limit is no span"),
        pytest.param(span_seconds, "INVALID", None, id="an invalid span"),
        pytest.param(span_seconds, "", None, id="no span"),
        pytest.param(whole_seconds, "600", 600.0, id="a raw count"),
        pytest.param(whole_seconds, "6.5", None, id="a raw count has no fraction"),
        pytest.param(size_bytes, "3623244K", 3710201856.0, id="kilobytes of base 1024"),
        pytest.param(size_bytes, "62500G", 62500 * 2.0**30, id="gigabytes"),
        pytest.param(size_bytes, "400Gn", 400 * 2.0**30, id="of a node"),
        pytest.param(size_bytes, "4000Mc", 4000 * 2.0**20, id="of a core"),
        pytest.param(size_bytes, "12", 12 * 2.0**20, id="megabytes without a letter"),
        pytest.param(size_bytes, "?", None, id="not known"),
        pytest.param(device_count, "gpu:h100:8(S:0-1)", 8, id="a type and its sockets"),
        pytest.param(device_count, "gpu:h100:5(IDX:0-2,5,7)", 5, id="commas inside of brackets"),
        pytest.param(device_count, "gpu:a:4,gpu:b:2,nic:8", 6, id="two types add up"),
        pytest.param(device_count, "gpu:8", 8, id="no type"),
        pytest.param(device_count, "gpu:0", 0, id="none of them in use"),
        pytest.param(device_count, "(null)", None, id="no devices told"),
        pytest.param(device_count, "N/A", None, id="not known either"),
    ],
)
def test_scalars(reader: Reader, text: str, expected: float | None) -> None:
    """Each form is its value in base units, or null."""
    assert pl.DataFrame({"text": [text]}).select(reader(pl.col("text"))).item() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("cpu=64,gres/gpu=8,gres/gpu:h100=8", 8, id="a type repeats the sum"),
        pytest.param("gres/gpu:h100=4,gres/gpu:a100=2", 6, id="types alone add up"),
        pytest.param("cpu=64,mem=1000G", None, id="none told"),
    ],
)
def test_resources(text: str, expected: int | None) -> None:
    """GPUs are counted once."""
    frame = pl.DataFrame({"text": [text]})
    assert frame.select(resource_count(pl.col("text"), "gres/gpu")).item() == expected
