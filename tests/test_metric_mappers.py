"""Pages that mix exporters, and files that are recognised by what they hold."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.gpus.dcgm_fields import field_names
from collectors.infiniband.port_fields import port_fields
from collectors.metrics.metric_files import (
    read_exposition,
    wants_exposition,
    wants_prometheus_answer,
)
from collectors.signals import SIGNALS
from collectors.sniffing import Head, ReadOptions

MIXED = """\
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a",Hostname="n"} 50
node_network_speed_bytes{device="eth0",instance="n:1"} 5e10
node_infiniband_link_downed_total{device="m",port="1",instance="n:1"} 0
node_infiniband_legacy_data_total{device="m",port="1",instance="n:1"} 0
go_goroutines 12
http_requests_total{code="200"} 1
http_requests_total{code="500"} 2
"""


def test_mixed_page(tmp_path: Path) -> None:
    """Each mapper reads what it knows; names that nobody knows are counted, one reject a name."""
    path = tmp_path / "page.prom"
    path.write_text(MIXED, encoding="utf-8")
    reading = read_exposition(path, "page", ReadOptions())

    assert sorted(reading.samples["signal"]) == [
        "gpu_temperature_celsius",
        "link_downed_total",
        "network_speed_bytes_per_second",
    ]
    assert reading.rejects.drop("source").rows() == [
        (5, "node_infiniband_legacy_data_total", "repeats another counter", 1),
        (6, "go_goroutines", "unknown metric", 1),
        (7, "http_requests_total", "unknown metric", 2),
    ]


def test_repeated_declaration_is_a_warning(tmp_path: Path) -> None:
    """A repeated TYPE is an event of low severity with its name and count."""
    path = tmp_path / "page.prom"
    path.write_text("# TYPE a gauge\n# TYPE a gauge\na 1\n", encoding="utf-8")
    events = read_exposition(path, "page", ReadOptions()).events

    assert events.select("kind", "severity", "count", "message").rows() == [
        ("warning", "low", 2, "TYPE of a is given more than once")
    ]


@pytest.mark.parametrize(
    ("text", "exposition", "answer"),
    [
        pytest.param("# HELP a b\na 1\n", True, False, id="a page with help"),
        pytest.param('a{b="c"} 1\na{b="d"} \n', True, False, id="a page of bare samples"),
        pytest.param("step 5 loss 0.1\nstep 6 loss 0.2\n", False, False, id="a log"),
        pytest.param('{"step": 1}\n', False, False, id="JSON lines of a job"),
        pytest.param('{"status":"success","data":{}}', False, True, id="an answer"),
        pytest.param('{"data":{"resultType":"matrix"}}', False, True, id="an answer, data first"),
        pytest.param('\n {"metric":{"a":"b"},"values":[]}', False, True, id="an export line"),
        pytest.param('{"metric":"loss","value":1}', False, False, id="a metric that is a name"),
        pytest.param("", False, False, id="nothing"),
        pytest.param("\0\1\2\3", False, False, id="binary"),
    ],
)
def test_wants(text: str, *, exposition: bool, answer: bool) -> None:
    """A dialect wants a file for what it holds."""
    head = Head(name="x", data=text.encode())

    assert (wants_exposition(head) > 0, wants_prometheus_answer(head) > 0) == (exposition, answer)


OTHERS = """
    node_ethtool_received_prio3_pause rdma_out_of_sequence node_network_speed_bytes node_uname_info
    node_scrape_collector_success infiniband_switch_uplink_info
"""
KEYS = """
    gpu UUID Hostname instance GPU_I_ID guid port device switch uplink uplink_port uplink_guid
    uplink_type exported_pod nvlink hpc_job
"""
NAMES = st.sampled_from([*field_names()["name"], *port_fields()["name"], *OTHERS.split()])
LABELS = st.dictionaries(
    st.sampled_from(KEYS.split()),
    st.sampled_from(["", "0", "1", "GPU-a", "10.0.0.1:1", "0x1f", "a b", "SW", "CA", "é"]),
    max_size=5,
)
VALUES = st.one_of(
    st.floats(allow_nan=True).map(str), st.integers(-(2**64), 2**64).map(str), st.just("N/A")
)
TIMES = st.sampled_from(["", " 0", " 1000", " 31000", " -5"])


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(points=st.lists(st.tuples(NAMES, LABELS, VALUES, TIMES), max_size=8))
def test_any_series(tmp_path: Path, points: list[tuple[str, dict[str, str], str, str]]) -> None:
    """Known metrics with any labels and values never raise, and give only signals we know."""
    lines = [
        name
        + "{"
        + ",".join(f'{key}="{value}"' for key, value in labels.items())
        + "} "
        + text
        + ms
        for name, labels, text, ms in points
    ]
    path = tmp_path / "page.prom"
    path.write_text("\n".join(lines), encoding="utf-8")
    reading = read_exposition(path, "page", ReadOptions())
    samples = reading.samples

    assert set(samples["signal"]) <= set(SIGNALS)
    assert samples.filter(samples["value"].is_null() & samples["reason"].is_null()).height == 0
    assert not samples["value"].is_nan().any()
