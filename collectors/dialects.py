"""Every file format that Paceline reads: adding one is one line here."""

from pathlib import Path
from typing import Final

from collectors.readings import Reading, reject_file
from collectors.sniffing import Dialect, ReadOptions, choose, read_head

DIALECTS: Final[tuple[Dialect, ...]] = ()
"""In order of specificity: among equally sure dialects the earlier one reads."""


def read_file(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what the file at `path` holds, read by the dialect that wants it.

    Args:
        path: An existing file.
        source: The name to quote in evidence and rejects.
        options: What the file cannot say of itself.

    Returns:
        The reading; a file that is empty, binary or in no known format, or that may not be
        opened, is one reject with that reason.
    """
    try:
        head = read_head(path)
    except OSError as error:
        return reject_file(source, f"cannot be opened: {error.strerror}")
    if not head.data:
        return reject_file(source, "empty file")
    dialect = choose(head, DIALECTS)
    if dialect is None:
        kind = "binary file in no known format" if head.is_binary else "no known format"
        return reject_file(source, kind, "" if head.is_binary else head.text.split("\n")[0])
    return dialect.read(path, source, options)
