"""Texts of JSON documents: several of them, cut ones, and ones that no parser takes."""

import pytest

from collectors.texts.json_documents import read_documents


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": ' + "9" * 5000 + "}", id="a number without an end"),
        pytest.param("[" * 20_000, id="nesting without an end"),
        pytest.param('{"a": ', id="a cut document"),
        pytest.param("{]", id="no document"),
    ],
)
def test_no_content_raises(text: str) -> None:
    """Whatever stands where a document should, the documents around it are read."""
    data = f'{{"b": 1}}\n{text}\n{{"c": 2}}\n'.encode()
    found = [one.value for one in read_documents(data)]
    assert {"b": 1} in found
