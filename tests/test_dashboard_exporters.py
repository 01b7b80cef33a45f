"""Names of exporters come from a table by version, and boards know no other series."""

import pytest

from dashboards.boards import build_board_trees
from dashboards.exporters.choices import (
    EXPORTERS,
    KNOWN_SERIES,
    UnknownSourceError,
    build_sources,
)
from dashboards.exporters.tables import UnknownSeriesError, UnknownVersionError
from dashboards.lint import check_boards


@pytest.mark.parametrize(
    ("version", "key", "name"),
    [
        pytest.param("4.0", "temperature", "DCGM_FI_DEV_GPU_TEMP", id="before the renames"),
        pytest.param("4.6", "temperature", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", id="after them"),
        pytest.param("4.6", "sm_clock", "DCGM_FI_DEV_SM_CLOCK", id="a name that stayed"),
        pytest.param(
            "3.3", "throttle_mask", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", id="an older rename"
        ),
    ],
)
def test_names_by_version(version: str, key: str, name: str) -> None:
    """A series has the name of the newest version that is not newer than the chosen one."""
    assert build_sources({"dcgm": version}).gpus.name_of(key) == name


@pytest.mark.parametrize(
    ("version", "query"),
    [
        pytest.param(
            "4.0",
            'max by (node, gpu) (label_join(DCGM_FI_DEV_GPU_TEMP{cluster="$cluster", '
            'Hostname=~"$node"}, "node", "", "Hostname"))',
            id="a label of another name is copied",
        ),
        pytest.param(
            "4.6",
            'max by (node, gpu) (label_join(DCGM_FI_DEV_GPU_TEMP_CELSIUS{cluster="$cluster", '
            'hostname=~"$node"}, "node", "", "hostname"))',
            id="the label was renamed too",
        ),
    ],
)
def test_query_by_version(version: str, query: str) -> None:
    """A query selects by the exporter's labels and answers with ours."""
    gpus = build_sources({"dcgm": version}).gpus

    assert gpus.value("temperature", "node, gpu", node="$node") == query


@pytest.mark.parametrize("version", ["3.3", "4.6"])
def test_boards_of_every_version_are_clean(version: str) -> None:
    """Boards for another version of a source break no rule either."""
    boards = build_board_trees(build_sources({"dcgm": version}))

    assert check_boards({uid: boards[uid] for uid in boards}) == []


def test_unknown_source() -> None:
    """A source that no table is for is refused, with those that there are."""
    with pytest.raises(UnknownSourceError, match="no source 'smi'; known: dcgm, node-exporter"):
        build_sources({"smi": "1"})


def test_unknown_version() -> None:
    """A version that a table does not have is refused, with the way out."""
    with pytest.raises(UnknownVersionError, match=r"no version '9' of dcgm; known: 3\.3, 4\.0"):
        build_sources({"dcgm": "9"})


def test_unknown_key() -> None:
    """A key that a table does not have is refused."""
    with pytest.raises(UnknownSeriesError, match=r"dcgm 4\.0 has no 'colour'"):
        build_sources().gpus.name_of("colour")


def test_names_are_of_one_table() -> None:
    """No two tables, nor the contract, give one name to different things."""
    names = [name for exporter in EXPORTERS for name in exporter.known_names()]

    assert len(names) == len(set(names))
    assert set(names) <= set(KNOWN_SERIES)
