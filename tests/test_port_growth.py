"""Growth of ports' counters, dirty links and congestion: small fabrics with known answers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import EVENTS, LINKS, SAMPLES, conform
from detectors.congestion import CongestionParams, find_congestion
from detectors.counters import CounterParams
from detectors.fabric import Fabric, fabric_of
from detectors.growth import port_growth
from detectors.links import LinkParams, find_link_faults

START = datetime(2026, 1, 5, tzinfo=UTC)
SYMBOLS, CRC = "symbol_errors_total", "receive_errors_total"
SENT, RECEIVED, MARKS = (
    "pause_sent_seconds_total",
    "pause_received_seconds_total",
    "ecn_marked_packets_total",
)
CABLES = conform(
    pl.LazyFrame({"node_a": ["leaf1"], "port_a": ["5"], "node_b": ["n02"], "port_b": ["mlx5_0"]}),
    LINKS,
)


def counter(
    host: str, device: str, signal: str, steps: list[float], kind: str = "nic", width: int = 60
) -> pl.DataFrame:
    """A counter that grows by the given steps, one a minute."""
    values = [1000.0]
    for step in steps:
        values.append(values[-1] + step)
    return conform(
        pl.LazyFrame(
            {
                "time": [START + timedelta(seconds=width * at) for at in range(len(values))],
                "host": host,
                "device_kind": kind,
                "device": device,
                "signal": signal,
                "value": values,
                "source": "test",
            }
        ),
        SAMPLES,
    ).collect()


def fabric(frames: list[pl.DataFrame], links: pl.LazyFrame = CABLES) -> Fabric:
    """What is known of ports."""
    events = pl.LazyFrame(schema=EVENTS)
    return fabric_of(pl.concat(frames).lazy(), events, links, CounterParams())


def faults(frames: list[pl.DataFrame], links: pl.LazyFrame = CABLES) -> list[dict[str, Any]]:
    """Rows of link faults."""
    return find_link_faults(fabric(frames, links), LinkParams()).to_dicts()


def quiet(hosts: int, signal: str = SYMBOLS) -> list[pl.DataFrame]:
    """Healthy ports."""
    return [counter(f"n{host:02d}", "mlx5_0", signal, [0.0] * 40) for host in range(10, 10 + hosts)]


def test_port_growth() -> None:
    """Growth, known seconds and the first moment of growth are told by bin."""
    rows = port_growth(
        fabric([counter("n01", "mlx5_0", SYMBOLS, [0.0, 3.0, 0.0, 2.0, 5.0])]).intervals,
        (SYMBOLS,),
        300.0,
    )

    assert rows.select("bin", "first", "grown", "seconds").rows() == [
        (START, START + timedelta(seconds=120), 5.0, 240.0),
        (START + timedelta(seconds=300), START + timedelta(seconds=300), 5.0, 60.0),
    ]


DIRTY = [0.0] * 10 + [30.0] * 20 + [0.0] * 10


@pytest.mark.parametrize(
    ("host", "device", "kind"),
    [
        pytest.param("leaf1", "5", "switch_port", id="the switch receives"),
        pytest.param("n02", "mlx5_0", "nic", id="the NIC receives"),
    ],
)
def test_dirty_link(host: str, device: str, kind: str) -> None:
    """The link is named with both ends and the damaged direction, with onset and end."""
    frames = [counter(host, device, signal, DIRTY, kind) for signal in (SYMBOLS, CRC)]
    (row,) = faults([*frames, *quiet(8)])

    subject = row["subject"]
    assert (row["kind"], subject["link"]) == ("link_fault", "leaf1:5 - n02:mlx5_0")
    assert (subject["switch"], subject["port"], subject["host"]) == ("leaf1", "5", "n02")
    assert abs(row["onset"] - (START + timedelta(minutes=11))) <= timedelta(minutes=1)
    assert row["cleared"] == START + timedelta(minutes=35)
    assert (row["confidence"], row["onset_before_data"], row["needed"]) == ("high", False, None)


def test_either_end_of_a_cable() -> None:
    """The far end is found from whichever end of the cable counts."""
    frame = counter("leaf1", "5", SYMBOLS, [30.0] * 40, "switch_port")
    (row,) = faults([frame, *quiet(8)])

    assert (row["subject"]["host"], row["subject"]["device"]) == ("n02", "mlx5_0")


def test_unknown_far_end() -> None:
    """Without a topology one end is named and the missing input is told."""
    frames = [counter("n02", "mlx5_0", SYMBOLS, [30.0] * 40), *quiet(8)]
    (row,) = faults(frames, pl.LazyFrame(schema=LINKS))

    assert (row["subject"]["host"], row["subject"]["switch"]) == ("n02", None)
    assert (row["confidence"], row["onset_before_data"], row["cleared"]) == ("medium", True, None)
    assert row["needed"] is not None


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param(quiet(8), id="nothing grows"),
        pytest.param(
            [counter("n02", "mlx5_0", CRC, [90.0] * 40), *quiet(8)],
            id="errors that travel accuse nobody",
        ),
        pytest.param(
            [counter("n02", "mlx5_0", SYMBOLS, [0.0] * 9 + [90.0] + [0.0] * 30), *quiet(8)],
            id="one burst",
        ),
        pytest.param(
            [counter(f"n{at:02d}", "mlx5_0", SYMBOLS, [90.0] * 40) for at in range(8)],
            id="all ports alike",
        ),
        pytest.param(
            [
                counter("n02", "mlx5_0", SYMBOLS, [0.0] * 9 + [-1000.0] + [0.0] * 30),
                *quiet(8),
            ],
            id="a counter that was reset",
        ),
    ],
)
def test_no_link_fault(frames: list[pl.DataFrame]) -> None:
    """What is no link's fault is silent."""
    assert faults(frames) == []


def test_link_fault_in_a_fabric_of_three() -> None:
    """Among three ports one bad one is no third of the fabric that nobody can blame."""
    frames = [counter("n02", "mlx5_0", SYMBOLS, [30.0] * 40), *quiet(2)]

    assert len(faults(frames)) == 1


def test_duplicates_and_order() -> None:
    """Row order and duplicates change nothing."""
    frame = pl.concat([counter("n02", "mlx5_0", SYMBOLS, DIRTY), *quiet(8)])
    shuffled = pl.concat([frame, frame]).sample(fraction=1.0, shuffle=True, seed=1)

    assert faults([shuffled]) == faults([frame])


def congestion(frames: list[pl.DataFrame]) -> list[dict[str, Any]]:
    """Rows of congestion."""
    return find_congestion(fabric(frames), CongestionParams()).to_dicts()


PAUSED = [0.0] * 10 + [12.0] * 20 + [0.0] * 10


def test_paused_fabric() -> None:
    """Most ports paused at once are the fabric, with the marks beside it."""
    hosts = [f"n{at:02d}" for at in range(6)]
    frames = [counter(host, "mlx5_0", RECEIVED, PAUSED) for host in hosts]
    marks = [counter(host, "mlx5_0", MARKS, [6.0] * 10 + [0.0] * 30) for host in hosts]
    (row,) = congestion([*frames, *marks])

    assert (row["kind"], row["level"], row["cause"]) == ("congestion", "job", "pause")
    assert row["onset"] == START + timedelta(minutes=10)
    assert row["cleared"] == START + timedelta(minutes=30)
    assert row["evidence"][1]["what"] == "ECN marks 0.1/s a port before, 0/s during"
    assert len(congestion(frames)[0]["evidence"]) == 1


def test_slow_receiver() -> None:
    """A NIC that stops its network is told, once for each spell that lasts."""
    twice = [0.0] * 10 + [12.0] * 15 + [0.0] * 30 + [12.0] * 15 + [0.0] * 10
    frames = [
        counter("n02", "mlx5_0", SENT, twice),
        *quiet(8, RECEIVED),
    ]
    rows = congestion(frames)

    assert [(row["level"], row["subject"]["host"]) for row in rows] == [("nic", "n02")] * 2
    assert [row["onset"] for row in rows] == [
        START + timedelta(minutes=11),
        START + timedelta(minutes=56),
    ]


@pytest.mark.parametrize(
    "bursts",
    [
        pytest.param([], id="no pause"),
        pytest.param([5, 25, 45], id="single bins apart are no run"),
    ],
)
def test_no_congestion(bursts: list[int]) -> None:
    """Rare pauses are normal."""
    steps = [30.0 if at in bursts else 0.0 for at in range(60)]

    assert congestion([counter("n02", "mlx5_0", SENT, steps), *quiet(8, RECEIVED)]) == []


def test_receiver_inside_a_paused_fabric() -> None:
    """While the whole fabric pauses no single receiver is told."""
    hosts = [f"n{at:02d}" for at in range(6)]

    rows = congestion([counter(host, "mlx5_0", SENT, PAUSED) for host in hosts])

    assert [row["level"] for row in rows] == ["job"]
