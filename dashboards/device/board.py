"""The device board: its question, its choices, its rows and the numbers of its panels."""

from typing import Final

from dashboards.device import panels
from dashboards.device import queries as ask
from dashboards.device.causes import build_why
from dashboards.exporters.choices import Sources
from dashboards.plans import BoardPlan
from dashboards.variables import Head, build_choice, build_filter, build_source_variable

UID: Final = "aif-device"

HEAD: Final = Head(
    uid=UID,
    title="Devices that fail slow",
    description="Is this device slower than its peers at the same work?",
    start="now-6h",
)

# Ids are given once and never again: links to panels, and alerts that point back, hold them.
PANEL_IDS: Final[dict[str, int]] = {
    "Verdict": 1,
    "Furthest from its peers": 2,
    "Devices off their peers": 3,
    "Peers of the least watched signal": 4,
    "GPUs held back by heat": 5,
    "GPUs that want a reset": 6,
    "Oldest source": 7,
    "Worst offenders": 8,
    "Furthest from their peers": 9,
    "Suspects": 10,
    "Where and when": 11,
    "Deviation by device and time": 12,
    "What held clocks back": 13,
    "Why": 14,
    "SM clock against the peers": 15,
    "Power over its limit": 16,
    "Temperature": 17,
    "PCIe replays": 18,
    "PCIe width": 19,
    "NVLink errors": 20,
    "Memory errors": 21,
    "Rows remapped": 22,
    "Last Xids": 23,
    "Evidence": 24,
    "Signals furthest from their peers": 25,
    "Age of sources": 26,
    "How to read this board": 27,
}


def build_device_plan(sources: Sources) -> BoardPlan:
    """Return the device board over exporters of chosen versions."""
    return BoardPlan(
        head=HEAD,
        variables=(
            build_source_variable(),
            build_choice("cluster", "Cluster", ask.CLUSTERS),
            build_filter("node", "Node", ask.NODES),
            build_filter("gpu", "GPU", ask.gpus(sources), numeric=True),
        ),
        rows={
            "Verdict": panels.build_verdict(sources),
            "Worst offenders": panels.build_worst(sources),
            "Where and when": panels.build_where(sources),
            "Why": build_why(sources),
            "Evidence": panels.EVIDENCE,
        },
        panel_ids=PANEL_IDS,
    )
