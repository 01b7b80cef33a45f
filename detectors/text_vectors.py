"""Turn masked texts into vectors whose products are their likeness: the one door to scikit-learn.

Source: TF-IDF and cosine, Salton & Buckley, Term-weighting approaches in automatic text retrieval,
1988; hashed terms, Weinberger et al., Feature hashing, ICML 2009. Terms that the reference texts do
not have keep the greatest weight: what is unheard of makes a text unlike all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final, Self

from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

_TERMS: Final = 2**20
"""Places for terms: with some ten thousand in use, two hardly ever share one."""


def _terms(analyzer: str, lengths: tuple[int, int], pattern: str | None) -> HashingVectorizer:
    return HashingVectorizer(
        n_features=_TERMS,
        alternate_sign=False,
        norm=None,
        analyzer=analyzer,
        ngram_range=lengths,
        token_pattern=pattern,
    )


_VIEWS: Final = (_terms("word", (1, 2), r"\S+"), _terms("char_wb", (3, 5), None))
"""Words and their pairs, and pieces of words: each has half of the say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpace:
    """How texts become vectors.

    Attributes:
        weights: For each view, how rare its terms are among the reference texts.
    """

    weights: tuple[TfidfTransformer, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Return the space in which terms weigh by how rare they are among some texts."""
        fitted = [TfidfTransformer(sublinear_tf=True).fit(view.transform(texts)) for view in _VIEWS]
        return cls(weights=tuple(fitted))

    def vectors(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Return one row a text, of length 1; of a text without words the row is empty.

        A text's vector depends on no other text.
        """
        share = sqrt(1.0 / len(_VIEWS))
        parts = [
            weight.transform(view.transform(texts)) * share
            for view, weight in zip(_VIEWS, self.weights, strict=True)
        ]
        return sparse.hstack(parts, format="csr")
