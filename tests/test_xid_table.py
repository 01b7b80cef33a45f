"""Tests of what Xid numbers mean: the table that comes along, and one's own."""

from pathlib import Path

import polars as pl
import pytest

from collectors.dialects import read_file
from collectors.hosts.xid_table import XidTableError, load_xid_table
from collectors.sniffing import ReadOptions

OWN = """
[classes]
soft = "95"
[severities]
soft = "warning"
[lines]
[actions]
[next_steps]
[sxid]
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("13", ("app", "error", "RESTART_APP", "WORKFLOW_XID_13"), id="app"),
        pytest.param("63", ("soft", "warning", "IGNORE", None), id="soft"),
        pytest.param("79", ("hardware", "critical", "RESTART_BM", None), id="off the bus"),
        pytest.param("95", ("hardware", "critical", "RESET_GPU", "FOLLOWS_ANOTHER"), id="memory"),
        pytest.param("147", ("link", "warning", "WORKFLOW_NVLINK5_ERR", None), id="link"),
        pytest.param("154", ("follow", "warning", "FOLLOW_ITS_TEXT", None), id="advice"),
        pytest.param("163", ("info", "info", None, None), id="power smoothing"),
        pytest.param("37", ("unknown", "unknown", "IGNORE", "CHECK_APP"), id="in no class"),
        pytest.param("4711", ("unknown", "unknown", None, None), id="not in print"),
    ],
)
def test_meanings(code: str, expected: tuple[str | None, ...]) -> None:
    """A number has a class, its severity, and what NVIDIA says to do at once and then."""
    table = load_xid_table()
    number = pl.col("code")

    row = pl.DataFrame({"code": [code]}).select(
        table.class_of(number).alias("class"),
        table.severity_of(table.class_of(number)).alias("severity"),
        table.action_of(number).alias("action"),
        table.next_step_of(number).alias("next"),
    )
    assert row.row(0) == expected


def test_switch_lists() -> None:
    """The lists of switch faults are whole, ranges included, and do not overlap."""
    table = load_xid_table()
    lists = (table.always_fatal, table.maybe_fatal, table.not_fatal)

    assert [len(one) for one in lists] == [21, 46, 16]
    assert len(set().union(*lists)) == sum(len(one) for one in lists)
    assert {"23001", "23017", "10003"} <= set(table.always_fatal)


def test_own_table(tmp_path: Path) -> None:
    """A reader with a table of its own follows that one."""
    table, log = tmp_path / "own.toml", tmp_path / "kern.log"
    table.write_text(OWN, encoding="utf-8")
    log.write_text("NVRM: Xid (PCI:0000:9b:00): 95, Uncontained\n", encoding="utf-8")

    events = read_file(log, "kern.log", ReadOptions(xid_table=table)).events
    assert events["severity"].to_list() == ["warning"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("classes = [", "is no TOML", id="no TOML"),
        pytest.param("[classes]\n", "lacks severities, lines", id="tables are missing"),
        pytest.param(OWN.replace("soft =", "sof =", 1), "no class 'sof'; known: app", id="class"),
        pytest.param(OWN.replace('"95"', '"95, 96"'), "'95,' is no number or range", id="number"),
        pytest.param(
            OWN.replace('soft = "95"', 'soft = "95"\napp = "90-99"'),
            "95 is both soft and app",
            id="two classes",
        ),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, said: str) -> None:
    """A table that is none is refused with what is wrong."""
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(XidTableError, match=said):
        load_xid_table(path)


def test_no_table(tmp_path: Path) -> None:
    """A table that is not there is an error of the system."""
    with pytest.raises(FileNotFoundError):
        load_xid_table(tmp_path / "own.toml")
