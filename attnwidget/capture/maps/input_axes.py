"""The axes of the maps of each stack: the text's tokens, patches of a picture, or positions."""

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
    """Maker of the axes of one input.

    Attributes:
        hf_model: The model.
        sites: Its attention modules.
        inputs: The inputs of the pass.
        options: Further arguments of the pass.
        tokens: The tokens of the text, if known.
        target: The tokens that the decoder of an encoder-decoder reads; None without them.
        patch_probe: Finder of the patches of a picture.
        text_probe: Finder of the words beside patches, regions or entities.
        media: The pictures and sounds that the inputs were made of; None if they are unknown.
        processor: The processor that made the inputs, or None.
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
        """The maker of the tokens of pictures."""
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
        """The maker of the tokens of sounds."""
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
        """Return the vocabulary id of a placeholder that the configuration of the model states."""
        config = getattr(self.hf_model, "config", None)
        ids = (getattr(config, name, None) for name in names)
        return next((i for i in ids if isinstance(i, int)), None)

    @property
    def note(self) -> str:
        """What is missing on the axes that `of` has returned; "" for nothing."""
        return ", ".join(filter(None, [self.picture_axes.note, self.sound_axes.note]))

    def axes(self, layers: Mapping[str, Sequence[Layer]]) -> dict[str, tuple[Tokens, Tokens]]:
        """Return the axes of queries and keys of each stack.

        Args:
            layers: The kept layers of each stack of the input.
        """
        axes: dict[str, tuple[Tokens, Tokens]] = {}
        for stack in sorted(layers, key=is_cross):
            kept = layers[stack][0]
            if is_cross(stack):
                owner = next((site.queries for site in self.sites if site.stack == stack), "")
                query = axes[owner][0] if owner in axes else None
                encoder = axes["encoder"][0] if "encoder" in axes else self.tokens
                decodes = self.target is not None and stack == "cross"
                keys = None
                if self.picture_axes.media.pictures and not decodes:
                    keys = self.picture_axes.patches(stack, kept.n_key)
                axes[stack] = (
                    self._fitting(query, owner, kept.n_query),
                    keys or self._fitting(encoder if decodes else None, "", kept.n_key),
                )
            else:
                blocks = next((layer.blocks for layer in layers[stack] if layer.blocks), None)
                if blocks is None:
                    axis = self._fitting(self._text_of(stack), stack, kept.n_query)
                else:
                    axis = self._of_blocks(stack, blocks)
                axes[stack] = (axis, axis)
        return axes

    def _of_blocks(self, stack: str, blocks: LayerBlocks) -> Tokens:
        """Return the tokens of a stack with layers in blocks, and after them the padding."""
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
        # A tower may read what is made of the text, which is the text itself if lengths agree.
        text_alone = all(map(is_of_text, self.inputs))
        is_text = reads == "text" or (not reads and (text_alone or not is_tower(stack)))
        return self.tokens if is_text else None

    def _fitting(self, tokens: Tokens | None, stack: str, length: int) -> Tokens:
        """Return `tokens` if they fit the axis of a map, else patches of a picture or positions."""
        site = next((site for site in self.sites if site.stack == stack), None)
        if tokens is not None and len(tokens) == length:
            if site is None:
                return tokens
            return self.sound_axes.in_text(stack, self.picture_axes.in_text(stack, tokens))
        text = self.tokens
        beside = 0 if text is None else length - len(text)
        reads_text = site is not None and stack != "decoder" and site.reads in ("text", "")
        if text is not None and beside > 0 and reads_text:
            places = self.text_probe(stack, length, len(text), self.inputs, self.options)
            if places:
                return with_text(self._with_parts(site, stack, length, places), text, places)
        return self._without_text(site, stack, length)

    def _with_parts(
        self, site: Site | None, stack: str, length: int, of_text: Sequence[int]
    ) -> Tokens:
        """Return an axis on which tokens that are no words have names."""
        rest = [i for i in range(length) if i not in set(of_text)]
        parts = self._parts(len(rest))
        if parts is not None:
            return with_text(position_axis(length, is_line=False), parts, rest)
        return self._without_text(site, stack, length)

    def _parts(self, length: int) -> Tokens | None:
        """Return the regions or entities that the caller has cut out, if there are as many."""
        kinds = (
            kind
            for name, kind in _PARTS.items()
            if name in self.inputs and self.inputs[name].shape[1:2] == (length,)
        )
        kind = next(kinds, None)
        return None if kind is None else region_axis(length, kind)

    def _without_text(self, site: Site | None, stack: str, length: int) -> Tokens:
        """Return patches of a picture, times of a sound, regions, or positions."""
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
        """Return whether the tokens of a stack without a text are a line, as frames of sound are.

        Patches of a picture or of a spectrogram are no line, and objects in a picture are none.
        """
        if any(name in self.inputs for name in PIXELS) or (site and site.reads == "picture"):
            return False
        if site is not None and is_tower(site.stack) and not site.reads:
            return all(map(is_of_text, self.inputs))
        config = getattr(None if site is None else site.module, "config", None)
        return not hasattr(config, "patch_size")
