"""What an explorer measures itself: the text shown, and a treebank piece by piece."""

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

#: Sentences that are read before anything else may use the model.
_AT_A_TIME = 32
#: Numbers of one input that are shown, by title.
_SHOWN = ("entropy", "mean distance", "confidence", "to [CLS]", "to [SEP]", "to first token")


def text_metrics(attention: Attention) -> dict[str, Metrics]:
    """Metrics of all heads over one input: by stack and title, float64 [L, H].

    "entropy" in nats, "mean distance" in tokens, "confidence" (the mean largest weight), and the
    mean attention to [CLS] (or to the first token) and to [SEP], as in `measure`. Maps whose
    queries and keys are different tokens, as in cross-attention, have neither entropy nor distance,
    and pictures have no distance.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.explorer.measures import text_metrics
        >>> metrics = text_metrics(load_model().attend("The cat sat."))["self"]
        >>> list(metrics), metrics["entropy"].shape
        (['entropy', 'mean distance', 'confidence', 'to [CLS]', 'to [SEP]'], (6, 12))
    """
    measured: dict[str, Metrics] = {}
    for name, stack in attention.stacks.items():
        if stack.query == stack.key:
            along_line = ("position",) if stack.query.are_along_line else ()
            names = ("entropy", *along_line, "confidence", "classes")
            heads = measure_attention(attention, names, stack=name).heads()
        else:
            heads = _of_other_tokens(torch.from_numpy(attention.weights(stack=name)), stack)
        if np.array_equal(heads.get("to [CLS]", ()), heads["to first token"]):
            del heads["to first token"]
        measured[name] = {title: heads[title] for title in _SHOWN if title in heads}
    return measured


def _of_other_tokens(weights: Tensor, stack: Stack) -> Metrics:
    """Metrics [L, H] of maps [L, H, Q, K] to the tokens of another stack."""
    received = weights.double().mean(-2)  # [L, H, K]
    metrics = {"confidence": confidence(weights).double().mean(-1).numpy()}
    for name, members in axis_classes(stack.key, {}).items():
        if any(members):
            metrics[f"to {name}"] = (
                received[..., torch.tensor(members, dtype=torch.bool, device="cpu")].sum(-1).numpy()
            )
    return metrics


def text_distances(attention: Attention) -> HeadDistances:
    """Jensen-Shannon distances between all heads of the first stack over one input."""
    first = next(iter(attention.stacks))
    distances = measure_attention(attention, ["distances"], stack=first)["distances"]
    assert isinstance(distances, HeadDistances)
    return distances


def probe_in_parts(
    model: AttentionModel, sentences: Sequence[Sentence]
) -> Iterator[tuple[float, RelationAccuracies | None]]:
    """As `probe_relations`, leaving the model to others now and then.

    Yields the share of the sentences that are read, with None until all are and then with the
    result. Sentences that the model cannot read are left out, and counted.

    Raises:
        ValueError: a model without a tokenizer, or no sentence that the model can read.
    """
    segments, n_skipped = WordSegmenter(model).segments(
        [sentence.running for sentence in sentences], True
    )
    whole: Relations | None = None
    for first in range(0, len(segments), _AT_A_TIME):
        yield first / len(segments), None
        part = Relations(sentences, n_skipped=n_skipped)
        read = segments[first : first + _AT_A_TIME]
        measure(model, read, [part], batch_size=_AT_A_TIME, progress=False)
        if whole is None:
            whole = part
        else:
            whole.merge(part)
    if whole is not None:
        yield 1.0, whole.compute()
