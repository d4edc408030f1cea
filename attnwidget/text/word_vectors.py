"""Word vectors, which are looked up in lower case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


class WordVectors:
    """Word vectors with lookup in lower case; unknown words have the zero vector.

    `load_vectors` reads word vectors from files. You can also construct them from arrays.

    Args:
        words: N words. If a word occurs twice, its first vector is used.
        matrix: Vector of each word, [N, d].
        name: Name of the vectors in results.

    Attributes:
        matrix: Vectors, float32 [N, d].
        name: Name of the vectors.

    Raises:
        ValueError: There are no words, the number of vectors differs from the number of words, or a
            vector is not finite.

    Example:
        >>> from attnwidget.results import WordVectors
        >>> vectors = WordVectors(["cats", "purr"], [[1, 2], [3, 4]])
        >>> vectors(["Cats", "bark"]).tolist(), vectors.coverage(["Cats", "bark"])
        ([[1.0, 2.0], [0.0, 0.0]], 0.5)
    """

    def __init__(
        self,
        words: Iterable[str],
        matrix: Sequence[Sequence[float]] | NDArray[np.float32],
        name: str = "",
    ) -> None:
        terms = list(words)
        self.matrix: NDArray[np.float32] = np.ascontiguousarray(matrix, np.float32)
        self.name = name or "word vectors"
        if not terms or self.matrix.ndim != 2 or not self.matrix.shape[-1]:
            raise ValueError(
                f"{self.name}: expected words and one vector each, [N, d], got "
                f"{len(terms):,} words and an array {list(self.matrix.shape)}"
            )
        if len(terms) != len(self.matrix):
            raise ValueError(
                f"{self.name}: {len(terms):,} words and {len(self.matrix):,} vectors: one a word"
            )
        invalid = ~np.isfinite(self.matrix).all(-1)
        if invalid.any():
            raise ValueError(
                f"{self.name}: the vector of {terms[int(invalid.argmax())]!r} is not finite: NaN "
                "or a number too large"
            )
        self._rows: dict[str, int] = {}
        for row, word in enumerate(terms):
            self._rows.setdefault(word, row)

    @property
    def dimension(self) -> int:
        """Length of a vector, d."""
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word.lower() in self._rows

    def __call__(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of m words, float32 [m, d]."""
        vectors = np.zeros((len(words), self.dimension), np.float32)
        rows = [self._rows.get(word.lower(), -1) for word in words]
        known_words = [index for index, row in enumerate(rows) if row >= 0]
        vectors[known_words] = self.matrix[[rows[index] for index in known_words]]
        return vectors

    def coverage(self, words: Iterable[str]) -> float:
        """Return the share of known words, 0 to 1; repeated words count each time.

        Args:
            words: Words to look up. Without words, the share is 0.
        """
        is_known = [word in self for word in words]
        return sum(is_known) / max(1, len(is_known))

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the words and vectors."""
        digest = blake2b("\n".join(self._rows).encode("utf-8", "surrogatepass"), digest_size=16)
        digest.update(self.matrix.data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"WordVectors({self.name!r}, {len(self):,} words, {self.dimension} dimensions)"
