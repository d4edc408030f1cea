"""Minimal pairs: how often a model prefers the acceptable sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.predict import prediction_task
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.tap import tap
from attnwidget.corpus.argument_checks import all_of, one_of, refuse_no_model
from attnwidget.corpus.equal_lengths import of_one_length
from attnwidget.corpus.input_numbers import ReadInputs, input_numbers
from attnwidget.corpus.resume_file import digest_of
from attnwidget.inputs.example import TextExample
from attnwidget.interventions.examples import batch_of
from attnwidget.interventions.pair_sentences import PairWords, sentences_of
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.sequence_scores import next_token_log_probabilities
from attnwidget.model_facts.answer_logits import answer_logits
from attnwidget.text.counted import counted
from attnwidget.text.minimal_pairs import MinimalPair
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

_HOW = "minimal pairs come from load_minimal_pairs(path), or as [MinimalPair(good, bad), ...]"


@dataclass(frozen=True, eq=False, repr=False)
class MinimalPairScores(Result):
    """Model scores for both sentences of N pairs. Made by `measure_minimal_pairs`.

    Attributes:
        pairs: Minimal pairs.
        good: Score of each acceptable sentence in nats, float64 [N].
        bad: Score of each unacceptable sentence in nats, float64 [N].
        model_name: Name of the model, with any disabled heads.
        words: Scored words of each sentence: "differing" or "all".

    Example:
        >>> from attnwidget import MinimalPair, load_model
        >>> from attnwidget.interventions import measure_minimal_pairs
        >>> pair = MinimalPair("The girl washed herself.", "The girl washed himself.")
        >>> found = measure_minimal_pairs(load_model(), [pair], progress=False)
        >>> found.accuracy, found.right, found.words
        (1.0, array([ True]), 'differing')
    """

    pairs: tuple[MinimalPair, ...]
    good: NDArray[np.float64]
    bad: NDArray[np.float64]
    words: PairWords

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether the acceptable sentence of each pair is likelier, [N]; a tie is wrong."""
        return self.good > self.bad

    @property
    def accuracy(self) -> float:
        """Share of pairs whose acceptable sentence is likelier."""
        return float(self.right.mean())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: phenomenon, good, bad, score_good, score_bad (nats), right.

        `attrs` has the name of the "model" and the scored "words".
        """
        import pandas as pd

        frame = pd.DataFrame(
            {
                "phenomenon": [pair.phenomenon for pair in self.pairs],
                "good": [pair.good for pair in self.pairs],
                "bad": [pair.bad for pair in self.pairs],
                "score_good": self.good,
                "score_bad": self.bad,
                "right": self.right,
            }
        )
        frame.attrs |= {"model": self.model_name, "words": self.words}
        return frame

    def by_phenomenon(self) -> pd.DataFrame:
        """Return one row per phenomenon, in order of appearance: n and accuracy."""
        grouped = self.to_frame().groupby("phenomenon", sort=False)["right"]
        table = grouped.agg(["size", "mean"]).reset_index()
        return table.rename(columns={"size": "n", "mean": "accuracy"})

    def chart(self, *, width: int = 640) -> alt.VConcatChart:
        """Draw the accuracy on each phenomenon; needs no network.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.answer_bars import answer_bars

        table = self.by_phenomenon().rename(
            columns={"phenomenon": "answer", "accuracy": "probability"}
        )
        table["answer"] = [
            f"{name or 'all'} ({n:,})" for name, n in zip(table["answer"], table["n"], strict=True)
        ]
        title = f"Pairs whose acceptable sentence is likelier, by {self._by}\n{self.model_name}"
        return answer_bars(
            table.assign(question=""), title=title, value_title="accuracy", width=width
        )

    @property
    def _by(self) -> str:
        """Wording of the scored words in titles."""
        return "their differing words" if self.words == "differing" else "all words"

    def __repr__(self) -> str:
        return (
            f"MinimalPairScores({self.model_name}, {counted(len(self.pairs), 'pair')}: "
            f"{self.accuracy:.1%} right by {self._by})"
        )


@in_plain_torch
def measure_minimal_pairs(
    model: AttentionModel,
    pairs: Iterable[MinimalPair],
    *,
    words: PairWords | None = None,
    batch_size: int = 32,
    progress: bool = True,
) -> MinimalPairScores:
    """Score the sentences of minimal pairs with a language model.

    A causal model's score of a sentence is its log probability: the sum over its tokens of log
    p(token | the tokens before it), from the first token if the tokenizer puts a special token
    before the text, otherwise from the second (Warstadt et al. 2020). A masked language model masks
    tokens in turn, and the log probabilities are summed. Later tokens of the same word are masked
    as well, and all other tokens are visible: a word of several pieces is filled in from left to
    right, since its later pieces would reveal it (Kauf and Ivanova 2023, PLL-word-l2r).

    With words="all", all tokens of the text are masked in turn (a pseudo-log-likelihood, as in
    Salazar et al. 2020, section 2, who keep the rest of the word visible). With words="differing",
    only the tokens of the words between the common beginning and the common end of the two
    sentences are masked. The two scores can disagree: if a pair differs in a determiner, only "all"
    also measures how well the noun fits the determiner. The sum is not divided by the number of
    tokens, which may differ between the sentences: a word with more tokens has more factors.

    Args:
        model: Masked or causal language model; heads may be disabled (`AttentionModel.disabled`).
        pairs: Minimal pairs (`MinimalPair`), for example from `load_minimal_pairs`.
        words: Scored words of each sentence: "differing" or "all". None = "differing" for a masked
            language model; a causal model always scores all words.
        batch_size: Number of sentences in a forward pass. They have equal lengths, without padding.
        progress: Whether to show a progress bar.

    Raises:
        TypeError: If the model does not predict words, or `pairs` has other objects.
        ValueError: If there are no pairs; if differing words are requested from a causal model; if
            a pair has no differing words to mask, because a sentence contains the other sentence;
            if a sentence is too long for the model; or if the resume file belongs to another study.
        RuntimeError: If the model was closed, or another run writes the resume file.
        OSError, WorkersError: As in `measure`.
        KeyboardInterrupt: If Ctrl-C was pressed. The resume file has the finished work.

    Example:
        >>> from attnwidget import MinimalPair, load_model
        >>> from attnwidget.interventions import measure_minimal_pairs
        >>> pair = MinimalPair("The girl washed herself.", "The girl washed himself.")
        >>> measure_minimal_pairs(load_model(), [pair], progress=False)
        MinimalPairScores(small BERT (in the package), 1 pair: 100.0% right by their differing
        words)
    """
    refuse_no_model(model)
    pair_list = all_of(MinimalPair, pairs, _HOW)
    if not pair_list:
        raise ValueError(f"there are no pairs: {_HOW}")
    batch_size = whole_number("batch_size", batch_size, 1)
    if words is not None:
        one_of("words", words, get_args(PairWords))
    sentences = sentences_of(model, pair_list, words)
    sentences.sort(key=lambda sentence: len(sentence.encoded.ids))
    batches = list(of_one_length(sentences, batch_size, model.hf_model))
    study_key = {"inputs": digest_of(sentences), "batch_size": batch_size}
    results = ReadInputs(model, log_probabilities).results(batches)
    values, complete = input_numbers(
        "minimal pairs",
        study_key,
        model,
        results,
        batches,
        progress=progress,
        unit="sentence",
    )
    if not complete:
        raise KeyboardInterrupt
    scores = np.zeros((2, len(pair_list)))
    for sentence, value in zip(sentences, values, strict=True):
        scores[int(sentence.sign < 0), sentence.index] += value
    is_masked = prediction_task(model.hf_model) == "masked"
    scored_words: PairWords = words or ("differing" if is_masked else "all")
    return MinimalPairScores(
        tuple(pair_list), scores[0], scores[1], scored_words, model_name=model.name
    )


def log_probabilities(
    model: AttentionModel, examples: Sequence[TextExample]
) -> NDArray[np.float64]:
    """Return the score of each sentence of one length, or of its masked token, [B]."""
    batch = batch_of(model, examples)
    ids = batch.inputs["input_ids"]
    if prediction_task(model.hf_model) == "masked":
        # If a pair differs in one token, its sentences are equal after masking.
        unique_ids, row_of = ids.unique(dim=0, return_inverse=True)
        first_inputs = {name: value[: len(unique_ids)] for name, value in batch.inputs.items()}
        logits = _logits(model, {**first_inputs, "input_ids": unique_ids})[
            row_of, batch.columns
        ].float()
        assert batch.targets is not None
        values = torch.log_softmax(logits, -1).gather(-1, batch.targets[:, None])[:, 0]
    else:
        values = next_token_log_probabilities(_logits(model, batch.inputs), ids).sum(-1)
    return values.double().cpu().numpy()


def _logits(model: AttentionModel, inputs: Mapping[str, Tensor]) -> Tensor:
    # Run in a tap, so that rounding errors are the same with enabled and disabled heads.
    with torch.no_grad(), tap(model.hf_model, lambda _: None):
        return answer_logits(model.hf_model(**inputs))
