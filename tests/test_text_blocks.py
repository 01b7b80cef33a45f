"""Blocks of whole lines are the same of a plain file and of any other stream."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.texts.text_blocks import line_blocks


def blocks_of_file(folder: Path, data: bytes, block_bytes: int) -> list[bytes]:
    """Return the blocks of a plain file."""
    path = folder / "text.log"
    path.write_bytes(data)
    with path.open("rb") as file:
        return list(line_blocks(file, block_bytes))


@given(data=st.text("ab\n", max_size=60), block_bytes=st.integers(1, 70))
def test_file_and_stream_agree(
    tmp_path_factory: pytest.TempPathFactory, data: str, block_bytes: int
) -> None:
    """A plain file, whose ends are looked up, has the blocks of a stream that is read on."""
    folder = tmp_path_factory.getbasetemp()
    stream = io.BytesIO(data.encode())

    found = blocks_of_file(folder, data.encode(), block_bytes)

    assert found == list(line_blocks(stream, block_bytes))
    assert b"".join(found) == data.encode()


@pytest.mark.parametrize(
    ("data", "blocks"),
    [
        pytest.param(b"", [], id="an empty file has no block"),
        pytest.param(b"ab\ncd\n", [b"ab\n", b"cd\n"], id="a block ends where its last line does"),
        pytest.param(b"abcd\ne\n", [b"abcd\n", b"e\n"], id="a line that goes on is read on"),
        pytest.param(b"ab\ncd", [b"ab\n", b"cd"], id="the last line may have no end"),
    ],
)
def test_blocks_of_a_file(tmp_path: Path, data: bytes, blocks: list[bytes]) -> None:
    """A file is read in blocks of whole lines."""
    assert blocks_of_file(tmp_path, data, 3) == blocks
