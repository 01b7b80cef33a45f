"""No line of an InfiniBand tool's output is lost, whatever happened to the file on its way."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.dialects import DIALECTS
from collectors.infiniband.diagnostic_tables import read_diagnostic_tables
from collectors.infiniband.discovery import read_discovery
from collectors.infiniband.fabric_telemetry import read_fabric_telemetry
from collectors.infiniband.influx_lines import read_influx_lines
from collectors.infiniband.link_listing import read_link_listing
from collectors.infiniband.net_dump import read_net_dump
from collectors.infiniband.perfquery import read_perfquery
from collectors.infiniband.query_errors import read_query_errors
from collectors.infiniband.sysfs_dumps import read_sysfs_dump
from collectors.infiniband.telemetry_stream import read_telemetry_stream
from collectors.readings import FRAMES, Reading
from collectors.signals import SIGNALS
from collectors.sniffing import ReadOptions, choose, read_head

Read = Callable[[Path, str, ReadOptions], Reading]

DATA = Path(__file__).parent / "data" / "infiniband"

READERS: dict[str, tuple[str, Read]] = {
    "perfquery.txt": ("perfquery", read_perfquery),
    "ibqueryerrors.txt": ("ibqueryerrors", read_query_errors),
    "iblinkinfo-lines.txt": ("iblinkinfo", read_link_listing),
    "iblinkinfo-blocks.txt": ("iblinkinfo", read_link_listing),
    "ibnetdiscover-ports.txt": ("ibnetdiscover", read_discovery),
    "ibnetdiscover-topology.txt": ("ibnetdiscover", read_discovery),
    "ibdiagnet2.db_csv": ("ibdiagnet", read_diagnostic_tables),
    "ibdiagnet2.net_dump": ("net dump", read_net_dump),
    "ibdiagnet2.net_dump_ext": ("net dump", read_net_dump),
    "telemetry.csv": ("ufm telemetry", read_fabric_telemetry),
    "telemetry.json": ("ufm stream", read_telemetry_stream),
    "sysfs-paths.txt": ("infiniband files", read_sysfs_dump),
    "sysfs-pairs.txt": ("infiniband files", read_sysfs_dump),
    "telegraf.influx": ("influx lines", read_influx_lines),
}
"""File to the dialect that wants it and its reader. All files are composed, in published forms."""

FILES = [pytest.param(name, id=f"{dialect}: {name}") for name, (dialect, _) in READERS.items()]


def filled(data: bytes) -> int:
    """Return how many lines of a file are not blank."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("iso-8859-1")
    lines = text.removeprefix("\ufeff").replace("\0", "").split("\n")
    return pl.Series(lines, dtype=pl.String).str.strip_chars().ne("").sum()


@pytest.mark.parametrize("name", FILES)
def test_wanted(name: str) -> None:
    """Each form is wanted by its own dialect, for sure."""
    chosen = choose(read_head(DATA / name), DIALECTS)

    assert chosen is not None
    assert chosen.name == READERS[name][0]


@pytest.mark.parametrize("name", FILES)
def test_frames(name: str) -> None:
    """What is read has the frames' schemas and signals that are known; each line is accounted."""
    _, read = READERS[name]
    reading = read(DATA / name, name, ReadOptions())

    assert {one: reading.frame(one).schema for one in FRAMES} == FRAMES
    assert set(reading.samples["signal"]) <= set(SIGNALS)
    assert not reading.samples["value"].is_nan().any()
    assert reading.samples.filter(pl.col("value").is_null())["reason"].null_count() == 0
    assert reading.lines_used + reading.rejects["count"].sum() == filled((DATA / name).read_bytes())


def mangled(draw: st.DrawFn, data: bytes) -> bytes:
    """Return bytes to which has happened what happens to files."""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        to = draw(st.integers(at, min(len(data), at + 200)))
        piece = draw(
            st.sampled_from(
                [
                    b"",
                    b"\n",
                    b"\r\n",
                    b"\x00",
                    b"\xff\xfe",
                    b"\x1b[31m",
                    b'"',
                    b",",
                    b"  \n",
                    b"{",
                    b"[",
                ]
            )
        )
        data = data[:at] + piece + data[to:]
    lines = data.split(b"\n")
    if draw(st.booleans()):
        lines += lines[draw(st.integers(0, len(lines) - 1)) :]
    end = draw(st.sampled_from([b"\n", b"\r\n"]))
    if draw(st.integers(0, 9)) == 0:
        lines.append(draw(st.sampled_from([b"x", b"a=1,", b"==(", b"[1] "])) * 100_000)
    return end.join(lines)


@pytest.mark.parametrize("name", FILES)
@settings(
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_mangled(tmp_path: Path, name: str, data: st.DataObject) -> None:
    """A mangled file never raises, and each of its lines is a part of a row or a reject."""
    _, read = READERS[name]
    content = data.draw(st.composite(mangled)((DATA / name).read_bytes()))
    path = tmp_path / "file"
    path.write_bytes(content)
    reading = read(path, "file", ReadOptions())
    for dialect in DIALECTS:
        dialect.wants(read_head(path))

    assert reading.lines_used + reading.rejects["count"].sum() == filled(content)


@pytest.mark.parametrize("name", FILES)
def test_doubled(tmp_path: Path, name: str) -> None:
    """A file that is there twice in itself says nothing more than once."""
    _, read = READERS[name]
    data = (DATA / name).read_bytes()
    path = tmp_path / "file"
    path.write_bytes(data + (b"" if data.endswith(b"\n") else b"\n") + data)
    once, twice = (read(one, "file", ReadOptions()) for one in (DATA / name, path))
    keys = ["time", "host", "device_kind", "device", "signal", "value", "exact", "reason"]

    for frame in ("links", "aliases"):
        left, right = (one.frame(frame).unique().sort(pl.all()) for one in (once, twice))
        assert left.equals(right)
    left, right = (one.samples.select(keys).unique().sort(keys) for one in (once, twice))
    assert left.equals(right)
