"""Scores of every vocabulary entry for some tokens: head outputs, or attention scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from attnwidget.capture.answers.predictions import Answers
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.arrays import Float32Array

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

# Number of tokens in a repr.
_LISTED = 3


@dataclass(frozen=True, eq=False, repr=False)
class VocabularyScores(Result):
    """Scores of all V vocabulary entries for each of T tokens. Only differences matter.

    Attributes:
        head: Head that gives the scores.
        sources: Texts of the T tokens.
        ids: Vocabulary ids of the T tokens.
        scores: Scores, float32 [T, V]; the mean of each row is 0.
        answers: Vocabulary entries.
        model_name: Name of the model.
        top: Number of entries at each end of a row in the table and the chart.
    """

    head: Head
    sources: tuple[str, ...]
    ids: tuple[int, ...]
    scores: Float32Array
    answers: Answers
    top: int

    SIGNS: ClassVar[tuple[str, str]]
    """Words for the largest and the smallest scores."""
    TITLE: ClassVar[str]
    UNIT: ClassVar[str]

    @property
    def own_ranks(self) -> tuple[int, ...]:
        """Number of entries with a larger score than the source itself, for each source."""
        own_scores = self.scores[np.arange(len(self.ids)), list(self.ids)]
        return tuple(int(n) for n in (self.scores > own_scores[:, None]).sum(-1))

    def to_frame(self) -> pd.DataFrame:
        """Return the `top` largest and smallest scores of each token, the extremes first.

        Columns: source, effect, rank (from 0), answer (readable), token (as the vocabulary has it),
        id, score. `attrs` has the "model" and the "head".
        """
        import pandas as pd

        rows = []
        for source, scores in zip(self.sources, self.scores, strict=True):
            order = np.argsort(-scores, kind="stable")
            ends = zip(self.SIGNS, (order[: self.top], order[::-1][: self.top]), strict=True)
            for effect, ids in ends:
                spellings = self.answers.spelt(ids.tolist())
                for rank, (token_id, (answer, token)) in enumerate(
                    zip(ids, spellings, strict=True)
                ):
                    rows.append(
                        {
                            "source": source,
                            "effect": effect,
                            "rank": rank,
                            "answer": answer,
                            "token": token,
                            "id": int(token_id),
                            "score": float(scores[token_id]),
                        }
                    )
        frame = pd.DataFrame(rows)
        frame.attrs |= {"model": self.model_name, "head": str(self.head)}
        return frame

    def chart(self, *, width: int = 640) -> alt.VConcatChart:
        """Draw a panel for each token, with a bar for each entry; needs no network.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.vocabulary_bars import vocabulary_bars

        frame = self.to_frame()
        # Two entries, such as "John" and "ĠJohn", may have the same readable text.
        is_repeated = frame.duplicated(["source", "answer"], keep=False)
        frame["answer"] = frame["answer"].mask(is_repeated, frame["token"])
        return vocabulary_bars(
            frame,
            title=f"{self.TITLE}, {self.head}\n{self.model_name}; from the weights alone, "
            "without the other tokens of a text",
            value_title=self.UNIT,
            width=width,
        )

    def __repr__(self) -> str:
        best = np.argsort(-self.scores, axis=-1, kind="stable")[:_LISTED, 0]
        pairs = [
            f"{source} → {answer}"
            for source, (answer, _) in zip(
                self.sources, self.answers.spelt(best.tolist()), strict=False
            )
        ]
        more = ", …" if len(self.sources) > _LISTED else ""
        return f"{type(self).__name__}({self.model_name}, {self.head}: {', '.join(pairs)}{more})"


class HeadVocabulary(VocabularyScores):
    """Logits of the output of a head for single tokens. Made by `head_vocabulary`.

    The result has the attributes of `VocabularyScores`; a score is a logit minus the mean logit.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import head_vocabulary
        >>> found = head_vocabulary(load_model("attnwidget/induction"), 1, 0, words=[5, 6], top=3)
        >>> found.scores.shape, len(found.to_frame())
        ((2, 254), 12)
    """

    SIGNS = ("promoted", "suppressed")
    TITLE = "What a head writes for a token"
    UNIT = "logit, from the mean of the vocabulary"


class AttendedVocabulary(VocabularyScores):
    """Scores of attending tokens before the softmax, for all keys. Made by `attended_vocabulary`.

    The result has the attributes of `VocabularyScores`. Sources are the attending tokens, and the
    mean score of the source is subtracted from each score.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import attended_vocabulary
        >>> found = attended_vocabulary(load_model("attnwidget/induction"), 0, 1, words=[5], top=3)
        >>> found.scores.shape, len(found.to_frame())
        ((1, 254), 6)
    """

    SIGNS = ("attended", "avoided")
    TITLE = "What a token attends to"
    UNIT = "score, from the mean of the vocabulary"
