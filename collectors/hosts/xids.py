"""Read the Xid lines of the NVIDIA driver, of all its versions, and what to think of each.

Source: NVIDIA/open-gpu-kernel-modules `kernel_rc.c` (515 to 595) for the printed forms; NVIDIA Xid
catalog; formats of GPU and host streams, sections 5.2 to 5.5. The driver's tracepoint prints the
same without `NVRM:`. The name of a process may hold commas: it ends where a known message begins.
"""

from typing import Final

import polars as pl

from collectors.hosts.kernel_records import labels, matched, plain_digits, records
from collectors.hosts.xid_links import OLD_LINK_XID, link_attributes, link_fold, link_severity
from collectors.hosts.xid_table import XidTable
from collectors.identity import pci_address
from collectors.texts.templates import filled

XID: Final = r"(?:^|[^A-Za-z])Xid \((?P<place>[^)]*)\): (?P<code>\d{1,5})(?:, *(?P<rest>.*))?$"

_PLACE: Final = r"^(?P<pci>[^ ]*)(?: GPU-I:(?P<gi>\d+))?(?: GPU-CI:(?P<ci>\d+))?\s*$"

_HEADS: Final = (
    r"(?:Graphics |MMU |Ch |Channel|channel |intr |An? |Row Remapper|Dynamic Page|GPU|NVLink|"
    r"NVLINK|Contained|Uncontained|Timeout|GSP |C2C|Class Error|PBDMA|PMU|NVDEC|NVENC|Video|High |"
    r"Unrecovered|Uncorrect|Reset|Fatal|Error|Failed|Failure|Internal|SM |CE|DRAM|SRAM|Retire|"
    r"[A-Z]{2,10}(?:_[A-Z]+)* +(?:Fatal|Nonfatal)|[0-9a-f]{8}\b)"
)
"""How known messages begin: where a name with commas ends."""

_PID: Final = r"^pid=(?P<pid>\d+|'?<unknown>'?)"

_NAMED: Final = (
    rf"{_PID}(?:, name=(?P<name>.*?))?, (?P<text>{_HEADS}.*)$",
    rf"{_PID}(?:, name=(?P<name>.*?))?, (?P<text>.*)$",
    rf"{_PID}(?:, name=(?P<name>.*))?(?P<text>)$",
)

_CAUSED: Final = r" caused by previous Xid (\d+)\s*$"

_ACTION: Final = (
    r"recovery action changed from 0x(?P<from>[0-9a-fA-F]+) \([^)]*\) to "
    r"0x(?P<to>[0-9a-fA-F]+)(?: \((?P<word>[^)]*)\)?)?"
)

ACTIONS: Final = {
    "0": "none",
    "1": "gpu_reset",
    "2": "node_reboot",
    "3": "drain_p2p",
    "4": "drain_and_reset",
    "5": "imex_recovery",
}
"""The driver's numbers of recovery actions (Xid 154)."""

APP_FAULTS: Final = ("13", "31")
"""Xids of an application, but of hardware if one unit has them under several jobs."""

_REMOTE: Final = r"\b((?:PCI:)?[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)\b"

BURST_MICROS: Final = 1_000_000
"""An exception of a shader (Xid 13) prints several lines; those of one process belong together."""


def find_xids(lines: pl.DataFrame, table: XidTable) -> pl.DataFrame:
    """Return the records of Xid lines.

    Args:
        lines: `KERNEL_LINES`.
        table: What the numbers mean.

    Returns:
        `RECORDS` of kind `xid`, or `gpu_recovery_action` for 154, whose code is the action and
        whose severity is `info` when it goes back to none: that clears, it is no fault. An Xid
        that nobody knows has severity `unknown`, a GPU whose address cannot be read no device.
    """
    split = _split(matched(lines, XID))
    meanings = _meanings(split.select("code", "message").unique(maintain_order=True), table)
    whole = split.join(meanings, on=["code", "message"], how="left", maintain_order="left")
    own = {
        "pid": pl.col("pid"),
        "process": pl.col("name"),
        "gpu_instance": pl.col("gi"),
        "compute_instance": pl.col("ci"),
    }
    return records(
        whole,
        {
            "kind": pl.col("kind"),
            "code": pl.col("meaning"),
            "peer": _remote(),
            "device_kind": pl.lit("gpu"),
            "attributes": pl.concat_str("said", labels(own)),
            "thread": _thread(),
            "is_part": pl.col("code") == "13",
            "reach": pl.lit(BURST_MICROS),
            "fold": _fold(),
        },
    )


def _fold() -> pl.Expr:
    """Return what makes a fault the same again; an application's faults are each process' own.

    The same unit that fails under several jobs is broken, so they must not become one.
    """
    owned = filled("{} of {}", "fold", pl.col("pid").fill_null("-"))
    return pl.when(pl.col("code").is_in(APP_FAULTS)).then(owned).otherwise("fold")


def _remote() -> pl.Expr:
    """Return the GPU at the other end of an NVLink whose training failed, where a line says it."""
    return pci_address(
        pl.when(pl.col("code") == OLD_LINK_XID).then(pl.col("message").str.extract(_REMOTE))
    )


def _split(hits: pl.DataFrame) -> pl.DataFrame:
    """Return Xid lines with `pid`, `name` (null if unknown), `gi`, `ci`, `device`, `message`."""
    rest = pl.col("rest").fill_null("")
    parts = pl.coalesce(
        pl.when(rest.str.contains(pattern)).then(rest.str.extract_groups(pattern))
        for pattern in _NAMED
    )
    place = pl.col("place").str.extract_groups(_PLACE).struct
    numbered = hits.with_columns(pl.col("code").str.replace(r"^0+(\d)", "${1}"))
    split = numbered.with_columns(parts=parts).with_columns(
        pid=pl.col("parts").struct.field("pid").str.extract(r"^(\d+)$"),
        name=_known(pl.col("parts").struct.field("name")),
        message=pl.coalesce(pl.col("parts").struct.field("text"), rest),
        device=pci_address(place.field("pci")),
        gi=place.field("gi"),
        ci=place.field("ci"),
    )
    return split.drop("parts")


def _known(name: pl.Expr) -> pl.Expr:
    is_name = (name != "") & ~name.str.contains("^'?<unknown>'?$")
    return pl.when(is_name).then(name)


def _meanings(distinct: pl.DataFrame, table: XidTable) -> pl.DataFrame:
    """Return what each code with its message means: a storm has few of them.

    Returns:
        `code`, `message`, `kind`, `meaning` (the event's code), `severity`, `said` (attributes)
        and `fold`.
    """
    code, message = pl.col("code"), pl.col("message")
    told = message.str.replace(_CAUSED, "")
    said = link_severity(message, code)
    is_hard = code.is_in(table.hardware_if_fatal) & (said == "critical")
    class_ = pl.when(is_hard).then(pl.lit("hardware")).otherwise(table.class_of(code))
    attributes = {
        "class": class_,
        "action": table.action_of(code),
        "next_step": table.next_step_of(code),
        "caused_by": message.str.extract(_CAUSED),
        "unit": message.str.extract(r"\((GPC \d+, TPC \d+, SM \d+)\)"),
        **link_attributes(message, code),
    }
    meant = distinct.with_columns(
        kind=pl.lit("xid"),
        meaning=code,
        severity=pl.coalesce(said, table.severity_of(class_)),
        said=labels(attributes),
        fold=pl.coalesce(link_fold(told, code), plain_digits(told)),
    )
    return _with_actions(meant)


def _thread() -> pl.Expr:
    """Return what an Xid line may belong to: a burst of exceptions of one process, or nothing."""
    gpu = pl.coalesce("device", "place")
    burst = filled("13 {} {}", gpu, pl.col("pid").fill_null("-"))
    return pl.when(pl.col("code") == "13").then(burst)


def _with_actions(meant: pl.DataFrame) -> pl.DataFrame:
    """Return the meanings with those of Xid 154 as what they are: advice, or its end."""
    groups = pl.col("message").str.extract_groups(_ACTION).struct
    is_action = (pl.col("code") == "154") & pl.col("message").str.contains(_ACTION)
    to = groups.field("to").str.replace(r"^0+(.)", "${1}")
    before = groups.field("from").str.replace(r"^0+(.)", "${1}")
    action, previous = (
        number.replace_strict(
            ACTIONS, default=pl.format("action_{}", number), return_dtype=pl.String
        )
        for number in (to, before)
    )
    clears = action == "none"
    state = pl.when(clears).then(pl.lit("cleared")).otherwise(pl.lit("opened"))
    more = labels({"xid": pl.lit("154"), "from": previous, "state": state})
    return meant.with_columns(
        kind=pl.when(is_action).then(pl.lit("gpu_recovery_action")).otherwise("kind"),
        meaning=pl.when(is_action).then(action).otherwise("meaning"),
        severity=pl.when(is_action & clears).then(pl.lit("info")).otherwise("severity"),
        said=pl.when(is_action).then(pl.concat_str("said", more)).otherwise("said"),
    )
