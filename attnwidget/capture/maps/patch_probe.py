"""Assignment of tokens to the patches in a picture or video, by probing the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.maps.first_states import states_before
from attnwidget.capture.maps.skipped_layers import SkippedLayers, layer_of
from attnwidget.capture.maps.token_watch import MixedTokens, TokenWatch
from attnwidget.capture.places.patch_layout import Patch, PatchLayout
from attnwidget.capture.places.picture_places import (
    FrameFinder,
    NoPlaces,
    PictureFrames,
    found_once,
)
from attnwidget.capture.tapping.attention_sites import Site, find_sites
from attnwidget.capture.tapping.stack_names import is_cross, nearest_stacks
from attnwidget.capture.tapping.stages import tower_of
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.model_facts.plain_forward import uncompiled

PIXELS = ("pixel_values", "pixel_values_videos")
# Number of picture sizes whose patches are cached.
_KEPT = 256
# Inputs that do not change the patch that a token was made from.
_OF_TEXT = {
    "input_ids",
    "attention_mask",
    "token_type_ids",
    "mm_token_type_ids",
    "position_ids",
    "decoder_input_ids",
    "decoder_attention_mask",
}
# Parameters that hold extra tokens: parameter pattern, token name on an axis, and whether these
# tokens come before the patches.
_EXTRA_TOKENS = (
    (re.compile(r"(^|\.)(cls_token|class_token|class_embedding)$"), "[CLS]", True),
    (re.compile(r"(^|\.)distillation_token$"), "[DIST]", True),
    (re.compile(r"(^|\.)register_tokens$"), "[REG{}]", True),
    (re.compile(r"(^|\.)detection_tokens$"), "[DET{}]", False),
)


@dataclass(frozen=True)
class PatchTokens:
    """The tokens of a stack that reads patches.

    Attributes:
        patches: Patch of each token, or its block of patches; None for tokens that are not patches.
            Rows and columns count blocks.
        others: Names of the tokens that are not patches; "" for patches.
        frames: Number of video frames, or of pictures and tiles.
        size: Height and width of a patch or block, in pixels that the model reads; in patches if
            the processor has cut the picture into patches.
    """

    patches: tuple[Patch | None, ...]
    others: tuple[str, ...]
    frames: int
    size: tuple[int, int]


class PatchProbe:
    """Finder of each token's patch; the result is cached for each picture size.

    The patches have binary numbers. For each digit, the probe shows the model a picture of noise in
    which only the patches with this digit are visible. The states before the first layer show the
    digits of each token. The probe needs no architecture table, so it also finds class tokens,
    registers, detection tokens, frames and shuffled patches.

    Language models read tokens that a tower has made from patches. The tower's attention is then
    switched off, so that its tokens stay separate. If a token was made from several patches, the
    probe numbers blocks of patches, and checks that each token reads its entire block.

    Args:
        hf_model: Transformers model.
    """

    def __init__(self, hf_model: Any) -> None:
        self._hf_model = hf_model
        self._known = LatestValues[tuple[Any, ...], PatchTokens | str](_KEPT)
        self.frames = FrameFinder()

    def __call__(
        self,
        stack: str,
        length: int,
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
        frames: PictureFrames | None = None,
        *,
        in_blocks: bool = False,
    ) -> PatchTokens:
        """Return the patches of a stack's tokens, or of cross-attention keys.

        Args:
            stack: Name of a stack whose tokens or keys are made from the picture.
            length: Number of tokens or keys.
            inputs: Inputs of the model, with the picture or the video.
            options: Further arguments of the model's forward.
            frames: Frames that the processor has made from the pictures, if they are known. They
                give the positions of patches that the processor has cut out.
            in_blocks: Whether the stack's layers compute attention in blocks. The tokens are then
                the input of the first layer, because its attention reads windows of them.

        Raises:
            NoPlaces: The tokens are not made from patches, or from blocks of patches.
        """
        key = (stack, length, in_blocks, *_sizes(inputs))
        return found_once(
            self._known, key, lambda: self._find(stack, length, inputs, options, frames, in_blocks)
        )

    def in_text(
        self,
        stack: str,
        is_part: Sequence[bool],
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
        frames: PictureFrames | None = None,
    ) -> PatchTokens:
        """Return token patches for a text with tokens made from a picture.

        Words do not change the order of the patches. The result is therefore cached for each
        number of picture tokens.

        Args:
            stack: Name of the stack that reads the text.
            is_part: Whether each token represents a part of a picture.
            inputs: Inputs of the model, with the picture or the video.
            options: Further arguments of the model's forward.
            frames: Frames that the processor has made from the pictures, if they are known.

        Raises:
            NoPlaces: The tokens are not made from patches, or from blocks of patches.
        """

        def find() -> PatchTokens:
            patch_tokens = self._find(stack, len(is_part), inputs, options, frames)
            pairs = list(zip(patch_tokens.patches, is_part, strict=True))
            if any(patch is not None and not part for patch, part in pairs):
                raise NoPlaces(
                    "the words between them depend on the picture before the first layer"
                )
            patches = tuple(patch for patch, part in pairs if part)
            return replace(patch_tokens, patches=patches, others=("",) * len(patches))

        patch_tokens = found_once(self._known, (stack, "text", sum(is_part), *_sizes(inputs)), find)
        part_patches = iter(patch_tokens.patches)
        patches = tuple(next(part_patches) if part else None for part in is_part)
        return replace(patch_tokens, patches=patches, others=("",) * len(patches))

    def _find(
        self,
        stack: str,
        length: int,
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
        frames: PictureFrames | None,
        in_blocks: bool = False,
    ) -> PatchTokens:
        model = uncompiled(self._hf_model)
        sites = find_sites(model)
        first = next(site for site in sites if site.stack == stack)
        towers = [
            site
            for site in sites
            if (site.reads == "picture" or tower_of(site.stack) == tower_of(stack) != site.stack)
            and not is_cross(site.stack)
        ]
        name = next((name for name in PIXELS if name in inputs), None)
        layout = None if name is None else _layout(inputs[name], first, towers, model, frames)
        if name is None or layout is None:
            raise NoPlaces("the model does not say the size of its patches")
        pixels = inputs[name]
        lower_towers = [site for site in towers if site.stack != stack]
        skipped = SkippedLayers(model, lower_towers)
        reader = layer_of(model, first) if in_blocks else first.module
        # Cross-attention keys are a tower's tokens, with its class token.
        owner = towers[0].stack if is_cross(stack) and towers else stack

        def states(visible: Tensor) -> Tensor:
            masked_inputs = {**inputs, name: layout.show(visible).to(pixels)}
            first_states = states_before(
                model, reader, masked_inputs, options, skipped, of_keys=is_cross(stack)
            )
            if first_states is None or first_states.shape[:-1] != (length,):
                raise NoPlaces("they are not the sequence that the first layer reads")
            return first_states

        # The first pass finds the layers that later passes skip.
        if lower_towers:
            states(torch.ones(len(layout.patches), dtype=torch.bool, device="cpu"))
        watch = TokenWatch(states, len(layout.patches))
        for side in layout.merges():
            numbers, blocks = layout.merged(side)
            try:
                codes = watch.codes(numbers, len(blocks))
                if side > 1:
                    _check_whole(watch, layout, side, codes, len(blocks))
            except MixedTokens:
                continue
            patches = tuple(None if code < 0 else blocks[code] for code in codes)
            others = _names_of_others(model, sites, owner, patches, len(layout.shapes))
            height, width = layout.side or (1, 1)
            size = (side * height, side * width)
            return PatchTokens(patches, others, len(layout.shapes), size)
        raise NoPlaces("they mix patches of the picture")


def _check_whole(
    watch: TokenWatch, layout: PatchLayout, merged: int, codes: Sequence[int], count: int
) -> None:
    """Check that tokens read every patch of their blocks.

    Args:
        watch: Comparer of token states.
        layout: Layout of the patches.
        merged: Number of patches in a block, down and across.
        codes: Block of each token, or -1.
        count: Number of blocks.

    Raises:
        MixedTokens: A token does not change with one of the patches in its block.
    """
    blocks_of_tokens = torch.tensor(codes, dtype=torch.int64, device="cpu")
    numbers, _ = layout.merged(merged)
    rows, columns = layout.patches[:, 1] % merged, layout.patches[:, 2] % merged
    for row in range(merged):
        for column in range(merged):
            visible = (rows == row) & (columns == column)
            # Blocks at the edge of the picture may have fewer patches.
            has_patch = torch.zeros(count + 1, dtype=torch.bool, device="cpu")
            has_patch[numbers[visible]] = True
            if not torch.equal(watch.changed(visible), has_patch[blocks_of_tokens]):
                raise MixedTokens


def _sizes(inputs: Mapping[str, Tensor]) -> Iterator[tuple[Any, ...]]:
    """Yield the properties of each input that affect the patch order."""
    for name, value in sorted(inputs.items()):
        if name in PIXELS:
            is_blank = (value == 0).flatten(-3).all(-1) if value.ndim > 3 else value[:0]
            yield name, tuple(value.shape), tuple(is_blank.flatten().tolist())
        elif name not in _OF_TEXT:
            yield name, tuple(value.shape), value.detach().cpu().double().numpy().tobytes()


def _layout(
    pixels: Tensor,
    site: Site,
    towers: Sequence[Site],
    model: Any,
    frames: PictureFrames | None,
) -> PatchLayout | None:
    """Return the layout of the patches in pixels; None if their size is unknown."""
    if frames is not None and frames.patches is not None:
        return PatchLayout.of_flat_patches(pixels, frames.patches, frames.shapes)
    readers = towers if site.reads == "text" else [site, *towers]
    config = next((config for other in readers if (config := _config_of(other, model))), None)
    return PatchLayout.of_pictures(pixels, config)


def _config_of(site: Site, model: Any) -> Any:
    """Return the configuration that states the patch size of a tower."""
    parts = site.path.split(".")
    for end in range(len(parts), -1, -1):
        config = getattr(model.get_submodule(".".join(parts[:end])), "config", None)
        if hasattr(config, "patch_size") or hasattr(config, "tubelet_size"):
            return config
    return None


def _names_of_others(
    model: nn.Module, sites: Sequence[Site], stack: str, patches: Sequence[Patch | None], count: int
) -> tuple[str, ...]:
    """Return names of the tokens that are not patches, and "" for patches.

    Towers that read `count` frames separately have class tokens and registers in each frame.
    Tokens that the model parameters do not explain are named by their position.
    """
    size = len(patches) // count
    runs = [patches[start : start + size] for start in range(0, size * count, size)]
    is_patch = {tuple(patch is not None for patch in run) for run in runs}
    if len(is_patch) > 1 or size * count < len(patches):
        runs, size = [patches], len(patches)
    known_names: dict[bool, list[str]] = {True: [], False: []}
    for name, is_before, n_tokens in _counted_tokens(model, sites, stack):
        known_names[is_before] += [name.format(number) for number in range(1, n_tokens + 1)]
    names = [f"[{i}]" if patch is None else "" for i, patch in enumerate(patches)]
    for number, run in enumerate(runs):
        positions = [i for i, patch in enumerate(run) if patch is not None]
        first, last = (positions[0], positions[-1] + 1) if positions else (size, size)
        if len(known_names[True]) == first and len(known_names[False]) == size - last:
            names[number * size : number * size + first] = known_names[True]
            names[number * size + last : (number + 1) * size] = known_names[False]
    return tuple(names)


def _counted_tokens(
    model: nn.Module, sites: Sequence[Site], stack: str
) -> Iterator[tuple[str, bool, int]]:
    """Yield name, position (before the patches) and number of a tower's extra tokens."""
    for pattern, name, is_before in _EXTRA_TOKENS:
        for path, parameter in model.named_parameters():
            if pattern.search(path) and stack in nearest_stacks(path, sites):
                yield name, is_before, parameter.shape[-2] if parameter.ndim > 1 else 1
                break
