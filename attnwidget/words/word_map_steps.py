"""Steps from a map between tokens to a map between words (Clark et al. 2019, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head, HeadName, head_parts
from attnwidget.kernels.plain_torch import in_plain_torch

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.attention import Attention


@dataclass(frozen=True, eq=False, repr=False)
class WordMapSteps(Result):
    """Map of one head between tokens, with added columns, and between words.

    Made by `word_map_steps`.

    Attributes:
        tokens: Tokens of the text, n.
        words: Words of the text, m; each special token is a word.
        owners: Word of each token, from 0, int64 [n].
        token_map: Weights between tokens, [n, n], where rows attend.
        added: Weights from tokens to words, [n, m]: the columns of each word are added.
        word_map: Weights between words, [m, m]: the rows of each word are averaged.
        head: Head of the map.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.words import word_map_steps
        >>> steps = word_map_steps(load_model().attend("The gamekeeper slept."), "L2 H8")
        >>> steps.token_map.shape, steps.added.shape, steps.word_map.shape
        ((7, 7), (7, 6), (6, 6))
    """

    tokens: tuple[str, ...]
    words: tuple[str, ...]
    owners: NDArray[np.int64]
    token_map: NDArray[np.float64]
    added: NDArray[np.float64]
    word_map: NDArray[np.float64]
    head: Head

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of words: from, to and weight."""
        import pandas as pd

        row, column = (index.ravel() for index in np.indices(self.word_map.shape))
        names = np.array(self.words, dtype=object)
        return pd.DataFrame(
            {"from": names[row], "to": names[column], "weight": self.word_map.ravel()}
        )

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the three maps with arrows between them.

        Frames mark the words of several tokens.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.map_steps import map_steps

        return map_steps(
            (self.token_map, self.added, self.word_map),
            tokens=self.tokens,
            words=self.words,
            owners=self.owners,
            title=f"From tokens to words in {self.head}: columns are added, rows are averaged\n"
            f"{self.model_name}; rows attend",
            width=width,
        )

    def __repr__(self) -> str:
        return f"WordMapSteps({self.head}: {len(self.tokens)} tokens, {len(self.words)} words)"


@in_plain_torch
@says_cuts
def word_map_steps(
    attention: Attention,
    layer: int | HeadName,
    head: int | None = None,
    *,
    stack: str | None = None,
) -> WordMapSteps:
    """Return the steps from a map between tokens to a map between words of one head.

    The weights to the tokens of a word are added, and the weights from them are averaged (Clark et
    al. 2019, section 4.1). Rows that sum to 1 still sum to 1. `attention.words` has the last step
    of all heads.

    Args:
        attention: Attention of a text, from `attend`.
        layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.
        stack: Stack of the head; may be left out if there is one stack.

    Returns:
        The three maps, with a chart.

    Raises:
        ValueError: If there is no such head, or its queries and keys are different tokens.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.words import word_map_steps
        >>> steps = word_map_steps(load_model().attend("The gamekeeper slept."), "L2 H8")
        >>> steps.words
        ('[CLS]', 'the', 'gamekeeper', 'slept', '.', '[SEP]')
    """
    named_head = attention.head(head_parts(layer, head, stack))
    axes = attention.stacks[named_head.stack]
    if axes.query.text != axes.key.text:
        raise ValueError(
            f"the queries and keys of {named_head} must be the same tokens, and they differ: "
            "choose a head of self-attention"
        )
    groups = axes.query.word_groups()
    members = np.zeros((len(axes.query.text), len(groups)))
    for word, group in enumerate(groups):
        members[group, word] = 1
    token_map = np.asarray(attention.weights(named_head), np.float64)
    added = token_map @ members
    return WordMapSteps(
        tuple(axes.query.text),
        tuple(axes.query.to_words().text),
        members.argmax(1),
        token_map,
        added,
        (members.T @ added) / members.sum(0)[:, None],
        named_head,
        model_name=attention.model_name,
    )
