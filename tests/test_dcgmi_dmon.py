"""The text of `dcgmi dmon`."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.gpus.dcgm_fields import BY_NUMBER
from collectors.gpus.dcgmi_dmon import wants_dcgmi_dmon
from collectors.gpus.dmon_columns import SHORT_NAMES, column_numbers
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions

HEADER = """\
#Entity         TMPTR        POWER             GPUTL             XIDER        TENSO
ID              C            W
"""
TABLE = f"""\
{HEADER}GPU 0           58           612.431           100               N/A          0.412
GPU 1           61           640.112           100               31           0.409
GPU-I 3         N/A          N/A               N/A                            0.118
"""


def read(folder: Path, text: str, name: str = "dmon.txt") -> Reading:
    """Return the reading of a text in a file of its own."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_file(path, name, ReadOptions(host="hx8-017"))


def values(reading: Reading, device: str) -> list[tuple[object, ...]]:
    """Return signal, value and reason of a device's samples."""
    rows = reading.samples.filter(pl.col("device") == device)
    return rows.select("signal", "value", "reason").rows()


def test_table(tmp_path: Path) -> None:
    """Cells stand under their header: `N/A` is blank, blanks are no row."""
    reading = read(tmp_path, TABLE)

    assert values(reading, "0") == [
        ("gpu_busy_ratio", 1.0, None),
        ("gpu_temperature_celsius", 58.0, None),
        ("power_watts", 612.431, None),
        ("tensor_active_ratio", 0.412, None),
        ("xid_last", None, "n/a"),
    ]
    assert values(reading, "gi3") == [
        ("gpu_busy_ratio", None, "n/a"),
        ("gpu_temperature_celsius", None, "n/a"),
        ("power_watts", None, "n/a"),
        ("tensor_active_ratio", 0.118, None),
    ]
    assert (reading.lines_used, reading.rejects.height) == (5, 0)


@pytest.mark.parametrize(
    ("entity", "kind", "device", "index"),
    [
        pytest.param("GPU 3", "gpu", "3", 3, id="a GPU"),
        pytest.param("GPU-I 3", "mig", "gi3", None, id="a GPU instance"),
        pytest.param("GPU-CI 3", "mig", "ci3", None, id="a compute instance"),
        pytest.param("vGPU 3", "vgpu", "vgpu3", None, id="a virtual GPU"),
        pytest.param("Switch 3", "nvswitch", "nvswitch3", None, id="a switch"),
        pytest.param("CPU 3", "cpu", "cpu3", None, id="a processor"),
        pytest.param("CPU Core 3", "cpu", "core3", None, id="a core, in three words"),
        pytest.param("CX 3", "nic", "cx3", None, id="a NIC"),
        pytest.param("GPU 3 LINK 5", "nvlink", "3/nvlink5", None, id="a GPU's link, in four words"),
        pytest.param("SW 3 LINK 5", "nvswitch", "nvswitch3/nvlink5", None, id="a switch's link"),
        pytest.param("UNKNOWN 3", "unknown", "unknown3", None, id="what dcgmi does not know"),
    ],
)
def test_entities(tmp_path: Path, entity: str, kind: str, device: str, index: int | None) -> None:
    """An entity of any number of words is a device of its kind."""
    samples = read(tmp_path, f"{HEADER}{entity:<16}58\n").samples

    assert samples.select("device_kind", "device", "index", "value").rows() == [
        (kind, device, index, 58.0)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "# Entity  POWER  TMPTR\n      Id      W      C\n  GPU 0  612.4     58\n",
            [("gpu_temperature_celsius", 58.0, None), ("power_watts", 612.4, None)],
            id="the form of old releases, its cells to the right",
        ),
        pytest.param(
            "#Entity         TOTEC        GPUTL\nID              mJ\n"
            "GPU 0           98213441...  97\n",
            [("energy_joules_total", None, "cut"), ("gpu_busy_ratio", 0.97, None)],
            id="a number that was cut is none",
        ),
        pytest.param(
            "#Entity         DVC...       TMP...\nID\nGPU 0           72           58\n",
            [("clock_event_reasons", 72.0, None), ("gpu_temperature_celsius", 58.0, None)],
            id="a name that was cut is known by its beginning",
        ),
        pytest.param(
            "$ dcgmi dmon -e 155,150 -c 1\n#Entity         XYZZY        ABCDE\nID\n"
            "GPU 0           612.4        58\n",
            [("gpu_temperature_celsius", 58.0, None), ("power_watts", 612.4, None)],
            id="the fields that were asked for win over the names",
        ),
        pytest.param(
            "#Entity         TMPTR        GPUTL\nID\nGPU 0           58           97\n"
            "#Entity         GPUTL        TMPTR\nID\nGPU 0           97           58\n",
            [("gpu_busy_ratio", 0.97, None), ("gpu_temperature_celsius", 58.0, None)] * 2,
            id="each block has its own header",
        ),
    ],
)
def test_forms(tmp_path: Path, text: str, expected: list[tuple[object, ...]]) -> None:
    """Columns are found in every form, and never guessed."""
    assert values(read(tmp_path, text), "0") == expected


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param(
            "GPU 0           N/A98213441207            0.4",
            "the row does not fit the columns of its header",
            id="cells that are glued",
        ),
        pytest.param(
            "GPU 0           5898213441207441207441207 0.4",
            "the row does not fit the columns of its header",
            id="a number that runs into the next column",
        ),
    ],
)
def test_rejected_rows(tmp_path: Path, row: str, reason: str) -> None:
    """A row whose cells cannot be told apart is a reject."""
    reading = read(tmp_path, f"{TABLE}{row}\n")

    assert reading.rejects.select("position", "reason").rows() == [(6, reason)]


def test_row_before_any_header(tmp_path: Path) -> None:
    """A row that no header comes before is a reject; those after one are read."""
    reading = read(tmp_path, f"GPU 0           58\n{TABLE}")

    assert reading.rejects["reason"].to_list() == ["no header of columns before this row"]
    assert reading.samples.height == 14


def test_frame_of_the_text(tmp_path: Path) -> None:
    """The closing sentence is no reject; a failure is an event; odd text is a reject."""
    text = (
        f"{TABLE}\ndmon was stopped due to receipt of a signal.\n"
        "Error setting watches. Result: The requested field is not supported\nwhat else\n"
    )
    reading = read(tmp_path, text)

    assert reading.events.filter(pl.col("kind") == "collector_failed")["message"].to_list() == [
        "Error setting watches. Result: The requested field is not supported"
    ]
    assert reading.rejects.select("text", "reason").rows() == [("what else", "unrecognised line")]


def test_unread_column(tmp_path: Path) -> None:
    """A column that nothing is known of is told once."""
    text = f"#Entity         VICLK        TMPTR\nID\n{'GPU 0           1200         58':<40}\n"
    events = read(tmp_path, text * 2).events

    assert events.select("code", "message", "count").rows() == [
        ("unknown_column", "column VICLK is not read", 2)
    ]


def test_time(tmp_path: Path) -> None:
    """One poll is of the time when it was taken; the interval of several is not known."""
    name = "hx8-017-20260105T040302Z.txt"
    one, two = read(tmp_path, TABLE, name), read(tmp_path, TABLE * 2, name)

    assert one.samples["time"].unique().to_list() == [datetime(2026, 1, 5, 4, 3, 2, tzinfo=UTC)]
    assert two.samples["time"].null_count() == two.samples.height


def test_xid_between_polls(tmp_path: Path) -> None:
    """A last Xid that comes up between two polls is an event, one at first sight is history."""
    later = TABLE.replace("N/A          0.412", "79           0.412")
    events = read(tmp_path, TABLE + later).events

    assert events.select("kind", "device", "code").rows() == [("xid", "0", "79")]


def test_columns_are_fields() -> None:
    """Each short name is of a field that we read; a number that we do not read is none."""
    assert set(SHORT_NAMES.values()) <= set(BY_NUMBER)
    assert column_numbers(["A", "B"], [150, 9999]) == [150, None]
    assert column_numbers(["PM...", "RR..."], []) == [None, None]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(TABLE, True, id="a table"),
        pytest.param("# Entity  TMPTR\n      Id      C\n GPU 0   58\n", True, id="an old table"),
        pytest.param("#Entity         TMPTR\n" + "step 1\n" * 9, False, id="a log that holds one"),
        pytest.param("GPU 0           58\n", False, id="rows without a header"),
        pytest.param("\0\1", False, id="binary"),
    ],
)
def test_wants(text: str, *, wanted: bool) -> None:
    """The dialect wants its own tables alone."""
    assert (wants_dcgmi_dmon(Head(name="x", data=text.encode())) > 0.05) is wanted


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 1), noise=st.binary(max_size=30), ending=st.sampled_from(["\n", "\r\n"]))
def test_every_line_is_accounted_for(tmp_path: Path, cut: float, noise: bytes, ending: str) -> None:
    """Whatever tears the text, no line is lost and nothing raises."""
    at = int(cut * len(TABLE))
    torn = TABLE[:at].encode() + noise + TABLE[at:].encode() + (TABLE * 2).encode()
    path = tmp_path / "dmon.txt"
    path.write_bytes(b"\x1b[1m" + torn.replace(b"\n", ending.encode()) + b"GPU 0 " * 20_000)
    reading = read_file(path, "dmon.txt", ReadOptions())
    lines = [line for line in path.read_bytes().split(b"\n") if line.replace(b"\0", b"").strip()]

    assert reading.lines_used + reading.rejects["count"].sum() == len(lines)
