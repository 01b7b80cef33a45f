"""What the doctor finds in readings with known gaps."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from collectors.metrics.series import IDENTITIES, POINTS, Series
from collectors.readings import Reading, reading_of
from collectors.signals import SIGNALS
from paceline.checkups import Checkup, CheckupParams, NeedCheck, SourceCheck, examine
from paceline.doctor_output import checkup_json, checkup_text
from paceline.findings import DETECTORS
from paceline.needs import NEEDS
from paceline.targets import check_targets

NOW = datetime(2026, 1, 5, 4, tzinfo=UTC)
PARAMS = CheckupParams()


def samples(signal: str, value: float = 1.0, age: float = 10.0, *hosts: str) -> pl.DataFrame:
    """One sample of a GPU signal for each host, so many seconds old."""
    return pl.DataFrame(
        {
            "time": [NOW - timedelta(seconds=age)] * len(hosts),
            "host": hosts,
            "device_kind": ["gpu"] * len(hosts),
            "device": ["GPU-0"] * len(hosts),
            "signal": [signal] * len(hosts),
            "value": [float(value)] * len(hosts),
            "source": ["prometheus"] * len(hosts),
        }
    )


def checked(*frames: pl.DataFrame, moment: datetime | None = NOW) -> Checkup:
    """The checkup of samples."""
    return examine(reading_of(samples=pl.concat(frames)), moment, PARAMS)


def need(checkup: Checkup, what: str) -> NeedCheck:
    """The check of one need."""
    return next(one for one in checkup.needs if one.need.what == what)


def test_every_detector_says_what_it_needs() -> None:
    """A detector without a need would never be called blind, a need without one would mislead."""
    assert {one.detector for one in NEEDS} == {name for name, _ in DETECTORS}


def test_signals_are_known() -> None:
    """A need names signals that readers can give."""
    wanted = {name for one in NEEDS if one.frame == "samples" for name in one.names}

    assert wanted - set(SIGNALS) == set()


@pytest.mark.parametrize(
    ("frames", "state", "lacking"),
    [
        pytest.param([samples("sm_clock_hertz", 1e9, 10, "n1")], "ok", (), id="there and recent"),
        pytest.param([samples("sm_clock_hertz", 1e9, 900, "n1")], "old", (), id="an old one"),
        pytest.param([samples("power_watts", 9, 10, "n1")], "missing", (), id="another signal"),
        pytest.param(
            [samples("sm_clock_hertz", 1e9, 10, "n1"), samples("power_watts", 9, 10, "n1", "n2")],
            "ok",
            ("n2",),
            id="a host without it is named",
        ),
    ],
)
def test_needs(frames: list[pl.DataFrame], state: str, lacking: tuple[str, ...]) -> None:
    """A signal is there, old, missing, or there on some hosts only."""
    check = need(checked(*frames), "SM clocks of GPUs")

    assert (check.state, check.lacking) == (state, lacking)


def test_a_null_value_is_no_signal() -> None:
    """A source that answers without a value does not serve a need."""
    blank = samples("sm_clock_hertz", 1e9, 10, "n1").with_columns(
        value=pl.lit(None, dtype=pl.Float64)
    )

    assert need(checked(blank), "SM clocks of GPUs").state == "missing"


def test_no_event_is_quiet_not_missing() -> None:
    """Without an Xid the kernel log may be unread, or the GPUs well: both are said."""
    checkup = checked(samples("power_watts", 9, 10, "n1"))

    assert need(checkup, "faults in kernel logs").state == "quiet"


def test_files_have_no_age() -> None:
    """Without a moment nothing is old."""
    checkup = checked(samples("sm_clock_hertz", 1e9, 9e9, "n1"), moment=None)

    assert [one.state for one in checkup.sources] == ["ok"]
    assert need(checkup, "SM clocks of GPUs").state == "ok"


def test_a_source_of_rejects_alone_does_not_answer() -> None:
    """Lines that nobody understood are no data."""
    rejects = pl.DataFrame({"source": ["x.log"], "reason": ["no known format"], "count": [14]})
    checkup = examine(reading_of(rejects=rejects), NOW, PARAMS)

    assert [(one.state, one.rows, one.rejected) for one in checkup.sources] == [("missing", 0, 14)]


def test_a_source_without_times() -> None:
    """Rows without a time have no age that anybody knows."""
    rows = samples("power_watts", 9, 10, "n1").with_columns(time=pl.lit(None))

    assert [one.state for one in checked(rows).sources] == ["unknown"]


def test_clocks_against_the_fleet() -> None:
    """A clock that differs from the median of the scrapes is off; a time service says it itself."""
    seconds = (NOW - timedelta(seconds=10)).timestamp()
    checkup = checked(
        samples("clock_seconds", seconds + 0.2, 10, "n1", "n2", "n3"),
        samples("clock_seconds", seconds + 60.2, 10, "n4"),
        samples("clock_offset_seconds", -0.5, 10, "n1"),
    )

    assert [(one.host, round(one.offset_seconds, 3), one.is_off) for one in checkup.clocks] == [
        ("n4", 60.0, True),
        ("n1", -0.5, False),
        ("n2", 0.0, False),
        ("n3", 0.0, False),
    ]


def up(*rows: tuple[str, str, float]) -> Series:
    """Series of `up`: job, instance, value."""
    points = pl.DataFrame(
        {
            "series": list(range(len(rows))),
            "time": [NOW - timedelta(seconds=15)] * len(rows),
            "value": [value for _, _, value in rows],
            "position": list(range(len(rows))),
        }
    )
    labels = [
        [{"key": "job", "value": job}, {"key": "instance", "value": instance}]
        for job, instance, _ in rows
    ]
    identities = pl.DataFrame(
        {"series": list(range(len(rows))), "name": ["up"] * len(rows), "labels": labels}
    )
    filled = points.with_columns(
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in POINTS.items()
        if name not in points.columns
    )
    return Series(
        points=filled.select(POINTS.names()).cast(POINTS), identities=identities.cast(IDENTITIES)
    )


def test_targets() -> None:
    """A job whose targets are down is told with their names; all down is no answer at all."""
    checks = check_targets(
        up(("dcgm", "n1:9400", 1), ("dcgm", "n2:9400", 0), ("node", "n1:9100", 0)), NOW
    )

    assert [(one.name, one.state, one.note) for one in checks] == [
        ("job dcgm", "part", "1 of 2 targets down: n2:9400; their absence is not health"),
        ("job node", "missing", "1 of 1 targets down: n1:9100; their absence is not health"),
    ]


def test_many_targets_down_are_counted() -> None:
    """A line names a few and counts the rest; a job that is up says so."""
    down = [("dcgm", f"n{number}:9400", 0.0) for number in range(5)]
    checks = check_targets(up(*down, ("node", "n1:9100", 1)), NOW)

    assert [one.note for one in checks] == [
        "5 of 5 targets down: n0:9400, n1:9400, n2:9400 and 2 more; their absence is not health",
        "1 targets up",
    ]


CROWD = [samples("sm_clock_hertz", 1e9, 4000, "n1"), samples("power_watts", 9, 10, "n1", "n2")]


def test_text(golden: object) -> None:
    """The text says what is wrong first, and what it blinds."""
    seconds = (NOW - timedelta(seconds=10)).timestamp()
    many = [
        samples("power_watts", 9, 10, "n1").with_columns(source=pl.lit(f"drop/rank{number}.log"))
        for number in range(5)
    ]
    reading = reading_of(
        samples=pl.concat(
            [*CROWD, *many, samples("clock_seconds", seconds + 9, 10, "n1", "n2", "n3")]
        ).vstack(samples("clock_seconds", seconds, 10, "n4")),
        rejects=pl.DataFrame({"source": ["x.log"], "reason": ["no known format"], "count": [14]}),
    )
    server = SourceCheck(
        name="job dcgm",
        state="part",
        rows=2,
        rejected=0,
        newest=NOW,
        age_seconds=0.0,
        note="1 of 2 targets down: n2:9400; their absence is not health",
    )
    assert callable(golden)
    golden("doctor.txt", checkup_text(examine(reading, NOW, PARAMS, [server])))


def test_text_of_nothing() -> None:
    """An empty reading is no health: every need is told as missing or quiet."""
    text = checkup_text(examine(Reading(), None, PARAMS))

    assert "0 of 0 sources answer" in text
    assert "unknown: no host tells its clock" in text


def test_json() -> None:
    """Machines get the same, with times in UTC."""
    told = checkup_json(checked(*CROWD))
    needs = {one["what"]: one for one in told["needs"]}  # type: ignore[attr-defined]

    assert told["moment"] == "2026-01-05T04:00:00Z"
    assert (needs["SM clocks of GPUs"]["state"], needs["SM clocks of GPUs"]["hosts_lacking"]) == (
        "old",
        ["n2"],
    )


def test_a_row_shuffle_changes_nothing() -> None:
    """The checkup does not depend on the order of rows."""
    rows = pl.concat(CROWD)
    shuffled = reading_of(samples=rows.reverse())

    assert examine(shuffled, NOW, PARAMS) == examine(reading_of(samples=rows), NOW, PARAMS)
