"""Series that only name things become names of hosts and NICs."""

from pathlib import Path
from typing import Any

import pytest

from collectors.dialects import read_file
from collectors.sniffing import ReadOptions


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param(
            'node_uname_info{instance="10.0.0.17:9100",nodename="HX8-017"} 1\n',
            [("hx8-017", "node", None, "ip", "10.0.0.17")],
            id="a node is at the address it is scraped by",
        ),
        pytest.param(
            'node_uname_info{instance="127.0.0.1:9100",nodename="hx8-017"} 1\n',
            [],
            id="every node is at the address of itself",
        ),
        pytest.param(
            'node_uname_info{instance="exporter-x7",nodename="hx8-017"} 1\n',
            [],
            id="a name that is no address may be a pod's",
        ),
        pytest.param(
            'node_ethtool_info{instance="hx8-017:9100",device="eth4",bus_info="0000:5E:00.0"} 1\n',
            [("hx8-017", "nic", "eth4", "pci", "0000:5e:00.0")],
            id="an interface is on its bus",
        ),
        pytest.param(
            'node_ethtool_info{instance="hx8-017:9100",device="bond0",bus_info=""} 1\n',
            [],
            id="an interface without a bus is on none",
        ),
        pytest.param(
            'infiniband_switch_uplink_info{guid="0xb83fd2030a001101",port="17",'
            'switch="leaf-r3-02",uplink="gpu-r3-n07 mlx5_4",uplink_guid="B83FD2030A0077C4",'
            'uplink_port="1",uplink_type="CA"} 1\n',
            [
                ("gpu-r3-n07", "nic", "mlx5_4", "guid", "0xb83fd2030a0077c4"),
                ("leaf-r3-02", "node", None, "guid", "0xb83fd2030a001101"),
            ],
            id="both ends of an uplink have GUIDs, in any spelling",
        ),
    ],
)
def test_names(tmp_path: Path, page: str, expected: list[tuple[Any, ...]]) -> None:
    """A naming series tells a name, or nothing if it names nobody."""
    path = tmp_path / "page.prom"
    path.write_text(page)

    aliases = read_file(path, "page", ReadOptions()).aliases

    columns = ["host", "device_kind", "device", "alias_kind", "alias"]
    assert aliases.select(columns).rows() == expected
