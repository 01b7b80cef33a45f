"""Draw the incidents that are open, a few at a time, so that a page view draws nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl

from alerts.incidents import Incident
from paceline.watching.judging import Judgement

MAX_DRAWN: Final = 6
"""Incidents that have drawings: the gravest, and of those the newest."""

MAX_PEERS: Final = 2
"""Drawings of a suspect against its peers, of one incident."""

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


REDRAWN: Final = timedelta(minutes=1)
"""A drawing is made anew when it is so old: drawing one incident takes a second or two."""


@dataclass(slots=True, kw_only=True)
class Artist:
    """The drawings of incidents.

    Attributes:
        name_of: The id under which an incident is kept.
        drawings: SVG by name, by the kept id of an incident.
    """

    name_of: Callable[[str], str]
    drawings: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    _drawn: dict[str, datetime] = field(default_factory=dict[str, datetime])

    def draw(self, judgement: Judgement, wanted: Sequence[str]) -> None:
        """Draw one incident, the one whose drawings are oldest, and forget what nobody looks at.

        Args:
            judgement: What the last tick found.
            wanted: Kept ids of open incidents.
        """
        chosen = {self.name_of(one.id): one for one in judgement.incidents[:MAX_DRAWN]}
        kept = {*wanted, *chosen}
        self.drawings = {name: one for name, one in self.drawings.items() if name in kept}
        self._drawn = {name: time for name, time in self._drawn.items() if name in kept}
        now = judgement.now
        due = [name for name in chosen if self._drawn.get(name, now - REDRAWN) <= now - REDRAWN]
        if due:
            name = min(due, key=lambda one: self._drawn.get(one, _NEVER))
            paces = judgement.views.paces.collect()
            self.drawings[name] = _drawings(chosen[name], judgement, paces)
            self._drawn[name] = now


def _drawings(incident: Incident, judgement: Judgement, paces: pl.DataFrame) -> dict[str, str]:
    """Return the drawings of an incident by the names of `alerts.service.live.PLOT_CAPTIONS`."""
    from paceline.reports.peer_plot import peer_plots  # noqa: PLC0415 -- drawing loads for long
    from paceline.reports.rank_map import rank_map  # noqa: PLC0415 -- same
    from paceline.reports.step_plot import step_plot  # noqa: PLC0415 -- same
    from paceline.reports.time_axis import axis_of  # noqa: PLC0415 -- same

    named = pl.col("run").eq_missing(pl.lit(incident.run, dtype=pl.String))
    own, ranks = judgement.burning.events.filter(named), paces.filter(named)
    judged = own.filter(pl.col("reason").is_null())
    samples = judgement.reading.samples
    since = ranks["end_time"].min()
    if since is not None:
        judged = judged.filter(pl.col("end_time") >= since)
    axis = axis_of([(judged, "end_time"), (ranks, "end_time")], [incident])
    if axis is None:
        return {}
    plots = {
        "ranks": rank_map(ranks, axis, [incident], prefix="ranks"),
        "steps": step_plot(judged, axis, [incident], prefix="steps"),
    }
    peers = peer_plots(incident, ranks, samples, axis, prefix="peers")[:MAX_PEERS]
    for at, one in enumerate(peers, start=1):
        plots[f"peers-{at}: {one.caption}"] = one.svg
    return {name: svg for name, svg in plots.items() if svg}
