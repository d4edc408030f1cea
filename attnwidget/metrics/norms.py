"""Norms of the vectors that attention weights scale, for classes of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch, Subject
from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.class_means import ClassMeans
from attnwidget.corpus.head_projections import HeadProjections
from attnwidget.corpus.results import layer_means, per_head
from attnwidget.corpus.segment_means import SegmentMeansResult
from attnwidget.corpus.token_classes import TokenClass
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.norms import norms_of_products, summed_norm_maps, value_products
from attnwidget.kernels.pair_histogram import SIZE, bin_indices, pair_counts
from attnwidget.metrics.norm_pairs import ALL, NormPairs
from attnwidget.metrics.norms_by_frequency import (
    NormsByFrequency,
    TokenOccurrences,
    norms_by_frequency,
)
from attnwidget.text.percent import percent

if TYPE_CHECKING:
    import altair as alt

#: Smallest excess of a share of attention over the share of norms that is worth a sentence.
_EXCESS = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class NormsResult(SegmentMeansResult):
    """Attention to classes of tokens by weight and by norm (Kobayashi et al. 2020, section 4).

    All values are means over documents. A document without a class counts as 0 in `weights`,
    `weighted_norms` and `layer_norms`, and is excluded from `norms`.

    Attributes:
        classes: Names of the C classes.
        weights: Weight on all tokens of the class together, averaged over the queries, [C, L, H].
        weighted_norms: Norm ||a f(x)|| in the same form, [C, L, H].
        norms: Norm ||f(x)||, averaged over the tokens of the class, [C, L, H].
        layer_norms: Norm of the sum over heads of a f(x), in the form of `weighted_norms`, [C, L];
            None without `layer_level`.
        documents: Number of documents with a token of each class, int64 [C].
        pairs: Weights and norms of all pairs of tokens; None without `each_token`.
        occurrences: Weight and norm of each token in each document; None without `each_token`.
        n_documents: Number of all documents.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat."], model)
        >>> found = measure(model, segments, ["norms"], progress=False)["norms"]
        >>> found.classes, found.weighted_norms.shape
        (('[CLS]', '[SEP]', '. ,', 'other tokens'), (4, 6, 12))
    """

    classes: tuple[str, ...]
    weights: Float64Array
    weighted_norms: Float64Array = field(metadata=per_head("norm to {name}", each="classes"))
    norms: Float64Array = field(metadata=per_head("norm of {name}", each="classes"))
    layer_norms: Float64Array | None
    documents: NDArray[np.int64]
    pairs: NormPairs | None = None
    occurrences: TokenOccurrences | None = None

    def by_frequency(self, counts: Mapping[str, int] | None = None) -> NormsByFrequency:
        """Compare the norms of tokens with their frequency (Kobayashi et al. 2020, Figure 5).

        Args:
            counts: Frequency of tokens in a larger corpus, such as a `collections.Counter` of
                `model.tokenizer.tokenize(text)`; tokens without a count have the last rank. None =
                the frequency in the measured segments.

        Returns:
            Mean norm and weight of each token, with rank correlations and a chart.

        Raises:
            ValueError: If the norms were measured without `each_token`, or `counts` has none of the
                tokens.

        Example:
            >>> from attnwidget import load_model, make_segments, measure
            >>> from attnwidget.metrics import Norms
            >>> model = load_model()
            >>> segments = make_segments(["The cat sat on the mat."], model)
            >>> norms = measure(model, segments, [Norms(each_token=True)], progress=False)["norms"]
            >>> norms.by_frequency().tokens[0]
            'the'
        """
        if self.occurrences is None:
            raise ValueError(
                "by_frequency needs the norms of each token: "
                "measure(model, segments, [Norms(each_token=True)])"
            )
        return norms_by_frequency(
            self.occurrences, counts, n_documents=self.n_documents, model_name=self.model_name
        )

    @property
    def finding(self) -> str:
        """The class whose share of the attention exceeds its share of the norms most."""
        weights = np.stack([layer_means(values) for values in self.weights])  # [C, L]
        norms = np.stack([layer_means(values) for values in self.weighted_norms])
        shares = norms / norms.sum(0)
        excess = weights - shares
        if not np.isfinite(excess).any() or np.nanmax(excess) < _EXCESS:
            return (
                "In every layer, the classes of tokens have about the same shares of the norms and "
                "of the attention"
            )
        c, layer = np.unravel_index(np.nanargmax(excess), excess.shape)
        return (
            f"In L{layer}, {self.classes[c]} gets {percent(weights[c, layer])} of the attention, "
            f"but has {percent(shares[c, layer])} of the norms"
        )

    def chart(self, *, width: int = 640) -> alt.VConcatChart:
        """Draw weights and norms of every head side by side (Kobayashi et al. 2020, figure 3).

        Args:
            width: Width of the whole figure in pixels.
        """
        import pandas as pd

        from attnwidget.charts.curve_panels import curve_panels

        quantities = {"attention weight a": self.weights, "norm of a f(x)": self.weighted_norms}
        frames = []
        for quantity, values in quantities.items():
            c, layer, head = (i.ravel() for i in np.indices(values.shape))
            columns = {"layer": layer, "head": head, "series": np.array(self.classes)[c]}
            frames.append(pd.DataFrame(columns | {"quantity": quantity, "value": values.ravel()}))
        title = (
            f"Attention by weight and by norm\n{self.model_name}, {self._inputs}\n"
            "sums over the tokens of a class, mean over queries and segments"
        )
        return curve_panels(pd.concat(frames, ignore_index=True), title=title, width=width)


class Norms(ClassMeans[NormsResult]):
    """Metric: a, ||a f(x)|| and ||f(x)|| of every head for classes of tokens.

    f(x) is the value after the head's part of the output projection, with the value bias and
    without the output bias (Kobayashi et al. 2020, section 3, and their code).

    Args:
        classes: Token classes in addition to "[CLS]" (or the first token), "[SEP]" and ". ,". All
            remaining tokens are "other tokens".
        layer_level: Whether to measure the norm of the sum over heads as well. It costs about 20 %
            of the forward pass; the other values cost 3 %.
        variant: Handling of documents without a class. "skip" excludes them from ||f(x)|| of the
            class, and "released" gives NaN, as in the authors' code.

    Raises:
        ValueError: If the variant is unknown; or, when the measurement starts, if the model has no
            f(x).

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat.", "It slept."], model)
        >>> measure(model, segments, [Norms()], progress=False)["norms"].classes
        ('[CLS]', '[SEP]', '. ,', 'other tokens')
    """

    name = "norms"

    def __init__(
        self,
        classes: Mapping[str, TokenClass] | None = None,
        *,
        layer_level: bool = False,
        each_token: bool = False,
        variant: Literal["skip", "released"] = "skip",
    ) -> None:
        one_of("variant", variant, ("skip", "released"))
        super().__init__(classes)
        names = ["weights", "weighted_norms", "norms", *["layer_norms"] * layer_level]
        self.of_heads = dict.fromkeys(names, (len(self._names),))
        self._layer_level = layer_level
        self._each_token = each_token
        self._variant = variant

    @property
    def options(self) -> dict[str, Any]:
        # Resume files of earlier versions have no entry for `each_token`.
        each_token = {"each_token": True} if self._each_token else {}
        return super().options | {"layer_level": self._layer_level} | each_token

    def start(self, subject: Subject) -> None:
        """Find the output projections and check them in a short forward pass.

        Raises:
            ValueError: If the model's heads have no f(x).
        """
        super().start(subject)
        model = subject.needed_model("norms")
        self._projections = HeadProjections(model, self.stack)
        if refused := self._projections.refused:
            raise ValueError(
                f"norms are not defined for {type(model.hf_model).__name__}: {refused}, so a "
                "token's contribution through one head is not a vector; measure the weights alone"
            )
        if self._each_token:
            if self.keeps_each:
                raise ValueError(
                    "the numbers of each segment are kept without those of each token: pass "
                    "each_token=False"
                )
            self._tokenizer = model.tokenizer
            self.sums["pairs"] = np.zeros((len(self._names) + 1, *SIZE), np.int64)
            self.rows = {"token": np.zeros((0, 4))}

    def begin_batch(self, layer: LayerBatch) -> None:
        self._members = self.members(layer.batch).float()
        if self._each_token:
            self._pairs = torch.zeros(
                self.sums["pairs"].shape, dtype=torch.long, device=layer.weights.device
            )
            of_token = layer.batch.real.shape
            self._of_tokens = self._members.new_zeros((2, *of_token), dtype=torch.float64)

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        assert layer.seen is not None and layer.seen.value is not None
        value = layer.seen.value
        module = layer.seen.module
        weights = layer.weights
        rows = layer.batch.row_weights
        to_classes = self._members.transpose(-1, -2)  # [B, n, C]
        numbers: dict[str, Tensor] = {}
        if self._layer_level:
            shares = self._projections.of_heads(module, self.n_heads)
            products = value_products(value, shares)
            norms = norms_of_products(products)  # [B, H, n]
            maps = summed_norm_maps(weights, products)
            received = rows[:, None] @ maps  # [B, 1, n]
            # This norm is the same for all heads of the layer.
            numbers["layer_norms"] = (received * self._members).sum(-1)[:, None]
        else:
            norms = self._projections.norms(layer)
        received = (rows[:, None, None] @ weights).squeeze(-2)  # [B, H, n]
        if self._each_token:
            self._add_tokens(layer, received, norms)
        share = to_classes / to_classes.sum(-2, keepdim=True).clamp_min(1)
        return numbers | {
            "weights": received @ to_classes,  # [B, H, C]
            "weighted_norms": (received * norms) @ to_classes,
            "norms": norms @ share,
        }

    def _add_tokens(self, layer: LayerBatch, received: Tensor, norms: Tensor) -> None:
        """Add all pairs of tokens of a layer, and the means of its heads for each token."""
        weights = layer.weights
        self._of_tokens += torch.stack([received.mean(1), norms.mean(1)]) / self.n_layers
        pair_bins = bin_indices(weights, 0) * SIZE[1] + bin_indices(norms, 1)[:, :, None]
        real = layer.batch.real
        # Keys that a query cannot see have the weight 0.
        counts = (weights > 0) & real[:, None, :, None]
        members = [*self._members.bool().unbind(1), real]
        for c, keys in enumerate(members):
            self._pairs[c] += pair_counts(pair_bins[counts & keys[:, None, None]])

    def end_batch(self, batch: Batch) -> None:
        super().end_batch(batch)
        if not self._each_token:
            return
        self.sums["pairs"] += self._pairs.cpu().numpy()
        real = batch.real
        # The first class of a token: "first token" is the last of the standard classes.
        classes = self._members.argmax(1)
        columns = [batch.inputs["input_ids"].double(), classes.double(), *self._of_tokens]
        rows = torch.stack(columns, -1)[real].cpu().numpy()
        new_rows = self.add_rows(len(rows))
        self.rows["token"][new_rows] = rows

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        return {"with_class": self._members.amax(-1)}

    def compute(self) -> NormsResult:
        class_indices = self.shown()
        documents = self.counted("with_class")[class_indices]
        norms = self.mean("norms", over="with_class")[class_indices]
        if self._variant == "released":
            norms[documents < self.n_segments] = np.nan
        layer_norms = self.mean("layer_norms")[class_indices, :, 0] if self._layer_level else None
        return NormsResult(
            classes=tuple(self._names[c] for c in class_indices),
            weights=self.mean("weights")[class_indices],
            weighted_norms=self.mean("weighted_norms")[class_indices],
            norms=norms,
            layer_norms=layer_norms,
            documents=documents,
            pairs=self._norm_pairs(class_indices) if self._each_token else None,
            occurrences=self._occurrences() if self._each_token else None,
            n_documents=self.n_segments,
            model_name=self.model_name,
        )

    def _norm_pairs(self, class_indices: list[int]) -> NormPairs:
        return NormPairs(
            classes=(*(self._names[c] for c in class_indices), ALL),
            counts=self.sums["pairs"][[*class_indices, -1]],
            n_documents=self.n_segments,
            model_name=self.model_name,
        )

    def _occurrences(self) -> TokenOccurrences:
        ids, classes, weights, norms = self.rows["token"].T
        distinct, inverse = np.unique(ids.astype(np.int64), return_inverse=True)
        names = self._tokenizer.convert_ids_to_tokens(distinct.tolist())
        return TokenOccurrences(
            tokens=np.array(names, object)[inverse],
            weights=weights,
            norms=norms,
            classes=self._names,
            class_indices=classes.astype(np.int64),
        )
