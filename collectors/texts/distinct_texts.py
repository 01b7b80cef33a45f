"""Look at each different text once: logs say the same again and again.

A pattern costs a look at every text, and a number for each text a fraction of that. What was found
in the different texts goes back to all lines by those numbers.
"""

from dataclasses import dataclass

import polars as pl

from collectors.texts.few_texts import MAX_FEW_TEXTS


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctTexts:
    """The different ones of some texts.

    Attributes:
        texts: Each text once, in the order in which they came.
        numbers: For each of all texts the place of its own in `texts`.
    """

    texts: pl.Series
    numbers: pl.Series

    def only(self, flags: pl.Series) -> "DistinctTexts":
        """Return those of the different texts that have a flag, for lines that have one of them."""
        places = flags.cum_sum() - 1
        return DistinctTexts(texts=self.texts.filter(flags), numbers=places.gather(self.numbers))

    def spread(self, found: pl.DataFrame) -> pl.DataFrame:
        """Return a row for each of all texts, of a row for each different one."""
        return found[self.numbers]


def distinct_texts(texts: pl.Series) -> DistinctTexts:
    """Return the different ones of some texts, none of which is null."""
    numbers = as_categories(texts).to_physical()
    return DistinctTexts(texts=texts.gather(numbers.arg_unique()), numbers=numbers)


def as_categories(texts: pl.Series) -> pl.Series:
    """Return texts as categories of their own, which count from 0 in the order they come in."""
    return texts.cast(pl.Categorical(pl.Categories.random()))


def distinct_categories(categories: pl.Series) -> DistinctTexts:
    """Return the different ones of some of `as_categories`; one that is no more there is empty."""
    numbers = categories.to_physical()
    places = numbers.arg_unique()
    highest = numbers.max()
    count = highest + 1 if isinstance(highest, int) else 0
    texts = pl.Series([""]).new_from_index(0, count)
    told = categories.gather(places).cast(pl.String)
    return DistinctTexts(texts=texts.scatter(numbers.gather(places), told), numbers=numbers)


def digitless_texts(texts: DistinctTexts) -> DistinctTexts:
    """Return the different ones of texts whose digits are all zeros; few stay as they are.

    Lines that say the same of other numbers are one text. A pattern that names no digit of its own
    is found in it if it is found in theirs.
    """
    if len(texts.texts) <= MAX_FEW_TEXTS:
        return texts
    shapes = distinct_texts(texts.texts.str.replace_all("[0-9]", "0"))
    return DistinctTexts(texts=shapes.texts, numbers=shapes.numbers.gather(texts.numbers))
