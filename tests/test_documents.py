"""Documents: exact numbers, times as text, nothing silently dropped."""

from decimal import Decimal

import pytest

from slo.documents import Document, DocumentError, Part, checked, split_documents


class Wanted(Part):
    """A part with one field."""

    some_count: int


def contents(text: str) -> list[dict[str, object]]:
    """The fields of each document of a text."""
    return [document.content for document in split_documents(text, "x.yml")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 99.9", Decimal("99.9"), id="a decimal is exact"),
        pytest.param("a: 99.99990", Decimal("99.99990"), id="zeros at the end stay"),
        pytest.param("a: 1_000.5", Decimal("1000.5"), id="underscores are no digits"),
        pytest.param("a: .inf", float("inf"), id="infinity is what YAML says"),
        pytest.param("a: 1:30.5", 90.5, id="what is no decimal is what YAML says"),
        pytest.param("a: 2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z", id="a time is text"),
        pytest.param("a: 2026-01-01", "2026-01-01", id="a date is text"),
        pytest.param("a: {b: 1}", {"b": 1}, id="a mapping"),
        pytest.param("a: {<<: {b: 1}, b: 2}", {"b": 2}, id="a merged key may be said again"),
    ],
)
def test_values(text: str, expected: object) -> None:
    """Values are as exact as they were written."""
    (found,) = contents(text)

    assert found["a"] == expected
    assert type(found["a"]) is type(expected)


def test_several() -> None:
    """Each document is read, empty ones are none, and lists are opened."""
    text = "a: 1\n---\n---\nkind: List\nitems:\n- b: 2\n- c: 3\n---\nkind: List\nitems: []\n"

    found = split_documents(text, "x.yml")

    assert [(one.where, one.content) for one in found] == [
        ("x.yml, document 1", {"a": 1}),
        ("x.yml, document 3, item 1", {"b": 2}),
        ("x.yml, document 3, item 2", {"c": 3}),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "x.yml: wanted YAML", id="no YAML"),
        pytest.param("kind: List", "wanted a list of items, found None", id="a list of nothing"),
        pytest.param("- a", "document 1: wanted a document with fields, found 'list'", id="a list"),
        pytest.param(
            "a: 1\na: 2", "the key 'a' twice in one mapping", id="a key that stands twice"
        ),
        pytest.param("[" * 1000, "x.yml: wanted YAML", id="brackets without end"),
        pytest.param("a: !!python/object:x.Y {}", "x.yml: wanted YAML", id="a program's object"),
    ],
)
def test_refused(text: str, message: str) -> None:
    """What is no document is refused with its place."""
    with pytest.raises(DocumentError, match=message):
        split_documents(text, "x.yml")


def test_form() -> None:
    """A document says its own form, by either word for the version."""
    named = Document(where="x", content={"apiVersion": "a/v1", "kind": "K"})
    sloth = Document(where="x", content={"version": "b/v1"})
    bare = Document(where="x", content={})

    assert [(one.version, one.kind) for one in (named, sloth, bare)] == [
        ("a/v1", "K"),
        ("b/v1", None),
        (None, None),
    ]


def test_checked() -> None:
    """Everything that is wrong with a part is said at once."""
    assert checked(Wanted, {"someCount": 2}, "x").some_count == 2
    with pytest.raises(DocumentError) as caught:
        checked(Wanted, {"someCount": Decimal("1.5"), "other": "y"}, "x")

    assert str(caught.value).startswith("x: someCount: Input should be a valid integer")
    assert "found 1.5; other: Extra inputs are not permitted, found 'y'" in str(caught.value)
