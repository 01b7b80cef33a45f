"""How much more often things of one class fail: slot of the chassis, row of the hall, batch.

Source: G. Ostrouchov and others, "GPU Lifetimes on Titan Supercomputer: Survival Analysis and
Reliability" (SC'20): cage, position and batch change the hazard by an order of magnitude. We fit a
product of effects, one a class, by raking (W. E. Deming and F. F. Stephan, 1940), each effect
pulled to 1 by a few failures' worth; there a Cox model is fitted.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

_TOTAL: Final = "rate of all"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassParams:
    """How the effects of classes are fitted.

    Attributes:
        prior_failures: Failures' worth of belief that a class is like all others.
        rounds: How often each effect is made anew from the others.
        min_members: Things that a level of a class must have on average, to be one.
        half_life_days: History of classes fades faster than that of single things: waves pass.
        weight: What a ratio of 1 is worth beside one failure of its own, in a ranking.
    """

    prior_failures: float = 10.0
    rounds: int = 3
    min_members: float = 8.0
    half_life_days: float = 45.0
    weight: float = 0.05

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing is pulled, or nothing fades."""
        if min(self.prior_failures, self.half_life_days) <= 0.0 or self.rounds < 1:
            raise ValueError(
                "prior_failures and half_life_days must be above 0 and rounds 1 or more, got "
                f"{self.prior_failures}, {self.half_life_days} and {self.rounds}"
            )


def class_ratios(rows: pl.DataFrame, classes: Sequence[str], params: ClassParams) -> pl.Series:
    """Return how many times as often as all of them each row's classes fail.

    Args:
        rows: One thing, or one stay of a thing, a row, with weighted `failures` and `days`.
        classes: Columns that hold the level of each class; null is a level of its own.
        params: How the effects are fitted.

    Returns:
        `ratio`, in the order of the rows; 1 where nothing failed. The class that tells most is
        joined with each other one, since what heats a cage heats it more in some rows.
    """
    if not classes or not rows["failures"].sum():
        return pl.repeat(1.0, rows.height, eager=True).alias("ratio")
    alone = _effects(rows, classes, params)
    told = {name: _spread(alone[name], rows["days"]) for name in classes}
    strongest = max(classes, key=lambda name: told[name])
    pairs = {
        f"{strongest} and {name}": pl.concat_str(
            pl.col(strongest).cast(pl.String), pl.lit("/"), pl.col(name).cast(pl.String)
        )
        for name in classes
        if name != strongest
    }
    joined = rows.with_columns(**pairs)
    kept = [name for name in pairs if _is_class(joined[name], params)]
    whole = _effects(joined, [*classes, *kept], params)
    return pl.Series("ratio", whole.select(pl.fold(1.0, operator.mul, pl.all())).to_series())


def _spread(effect: pl.Series, days: pl.Series) -> float:
    """Return how far the effects of a class lie apart: weighted mean square of logarithms."""
    squares, weights = effect.log().to_numpy() ** 2, days.to_numpy()
    return float((squares * weights).sum() / weights.sum())


def _is_class(levels: pl.Series, params: ClassParams) -> bool:
    return 1 < levels.n_unique() <= levels.len() / params.min_members


def _effects(rows: pl.DataFrame, classes: Sequence[str], params: ClassParams) -> pl.DataFrame:
    """Return the effect of each class on each row, a column a class."""
    total = float(rows["failures"].to_numpy().sum() / rows["days"].to_numpy().sum())
    fitted = rows.select("failures", "days", *classes)
    start = {_TOTAL: total, **dict.fromkeys(classes, 1.0)}
    effects = rows.select(pl.repeat(each, pl.len()).alias(name) for name, each in start.items())
    prior = params.prior_failures
    for name in [*classes] * params.rounds:
        others = effects.drop(name).select(pl.fold(1.0, operator.mul, pl.all()).alias(_TOTAL))
        due = (pl.col("days") * pl.col(_TOTAL)).sum().over(name)
        seen = pl.col("failures").sum().over(name)
        effect = fitted.hstack(others).select(((seen + prior) / (due + prior)).alias(name))
        effects = effects.with_columns(effect.to_series())
    return effects.drop(_TOTAL)


def name_classes(hosts: pl.DataFrame, params: ClassParams) -> tuple[pl.DataFrame, list[str]]:
    """Return hosts with the classes that their names tell, and which columns these are.

    Args:
        hosts: Column `host`, and any others. `c14-6c1s0n0` has five numbers, each a class.
        params: How many members make a class.
    """
    numbers = hosts.select(pl.col("host").str.extract_all(r"\d+").alias("numbers"))
    places = range(numbers.select(pl.col("numbers").list.len().max()).item() or 0)
    levels = numbers.select(
        pl.col("numbers").list.get(at, null_on_oob=True).alias(f"number {at + 1}") for at in places
    )
    kept = [name for name in levels.columns if _is_class(levels[name], params)]
    return hosts.hstack(levels.select(kept)), kept
