"""Find what a port says of its own link in one word: bad signal, no training, too hot.

Source: fabric reference, sections 2.11 and 6.2 (X); mstflint `mlxlink` status opcodes. A link that
never trains is a setting of its ends as often as a bad cable; a port that is closed by command or
has no module says nothing.
"""

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.texts.templates import filled
from detectors.fabric import LOCK_LOSSES, Fabric
from detectors.link_words import direction_evidence, end_text, far_end, link_subject, row_end
from detectors.verdicts import Evidence, Kind, Verdict, verdict_frame


@dataclass(frozen=True, slots=True)
class _Status:
    kind: Kind
    cause: str
    action: str


_RETRAIN: Final = "compare FEC, autonegotiation and speed of both ends; then reseat and swap cable"

_STATUSES: Final = {
    "link_bad_signal": _Status(
        "link_fault", "bad_signal", "clean and reseat both ends, then swap the cable"
    ),
    "module_too_hot": _Status(
        "link_fault", "module_heat", "look at the airflow of this cage, then swap the module"
    ),
    "link_negotiation_failed": _Status("config_drift", "link_settings", _RETRAIN),
    "link_training_failed": _Status("config_drift", "link_settings", _RETRAIN),
}


_MIN_LOSSES: Final = 2
"""One loss of lock is what any link shows while it trains."""


def find_status_faults(fabric: Fabric) -> pl.DataFrame:
    """Return the links whose port says itself what is wrong.

    Args:
        fabric: Events of ports by which a tool explains their state.

    Returns:
        `VERDICTS`: link_fault of cause `bad_signal` or `module_heat`, config_drift of cause
        `link_settings`, one row a port and cause. A port that loses lock again and again and is
        not up is one whose ends do not agree. Partition key: fabric.
    """
    told = fabric.events.filter(pl.col("kind").is_in(list(_STATUSES)))
    rows = (
        pl.concat([told, _never_locked(fabric)])
        .drop_nulls(["host", "device"])
        .with_columns(
            port="device",
            port_kind=pl.col("device_kind").fill_null("switch_port"),
            cause=pl.col("kind").replace_strict(
                {kind: status.cause for kind, status in _STATUSES.items()}, return_dtype=pl.String
            ),
        )
        .unique(["host", "port", "cause"], keep="first", maintain_order=True)
        .sort("host", "port", "cause")
        .to_dicts()
    )
    return verdict_frame(_verdict(row, fabric) for row in rows)


def _never_locked(fabric: Fabric) -> pl.DataFrame:
    """Return a failed training for each port that loses lock and was never seen up."""
    port, code, kind = ["host", "device"], pl.col("code"), pl.col("kind")
    named = fabric.events.drop_nulls([*port, "time"])
    losses = named.filter(kind == "port_error", code.is_in(LOCK_LOSSES))
    lasting = losses.filter(pl.len().over([*port, "code"]) >= _MIN_LOSSES)
    state = pl.col("value") == pl.when(pl.col("signal") == "port_state").then(4.0).otherwise(1.0)
    states = fabric.readings.filter(pl.col("signal").is_in(["port_state", "link_up"]))
    seen = states.drop_nulls("value").select("host", device="port", up=state)
    moves = named.filter(kind.is_in(["link_up", "link_down"]))
    shut = named.filter(kind == "admin_down").select(port)
    moved = moves.select(*port, up=kind == "link_up")
    down = pl.concat([seen, moved]).group_by(port).agg(pl.col("up").any()).filter(~pl.col("up"))
    said = filled("{} {} times, and the port is not up", "code", pl.len().over([*port, "code"]))
    return (
        lasting.join(down, on=port, how="semi")
        .join(shut, on=port, how="anti")
        .with_columns(message=said, kind=pl.lit("link_training_failed"))
    )


def _verdict(row: dict[str, Any], fabric: Fabric) -> Verdict:
    near, status = row_end(row), _STATUSES[row["kind"]]
    far = far_end(fabric.ends, near)
    seen = row["message"] or row["kind"]
    is_signal = status.cause == "bad_signal"
    return Verdict(
        kind=status.kind,
        level="link",
        subject=link_subject(near, row["port_kind"], far),
        onset=row["time"],
        detected=row["time"],
        cause=status.cause,
        confidence="medium" if is_signal else "low",
        evidence=(
            Evidence(source=end_text(near), time=row["time"], what=seen),
            *((direction_evidence(near, far),) if is_signal else ()),
        ),
        action=status.action,
        needed="counters and settings of both ends",
    )
