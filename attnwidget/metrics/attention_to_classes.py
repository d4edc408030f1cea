"""Attention to classes of tokens, such as separators (Clark et al. 2019, 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import LayerBatch
from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.results import LayerCurves, layer_means, per_head
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.corpus.token_classes import STANDARD_CLASSES, TokenClass, described
from attnwidget.hidden_frames import hides_frames
from attnwidget.metrics.class_mass import ClassMass, ClassTable, even_mass
from attnwidget.text.percent import percent

if TYPE_CHECKING:
    import altair as alt

#: Share of the attention in a layer from which its heads are said to rest on a class of tokens.
_RESTING = 0.1
_LABELS = {". ,": "periods and commas", "first token": "the first token"}


@dataclass(frozen=True, eq=False, repr=False)
class ClassesResult(SegmentMeansResult):
    """Attention to classes of tokens.

    Attributes:
        names: Names of the C classes.
        mass: Mean attention to all tokens of a class together, [C, L, H].
        sep_to_sep: Mean attention from a [SEP] to all [SEP], [L, H]; NaN without [SEP].
        other_to_sep: Mean attention from all other tokens to all [SEP], [L, H].
        with_class: Number of documents with a token of the class, by class.
        even: Attention to each class if every token attended equally to all visible tokens, [C].

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> found = measure_attention(load_model().attend("The cat sat."), ["classes"])["classes"]
        >>> found.names, found.mass.shape
        (('[CLS]', '[SEP]', '. ,', 'first token'), (4, 6, 12))
    """

    names: tuple[str, ...]
    mass: NDArray[np.float64] = field(
        metadata=per_head("to {name}", each="names", counts="with_class")
    )
    sep_to_sep: NDArray[np.float64] = field(metadata=per_head("[SEP] to [SEP]", optional=True))
    other_to_sep: NDArray[np.float64] = field(metadata=per_head("other to [SEP]", optional=True))
    with_class: Mapping[str, int]
    even: NDArray[np.float64]

    @property
    def finding(self) -> str:
        """The class with the largest mean attention in a layer, and that layer."""
        by_class = {name: layer_means(self.heads()[f"to {name}"]) for name in self._drawn_names()}
        by_class = {name: means for name, means in by_class.items() if np.isfinite(means).any()}
        if not by_class:
            return ""
        name = max(by_class, key=lambda name: np.nanmax(by_class[name]))
        layer = int(np.nanargmax(by_class[name]))
        share = by_class[name][layer]
        if share < _RESTING:
            return f"No class of tokens gets more than {percent(share)} of the attention of a layer"
        label = _LABELS.get(name, name)
        return f"The heads of L{layer} give {percent(share)} of their attention to {label}"

    def _drawn_names(self) -> list[str]:
        """Return the classes with tokens, without "first token" if it repeats [CLS]."""
        heads = self.heads()
        names = [name for name in self.names if self.with_class[name]]
        if "[CLS]" in names and np.array_equal(heads["to [CLS]"], heads["to first token"]):
            names.remove("first token")
        return names

    def chart(self, names: Sequence[str] | None = None, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw mean attention to each class over the layers (Clark et al. 2019, Figure 2, top).

        A dashed line in the color of a class is the attention that the class would get if every
        token attended equally to all visible tokens.

        Args:
            names: Classes to draw; None = all classes with tokens.
            width: Width of the whole figure in pixels.
        """
        heads = self.heads()
        if names is None:
            names = self._drawn_names()
        selected = {f"to {name}": heads[f"to {name}"] for name in names}
        even = {f"to {name}": float(self.even[self.names.index(name)]) for name in names}
        figure = LayerCurves("Attention to classes of tokens")
        return figure.draw(self, selected, width=width, even=even)

    def sep_chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw attention to [SEP] from [SEP] and from others (Clark et al. 2019, Figure 2, bottom).

        Args:
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If no document has a [SEP].
        """
        heads = {title: v for title, v in self.heads().items() if title.endswith(" to [SEP]")}
        if not heads:
            raise ValueError(
                "no document has a [SEP] token, so the weight from [SEP] is not defined"
            )
        return LayerCurves("Attention to [SEP]").draw(self, heads, width=width)


@hides_frames
def Classes(  # noqa: N802, as the other metrics
    classes: Mapping[str, TokenClass] | None = None,
    *,
    variant: Literal["paper", "released"] = "paper",
) -> SegmentMeans[ClassesResult]:
    """Metric: attention to [CLS], [SEP], full stops and commas, the first token and user classes.

    This is the metric of Clark et al. 2019, section 3.2. Attention to a class is summed over its
    tokens in a document, averaged over all queries, then over documents; a document without such a
    token counts as 0. Attention to [SEP] is averaged over [SEP] queries and over all other queries,
    in documents with [SEP].

    Args:
        classes: Additional classes by name, each a set of tokens, a function from `Tokens` to one
            bool per token, or for chats "role=system", with "|" between several roles.
        variant: Normalization. "paper" divides by the number of queries. "released" divides [SEP]
            to [SEP] by 2 and the rest by n - 2 for any number of [SEP] tokens, as in the authors'
            code; for pairs of texts, both are equal.

    Raises:
        ValueError: If the variant is unknown.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Classes
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> found = measure(model, segments, [Classes({"articles": {"the"}})], progress=False)
        >>> list(found["classes"].heads())[3:5]
        ['to first token', 'to articles']
    """
    one_of("variant", variant, ("paper", "released"))
    classes = dict(classes or {})
    names = (*STANDARD_CLASSES, *classes)
    return ClassMass(
        "classes",
        partial(_table, names, variant),
        partial(_result, names),
        parts=_parts,
        of_heads={"mass": (len(names),), "to_sep": (2,)},
        of_segments={"with_class": (len(names),), "with_sep": (), "even": (len(names),)},
        settings={"classes": described(classes), "variant": variant},
        classes=classes,
    )


def _table(names: Sequence[str], variant: str, layer: LayerBatch) -> ClassTable:
    """Return the table with three groups of queries: all tokens, [SEP] tokens, and all others."""
    batch = layer.batch
    sep = batch.classes["[SEP]"]
    others = batch.real & ~sep
    n_sep, n_others = (
        (sep.sum(-1), others.sum(-1))
        if variant == "paper"
        else (torch.full_like(batch.lengths, 2), batch.lengths - 2)
    )
    from_sep = sep.float() / n_sep.clamp_min(1)[:, None]
    from_others = others.float() / n_others.clamp_min(1)[:, None]
    members = torch.stack([batch.classes[name] for name in names], 1).float()
    return ClassTable(
        torch.stack([batch.row_weights, from_sep, from_others], 1),
        members,
        {
            "with_class": members.amax(-1),
            "with_sep": sep.any(-1),
            "even": even_mass(members, layer),
        },
    )


def _parts(mass: Tensor) -> Mapping[str, Tensor]:
    """Return the mass on each class from all tokens, and the mass on [SEP] from both groups."""
    return {"mass": mass[:, :, 0], "to_sep": mass[:, :, 1:, STANDARD_CLASSES.index("[SEP]")]}


def _result(names: tuple[str, ...], metric: ClassMass[ClassesResult]) -> ClassesResult:
    # A document without a [SEP] adds nothing to the sums.
    from_sep, from_others = metric.mean("to_sep", over="with_sep")
    return ClassesResult(
        metric.n_segments,
        names,
        metric.mean("mass"),
        from_sep,
        from_others,
        dict(zip(names, metric.counted("with_class").tolist(), strict=True)),
        metric.mean("even"),
        model_name=metric.model_name,
    )
