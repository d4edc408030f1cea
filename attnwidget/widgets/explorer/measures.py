"""Measurements of an explorer, on the current text and on a treebank in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.token_classes import axis_classes
from attnwidget.kernels.entropy import confidence
from attnwidget.metrics.head_distances import HeadDistances
from attnwidget.metrics.measure_heads import measure, measure_attention
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.shared.metric_table import Metrics
from attnwidget.words.relation_results import RelationAccuracies
from attnwidget.words.relations import Relations
from attnwidget.words.word_segments import WordSegmenter

#: Number of sentences per part. Other requests can use the model between two parts.
_AT_A_TIME = 32
#: Titles of the metrics that are shown for one input.
_SHOWN = ("entropy", "mean distance", "confidence", "to [CLS]", "to [SEP]", "to first token")


def text_metrics(attention: Attention) -> dict[str, Metrics]:
    """Return metrics of all heads on one input, by stack and title, float64 [L, H].

    The metrics are "entropy" in nats, "mean distance" in tokens, "confidence" (the mean of the
    largest weights), and the mean attention to [CLS] (or to the first token) and to [SEP], as in
    `measure`. Maps between different tokens, as in cross-attention, have no entropy and no
    distance. Pictures have no distance.

    Args:
        attention: Attention of the input.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.explorer.measures import text_metrics
        >>> metrics = text_metrics(load_model().attend("The cat sat."))["self"]
        >>> list(metrics), metrics["entropy"].shape
        (['entropy', 'mean distance', 'confidence', 'to [CLS]', 'to [SEP]'], (6, 12))
    """
    metrics_by_stack: dict[str, Metrics] = {}
    for name, stack in attention.stacks.items():
        if stack.query == stack.key:
            along_line = ("position",) if stack.query.are_along_line else ()
            names = ("entropy", *along_line, "confidence", "classes")
            heads = measure_attention(attention, names, stack=name).heads()
        else:
            heads = _of_other_tokens(torch.from_numpy(attention.weights(stack=name)), stack)
        if np.array_equal(heads.get("to [CLS]", ()), heads["to first token"]):
            del heads["to first token"]
        metrics_by_stack[name] = {title: heads[title] for title in _SHOWN if title in heads}
    return metrics_by_stack


def _of_other_tokens(weights: Tensor, stack: Stack) -> Metrics:
    """Return metrics [L, H] of maps [L, H, Q, K] whose keys are other tokens than the queries."""
    key_weights = weights.double().mean(-2)  # [L, H, K]
    metrics = {"confidence": confidence(weights).double().mean(-1).numpy()}
    for name, members in axis_classes(stack.key, {}).items():
        if any(members):
            metrics[f"to {name}"] = (
                key_weights[..., torch.tensor(members, dtype=torch.bool, device="cpu")]
                .sum(-1)
                .numpy()
            )
    return metrics


def text_distances(attention: Attention) -> HeadDistances:
    """Return Jensen-Shannon distances between all heads of the first stack on one input."""
    first = next(iter(attention.stacks))
    distances = measure_attention(attention, ["distances"], stack=first)["distances"]
    assert isinstance(distances, HeadDistances)
    return distances


def probe_in_parts(
    model: AttentionModel, sentences: Sequence[Sentence]
) -> Iterator[tuple[float, RelationAccuracies | None]]:
    """Measure like `probe_relations`, but in parts, so that others can use the model in between.

    Sentences that the model cannot read are left out and counted.

    Args:
        model: Model to measure.
        sentences: Sentences with annotated relations.

    Yields:
        The share of sentences that are done, with None and at the end with the result.

    Raises:
        ValueError: If the model has no tokenizer, or if it can read no sentence.
    """
    segments, n_skipped = WordSegmenter(model).segments(
        [sentence.running for sentence in sentences], True
    )
    total: Relations | None = None
    for first in range(0, len(segments), _AT_A_TIME):
        yield first / len(segments), None
        part = Relations(sentences, n_skipped=n_skipped)
        part_segments = segments[first : first + _AT_A_TIME]
        measure(model, part_segments, [part], batch_size=_AT_A_TIME, progress=False)
        if total is None:
            total = part
        else:
            total.merge(part)
    if total is not None:
        yield 1.0, total.compute()
