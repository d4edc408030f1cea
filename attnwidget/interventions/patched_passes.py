"""Passes over one input with outputs of heads from the pass over another input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.hub_model.model_tensors import without_cache
from attnwidget.capture.tapping.edits import Change
from attnwidget.capture.tapping.head import Head, named_head
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.replay import Replay
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.capture.tapping.torch_functions import summed_values
from attnwidget.interventions.patch_pairs import Into, PatchPair
from attnwidget.interventions.patch_scores import PatchScore, patch_scores

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Outputs = Mapping[Head, Tensor]


@dataclass(frozen=True)
class Unit:
    """Heads of a layer that are patched together, at all tokens or at a single token.

    Attributes:
        heads: The heads.
        query: The token whose output is patched; None = all tokens.
        whole: Whether these are all heads of the layer, patched as a layer.
    """

    heads: tuple[Head, ...]
    query: int | None = None
    whole: bool = False

    def changes(self, outputs: Outputs) -> dict[Head, Change]:
        """The replacements, from the outputs [Q, Dv] of the other run."""
        queries = () if self.query is None else (self.query,)
        return {head: patch(outputs[head], queries) for head in self.heads}


def patch(output: Tensor, queries: tuple[int, ...] = ()) -> Change:
    """The replacement of a head's output by [Q, Dv] of another run, at some queries or at all."""
    return Change("patch", "patched", output=output, queries=queries)


def units_of(
    model: AttentionModel, heads: object, *, positions: int | None = None
) -> tuple[list[Unit], tuple[int, int]]:
    """Return what is patched in turn, layer by layer, and the numbers of layers and heads.

    Args:
        model: The model.
        heads: "all" heads and each layer as a whole; "layers" only; or [(layer, head), ...].
        positions: The number of tokens, to patch every head at every token too.

    Raises:
        ValueError: There is no such head.
    """
    counts = intact_edits(model.hf_model).heads_of["self"]
    shape = len(counts), max(counts)
    if isinstance(heads, str):
        if heads not in ("all", "layers"):
            raise ValueError(f"heads is 'all', 'layers' or [(layer, head), ...], got {heads!r}")
        chosen = [Head(layer, head) for layer, n in enumerate(counts) for head in range(n)]
        whole = [layer for layer, n in enumerate(counts) if n > 1 or (n and heads == "layers")]
    else:
        listed: list[Any] = list(heads)  # type: ignore[call-overload]
        listed = [listed] if listed and hasattr(listed[0], "__index__") else listed
        numbers = LayerNumbers.without([i for i, n in enumerate(counts) if not n], len(counts))
        chosen = sorted({named_head(item, {"self": shape}, {"self": numbers}) for item in listed})
        whole = []
        if not chosen:
            raise ValueError("heads is empty: name the heads to patch, [(layer, head), ...]")
    units: list[Unit] = []
    for layer, count in enumerate(counts):
        own = [head for head in chosen if head.layer == layer]
        if heads != "layers":
            units += [Unit((head,)) for head in own]
        if layer in whole:
            whole_layer = tuple(Head(layer, head) for head in range(count))
            units.append(Unit(whole_layer, whole=True))
        if positions is not None and heads != "layers":
            units += [Unit((head,), query) for head in own for query in range(positions)]
    return units, shape


def outputs_of_heads(hf_model: Any, inputs: Mapping[str, Tensor]) -> tuple[dict[Head, Tensor], Any]:
    """Return the outputs [Q, Dv] of all heads over one input, and the output of the model.

    Raises:
        ValueError: A layer does not show its values, or an edit replaces outputs.
    """
    outputs: dict[Head, Tensor] = {}

    def keep(seen: LayerAttention) -> None:
        name = type(seen.module).__name__
        if seen.value is None:
            raise ValueError(
                f"{name} shows its attention weights, but not the values, so the outputs of its "
                "heads cannot be patched; ablate(model, ...) switches them off"
            )
        if seen.outputs_replaced:
            raise ValueError(
                "in this block of `disabled`, 'mean' or 'patch' replaces outputs of heads: patch "
                "heads outside of the block"
            )
        for head, output in enumerate(summed_values(seen)[0]):
            outputs[Head(seen.layer, head, seen.stack)] = output

    options = without_cache(hf_model)
    with torch.no_grad(), tap(hf_model, keep):
        output = hf_model(**inputs, **options)
    return outputs, output


@dataclass(frozen=True, eq=False)
class PatchedScores:
    """Function from a batch of one pair to the scores of both runs and of each patched unit.

    Attributes:
        units: What is patched in turn.
        score: The score.
        into: The run that is patched.
    """

    units: Sequence[Unit]
    score: PatchScore
    into: Into

    def __call__(
        self, model: AttentionModel, replay: Replay, pairs: Sequence[PatchPair]
    ) -> NDArray[np.float64]:
        """Return the scores of the run that is patched, of the other, and of units, [2 + U, 1].

        Raises:
            ValueError: As `outputs_of_heads` and `patch_scores`.
        """
        (pair,) = pairs
        score = self.score
        base, source = pair.batches(model, self.into)
        outputs, source_output = outputs_of_heads(model.hf_model, source.inputs)
        numbers = [
            patch_scores(score, replay.intact(base.inputs), base, pair),
            patch_scores(score, source_output, source, pair),
        ]
        places = None
        if not callable(score) and base.columns is not None:
            places = base.rows, base.columns
        passes = replay.without(
            base.inputs,
            [unit.changes(outputs) for unit in self.units],
            places=places,
            together=not callable(score),
        )
        for first, last, output in passes:
            parts = last - first
            numbers.append(patch_scores(score, output, base, pair, parts, narrowed=replay.narrows))
        return np.concatenate(numbers)[:, None]
