"""Archives of scrapes of a simulated fleet, written piece by piece, for benchmarks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

FIELDS: Final = (
    "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_MEM_CLOCK",
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "DCGM_FI_PROF_DRAM_ACTIVE",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
)
START_SECONDS: Final = 1_767_585_600
STEP_SECONDS: Final = 15


def scrapes(hosts: int) -> Iterator[str]:
    """Yield one scrape of all hosts after the other, without end; 80 samples a host."""
    heads = [
        (field, _labels(host, gpu)) for field in FIELDS for host in range(hosts) for gpu in range(8)
    ]
    at = 0
    while True:
        stamp = (START_SECONDS + at * STEP_SECONDS) * 1000
        lines = list[str]()
        for number, (field, labels) in enumerate(heads):
            if number % (hosts * 8) == 0:
                lines += [f"# HELP {field} x", f"# TYPE {field} gauge"]
            value = (number * 7 + at * 13) % 97
            lines.append(f"{field}{labels} {value / 100 if 'PROF' in field else value} {stamp}")
        yield "\n".join([*lines, ""])
        at += 1


def _labels(host: int, gpu: int) -> str:
    return (
        f'{{gpu="{gpu}",UUID="GPU-{host:05d}-{gpu}",pci_bus_id="00000000:{gpu:02X}:00.0",'
        f'device="nvidia{gpu}",modelName="NVIDIA H100 80GB HBM3",Hostname="hx8-{host:04d}"}}'
    )


def write_archive(path: Path, hosts: int, size_bytes: int) -> int:
    """Write scrapes until the file has a size; return how many samples it holds."""
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for scrape in scrapes(hosts):
            out.write(scrape)
            count += hosts * 80
            if out.tell() >= size_bytes:
                return count
    return count
