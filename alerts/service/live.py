"""What the service asks the watch for: the state of now, which no database holds.

Every answer comes from what the last tick left behind: a page view must not pull, read or draw.
What is not known is null or `unknown`, and never a good state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, Protocol

from slo.windows import Severity

SourceCondition = Literal["current", "silent", "unknown"]
NodeCondition = Literal["watched", "suspect", "silent", "unknown"]

PLOT_CAPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "ranks": (
        "Rank by time",
        "Each rank's work against its role's median. A row is one straggler, a block one host.",
    ),
    "peers": (
        "The suspect against its peers",
        "Against its peers; the band holds eight of ten of them.",
    ),
    "steps": (
        "Step time",
        "Median of the steps, with their extremes as a band, and the run's own good pace.",
    ),
}
"""Names of plots, in the order of a page, with caption and explanation; `peers-2` is one more, and
`peers-2: Step time of rank 3` one with a caption of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """One source of data.

    Attributes:
        name: What people call it.
        age_seconds: Since its newest sample; null when none ever came.
        state: `current`; `silent` when nothing new came for too long; `unknown` when nothing did.
        last_seen: Time of its newest sample; null when none ever came.
    """

    name: str
    age_seconds: float | None
    state: SourceCondition
    last_seen: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """One host.

    Attributes:
        host: Canonical name.
        state: `watched` is data and no open finding, which is not yet a proof of health; `suspect`
            is accused of an open finding; `silent` and `unknown` as for a source.
        since: Since when; null when not known.
        run: Training run on it; null when none or not known.
        kinds: Kinds of the open findings that accuse it.
    """

    host: str
    state: NodeCondition
    since: datetime | None = None
    run: str | None = None
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PairState:
    """One pair of windows of an objective.

    Attributes:
        severity: Whom it tells.
        long_seconds: Length of the long window.
        short_seconds: Length of the short window.
        factor: Burn rate that both windows must exceed.
        long_burn_rate: Burn over the long window; null when not known.
        short_burn_rate: Burn over the short window; null when not known.
        is_firing: Whether its alert fires.
    """

    severity: Severity
    long_seconds: int
    short_seconds: int
    factor: float
    long_burn_rate: float | None
    short_burn_rate: float | None
    is_firing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SloState:
    """One objective for one run, or for all of them.

    Attributes:
        objective: Its name.
        title: What people call it.
        promise: The promise in words, as in `99 % over 30d`.
        run: Training run; null when the objective has one budget for all.
        pairs: Its pairs of windows, the fastest first.
        budget_left_ratio: Share of the budget left, negative when overspent; null when not known.
        budget_coverage_ratio: Share (0-1) of its period that there is data for; null when not
            known.
        exhaustion_seconds: How long it lasts at this pace; null when not known or for ever.
        age_seconds: Since the newest step it rests on; null when there is none.
    """

    objective: str
    title: str
    promise: str
    run: str | None
    pairs: tuple[PairState, ...]
    budget_left_ratio: float | None = None
    budget_coverage_ratio: float | None = None
    exhaustion_seconds: float | None = None
    age_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawLine:
    """A line as it was read.

    Attributes:
        number: Its number in the file, from 1.
        text: Its text, control characters and all.
        is_meant: Whether it is the very line that the evidence quotes.
    """

    number: int
    text: str
    is_meant: bool = False


class Live(Protocol):
    """What the watch knows now; see the module."""

    def sources(self) -> Sequence[SourceState]:
        """Return every source that is configured, whether or not it ever answered."""
        ...

    def nodes(self) -> Sequence[NodeState]:
        """Return every host that any source ever named."""
        ...

    def slo_state(self) -> Sequence[SloState]:
        """Return every objective that is evaluated."""
        ...

    def plots(self, incident_id: str) -> Mapping[str, str]:
        """Return drawings of an incident by the names of `PLOT_CAPTIONS`; none when not drawn.

        Each is inline SVG of our own making, with every name from data escaped, without styles and
        scripts in it, and with ids that no other drawing of the incident has.
        """
        ...

    def raw_lines(self, source: str) -> Sequence[RawLine]:
        """Return the lines around a place; none when it is no file or the file is gone.

        Args:
            source: An evidence's source, such as `rank-3.log:120`; never a path from a request.
        """
        ...

    def last_tick(self) -> datetime | None:
        """Return when the last tick was done; null before the first."""
        ...

    def metrics(self) -> bytes:
        """Return the metric contract in Prometheus' text form."""
        ...

    def shares(self) -> Mapping[str, int]:
        """Return how many groups each member of a shared fleet holds; none when not shared."""
        ...
