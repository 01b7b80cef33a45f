"""What iblinkinfo lists, in lines and in blocks."""

from collections.abc import Callable

import pytest

from collectors.readings import Reading

Read = Callable[[dict[str, str]], Reading]

FAST = "4X        106.25 Gbps Active/  LinkUp"
LINE = (
    '0xb83fd2030a001101 "           leaf-r3-02"    212   33[{label}] ==( {status})==>  '
    '0xb83fd2030a0077c4    631    1[  ] "{far}" ( )'
)
SWITCH_BLOCK = (
    "Switch: 0xb83fd2030a001101 leaf-r3-02:\n"
    f'      212   33[  ] ==( {FAST})==>  631    1[  ] "gpu-r3-n07 mlx5_4" ( )'
)
CA_BLOCK = (
    "CA: gpu-r3-n07 mlx5_4:\n"
    f'      0xb83fd2030a0077c4    631    1[  ] ==( {FAST})==>  212   33[  ] "leaf-r3-02" ( )'
)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        pytest.param(
            LINE.format(label="  ", status=FAST, far="gpu-r3-n07 mlx5_4"),
            ("leaf-r3-02", "switch_port", "33"),
            id="a line names its node",
        ),
        pytest.param(SWITCH_BLOCK, ("leaf-r3-02", "switch_port", "33"), id="a block of a switch"),
        pytest.param(CA_BLOCK, ("gpu-r3-n07", "nic", "mlx5_4/1"), id="a block of a NIC"),
    ],
)
def test_forms(read_texts: Read, text: str, near: tuple[str, str, str]) -> None:
    """Either form gives the same cable, and the near port its rate."""
    reading = read_texts({"iblinkinfo.txt": text})
    rates = reading.samples.filter(reading.samples["signal"] == "port_rate_bytes_per_second")

    assert reading.links.select("node_a", "port_a", "node_b", "port_b", "rail").rows() == [
        ("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "33", 4)
    ]
    assert rates.select("host", "device_kind", "device", "value").rows() == [(*near, 5e10)]
    assert reading.rejects.height == 0


def test_names(read_texts: Read) -> None:
    """GUIDs, LIDs and printed labels are further names of nodes, NICs and ports."""
    text = LINE.format(label="17/1", status=FAST, far="gpu-r3-n07 mlx5_4")
    aliases = read_texts({"iblinkinfo.txt": text}).aliases

    assert aliases.select("host", "device_kind", "device", "alias_kind", "alias").rows() == [
        ("gpu-r3-n07", "nic", "mlx5_4", "guid", "0xb83fd2030a0077c4"),
        ("gpu-r3-n07", "nic", "mlx5_4", "lid", "lid 631"),
        ("leaf-r3-02", "node", None, "guid", "0xb83fd2030a001101"),
        ("leaf-r3-02", "node", None, "lid", "lid 212"),
        ("leaf-r3-02", "switch_port", "33", "label", "17/1"),
    ]


@pytest.mark.parametrize(
    ("status", "states"),
    [
        pytest.param("                Down/ Polling", [1.0, 2.0], id="polling"),
        pytest.param("                Down/ Disabled", [1.0, 3.0], id="switched off"),
        pytest.param("4X  2.5 Gbps Initialize/  LinkUp", [2.0, 5.0], id="not set up yet"),
    ],
)
def test_ports_without_traffic(read_texts: Read, status: str, states: list[float]) -> None:
    """A port that is not active has its state and nothing else."""
    line = LINE.split(" ==(", maxsplit=1)[0].format(label="  ")
    reading = read_texts({"iblinkinfo.txt": f'{line} ==( {status})==>             [  ] "" ( )'})

    assert reading.samples["value"].to_list() == states
    assert (reading.links.height, reading.events.height) == (0, 0)


def test_aggregation_node(read_texts: Read) -> None:
    """The aggregation node of a switch is no cable and no host."""
    text = LINE.format(label="  ", status=FAST, far="Mellanox Technologies Aggregation Node")
    reading = read_texts({"iblinkinfo.txt": text})

    assert (reading.samples.height, reading.links.height, reading.aliases.height) == (0, 0, 0)
    assert reading.rejects["reason"].to_list() == ["aggregation node or no port"]
