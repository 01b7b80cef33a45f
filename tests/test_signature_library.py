"""Tests of the library of failures: what comes along, a file of one's own, and what is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.signatures.library import SIGNATURES, SignatureFileError, read_signatures

FIELDS = "  title: A\n  meaning: B\n  helped: C\n"


def own(folder: Path, text: str) -> Path:
    """A file of one's own."""
    path = folder / "own.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_own_families_come_first(tmp_path: Path) -> None:
    """A family of one's own is before those that come along, one of the same name instead."""
    path = own(tmp_path, f"disk_full:\n{FIELDS}  events: [oom]\n  examples: |\n    a b\n\n    c\n")
    shipped, mixed = read_signatures(), read_signatures(path)

    assert mixed.schema == shipped.schema == SIGNATURES
    assert mixed.height == shipped.height >= 40
    assert mixed.row(0) == ("disk_full", "A", "B", "C", ["oom"], [], ["a b", "c"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("", "wanted families by name, found nothing", id="nothing"),
        pytest.param("- a\n", "wanted families by name, found a list", id="a list"),
        pytest.param("a: [\n", "wanted YAML, found what is none in line 2", id="no YAML"),
        pytest.param("a: 2026-99-99\n", "wanted YAML, found what is none", id="no date"),
        pytest.param("a: b\n", "wanted a name and its fields, found a text", id="no fields"),
        pytest.param("a: {}\na: {}\n", "found 'a' twice", id="twice"),
        pytest.param("a: {titel: b}\n", "found 'titel'", id="a misspelt field"),
        pytest.param("a: {title: 3}\n", "wanted 'title' as a text", id="a number"),
        pytest.param(f"a:\n{FIELDS}", "wanted 'examples', found none", id="no wording"),
        pytest.param(f"a:\n{FIELDS}  examples: 3\n", "found a value of type int", id="no lines"),
        pytest.param(f"a:\n{FIELDS}  examples: [3]\n", "as texts, found", id="no texts"),
        pytest.param(
            f"a:\n{FIELDS}  patterns: '('\n  examples: x\n", "a regular expression", id="no pattern"
        ),
        pytest.param(
            f"a:\n{FIELDS}  patterns: 'x*'\n  examples: x\n", "which fits any", id="any line"
        ),
    ],
)
def test_refused(tmp_path: Path, text: str, wanted: str) -> None:
    """A file that is not of the form is refused with what was wanted and found."""
    with pytest.raises(SignatureFileError, match=r"own\.yml") as told:
        read_signatures(own(tmp_path, text))

    assert wanted in str(told.value)


def test_other_bytes(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are refused."""
    path = tmp_path / "own.yml"
    path.write_bytes(b"a: \xff\n")

    with pytest.raises(SignatureFileError, match="save it as UTF-8"):
        read_signatures(path)


@given(text=st.text(alphabet="ab:|-[]{}&*!?'\" \n#3", max_size=60))
def test_any_text(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever the file holds, it is read or refused by its own error."""
    path = own(tmp_path_factory.mktemp("fuzz"), text)
    try:
        found = read_signatures(path).schema
    except SignatureFileError:
        found = SIGNATURES

    assert found == SIGNATURES
