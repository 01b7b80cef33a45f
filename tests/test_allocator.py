"""What Polars' allocator is asked for."""

import os

import pytest

from paceline.allocator import KEPT, keep_freed_pages


def test_freed_pages_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The option is set where nobody has set one, and left alone where somebody has."""
    monkeypatch.setenv("_RJEM_MALLOC_CONF", "restored afterwards")
    monkeypatch.delenv("_RJEM_MALLOC_CONF")
    keep_freed_pages()
    asked = os.environ["_RJEM_MALLOC_CONF"]
    monkeypatch.setenv("_RJEM_MALLOC_CONF", "narenas:1")
    keep_freed_pages()

    assert (asked, os.environ["_RJEM_MALLOC_CONF"]) == (KEPT, "narenas:1")
