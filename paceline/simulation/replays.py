"""Write a recording again as it was written: each line when its time has come.

The progress files of a simulation grow in a folder of their own, so that whoever follows files sees
them as a job's ranks would write them. Scrapes are in a Prometheus, which is asked up to a time.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

_TIME: Final = re.compile(rb'"t":([0-9.]+)')


@dataclass(slots=True, kw_only=True)
class Replay:
    """Step records that are written again.

    Attributes:
        out: Where to.
    """

    out: Path
    _lines: list[tuple[float, str, bytes]] = field(default_factory=list[tuple[float, str, bytes]])
    _at: int = 0

    @classmethod
    def of(cls, progress: Path, out: Path, *, shift_seconds: float = 0.0) -> "Replay":
        """Return a replay of the step records in a folder.

        Args:
            progress: The folder that `simulate` wrote them into.
            out: Where they are written again; made when it is not there. Lines that are there
                already are not written twice.
            shift_seconds: By how much later they are to be than they were.
        """
        out.mkdir(parents=True, exist_ok=True)
        lines = [
            _shifted(line, shift_seconds, path.name)
            for path in sorted(progress.glob("*.jsonl"))
            for line in path.read_bytes().splitlines(keepends=True)[_written(out / path.name) :]
        ]
        # Of one file, lines stay in their order: an evaluation is told after its step.
        lines.sort(key=lambda line: line[0])
        return cls(out=out, _lines=lines)

    def advance(self, now: datetime) -> int:
        """Write what was written up to a time, and return how many lines that were."""
        begin, stop = self._at, now.timestamp()
        grown = dict[str, list[bytes]]()
        while self._at < len(self._lines) and self._lines[self._at][0] <= stop:
            _, name, line = self._lines[self._at]
            grown.setdefault(name, []).append(line)
            self._at += 1
        for name, lines in grown.items():
            with (self.out / name).open("ab") as stream:
                stream.writelines(lines)
        return self._at - begin


def _written(path: Path) -> int:
    """Return how many lines a file has."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _shifted(line: bytes, seconds: float, name: str) -> tuple[float, str, bytes]:
    found = _TIME.search(line)
    at = 0.0 if found is None else float(found[1]) + seconds
    moved = _TIME.sub(b'"t":%.6f' % at, line, count=1) if seconds else line
    return at, name, moved
