"""Draws the boards in Chromium with Grafana's own libraries: with data, without, and with many.

The page is made by `bundle.mjs`, outside of the tree. Run:

    python -m benchmarks.grafana.render PAGE_FOLDER PICTURES [BOARD ...]

It prints how long each board and its slowest query took, and what went wrong in it.
"""

import functools
import http.server
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

from benchmarks.planted_boards import START, Fleet, build_history
from dashboards.boards import build_board_trees

VALUES = {
    **dict.fromkeys(("node", "gpu", "rank", "switch", "port", "slo"), ".+"),
    "cluster": "c1",
    "run": "llama",
    "incident": "i-4711",
    "__interval": "1m",
    "__rate_interval": "5m",
}
MANY = Fleet(nodes=512, gpus=1, minutes=60, onset=30)
CASES: tuple[tuple[str, Fleet | None, int], ...] = (
    ("data-1920", Fleet(), 1904),
    ("data-1280", Fleet(), 1264),
    ("empty-1920", None, 1904),
    ("many-1920", MANY, 1904),
)


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def prometheus(history: str) -> Iterator[str]:
    """Yield the address of a server that holds a history."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "history.om").write_text(history, encoding="utf-8")
        (folder / "prometheus.yml").write_text("global: {}\n", encoding="utf-8")
        blocks = ["promtool", "tsdb", "create-blocks-from", "openmetrics"]
        long = "--max-block-duration=24h"
        subprocess.run(
            [*blocks, long, "history.om", "data"], cwd=folder, check=True, capture_output=True
        )
        url = f"http://127.0.0.1:{free_port()}"
        command = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
        flags = ["--storage.tsdb.retention.time=10y", f"--web.listen-address={url[7:]}"]
        log = subprocess.DEVNULL
        with subprocess.Popen([*command, *flags], cwd=folder, stdout=log, stderr=log) as process:
            try:
                wait_until_ready(url)
                yield url
            finally:
                process.terminate()


def wait_until_ready(url: str) -> None:
    """Wait until a server answers, for half a minute at most."""
    for _ in range(300):
        try:
            with urlopen(f"{url}/-/ready") as answer:  # noqa: S310 -- our own server
                if answer.status == http.HTTPStatus.OK:
                    return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(url)


@contextmanager
def page_server(folder: Path) -> Iterator[str]:
    """Yield the address of the page."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 -- the library's
            """Say nothing."""

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


def draw(page: Page, board: dict[str, Any], url: str, fleet: Fleet, width: int) -> dict[str, Any]:
    """Draw a board and return how it went."""
    context = {
        "url": url,
        "from": START,
        "to": fleet.end,
        "step": 60,
        "width": width,
        "values": VALUES | {"__range": f"{fleet.minutes}m", "__from": str(1000 * START)},
    }
    told = page.evaluate(
        "([board, context]) => window.renderBoard(board, context)", [board, context]
    )
    page.set_viewport_size({"width": width + 16, "height": int(told["height"]) + 16})
    return dict(told)


def main() -> None:
    """Draw every board in every case."""
    page_folder, pictures, *wanted = sys.argv[1:]
    Path(pictures).mkdir(parents=True, exist_ok=True)
    boards = {uid: tree for uid, tree in build_board_trees().items() if not wanted or uid in wanted}
    with page_server(Path(page_folder)) as address, sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for case, fleet, width in CASES:
            history = build_history(fleet) if fleet else "# EOF\n"
            with prometheus(history) as url:
                for uid, board in boards.items():
                    page = browser.new_page(viewport={"width": width + 16, "height": 1080})
                    page.goto(address)
                    told = draw(page, board, url, fleet or Fleet(), width)
                    page.screenshot(path=f"{pictures}/{uid}-{case}.png", full_page=True)
                    page.close()
                    seconds = told["milliseconds"] / 1000
                    slowest = told["slowest"]
                    print(
                        f"{uid} {case}: {seconds:.2f} s, slowest query {slowest:.2f} s", flush=True
                    )
                    for error in told["errors"]:
                        print(f"  {error[:300]}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
