"""Read a log of NCCL and one of a trainer, far larger than memory should be, beside plain tools.

The logs are made up (SIMULATED): what 256 ranks print at NCCL_DEBUG=INFO with all subsystems, and
iteration lines of Megatron-LM with timers and checkpoints. Beside ours, on the same file in the
same run: `grep -c`, which only counts, and a loop in Python with the `re` patterns that take the
same fields out of each line. Run by hand: `python benchmarks/logs_speed.py 5` for 5 GB each in a
temporary folder, which is removed.
"""

import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from collectors.dialects import stream_file
from collectors.sniffing import ReadOptions

RANKS: Final = 256
START: Final = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
LOOP_BYTES: Final = 200_000_000
"""The loop is slow and its pace steady: it reads this much of the file."""

NCCL: Final = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9_.-]*):(\d+):(\d+) (?:\[(-?\d+)\] )?NCCL (INFO|WARN) "
    r"(?:Channel (\d+)/(\d+) : (\d+)\[\d+\] -> (\d+)\[\d+\] \[(send|receive)\] via (.+)"
    r"|(\w+): opCount ([0-9a-f]+) .* count (\d+) datatype (\d+) op (\d+) root (\d+) comm (\S+)"
    r"|(.*))$"
)
ITERATION: Final = re.compile(r"iteration +(\d+)/")
FIELD: Final = re.compile(r"\| *([^|:]+): +([0-9.E+-]+) *(?=\|)")


def nccl_piece(number: int) -> str:
    """Return what all ranks print between two steps, about 600 kB."""
    lines = list[str]()
    for rank in range(RANKS):
        gpu, host = rank % 8, rank // 8 + 1
        head = f"hx8-{host:03}:{4400 + gpu}:{4680 + gpu} [{gpu}] NCCL INFO "
        peer = (rank + 8) % RANKS
        edge = f"{rank}[{gpu}] -> {peer}[{gpu}] [send] via NET/IB/{gpu}/GDRDMA"
        lines += [f"{head}Channel {at:02}/0 : {edge}" for at in range(8)]
        lines += [
            f"{head}Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1",
            f"{head}Connected all rings",
        ]
        lines += [
            f"{head}AllReduce: opCount {number * 8 + at:x} sendbuff 0x7f01{at:08x} recvbuff "
            f"0x7f02{at:08x} count 1048576 datatype 9 op 0 root 0 comm 0x55cd37 [nranks={RANKS}] "
            "stream 0x5581aa"
            for at in range(8)
        ]
    return "\n".join(lines) + "\n"


def iteration_piece(number: int) -> str:
    """Return a thousand iterations, about 370 kB."""
    lines = list[str]()
    for at in range(number * 1000 + 1, number * 1000 + 1001):
        stamp = START + timedelta(seconds=1.9 * at)
        lines.append(
            f" [{stamp:%Y-%m-%d %H:%M:%S.%f}] iteration {at:8d}/90000000 | consumed samples: "
            f"{at * 512:12d} | elapsed time per iteration (ms): {1873.4 + at % 7:.1f} | "
            "throughput per GPU (TFLOP/s/GPU): 388.1 | learning rate: 1.250000E-05 | global batch "
            f"size:   512 | lm loss: {8 - at % 100 / 100:.6E} | loss scale: 1.0 | grad norm: "
            f"{2 + at % 9 / 10:.3f} | number of skipped iterations:   0 | "
            "number of nan iterations:   0 |"
        )
        if at % 10 == 0:
            lines.append("time (ms) | forward-backward: 1702.31 | optimizer: 41.02")
        if at % 500 == 0:
            lines.append(f"  successfully saved checkpoint from iteration {at:7d} to /ckpt/run")
    return "\n".join(lines) + "\n"


def write_log(path: Path, piece: Callable[[int], str], wanted_bytes: float) -> None:
    """Write pieces until the log is as long as wanted."""
    with path.open("w") as file:
        number = 0
        while file.tell() < wanted_bytes:
            file.write(piece(number))
            number += 1


def nccl_loop(lines: Iterator[str]) -> int:
    """Take the fields of NCCL's lines in a loop, and return how many there were."""
    return len([match.groups() for line in lines if (match := NCCL.search(line))])


def iteration_loop(lines: Iterator[str]) -> int:
    """Take the fields of iteration lines in a loop, and return how many there were."""
    rows = list[tuple[int, dict[str, float]]]()
    for line in lines:
        if match := ITERATION.search(line):
            fields = {name: float(value) for name, value in FIELD.findall(line)}
            rows.append((int(match[1]), fields))
    return len(rows)


def head_lines(path: Path) -> Iterator[str]:
    """Yield the lines of the first `LOOP_BYTES`."""
    read = 0
    with path.open() as file:
        for line in file:
            yield line
            read += len(line)
            if read >= LOOP_BYTES:
                return


def rate_of(action: Callable[[], object], size: float) -> float:
    """Return how many MB a second an action goes through."""
    started = time.perf_counter()
    action()
    return size / 1e6 / (time.perf_counter() - started)


def read_stream(path: Path) -> str:
    """Read a log as a stream, and return what came out."""
    rows, used, rejected = 0, 0, 0
    for part in stream_file(path, path.name, ReadOptions()):
        rows += part.events.height + part.steps.height + part.collectives.height
        used += part.lines_used
        rejected += int(part.rejects["count"].sum())
    return f"{used + rejected} lines, {used} used, {rows} rows"


def read_alone(path: Path) -> None:
    """Print the figures of reading one log in this process, which did nothing before."""
    before, told = peak_bytes(), list[str]()
    rate = rate_of(lambda: told.append(read_stream(path)), path.stat().st_size)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu = usage.ru_utime + usage.ru_stime
    print(
        f"ours {rate:.0f} MB/s, {path.stat().st_size / 1e6 / cpu:.0f} MB per CPU second, peak "
        f"{peak_bytes() / 2**20:.0f} MiB ({before / 2**20:.0f} MiB before): {told[0]}"
    )


def peak_bytes() -> int:
    """Return the most memory that this process had; `getrusage` tells that of its parent too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def compare(path: Path, word: str, loop: Callable[[Iterator[str]], int]) -> None:
    """Print how fast each tool goes through a log: `grep`, the loop, and ours on its own."""
    size = path.stat().st_size
    counting = ["/usr/bin/grep", "-c", word, str(path)]
    counted = rate_of(lambda: subprocess.run(counting, check=True, capture_output=True), size)
    looped = rate_of(lambda: loop(head_lines(path)), min(size, LOOP_BYTES))
    print(
        f"SIMULATED {path.name}, {size / 1e9:.2f} GB: grep -c {counted:.0f} MB/s, "
        f"loop with re {looped:.1f} MB/s",
        flush=True,
    )
    subprocess.run([sys.executable, __file__, "--alone", str(path)], check=True)


def main(gigabytes: float) -> None:
    """Write both logs, one after the other, and read each in all three ways."""
    with tempfile.TemporaryDirectory() as folder:
        for name, piece, word, loop in (
            ("nccl.log", nccl_piece, "NCCL INFO", nccl_loop),
            ("train.log", iteration_piece, "iteration", iteration_loop),
        ):
            path = Path(folder) / name
            write_log(path, piece, gigabytes * 1e9)
            compare(path, word, loop)
            path.unlink()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        read_alone(Path(sys.argv[2]))
    else:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
