"""When and on which host a file was taken, for formats that do not say it themselves.

The output of `ethtool -S`, `perfquery` or `nvidia-smi` holds neither. People keep such files under
names like `hx8-017/ethtool-eth4-20260105T040302Z.txt`; what a name says so is believed, what the
caller says beats it, and the file system's own dates are no evidence: copies change them.
"""

import re
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final
from zoneinfo import ZoneInfo

from collectors.sniffing import ReadOptions

HOST_NAME: Final = r"[a-z][a-z0-9]*(?:-[a-z][a-z0-9]*)*-?(?<!\d)(\d+)"

MIN_PLAIN_DIGITS: Final = 3
"""Digits that make a single word a host's name rather than a number of files."""

NO_HOST: Final = (
    r"(?:slurm|job|log|run|rank|step|task|attempt|worker|output|train|default|trace|dump|page"
    r"|scrape|metrics?|case|part|day|date|eth|mlx|ib|gpu|port|swp|ethernet)[-_]?\d.*"
)
"""Words with a number that are no host's name in a path."""

_STAMP: Final = (
    r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)[T_ .-]?([0-2]\d)[-:.]?([0-5]\d)[-:.]?([0-6]\d)"
    r"(?!\d)(Z)?"
)


_TOOL: Final = re.compile(
    r"(?:^|[-_])(?:ethtool|perfquery|ib\w*|mlxlink|mlx5|rdma|show|portstat|pfcstat|queuestat|smi"
    r"|dcgm\w*|dmesg|scrape|sysfs|ufm|eth|swp|lid|port|fec)\d*(?:[-_]|$)"
)
"""Words of tools and ports in a file's name: what is named so beside a stamp is no host."""


_LABEL: Final = re.compile(
    r"^(?:dmesg|kern(?:el)?|syslog|messages|journal|nccl)[-_]|"
    r"[-_](?:dmesg|kern(?:el)?|syslog|messages|journal|nccl)$"
)
"""What a log of a host is called after, before or behind the host: `dmesg-hx8-060`."""


def _undated(stem: str) -> str:
    """Return a name in lower case without the stamp at its end, if a host's may be left."""
    bare = re.sub(rf"[-_]?{_STAMP}$", "", stem, flags=re.IGNORECASE)
    return stem if _TOOL.search(bare) else bare


def taken_at(source: str, options: ReadOptions) -> datetime | None:
    """Return when a file was taken, in UTC; null if neither caller nor name tells.

    Args:
        source: The file's name with its folders, as evidence quotes it.
        options: `taken` wins; `time_zone` is that of a stamp in the name without `Z`.
    """
    if options.taken is not None:
        return options.taken.astimezone(UTC)
    found = list(re.finditer(_STAMP, source))
    if not found:
        return None
    *digits, zulu = found[-1].groups()
    try:
        local = datetime(*(int(part) for part in digits))  # type: ignore[arg-type]  # noqa: DTZ001 -- six numbers; the zone is set below
    except ValueError:
        return None
    return local.replace(tzinfo=UTC if zulu else ZoneInfo(options.time_zone)).astimezone(UTC)


def taken_on(source: str, options: ReadOptions, min_digits: int = 2) -> str | None:
    """Return the host a file is of; null if neither caller nor name tells.

    Args:
        source: The file's name with its folders; the innermost part that looks like a host's name
            counts: words with dashes between and a number at the end.
        options: `host` wins.
        min_digits: Digits that the number has; more where files are called `exp12` as well. A
            file's own name without a dash needs `MIN_PLAIN_DIGITS`: `q32.csv` is of no host q32.
    """
    if options.host is not None:
        return options.host.strip().lower()
    *folders, name = PurePosixPath(source.lower()).parts or ("",)
    for part in (name, *reversed(folders)):
        stem = _LABEL.sub("", _undated(part.split(".")[0]))
        named = re.fullmatch(HOST_NAME, stem)
        least = MIN_PLAIN_DIGITS if part == name and "-" not in stem else min_digits
        if named and len(named[1]) >= least and not re.fullmatch(NO_HOST, stem):
            return stem
    return None
