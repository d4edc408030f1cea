"""Passes over one input with head outputs from the pass over another input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.tapping.edits import Change
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import Replay
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.capture.tapping.torch_functions import summed_values
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.interventions.patch_pairs import Into, PatchPair
from attnwidget.interventions.scores import PatchScore, input_scores, output_scores
from attnwidget.interventions.unit_scores import unit_scores_of_inputs
from attnwidget.interventions.units import Unit

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def patch(output: Tensor, queries: tuple[int, ...] = ()) -> Change:
    """Return the replacement of a head's output by [Q, Dv], at some or all queries."""
    return Change("patch", "patched", output=output, queries=queries)


def outputs_of_heads(
    hf_model: Any, inputs: Mapping[str, Tensor], stack: str = "self"
) -> tuple[dict[Head, Tensor], Any]:
    """Return the outputs [Q, Dv] of all heads of a stack over one input, and the model's output.

    Raises:
        ValueError: If a layer does not expose its values or processes the input in several parts,
            or an edit replaces outputs.
    """
    outputs: dict[Head, Tensor] = {}

    def keep(seen: LayerAttention) -> None:
        if seen.stack != stack:
            return
        name = type(seen.module).__name__
        if len(seen.weights) != 1:
            raise ValueError(
                f"{name} reads an input as {len(seen.weights)} tiles or windows, so the outputs of "
                "its heads cannot be patched token by token; ablate(model, ...) switches them off"
            )
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


def patched_scores(
    model: AttentionModel,
    replay: Replay,
    pairs: Sequence[PatchPair],
    *,
    units: Sequence[Unit],
    score: PatchScore,
    into: Into,
    stack: str,
) -> NDArray[np.float64]:
    """Return the scores of the source run, of the intact run, and of each unit patched, [2 + U, 1].

    Args:
        model: Model from `load_model`.
        replay: Replay of the model's layers.
        pairs: Batch of one pair.
        units: Heads that are patched in turn.
        score: Score of a run.
        into: Run that is patched.
        stack: Stack of the heads.

    Raises:
        ValueError: As in `outputs_of_heads` and `unit_scores`.
    """
    (pair,) = pairs
    base, source = pair.batches(model, into)
    outputs, source_output = outputs_of_heads(model.hf_model, source.inputs, stack)
    source_scores = input_scores(score, output_scores(score, source_output, source), source)
    changes = [
        {
            head: patch(outputs[head], () if unit.query is None else (unit.query,))
            for head in unit.heads
        }
        for unit in units
    ]
    scores = unit_scores_of_inputs(replay, base, changes, score)
    return np.concatenate([source_scores.cpu().numpy(), scores])
