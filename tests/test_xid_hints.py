"""Tests of Xids told twice: by a gauge that sticks, and by the kernel that knows."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.frames import EVENTS
from collectors.gpus.last_xids import METRIC_PREFIX
from collectors.hosts.xid_hints import drop_told_xids
from collectors.readings import Reading, reading_of
from collectors.sniffing import ReadOptions
from detectors.telemetry import TelemetryParams, find_lost_telemetry
from detectors.verdicts import verdicts_of
from paceline.sources import find_files, read_sources

T0 = 1767585600  # 2026-01-05T04:00:00Z
UUID = "GPU-5f1c2a90-7b3e-4d18-9c60-a1b2c3d4e5f6"


def answer(*series: tuple[str, int, list[tuple[int, float]]]) -> str:
    """Return a Prometheus answer: metric, GPU, and seconds after T0 with values."""
    result = [
        {
            "metric": {
                "__name__": name,
                "gpu": str(gpu),
                "UUID": UUID if gpu == 5 else f"GPU-{gpu:08d}-0000-4000-8000-000000000000",
                "pci_bus_id": f"00000000:{0x90 + gpu:02X}:00.0",
                "Hostname": "hx8-017",
            },
            "values": [[T0 + at, str(value)] for at, value in values],
        }
        for name, gpu, values in series
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def read_folder(folder: Path, files: dict[str, str]) -> Reading:
    """Read files by name as one input."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_sources(find_files([folder]), ReadOptions(year=2026), lambda *_: None)


TEMPERATURES = ("DCGM_FI_DEV_GPU_TEMP", 5, [(at, 60.0) for at in range(0, 2400, 30)])
STICKY = ("DCGM_FI_DEV_XID_ERRORS", 5, [(at, 31.0) for at in range(300, 2400, 30)])
LINE = "hx8-017 kernel: NVRM: Xid (PCI:0000:95:00): 31, pid=7, name=python, Ch 0000001a, intr 0"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param("", [(UUID, "31", "low", 1)], id="without a log the change counts once"),
        pytest.param(
            f"Jan  5 04:12:00 {LINE}\nJan  5 04:20:00 {LINE}\n",
            [(UUID, "31", "error", 2)],
            id="two lines in the log are the count",
        ),
        pytest.param(
            f"Jan  5 04:12:00 {LINE.replace('31,', '94,')}\n",
            [(UUID, "31", "low", 1), (UUID, "94", "warning", 1)],
            id="a log without that Xid takes nothing away",
        ),
    ],
)
def test_sticky_gauge(tmp_path: Path, log: str, expected: list[tuple[Any, ...]]) -> None:
    """The gauge's change is one hint, its level none; the log wins where it tells the same."""
    files = {"metrics.json": answer(TEMPERATURES, STICKY), "hx8-017/kern.log": log}
    bridge = f"Jan  5 03:00:00 hx8-017 kernel: NVRM: GPU at PCI:0000:95:00: {UUID}\n"
    files["hx8-017/kern.log"] = bridge + log

    xids = read_folder(tmp_path, files).events.filter(pl.col("kind") == "xid").sort("code")
    assert xids.select("device", "code", "severity", "count").rows() == expected


def event(message: str, **columns: Any) -> dict[str, Any]:
    """An Xid 31 at T0 on host a, GPU 5, unless told otherwise."""
    usual = {"kind": "xid", "code": "31", "host": "a", "device": "5", "message": message}
    return usual | {"time": datetime.fromtimestamp(T0, tz=UTC)} | columns


@pytest.mark.parametrize(
    ("hint", "logged", "is_told"),
    [
        pytest.param({}, {"device": "0000:95:00.0"}, True, id="a GPU that is only numbered"),
        pytest.param(
            {"device": "0000:96:00.0"}, {"device": "0000:95:00.0"}, False, id="another GPU"
        ),
        pytest.param({}, {"host": "b"}, False, id="another host"),
        pytest.param({"host": None}, {}, True, id="a host that is not known"),
        pytest.param({}, {"code": "94"}, False, id="another Xid"),
        pytest.param({}, {"time": None}, True, id="a time that is not known"),
        pytest.param({}, {"time": datetime(2026, 1, 5, 7, tzinfo=UTC)}, False, id="hours apart"),
        pytest.param(
            {"time": datetime(2026, 1, 5, 7, tzinfo=UTC)},
            {"last": datetime(2026, 1, 5, 6, 30, tzinfo=UTC)},
            True,
            id="near the end of an episode",
        ),
    ],
)
def test_hints(hint: dict[str, Any], logged: dict[str, Any], is_told: bool) -> None:
    """A hint goes when the log may have told it, and stays otherwise."""
    rows = [event(METRIC_PREFIX + "x", **hint), event("Ch 1", **logged)]
    reading = reading_of(events=pl.DataFrame(rows, schema=EVENTS))

    left = drop_told_xids(reading).events["message"].to_list()
    assert left == (["Ch 1"] if is_told else [METRIC_PREFIX + "x", "Ch 1"])


def test_silent_gpu_and_its_xid(tmp_path: Path) -> None:
    """A GPU whose series end after an Xid 79 is one finding that names the Xid."""
    series = [
        ("DCGM_FI_DEV_GPU_TEMP", gpu, [(at, 60.0) for at in range(-300, 330, 30)])
        for gpu in range(8)
        if gpu != 6
    ]
    lost = ("DCGM_FI_DEV_GPU_TEMP", 6, [(at, 60.0) for at in range(-300, 30, 30)])
    log = (
        "Jan  5 04:00:12 hx8-017 kernel: NVRM: Xid (PCI:0000:96:00): 79, pid='<unknown>', "
        "name=<unknown>, GPU has fallen off the bus.\n"
    )
    files = {"metrics.json": answer(*series, lost), "hx8-017/kern.log": log}
    reading = read_folder(tmp_path, files)

    found = verdicts_of(
        find_lost_telemetry(reading.samples.lazy(), reading.events.lazy(), TelemetryParams())
    )
    (one,) = found
    assert (one.kind, one.cause, one.confidence) == ("telemetry_lost", "xid_79", "high")
    assert one.onset == datetime(2026, 1, 5, 4, 0, 30, tzinfo=UTC)
    assert one.evidence[0].what == "Xid 79: GPU has fallen off the bus."
    events = reading.events.filter(pl.col("kind").is_in(["xid", "gpu_series_lost"]))
    assert events["device"].n_unique() == 1
    last = reading.samples.filter(pl.col("device") == one.subject.device)["time"].max()
    assert last == datetime(2026, 1, 5, 4, 0, tzinfo=UTC)
