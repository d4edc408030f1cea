"""What an explorer measures itself: the text shown, and a treebank piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.stack import Stack
from attnwidget.kernels.divergence import js_divergences
from attnwidget.kernels.entropy import confidence, entropy
from attnwidget.kernels.position import mean_distances
from attnwidget.studies.distances import HeadDistances
from attnwidget.studies.engine import measure_one
from attnwidget.studies.relation_results import RelationAccuracies
from attnwidget.studies.relations import Relations
from attnwidget.studies.word_segments import WordSegmenter
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.metrics import Metrics

#: Sentences that are read before anything else may use the model.
_AT_A_TIME = 32
#: Specials whose attention is measured, in this order.
_SPECIALS = ("cls", "sep", "first")


def text_metrics(attention: Attention) -> dict[str, Metrics]:
    """Metrics of all heads over one input: by stack and title, float64 [L, H].

    "entropy" in nats, "mean distance" in tokens, "confidence" (the mean largest weight), and the
    mean attention to all special tokens of a kind together. Means are over all queries, special
    ones included. Maps with other tokens on one axis than on the other, as in cross-attention, have
    neither entropy nor distance.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.explorer_measures import text_metrics
        >>> metrics = text_metrics(load_model().attend("The cat sat."))["self"]
        >>> list(metrics), metrics["entropy"].shape
        (['entropy', 'mean distance', 'confidence', 'to [CLS]', 'to [SEP]'], (6, 12))
    """
    found: dict[str, Metrics] = {}
    for stack in attention.stacks.values():
        layers = [
            _of_layer(torch.from_numpy(attention.weights(layer, stack=stack.name))[None], stack)
            for layer in range(stack.n_layers)
        ]
        found[stack.name] = {
            title: np.stack([layer[title] for layer in layers]).astype(np.float64)
            for title in layers[0]
        }
    return found


def _of_layer(weights: Tensor, stack: Stack) -> dict[str, NDArray[np.float32]]:
    """Metrics of one layer's maps [1, H, Q, K], each [H]."""
    n_query, n_key = weights.shape[-2:]
    metrics: dict[str, Tensor] = {}
    if stack.query is stack.key or stack.query == stack.key:
        metrics["entropy"] = entropy(weights, torch.tensor([n_key])).mean(-1)[0]
        rows = torch.full((1, n_query), 1 / n_query)
        metrics["mean distance"] = mean_distances(weights, rows)[0, :, 1]
    metrics["confidence"] = confidence(weights).mean(-1)[0]
    for kind in _SPECIALS:
        at = [i for i, special in enumerate(stack.key.special) if special == kind]
        if at:
            name = "first token" if kind == "first" else stack.key.raw[at[0]]
            metrics[f"to {name}"] = weights[..., at].sum(-1).mean(-1)[0]
    return {title: values.numpy() for title, values in metrics.items()}


def text_distances(attention: Attention) -> HeadDistances:
    """Jensen-Shannon distances between all heads of the first stack over one input."""
    stack = next(iter(attention.stacks.values()))
    maps = torch.from_numpy(attention.weights(stack=stack.name)).flatten(0, 1)
    return HeadDistances(
        distances=js_divergences(maps).numpy(),
        n_tokens=len(stack.query),
        n_documents=1,
        n_layers=stack.n_layers,
        n_heads=stack.n_heads,
        stack=stack.name,
        model_name=attention.model_name,
    )


def probe_in_parts(
    model: AttentionModel, sentences: Sequence[Sentence]
) -> Iterator[tuple[float, RelationAccuracies | None]]:
    """As `probe_relations`, leaving the model to others now and then.

    Yields the share of the sentences that are read, with None until all are and then with the
    result. Sentences that the model cannot read are left out, and counted.

    Raises:
        ValueError: a model without a fast tokenizer, or no sentence that the model can read.
    """
    segments, n_skipped = WordSegmenter(model).segments(
        [(sentence.words, sentence.label) for sentence in sentences], True
    )
    whole: Relations | None = None
    for first in range(0, len(segments), _AT_A_TIME):
        yield first / len(segments), None
        part = Relations(sentences, n_skipped=n_skipped)
        measure_one(
            model,
            segments[first : first + _AT_A_TIME],
            part,
            batch_size=_AT_A_TIME,
            progress=False,
            checkpoint=None,
        )
        if whole is None:
            whole = part
        else:
            whole.merge(part)
    if whole is not None:
        yield 1.0, whole.compute()
