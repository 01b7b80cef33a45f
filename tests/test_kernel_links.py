"""Links in the logs of hosts."""

from pathlib import Path

import pytest

from collectors.dialects import read_file
from collectors.sniffing import ReadOptions

HEAD = "Mar  9 04:11:{second:02d} gpu-r3-n07 {text}"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [
                (7, "kernel: [123.456789] mlx5_core 0000:5e:00.0 eth4: Link down"),
                (7, "systemd-networkd[711]: eth4: Lost carrier"),
                (9, "kernel: [125.456789] mlx5_core 0000:5e:00.0 eth4: Link up"),
                (9, "systemd-networkd[711]: eth4: Gained carrier"),
            ],
            [("eth4", "link_down", "driver", 2), ("eth4", "link_up", "driver", 2)],
            id="the network manager repeats what the driver says",
        ),
        pytest.param(
            [
                (second, f"kernel: [{second}.456789] ixgbe 0000:5e:00.0 hsn0: NIC Link is {state}")
                for second, state in ((1, "Down"), (2, "Up 10 Gbps"), (3, "Down"), (4, "Up"))
            ],
            [("hsn0", kind, "driver", 1) for kind in ("link_down", "link_up") * 2],
            id="a link that flaps is no storm of equal faults",
        ),
        pytest.param(
            [(7, "systemd-networkd[711]: ib0: Lost carrier")],
            [("ib0", "link_down", "carrier", 1)],
            id="the network manager alone",
        ),
        pytest.param(
            [(7, "kernel: [12.345678] swp12: link down")],
            [("swp12", "link_down", "driver", 1)],
            id="a driver that does not print the address",
        ),
    ],
)
def test_moves(
    lines: list[tuple[int, str]], expected: list[tuple[object, ...]], tmp_path: Path
) -> None:
    """Each way down or up is an event of the interface."""
    path = tmp_path / "messages.log"
    path.write_text("\n".join(HEAD.format(second=at, text=text) for at, text in lines))

    reading = read_file(path, path.name, ReadOptions(year=2031))

    events = reading.events.select("device", "kind", "code", "count")
    assert (events.rows(), reading.lines_used) == (expected, len(lines))


def test_the_address_is_kept(tmp_path: Path) -> None:
    """The PCI address joins an interface to its device."""
    path = tmp_path / "messages.log"
    path.write_text("[  123.456789] mlx5_core 0000:5e:00.0 eth4: Link down\n")
    attributes = read_file(path, path.name, ReadOptions()).events["attributes"].explode()
    assert {"key": "pci", "value": "0000:5e:00.0"} in attributes.to_list()
