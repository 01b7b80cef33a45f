"""Stream a scrape archive larger than memory should be: peak memory and speed.

`python -m benchmarks.archive_memory 5` writes an archive of 5 GB (SIMULATED) into a temporary
folder, streams it through the reader, counts every line, and prints what it took (MEASURED).
"""

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.pull_speed import peak_mb
from benchmarks.scrapes import write_archive
from collectors.dialects import stream_file
from collectors.sniffing import ReadOptions


def main(gigabytes: float) -> None:
    """Write, stream, print."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive.prom"
        count = write_archive(path, 25, int(gigabytes * 1e9))
        before, begun = peak_mb(), time.perf_counter()
        samples = 0
        for reading in stream_file(path, "archive", ReadOptions()):
            samples += reading.samples.height
        seconds = time.perf_counter() - begun
        size = path.stat().st_size
    assert samples == count, (samples, count)
    print(
        f"{size / 1e9:.1f} GB, {samples:,} samples: peak {peak_mb():.0f} MB ({before:.0f} before), "
        f"{size / 1e6 / seconds:.0f} MB/s, {samples / seconds / 1e6:.2f} M samples/s (MEASURED)"
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
