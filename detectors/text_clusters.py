"""Put texts together that are like each other: a new kind of failure is one row, not thousands.

Source: leader clustering, Hartigan, Clustering Algorithms, 1975, chapter 3. The texts come in order
of weight, so that the leader of a cluster is what was said most.
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from detectors.text_vectors import TextSpace

MAX_LEADERS: Final = 2_000
"""Texts of most weight that may lead; the rest joins them, or is told together."""

_CHUNK: Final = 4_096


def find_clusters(
    texts: pl.DataFrame, space: TextSpace, min_similarity: float, max_leaders: int = MAX_LEADERS
) -> pl.DataFrame:
    """Return which texts belong together.

    Args:
        texts: `shape`, masked and each once, and `weight`, how often it was said.
        space: How texts become vectors.
        min_similarity: Cosine to the leader from which a text is of its cluster.
        max_leaders: How many texts may lead.

    Returns:
        `shape` and `cluster`, the leader's shape; null where a text beyond `max_leaders` is like no
        leader. Whatever the order of rows, the answer is the same.
    """
    ordered = texts.sort(pl.col("weight"), pl.col("shape"), descending=[True, False])
    shapes = ordered["shape"].to_list()
    vectors = space.vectors(shapes) if shapes else None
    if vectors is None:
        return ordered.select("shape", pl.col("shape").alias("cluster"))
    first = vectors[:max_leaders]
    led = _led((first @ first.T).toarray(), min_similarity)
    leaders = np.unique(led)
    late = [
        _nearest(
            (vectors[at : at + _CHUNK] @ vectors[leaders].T).toarray(), leaders, min_similarity
        )
        for at in range(max_leaders, len(shapes), _CHUNK)
    ]
    places = pl.Series(np.concatenate([led, *late]))
    cluster = ordered["shape"].gather(places.replace(-1, None))
    return ordered.select("shape", cluster.alias("cluster"))


def _led(likeness: NDArray[np.float64], min_similarity: float) -> NDArray[np.int64]:
    """Return the leader of each text: the first text not yet led leads all it is like."""
    led = np.full(len(likeness), -1, dtype=np.int64)
    for at in range(len(likeness)):
        if led[at] < 0:
            led[(led < 0) & (likeness[at] >= min_similarity)] = at
            led[at] = at
    return led


def _nearest(
    likeness: NDArray[np.float64], leaders: NDArray[np.int64], min_similarity: float
) -> NDArray[np.int64]:
    """Return the leader that each text is most like, -1 without one that is like enough."""
    best = leaders[likeness.argmax(axis=1)]
    nobody = np.int64(-1)
    return np.where(likeness.max(axis=1) >= min_similarity, best, nobody)
