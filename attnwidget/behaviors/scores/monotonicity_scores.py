"""Cross-attention heads that follow the order of the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from attnwidget.behaviors.behavior_score import t_test
from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.each_input import numbers_of_each
from attnwidget.corpus.results import HeadHeatMap, HeadResult, per_head
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.significance import holm
from attnwidget.text.counted import counted
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    pass

_FEWEST = 3
_SHORTEST = 3

Asked = tuple[str, str, str]


@dataclass(frozen=True, eq=False, repr=False)
class MonotonicityScores(HeadResult):
    """How well each cross-attention head follows the order of the source.

    Made by `monotonicity_scores`.

    L and H are the numbers of layers and heads of the decoder's cross-attention.

    Attributes:
        score: Monotonicity averaged over the pairs, -1 to 1, float64 [L, H].
        control: Monotonicity with the target of another pair, [L, H].
        low: Lower end of the 95 % interval of score minus control, [L, H].
        high: Upper end of the interval, [L, H].
        adjusted: One-sided p-value that score minus control is not above 0, after Holm's correction
            over all heads, [L, H].
        n_pairs: Number of pairs of texts.
        model_name: Name of the model.

    Example:
        >>> import numpy as np
        >>> from attnwidget.results import MonotonicityScores
        >>> score = np.array([[0.8, 0.1]])
        >>> found = MonotonicityScores(score=score, control=0 * score, low=score - 0.2,
        ...     high=score + 0.2, adjusted=np.array([[0.01, 0.9]]), n_pairs=9, model_name="BART")
        >>> found.aligned
        array([[ True, False]])
    """

    score: Float64Array = field(metadata=per_head("alignment"))
    control: Float64Array = field(metadata=per_head("alignment, control"))
    low: Float64Array
    high: Float64Array
    adjusted: Float64Array
    n_pairs: int

    figure = HeadHeatMap(
        "_excess",
        "Monotonicity of cross-attention",
        "score - control",
        "{self.model_name}; control: the target of another pair; {self._inputs}; "
        "dots: above the control",
        marked="aligned",
        diverging=True,
    )

    @property
    def _excess(self) -> Float64Array:
        return self.score - self.control

    @property
    def _inputs(self) -> str:
        return counted(self.n_pairs, "pair")

    @property
    def aligned(self) -> NDArray[np.bool_]:
        """Whether the adjusted p-value of a head is at most 0.05, [L, H]."""
        return np.asarray(self.adjusted <= 0.05)


@in_plain_torch
@says_cuts
def monotonicity_scores(
    model: AttentionModel,
    pairs: Iterable[tuple[str, str]],
    *,
    progress: bool = True,
) -> MonotonicityScores:
    """Score how well every cross-attention head of an encoder-decoder follows the source's order.

    Monotonicity is no alignment of words: a head may align the words of two languages with
    different word orders and have a small score. `attnwidget.words.probe_alignment` measures the
    alignment of words, with gold links.

    The score is the monotonicity of a map: Spearman's rank correlation between the position of a
    target token and the mean position of the source tokens that it attends to. Attention to
    special tokens is excluded. The control is the same source with the target of the next pair. A
    head that moves forward in every text keeps its score, but a head that finds the counterparts of
    words loses its score. The test is Student's t over pairs, for score minus control.

    The score suits languages of similar word order, and speech.

    Args:
        model: Encoder-decoder with a tokenizer, such as a model for translation or summaries.
        pairs: Source and target texts, 3 pairs or more; each target is the text of the decoder.
        progress: Whether to show a progress bar.

    Raises:
        TypeError: If `model` does not come from `load_model`, or a pair is not two texts.
        ValueError: If the model has no cross-attention, there are fewer than 3 pairs, or a text has
            fewer than 3 ordinary tokens; or as in `AttentionModel.attend`.
        KeyboardInterrupt: If Ctrl-C was pressed. The resume file has the finished work.
        RuntimeError, OSError, WorkersError: As in `measure`.

    Example:
        >>> from transformers import BartConfig, BartForConditionalGeneration
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors import monotonicity_scores
        >>> tokenizer = load_model().tokenizer
        >>> config = BartConfig(vocab_size=len(tokenizer), d_model=16, encoder_layers=1,
        ...     decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
        ...     encoder_ffn_dim=16, decoder_ffn_dim=16)
        >>> model = load_model(BartForConditionalGeneration(config), tokenizer, device="cpu")
        >>> pairs = [("The cat sat.", "It sat there."), ("He went home.", "They went home."),
        ...     ("She saw the ship.", "The ship was seen.")]
        >>> monotonicity_scores(model, pairs, progress=False).score.shape
        (2, 2)
    """
    refuse_no_model(model)
    if not getattr(model.hf_model.config, "is_encoder_decoder", False):
        raise ValueError(
            f"{type(model.hf_model).__name__} has no cross-attention: pass an encoder-decoder, for "
            "example a model for translation"
        )
    triples = _with_other_targets(pairs)
    numbers = numbers_of_each(
        "alignment",
        model,
        triples,
        _pair_numbers,
        unit="pair",
        progress=progress,
    )
    score, control = numbers.mean(-1)
    test = t_test(numbers)
    return MonotonicityScores(
        score=score,
        control=control,
        low=test.low,
        high=test.high,
        adjusted=holm(test.p),
        n_pairs=len(triples),
        model_name=model.name,
    )


def _with_other_targets(pairs: Iterable[tuple[str, str]]) -> list[Asked]:
    """Return each source and target with the target of the next pair."""
    pair_list = list(pairs)
    for number, pair in enumerate(pair_list):
        if (
            not isinstance(pair, (tuple, list))
            or len(pair) != 2
            or not all(isinstance(text, str) for text in pair)
        ):
            raise TypeError(f"pair {number} is {pair!r:.80}: pass (source, target), two texts")
    if len(pair_list) < _FEWEST:
        raise ValueError(f"{len(pair_list)} pairs are too few for a test: pass {_FEWEST} or more")
    next_pairs = [*pair_list[1:], pair_list[0]]
    return [
        (source, target, other)
        for (source, target), (_, other) in zip(pair_list, next_pairs, strict=True)
    ]


def _pair_numbers(model: AttentionModel, batch: Sequence[Asked]) -> NDArray[np.float64]:
    """Return score and control of one pair, [2, L, H, 1]."""
    ((source, target, other),) = batch
    return np.array(
        [_of_texts(model, source, other_or_target) for other_or_target in (target, other)]
    )[..., None]


def _of_texts(model: AttentionModel, source: str, target: str) -> Float64Array:
    """Return the monotonicity of every cross-attention head, [L, H]."""
    attention = model.attend(source, target=target)
    stack = attention.stacks["cross"]
    queries, keys = (_ordinary(axis) for axis in (stack.query, stack.key))
    for text, tokens in ((target, queries), (source, keys)):
        if len(tokens) < _SHORTEST:
            raise ValueError(
                f"{text!r:.60} has {len(tokens)} ordinary tokens: pass texts of {_SHORTEST} tokens "
                "or more"
            )
    return monotonicity(attention.weights(stack="cross")[..., queries, :][..., keys])


def _ordinary(axis: Tokens) -> list[int]:
    """Return the positions of the tokens that are not special."""
    return [position for position, word in enumerate(axis.words) if word is not None]


# Digits to which the mean key position is rounded, so that rounding errors of even attention do
# not count as an order.
_DIGITS = 4


def monotonicity(weights: NDArray[np.floating]) -> Float64Array:
    """Return Spearman's correlation of query position and mean key position.

    1 means that each query attends to later keys than the query before. A head whose mean position
    is the same for all queries has 0.

    Args:
        weights: Attention from queries to keys, [..., Q, K]; rows need not sum to 1.

    Returns:
        Correlations, float64 [...].

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviors.scores.monotonicity_scores import monotonicity
        >>> monotonicity(np.stack([np.eye(3), np.eye(3)[::-1], np.ones((3, 3))])).tolist()
        [1.0, -1.0, 0.0]
    """
    values = np.asarray(weights, np.float64)
    n_queries, n_keys = values.shape[-2:]
    mass = values.sum(-1)
    position = values @ np.arange(n_keys, dtype=np.float64)
    mean = np.divide(position, mass, out=np.zeros_like(mass), where=mass > 0)
    ranks = scipy.stats.rankdata(mean.round(_DIGITS), axis=-1) - (n_queries + 1) / 2
    order = np.arange(n_queries) - (n_queries - 1) / 2
    size = np.sqrt((ranks**2).sum(-1) * (order**2).sum())
    correlations: Float64Array = np.divide(
        ranks @ order, size, out=np.zeros(values.shape[:-2]), where=size > 0
    )
    return correlations
