"""Files that were packed when they were put aside: read as what is in them.

Source: gzip (RFC 1952) and Zstandard (RFC 8878), told by their first bytes and never by the name. A
torn file ends where it can no longer be unpacked: a collector was killed, or still writes.
"""

import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP_MAGIC: Final = b"\x1f\x8b"

ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"

TORN: Final = (EOFError, zlib.error, gzip.BadGzipFile, zstd.ZstdError)
"""What unpackers raise where a file is torn or is none of theirs."""

MAX_COPY_BYTES: Final = 4 * 2**30
"""A file that unpacks to more and whose format is not read in parts is a bomb."""

_SUFFIXES: Final = frozenset({".gz", ".gzip", ".zst", ".zstd"})

_STEP_BYTES: Final = 2**20


class UnpackedSizeError(ValueError):
    """A file unpacks to more than may be copied."""


def is_packed(path: Path) -> bool:
    """Return whether a file is packed.

    Raises:
        OSError: It cannot be opened.
    """
    with path.open("rb") as stream:
        return is_packed_start(stream.read(len(ZSTD_MAGIC)))


def is_packed_start(data: bytes) -> bool:
    """Return whether bytes are the start of a packed file."""
    return data.startswith((GZIP_MAGIC, ZSTD_MAGIC))


def open_unpacked(path: Path) -> io.BufferedIOBase:
    """Return a stream of the bytes of a file, unpacked if it is packed.

    Reading it may raise one of `TORN`.

    Raises:
        OSError: The file cannot be opened.
    """
    with path.open("rb") as stream:
        start = stream.read(len(ZSTD_MAGIC))
    if start.startswith(GZIP_MAGIC):
        return gzip.open(path, "rb")
    if start.startswith(ZSTD_MAGIC):
        return cast("io.BufferedIOBase", zstd.open(path, "rb"))
    return path.open("rb")


def first_bytes(path: Path, count: int) -> bytes:
    """Return the first bytes of a file, unpacked; fewer of a shorter or torn one.

    Raises:
        OSError: The file cannot be read.
    """
    parts = list[bytes]()
    with open_unpacked(path) as stream, suppress(*TORN):
        while count > 0 and (part := stream.read1(count)):
            parts.append(part)
            count -= len(part)
    return b"".join(parts)


def is_torn_at_start(path: Path) -> bool:
    """Return whether a file is packed and torn before its first byte; an empty one is not torn.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        with open_unpacked(path) as stream:
            stream.read1(1)
    except TORN:
        return True
    return False


@contextmanager
def unpacked_copy(path: Path, max_bytes: int = MAX_COPY_BYTES) -> Generator[Path, None, None]:
    """Give a file that holds what is packed in another; of a torn one what can be had.

    Args:
        path: A packed file.
        max_bytes: The most that it may hold.

    Yields:
        A file of the same name without the packer's suffix, gone afterwards.

    Raises:
        OSError: The file cannot be read, or there is no room for the copy.
        UnpackedSizeError: More than `max_bytes` are in it.
    """
    name = path.stem if path.suffix.lower() in _SUFFIXES else path.name
    with tempfile.TemporaryDirectory(prefix="paceline-") as folder:
        copy = Path(folder) / name
        with open_unpacked(path) as packed, copy.open("wb") as stream, suppress(*TORN):
            while part := packed.read1(_STEP_BYTES):
                if stream.tell() + len(part) > max_bytes:
                    raise UnpackedSizeError(
                        f"holds more than {max_bytes} bytes; unpack it and give the parts you need"
                    )
                stream.write(part)
        shutil.copystat(path, copy)
        yield copy
