"""Gradient importance: the change of the loss with the attention weights of each head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.answers.losses import LossName, task_for
from attnwidget.capture.tapping.gradients import attention_gradients
from attnwidget.corpus.accumulator import Batch, LayerBatch, Subject
from attnwidget.corpus.class_means import OTHER, ClassMeans
from attnwidget.corpus.results import LayerCurves, layer_means, per_head
from attnwidget.corpus.segment_means import SegmentMeansResult
from attnwidget.corpus.token_classes import TokenClass
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.inputs.pad_id import reads_single_texts
from attnwidget.kernels.gradients import class_importance

#: Ratio of gradients below which the loss depends little on attention to special tokens.
_SMALL_RATIO = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class GradientsResult(SegmentMeansResult):
    """Gradient importance of attention to classes of tokens (Clark et al. 2019, figure 3).

    The scale depends on the loss and on the length of documents. Compare classes, layers and heads
    within one measurement, not values of two measurements.

    Attributes:
        classes: Names of the C classes of the tokens before masking.
        values: |dL/da|, averaged over all pairs whose key is in the class, then over documents with
            the class, [C, L, H].
        documents: Number of documents with each class, int64 [C].
        loss: Mean loss of the documents in nats.
        loss_name: Name of the loss: "masked-LM" or "causal-LM".
        n_documents: Number of documents with a loss.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> found = measure(model, segments, ["gradients"], progress=False)["gradients"]
        >>> found.loss_name, found.values.shape
        ('masked-LM', (4, 6, 12))
    """

    classes: tuple[str, ...]
    values: NDArray[np.float64] = field(
        metadata=per_head("gradient to {name}", curve="{name}", each="classes")
    )
    documents: NDArray[np.int64]
    loss: float
    loss_name: str

    @property
    def finding(self) -> str:
        """The layer in which the loss depends least on attention to special tokens."""
        means = {name: layer_means(v) for name, v in zip(self.classes, self.values, strict=True)}
        others = means.pop(OTHER)
        means.pop(". ,", None)
        ratios = {name: values / others for name, values in means.items()}
        if not ratios:
            return ""
        name = min(ratios, key=lambda name: np.nanmin(ratios[name]))
        layer = int(np.nanargmin(ratios[name]))
        ratio = ratios[name][layer]
        if ratio > _SMALL_RATIO:
            return (
                "In every layer, the loss depends on attention to special tokens more than half as "
                "much as on attention to other tokens"
            )
        return (
            f"In L{layer}, the loss depends on attention to {name} {ratio:.2f} times as much as on "
            "attention to other tokens"
        )

    figure = LayerCurves(
        "Gradient importance",
        "mean |∂L/∂a|",
        subtitle="{self.model_name}, {self._inputs}, {self.loss_name} loss\n"
        "mean over all pairs whose key is in the class, then over segments",
    )


class Gradients(ClassMeans[GradientsResult]):
    """Metric: mean |dL/da| of every head for classes of tokens.

    The authors released no code for figure 3. Here, the loss L of a document is the mean cross
    entropy over 15 % of its tokens, masked as in BERT's training (80 % become the mask token, 10 %
    another token, 10 % are unchanged). For a causal model, L is over every next token. The
    derivative is with respect to the weight after the softmax, and the absolute value is taken
    before averaging. The metric costs an additional forward pass and a backward pass per batch.
    Measure it separately to save time.

    Args:
        loss: Loss: "masked", "causal", or "auto" for the training task of the model's head.
        seed: Seed of the masking, which otherwise depends only on the document.
        classes: Token classes in addition to "[CLS]" (or the first token), "[SEP]" and ". ,". All
            remaining tokens are "other tokens".

    Raises:
        TypeError: When the measurement starts, if the model has no language-modeling head or is an
            encoder-decoder.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat.", "It slept."], model)
        >>> found = measure(model, segments, [Gradients()], progress=False)["gradients"]
        >>> found.loss_name, found.values.shape
        ('masked-LM', (4, 6, 12))
    """

    name = "gradients"

    def __init__(
        self,
        loss: LossName = "auto",
        *,
        seed: int = 0,
        classes: Mapping[str, TokenClass] | None = None,
    ) -> None:
        super().__init__(classes)
        self.of_heads = {"values": (len(self._names),)}
        self.of_segments = {**self.of_segments, "loss": (), "with_loss": ()}
        self._loss: LossName = loss
        self._seed = seed
        self._loss_name = ""

    @property
    def options(self) -> dict[str, Any]:
        return super().options | {"loss": self._loss, "seed": self._seed}

    def start(self, subject: Subject) -> None:
        """Prepare for a model.

        Raises:
            TypeError: If the model has no head for this loss.
        """
        super().start(subject)
        model = subject.needed_model("gradients")
        if self.stack == "encoder":
            raise TypeError(
                f"gradients are measured in models with one stack, and {model.name} is an "
                "encoder-decoder: for a single input, use attend(text, target=..., loss='causal')"
            )
        self._model = model
        self._options = without_cache(model.hf_model)
        example_ids = [model.tokenizer("a b c").input_ids]
        ids = torch.tensor(example_ids, dtype=torch.long, device="cpu")
        task = task_for(model.hf_model, model.tokenizer, {"input_ids": ids}, self._loss, 0)
        self._loss_name = task.name

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        """Return nothing, because maps of the unmasked input are not needed."""
        return {}

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        """Run the batch forward and backward, and add the values of all heads."""
        model = self._model
        if len(batch.segments) > 1 and reads_single_texts(model.hf_model):
            raise ValueError(
                f"{type(model.hf_model).__name__} has no padding token, so it reads no batches: "
                "measure(..., batch_size=1), or set "
                "model.hf_model.config.pad_token_id to the padding token of its training"
            )
        with model.lock.in_turn():
            task = task_for(model.hf_model, model.tokenizer, batch.inputs, self._loss, self._seed)
            gradients, losses = attention_gradients(model.hf_model, task, self._options)
        # A document that is too short for any prediction has no loss.
        has_loss = losses > 0
        members = self.members(batch)  # [B, C, n]
        for layer in gradients:
            pairs = batch.real[:, None, :, None] & has_loss[:, None, None, None]
            if layer.visible is not None:
                pairs = pairs & layer.visible[:, :1]
            by_class = [
                class_importance(layer.values, pairs & members[:, None, c, None])[0]
                for c in range(len(self._names))
            ]
            self.add(layer.layer, {"values": torch.stack(by_class, -1)})
        present = members.any(-1) & has_loss[:, None]
        return {"with_class": present, "loss": losses, "with_loss": has_loss}

    def compute(self) -> GradientsResult:
        class_indices = self.shown()
        n = int(self.counted("with_loss"))
        return GradientsResult(
            classes=tuple(self._names[c] for c in class_indices),
            values=self.mean("values", over="with_class")[class_indices],
            documents=self.counted("with_class")[class_indices],
            loss=float(self.sums["loss"]) / max(n, 1),
            loss_name=self._loss_name,
            n_documents=n,
            model_name=self.model_name,
        )
