"""Where a log's TFLOP/s begin to count something else."""

import polars as pl

from collectors.training.throughputs import changed_definitions


def test_each_change_of_a_definition_is_told() -> None:
    """Two changes in one part of a log are two events, whatever chunks its columns are in."""
    rates = [100.0, 100.0, 200.0, 200.0, 300.0]
    records = pl.DataFrame({"tera_flops": rates}).with_columns(
        line=pl.int_range(pl.len()),
        position=pl.int_range(pl.len()),
        host=pl.lit(None, dtype=pl.String),
        end_time=pl.lit(None, dtype=pl.Datetime("us", "UTC")),
        step=pl.int_range(pl.len()),
        step_seconds=pl.lit(2.0),
        samples=pl.lit(512.0),
        tokens=pl.lit(None, dtype=pl.Float64),
    )
    told = changed_definitions(records)

    assert told.select("line", "code", "message").rows() == [
        (2, "100.0->200.0", "TFLOP/s 200.0 at step 2, 100.0 before"),
        (4, "200.0->300.0", "TFLOP/s 300.0 at step 4, 200.0 before"),
    ]
