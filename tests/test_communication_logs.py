"""Logs with reports and tables in them, torn and stained: no line is lost, nothing raises."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.sniffing import ReadOptions

RAS = """\
NCCL version 2.28.9 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12090

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Communicators... (0.02s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        32        32   RUNNING  INCOMPLETE,MISMATCH

Errors
======

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 5 -- GPU 5 (NVML 6) managed by process 3487984 on node 10.77.3.18
Warnings
========

#0-0 (5f0c2a9be1774d03) MISMATCH
  Communicator ranks have different AllReduce operation counts
  31 ranks have launched up to operation 9120
  Rank 21 has launched up to operation 9119 -- GPU 5 managed by process 6120 on node 10.77.3.19
[2026-01-05 04:03:02] PEER_DEAD: Process 71 on node 10.77.3.5 managing GPU 3
"""
TESTS = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
# Using devices
#  Rank  0 Group  0 Pid   4412 on    hx8-017 device  0 [0000:9b:00] NVIDIA H100
#
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
#  (B) (elements)             (us) (GB/s) (GB/s)        (us) (GB/s) (GB/s)
   268435456  67108864  float  sum  -1  2411.0  111.34  215.72  0  2399.2  111.89  216.78  N/A
hx8-017:4412:4680 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 187.4
#
pairs busbw GB/s: 1-2 81, 1-3 80
hx8-017: Test NCCL failure common.cu:1012 'unhandled system error / '
"""


def lines_of(data: bytes) -> int:
    """How many lines are not empty."""
    text = data.decode("utf-8", errors="replace").replace("\0", "")
    return sum(1 for line in text.split("\n") if line.strip())


@pytest.mark.parametrize("text", [RAS, TESTS], ids=["a report", "a test"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 1600), at=st.integers(0, 1600), noise=st.binary(max_size=20))
def test_torn(tmp_path: Path, text: str, cut: int, at: int, noise: bytes) -> None:
    """Cut anywhere, with any bytes in any place, each line is accounted for."""
    data = text.encode()[: cut or None]
    data = data[:at] + noise.replace(b"\r", b"").replace(b"\x1b", b"") + data[at:]
    path = tmp_path / "job.log"
    path.write_bytes(data)
    reading = read_file(path, "job.log", ReadOptions())

    counted = reading.lines_used + int(reading.rejects["count"].fill_null(1).sum())
    assert counted >= lines_of(data)
    assert reading.lines_used <= lines_of(data)


@pytest.mark.parametrize("text", [RAS, TESTS], ids=["a report", "a test"])
@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        ("", "\r\n"),
        ("2026-01-05T04:03:02.118Z stdout F ", "\n"),
        ("[1,0]<stdout>:", "\n"),
        ("hx8-001: ", "\n"),
        ("\x1b[36m(Runner pid=615)\x1b[0m ", "\n"),
    ],
    ids=["CR LF", "a container's log", "MPI's tags", "a parallel shell", "Ray's colours"],
)
def test_prefixes(tmp_path: Path, text: str, prefix: str, end: str) -> None:
    """What launchers put before lines does not hide a report or a table."""
    path = tmp_path / "job.log"
    path.write_bytes("".join(prefix + line + end for line in text.split("\n")).encode())
    reading = read_file(path, "job.log", ReadOptions())
    plain = tmp_path / "plain.log"
    plain.write_text(text)
    expected = read_file(plain, "job.log", ReadOptions())

    assert reading.rejects.is_empty()
    for name in ("collectives", "transfers", "events"):
        drop = {"time", "host", "message", "last", "attributes"}
        columns = [one for one in expected.frame(name).columns if one not in drop]
        assert reading.frame(name).select(columns).equals(expected.frame(name).select(columns))
