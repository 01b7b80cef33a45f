"""What ibnetdiscover finds, as ports and as a topology file."""

from collections.abc import Callable

import polars as pl
import pytest

from collectors.readings import Reading

Read = Callable[[dict[str, str]], Reading]

PORTS = (
    "SW   212 17 0xb83fd2030a001101 {speed} - CA   631  1 0xb83fd2030a0077c4 ( '{near}' - '{far}' )"
)
CABLE = ("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "17")


@pytest.mark.parametrize(
    ("speed", "lanes", "rate"),
    [
        pytest.param("4x NDR", 4.0, 5e10, id="NDR"),
        pytest.param("2x HDR", 2.0, 1.25e10, id="two lanes of HDR"),
        pytest.param("4x FDR10", 4.0, 5e9, id="FDR10 is not FDR"),
        pytest.param("4x FDR", 4.0, 4 * 13.64 * 1.25e8, id="FDR"),
        pytest.param("4x XDR", 4.0, 1e11, id="XDR"),
    ],
)
def test_speeds(read_texts: Read, speed: str, lanes: float, rate: float) -> None:
    """Lanes and generation of a connected port give its rate."""
    text = PORTS.format(speed=speed, near="leaf-r3-02", far="gpu-r3-n07 mlx5_4")
    reading = read_texts({"ports.txt": text})
    told = dict(reading.samples.select("signal", "value").rows())

    assert told["link_width_lanes"] == lanes
    assert told["port_rate_bytes_per_second"] == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize("speed", ["4x ???", "4x SDR", "4x HDR"])
def test_unconnected_ports(read_texts: Read, speed: str) -> None:
    """A port with one name is not connected, whatever speed stands there."""
    line = f"SW   212 37 0xb83fd2030a001101 {speed}                           'leaf-r3-02 '"
    reading = read_texts({"ports.txt": line})

    assert (reading.samples.height, reading.links.height, reading.rejects.height) == (0, 0, 0)
    assert set(reading.aliases["host"]) == {"leaf-r3-02"}


@pytest.mark.parametrize(
    ("near", "far", "cable"),
    [
        pytest.param(" leaf-r3-02 ", "gpu-r3-n07 mlx5_4 ", CABLE, id="blanks around names"),
        pytest.param("MF0;leaf-r3-02:MQM9700/U1", "gpu-r3-n07 mlx5_4", CABLE, id="a managed name"),
        pytest.param(
            "MF0;core:MCS8500/L15/U1",
            "gpu-r3-n07 HCA-1",
            ("core/l15/u1", "17", "gpu-r3-n07", "HCA-1/1"),
            id="a chip of a chassis",
        ),
        pytest.param(
            "Infiniscale-IV Mellanox Technologies",
            "gpu-r3-n07 mlx5_4",
            ("gpu-r3-n07", "mlx5_4/1", "infiniscale-iv mellanox technologies", "17"),
            id="a raw description",
        ),
    ],
)
def test_descriptions(read_texts: Read, near: str, far: str, cable: tuple[str, ...]) -> None:
    """Node descriptions become names of switches, hosts and NICs."""
    reading = read_texts({"ports.txt": PORTS.format(speed="4x NDR", near=near, far=far)})

    assert reading.links.select("node_a", "port_a", "node_b", "port_b").rows() == [cable]


def test_topology_file(read_texts: Read) -> None:
    """The topology file says each cable from both ends, when it was made, and which chips."""
    text = """#
# Topology file: generated on Mon Jan  5 04:00:00 2026
#
vendid=0x2c9
devid=0xcb20
switchguid=0xb83fd2030a001101(b83fd2030a001101)
Switch\t36 "S-b83fd2030a001101"\t\t# "leaf-r3-02" enhanced port 0 lid 212 lmc 0
[17]\t"H-b83fd2030a0077c4"[1](b83fd2030a0077c4) \t\t# "gpu-r3-n07 mlx5_4" lid 631 4xEDR
[37]\t"H-b83fd2030a0044aa"[1](b83fd2030a0044aa) \t\t# "Aggregation Node" lid 9 4xEDR

vendid=0x2c9
devid=0x1017
caguid=0xb83fd2030a0077c4
Ca\t1 "H-b83fd2030a0077c4"\t\t# "gpu-r3-n07 mlx5_4"
[1](b83fd2030a0077c4) \t"S-b83fd2030a001101"[17]\t\t# lid 631 lmc 0 "leaf-r3-02" lid 212 4xEDR
"""
    reading = read_texts({"topology.txt": text})
    ticks = reading.samples.filter(pl.col("signal").str.contains("tick"))

    assert reading.links.select("node_a", "port_a", "node_b", "port_b").rows() == [CABLE]
    assert reading.links["time"].dt.strftime("%F %T").to_list() == ["2026-01-05 04:00:00"]
    assert ticks.select("host", "device", "signal", "value").rows() == [
        ("leaf-r3-02", "17", "transmit_wait_tick_lane_bytes", 32.0)
    ]
    assert reading.rejects.height == 0
