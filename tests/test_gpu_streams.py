"""What dcgm-exporter makes itself, the names that GPUs go by, and one GPU seen in many ways."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

START_MS = 1767585600000
START = datetime(2026, 1, 5, 4, tzinfo=UTC)
SECONDS = (pl.col("time").dt.epoch("ms") - START_MS) // 1000


def read(folder: Path, *lines: str) -> Reading:
    """Return the reading of a page with these lines."""
    path = folder / "page.prom"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return read_file(path, "page", ReadOptions())


def line(name: str, labels: str, value: float, seconds: int) -> str:
    """Return a sample of the GPU `GPU-a` so many seconds after 04:00."""
    return f'DCGM_{name}{{gpu="3",UUID="GPU-a",{labels}}} {value} {START_MS + seconds * 1000}'


def test_windows_of_xids(tmp_path: Path) -> None:
    """Each rise of a window's count is an event; that the count falls by itself is none."""
    rows = [(0, 0), (2, 30), (2, 60), (0, 360), (1, 390)]
    window = 'xid="31",window_size_in_ms="300000"'
    reading = read(
        tmp_path,
        line("EXP_XID_ERRORS_COUNT", 'window_size_in_ms="300000"', 0, 0),
        *(line("EXP_XID_ERRORS_COUNT", window, count, at) for count, at in rows),
    )

    assert reading.events.select("kind", "device", "code", "count", SECONDS).rows() == [
        ("xid", "GPU-a", "31", 2, 30),
        ("xid", "GPU-a", "31", 1, 390),
    ]
    assert reading.samples["device"].unique().sort().to_list() == ["GPU-a", "GPU-a/xid:31"]


def test_window_and_gauge_tell_one_xid(tmp_path: Path) -> None:
    """What the last-Xid gauge told is not told again by the window's count."""
    reading = read(
        tmp_path,
        line("FI_DEV_XID_ERRORS", 'Hostname="h"', 0, 0),
        line("FI_DEV_XID_ERRORS", 'Hostname="h"', 79, 30),
        line("EXP_XID_ERRORS_COUNT", 'Hostname="h",xid="79"', 1, 30),
        line("EXP_XID_ERRORS_COUNT", 'Hostname="h",xid="31"', 1, 30),
    )

    assert reading.events.select("code", "count").rows() == [("79", 1), ("31", 1)]


def test_health_checks(tmp_path: Path) -> None:
    """A check that gets worse is an event, one that gets better none."""
    checks = [(0, 0), (10, 30), (20, 60), (0, 90)]
    reading = read(
        tmp_path,
        *(line("EXP_GPU_HEALTH_STATUS", 'health_watch="PCIE"', value, at) for value, at in checks),
    )

    assert reading.events.select("kind", "device", "code", "severity", SECONDS).rows() == [
        ("gpu_health", "GPU-a", "PCIE", "medium", 30),
        ("gpu_health", "GPU-a", "PCIE", "high", 60),
    ]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        pytest.param("OK", 0.0, id="fine"),
        pytest.param("ChipsetNotSupported", 1.0, id="the chipset"),
        pytest.param("DisabledByRegKey", 4.0, id="a setting"),
        pytest.param("NotSupported", 5.0, id="not supported"),
        pytest.param("odd", 9.0, id="words that nobody knows leave the number"),
    ],
)
def test_peer_links(tmp_path: Path, status: str, state: float) -> None:
    """The state of a peer's link is what its label says: the numbers were shifted once."""
    labels = f'peer_gpu="5",link_status="{status}"'
    reading = read(tmp_path, line("EXP_P2P_STATUS", labels, 9, 0))

    assert reading.samples.select("device_kind", "device", "value").rows() == [
        ("p2p", "GPU-a/p2p:5", state)
    ]


def test_clock_events(tmp_path: Path) -> None:
    """Counts of clock events are parts of their GPU, under the label of old and new exporters."""
    reading = read(
        tmp_path,
        line("EXP_CLOCK_EVENTS_COUNT", 'clock_event="hw_thermal"', 4, 0),
        line("FI_EXP_CLOCK_THROTTLE_REASONS_COUNT", 'throttle_reason="power_cap"', 2, 0),
    )

    assert reading.samples.select("device", "value").rows() == [
        ("GPU-a/clock_event:hw_thermal", 4.0),
        ("GPU-a/clock_event:power_cap", 2.0),
    ]


@pytest.mark.parametrize(
    ("masks", "expected"),
    [
        pytest.param([0x4, 0x1, 0x10], [], id="idle, power cap and sync boost are no throttle"),
        pytest.param([0x48, 0x48, 0x48], [("hw_thermal", 1, 0)], id="one stretch, one event"),
        pytest.param(
            [0x0, 0x20, 0x0, 0x24],
            [("sw_thermal", 2, 30)],
            id="the same again is counted",
        ),
        pytest.param([0x8, 0x0, 0x0], [("hw_slowdown", 1, 0)], id="the umbrella alone"),
        pytest.param(
            [0x88, 0xC8, 0x0],
            [("hw_power_brake", 1, 0), ("hw_thermal,hw_power_brake", 1, 30)],
            id="another reason is another event",
        ),
        pytest.param([0x4000000, 0x0], [], id="a bit that is not known is kept, and none"),
    ],
)
def test_throttles(tmp_path: Path, masks: list[int], expected: list[tuple[str, int, int]]) -> None:
    """The beginning of a throttle is an event, one for each GPU and set of reasons."""
    rows = [
        line("FI_DEV_CLOCKS_EVENT_REASONS", 'Hostname="h"', mask, 30 * at)
        for at, mask in enumerate(masks)
    ]
    events = read(tmp_path, *rows).events

    assert events.select("code", "count", SECONDS).rows() == expected


@pytest.mark.parametrize(
    ("rows", "codes"),
    [
        pytest.param([(0, 0x40, 0), (15e9, 0x40, 30)], [], id="half of the time"),
        pytest.param(
            [(0, 0x40, 0), (30e6, 0x40, 30)],
            ["unit_suspect"],
            id="a full throttle that hardly counts",
        ),
        pytest.param([(0, 0x0, 0), (30e6, 0x40, 30)], [], id="a throttle that set in late"),
        pytest.param(
            [(0, 0x0, 0), (90e9, 0x0, 30)], ["unit_suspect"], id="longer than time passes"
        ),
        pytest.param([(90e9, 0x40, 0), (0, 0x40, 30)], [], id="a reset"),
    ],
)
def test_units_of_violations(
    tmp_path: Path, rows: list[tuple[float, int, int]], codes: list[str]
) -> None:
    """A counter that cannot be nanoseconds is warned of and left as it is."""
    lines = [
        line(name, 'Hostname="h"', value, at)
        for count, mask, at in rows
        for name, value in (
            ("FI_DEV_THERMAL_VIOLATION", count),
            ("FI_DEV_CLOCKS_EVENT_REASONS", mask),
        )
    ]
    events = read(tmp_path, *lines).events.filter(pl.col("kind") == "warning")

    assert events["code"].to_list() == codes


def test_aliases(tmp_path: Path) -> None:
    """Labels of one row name one card; the exporter's pod and address are its host's."""
    labels = (
        'pci_bus_id="00000000:9B:00.0",device="nvidia4",Hostname="hx8-017",'
        'instance="10.4.0.17:9400",pod="dcgm-exporter-x9k2p",exported_pod="llm-0"'
    )
    aliases = read(tmp_path, line("FI_DEV_GPU_TEMP", labels, 50, 0)).aliases

    assert aliases.drop("source").rows() == [
        (START, "hx8-017", "gpu", "GPU-a", "index", "3"),
        (START, "hx8-017", "gpu", "GPU-a", "minor", "4"),
        (START, "hx8-017", "gpu", "GPU-a", "pci", "0000:9b:00.0"),
        (START, "hx8-017", "node", None, "ip", "10.4.0.17"),
        (START, "hx8-017", "node", None, "pod", "dcgm-exporter-x9k2p"),
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            [("a", 0, 50), ("b", 7, 51), ("a", 30, 52), ("b", 37, 53)],
            [(0, 50.0), (30, 52.0)],
            id="two targets, each GPU twice",
        ),
        pytest.param(
            [("a", 0, 50), ("a", 30, 51), ("b", 67, 52), ("b", 97, 53)],
            [(0, 50.0), (30, 51.0), (67, 52.0), (97, 53.0)],
            id="a new address, one after the other",
        ),
        pytest.param([("a", 0, 50), ("a", 7, 51)], [(0, 50.0), (7, 51.0)], id="one target"),
    ],
)
def test_two_targets(
    tmp_path: Path, rows: list[tuple[str, int, int]], expected: list[tuple[int, float]]
) -> None:
    """A GPU behind two targets was measured once in an interval."""
    lines = [
        line("FI_DEV_GPU_TEMP", f'Hostname="h",instance="{target}:9400"', value, at)
        for target, at, value in rows
    ]

    assert read(tmp_path, *lines).samples.select(SECONDS, "value").rows() == expected


@pytest.mark.parametrize(
    ("hosts", "expected", "codes"),
    [
        pytest.param(
            [("hx8-017-old", 0), ("hx8-017", 30)],
            ["hx8-017", "hx8-017"],
            ["host_label_changed"],
            id="a label that changed with an upgrade",
        ),
        pytest.param(
            [("hx8-017", 0), ("hx8-018", 0)],
            ["hx8-017", "hx8-018"],
            [],
            id="two hosts at one time stay two",
        ),
        pytest.param(
            [("dcgm-exporter-x9k2p", 0), ("hx8-017", 30)],
            ["hx8-017", "hx8-017"],
            [],
            id="a pod's name is no host, the GPU's own one is",
        ),
        pytest.param(
            [("3f2a9b8c7d6e", 0), ("hx8-017", 30)],
            ["hx8-017", "hx8-017"],
            [],
            id="nor is a container's number",
        ),
    ],
)
def test_hosts(
    tmp_path: Path, hosts: list[tuple[str, int]], expected: list[str], codes: list[str]
) -> None:
    """One GPU is on one host, whatever its exporter calls it over time."""
    lines = [line("FI_DEV_GPU_TEMP", f'Hostname="{host}"', 50, at) for host, at in hosts]
    reading = read(tmp_path, *lines)

    assert reading.samples["host"].to_list() == expected
    assert reading.events["code"].to_list() == codes


@pytest.mark.parametrize(
    ("source", "host"),
    [
        pytest.param("hx8-017/metrics.prom", "hx8-017", id="its folder"),
        pytest.param("hx8-017.prom", "hx8-017", id="its own name"),
        pytest.param("run12/page.prom", None, id="no host at all"),
    ],
)
def test_hosts_of_saved_pages(tmp_path: Path, source: str, host: str | None) -> None:
    """A page without host and target is of the host that it is kept under."""
    path = tmp_path / "page.prom"
    path.write_text('DCGM_FI_DEV_GPU_TEMP{gpu="0"} 50\n', encoding="utf-8")

    assert read_file(path, source, ReadOptions()).samples["host"].to_list() == [host]


@pytest.mark.parametrize(
    ("rows", "value", "run"),
    [
        pytest.param([("", 97), ('pod="idle"', 0)], 0.97, "idle", id="the device's own row"),
        pytest.param(
            [('pod="a"', 97), ('pod="b"', 0)], 0.97, "a,b", id="an idle pod does not count"
        ),
        pytest.param([('pod="a"', 97), ('pod="a"', 0)], 0.0, "a", id="the last of one pod"),
    ],
)
def test_rows_of_pods(tmp_path: Path, rows: list[tuple[str, int]], value: float, run: str) -> None:
    """A GPU that pods share is as busy as it is, not as its idle pods are."""
    lines = [
        line("FI_DEV_GPU_UTIL", labels or 'Hostname="h"', busy, 0).replace(
            "UUID", 'Hostname="h",UUID' if labels else "UUID"
        )
        for labels, busy in rows
    ]

    assert read(tmp_path, *lines).samples.select("value", "run").rows() == [(value, run)]


def test_old_and_new_names_on_one_page(tmp_path: Path) -> None:
    """A field under two names is one sample."""
    reading = read(
        tmp_path,
        line("FI_DEV_POWER_USAGE", 'Hostname="h"', 600, 0),
        line("FI_DEV_BOARD_POWER_WATTS", 'hostname="h"', 600, 0),
    )

    assert reading.samples.select("host", "signal", "value").rows() == [("h", "power_watts", 600.0)]
    assert reading.events.height == 0


def test_error_text_of_a_number(tmp_path: Path) -> None:
    """A field that the exporter failed to convert is null, and its source's failure an event."""
    text = line("FI_DEV_GPU_TEMP", 'Hostname="h"', 0, 0).replace(
        "} 0 ", "} ERROR - FAILED TO CONVERT TO STRING "
    )
    reading = read(tmp_path, text)

    assert reading.samples.select("value", "reason").rows() == [(None, "error")]
    assert reading.events["kind"].to_list() == ["gpu_error"]
