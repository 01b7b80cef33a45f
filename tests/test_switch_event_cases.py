"""Logs of switches as they really are: states logged twice, storms that come back, no years."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.dialects import read_file
from collectors.sniffing import ReadOptions

Events = Callable[..., pl.DataFrame]

SONIC = "2031 Mar  9 {clock} leaf-r3-02 NOTICE swss#orchagent: :- {text}"


@pytest.fixture
def events(tmp_path: Path) -> Events:
    """A reader of one log, through the choice of its dialect."""

    def reader(*lines: str, **options: Any) -> pl.DataFrame:
        path = tmp_path / "switch.log"
        path.write_text("\n".join(lines), encoding="utf-8")
        return read_file(path, path.name, ReadOptions(**options)).events

    return reader


def sonic(clock: str, text: str) -> str:
    """Return a line of SONiC's orchestration agent."""
    return SONIC.format(clock=clock, text=text)


def at(clock: str) -> datetime:
    """Return a time of the day of these logs."""
    return datetime.fromisoformat(f"2031-03-09T{clock}").replace(tzinfo=UTC)


def test_a_storm_that_oscillates_is_told_pair_by_pair(events: Events) -> None:
    """Each detection and each restoring is one event with its queue; nothing is merged yet."""
    starts = [at("04:11:07.000000") + timedelta(seconds=0.6 * pair) for pair in range(6)]
    moments = [
        (time, kind)
        for start in starts
        for time, kind in ((start, "pfc_storm"), (start + timedelta(seconds=0.58), "pfc_storm_end"))
    ]
    words = {"pfc_storm": "PFC Watchdog detected PFC storm", "pfc_storm_end": "storm restored"}
    ids = ", queue id 0x1500000000022a and port id 0x1000000000a1, additional info: x:1."
    text = [
        sonic(f"{time:%H:%M:%S.%f}", f"{words[kind]} on port Ethernet4, queue index 3{ids}")
        for time, kind in moments
    ]

    found = events(*text)

    queue = found["attributes"].list.first().struct.field("value").to_list()
    assert (
        found.select("time", "kind").rows(),
        found["device"].unique().to_list(),
        set(queue),
    ) == (
        moments,
        ["Ethernet4"],
        {"3"},
    )


def test_a_state_logged_again_and_by_two_processes_is_one_flap(events: Events) -> None:
    """Only a change of state moves a link, however many lines tell of it."""
    found = events(
        sonic("04:11:05.0", "updatePortOperStatus: Port Ethernet12 oper state set from up to up"),
        sonic("04:11:07.0", "updatePortOperStatus: Port Ethernet12 oper state set from up to down"),
        sonic("04:11:07.1", "Set operation status DOWN to host interface Ethernet12"),
        sonic("04:11:09.0", "updatePortOperStatus: Port Ethernet12 oper state set from down to up"),
        sonic("04:11:09.1", "Set operation status UP to host interface Ethernet12"),
    )

    assert found.select("time", "device", "kind", "count").rows() == [
        (at("04:11:05"), "Ethernet12", "link_unchanged", 1),
        (at("04:11:07"), "Ethernet12", "link_down", 2),
        (at("04:11:09"), "Ethernet12", "link_up", 2),
    ]


UPDOWN = "leaf-r3-02 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface"

NEW_YEAR = (
    f"Dec 31 23:58:10 {UPDOWN} Ethernet12/1 (to gpu-r3-n07 rail4), changed state to down",
    f"Jan  1 00:01:12 {UPDOWN} Ethernet12/1, changed state to up",
)


def test_a_log_without_years_goes_over_new_year(events: Events) -> None:
    """The year of the last stamp is walked back, and a port's description is no part of it."""
    found = events(*NEW_YEAR, year=2031)

    assert found.select("time", "host", "device", "kind", "peer").rows() == [
        (
            datetime(2030, 12, 31, 23, 58, 10, tzinfo=UTC),
            "leaf-r3-02",
            "Ethernet12/1",
            "link_down",
            "gpu-r3-n07",
        ),
        (datetime(2031, 1, 1, 0, 1, 12, tzinfo=UTC), "leaf-r3-02", "Ethernet12/1", "link_up", None),
    ]


def test_the_time_of_the_copy_tells_the_year(events: Events) -> None:
    """A log taken on 2 January ends in that year."""
    found = events(*NEW_YEAR, taken=datetime(2031, 1, 2, 8, tzinfo=UTC))
    assert found["time"].dt.year().to_list() == [2030, 2031]


def test_without_any_year_the_events_have_no_time(events: Events) -> None:
    """A stamp without a year is no time, and is not guessed."""
    found = events(*NEW_YEAR)
    assert found.select("time", "kind").rows() == [(None, "link_down"), (None, "link_up")]


def test_lost_codewords_without_a_move_are_an_error_of_the_port(events: Events) -> None:
    """A link that retrains behind its debounce tells its fault and moves nothing."""
    found = events(
        sonic("04:11:07.1", "Port Ethernet12 oper error event: fec_sync_loss occurred"),
        sonic("04:11:07.2", "updatePortOperStatus: Port Ethernet12 oper state set from up to up"),
    )

    assert found.select("time", "device", "kind", "code").rows() == [
        (at("04:11:07.100000"), "Ethernet12", "port_error", "fec_sync_loss"),
        (at("04:11:07.200000"), "Ethernet12", "link_unchanged", "up"),
    ]
