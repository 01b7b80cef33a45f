"""GPUs tell whom a standing job waits for, where its collectives do not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import SAMPLES, SchemaError
from detectors.hang_devices import HangDeviceParams, told_by_devices
from detectors.placing import ROLES
from detectors.verdicts import Subject, Verdict

ONSET = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)
OPEN = Verdict(
    kind="hang",
    level="job",
    subject=Subject(run="a"),
    confidence="low",
    onset=ONSET,
    detected=ONSET + timedelta(minutes=10),
)


def readings(
    signal: str, before: float | None, inside: float | None, *, host: str = "h1", gpu: int = 0
) -> list[dict[str, Any]]:
    """A GPU's readings of each minute from ten minutes before the onset to its end."""
    base = {"host": host, "device_kind": "gpu", "device": f"GPU-{host}-{gpu}", "index": gpu}
    values = [(minute, before if minute < 0 else inside) for minute in range(-10, 11)]
    return [
        base | {"signal": signal, "time": ONSET + timedelta(minutes=minute), "value": value}
        for minute, value in values
    ]


def busy(*inside: float | None, before: float = 0.9) -> list[dict[str, Any]]:
    """Four GPUs a host, so busy while the job hung."""
    return [
        row
        for at, value in enumerate(inside)
        for row in readings("gpu_busy_ratio", before, value, host=f"h{at // 4}", gpu=at % 4)
    ]


def power(*inside: float) -> list[dict[str, Any]]:
    """The same GPUs, of which each took 700 W before."""
    return [
        row
        for at, value in enumerate(inside)
        for row in readings("power_watts", 700.0, value, host=f"h{at // 4}", gpu=at % 4)
    ]


def roles(count: int, run: str = "a") -> pl.LazyFrame:
    """Ranks on four GPUs a host."""
    rows = [{"run": run, "rank": at, "host": f"h{at // 4}", "index": at % 4} for at in range(count)]
    return pl.LazyFrame(rows, ROLES)


def told(
    rows: list[dict[str, Any]], placed: pl.LazyFrame, verdict: Verdict = OPEN
) -> list[tuple[str, str | None, int | None, int | None]]:
    """Level, host, GPU and rank of what is said in place of a hang that names nobody."""
    found = told_by_devices([verdict], pl.LazyFrame(rows, SAMPLES), placed, HangDeviceParams())
    return [(v.level, v.subject.host, v.subject.gpu, v.subject.rank) for v in found]


NOBODY = [("job", None, None, None)]
ONE_IDLE = busy(1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(ONE_IDLE, [("rank", "h1", 1, 5)], id="the one that runs no kernel"),
        pytest.param(
            ONE_IDLE + power(*[200.0] * 8),
            [("rank", "h1", 1, 5)],
            id="while the others spin at little power",
        ),
        pytest.param(
            ONE_IDLE + power(*[690.0] * 8), NOBODY, id="others that compute wait for none"
        ),
        pytest.param(busy(*[1.0] * 8), NOBODY, id="all spin"),
        pytest.param(busy(*[0.0] * 8), NOBODY, id="all are idle"),
        pytest.param(busy(*[0.5] * 7, 0.0), NOBODY, id="others that do not spin"),
        pytest.param(
            busy(0.0, 0.0, *[1.0] * 6),
            [("rank", "h0", 0, 0), ("rank", "h0", 1, 1)],
            id="two of eight",
        ),
        pytest.param(busy(0.0, 0.0, 0.0, *[1.0] * 5), NOBODY, id="three of eight are too many"),
        pytest.param(
            busy(*[1.0] * 4) + busy(*[0.0] * 4, before=0.0)[-21:],
            NOBODY,
            id="one that was idle before is none of the job's",
        ),
        pytest.param(busy(*[1.0] * 4, None), NOBODY, id="one that is not read tells nothing"),
        pytest.param([], NOBODY, id="no reading"),
    ],
)
def test_idle_gpus(
    rows: list[dict[str, Any]], expected: list[tuple[str, str | None, int | None, int | None]]
) -> None:
    """Of a job in step, the ranks whose GPUs run nothing while most others spin."""
    assert told(rows, roles(8)) == expected


@pytest.mark.parametrize(
    ("placed", "expected"),
    [
        pytest.param(roles(0), [("gpu", "h1", 1, None)], id="no rank is known"),
        pytest.param(roles(5), [("gpu", "h1", 1, None)], id="none of this GPU"),
        pytest.param(roles(4), NOBODY, id="a host on which the run has no rank is not asked"),
        pytest.param(roles(8, "b"), [("gpu", "h1", 1, None)], id="ranks of another run"),
    ],
)
def test_where_ranks_are(
    placed: pl.LazyFrame, expected: list[tuple[str, str | None, int | None, int | None]]
) -> None:
    """A GPU whose rank is not known is named itself."""
    assert told(ONE_IDLE, placed) == expected


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(replace(OPEN, level="rank"), id="somebody is named"),
        pytest.param(replace(OPEN, onset=None), id="it has no onset"),
        pytest.param(replace(OPEN, detected=None), id="it has no end"),
        pytest.param(replace(OPEN, kind="crash"), id="it is no hang"),
    ],
)
def test_other_findings_stay(verdict: Verdict) -> None:
    """Only hangs that name nobody are told anew."""
    found = told_by_devices(
        [verdict], pl.LazyFrame(ONE_IDLE, SAMPLES), roles(8), HangDeviceParams()
    )
    assert found == [verdict]


def test_what_is_said() -> None:
    """How busy it was, how many others spun, and what to do."""
    (found,) = told_by_devices(
        [OPEN], pl.LazyFrame(ONE_IDLE, SAMPLES), roles(8), HangDeviceParams()
    )
    assert (found.cause, found.confidence) == ("host_stalled", "medium")
    assert found.evidence[0].what == (
        "the GPU was 0% busy while 7 others were busy all the time: its rank runs no kernel, "
        "theirs wait in one"
    )


def test_another_frame_is_refused() -> None:
    """A frame that lacks columns is refused at the door."""
    with pytest.raises(SchemaError, match="wanted"):
        told_by_devices([OPEN], pl.LazyFrame(), roles(1), HangDeviceParams())
