# What we use of its vectors of texts.

from collections.abc import Iterable
from typing import Self

from scipy.sparse import csr_matrix

class HashingVectorizer:
    def __init__(
        self,
        *,
        n_features: int,
        alternate_sign: bool,
        norm: str | None,
        analyzer: str,
        ngram_range: tuple[int, int],
        token_pattern: str | None = None,
    ) -> None: ...
    def transform(self, X: Iterable[str]) -> csr_matrix: ...

class TfidfTransformer:
    def __init__(self, *, sublinear_tf: bool) -> None: ...
    def fit(self, X: csr_matrix) -> Self: ...
    def transform(self, X: csr_matrix) -> csr_matrix: ...
