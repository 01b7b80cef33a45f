"""How much more often things of one class fail: slot of the chassis, row of the hall, batch.

Source: G. Ostrouchov and others, "GPU Lifetimes on Titan Supercomputer: Survival Analysis and
Reliability" (SC'20): cage, position and batch change the hazard by an order of magnitude. We fit a
product of effects, one a class, by raking (W. E. Deming and F. F. Stephan, 1940), each effect
pulled to 1 by a few failures' worth; there a Cox model is fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl


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

    prior_failures: float = 5.0
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
        `ratio`, in the order of the rows; 1 where nothing failed.
    """
    total = rows.select(pl.col("failures").sum() / pl.col("days").sum()).item()
    if not total or not classes:
        return pl.repeat(1.0, rows.height, eager=True).alias("ratio")
    effects = {name: f"effect of {name}" for name in classes}
    fitted = rows.with_columns(pl.lit(1.0).alias(effect) for effect in effects.values())
    prior = params.prior_failures
    for name in [*classes] * params.rounds:
        others = pl.lit(total)
        for other, effect in effects.items():
            others = others * pl.col(effect) if other != name else others
        due = (pl.col("days") * others).sum().over(name)
        seen = pl.col("failures").sum().over(name)
        fitted = fitted.with_columns(((seen + prior) / (due + prior)).alias(effects[name]))
    whole = pl.lit(1.0)
    for effect in effects.values():
        whole = whole * pl.col(effect)
    return fitted.select(whole.alias("ratio")).to_series()


def name_classes(hosts: pl.DataFrame, params: ClassParams) -> tuple[pl.DataFrame, list[str]]:
    """Return hosts with the classes that their names tell, and which columns these are.

    Args:
        hosts: Column `host`, and any others. `c14-6c1s0n0` has five numbers, each a class of its
            own, and so are their pairs: a cage of a column, a slot of a cage.
        params: How many members make a class.
    """
    numbers = hosts.select(pl.col("host").str.extract_all(r"\d+").alias("numbers"))
    places = range(numbers.select(pl.col("numbers").list.len().max()).item() or 0)
    single = {f"number {at + 1}": pl.col("numbers").list.get(at, null_on_oob=True) for at in places}
    pairs = {
        f"{one} and {other}": pl.concat_str(single[one], pl.lit("/"), single[other])
        for one, other in combinations(single, 2)
    }
    levels = numbers.select(**single, **pairs)
    kept = [
        name
        for name in levels.columns
        if 1 < levels[name].n_unique() <= levels.height / params.min_members
    ]
    return hosts.hstack(levels.select(kept)), kept
