"""Time-outs that only counts tell become events of the ranks that waited."""

import polars as pl

from collectors.frames import COLLECTIVES, EVENTS, conform
from detectors.told_timeouts import with_timeouts


def test_with_timeouts() -> None:
    """The first collective of a rank's group that timed out is told, none of another state."""
    rows = [
        {"rank": rank, "group": "0", "state": state, "position": at, "source": "a"}
        for at, (rank, state) in enumerate(((1, "timed_out"), (1, "timed_out"), (2, "started")))
    ]
    events = conform(pl.LazyFrame([{"kind": "note"}]), EVENTS)
    found = with_timeouts(events, conform(pl.LazyFrame(rows), COLLECTIVES)).collect()
    assert found.select("kind", "code", "rank", "position").rows() == [
        ("note", None, None, None),
        ("comm_error", "timeout", 1, 0),
    ]
