"""Result of `needed_links`: attention and need of each word, with their agreement and controls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.result import Result
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.percent import percent

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

# Smallest change of a probability that is not called "no change".
_NO_CHANGE = 0.005


@dataclass(frozen=True, eq=False, repr=False)
class NeededLinks(Result):
    """What an answer loses without the link to each word, and the attention of the link.

    Made by `needed_links`.

    Attributes:
        words: Texts of the W words in the order of the text, without the word of the token that
            answers.
        positions: Positions of the tokens of each word.
        attention: Attention from the token that answers to each word, mean over the shown heads,
            summed over the tokens of the word, float64 [W].
        need: Probability of the answer minus its probability without the links to the word, float64
            [W]; negative if the answer gains, NaN if it was not computed.
        compared: Whether the word counts for the agreement: no special token, and no token on which
            attention rests, bool [W].
        answer: Answer in readable form.
        probability: Probability of the answer with all links.
        query: Text of the token that answers, before any masking.
        query_position: Position of this token.
        position: Predicted token, which follows the token that answers in a causal model.
        asked_by_mask: Whether the word was masked to predict it, so that attention and need are of
            another pass than that over the text.
        agreement: Spearman's correlation of attention and need over the compared words; NaN with
            fewer than four.
        control: Mean of this correlation for the attention of the other words and the same need.
        random_attention: Attention of the links that were cut at random positions, float64 [R].
        random_need: What the answer loses without each of them, float64 [R].
        n_heads: Number of heads whose mean attention is shown.
        cut_in: Heads in which links were cut.
        queries: "asked", "later" or "each", as in `needed_links`.
        map_words: Texts of the words that look, the rows of `need_map`; () without a map.
        map_columns: Texts of the words that are looked at, the columns of `need_map`.
        need_map: What the answer loses without each single link, float64 [n, m]; NaN for links that
            the model does not have, such as those to later words in a causal model. None unless
            `queries="each"`.
        complete: False if some words were not computed.
        note: Remark about the inputs, or "".
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import needed_links
        >>> text = "The captain told his men that [MASK] would not leave the ship."
        >>> needs = needed_links(load_model(device="cpu").attend(text))
        >>> round(needs.agreement, 2), round(needs.control, 2)
        (0.23, -0.01)
        >>> needs.to_frame().nlargest(2, "need")["word"].tolist()
        ['that', 'would']
    """

    words: tuple[str, ...]
    positions: tuple[tuple[int, ...], ...]
    attention: Float64Array
    need: Float64Array
    compared: NDArray[np.bool_]
    answer: str
    probability: float
    query: str
    query_position: int
    position: int
    asked_by_mask: bool
    agreement: float
    control: float
    random_attention: Float64Array = field(repr=False)
    random_need: Float64Array = field(repr=False)
    n_heads: int
    cut_in: str
    queries: str = "asked"
    map_words: tuple[str, ...] = ()
    map_columns: tuple[str, ...] = ()
    need_map: Float64Array | None = field(default=None, repr=False)

    @property
    def n_compared(self) -> int:
        """Number of words whose attention and need were compared."""
        return int((self.compared & ~np.isnan(self.need)).sum())

    @property
    def finding(self) -> str:
        """Finding in up to five sentences: need, attention, agreement, links, random links.

        The first sentence names the pass, and the most needed of the compared words. A change below
        0.5 points is "no change".
        """
        if np.isnan(self.need).all():
            return ""
        chosen = self.need if not self.n_compared else np.where(self.compared, self.need, np.nan)
        needed = int(np.nanargmax(chosen))
        looked = int(self.attention.argmax())
        says = f"{self._where}, the model says “{self.answer}” ({percent(self.probability)})"
        if chosen[needed] < _NO_CHANGE:
            first = f"{says}, and needs no single word."
        else:
            first = f"{says}, and needs “{self.words[needed]}” most ({self._points(needed)})."
        second = (
            f"Most attention goes to “{self.words[looked]}” "
            f"({percent(float(self.attention[looked]))}; without it: {self._points(looked)})."
        )
        parts = [first, second, self._agreement(), self._link(), self._random()]
        return " ".join(filter(None, parts))

    @property
    def _where(self) -> str:
        if self.asked_by_mask:
            return f"With “{self.query}” masked"
        return f"{'After' if self.position > self.query_position else 'At'} “{self.query}”"

    def _points(self, word: int) -> str:
        if np.isnan(self.need[word]):
            return "not computed"
        if abs(self.need[word]) < _NO_CHANGE:
            return "no change"
        return f"{-100 * self.need[word]:+.0f} points".replace("-", "−")

    def _agreement(self) -> str:
        if np.isnan(self.agreement):
            return ""
        verb = _verb(self.agreement)
        control = (
            "" if np.isnan(self.control) else f"; attention of other words: {self.control:.2f}"
        )
        numbers = f"({self.agreement:.2f}{control})".replace("-", "−")
        return f"Over {self.n_compared} words, attention and need {verb} {numbers}."

    def _link(self) -> str:
        """Return the sentence about the single link that is needed most."""
        if self.need_map is None or np.isnan(self.need_map).all():
            return ""
        row, column = np.unravel_index(int(np.nanargmax(self.need_map)), self.need_map.shape)
        need = self.need_map[row, column]
        if need < _NO_CHANGE:
            return "No single link is needed."
        return (
            f"Of {int((~np.isnan(self.need_map)).sum()):,} links, "
            f"“{self.map_words[row]}” to “{self.map_columns[column]}” is needed most "
            f"({-100 * need:+.0f} points)."
        ).replace("-", "−")

    def _random(self) -> str:
        measured = self.random_need[~np.isnan(self.random_need)]
        if not len(measured):
            return ""
        median = float(np.median(np.abs(measured)))
        amount = "under 0.5" if median < _NO_CHANGE else f"{100 * median:.1f}"
        return (
            f"Links of similar attention between other words change it by {amount} points "
            f"(median of {len(measured)})."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per word, in the order of the text.

        Columns: word, position (of its first token), tokens (their number), attention, need, after
        (probability of the answer without the links) and compared. `attrs` has the "answer", its
        "probability", "query", "agreement", "control", "n" (compared words), and "random" (median
        change by links at random positions, NaN without them).
        """
        import pandas as pd

        frame = pd.DataFrame(
            {
                "word": self.words,
                "position": [group[0] for group in self.positions],
                "tokens": [len(group) for group in self.positions],
                "attention": self.attention,
                "need": self.need,
                "after": self.probability - self.need,
                "compared": self.compared,
            }
        )
        measured = np.abs(self.random_need[~np.isnan(self.random_need)])
        frame.attrs |= {
            "answer": self.answer,
            "probability": self.probability,
            "query": self.query,
            "agreement": self.agreement,
            "control": self.control,
            "n": self.n_compared,
            "random": float(np.median(measured)) if len(measured) else float("nan"),
        }
        return frame

    def chart(self, *, width: int = 640) -> alt.HConcatChart:
        """Draw the attention to each word next to the loss of the answer without it.

        Both panels have one scale. Gray bars are special tokens, and tokens on which attention
        rests. An empty bar to the left is a gain.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.need_bars import need_bars

        frame = self.to_frame().rename(columns={"attention": "x", "need": "value"})
        mask = ", masked" if self.asked_by_mask else ""
        heads = "1 head" if self.n_heads == 1 else f"mean of {self.n_heads} heads"
        return need_bars(
            frame,
            title=f"Where “{self.query}”{mask} looks, and what “{self.answer}” needs\n"
            f"{self.model_name}; links cut in {self.cut_in}\n{self.finding}",
            attention_title=f"attention, {heads}",
            need_title=f"loss of “{self.answer}” ({percent(self.probability)}) without the word",
            width=width,
        )

    def map_chart(self, *, width: int = 640) -> alt.Chart:
        """Draw what the answer loses without each single link, a row per word that looks.

        Links that the answer gains from cutting have the other color; links that the model does not
        have are empty.

        Args:
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: There is no map: `needed_links` was called without `queries="each"`.

        Example:
            >>> from attnwidget import load_model
            >>> from attnwidget.interventions import needed_links
            >>> attention = load_model("attnwidget/induction").attend("The cat sat.")
            >>> needs = needed_links(attention, queries="each", n_random_links=0)
            >>> needs.need_map.shape, needs.map_chart().mark.type
            ((5, 5), 'rect')
        """
        from attnwidget.charts.signed_heatmap import signed_heatmap

        if self.need_map is None or np.isnan(self.need_map).all():
            raise ValueError(
                "no single link was measured: call needed_links(attention, queries='each')"
            )
        mask = ", masked" if self.asked_by_mask else ""
        return signed_heatmap(
            self.need_map,
            self.map_words,
            self.map_columns,
            title=f"What “{self.answer}” ({percent(self.probability)}) needs at “{self.query}”"
            f"{mask}\n{self.model_name}; each link cut in {self.cut_in}\n{self._link()}",
            value_title="loss",
            row_title="looking word",
            column_title="word looked at",
            width=width,
        )

    def __repr__(self) -> str:
        stopped = "" if self.complete else ", interrupted"
        finding = f"\n{self.finding}" if self.finding else ""
        return (
            f"NeededLinks({self.model_name}, “{self.answer}” {self.probability:.3g}, "
            f"{len(self.words)} words{stopped}){finding}"
        )


def _verb(agreement: float) -> str:
    """Return how two orders agree, in words."""
    if agreement >= 0.6:
        return "agree"
    if agreement >= 0.3:
        return "agree a little"
    return "do not agree" if agreement > -0.3 else "disagree"
