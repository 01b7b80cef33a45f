"""Tell of which known family a line is: by rules first, else by the wordings it is most like.

Source: the two steps of log diagnosis at Acme, Hu et al., Characterization of Large Language Model
Development in the Datacenter, NSDI 2024, section 6: rules filter what is known, the rest goes by
vector similarity. We differ in the second step: TF-IDF of a written library, no language model.

Likeness to a class as the sum of its texts: Rocchio, Relevance feedback in information
retrieval, 1971.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collectors.frames import schema_of
from detectors.masked_texts import masked_text
from detectors.text_vectors import TextSpace

MAX_NEAREST: Final = 3

_CHUNK: Final = 4_096

NEAREST: Final = schema_of({"family": pl.String, "similarity": pl.Float64})
"""A family and how like a text is to it: the mean of the cosines to its nearest wording and to the
sum of all of them, from 0 to 1."""

NEAREST_LIST: Final = pl.List(pl.Struct(dict(NEAREST)))


def family_by_rule(signatures: pl.DataFrame) -> pl.Expr:
    """Return the family whose rule fits, over `text`, `kind` and `code`; null where none does.

    Args:
        signatures: `SIGNATURES`; the first whose event or pattern fits has the line.
    """
    event = pl.col("kind").fill_null("")
    exact = event + ":" + pl.col("code").fill_null("")
    rules = [
        pl.when(
            event.is_in(row["events"])
            | exact.is_in(row["events"])
            | _fits(pl.col("text"), row["patterns"])
        ).then(pl.lit(row["family"]))
        for row in signatures.iter_rows(named=True)
        if row["events"] or row["patterns"]
    ]
    return pl.coalesce([*rules, pl.lit(None, dtype=pl.String)])


def _fits(text: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    """Return whether texts hold any of the patterns."""
    if not patterns:
        return pl.lit(value=False)
    return text.str.contains("|".join(f"(?:{one})" for one in patterns)).fill_null(value=False)


def library_space(signatures: pl.DataFrame) -> TextSpace:
    """Return the space in which the library's wordings and lines are compared."""
    return TextSpace.of(_wordings(signatures)["shape"].to_list())


def nearest_families(shapes: pl.Series, signatures: pl.DataFrame, space: TextSpace) -> pl.DataFrame:
    """Return the families that each text is most like.

    Half of the likeness is the nearest wording, half the family as a whole: a text that has its
    words from several wordings is of the family as well.

    Args:
        shapes: Masked texts, each once.
        signatures: `SIGNATURES`, one family at least.
        space: `library_space` of them.

    Returns:
        `shape` and `nearest`, a list of `NEAREST`, at most three, the likest first; of families
        that are as like, the one before in the library.
    """
    wordings = _wordings(signatures)
    starts = np.flatnonzero(np.diff(wordings["at"].to_numpy(), prepend=-1))
    known = space.vectors(wordings["shape"].to_list())
    lengths = _lengths((known @ known.T).toarray(), starts)
    texts = shapes.to_list()
    parts = [
        _nearest(
            _likeness(
                (space.vectors(texts[at : at + _CHUNK]) @ known.T).toarray(), starts, lengths
            ),
            signatures["family"],
        )
        for at in range(0, len(texts), _CHUNK)
    ]
    nearest = pl.concat([pl.Series("nearest", [], dtype=NEAREST_LIST), *parts])
    return pl.DataFrame({"shape": shapes, "nearest": nearest})


def _lengths(likeness: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return how long the sum of each family's wordings is; never 0, which wordless ones have."""
    blocks = np.add.reduceat(np.add.reduceat(likeness, starts, axis=0), starts, axis=1)
    lengths: NDArray[np.float64] = np.sqrt(np.maximum(np.diag(blocks), 1.0))
    return lengths


def _likeness(
    likeness: NDArray[np.float64], starts: NDArray[np.intp], lengths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the likeness of texts to families from that to their wordings."""
    nearest = np.maximum.reduceat(likeness, starts, axis=1)
    whole = np.add.reduceat(likeness, starts, axis=1) / lengths
    return 0.5 * nearest + 0.5 * whole


def _nearest(likeness: NDArray[np.float64], families: pl.Series) -> pl.Series:
    """Return the likest families of each row, of one column a family."""
    best = np.argsort(-likeness, axis=1, kind="stable")[:, :MAX_NEAREST]
    ranked = [
        pl.struct(
            families.gather(pl.Series(best[:, at])).alias("family"),
            pl.Series("similarity", np.take_along_axis(likeness, best[:, [at]], axis=1)[:, 0]),
        ).alias(str(at))
        for at in range(best.shape[1])
    ]
    return pl.select(ranked).select(nearest=pl.concat_list(pl.all())).to_series()


def _wordings(signatures: pl.DataFrame) -> pl.DataFrame:
    """Return `at`, the place of a family in the library, and `shape`: its title, its examples."""
    texts = pl.concat_list(pl.col("title"), "examples")
    told = signatures.select(at=pl.int_range(pl.len()), shape=texts)
    return told.explode("shape", empty_as_null=True).with_columns(masked_text(pl.col("shape")))
