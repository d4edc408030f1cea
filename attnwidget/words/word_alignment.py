"""Word alignment by cross-attention, with its error rate (Kobayashi et al. 2020, section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from attnwidget.corpus.argument_checks import all_of, one_of, refuse_no_model
from attnwidget.corpus.each_input import numbers_of_each
from attnwidget.kernels.alignment_errors import (
    aligned_words,
    alignment_error_rate,
    link_hits,
)
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.significance import bootstrap_weights, percentile_interval
from attnwidget.text.aligned_pairs import AlignedPair, n_sure_links
from attnwidget.words.alignment_results import ROWS, AlignmentErrors
from attnwidget.words.pair_attention import PairAttention, Quantity

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

_DRAWS = 1000
_ADVICE = "read pairs with load_alignments(path, source, target)"

_Asked = tuple[AlignedPair, tuple[Quantity, ...]]


@in_plain_torch
def probe_alignment(
    model: AttentionModel,
    pairs: Iterable[AlignedPair],
    *,
    quantity: Literal["weights", "norms", "both"] = "both",
    progress: bool = True,
) -> AlignmentErrors:
    """Measure how well cross-attention aligns the words of translations (Kobayashi et al. 2020).

    Each target word is aligned with the source word to which it attends most. Weights or norms are
    summed over the tokens of a source word and averaged over the tokens of a target word. A target
    word that attends most to a special token, such as the end of the source, is not aligned. The
    alignment error rate (AER) compares the predicted links A with the sure links S and with the
    links P, which are sure or possible: AER = 1 - (|A and S| + |A and P|) / (|A| + |S|).

    The attention of a target token is read from two rows. The row "written" is the row whose output
    is the token, and the row "read" is the next row, whose input is the token (in the paper: AWO
    and AWI).

    The map of a layer is the mean of the weights over its heads, or the norm of the sum of the
    vectors a f(x) over its heads. The baseline is the diagonal, which aligns the words of both
    sentences in order. Intervals are 95 % bootstrap intervals over pairs.

    Args:
        model: Encoder-decoder with a tokenizer, such as a model for translation.
        pairs: Sentence pairs with their links.
        quantity: "weights" a, "norms" ||a f(x)||, or "both".
        progress: Whether to show a progress bar.

    Raises:
        TypeError: If `model` does not come from `load_model`, or a pair is not an `AlignedPair`.
        ValueError: If the model has no cross-attention to a text or no f(x), there are no pairs
            with sure links, or a word has no tokens; or as in `AttentionModel.attend`.
        KeyboardInterrupt: If Ctrl-C was pressed.

    Example:
        >>> from transformers import BartConfig, BartForConditionalGeneration
        >>> from attnwidget import load_model
        >>> from attnwidget.results import AlignedPair
        >>> from attnwidget.words import probe_alignment
        >>> tokenizer = load_model().tokenizer
        >>> config = BartConfig(vocab_size=len(tokenizer), d_model=16, encoder_layers=1,
        ...     decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
        ...     encoder_ffn_dim=16, decoder_ffn_dim=16)
        >>> model = load_model(BartForConditionalGeneration(config), tokenizer, device="cpu")
        >>> pairs = [AlignedPair.from_text("the cat sat", "it sat", "1-0 2-1")]
        >>> found = probe_alignment(model, pairs, progress=False)
        >>> found.quantities, found.rows, found.errors.shape
        (('weights', 'norms'), ('written', 'read'), (3, 2, 2, 2))
    """
    refuse_no_model(model)
    pair_list = all_of(AlignedPair, pairs, _ADVICE)
    one_of("quantity", quantity, ("weights", "norms", "both"))
    if not n_sure_links(pair_list):
        raise ValueError(f"the {len(pair_list)} pairs have no sure links: {_ADVICE}")
    if not getattr(model.hf_model.config, "is_encoder_decoder", False):
        raise ValueError(
            f"{type(model.hf_model).__name__} has no cross-attention: pass an encoder-decoder, for "
            "example a model for translation"
        )
    quantities: tuple[Quantity, ...] = ("weights", "norms") if quantity == "both" else (quantity,)
    numbers = numbers_of_each(
        "word alignment",
        model,
        [(pair, quantities) for pair in pair_list],
        _pair_numbers,
        unit="pair",
        progress=progress,
    )  # [3, Q, 2, L, 1 + H, N]
    n_sure = np.array([float(len(pair.sure)) for pair in pair_list])
    weights = bootstrap_weights(len(pair_list), _DRAWS).T  # [N, 1 + draws]
    rates = _rates(numbers, n_sure, weights)
    diagonal = np.stack([_diagonal_hits(pair) for pair in pair_list], axis=-1)
    return AlignmentErrors(
        quantities=quantities,
        rows=ROWS,
        errors=rates[..., 0],
        head_errors=rates[..., 1:],
        diagonal=_rates(diagonal, n_sure, weights),
        n_pairs=len(pair_list),
        n_links=int(n_sure.sum()),
        model=model,
        model_name=model.name,
    )


def _rates(numbers: Float64Array, n_sure: Float64Array, weights: Float64Array) -> Float64Array:
    """Return error rates with their intervals over pairs, [3, ...], for numbers [3, ..., N]."""
    rates = alignment_error_rate(numbers @ weights, n_sure @ weights)
    return percentile_interval(rates, len(n_sure))


def _diagonal_hits(pair: AlignedPair) -> Float64Array:
    """Return the `link_hits` of an alignment in the order of both sentences, [3]."""
    last = len(pair.source) - 1
    n = len(pair.target)
    predicted = np.array([round(word * last / max(1, n - 1)) for word in range(n)], np.int64)
    return link_hits(predicted, pair.sure, (*pair.sure, *pair.possible))


def _pair_numbers(model: AttentionModel, batch: Sequence[_Asked]) -> Float64Array:
    """Return the `link_hits` of one pair by quantity, row, layer and head, [3, Q, 2, L, 1 + H, 1].

    The first entry of the last axis but one is the layer, the other entries are its heads.
    """
    ((pair, quantities),) = batch
    attention = PairAttention(model, pair)
    links = (*pair.sure, *pair.possible)
    hits = [
        [
            link_hits(
                aligned_words(maps, attention.query_words(row), attention.key_words),
                pair.sure,
                links,
            )
            for row in ROWS
        ]
        for maps in map(attention.maps, quantities)
    ]
    return np.moveaxis(np.array(hits), 2, 0)[..., None]
