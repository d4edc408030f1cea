"""Which patch of a picture or video each token of a model is, asked of the model itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.hub_model.model_tensors import is_of_text
from attnwidget.capture.hub_model.picture_places import NoPlaces, PictureFrames
from attnwidget.capture.hub_model.plain_forward import uncompiled
from attnwidget.capture.maps.first_states import states_before
from attnwidget.capture.maps.patch_layout import Patch, PatchLayout
from attnwidget.capture.tapping.attention_sites import Site, find_sites
from attnwidget.capture.tapping.stack_names import is_cross, nearest_stacks

PIXELS = ("pixel_values", "pixel_values_videos")
# A token that has read a patch changes with it by more than this share of its largest number.
_CHANGED = 1e-4
# The parameters in which models keep tokens that are no patches: their names on an axis, and
# whether these tokens come before the patches.
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
        patches: For each token its patch, or its block of several patches; None for a token that
            is no patch. Rows and columns count blocks.
        frames: Number of frames of a video, or of pictures and tiles.
        size: Height and width of a patch, or of a block: in pixels that the model reads, or in
            patches if the processor has cut the picture into patches.
        before: Names of the tokens before the first patch, as far as the model says.
        after: Names of the tokens after the last patch.
    """

    patches: tuple[Patch | None, ...]
    frames: int
    size: tuple[int, int]
    before: tuple[str, ...]
    after: tuple[str, ...]


class _Mixed(Exception):  # noqa: N818  it ends the search with blocks of one size
    """The tokens are not made of one block of patches each."""


class PatchProbe:
    """Finder of the patch of each token; the result is stored for each size of a picture.

    The patches have binary numbers. The probe shows the model a picture of noise for each digit, in
    which only the patches with this digit are visible. The states before the first layer show the
    digits of each token. The probe needs no table of architectures, so it also finds class tokens,
    registers, detection tokens, frames and shuffled patches.

    Language models read tokens that a tower has made of patches. The attention of the tower is
    then switched off, so that its tokens stay apart. Where a token was made of several patches,
    the probe numbers blocks of patches, and checks that each token reads all of its block.

    Args:
        hf_model: A transformers model.
    """

    def __init__(self, hf_model: Any) -> None:
        self._hf_model = hf_model
        self._known: dict[tuple[Any, ...], PatchTokens | str] = {}

    def __call__(
        self,
        stack: str,
        length: int,
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
        frames: PictureFrames | None = None,
    ) -> PatchTokens:
        """Return the patches of the tokens of a stack.

        Args:
            stack: Name of the stack that reads the picture, or tokens made of it.
            length: Number of tokens of the stack.
            inputs: The inputs of the model, with the picture or the video.
            options: Further arguments of the model's forward.
            frames: What the processor has made of the pictures, if it is known. It says the places
                of patches that the processor has cut out.

        Raises:
            NoPlaces: The tokens are not made of patches, or of blocks of patches.
        """
        key = (stack, length, *_sizes(inputs, reads_text=self._site(stack).reads == "text"))
        if key not in self._known:
            try:
                self._known[key] = self._find(stack, length, inputs, options, frames)
            except NoPlaces as reason:
                self._known[key] = str(reason)
        found = self._known[key]
        if isinstance(found, str):
            raise NoPlaces(found)
        return found

    def _site(self, stack: str) -> Site:
        sites = find_sites(uncompiled(self._hf_model))
        return next(site for site in sites if site.stack == stack)

    def _find(
        self,
        stack: str,
        length: int,
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
        frames: PictureFrames | None,
    ) -> PatchTokens:
        model = uncompiled(self._hf_model)
        sites = find_sites(model)
        first = next(site for site in sites if site.stack == stack)
        name = next((name for name in PIXELS if name in inputs), None)
        layout = None if name is None else _layout(inputs[name], first, sites, model, frames)
        if name is None or layout is None:
            raise NoPlaces("the model does not say the size of its patches")
        pixels = inputs[name]
        towers = [
            site.module
            for site in sites
            if site.stack != stack and site.reads == "picture" and not is_cross(site.stack)
        ]

        def states(visible: Tensor) -> Tensor:
            given = {**inputs, name: layout.show(visible).to(pixels)}
            found = states_before(model, first.module, towers, given, options)
            if found is None or found.shape[:-1] != (length,):
                raise NoPlaces("its tokens are no sequence that the first layer reads")
            return found

        watch = _Watch(states, len(layout.patches))
        for merged in layout.merges():
            numbers, blocks = layout.merged(merged)
            try:
                codes = watch.codes(numbers, len(blocks))
                if merged > 1:
                    watch.check_whole(layout, merged, codes)
            except _Mixed:
                continue
            patches = tuple(None if code < 0 else blocks[code] for code in codes)
            names = _extra_tokens(model, sites, stack, patches)
            down, across = layout.side or (1, 1)
            size = (merged * down, merged * across)
            return PatchTokens(patches, len(layout.shapes), size, *names)
        raise NoPlaces("its tokens mix patches of the picture")


class _Watch:
    """Comparer of the states of tokens with and without patches.

    Args:
        states: Function that returns the states of the tokens, [n, d], while some patches are
            visible, bool [patches].
        n_patches: Number of patches.
    """

    def __init__(self, states: Callable[[Tensor], Tensor], n_patches: int) -> None:
        self._states = states
        self._base = states(torch.zeros(n_patches, dtype=torch.bool, device="cpu"))
        self._scale = self._base.abs().amax(-1)

    def changed(self, visible: Tensor) -> Tensor:
        """Return whether each token changes if patches become visible, bool [n]."""
        found = self._states(visible)
        scale = torch.maximum(self._scale, found.abs().amax(-1))
        return (found - self._base).abs().amax(-1) > _CHANGED * scale

    def codes(self, numbers: Tensor, count: int) -> list[int]:
        """Return the block that each token reads, or -1 for none.

        Args:
            numbers: The block of each patch, int64 [patches].
            count: Number of blocks.

        Raises:
            _Mixed: A token reads several blocks, or two tokens read the same one.
        """
        codes = torch.zeros(self._scale.shape, dtype=torch.int64, device="cpu")
        seen = None
        for digit in range(max(1, ceil(log2(count)))):
            one = (numbers >> digit) % 2 == 1
            on, off = self.changed(one), self.changed(~one)
            if bool((on & off).any()) or (seen is not None and not torch.equal(on | off, seen)):
                raise _Mixed
            seen = on | off
            if not bool(seen.any()):
                return [-1] * len(codes)
            codes += on.long() << digit
        assert seen is not None
        numbered = codes[seen]
        if len(numbered.unique()) < len(numbered) or int(numbered.max()) >= count:
            raise _Mixed
        return [int(code) for code in torch.where(seen, codes, -1)]

    def check_whole(self, layout: PatchLayout, merged: int, codes: Sequence[int]) -> None:
        """Check that tokens read every patch of their blocks.

        Raises:
            _Mixed: A token does not change with one of the patches of its block.
        """
        reads = torch.tensor(codes, dtype=torch.int64, device="cpu") >= 0
        rows, columns = layout.patches[:, 1] % merged, layout.patches[:, 2] % merged
        for row in range(merged):
            for column in range(merged):
                if not torch.equal(self.changed((rows == row) & (columns == column)), reads):
                    raise _Mixed


def _sizes(inputs: Mapping[str, Tensor], *, reads_text: bool) -> Iterator[tuple[Any, ...]]:
    """Yield what the places of patches among the tokens depend on, of each input."""
    for name, value in sorted(inputs.items()):
        if name in PIXELS:
            is_blank = (value == 0).flatten(-3).all(-1) if value.ndim > 3 else value[:0]
            yield name, tuple(value.shape), tuple(is_blank.flatten().tolist())
        elif reads_text or not is_of_text(name):
            yield name, tuple(value.shape), value.detach().cpu().double().numpy().tobytes()


def _layout(
    pixels: Tensor,
    site: Site,
    sites: Sequence[Site],
    model: Any,
    frames: PictureFrames | None,
) -> PatchLayout | None:
    """Return the patches in pixels; None if their size is not known."""
    if frames is not None and frames.patches is not None:
        return PatchLayout.of_flat_patches(pixels, frames.patches, frames.shapes)
    towers = [other for other in sites if other.reads == "picture" and not is_cross(other.stack)]
    readers = towers if site.reads == "text" else [site]
    config = next((config for other in readers if (config := _config_of(other, model))), None)
    return PatchLayout.of_pictures(pixels, config)


def _config_of(site: Site, model: Any) -> Any:
    """Return the configuration that states the size of the patches of a tower."""
    parts = site.path.split(".")
    for end in range(len(parts), -1, -1):
        config = getattr(model.get_submodule(".".join(parts[:end])), "config", None)
        if hasattr(config, "patch_size") or hasattr(config, "tubelet_size"):
            return config
    return None


def _extra_tokens(
    model: nn.Module, sites: Sequence[Site], stack: str, patches: Sequence[Patch | None]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names of the tokens before the first and after the last patch.

    Names are the positions of the tokens where the parameters of the model do not explain them.
    """
    places = [i for i, patch in enumerate(patches) if patch is not None]
    first, last = (places[0], places[-1] + 1) if places else (len(patches), len(patches))
    known: dict[bool, list[str]] = {True: [], False: []}
    for name, before, count in _counted_tokens(model, sites, stack):
        known[before] += [name.format(number) for number in range(1, count + 1)]
    leading = [f"[{i}]" for i in range(first)]
    trailing = [f"[{i}]" for i in range(last, len(patches))]
    if len(known[True]) == len(leading) and len(known[False]) == len(trailing):
        leading, trailing = known[True], known[False]
    return tuple(leading), tuple(trailing)


def _counted_tokens(
    model: nn.Module, sites: Sequence[Site], stack: str
) -> Iterator[tuple[str, bool, int]]:
    """Name, place and number of the extra tokens that a tower has parameters for."""
    for pattern, name, before in _EXTRA_TOKENS:
        for path, parameter in model.named_parameters():
            if pattern.search(path) and stack in nearest_stacks(path, sites):
                yield name, before, parameter.shape[-2] if parameter.ndim > 1 else 1
                break
