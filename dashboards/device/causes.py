"""The lower panels of the device board: the signals behind a slow device, beside its peers."""

from typing import Final

from dashboards.device import queries as ask
from dashboards.device.panels import GPU_NAME
from dashboards.exporters.choices import Sources
from dashboards.fields import Field, build_override
from dashboards.panels import Columns, Plan
from dashboards.plans import now, over, plan_events, plan_lines, plan_table

_COUNT: Final = Field(unit="none", decimals=0, min_value=0)


def build_why(sources: Sources) -> tuple[Plan, ...]:
    """Return the signals behind a slow device, each beside its peers."""
    return (
        plan_lines(
            "SM clock against the peers",
            8,
            "The lowest clocks and the median of all GPUs. "
            "A low one at full load is throttled or capped.",
            [
                over(ask.lowest(sources, "sm_clock"), GPU_NAME),
                over(ask.across(sources, "sm_clock", "quantile(0.5, "), "median"),
            ],
            Field(unit="rotmhz", decimals=2),
        ),
        plan_lines(
            "Power over its limit",
            8,
            "Those nearest to what they may draw. A low limit on one node is a setting.",
            [over(ask.power_share(sources), GPU_NAME)],
            Field(unit="percentunit", decimals=0, min_value=0),
        ),
        plan_lines(
            "Temperature",
            8,
            "The hottest GPUs and memories, and the median. One hot memory wants its pads seen to.",
            [
                over(ask.highest(sources, "temperature"), GPU_NAME),
                over(ask.highest(sources, "memory_temperature"), f"memory {GPU_NAME}"),
                over(ask.across(sources, "temperature", "quantile(0.5, "), "median"),
            ],
            Field(unit="celsius", decimals=0),
        ),
        plan_events(
            "PCIe replays",
            8,
            "Packets sent again to the host, of the GPUs with most. Reseat before you replace.",
            [over(ask.grown(sources, "pcie_replays"), GPU_NAME)],
            _COUNT,
        ),
        plan_lines(
            "PCIe width",
            8,
            "The narrowest links, in lanes. Fewer than the others have: a bad seat or slot.",
            [over(ask.lowest(sources, "pcie_width"), GPU_NAME)],
            Field(unit="none", decimals=0, min_value=0),
        ),
        plan_events(
            "NVLink errors",
            8,
            "Replays and damaged packets of the GPUs with most. "
            "A pair that grows together shares a link.",
            [
                over(ask.grown(sources, "nvlink_replays"), f"replays {GPU_NAME}"),
                over(ask.grown(sources, "nvlink_crc_errors"), f"damaged {GPU_NAME}"),
            ],
            _COUNT,
        ),
        plan_events(
            "Memory errors",
            8,
            "Corrected and uncorrected errors of the GPUs with most. Uncorrected ones end jobs.",
            [
                over(ask.grown(sources, "ecc_corrected"), f"corrected {GPU_NAME}"),
                over(ask.grown(sources, "ecc_uncorrected"), f"uncorrected {GPU_NAME}"),
            ],
            _COUNT,
        ),
        plan_lines(
            "Rows remapped",
            8,
            "Rows that were replaced for good, of the GPUs with most. "
            "One that keeps growing goes back.",
            [over(ask.highest(sources, "rows_remapped"), GPU_NAME)],
            _COUNT,
        ),
        plan_table(
            "Last Xids",
            8,
            "The newest error number of each GPU, and how often it changed. "
            "A level and no count: kernel logs have them all.",
            [now(ask.last_xids(sources)), now(ask.last_xid_changes(sources))],
            Columns(
                order=("node", "gpu", "Value #A", "Value #B"),
                names={"Value #A": "last Xid", "Value #B": "changes"},
                overrides=(
                    build_override("last Xid", unit="none", decimals=0),
                    build_override("changes", unit="none", decimals=0),
                ),
                sort_by="changes",
            ),
        ),
    )
