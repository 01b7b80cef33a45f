"""Tests of a store in an object storage, on an S3-compatible server on loopback."""

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl
import pytest
import requests
from typer.testing import CliRunner

from collectors.readings import Reading, reading_of
from collectors.storage.addresses import address_of
from collectors.storage.store import Store, Wanted, is_store
from collectors.storage.store_commits import NoStoreError
from collectors.storage.store_tiers import raw_days
from collectors.storage.store_upkeep import drop_unread_files
from paceline.main import app

DAY: Final = datetime(2026, 1, 5, tzinfo=UTC)
RUN: Final = CliRunner()

SERVER: Final = """
import contextlib, logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
with contextlib.redirect_stdout(sys.stderr):
    server.start()
print(*server.get_host_and_port(), flush=True)
sys.stdin.read()
server.stop()
"""
"""In a process of its own: the store's library holds the interpreter while it asks."""

WRITER: Final = """
import sys
from datetime import UTC, datetime, timedelta
import polars as pl
from collectors.readings import reading_of
from collectors.storage.store import Store

root, name = sys.argv[1:]
store = Store.open_at(root)
for part in range(1, 6):
    row = {"time": [datetime(2026, 2, 1, tzinfo=UTC)], "host": [name], "value": [float(part)]}
    store.append(reading_of(samples=pl.DataFrame(row)), name, part)
"""


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The address of an empty bucket; what is needed to reach it stands in the environment."""
    with (
        pytest.MonkeyPatch.context() as patch,
        subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server,
    ):
        assert server.stdout is not None
        host, port = server.stdout.readline().split()
        url = f"http://{host}:{port}"
        settings = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }
        for name, value in settings.items():
            patch.setenv(name, value)
        requests.put(f"{url}/fleet", timeout=10).raise_for_status()
        yield "s3://fleet"


@pytest.fixture(scope="module")
def store(bucket: str) -> Store:
    """A store in the bucket."""
    return Store.open_at(f"{bucket}/tables", create=True)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A month of accounts in which node 7 fails, and the log of its kernel."""
    folder = tmp_path_factory.mktemp("logs")
    rows = ["JobID|JobName|User|State|Submit|Start|End|ExitCode|NodeList"]
    kernel: list[str] = []
    for at in range(30):
        for node in range(16):
            begin = DAY + timedelta(days=at)
            failed = node == 7 and at in {3, 9, 17, 22, 26}
            end = begin + timedelta(hours=12 if failed else 24)
            state, code = ("NODE_FAIL", "0:1") if failed else ("COMPLETED", "0:0")
            times = f"{begin:%FT%T}|{begin:%FT%T}|{end:%FT%T}"
            rows.append(f"{1000 * node + at}|train|ada|{state}|{times}|{code}|node{node:02d}")
            said = (
                f"{end - timedelta(minutes=2):%Y-%m-%dT%H:%M:%S.000000+00:00} node07 kernel: NVRM: "
                "Xid (PCI:0000:9b:00): 79, pid=2101, name=python, GPU has fallen off the bus."
            )
            kernel += [said] * failed
    (folder / "accounts.txt").write_text("\n".join([*rows, ""]), encoding="utf-8")
    (folder / "kern.log").write_text("\n".join([*kernel, ""]), encoding="utf-8")
    return folder


def sample(host: str, day: datetime = DAY) -> Reading:
    """One sample of a host."""
    return reading_of(
        samples=pl.DataFrame(
            {
                "time": [day],
                "host": [host],
                "device_kind": ["node"],
                "signal": ["x"],
                "value": [1.0],
            }
        )
    )


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        pytest.param("s3:/fleet/store", "s3://fleet/store", id="a path joins two slashes"),
        pytest.param("s3://fleet/store", "s3://fleet/store", id="an address stays"),
        pytest.param("store/of:/mine", "store/of:/mine", id="a folder is none"),
    ],
)
def test_addresses(root: str, expected: str) -> None:
    """What was a path for a while is an address again."""
    assert address_of(root) == expected


def test_commands_take_an_address(bucket: str, logs: Path) -> None:
    """Files are collected into an object storage once, and asked there like in a folder."""
    root = f"{bucket}/store"
    first = RUN.invoke(app, ["collect", str(logs), "--store", root, "--format", "json"])
    again = RUN.invoke(app, ["collect", str(logs), "--store", root, "--format", "json"])
    lemons = [
        json.loads(RUN.invoke(app, ["lemons", place, "--format", "json"]).stdout)
        for place in (root, str(logs))
    ]
    found = json.loads(RUN.invoke(app, ["analyze", root, "--format", "json"]).stdout)

    assert json.loads(first.stdout)["added"]["jobs"] == 480
    assert json.loads(again.stdout)["added"] == {}
    assert lemons[0] == lemons[1]
    assert {one["subject"]["host"] for one in found["verdicts"]} == {"node07"}


def test_writers_at_a_time(store: Store) -> None:
    """Two processes that write to one table lose nothing: the storage refuses a log entry twice."""
    command = [sys.executable, "-c", WRITER, store.place.root]
    writers = [subprocess.Popen([*command, name]) for name in ("n1", "n2")]

    assert [one.wait() for one in writers] == [0, 0]
    february = Wanted(since=datetime(2026, 2, 1, tzinfo=UTC))
    found = store.read("samples", february).collect().sort("host", "value")
    assert found["value"].to_list() == [1.0, 2.0, 3.0, 4.0, 5.0] * 2


def test_tiers_and_vacuum(store: Store) -> None:
    """Old days are folded and dropped there too, and their objects deleted."""
    root = store.place.root
    for at in range(3):
        store.append(sample(f"n{at}", DAY + timedelta(days=at)), "a", at + 1)
    told = RUN.invoke(
        app, ["tidy", root, "--raw", "1d", "--no-judge", "--as-of", "2026-01-07T12:00:00"]
    )

    assert "Peers: 1 days folded" in told.stdout
    assert sorted(raw_days(store.place))[:2] == [DAY.date() + timedelta(days=at) for at in (1, 2)]
    assert drop_unread_files(store.place, max_hours=0) >= 1
    january = Wanted(until=datetime(2026, 2, 1, tzinfo=UTC))
    assert store.read("samples", january).collect().height == 2


def test_no_store_there(bucket: str) -> None:
    """An address without a store is refused in one line that says how to make one."""
    told = RUN.invoke(app, ["lemons", f"{bucket}/none"])

    assert is_store(Path(f"{bucket}/none"))
    assert (told.exit_code, told.stderr.count("\n")) == (1, 1)
    assert "`paceline collect --store s3://fleet/none` makes one" in told.stderr
    with pytest.raises(NoStoreError):
        Store.open_at(f"{bucket}/none")
