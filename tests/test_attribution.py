"""Tests of joining findings into causes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from detectors.attribution import attribute
from detectors.placing import ROLES
from detectors.verdicts import Evidence, Subject, Verdict

START = datetime(2026, 1, 5, tzinfo=UTC)


def minute(number: int) -> datetime:
    """Return a moment."""
    return START + timedelta(minutes=number)


def roles(hosts: int = 2, gpus: int = 4) -> pl.DataFrame:
    """Return ranks on hosts n0, n1 ..., a GPU each."""
    rows = [
        {
            "run": "r",
            "attempt": 0,
            "rank": host * gpus + gpu,
            "host": f"n{host}",
            "index": gpu,
            "gpu": f"GPU-{host}-{gpu}",
            "dp": host,
            "tp": gpu,
        }
        for host in range(hosts)
        for gpu in range(gpus)
    ]
    return pl.DataFrame(rows, schema=ROLES)


def timed(level: Any = "host", **subject: Any) -> Verdict:
    """Return a slow rank or host from minute 10 on, by its steps."""
    return Verdict(
        kind="slow",
        level=level,
        subject=Subject(run="r", attempt=0, **subject),
        onset=minute(10),
        detected=minute(14),
        onset_step=30,
        slowdown=1.3,
        cause="compute",
        confidence="medium",
        evidence=(Evidence(source="steps", what="slow"),),
    )


def device(gpu: int, host: str = "n1", onset: int = 9, **other: Any) -> Verdict:
    """Return a GPU that throttles from a minute on."""
    return Verdict(
        kind=other.get("kind", "slow"),
        level="gpu",
        subject=Subject(host=host, gpu=gpu, device=f"GPU-{host[1]}-{gpu}"),
        onset=minute(onset),
        detected=minute(13),
        cleared=other.get("cleared"),
        slowdown=1.3,
        cause=other.get("cause", "thermal"),
        confidence="high",
        action="drain",
        evidence=(Evidence(source="sm_clock_hertz", what="low"),),
    )


def job(onset: int = 10, cleared: int | None = None) -> Verdict:
    """Return a job that slowed as a whole."""
    return Verdict(
        kind="group_slow",
        level="job",
        subject=Subject(run="r", attempt=0),
        onset=minute(onset),
        cleared=minute(cleared) if cleared else None,
        slowdown=1.2,
        confidence="medium",
    )


def told(verdicts: list[Verdict]) -> list[tuple[str, str, str]]:
    """Return kind, level and subject of findings."""
    return [(one.kind, one.level, one.subject.phrase()) for one in verdicts]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param(
            [timed(host="n1"), device(2)],
            [("slow", "gpu", "gpu 2 (rank 6) on n1")],
            id="one throttled GPU explains the host whose ranks are all slow",
        ),
        pytest.param(
            [timed(level="rank", host="n1", rank=6, gpu=2), device(2)],
            [("slow", "gpu", "gpu 2 (rank 6) on n1")],
            id="a slow rank whose own GPU throttles is that GPU",
        ),
        pytest.param(
            [timed(level="rank", host="n1", rank=6, gpu=2), device(3)],
            [("slow", "gpu", "gpu 3 (rank 7) on n1"), ("slow", "rank", "gpu 2 (rank 6) on n1")],
            id="another GPU of the host explains nothing",
        ),
        pytest.param(
            [timed(level="rank", host="n1", rank=6, device="GPU-1-2"), device(2)],
            [("slow", "gpu", "gpu 2 (rank 6) on n1")],
            id="a slow rank whose GPU is known by its name",
        ),
        pytest.param(
            [timed(level="rank", host="n1", rank=6, device="GPU-1-2"), device(3)],
            [("slow", "gpu", "gpu 3 (rank 7) on n1"), ("slow", "rank", "rank 6 on n1")],
            id="another GPU than the one that is named explains nothing",
        ),
        pytest.param(
            [timed(host="n1"), device(1), device(2)],
            [("slow", "host", "n1")],
            id="two throttled GPUs leave the host as the smallest defensible domain",
        ),
        pytest.param(
            [timed(level="rank", host="n1", rank=6, gpu=2), device(2, kind="config_drift")],
            [("config_drift", "gpu", "gpu 2 (rank 6) on n1")],
            id="a GPU that was set lower is no sick rank",
        ),
        pytest.param(
            [timed(host="n1"), device(1, kind="config_drift"), device(2, kind="config_drift")],
            [("config_drift", "host", "n1")],
            id="nor is a host whose GPUs were",
        ),
        pytest.param(
            [device(gpu, kind="config_drift") for gpu in range(4)],
            [("config_drift", "host", "n1")],
            id="all GPUs of a host that were set lower are the host",
        ),
        pytest.param(
            [timed(host="n1"), device(2, host="n0")],
            [("slow", "gpu", "gpu 2 (rank 2) on n0"), ("slow", "host", "n1")],
            id="a GPU of another host explains nothing",
        ),
        pytest.param(
            [timed(host="n1"), device(2, onset=1, cleared=minute(5))],
            [("slow", "gpu", "gpu 2 (rank 6) on n1"), ("slow", "host", "n1")],
            id="a GPU that had recovered before explains nothing",
        ),
        pytest.param(
            [device(gpu) for gpu in range(4)],
            [("slow", "host", "n1")],
            id="all GPUs of a host together are the host",
        ),
        pytest.param(
            [device(9)],
            [("slow", "gpu", "gpu 9 on n1")],
            id="a GPU that serves no known rank keeps its own name",
        ),
        pytest.param(
            [device(2, kind="telemetry_lost")],
            [("telemetry_lost", "gpu", "gpu 2 (rank 6) on n1")],
            id="lost telemetry is no culprit but gets its rank",
        ),
        pytest.param(
            [timed(level="rank", host="n1", rank=6, gpu=2), job()],
            [("slow", "rank", "gpu 2 (rank 6) on n1"), ("slow", "job", "run r")],
            id="a job is explained by the rank that slowed with it",
        ),
        pytest.param(
            [timed(level="rank", host="n1", rank=6, gpu=2), job(11, 12), job(15, 16)],
            [("slow", "rank", "gpu 2 (rank 6) on n1"), ("slow", "job", "run r")],
            id="several spells with one culprit are one finding",
        ),
        pytest.param(
            [device(2, onset=30), job(10, 20)],
            [("slow", "gpu", "gpu 2 (rank 6) on n1"), ("group_slow", "job", "run r")],
            id="what began after the job had recovered explains nothing",
        ),
    ],
)
def test_causes(verdicts: list[Verdict], expected: list[tuple[str, str, str]]) -> None:
    """Findings of different families become one cause where they agree in place and time."""
    assert told(attribute(verdicts, roles())) == expected


def rack(*causes: str | None) -> tuple[list[Verdict], pl.DataFrame]:
    """Return a slow rack of three hosts with sick GPUs of the given causes, and its roles."""
    renamed = pl.concat_str(pl.lit("gpu-r1-"), "host").alias("host")
    whole = replace(timed(level="rack"), subject=Subject(run="r", attempt=0, rack="r1"))
    sick = [
        replace(one, subject=replace(one.subject, host=f"gpu-r1-{one.subject.host}"))
        for at, cause in enumerate(causes)
        for one in [device(at % 4, host=f"n{at // 4}", cause=cause)]
    ]
    return [whole, *sick], roles(hosts=3).with_columns(renamed)


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        pytest.param(["thermal"] * 8, ("thermal", "high"), id="all are hot"),
        pytest.param(["thermal"] * 5 + ["clock"] * 3, ("thermal", "high"), id="most are hot"),
        pytest.param(["thermal"] * 4 + ["clock"] * 4, ("compute", "medium"), id="they differ"),
        pytest.param([None] * 8, ("compute", "medium"), id="nobody knows why"),
        pytest.param(["thermal"], ("compute", "medium"), id="one is hot"),
        pytest.param([], ("compute", "medium"), id="no device shows it"),
    ],
)
def test_racks(causes: list[str | None], expected: tuple[str, str]) -> None:
    """A rack that is slow takes over what most of its sick devices show, and speaks for them."""
    found = attribute(*rack(*causes))

    assert [(one.level, one.cause, one.confidence) for one in found] == [("rack", *expected)]


def test_a_rack_by_its_devices() -> None:
    """Without step times the devices of all hosts of a rack are the rack."""
    verdicts, places = rack(*["thermal"] * 12)
    found = attribute(verdicts[1:], places)

    assert [(one.level, one.subject.phrase(), one.cause) for one in found] == [
        ("rack", "rack r1", "thermal")
    ]


def test_another_rack() -> None:
    """Sick devices of another rack explain nothing."""
    verdicts, places = rack("thermal")
    other = replace(verdicts[0], subject=Subject(run="r", attempt=0, rack="r2"))

    assert [one.level for one in attribute([other, verdicts[1]], places)] == ["gpu", "rack"]


def test_merged_evidence() -> None:
    """A merged verdict begins with the earlier onset and keeps both families' evidence."""
    merged = attribute([timed(host="n1"), device(2)], roles())[0]

    assert (
        merged.onset,
        merged.detected,
        merged.slowdown,
        merged.cause,
        merged.confidence,
        merged.victims,
        merged.action,
        [one.source for one in merged.evidence],
        merged.subject.known(),
    ) == (
        minute(9),
        minute(13),
        1.3,
        "thermal",
        "high",
        ("rank 4", "rank 5", "rank 7"),
        "drain",
        ["steps", "sm_clock_hertz"],
        {
            "run": "r",
            "attempt": 0,
            "host": "n1",
            "rank": 6,
            "gpu": 2,
            "device": "GPU-1-2",
            "dp": 1,
            "tp": 2,
        },
    )


def test_unexplained_job() -> None:
    """A job that nothing explains stays a group event and says what would decide."""
    alone = attribute([job()], roles())[0]

    assert (alone.kind, alone.needed is not None) == ("group_slow", True)


def test_order_does_not_matter() -> None:
    """The same findings in another order give the same causes."""
    found = [timed(host="n1"), device(2), job(), device(1, host="n0", onset=12)]

    assert attribute(found, roles()) == attribute(found[::-1], roles())


def stopped(kind: Any, level: Any, rank: int | None, confidence: Any = "high") -> Verdict:
    """Return a finding on a run that stands."""
    subject = Subject(run="r", rank=rank)
    return Verdict(kind=kind, level=level, subject=subject, confidence=confidence)


@pytest.mark.parametrize(
    ("root", "hang", "kept"),
    [
        pytest.param(
            stopped("crash", "rank", 3),
            stopped("hang", "rank", 3),
            False,
            id="a rank that crashed is absent because of that",
        ),
        pytest.param(
            stopped("crash", "rank", 3),
            stopped("hang", "rank", 4),
            True,
            id="a crash elsewhere does not excuse the rank that others wait for",
        ),
        pytest.param(
            stopped("link_fault", "nic", None),
            stopped("hang", "job", None),
            False,
            id="a hang that names nobody adds nothing beside a broken link",
        ),
        pytest.param(
            stopped("link_fault", "link", None, "low"),
            stopped("hang", "job", None),
            True,
            id="a weak finding explains no hang",
        ),
        pytest.param(
            stopped("mismatch", "rank", 2),
            stopped("hang", "rank", 3),
            True,
            id="a mismatch leaves a named hang alone",
        ),
    ],
)
def test_cascades(root: Verdict, hang: Verdict, *, kept: bool) -> None:
    """A hang is told beside a harder finding only when it says something of its own."""
    found = attribute([root, hang], roles())

    assert (hang in found) is kept
