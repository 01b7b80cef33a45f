"""Tests of the attributes of events that are built as rows."""

from collectors.texts.label_rows import label_rows


def test_label_rows() -> None:
    """What is null is left out, zero and empty texts are kept; numbers become texts."""
    assert label_rows({"size": 8, "pid": None, "missing": 0, "group": ""}) == [
        {"key": "size", "value": "8"},
        {"key": "missing", "value": "0"},
        {"key": "group", "value": ""},
    ]
