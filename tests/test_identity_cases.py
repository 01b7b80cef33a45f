"""Files of several sources about the same things, read together: one thing, one name."""

from pathlib import Path
from typing import Final

import polars as pl
import pytest

from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from detectors.placing import rank_roles
from paceline.sources import find_files, read_sources

UUID: Final = "GPU-5f1c2a90-7b3e-4d18-9c60-a1b2c3d4e5f6"


def say_nothing(_name: str, _done: int, _all: int) -> None:
    """Report no progress."""


def read(folder: Path, **files: str) -> Reading:
    """Everything that files say together; `__` in a name is a folder and `_0` ends it."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_sources(find_files([folder]), ReadOptions(year=2026), say_nothing)


EXPORTER: Final = (
    'DCGM_FI_DEV_GPU_TEMP{gpu="3",pci_bus_id="00000019:0A:00.0",Hostname="hx8-017"} 61\n'
    'DCGM_FI_DEV_GPU_TEMP{gpu="4",pci_bus_id="00000018:0A:00.0",Hostname="hx8-017"} 62\n'
)
KERNEL: Final = (
    "Jan  5 04:03:02 hx8-017 kernel: [ 2071.664210] NVRM: Xid (PCI:0019:0a:00): 79, "
    "GPU has fallen off the bus.\n"
)
SMI: Final = (
    "timestamp, pci.bus_id, power.draw [W]\n2026/01/05 04:03:02.000, 00000019:0A:00.0, 61 W\n"
)


def test_forms_of_an_address(tmp_path: Path) -> None:
    """Addresses with and without function, in any case and width, meet; the domain tells apart."""
    whole = read(tmp_path, hx8_017__page=EXPORTER, hx8_017__kernel=KERNEL, hx8_017__smi=SMI)

    devices = whole.samples.filter(pl.col("device_kind") == "gpu")["device"]
    assert set(devices) == {"0019:0a:00.0", "0018:0a:00.0"}
    xids = whole.events.filter(pl.col("kind") == "xid")
    assert xids.select("host", "device").rows() == [("hx8-017", "0019:0a:00.0")]


def test_address_without_a_uuid(tmp_path: Path) -> None:
    """A fault of a card whose UUID nobody tells keeps its address; with one told it is the UUID."""
    known = EXPORTER.replace('pci_bus_id="00000019', f'UUID="{UUID}",pci_bus_id="00000019')
    other = KERNEL.replace("0019:0a:00", "0019:0b:00")

    whole = read(tmp_path, hx8_017__page=known, hx8_017__kernel=KERNEL + other)

    xids = whole.events.filter(pl.col("kind") == "xid")
    assert xids["device"].to_list() == [UUID, "0019:0b:00.0"]


def test_rank_to_gpu(tmp_path: Path) -> None:
    """The rank that NCCL puts on a bus is on the GPU that the exporter knows by that address."""
    page = (
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="3",UUID="{UUID}",pci_bus_id="00000000:9B:00.0",'
        'modelName="H100",Hostname="hx8-017"} 61\n'
    )
    log = (
        "hx8-017:4412:4680 [0] NCCL INFO ncclCommInitRank comm 0x55d1 rank 0 nranks 2 cudaDev 0 "
        "nvmlDev 3 busId 9b000 commId 0xabc - Init COMPLETE\n"
        "hx8-018:4413:4681 [0] NCCL INFO ncclCommInitRank comm 0x55d2 rank 1 nranks 2 cudaDev 0 "
        "nvmlDev 4 busId 1801000 commId 0xabc - Init COMPLETE\n"
    )

    whole = read(tmp_path, page_prom=page, train_log=log)

    roles = rank_roles(whole.placements.lazy(), whole.samples.lazy()).collect()
    assert roles.select("rank", "host", "gpu", "index", "model").rows() == [
        (0, "hx8-017", UUID, 3, "H100"),
        (1, "hx8-018", "0018:01:00.0", 4, None),
    ]


@pytest.mark.parametrize(
    ("group", "ranks"),
    [
        pytest.param("rank 1 nranks 8", [], id="a part of a communicator tells no global rank"),
        pytest.param("rank 0 nranks 1", [0], id="a communicator of every process does"),
    ],
)
def test_rank_of_a_communicator(tmp_path: Path, group: str, ranks: list[int]) -> None:
    """A rank in a communicator is a global rank only where it holds every process of the log."""
    log = (
        f"hx8-017:4412:4680 [0] NCCL INFO ncclCommInitRank comm 0x55d1 {group} cudaDev 0 "
        "nvmlDev 3 busId 9b000 commId 0xabc - Init COMPLETE\n"
    )

    assert read(tmp_path, train_log=log).placements["rank"].to_list() == ranks


LEAF: Final = (
    "Port          Neighbor Device ID       Neighbor Port ID    TTL\n"
    "---------- ------------------------ ---------------------- ---\n"
    "Et12/1        gpu-r3-n07               eth4                120\n"
)
HOST: Final = (
    "Interface:    eth4, via: LLDP, RID: 1, Time: 0 day, 00:01:22\n"
    "  Chassis:\n"
    "    ChassisID:    mac 00:1c:73:aa:bb:cc\n"
    "    SysName:      leaf-r3-02.fabric\n"
    "    MgmtIP:       10.1.0.3\n"
    "  Port:\n"
    "    PortID:       ifname Ethernet12/1\n"
    "    PortDescr:    to gpu-r3-n07 rail4\n"
)
NAMES: Final = "mlx5_4 port 1 ==> eth4 (Up)\n"
COUNTS: Final = "     rx_prio3_pause: 21\n     tx_prio3_pause: 4\n     rx_discards_phy: 7\n"


def test_cable_of_both_ends(tmp_path: Path) -> None:
    """What both ends of a cable tell is one link, by RDMA port, with its rail."""
    whole = read(
        tmp_path,
        leaf_r3_02__lldp=LEAF,
        gpu_r3_n07__lldp=HOST,
        gpu_r3_n07__names=f"$ ibdev2netdev\n{NAMES}",
    )

    ends = whole.links.select("node_a", "port_a", "node_b", "port_b", "rail")
    assert ends.rows() == [("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "Ethernet12/1", 4)]
    assert whole.events.is_empty()


def test_counters_of_an_interface(tmp_path: Path) -> None:
    """Counters by interface are those of the RDMA port that the host's list names."""
    file = f"NIC statistics:\n{COUNTS}"
    whole = read(tmp_path, gpu_r3_n07__ethtool_eth4=file, gpu_r3_n07__names=NAMES)

    discards = whole.samples.filter(pl.col("signal") == "receive_discards_total")
    assert discards.select("host", "device").rows() == [("gpu-r3-n07", "mlx5_4/1")]


def test_peer_in_two_ports(tmp_path: Path) -> None:
    """A port that two peers claim is reported, and both cables stay."""
    other = LEAF.replace("Et12/1", "Et13/1")
    whole = read(tmp_path, leaf_r3_02__lldp=LEAF, gpu_r3_n07__lldp=HOST, leaf_r3_02__later=other)

    conflicts = whole.events.filter(pl.col("code") == "identity_conflict")
    folder = tmp_path.name
    message = (
        f"eth4 is said to be leaf-r3-02 Ethernet12/1 ({folder}/gpu-r3-n07/lldp) and "
        f"leaf-r3-02 Ethernet13/1 ({folder}/leaf-r3-02/later)"
    )
    told = conflicts.select("host", "device", "message").rows()
    assert (told, whole.links.height) == ([("gpu-r3-n07", "eth4", message)], 2)
