"""Result of `find_links`: weights of all heads between the word pairs that match a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.examples.example_link import ExampleLink, links_in
from attnwidget.capture.tapping.head import HeadName, head_of_result
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.counted import counted
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, repr=False)
class FoundLinks(HeadResult):
    """Weights of all heads between the word pairs that match a query. Made by `find_links`.

    Attributes:
        query: Description of the query.
        weights: Mean weight from the attending to the attended word over all pairs, float64 [L,
            H]; NaN without pairs.
        even: Mean weight for a head that attends equally to all visible tokens.
        n_places: Number of word pairs.
        places: Text and first tokens of the attending and the attended word, for at most k pairs,
            drawn at random, int64 [K, 3].
        place_weights: Weight of every head between the words of these pairs, float32 [L, H, K].
        texts: Tokens of the texts with these pairs, by their number in the corpus.
        n_segments: Number of texts that were processed.
        n_skipped: Number of sentences that were skipped because they are invalid (`skip_invalid` of
            `load_treebank`), a word has no tokens, a token has several words, or the sentence is
            too long.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors import find_links
        >>> from attnwidget.demo import demo_treebank
        >>> query = {"query": "tag=PRON", "relation": "nsubj"}
        >>> found = find_links(load_model(), demo_treebank()[:20], **query, progress=False)
        >>> found.n_places, found.places.shape, found.weights.shape
        (12, (12, 3), (6, 12))
    """

    query: str
    weights: Float64Array
    even: float
    n_places: int
    places: NDArray[np.int64]
    place_weights: NDArray[np.float32]
    texts: Mapping[int, Tokens]
    n_segments: int
    n_skipped: int

    def links(self, layer: int | HeadName, head: int | None = None) -> list[ExampleLink]:
        """Return the sampled pairs with the weights of one head, largest weight first.

        The strength of a link is not measured and is NaN.

        Args:
            layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
            head: Number of the head within the layer; not needed if `layer` is a head.

        Raises:
            ValueError: If there is no such head.
        """
        layer, head, _ = head_of_result(layer, head, self.place_weights.shape)
        weights = self.place_weights[layer, head].tolist()
        positions = self.places.tolist()
        order = sorted(range(len(positions)), key=lambda row: (-weights[row], positions[row]))
        return links_in(
            self.texts, [positions[row] for row in order], [weights[row] for row in order], None
        )

    def heads(self) -> HeadMetrics:
        """Return the mean weight of each head between the word pairs, [L, H]."""
        return {f"weight at {self.query}": self.weights}

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the mean weight of every head between the word pairs; `width` in pixels.

        Raises:
            ValueError: If no word pair matches the query.
        """
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.head_heatmap import head_heatmap

        if not self.n_places:
            raise ValueError(f"no place of the texts fits the query {self.query}")
        return head_heatmap(
            self.weights,
            title=answer_title(
                f"Weight at {self.query}\n{self.model_name}; "
                f"{counted(self.n_places, 'place')}; even attention: {self.even:.2g}",
                self.weights,
            ),
            value_title="mean weight",
            width=width,
        )
