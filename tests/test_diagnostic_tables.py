"""Tables and dumps of ibdiagnet."""

from collections.abc import Callable

import polars as pl
import pytest

from collectors.readings import Reading

Read = Callable[[dict[str, str]], Reading]

LEAF = "0xb83fd2030a001101"
NODES = (
    "NodeDesc,NumPorts,NodeType,NodeGUID,DeviceID\n"
    f'"MF0;leaf-r3-02:MQM9700/U1",65,2,{LEAF},54002\n'
    '"gpu-r3-n07 mlx5_4",1,1,0xb83fd2030a0077c4,4129\n'
    '"Mellanox Technologies Aggregation Node",1,1,0xb83fd2030a0044aa,52900'
)


def section(name: str, text: str) -> str:
    """Return a section of a file."""
    return f"START_{name}\n{text}\nEND_{name}\n\n\n"


def told(reading: Reading, *signals: str) -> list[tuple[object, ...]]:
    """Return what the samples of some signals say."""
    rows = reading.samples.filter(
        pl.col("signal").is_in(signals) if signals else pl.lit(value=True)
    )
    return rows.select("host", "device", "signal", "value", "reason").rows()


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        pytest.param(
            "NodeGUID,PortGUID,PortNumber,SymbolErrorCounter,SymbolErrorCounterExt",
            "65535,70000",
            ("symbol_errors_total", 70000.0, None),
            id="the wide form of a counter wins",
        ),
        pytest.param(
            "NodeGuid,PortGuid,PortNum,SymbolErrorCounter,SymbolErrorCounterExt",
            "12,0xfffffffffffffffe",
            ("symbol_errors_total", 12.0, None),
            id="unless it is a filler",
        ),
        pytest.param(
            "nodeguid,portguid,portnum,LinkDownedCounter,LinkDownedCounterExt",
            "255,N/A",
            ("link_downed_total", None, "saturated"),
            id="a narrow counter at its top is blind",
        ),
        pytest.param(
            "NodeGUID,PortGUID,PortNumber,PortXmitDataExtended,PortXmitData",
            "18446744073709551615,-1",
            ("transmitted_bytes_total", None, "not_supported"),
            id="all ones in 64 bits are no count",
        ),
        pytest.param(
            "NodeGUID,PortGUID,PortNumber,PortRcvDataExtended,Other",
            "4503599627370497,1",
            ("received_bytes_total", 4.0 * 4503599627370497, None),
            id="data is in words",
        ),
        pytest.param(
            "NodeGUID,PortGUID,PortNumber,PortRcvErrorsExt,Other",
            ",NA",
            ("receive_errors_total", None, "not_supported"),
            id="an empty column is no zero",
        ),
    ],
)
def test_counters(
    read_texts: Read, header: str, row: str, expected: tuple[str, float | None, str | None]
) -> None:
    """Counters come in two widths, with fillers where there is none."""
    text = section("NODES", NODES) + section("PM_INFO", f"{header}\n{LEAF},{LEAF},17,{row}")
    reading = read_texts({"x.db_csv": text})

    assert told(reading, expected[0]) == [("leaf-r3-02", "17", *expected)]


def test_ports(read_texts: Read) -> None:
    """Width and speed are codes of bits; a port that is not active has its state alone."""
    rows = f"{LEAF},17,212,1,19,2048,3841,5,4\n{LEAF},18,212,2,19,1,3841,2,1\n{LEAF},0,212,,,,,,"
    header = (
        "NodeGuid,PortNum,LID,LinkWidthActv,LinkWidthSup,LinkSpeedActv,LinkSpeedSup,"
        "PortPhyState,PortState"
    )
    text = section("NODES", NODES) + section("PORTS", f"{header}\n{rows}")
    reading = read_texts({"x.db_csv": text})
    values = {
        (device, signal): value
        for _, device, signal, value, _ in told(reading)
        if not signal.endswith("tick_bytes")
    }

    assert values == {
        ("17", "port_state"): 4.0,
        ("17", "port_physical_state"): 5.0,
        ("17", "link_width_lanes"): 1.0,
        ("17", "lane_rate_bytes_per_second"): 106.25 * 1.25e8,
        ("17", "port_rate_bytes_per_second"): 1.25e10,
        ("17", "max_link_width_lanes"): 4.0,
        ("17", "max_lane_rate_bytes_per_second"): 106.25 * 1.25e8,
        ("18", "port_state"): 1.0,
        ("18", "port_physical_state"): 2.0,
    }


@pytest.mark.parametrize(
    ("name", "header", "row"),
    [
        pytest.param(
            "PHY_DB1",
            "raw_ber_coef,raw_ber_magnitude,eff_ber_coef,eff_ber_magnitude,symbol_ber_coef,"
            "symbol_ber_magnitude",
            "3,9,2,14,15,255",
            id="columns with names",
        ),
        pytest.param(
            "PHY_DB16",
            ",".join(f"field{at}" for at in range(18)),
            ",".join(["0"] * 12) + ",3,9,2,14,15,255",
            id="columns with numbers",
        ),
    ],
)
def test_error_ratios(read_texts: Read, name: str, header: str, row: str) -> None:
    """A ratio is a coefficient and an exponent; the floor says that no error was seen."""
    text = section("NODES", NODES) + section(
        name, f"NodeGuid,PortNum,hist0,{header}\n{LEAF},17,99,{row}"
    )
    reading = read_texts({"x.db_csv": text})

    assert told(reading, "pre_fec_error_ratio", "post_fec_error_ratio", "symbol_error_ratio") == [
        ("leaf-r3-02", "17", "pre_fec_error_ratio", pytest.approx(3e-9), None),
        ("leaf-r3-02", "17", "post_fec_error_ratio", pytest.approx(2e-14), None),
        ("leaf-r3-02", "17", "symbol_error_ratio", None, "no_errors_seen"),
    ]
    assert told(reading, "fec_bin_codewords_total") == [
        ("leaf-r3-02", "17/bin0", "fec_bin_codewords_total", 99.0, None)
    ]


def test_cables_and_names(read_texts: Read) -> None:
    """Cables are listed once; that of the aggregation node is none, its port has no samples."""
    links = (
        f"NodeGuid1,PortNum1,NodeGuid2,PortNum2\n{LEAF},17,0xb83fd2030a0077c4,1\n"
        f"{LEAF},65,0xb83fd2030a0044aa,1\n0xb83fd2030a009999,7,{LEAF},3"
    )
    labels = f"NodeGUID,PortNum,Label\n{LEAF},17,9/1\n{LEAF},18,N/A"
    counters = f"NodeGUID,PortNumber,VL15Dropped\n{LEAF},65,1\n0xb83fd2030a009999,7,2"
    modules = f'NodeGuid,PortNum,Vendor,Temperature\n{LEAF},17,"A, B",47C\n{LEAF},18,"",0C'
    text = "".join(
        section(*one)
        for one in (
            ("NODES", NODES),
            ("LINKS", links),
            ("PORT_HIERARCHY_INFO", labels),
            ("PM_INFO", counters),
            ("CABLE_INFO", modules),
            ("PM_DELTA", "NodeGUID,PortNumber,VL15Dropped\n1,2,3"),
        )
    )
    reading = read_texts({"x.db_csv": text})
    labelled = reading.aliases.filter(pl.col("alias_kind") == "label")

    assert reading.links.select("node_a", "port_a", "node_b", "port_b").rows() == [
        ("0xb83fd2030a009999", "7", "leaf-r3-02", "3"),
        ("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "17"),
    ]
    assert told(reading, "vl15_dropped_total", "module_temperature_celsius") == [
        ("0xb83fd2030a009999", "7", "vl15_dropped_total", 2.0, None),
        ("leaf-r3-02", "17", "module_temperature_celsius", 47.0, None),
    ]
    assert labelled.select("host", "device", "alias").rows() == [("leaf-r3-02", "17", "9/1")]
    assert set(reading.rejects["reason"]) == {
        "section that says nothing of health",
        "does not fit its header, or is no real port",
    }


DUMP = (
    '"MF0;leaf-r3-02:MQM9700/U1", Mellanox, 0xb83fd2030a001101, LID 212\n'
    "# : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC mode : Retran : "
    "Neighbor Guid : N# : NLID : Neighbor Description\n"
    " 9/1 : 17 : ACT : LINK UP : 5 : 4x : 100 : RS : NO-RTR : 0xb83fd2030a0077c4 : 1 : 631 : "
    '"gpu-r3-n07 mlx5_4"\n'
    ' 9/2 : 18 : DOWN : POLL : N/A : N/A : N/A : N/A : N/A :  :  :  : ""\n'
)


def test_net_dump(read_texts: Read) -> None:
    """A table for each switch names the far end of its ports."""
    reading = read_texts({"x.net_dump": DUMP})

    assert reading.links.select("node_a", "port_a", "node_b", "port_b").rows() == [
        ("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "17")
    ]
    assert told(reading, "port_state", "port_rate_bytes_per_second") == [
        ("leaf-r3-02", "17", "port_state", 4.0, None),
        ("leaf-r3-02", "18", "port_state", 1.0, None),
        ("leaf-r3-02", "17", "port_rate_bytes_per_second", 5e10, None),
    ]
    assert reading.rejects.height == 0


def test_net_dump_with_ratios(read_texts: Read) -> None:
    """The extended table adds ratios; descriptions with colons stay whole."""
    text = (
        "Ty : # : #IB : GUID : LID : Sta : PhysSta : LWA : LSA : Conn LID (#) : FEC mode : RTR : "
        "Raw BER : Effective BER : Symbol BER : Symbol Err : Effective Err : Node Desc\n"
        f"SW : 9/1 : 17 : {LEAF} : 212 (0xd4) : ACT : LINK UP : 4x : 100 : 631 : RS : NO-RTR : "
        '1e-12 : N/A : 1.5e-254 : 4 : N/A : "MF0;leaf-r3-02:MQM9700/U1"\n'
    )
    reading = read_texts({"x.net_dump_ext": text})

    assert told(reading, "pre_fec_error_ratio", "symbol_error_ratio", "symbol_errors_total") == [
        ("leaf-r3-02", "17", "symbol_errors_total", 4.0, None),
        ("leaf-r3-02", "17", "pre_fec_error_ratio", 1e-12, None),
        ("leaf-r3-02", "17", "symbol_error_ratio", None, "no_errors_seen"),
    ]
