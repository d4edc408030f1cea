"""How much heads attend to classes of tokens, such as separators (Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from attnwidget.kernels.classes import class_mass
from attnwidget.studies.accumulator import Accumulator, Batch, LayerBatch, document_sums
from attnwidget.studies.surface_results import ClassesResult
from attnwidget.studies.token_classes import STANDARD_CLASSES, TokenClass

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


class Classes(Accumulator[ClassesResult]):
    """Attention to classes of tokens: [CLS], [SEP], full stops and commas, the first token, yours.

    Clark et al. 2019, section 3.2. A class's mass is summed over its tokens in a document, averaged
    over all queries, then over documents; a document without such a token counts with 0. Attention
    to [SEP] from [SEP] itself and from all other tokens is averaged over those queries, over the
    documents that have a [SEP].

    Args:
        classes: further classes by name, each a collection of tokens as a reader sees them, or a
            function from `Tokens` to one bool a token.
        variant: "released" divides [SEP] to [SEP] by 2 and the others by n - 2 whatever the real
            number of [SEP] is, as the authors' code does; it is the same for pairs.

    Raises:
        ValueError: another variant.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.engine import measure
        >>> from attnwidget.studies.inputs import make_segments
        >>> from attnwidget.studies.classes import Classes
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> found = measure(model, segments, [Classes({"articles": {"the"}})], progress=False)
        >>> list(found["classes"].heads())[3:5]
        ['to first token', 'to articles']
    """

    name: ClassVar[str] = "classes"

    def __init__(
        self,
        classes: Mapping[str, TokenClass] | None = None,
        *,
        variant: Literal["paper", "released"] = "paper",
    ) -> None:
        if variant not in ("paper", "released"):
            raise ValueError(f"variant is 'paper' or 'released', got {variant!r}")
        self.classes = dict(classes or {})
        self.variant = variant

    @property
    def options(self) -> dict[str, Any]:
        named = {
            name: getattr(c, "__qualname__", repr(c)) if callable(c) else sorted(c)
            for name, c in self.classes.items()
        }
        return {"classes": named, "variant": self.variant}

    @property
    def token_classes(self) -> Mapping[str, TokenClass]:
        return self.classes

    def start(self, model: AttentionModel, n_layers: int, n_heads: int) -> None:
        super().start(model, n_layers, n_heads)
        self._names = [*STANDARD_CLASSES, *self.classes]
        self.sums = {
            "mass": np.zeros((len(self._names), n_layers, n_heads)),
            "to_sep": np.zeros((2, n_layers, n_heads)),
            "documents": np.zeros((), np.int64),
            "with_class": np.zeros(len(self._names), np.int64),
        }

    def update(self, layer: LayerBatch) -> None:
        batch, at = layer.batch, layer.layer
        if at == 0:  # the same for all layers of the batch
            sep = batch.classes["[SEP]"]
            groups = [self._mean(sep, 2), self._mean(batch.real & ~sep, batch.lengths - 2)]
            self._rows = torch.stack([batch.row_weights, *groups], 1)
            members = torch.stack([batch.classes[name] for name in self._names], 1)
            self._members = members.to(layer.weights.dtype)
            self._with_sep = sep.any(-1)[:, None, None]
        mass = class_mass(layer.weights, self._rows, self._members)  # [B, H, 3, C]
        to_sep = mass[:, :, 1:, self._names.index("[SEP]")] * self._with_sep
        self.sums["mass"][:, at] += document_sums(mass[:, :, 0])
        self.sums["to_sep"][:, at] += document_sums(to_sep)

    def end_batch(self, batch: Batch) -> None:
        self.sums["documents"] += len(batch.segments)
        self.sums["with_class"] += [int(batch.classes[name].any(-1).sum()) for name in self._names]

    def compute(self) -> ClassesResult:
        with_class = dict(zip(self._names, self.sums["with_class"].tolist(), strict=True))
        with np.errstate(invalid="ignore"):  # without any [SEP] there is no such mean
            from_sep, from_others = self.sums["to_sep"] / with_class["[SEP]"]
        return ClassesResult(
            self.model_name,
            int(self.sums["documents"]),
            tuple(self._names),
            self.sums["mass"] / self.sums["documents"],
            from_sep,
            from_others,
            with_class,
        )

    def _mean(self, queries: Tensor, released: int | Tensor) -> Tensor:
        """Row weights [B, n] whose sums are means over `queries`."""
        count = queries.sum(-1) if self.variant == "paper" else torch.as_tensor(released)
        count = count.to(queries.device).expand(len(queries))
        return queries / count.clamp_min(1)[:, None]
