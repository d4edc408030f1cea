"""Which patch of a picture or video each token of a model is, asked of the model itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.hub_model.plain_forward import plain_forward, uncompiled
from attnwidget.capture.tapping.attention_sites import Site, find_sites
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.stack_names import nearest_stacks

PIXELS = ("pixel_values", "pixel_values_videos")
# A token that has read a patch changes with it by more than this share of the largest state.
_CHANGED = 1e-4
# Inputs that do not move patches to other tokens.
_TEXT = {"input_ids", "attention_mask", "token_type_ids", "position_ids", *PIXELS}
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
    """The tokens of a tower that reads patches.

    Attributes:
        patches: For each token the number of its patch, counted row by row and frame by frame; None
            for a token that is no patch.
        grid: Frames, rows and columns of the patches; 1 frame of a picture.
        before: Names of the tokens before the first patch, as far as the model says.
        after: Names of the tokens after the last patch.
    """

    patches: tuple[int | None, ...]
    grid: tuple[int, int, int]
    before: tuple[str, ...]
    after: tuple[str, ...]


class _Stop(Exception):  # noqa: N818  it ends a pass before the first layer
    def __init__(self, states: Tensor | None) -> None:
        self.states = states
        super().__init__("stopped before the first layer")


class PatchProbe:
    """Finder of the patch of each token; the result is stored for each size of a picture.

    The patches have binary numbers. The probe shows the model a picture of noise for each digit, in
    which only the patches with this digit are visible. The states before the first layer show the
    digits of each token. The probe needs no table of architectures, so it also finds class tokens,
    registers, detection tokens, frames and shuffled patches.

    Args:
        hf_model: A transformers model.
    """

    def __init__(self, hf_model: Any) -> None:
        self._hf_model = hf_model
        self._known: dict[tuple[Any, ...], PatchTokens | None] = {}

    def __call__(
        self, stack: str, length: int, inputs: Mapping[str, Tensor], options: Mapping[str, Any]
    ) -> PatchTokens | None:
        """Return the patches of the tokens of a stack, or None if they are not whole patches.

        Args:
            stack: Name of the stack that reads the picture.
            length: Number of tokens of the stack.
            inputs: The inputs of the model, with the picture or the video.
            options: Further arguments of the model's forward.
        """
        shapes = tuple((name, tuple(value.shape)) for name, value in sorted(inputs.items()))
        key = (stack, length, shapes)
        if key in self._known:
            return self._known[key]
        found = self._find(stack, length, inputs, options)
        if inputs.keys() <= _TEXT:
            self._known[key] = found
        return found

    def _find(
        self, stack: str, length: int, inputs: Mapping[str, Tensor], options: Mapping[str, Any]
    ) -> PatchTokens | None:
        model = uncompiled(self._hf_model)
        sites = find_sites(model)
        first = next(site for site in sites if site.stack == stack)
        name = next((name for name in PIXELS if name in inputs), None)
        if name is None:
            return None
        grid = _grid(inputs[name], _config_of(first, model))
        if grid is None:
            return None
        n_patches = grid[0] * grid[1] * grid[2]
        generator = torch.Generator(device="cpu").manual_seed(0)
        shape = inputs[name].shape
        noise = torch.randn(shape, generator=generator, dtype=torch.float32, device="cpu")
        numbers = torch.arange(n_patches, dtype=torch.int64, device="cpu")

        def states(shown: Tensor) -> Tensor | None:
            picture = noise * _cells(shown.float(), grid, inputs[name])
            given = {**inputs, name: picture.to(inputs[name])}
            return _states_before(model, first.module, given, options)

        base = states(torch.zeros(n_patches, dtype=torch.float32, device="cpu"))
        if base is None or base.shape[:-1] != (1, length):
            return None
        codes = torch.zeros(length, dtype=torch.int64, device="cpu")
        seen = torch.zeros(length, dtype=torch.bool, device="cpu")
        scale = 0.0
        for digit in range(max(1, ceil(log2(n_patches)))):
            one = (numbers >> digit) % 2 == 1
            changes = []
            for shown in (one, ~one):
                found = states(shown)
                if found is None or found.shape != base.shape:
                    return None
                scale = max(scale, float(found.abs().max()))
                changes.append((found - base)[0].abs().amax(-1) > _CHANGED * scale)
            on, off = changes
            if bool((on & off).any()) or (digit and not torch.equal(on | off, seen)):
                return None  # tokens that mix patches
            seen = on | off
            codes += on.long() << digit
        patches = tuple(
            int(code) if is_patch else None
            for code, is_patch in zip(codes.tolist(), seen.tolist(), strict=True)
        )
        numbered = [patch for patch in patches if patch is not None]
        if len(set(numbered)) < len(numbered) or max(numbered, default=n_patches) >= n_patches:
            return None
        return PatchTokens(patches, grid, *_extra_tokens(model, sites, stack, patches))


def _config_of(site: Site, model: Any) -> Any:
    """Return the configuration that states the size of the patches of a tower."""
    parts = site.path.split(".")
    for end in range(len(parts), -1, -1):
        config = getattr(model.get_submodule(".".join(parts[:end])), "config", None)
        if hasattr(config, "patch_size") or hasattr(config, "tubelet_size"):
            return config
    return None


def _grid(pixels: Tensor, config: Any) -> tuple[int, int, int] | None:
    """Return frames, rows and columns of the patches of `pixels`; None if they are not known."""
    size = getattr(config, "patch_size", None)
    tubelet = getattr(config, "tubelet_size", None)
    if isinstance(tubelet, (list, tuple)) and len(tubelet) == 3:
        frames_each, *sides = tubelet
    else:
        frames_each = tubelet
        sides = list(size) if isinstance(size, (list, tuple)) else [size, size]
    if len(sides) != 2 or not all(isinstance(side, int) and side > 0 for side in sides):
        return None
    if pixels.ndim == 4 or (pixels.ndim == 5 and pixels.shape[1] == 1):
        frames = 1
    elif pixels.ndim == 5 and isinstance(frames_each, int):
        frames = pixels.shape[1] // frames_each
    else:
        return None
    rows, columns = pixels.shape[-2] // sides[0], pixels.shape[-1] // sides[1]
    return (frames, rows, columns) if frames and rows and columns else None


def _cells(shown: Tensor, grid: tuple[int, int, int], pixels: Tensor) -> Tensor:
    """Return the value of each patch at all of its pixels, in the form of `pixels`."""
    frames, rows, columns = grid
    cells = shown.reshape(grid)
    counts = [pixels.shape[1] if pixels.ndim == 5 else 1, *pixels.shape[-2:]]
    for axis, (count, parts) in enumerate(zip(counts, (frames, rows, columns), strict=True)):
        cells = cells.repeat_interleave(count // parts, axis)
        rest = count - cells.shape[axis]  # pixels at the edge that belong to no patch
        cells = torch.cat([cells, torch.zeros_like(cells.narrow(axis, 0, rest))], axis)
    return cells[None, :, None] if pixels.ndim == 5 else cells[None]


def _states_before(
    model: Any, module: nn.Module, inputs: Mapping[str, Tensor], options: Mapping[str, Any]
) -> Tensor | None:
    """Return the states that reach the first attention module of a tower, [1, n, d]."""

    def stop(_: nn.Module, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        tensors = (value for value in (*args, *named.values()) if isinstance(value, Tensor))
        raise _Stop(next((value for value in tensors if value.ndim == 3), None))

    with hooked([module], before=stop), torch.no_grad(), plain_forward(model):
        try:
            model(**inputs, **options)
        except _Stop as reached:
            return None if reached.states is None else reached.states.detach().float().cpu()
    return None


def _extra_tokens(
    model: nn.Module, sites: Sequence[Site], stack: str, patches: Sequence[int | None]
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
