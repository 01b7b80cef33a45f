"""Read a kernel log far larger than memory should be, and print what that takes.

The log is made up (SIMULATED): audit and device noise of a syslog that goes over New Year, an Xid
now and then, and storms of one fault. Run by hand: `python benchmarks/kernel_log_memory.py 5` for
5 GB in a temporary folder, which is removed.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from collectors.hosts.kernel_logs import stream_kernel_log
from collectors.sniffing import ReadOptions

START = datetime(2025, 12, 30, tzinfo=UTC)
PIECE_LINES = 100_000
STORM_PIECES = 50  # one piece in this many is a storm
BODIES = [f"Uncontained: LTC TAG (0x{at % 4:x},0x{at // 4:x}). RST: Yes" for at in range(29)]


def piece(number: int) -> str:
    """Return a piece of the log: 100,000 lines, about 12 MB."""
    stamp = (START + timedelta(minutes=13 * number)).strftime("%b %e %H:%M:%S")
    head = f"{stamp} hx8-017 kernel: [{780.0 * number + 1000:12.6f}] "
    noise = f"{head}audit: type=1400 apparmor=ALLOWED operation=open profile=runc pid="
    if number % STORM_PIECES == 0:
        return "".join(
            f"{head}NVRM: Xid (PCI:0000:9b:00): 95, pid={at % 99}, {BODIES[at % 29]}\n"
            for at in range(PIECE_LINES)
        )
    xid = f"{head}NVRM: Xid (PCI:0000:9b:00): 31, pid=7, name=python, Ch 0000001a, intr 0\n"
    return "".join(f"{noise}{at} fsuid=0 ouid=0\n" for at in range(PIECE_LINES)) + xid


def pieces(wanted_bytes: int) -> Iterator[bytes]:
    """Yield pieces of the log until it is as long as wanted."""
    written, number = 0, 0
    while written < wanted_bytes:
        data = piece(number).encode()
        yield data
        written, number = written + len(data), number + 1


def main(gigabytes: float) -> None:
    """Write a log of that size, read it as a stream, print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kern.log"
        with path.open("wb") as file:
            for data in pieces(int(gigabytes * 1e9)):
                file.write(data)
        size, rows, used, rejected = path.stat().st_size, 0, 0, 0
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        for part in stream_kernel_log(path, path.name, ReadOptions(year=2026)):
            rows += part.events.height
            used += part.lines_used
            rejected += int(part.rejects["count"].sum())
        seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"SIMULATED {size / 1e9:.2f} GB, {used + rejected} lines, {used} of faults in {rows} rows: "
        f"{seconds:.1f} s, {size / 1e6 / seconds:.0f} MB/s, peak {peak / 1024:.0f} MiB "
        f"({before / 1024:.0f} MiB before reading)"
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
