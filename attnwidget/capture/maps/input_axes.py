"""Map axes of each stack: text tokens, picture patches, or positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.layer_blocks import LayerBlocks
from attnwidget.capture.maps.patch_probe import PIXELS, PatchProbe
from attnwidget.capture.maps.picture_axes import PictureAxes
from attnwidget.capture.maps.sound_axes import SoundAxes
from attnwidget.capture.maps.text_probe import TextProbe
from attnwidget.capture.tapping.attention_sites import Site
from attnwidget.capture.tapping.stack_names import is_cross, is_tower
from attnwidget.inputs.model_tensors import input_names, is_of_text
from attnwidget.inputs.processor import Processor
from attnwidget.inputs.token_axes import (
    position_axis,
    region_axis,
    with_padding,
    with_text,
)
from attnwidget.text.places import Media
from attnwidget.text.tokens import Tokens

# Inputs with a row for each part that a caller has cut out, and the names of these parts.
_PARTS = {"visual_embeds": "region", "visual_feats": "region", "entity_ids": "entity"}


@dataclass(frozen=True)
class InputAxes:
    """Maker of the axes for one input.

    Attributes:
        hf_model: Transformers model.
        sites: Attention modules of the model.
        inputs: Inputs of the pass.
        options: Further arguments of the pass.
        tokens: Tokens of the text, if known.
        target: Tokens that the decoder of an encoder-decoder reads; None without a decoder.
        patch_probe: Finder of picture patches.
        text_probe: Finder of the words among patches, regions or entities.
        media: Pictures and sounds that the inputs were made from; None if they are unknown.
        processor: Processor that made the inputs, or None.
    """

    hf_model: Any
    sites: Sequence[Site]
    inputs: Mapping[str, Tensor]
    options: Mapping[str, Any]
    tokens: Tokens | None
    target: Tokens | None
    patch_probe: PatchProbe
    text_probe: TextProbe
    media: Media | None = None
    processor: Processor | None = None

    @cached_property
    def picture_axes(self) -> PictureAxes:
        """The maker of picture tokens."""
        return PictureAxes(
            self.patch_probe,
            self.inputs,
            self.options,
            self.media or Media(),
            self.processor,
            self._placeholder("image_token_id", "image_token_index"),
        )

    @cached_property
    def sound_axes(self) -> SoundAxes:
        """The maker of sound tokens."""
        extractor = None if self.processor is None else self.processor.sounds
        return SoundAxes(
            self.hf_model,
            self.sites,
            self.inputs,
            self.media or Media(),
            extractor,
            self._placeholder("audio_token_id", "audio_token_index"),
        )

    def _placeholder(self, *names: str) -> int | None:
        """Return the vocabulary id of a placeholder in the model's configuration."""
        config = getattr(self.hf_model, "config", None)
        ids = (getattr(config, name, None) for name in names)
        return next((i for i in ids if isinstance(i, int)), None)

    @property
    def note(self) -> str:
        """Remark about missing information on the axes from `of`; "" if there is none."""
        return ", ".join(filter(None, [self.picture_axes.note, self.sound_axes.note]))

    def axes(self, layers: Mapping[str, Sequence[Layer]]) -> dict[str, tuple[Tokens, Tokens]]:
        """Return the query axis and key axis of each stack.

        Args:
            layers: Layers of each stack.
        """
        axes: dict[str, tuple[Tokens, Tokens]] = {}
        for stack in sorted(layers, key=is_cross):
            first_layer = layers[stack][0]
            if is_cross(stack):
                owner = next((site.queries for site in self.sites if site.stack == stack), "")
                query = axes[owner][0] if owner in axes else None
                encoder = axes["encoder"][0] if "encoder" in axes else self.tokens
                decodes = self.target is not None and stack == "cross"
                keys = None
                if self.picture_axes.media.pictures and not decodes:
                    keys = self.picture_axes.patches(stack, first_layer.n_key)
                axes[stack] = (
                    self._fitting(query, owner, first_layer.n_query),
                    keys or self._fitting(encoder if decodes else None, "", first_layer.n_key),
                )
            else:
                blocks = next((layer.blocks for layer in layers[stack] if layer.blocks), None)
                if blocks is None:
                    axis = self._fitting(self._text_of(stack), stack, first_layer.n_query)
                else:
                    axis = self._of_blocks(stack, blocks)
                axes[stack] = (axis, axis)
        return axes

    def _of_blocks(self, stack: str, blocks: LayerBlocks) -> Tokens:
        """Return the tokens of a stack with layers in blocks, followed by padding."""
        length = blocks.n_tokens - blocks.n_padding
        tokens = self.picture_axes.patches(stack, length, in_blocks=True)
        if tokens is None:
            tokens = position_axis(length, is_line=False)
        return with_padding(tokens, blocks.n_padding)

    def _text_of(self, stack: str) -> Tokens | None:
        """Return the tokens that a stack reads, if it reads a text."""
        reads = next((site.reads for site in self.sites if site.stack == stack), "")
        if stack == "decoder" and "decoder_input_ids" in input_names(self.hf_model):
            return self.target
        # A tower may read states made from the text; these are the text if the lengths agree.
        is_text_only = all(map(is_of_text, self.inputs))
        is_text = reads == "text" or (not reads and (is_text_only or not is_tower(stack)))
        return self.tokens if is_text else None

    def _fitting(self, tokens: Tokens | None, stack: str, length: int) -> Tokens:
        """Return `tokens` if they fit a map axis, otherwise patches of a picture or positions."""
        site = next((site for site in self.sites if site.stack == stack), None)
        if tokens is not None and len(tokens) == length:
            if site is None:
                return tokens
            return self.sound_axes.in_text(stack, self.picture_axes.in_text(stack, tokens))
        text = self.tokens
        n_other = 0 if text is None else length - len(text)
        reads_text = site is not None and stack != "decoder" and site.reads in ("text", "")
        if text is not None and n_other > 0 and reads_text:
            positions = self.text_probe(stack, length, len(text), self.inputs, self.options)
            if positions:
                return with_text(self._with_parts(site, stack, length, positions), text, positions)
        return self._without_text(site, stack, length)

    def _with_parts(
        self, site: Site | None, stack: str, length: int, of_text: Sequence[int]
    ) -> Tokens:
        """Return an axis that also names the tokens that are not words."""
        other_positions = [i for i in range(length) if i not in set(of_text)]
        parts = self._parts(len(other_positions))
        if parts is not None:
            return with_text(position_axis(length, is_line=False), parts, other_positions)
        return self._without_text(site, stack, length)

    def _parts(self, length: int) -> Tokens | None:
        """Return the regions or entities that the caller has cut out, if their number fits."""
        kinds = (
            kind
            for name, kind in _PARTS.items()
            if name in self.inputs and self.inputs[name].shape[1:2] == (length,)
        )
        kind = next(kinds, None)
        return None if kind is None else region_axis(length, kind)

    def _without_text(self, site: Site | None, stack: str, length: int) -> Tokens:
        """Return picture patches, sound times, regions, or positions."""
        if site is not None and site.reads in ("picture", ""):
            patches = self.picture_axes.patches(stack, length) or self._parts(length)
            if patches is not None:
                return patches
        if self.media and self.media.sounds and site is not None and site.reads in ("sound", ""):
            frames = self.sound_axes.frames(stack, length)
            if frames is not None:
                return frames
        return position_axis(length, is_line=self._is_line(site))

    def _is_line(self, site: Site | None) -> bool:
        """Return whether the tokens of a stack without a text form a line, like sound frames.

        Patches of a picture or spectrogram do not form a line, nor do objects in a picture.
        """
        if any(name in self.inputs for name in PIXELS) or (site and site.reads == "picture"):
            return False
        if site is not None and is_tower(site.stack) and not site.reads:
            return all(map(is_of_text, self.inputs))
        config = getattr(None if site is None else site.module, "config", None)
        return not hasattr(config, "patch_size")
