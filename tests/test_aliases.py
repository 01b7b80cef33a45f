"""Names that readers state are joined as of their time; what contradicts itself joins nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from collectors.frames import ALIASES, EVENTS, LINKS, PLACEMENTS, SAMPLES, conform
from collectors.names.aliases import CONFLICT_CODE, resolve_devices
from collectors.readings import FRAMES, Reading, reading_of

A, B = (f"GPU-{digit * 8}-1111-2222-3333-444444444444" for digit in "ab")
PCI, OTHER_PCI = "0000:9b:00.0", "0000:c4:00.0"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)

Row = tuple[Any, ...]


def at(seconds: int | None) -> datetime | None:
    """That many seconds after noon."""
    return None if seconds is None else NOON + timedelta(seconds=seconds)


def aliases(*rows: Row) -> pl.DataFrame:
    """Statements of (seconds, host, device kind, device, alias kind, alias[, source])."""
    whole = [(at(row[0]), *row[1:], *(["told"] if len(row) == 6 else [])) for row in rows]
    return pl.DataFrame(whole, schema=ALIASES, orient="row")


def gpu_is(seconds: int | None, device: str, kind: str, alias: str, source: str = "told") -> Row:
    """A statement on a GPU of host h1."""
    return (seconds, "h1", "gpu", device, kind, alias, source)


def nic_is(seconds: int | None, device: str, kind: str, alias: str) -> Row:
    """A statement on a NIC of host h1."""
    return (seconds, "h1", "nic", device, kind, alias)


def samples(*rows: tuple[int | None, str, str]) -> pl.DataFrame:
    """Samples of host h1: seconds, device kind, device; each has its number as its value."""
    shape = ["time", "device_kind", "device"]
    frame = pl.DataFrame(
        [(at(seconds), kind, name) for seconds, kind, name in rows], schema=shape, orient="row"
    ).with_row_index("value")
    more = frame.with_columns(
        pl.col("time").cast(SAMPLES["time"]),
        host=pl.lit("h1"),
        signal=pl.lit("power_watts"),
        source=pl.lit("measured"),
    )
    return conform(more.lazy(), SAMPLES).collect()


def resolved(stated: pl.DataFrame, *rows: tuple[int | None, str, str]) -> list[str | None]:
    """The devices of samples after the statements are joined."""
    whole = resolve_devices(reading_of(aliases=stated, samples=samples(*rows)))
    assert whole.samples["value"].to_list() == [float(number) for number in range(len(rows))]
    return whole.samples["device"].to_list()


MOVED = aliases(
    gpu_is(0, A, "index", "2"),
    gpu_is(60, A, "index", "2"),
    gpu_is(0, B, "index", "3"),
    gpu_is(60, B, "index", "3"),
    gpu_is(90, B, "index", "2"),
    gpu_is(120, B, "index", "2"),
)
"""GPU A is lost between 60 s and 90 s, and B moves up to its index."""


@pytest.mark.parametrize(
    ("stated", "rows", "expected"),
    [
        pytest.param(
            aliases(gpu_is(None, A, "pci", PCI)),
            [(0, "gpu", PCI), (0, "gpu", OTHER_PCI), (0, "gpu", A)],
            [A, OTHER_PCI, A],
            id="a PCI address is a UUID where one is told for it and else stays itself",
        ),
        pytest.param(
            aliases(gpu_is(0, PCI, "index", "3"), gpu_is(0, A, "pci", PCI)),
            [(0, "gpu", "3"), (99, "gpu", "3")],
            [A, A],
            id="an index leads to a UUID over the PCI address both were told with",
        ),
        pytest.param(
            MOVED,
            [(30, "gpu", "2"), (75, "gpu", "2"), (100, "gpu", "2"), (100, "gpu", "3")],
            [A, "2", B, "3"],
            id="an index that moved is joined only while the data shows whose it is",
        ),
        pytest.param(
            MOVED,
            [(None, "gpu", "2"), (500, "gpu", "2")],
            ["2", "2"],
            id="an index that moved names nobody at an unknown time or long after",
        ),
        pytest.param(
            aliases(gpu_is(0, A, "pci", PCI), gpu_is(100, B, "pci", PCI)),
            [(-5, "gpu", PCI), (99, "gpu", PCI), (100, "gpu", PCI), (None, "gpu", PCI)],
            [A, A, B, PCI],
            id="a card that was changed is the old one until the new one is seen",
        ),
        pytest.param(
            aliases(
                nic_is(None, "0000:5e:00.0", "netdev", "eth4"),
                nic_is(None, "mlx5_4/1", "pci", "0000:5e:00.0"),
            ),
            [(0, "nic", "eth4"), (0, "nic", "0000:5e:00.0"), (0, "lane", "eth4/lane2")],
            ["mlx5_4/1", "mlx5_4/1", "mlx5_4/1/lane2"],
            id="interface, address and their lanes are the RDMA port that shares the address",
        ),
        pytest.param(
            aliases(nic_is(None, "mlx5_4/1", "netdev", "eth4")),
            [(0, "nic", "mlx5_4"), (0, "nic", "mlx5_5")],
            ["mlx5_4/1", "mlx5_5"],
            id="a NIC is its port where only one port of it is known",
        ),
        pytest.param(
            aliases(
                nic_is(None, "mlx4_0/1", "pci", "0000:5e:00.0"),
                nic_is(None, "mlx4_0/2", "pci", "0000:5e:00.0"),
            ),
            [(0, "nic", "0000:5e:00.0"), (0, "nic", "mlx4_0")],
            ["0000:5e:00.0", "mlx4_0"],
            id="the address of a card with two ports is neither of them",
        ),
        pytest.param(
            aliases(gpu_is(None, "MIG-1", "pci", PCI), gpu_is(None, A, "pci", PCI)),
            [(0, "gpu", PCI), (0, "gpu", "MIG-1"), (0, "mig", f"{PCI}/gi3")],
            [A, "MIG-1", f"{A}/gi3"],
            id="a part of a GPU has the address of its whole and stays a part",
        ),
        pytest.param(
            aliases(gpu_is(None, A, "pod", "train-0"), gpu_is(None, B, "pod", "train-0")),
            [(0, "gpu", "train-0")],
            ["train-0"],
            id="a pod is no name to join GPUs by",
        ),
    ],
)
def test_devices(
    stated: pl.DataFrame, rows: list[tuple[int | None, str, str]], expected: list[str]
) -> None:
    """A row gets the best name that its own name had at its time."""
    assert resolved(stated, *rows) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(
            ["33", "1/17/1", "17/1", "34"],
            ["17/1", "17/1", "17/1", "17/2"],
            id="number and label meet where a switch shows labels of cage and side",
        ),
        pytest.param(["33", "17"], ["33", "17"], id="numbers alone are no labels"),
        pytest.param(
            ["33", "17/1", "3/32"], ["33", "17/1", "3/32"], id="slots and ports are no cages"
        ),
        pytest.param(
            ["Et12/1", "Ethernet12/1", "Eth1/1"],
            ["Ethernet12/1", "Ethernet12/1", "Eth1/1"],
            id="a short name is the long one where both are in use",
        ),
    ],
)
def test_ports(names: list[str], expected: list[str]) -> None:
    """Ports of a switch are joined by the forms of names that occur together."""
    assert resolved(aliases(), *((0, "switch_port", name) for name in names)) == expected


def test_numbering_of_its_own() -> None:
    """A switch that states another label for one port is not numbered as others are."""
    stated = aliases((None, "h1", "switch_port", "18", "label", "18/2"))
    ports = [(0, "switch_port", name) for name in ("18", "33", "17/1")]

    whole = resolve_devices(reading_of(aliases=stated, samples=samples(*ports)))

    assert whole.samples["device"].to_list() == ["18/2", "33", "17/1"]
    assert told(whole) == []


def told(reading: Reading) -> list[tuple[Any, ...]]:
    """The conflicts in a reading: seconds, host, device kind, device, sides."""
    rows = reading.events.filter(pl.col("code") == CONFLICT_CODE)
    return [
        (
            None if row["time"] is None else int((row["time"] - NOON).total_seconds()),
            row["host"],
            row["device_kind"],
            row["device"],
            [tuple(side.values()) for side in row["attributes"]],
        )
        for row in rows.iter_rows(named=True)
    ]


@pytest.mark.parametrize(
    ("stated", "row", "device", "conflict"),
    [
        pytest.param(
            [gpu_is(0, A, "pci", PCI, "one"), gpu_is(0, B, "pci", PCI, "two")],
            (50, "gpu", PCI),
            PCI,
            (0, "h1", "gpu", PCI, [(A, "one"), (B, "two")]),
            id="two UUIDs claim one address",
        ),
        pytest.param(
            [
                gpu_is(0, A, "pci", PCI, "one"),
                gpu_is(60, A, "pci", PCI, "one"),
                gpu_is(30, B, "pci", PCI, "two"),
            ],
            (50, "gpu", PCI),
            PCI,
            (30, "h1", "gpu", PCI, [(A, "one"), (B, "two")]),
            id="a source that sees another card between two sights of the first contradicts it",
        ),
        pytest.param(
            [gpu_is(None, A, "pci", PCI, "one"), gpu_is(30, B, "pci", PCI, "two")],
            (50, "gpu", PCI),
            PCI,
            (30, "h1", "gpu", PCI, [(A, "one"), (B, "two")]),
            id="what is told without a time is told for any time",
        ),
        pytest.param(
            [gpu_is(0, A, "pci", PCI, "one"), gpu_is(0, A, "pci", OTHER_PCI, "two")],
            (50, "gpu", PCI),
            PCI,
            (0, "h1", "gpu", A, [(PCI, "one"), (OTHER_PCI, "two")]),
            id="one UUID claims two addresses",
        ),
        pytest.param(
            [
                gpu_is(0, PCI, "index", "3", "one"),
                gpu_is(0, A, "pci", PCI, "two"),
                gpu_is(0, B, "index", "3", "three"),
            ],
            (0, "gpu", "3"),
            "3",
            (None, "h1", "gpu", "3", [(A, None), (B, None)]),
            id="an index leads to two UUIDs over a detour",
        ),
        pytest.param(
            [
                (0, "h1", "gpu", A, "pci", PCI, "one"),
                (0, "h2", "gpu", A, "pci", PCI, "two"),
            ],
            (0, "gpu", PCI),
            PCI,
            (0, None, "gpu", A, [("h1", "one"), ("h2", "two")]),
            id="a UUID is on two hosts",
        ),
    ],
)
def test_conflicts(
    stated: list[Row], row: tuple[int, str, str], device: str, conflict: tuple[Any, ...]
) -> None:
    """A name that two things claim at a time is reported with both, and joins nothing."""
    whole = resolve_devices(reading_of(aliases=aliases(*stated), samples=samples(row)))

    assert (whole.samples["device"].to_list(), told(whole)) == ([device], [conflict])


def test_weakest_name_goes_first() -> None:
    """Where an index contradicts a group, what the others say of each other stands."""
    stated = aliases(
        gpu_is(0, PCI, "index", "3", "one"),
        gpu_is(0, A, "pci", PCI, "two"),
        gpu_is(0, B, "index", "3", "three"),
    )

    assert resolved(stated, (0, "gpu", PCI)) == [A]


def hosts_of(*names: str | None, stated: pl.DataFrame | None = None) -> list[str | None]:
    """The hosts of events at noon on hosts with the given names."""
    events = pl.DataFrame({"host": list(names), "time": [NOON] * len(names)})
    frames = {"events": events} | ({} if stated is None else {"aliases": stated})
    return resolve_devices(reading_of(**frames)).events["host"].to_list()[: len(names)]


@pytest.mark.parametrize(
    ("names", "stated", "expected"),
    [
        pytest.param(
            ["hx8-017.cl", "hx8-017", "hx8-018.cl"],
            [],
            ["hx8-017", "hx8-017", "hx8-018.cl"],
            id="a full name is cut only where the short one is known",
        ),
        pytest.param(
            ["n1.east", "n1.west", "n1"],
            [],
            ["n1.east", "n1.west", "n1"],
            id="a short name of two full ones is neither",
        ),
        pytest.param(
            ["10.0.0.17", "0xb83fd2030a0077c4", None],
            [
                (None, "hx8-017", "node", None, "ip", "10.0.0.17"),
                (None, "hx8-017", "node", None, "guid", "0xb83fd2030a0077c4"),
            ],
            ["hx8-017", "hx8-017", None],
            id="an address and a GUID are the host that has them",
        ),
        pytest.param(
            ["10.0.0.17"],
            [
                (-60, "hx8-017", "node", None, "ip", "10.0.0.17"),
                (60, "hx8-018", "node", None, "ip", "10.0.0.17"),
            ],
            ["hx8-017"],
            id="an address that moved is of the host that had it then",
        ),
        pytest.param(
            ["10.0.0.17"],
            [
                (0, "hx8-017", "node", None, "ip", "10.0.0.17"),
                (0, "hx8-018", "node", None, "ip", "10.0.0.17"),
            ],
            ["10.0.0.17"],
            id="an address that two hosts claim is of neither",
        ),
    ],
)
def test_hosts(names: list[str | None], stated: list[Row], expected: list[str | None]) -> None:
    """Rows of one host carry one name of it."""
    assert hosts_of(*names, stated=aliases(*stated)) == expected


def test_ambiguous_host_is_reported() -> None:
    """A short name that two full names share is a conflict of a host."""
    whole = resolve_devices(reading_of(events=pl.DataFrame({"host": ["n1.east", "n1.west", "n1"]})))

    assert told(whole) == [(None, "n1", "node", None, [("n1.east", None), ("n1.west", None)])]


def test_nic_known_by_guid() -> None:
    """Counters of a GUID's port are those of the NIC that has the GUID."""
    guid = "0xb83fd2030a0077c4"
    stated = aliases(nic_is(None, "mlx5_4/1", "guid", guid))
    frame = samples((0, "nic", "1")).with_columns(host=pl.lit(guid))

    whole = resolve_devices(reading_of(aliases=stated, samples=frame))

    assert whole.samples.select("host", "device").rows() == [("h1", "mlx5_4/1")]


def links(*rows: Row) -> pl.DataFrame:
    """Cables of (seconds, node, port, node, port), all without a rail, from one source."""
    return pl.DataFrame([(at(row[0]), *row[1:], None, "lldp") for row in rows], LINKS, orient="row")


@pytest.mark.parametrize(
    ("told_links", "expected"),
    [
        pytest.param(
            [(0, "leaf", "Ethernet4", "h1", "eth4"), (9, "h1", "eth4", "leaf", "Ethernet4")],
            [("h1", "mlx5_4/1", "leaf", "Ethernet4", 4)],
            id="both ends tell of one cable, and the NIC tells its rail",
        ),
        pytest.param(
            [(0, "leaf", "Ethernet4", "h1", None), (9, "h1", "eth4", "leaf", "Ethernet4")],
            [("h1", "mlx5_4/1", "leaf", "Ethernet4", 4)],
            id="an end that does not know the other's port is no second cable",
        ),
        pytest.param(
            [(0, "leaf", "Ethernet4", "h1", None)],
            [("h1", None, "leaf", "Ethernet4", None)],
            id="a port that nobody tells stays open",
        ),
        pytest.param(
            [
                (0, "h1", "eth4", "leaf", "Ethernet4"),
                (60, "h1", "eth4", "leaf", "Ethernet8"),
                (99, "h1", "eth4", "leaf", "Ethernet4"),
                (120, "h1", "eth4", "leaf", "Ethernet4"),
            ],
            [
                ("h1", "mlx5_4/1", "leaf", "Ethernet4", 4),
                ("h1", "mlx5_4/1", "leaf", "Ethernet4", 4),
                ("h1", "mlx5_4/1", "leaf", "Ethernet8", 4),
            ],
            id="a cable that went and came back is told for each time it was there",
        ),
    ],
)
def test_cables(told_links: list[Row], expected: list[Row]) -> None:
    """A cable is one row for each time it was plugged, by canonical ports."""
    stated = aliases(nic_is(None, "mlx5_4/1", "netdev", "eth4"))

    whole = resolve_devices(reading_of(aliases=stated, links=links(*told_links)))

    ends = ["node_a", "port_a", "node_b", "port_b", "rail"]
    assert (whole.links.select(ends).rows(), told(whole)) == (expected, [])


def test_two_peers_of_a_port() -> None:
    """Two cables in one port at a time are both kept and reported."""
    both = links((0, "h1", "eth4", "leaf", "Ethernet4"), (0, "h1", "eth4", "leaf", "Ethernet8"))

    whole = resolve_devices(reading_of(links=both))

    sides = [("leaf Ethernet4", "lldp"), ("leaf Ethernet8", "lldp")]
    assert (whole.links.height, told(whole)) == (2, [(0, "h1", "nic", "eth4", sides)])


def test_counters_of_two_kinds_stay_apart() -> None:
    """What an interface and its RDMA port both count at a time is not one counter."""
    stated = aliases(nic_is(None, "mlx5_4/1", "netdev", "eth4"))
    frame = samples((0, "nic", "mlx5_4/1"), (0, "nic", "eth4"), (9, "nic", "eth4"))
    counted = frame.with_columns(signal=pl.lit("received_bytes_total"))
    alone = samples((0, "nic", "eth4")).with_columns(signal=pl.lit("out_of_buffer_total"))

    whole = resolve_devices(reading_of(aliases=stated, samples=pl.concat([counted, alone])))

    assert whole.samples["device"].to_list() == ["mlx5_4/1", "eth4", "eth4", "mlx5_4/1"]


def test_number_of_a_program_is_no_index() -> None:
    """A program numbers the GPUs it may use: its events are not joined by the driver's index."""
    events = pl.DataFrame(
        {
            "time": [NOON, NOON],
            "host": ["h1", "h1"],
            "device_kind": ["gpu", "gpu"],
            "device": ["3", "3"],
            "source": ["log", "measured"],
        }
    )
    stated = aliases(gpu_is(0, A, "index", "3"))

    whole = resolve_devices(
        reading_of(aliases=stated, events=events, samples=samples((0, "gpu", "3")))
    )

    assert whole.events["device"].to_list() == ["3", A]


def test_ranks_jobs_and_coverage() -> None:
    """A rank's GPU, a job's hosts and an entity of the coverage are renamed as well."""
    stated = aliases(gpu_is(None, A, "pci", PCI))
    whole = resolve_devices(
        reading_of(
            aliases=stated,
            placements=pl.DataFrame({"host": ["h1", "h1.cl"], "gpu": [PCI, None]}),
            jobs=pl.DataFrame({"hosts": [["h1.cl", "h9.cl"]]}),
            coverage=pl.DataFrame({"entity": [f"h1/{PCI}", "h1"], "start": [NOON, NOON]}),
        )
    )

    assert whole.placements.select("host", "gpu").rows() == [("h1", A), ("h1", None)]
    assert whole.jobs["hosts"].to_list() == [["h1", "h9.cl"]]
    assert whole.coverage["entity"].to_list() == [f"h1/{A}", "h1"]


SECONDS = st.one_of(st.none(), st.integers(0, 4).map(lambda step: step * 30))
GPU_NAMES = st.sampled_from([A, B, PCI, OTHER_PCI, "2", "3"])
PORT_NAMES = st.sampled_from(["mlx5_4/1", "mlx5_4", "eth4", "0000:5e:00.0", "17/1", "33", "Et1"])
HOSTS = st.sampled_from(["h1", "h1.cl", "h2"])
KINDS = {A: "uuid", B: "uuid", PCI: "pci", OTHER_PCI: "pci", "2": "index", "3": "index"}


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    """Any few statements and rows about two hosts, consistent or not."""
    source = st.sampled_from(["one", "two"])
    gpus = st.tuples(SECONDS, HOSTS, st.just("gpu"), GPU_NAMES, GPU_NAMES, source)
    ports = st.tuples(SECONDS, HOSTS, st.just("nic"), PORT_NAMES, PORT_NAMES, source)
    stated = draw(st.lists(gpus | ports, max_size=8))
    rows = draw(st.lists(gpus | ports, max_size=6))
    cables = draw(st.lists(st.tuples(SECONDS, HOSTS, PORT_NAMES, HOSTS, PORT_NAMES), max_size=4))
    return reading_of(
        aliases=aliases(
            *((t, h, k, a, KINDS.get(b, "name"), b, source) for t, h, k, a, b, source in stated)
        ),
        samples=pl.DataFrame(
            [(at(t), h, k, a, b, source) for t, h, k, a, b, source in rows],
            schema={
                "time": SAMPLES["time"],
                **dict.fromkeys(["host", "device_kind", "device", "model", "source"], pl.String),
            },
            orient="row",
        ).with_columns(signal=pl.lit("received_bytes_total")),
        links=links(*cables),
        placements=conform(
            pl.LazyFrame({"host": [row[1] for row in rows], "gpu": [row[3] for row in rows]}),
            PLACEMENTS,
        ),
        events=conform(pl.LazyFrame({"host": [row[1] for row in rows]}), EVENTS),
    )


@settings(max_examples=12)
@given(readings())
def test_resolving_twice(reading: Reading) -> None:
    """Resolving what is resolved changes nothing."""
    once = resolve_devices(reading)
    twice = resolve_devices(once)

    for name in FRAMES:
        assert_frame_equal(twice.frame(name), once.frame(name))


@settings(max_examples=12)
@given(readings(), st.randoms(use_true_random=False))
def test_row_order(reading: Reading, random: Any) -> None:
    """The order of statements and rows does not matter, and rows are neither lost nor made."""
    order = list(range(reading.aliases.height))
    random.shuffle(order)
    turned = reading_of(
        **{name: reading.frame(name).reverse() for name in FRAMES}
        | {"aliases": reading.aliases[order]}
    )

    straight, other = resolve_devices(reading), resolve_devices(turned)

    for name in ("samples", "placements"):
        assert straight.frame(name).height == reading.frame(name).height
        assert_frame_equal(other.frame(name).reverse(), straight.frame(name))
    assert_frame_equal(other.links, straight.links)
    assert told(other) == told(straight)
