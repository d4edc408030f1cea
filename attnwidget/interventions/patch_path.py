"""Path patching: from one head to the query, key or value input of a later head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attnwidget.capture.disabled import changed, intact_edits
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.layer_from_pass import SharedTensors, whole_layer
from attnwidget.capture.tapping.head import Head, HeadName, named_head
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.inputs.media_input import EncodedMedia
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.interventions.patch_pairs import Into, PatchPair, patch_pairs_of
from attnwidget.interventions.patch_results import PatchedRuns, recovered
from attnwidget.interventions.patched_passes import outputs_of_heads, patch
from attnwidget.interventions.score_changes import ScoreChanges, table_of
from attnwidget.interventions.scores import (
    PATCH_SCORES,
    PatchScore,
    check_name,
    input_scores,
    output_scores,
    score_name,
)
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel

#: Inputs of a head at which a path can end.
INPUTS = ("query", "key", "value")


@dataclass(frozen=True, eq=False, repr=False)
class PathPatch(PatchedRuns):
    """Scores with one path between two heads patched. Made by `patch_path`.

    Attributes:
        sender: Head whose output is patched.
        receiver: Later head that reads the patched output.
        score: Name of the score, as in `HeadPatches`.
        into: Run that is patched, "corrupted" or "clean".
        clean: Scores of the clean inputs, float64 [N].
        corrupted: Scores of the corrupted inputs, float64 [N].
        scores: Scores with the path into the receiver's query, key and value patched, float64 [3,
            N].
        examples: Pairs of examples (N).
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import patch_path
        >>> clean = ("The woman said that [MASK] was late.", "she")
        >>> corrupted = ("The man said that [MASK] was late.", "he")
        >>> path = patch_path(load_model(device="cpu"), clean, corrupted, (2, 1), (5, 8))
        >>> str(path.sender), str(path.receiver), path.scores.shape
        ('L2 H1', 'L5 H8', (3, 1))
    """

    sender: Head
    receiver: Head
    scores: Float64Array
    examples: tuple[tuple[Any, Any], ...]

    @cached_property
    def of_inputs(self) -> ScoreChanges:
        """Score changes with the path into the query, key and value patched, [3]."""
        return ScoreChanges(self.scores, self.base, judged=False, tested=True)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per input of the receiver.

        Columns: sender, receiver, input ("query", "key", "value"), score (the mean), difference
        (patched minus not patched), low, high (95 %, by a paired bootstrap), recovered (share of
        the gap between the runs), p, adjusted. `attrs` has the "model", the "score" and "n" pairs.
        """
        changes = self.of_inputs
        frame = table_of(changes, recovered=recovered(changes, self.gap))
        frame.insert(0, "sender", str(self.sender))
        frame.insert(1, "receiver", str(self.receiver))
        frame.insert(2, "input", INPUTS)
        frame.attrs |= {"model": self.model_name, "score": self.score, "n": len(self.clean)}
        return frame

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw a bar for the query, key and value of the receiver; needs no network.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.signed_bars import signed_bars

        frame = self.to_frame().rename(columns={"input": "part", "difference": "value"})
        return signed_bars(
            frame,
            title=f"{self.sender} into {self.receiver}, patched into the {self.into} run\n"
            f"{self.model_name}; {self._runs()}",
            value_title=f"change of {self.score}",
            width=width,
        )

    def __repr__(self) -> str:
        changes = [
            f"{name} {change:+.3g}"
            for name, change in zip(INPUTS, self.of_inputs.difference, strict=True)
        ]
        return (
            f"PathPatch({self.model_name}, {self.sender} into {self.receiver}, "
            f"{counted(len(self.clean), 'pair')}: {self.score} {', '.join(changes)})"
        )


@in_plain_torch
def patch_path(
    model: AttentionModel,
    clean: Iterable[Any],
    corrupted: Iterable[Any],
    sender: HeadName,
    receiver: HeadName,
    scoring: PatchScore = "logit difference",
    *,
    patch_into: Into = "corrupted",
) -> PathPatch:
    """Patch the path from one head to the query, key and value input of a later head.

    This is path patching (Wang et al. 2023, appendix B; Goldowsky-Dill et al. 2023). In a first
    pass, the sender's output is patched, and the heads between sender and receiver are frozen. MLPs
    are recomputed, so paths may lead through MLPs. In a second pass without frozen heads, the
    receiver's queries, keys or values from the first pass change the receiver's output. Heads that
    share keys and values with the receiver do not change.

    Args:
        model: Model, as in `patch_heads`.
        clean: Clean inputs, as in `patch_heads`.
        corrupted: Corrupted inputs, as in `patch_heads`.
        sender: Head whose output is patched, as (1, 3), "L1 H3" or a `Head`.
        receiver: Head in a later layer, in the same forms.
        scoring: Score of a run, as in `patch_heads`.
        patch_into: Run that is patched, as in `patch_heads`.

    Raises:
        TypeError, RuntimeError: As in `patch_heads`.
        ValueError: If the receiver is not in a later layer than the sender, or the model's weights
            do not follow from queries and keys alone; or as in `patch_heads`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import patch_path
        >>> clean = ("The woman said that [MASK] was late.", "she")
        >>> corrupted = ("The man said that [MASK] was late.", "he")
        >>> path = patch_path(load_model(device="cpu"), clean, corrupted, (2, 1), (5, 8))
        >>> path.to_frame()["input"].tolist()
        ['query', 'key', 'value']
    """
    refuse_no_model(model)
    check_name(scoring, PATCH_SCORES)
    pairs = patch_pairs_of(
        model,
        clean,
        corrupted,
        scoring,
        into=patch_into,
    )
    if any(isinstance(pair.encoded, EncodedMedia) for pair in pairs):
        raise TypeError(
            "paths are patched over texts: patch_heads(model, clean, corrupted) patches single "
            "heads over pictures and sounds"
        )
    counts = intact_edits(model.hf_model).heads_of["self"]
    first, last = (
        named_head(head, {"self": (len(counts), max(counts))}) for head in (sender, receiver)
    )
    if first.layer >= last.layer:
        raise ValueError(f"{last} does not read {first}: the receiver is in a later layer")
    with model.lock.in_turn():
        model.check_open()
        numbers = np.stack(
            [_path_numbers(model, pair, first, last, scoring, patch_into) for pair in pairs], 1
        )
    base, other = numbers[:2]
    return PathPatch(
        sender=first,
        receiver=last,
        score=score_name(scoring),
        into=patch_into,
        clean=base if patch_into == "clean" else other,
        corrupted=other if patch_into == "clean" else base,
        scores=numbers[2:],
        examples=tuple(pair.originals for pair in pairs),
        model_name=model.name,
    )


def _path_numbers(
    model: AttentionModel,
    pair: PatchPair,
    sender: Head,
    receiver: Head,
    score: PatchScore,
    into: Into,
) -> Float64Array:
    """Return the scores of the run that is patched, of the other run, and of the three inputs."""
    hf_model = model.hf_model
    base, source = pair.batches(model, into)
    source_outputs, source_output = outputs_of_heads(hf_model, source.inputs)
    base_outputs, base_output = outputs_of_heads(hf_model, base.inputs)
    layers = range(sender.layer, receiver.layer)
    frozen = {head: patch(output) for head, output in base_outputs.items() if head.layer in layers}
    frozen[sender] = patch(source_outputs[sender])
    before = _receiver_inputs(hf_model, base.inputs, receiver)
    outer = dict(model.edits.changes)
    with changed(hf_model, outer | frozen):
        after = _receiver_inputs(hf_model, base.inputs, receiver)
    numbers = [
        input_scores(score, output_scores(score, output, batch), batch)
        for output, batch in ((base_output, base), (source_output, source))
    ]
    for name in INPUTS:
        output = before.with_input(name, after).output
        with changed(hf_model, outer | {receiver: patch(output)}):
            patched_output = _run(hf_model, base.inputs)
        numbers.append(input_scores(score, output_scores(score, patched_output, base), base))
    return torch.cat(numbers)[:, 0].cpu().numpy()


@dataclass(frozen=True, eq=False)
class _ReceiverInputs:
    """Queries, keys and values of a head.

    Attributes:
        layer: Layer with its queries and keys.
        head: Head number.
        value: Values that the head reads, [K, Dv].
    """

    layer: Layer
    head: int
    value: Tensor

    def with_input(self, name: str, other: _ReceiverInputs) -> _ReceiverInputs:
        """Return these inputs with the query, key or value of another run."""
        if name == "value":
            return replace(self, value=other.value)
        products, other_products = self.layer.products, other.layer.products
        assert products is not None and other_products is not None
        changed_products = replace(products, **{name: getattr(other_products, name)})
        return replace(self, layer=replace(self.layer, weights=changed_products))

    @property
    def output(self) -> Tensor:
        """Output of the head, [Q, Dv]."""
        weights = self.layer.rows(slice(self.head, self.head + 1))[0]
        return weights.to(self.value.dtype) @ self.value


def _receiver_inputs(
    hf_model: Any, inputs: Mapping[str, Tensor], receiver: Head
) -> _ReceiverInputs:
    """Return the queries, keys and values of a head, recorded in a forward pass."""
    records: list[_ReceiverInputs] = []

    def keep(seen: LayerAttention) -> None:
        if (seen.layer, seen.stack) != (receiver.layer, receiver.stack):
            return
        layer = whole_layer(seen, 0, None, None, SharedTensors())
        if layer.products is None or seen.value is None:
            raise ValueError(
                f"the weights of {type(seen.module).__name__} do not follow from queries and keys, "
                "so paths cannot be patched; patch_heads patches outputs of heads"
            )
        group = seen.weights.shape[1] // seen.value.shape[1]
        records.append(_ReceiverInputs(layer, receiver.head, seen.value[0, receiver.head // group]))

    with torch.no_grad(), tap(hf_model, keep):
        _run(hf_model, inputs)
    return records[0]


def _run(hf_model: Any, inputs: Mapping[str, Tensor]) -> Any:
    with torch.no_grad():
        return hf_model(**inputs, **without_cache(hf_model))
