"""A real Prometheus over backfilled history, for benchmarks."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import requests

START_SECONDS = 60.0


@contextmanager
def serving(openmetrics: str, folder: Path) -> Iterator[str]:
    """Give the address of a server that holds the history, and stop it again.

    Args:
        openmetrics: Text that ends in `# EOF` with a stamp on each sample, at least 3 h old.
        folder: An empty folder for its data.
    """
    (folder / "history.om").write_text(openmetrics, encoding="utf-8")
    make = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=24h"]
    subprocess.run(
        [*make, str(folder / "history.om"), str(folder / "data")], check=True, capture_output=True
    )
    (folder / "prometheus.yml").write_text("global: {scrape_interval: 15s}\n", encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=10y",
        f"--web.listen-address={address}",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait(f"http://{address}")
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(timeout=START_SECONDS)


def _wait(url: str) -> None:
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        with suppress(requests.RequestException):
            if requests.get(f"{url}/-/ready", timeout=5).ok:
                return
        time.sleep(0.2)
    raise TimeoutError(f"{url} did not get ready within {START_SECONDS:.0f} s")
