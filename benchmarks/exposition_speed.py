"""Parse pages of exposition text: samples a second, ours beside prometheus_client's parser.

MEASURED on the machine it runs on, in one run. The page is of 200 GPUs' scrapes with time stamps
(SIMULATED); the other parser gets its first scrapes, since it takes a minute for all.
Needs prometheus_client (it comes with prometheus-api-client's optional parts, or by pip).
"""

import io
import statistics
import tempfile
import time
from pathlib import Path

from prometheus_client.parser import text_fd_to_metric_families

from benchmarks.scrapes import scrapes, write_archive
from collectors.metrics.exposition import read_page

PAGE_BYTES = 160_000_000
ROUNDS = 5
HOSTS = 25
SCRAPE_SAMPLES = HOSTS * 80


def main() -> None:
    """Measure both and print the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.prom"
        count = write_archive(path, HOSTS, PAGE_BYTES)
        rates = [count / _seconds(path) for _ in range(ROUNDS)]
    text = next(scrapes(HOSTS))
    theirs = [SCRAPE_SAMPLES / _their_seconds(text) for _ in range(ROUNDS)]
    mine, other = statistics.median(rates), statistics.median(theirs)
    print(f"ours {mine / 1e6:.2f} M samples/s (MEASURED, {count:,} samples)")
    print(f"prometheus_client {other / 1e6:.3f} M samples/s (MEASURED, one scrape at a time)")
    print(f"ratio {mine / other:.0f}")


def _seconds(path: Path) -> float:
    begun = time.perf_counter()
    read_page(path, "page")
    return time.perf_counter() - begun


def _their_seconds(text: str) -> float:
    begun = time.perf_counter()
    found = sum(len(family.samples) for family in text_fd_to_metric_families(io.StringIO(text)))
    assert found == SCRAPE_SAMPLES
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
