"""The thresholds of the search for lemons."""

from dataclasses import dataclass, field

from detectors.class_rates import ClassParams
from detectors.lemon_histories import HistoryParams
from detectors.lemon_tiers import TierParams


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorRate:
    """What is thought of a pool before it has a history: that of another fleet, lightly.

    Attributes:
        failures: Failures that the thought is worth.
        days: Node-days in which they fell. 0.5 in 77 is 6.5 in 1000, the rate that A. Kokolis and
            others give for a cluster of 16,000 A100.
    """

    failures: float = 0.5
    days: float = 77.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreParams:
    """How histories are tested.

    Attributes:
        top_share: Share of a pool whose rates are not believed when the pool's is made.
        coverage: Of the interval that is shown.
        min_pool: Nodes below which a pool is judged together with the other small ones.
        prior: What is thought of a pool before it has a history.
        classes: How the classes of names are fitted, for the ranking.
    """

    top_share: float = 0.02
    coverage: float = 0.9
    min_pool: int = 8
    prior: PriorRate = field(default_factory=PriorRate)
    classes: ClassParams = field(default_factory=ClassParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateParams:
    """When a unit is a lemon.

    Attributes:
        max_false_share: Of the units that are flagged, so many may be so by luck (q-value). In a
            fleet without a lemon it is the chance that anybody is flagged at all.
        min_failures: Weighted failures below which nothing is said.
        min_named_jobs: Jobs whose end must name it ...
        max_family_chance: ... unless its other signals come by luck with at most this chance.
        min_jobs: Jobs of whose end it must bear half or more.
        min_user_chance: If all of them were one user's: how likely that is, at least, if the node
            did it.
    """

    max_false_share: float = 0.01
    min_failures: float = 2.0
    min_named_jobs: int = 2
    max_family_chance: float = 0.05
    min_jobs: int = 2
    min_user_chance: float = 0.05

    def __post_init__(self) -> None:
        """Refuse gates that let everybody through."""
        if not 0.0 < self.max_false_share < 1.0 or self.min_jobs < 1:
            raise ValueError(
                "max_false_share must be between 0 and 1 and min_jobs 1 or more, got "
                f"{self.max_false_share} and {self.min_jobs}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LemonParams:
    """When a node or a part is a lemon.

    Attributes:
        history: How the history is put together, and where it ends.
        scores: How it is tested.
        gate: When a unit is a lemon.
        tiers: What to do with how many at once.
        min_span_days: History below which nothing is said.
        min_named_share: Share of the failures that must name a node; below it nobody can be told.
        min_failures: Failures from which that is worth saying.
    """

    history: HistoryParams = field(default_factory=HistoryParams)
    scores: ScoreParams = field(default_factory=ScoreParams)
    gate: GateParams = field(default_factory=GateParams)
    tiers: TierParams = field(default_factory=TierParams)
    min_span_days: float = 14.0
    min_named_share: float = 0.25
    min_failures: int = 20
