"""Forward passes of a model that return attentions: from input tensors to labeled maps."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import torch

from attnwidget.capture.answers.losses import Loss, LossFunction, LossName, task_for
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.block_probe import BlockProbe
from attnwidget.capture.maps.collect_layers import Collected
from attnwidget.capture.maps.input_axes import InputAxes
from attnwidget.capture.maps.input_reading import Reader, Reading
from attnwidget.capture.maps.lower_layers import LowerLayers
from attnwidget.capture.maps.patch_probe import PatchProbe
from attnwidget.capture.maps.text_probe import TextProbe
from attnwidget.capture.model_inputs import ModelInputs
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.edits import Edits
from attnwidget.capture.tapping.gradients import attention_gradients
from attnwidget.capture.tapping.layer_outputs import CANNOT_START_ABOVE, difference
from attnwidget.capture.tapping.output_check import OutputCheck
from attnwidget.capture.tapping.projection import Projections
from attnwidget.capture.tapping.stack_names import is_cross
from attnwidget.capture.tapping.tap import tap
from attnwidget.inputs.model_tensors import ModelBatch, unpadded, without_cache
from attnwidget.model_facts.plain_forward import uncompiled
from attnwidget.model_facts.weights_seen import WeightsSeen

# Listing order of the stacks: computation order, with cross-attention last.
_ORDER = ("self", "encoder", "decoder", "cross")


class PassedModel(Reader[Attention], Protocol):
    """Part of an `AttentionModel` that a forward pass needs.

    Attributes:
        remark: Remark about the model files for readers of figures.
        random_parts: Modules whose weights were initialized at random.
        inputs: Maker of input tensors.
        _output_check: Comparison of the first tapped output with a plain pass.
    """

    remark: str
    random_parts: tuple[str, ...]
    inputs: ModelInputs
    _output_check: OutputCheck

    @property
    def name(self) -> str:
        """The name of the model in figures, with any disabled heads."""

    def check_open(self) -> None:
        """Raise RuntimeError if the model was closed."""


class ForwardPasses:
    """The forward passes of one model, with facts that later passes reuse.

    Each method receives the `AttentionModel` of the transformers model. A stored reference would
    keep the weights in memory after the user has deleted the `AttentionModel`.

    Args:
        hf_model: Transformers model.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model()
        >>> model.passes.attentions(model, model.inputs.encode("The cat sat."))
        [Attention(small BERT (in the package), self 6×12, 6 tokens)]
    """

    def __init__(self, hf_model: Any) -> None:
        self._options = without_cache(hf_model)
        self._projections = Projections(hf_model)
        self._block_probe = BlockProbe(hf_model)
        self._patch_probe = PatchProbe(hf_model)
        self._text_probe = TextProbe(hf_model)
        self._lower: WeakKeyDictionary[Reading[Attention], LowerLayers] = WeakKeyDictionary()
        # None until two passes have been compared.
        self._starts_above: bool | None = None
        self._ends_with_layers = False

    def attentions(
        self,
        model: PassedModel,
        batch: ModelBatch,
        *,
        loss: LossName | LossFunction | None = None,
        seed: int = 0,
        long: bool | None = None,
        lower: LowerLayers | None = None,
    ) -> list[Attention]:
        """Return the attention for every input of a batch, from one forward pass.

        Args:
            model: Model, whose lock is held.
            batch: Inputs of the pass.
            loss: Loss whose gradients are read.
            seed: Seed of the masking for this loss.
            long: As in `AttentionModel.attend`.
            lower: Layers below the edits that are already known; None runs every layer.

        Raises:
            ValueError: Maps or gradients cannot be read, or the tapped pass gives other outputs
                than the plain pass.
            RuntimeError: The model was closed.
        """
        model.check_open()
        if long and loss is not None:
            raise ValueError("gradients need whole maps: pass long=False, or no loss")
        collected = self._read(model, batch, long if loss is None else False, lower)
        losses: list[Loss] = []
        if loss is not None:
            task = task_for(model.hf_model, model.tokenizer, batch.tensors, loss, seed)
            losses = collected.add_gradients(
                task, *attention_gradients(model.hf_model, task, self._options)
            )
        # Take the state of the weights after the pass: offloaded weights are loaded during the
        # pass.
        weights = None if model.edits else WeightsSeen(model.hf_model)
        sites = find_sites(uncompiled(model.hf_model))
        attentions = []
        for item, layers in enumerate(collected.items):
            single_batch = batch.single(item)
            target_ids = unpadded(
                single_batch.tensors, "decoder_input_ids", "decoder_attention_mask"
            )
            target = None
            if target_ids is not None:
                target = replace(model.inputs.encoder.axis(target_ids), n_cut=batch.n_cut_of_target)
            maker = InputAxes(
                model.hf_model,
                sites,
                batch.tensors,
                self._options,
                single_batch.tokens[0],
                target,
                self._patch_probe,
                self._text_probe,
                batch.media,
                model.inputs.processor,
            )
            axes = maker.axes(layers)
            reading = None
            if not model.edits:
                reading = Reading(model, single_batch, loss, seed, weights)
                if loss is None and not collected.by_rows:
                    self._lower[reading] = LowerLayers(layers.get("self", ()))
            attentions.append(
                Attention(
                    _in_order(layers),
                    axes,
                    model_name=model.name,
                    n_prompt=batch.n_prompt,
                    lock=model.lock,
                    no_norms=collected.no_norms,
                    remarks=(
                        collected.not_shown,
                        maker.note,
                        _random_note(model.random_parts),
                        model.remark,
                    ),
                    numbers=collected.numbers,
                    loss=losses[item] if losses else None,
                    edits=str(model.edits),
                    media=batch.media,
                    reading=reading,
                )
            )
        return attentions

    def again(self, model: PassedModel, reading: Reading[Attention]) -> Attention:
        """Return the attention of an input that was read before, under the current edits.

        Layers below the edits are not run again if the model gives the same output without them.
        """
        lower = self._lower.get(reading) if self._starts_above is not False else None
        if lower is not None:
            ends = self._ends_with_layers and self._current_projections(model).all_checked
            lower = lower.under_edits(model.hf_model, reading.inputs, ends=ends)
        return self.attentions(
            model, reading.batch, loss=reading.loss, seed=reading.seed, lower=lower
        )[0]

    def _read(
        self,
        model: PassedModel,
        batch: ModelBatch,
        long: bool | None,
        lower: LowerLayers | None,
    ) -> Collected:
        """Return the layers of a pass after comparing its output with a plain pass."""
        hf_model, check = model.hf_model, model._output_check
        check.start(hf_model)
        collected = self._collected(model, batch, long, lower)
        check.check(
            hf_model, batch.tensors, self._options, collected.output, by_rows=collected.by_rows
        )
        return collected

    def _current_projections(self, model: PassedModel) -> Projections:
        """Return the output projections; find them again if modules were replaced."""
        if self._projections.outdated:
            self._projections = Projections(model.hf_model)
        return self._projections

    def _collected(
        self,
        model: PassedModel,
        batch: ModelBatch,
        long: bool | None,
        lower: LowerLayers | None,
    ) -> Collected:
        """Return the layers of a pass that starts above `lower`, if the output stays equal."""
        hf_model = model.hf_model

        def collect(lower: LowerLayers | None) -> Collected:
            return Collected(
                hf_model,
                batch,
                self._options,
                self._current_projections(model),
                self._block_probe,
                long=long,
                lower=lower,
            )

        if lower is None or not lower.first:
            return collect(lower)
        if self._starts_above:
            with suppress(*CANNOT_START_ABOVE):
                return collect(lower)
            return collect(None)
        full_pass = collect(None)
        if batch.text_length <= 2:
            return full_pass

        def run_above() -> Any:
            # A pass over two tokens overwrites any state that modules have stored for this input.
            two_tokens = {name: value[:, :2] for name, value in batch.tensors.items()}
            # Links of an edit may be longer than two tokens.
            with torch.no_grad(), tap(hf_model, lambda _: None, Edits()):
                hf_model(**two_tokens, **self._options)
            return collect(lower).output

        self._starts_above = not difference(run_above, full_pass.output)
        self._ends_with_layers = self._starts_above and lower.outputs.last_is_end
        return full_pass


def _random_note(parts: tuple[str, ...]) -> str:
    """Return the remark for figures about weights that were not in the model files."""
    names = ", ".join(parts[:3]) + (", …" if len(parts) > 3 else "")
    return f"random weights: {names}" if names else ""


def _in_order(layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layers of every stack, with the stacks in listing order."""
    names = list(layers)
    order = sorted(names, key=lambda name: (is_cross(name), name not in _ORDER, names.index(name)))
    return {name: layers[name] for name in order}
