"""Archives of scrapes read a part at a time."""

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.metrics.metric_files import read_exposition
from collectors.metrics.scrape_archives import stream_exposition
from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions
from collectors.texts.packed_files import open_unpacked
from collectors.texts.text_blocks import line_blocks

OPTIONS = ReadOptions()
START = 1767585600


def scrape(at: int, gpus: dict[int, int], xid: int | None = None) -> str:
    """A scrape of a host: temperatures by GPU, and the last Xid of GPU 0."""
    stamp = (START + at) * 1000
    lines = ["# TYPE DCGM_FI_DEV_GPU_TEMP gauge"]
    lines += [
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="{gpu}",UUID="GPU-{gpu}",Hostname="n1"}} {value} {stamp}'
        for gpu, value in gpus.items()
    ]
    if xid is not None:
        lines += [
            f'DCGM_FI_DEV_XID_ERRORS{{gpu="0",UUID="GPU-0",Hostname="n1"}} {xid} {stamp}',
            f"go_goroutines 7 {stamp}",
        ]
    return "\n".join([*lines, ""])


INCIDENT = "".join(
    scrape(
        30 * at,
        {gpu: 50 + at for gpu in range(4) if gpu != 3 or not 12 <= at < 20},
        xid=0 if at < 9 else 31,
    )
    for at in range(30)
)
"""GPU 3 is silent from scrape 12 to 19, GPU 0 has an Xid at scrape 9."""


def whole_and_streamed(folder: Path, text: str, block_bytes: int) -> tuple[Reading, Reading]:
    """The same text read at once and in parts."""
    path = folder / "archive.prom"
    path.write_text(text, encoding="utf-8")
    parts = list(stream_exposition(path, "x", OPTIONS, block_bytes))
    return read_exposition(path, "x", OPTIONS), join_readings(parts)


def accounted(reading: Reading) -> int:
    """How many lines a reading speaks for."""
    return reading.lines_used + int(reading.rejects["count"].fill_null(1).sum())


@pytest.mark.parametrize("block_bytes", [200, 700, 1500, 4000, 10_000_000])
def test_parts_say_what_the_whole_says(tmp_path: Path, block_bytes: int) -> None:
    """Samples and events do not depend on where an archive is cut."""
    whole, streamed = whole_and_streamed(tmp_path, INCIDENT + "oops\n", block_bytes)

    assert streamed.samples.equals(whole.samples)
    assert streamed.events.equals(whole.events)
    assert whole.events.select("kind", "device").rows() == [
        ("xid", "GPU-0"),
        ("gpu_series_lost", "GPU-3"),
        ("gpu_series_back", "GPU-3"),
    ]


@pytest.mark.parametrize("block_bytes", [200, 1500, 10_000_000])
def test_each_line_is_accounted_for(tmp_path: Path, block_bytes: int) -> None:
    """Lines used and lines rejected are all lines, in parts and in whole."""
    text = INCIDENT + "oops\n\n# just a comment\n"
    whole, streamed = whole_and_streamed(tmp_path, text, block_bytes)
    lines = sum(1 for line in text.splitlines() if line.strip())

    assert (accounted(whole), accounted(streamed)) == (lines, lines)


def test_coverage_counts_each_scrape_once(tmp_path: Path) -> None:
    """Scrapes that a part sees again are not counted again."""
    _, streamed = whole_and_streamed(tmp_path, INCIDENT, 900)
    seen = streamed.coverage.filter(pl.col("entity") == "n1/GPU-3")["seen"].sum()

    assert seen == 22


def test_links_are_told_once(tmp_path: Path) -> None:
    """Names that come with every scrape do not come with every part."""
    info = (
        'infiniband_switch_uplink_info{{guid="0xb83fd2030a001101",port="17",switch="leaf-r3-02",'
        'uplink="gpu-r3-n07 mlx5_4",uplink_guid="0xb83fd2030a0077c4",uplink_port="1",'
        'uplink_type="CA"}} 1 {}\n'
    )
    text = "".join(
        info.format((START + 30 * at) * 1000) + scrape(30 * at, {0: 5}) for at in range(20)
    )
    whole, streamed = whole_and_streamed(tmp_path, text, 600)

    assert streamed.links.rows() == whole.links.rows()
    assert whole.links.height == 1


def test_an_archive_in_the_order_of_its_series_accuses_nobody(tmp_path: Path) -> None:
    """Parts of a dump by series hold a GPU each: the others are not lost."""
    lines = [
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="{gpu}",UUID="GPU-{gpu}",Hostname="n1"}} 50 '
        f"{(START + 30 * at) * 1000}\n"
        for gpu in range(4)
        for at in range(40)
    ]
    whole, streamed = whole_and_streamed(tmp_path, "".join(lines), 6000)

    assert streamed.samples.equals(whole.samples)
    assert streamed.events["code"].to_list() == ["series_order"]
    assert streamed.coverage.is_empty()


def test_scrapes_without_times(tmp_path: Path) -> None:
    """Scrapes without stamps stay whole; what the page holds is the same."""
    text = "".join(
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="{gpu}",Hostname="n1"}} {50 + at}\n'
        for at in range(30)
        for gpu in range(4)
    )
    whole, streamed = whole_and_streamed(tmp_path, text, 500)

    assert streamed.samples.equals(whole.samples)


def test_an_empty_archive(tmp_path: Path) -> None:
    """No line, no part."""
    _, streamed = whole_and_streamed(tmp_path, "", 500)

    assert streamed.samples.is_empty()


PIECES = st.lists(
    st.one_of(
        st.builds(
            scrape,
            st.integers(0, 600),
            st.dictionaries(st.integers(0, 3), st.integers(0, 99), max_size=4),
            st.one_of(st.none(), st.integers(0, 80)),
        ),
        st.sampled_from(
            ["oops\n", "\x1b[31ma 1\n", "a{\n", "# HELP\n", "\r\n", "a 1\r\n", "x" * 300]
        ),
    ),
    max_size=12,
)


@given(pieces=PIECES, block_bytes=st.integers(1, 2000))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_archive(tmp_path: Path, pieces: list[str], block_bytes: int) -> None:
    """Whatever the pieces and the cuts, each line is accounted for, in parts and in whole."""
    text = "".join(pieces)
    whole, streamed = whole_and_streamed(tmp_path, text, block_bytes)
    lines = sum(1 for line in text.split("\n") if line.strip(" \t\r\ufeff"))

    assert (accounted(whole), accounted(streamed)) == (lines, lines)


def test_a_torn_gzip_gives_what_can_be_unpacked(tmp_path: Path) -> None:
    """The end of a packed archive may be missing: what is there is read."""
    path = tmp_path / "archive.gz"
    path.write_bytes(gzip.compress(INCIDENT.encode() * 50)[:-2000])
    with open_unpacked(path) as stream:
        unpacked = b"".join(line_blocks(stream, 5000))

    assert INCIDENT.encode() * 2 == unpacked[: 2 * len(INCIDENT)]
