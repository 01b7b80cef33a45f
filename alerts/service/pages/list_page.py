"""What the list of incidents shows: enough to see which one to open."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from alerts.lifecycle import State
from alerts.storing.records import IncidentRecord
from alerts.wording import UNKNOWN, amount_text, clock_text, span_text

Show = Literal["open", "resolved", "all"]

SHOWN_STATES: Final[dict[Show, tuple[State, ...]]] = {
    "open": ("open", "acknowledged", "mitigated"),
    "resolved": ("resolved",),
    "all": (),
}
"""Which states each tab of the list shows; none is all."""

PAGE_ROWS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRow:
    """An incident in the list.

    Attributes:
        record: The incident.
        words: Since when, how long, what it cost.
    """

    record: IncidentRecord
    words: str


def list_rows(records: Sequence[IncidentRecord]) -> list[ListRow]:
    """Return a page of the list: what is not over first, pages before tickets, newest first."""
    order = sorted(records, key=lambda one: (one.state == "resolved", one.severity != "page"))
    return [list_row(record) for record in order]


def list_row(record: IncidentRecord) -> ListRow:
    """Return how an incident stands in the list."""
    onset = "onset not known" if record.onset is None else f"since {clock_text(record.onset)}"
    times = [
        (record.ttd_seconds, "found after {}"),
        (record.ttm_seconds, "mitigated after {}"),
        (record.ttr_seconds, "over after {}"),
    ]
    told = [words.format(span_text(seconds)) for seconds, words in times if seconds is not None]
    lost = amount_text(record.body["blast_radius"]["gpu_hours_lost"])
    cost = "GPU-hours lost not known" if lost == UNKNOWN else f"{lost} GPU-hours lost"
    return ListRow(record=record, words=", ".join([onset, *told, cost]))
