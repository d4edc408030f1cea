"""Axes with the tokens of a picture, and their boxes in the user's pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from attnwidget.capture.maps.patch_probe import PIXELS, PatchProbe, PatchTokens
from attnwidget.capture.places.patch_layout import Patch
from attnwidget.capture.places.picture_places import NoPlaces, PictureFrames
from attnwidget.inputs.token_axes import (
    patch_axis,
    patch_name,
    with_padding,
    with_parts,
)
from attnwidget.text.places import Box, Media, Place
from attnwidget.text.tokens import Tokens

# Smallest share of all frames' area that a frame with the whole picture, next to its tiles, shows.
_WHOLE = 0.95
_NO_PART = "none of them is made of one part of the picture"


@dataclass(frozen=True)
class PictureAxes:
    """Maker of one input's picture tokens.

    Attributes:
        probe: Finder of each token's patch.
        inputs: Inputs of the model.
        options: Further arguments of the pass.
        media: Pictures of the user; empty if the caller passed pixels.
        processor: Processor that made pixels from the pictures, or None.
        image_token: Vocabulary id of placeholder tokens for picture parts, or None.
        reasons: Reason for missing boxes, for each stack without boxes.
    """

    probe: PatchProbe
    inputs: Mapping[str, Tensor]
    options: Mapping[str, Any]
    media: Media = field(default_factory=Media)
    processor: Any = None
    image_token: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """The reasons for missing boxes, for the note of an attention; "" if none is missing."""
        notes: dict[str, list[str]] = {}
        for stack, reason in self.reasons.items():
            notes.setdefault(reason, []).append(repr(stack))
        return ", ".join(
            f"the tokens of {' and '.join(stacks)} have no boxes in the picture: {reason}"
            for reason, stacks in notes.items()
        )

    def patches(self, stack: str, length: int, *, in_blocks: bool = False) -> Tokens | None:
        """Return the tokens of a stack that reads pixels; None if they are not patches.

        Args:
            stack: Name of the stack.
            length: Number of tokens.
            in_blocks: Whether the layers of the stack compute attention in blocks.
        """
        if (cut := self.inputs.get("flattened_patches")) is not None:
            return _of_cut_patches(cut, length)
        if not any(name in self.inputs for name in PIXELS):
            return None
        frames = self._frames_for(stack)
        try:
            patch_tokens = self.probe(
                stack, length, self.inputs, self.options, frames, in_blocks=in_blocks
            )
        except NoPlaces as reason:
            self._refuse(stack, str(reason))
            return None
        if not any(patch_tokens.patches):
            self._refuse(stack, _NO_PART)
            return None
        if frames is None:
            has_frames = patch_tokens.frames > 1
            names = [f"t{i}" if has_frames else "" for i in range(patch_tokens.frames)]
            return patch_axis(patch_tokens.patches, patch_tokens.others, names)
        tokens = patch_axis(patch_tokens.patches, patch_tokens.others, _frame_names(frames))
        return _placed(tokens, patch_tokens, frames)

    def in_text(self, stack: str, tokens: Tokens) -> Tokens:
        """Return the tokens of a text, with names and boxes for tokens made from a picture."""
        is_part = [i == self.image_token for i in tokens.ids]
        if self.image_token is None or not any(is_part):
            return tokens
        if not self.media.pictures:
            if self.inputs.keys().isdisjoint(PIXELS):
                self.reasons[stack] = (
                    "the text has placeholders of a picture, and no picture was given; pass "
                    "images=..."
                )
            return tokens
        frames = self._frames_for(stack)
        if frames is None:
            return tokens
        try:
            patch_tokens = self.probe.in_text(stack, is_part, self.inputs, self.options, frames)
            if not any(patch_tokens.patches):
                raise NoPlaces(_NO_PART)
        except NoPlaces as reason:
            self._refuse(stack, str(reason))
            return tokens
        named_tokens = _with_patches(tokens, patch_tokens, is_part, frames)
        return _placed(named_tokens, patch_tokens, frames)

    @cached_property
    def _frames(self) -> PictureFrames | NoPlaces:
        if self.processor is None:
            return NoPlaces("there is no processor: pass it to load_model")
        try:
            return self.probe.frames(self.processor, self.media.pictures, self.inputs)
        except NoPlaces as reason:
            return reason

    def _frames_for(self, stack: str) -> PictureFrames | None:
        """Return the frames that the processor made from the pictures, if they are known."""
        if not self.media.pictures:
            return None
        if isinstance(self._frames, NoPlaces):
            self._refuse(stack, str(self._frames))
            return None
        return self._frames

    def _refuse(self, stack: str, reason: str) -> None:
        if self.media.pictures:
            self.reasons.setdefault(stack, reason)


def _of_cut_patches(cut: Tensor, length: int) -> Tokens | None:
    """Return an axis for patches that a processor has cut out, as in Pix2Struct.

    Args:
        cut: Row and column of each patch, from 1, and its pixels, [1, n, 2 + pixels]. Padding has
            the row 0.
        length: Number of tokens.
    """
    if cut.ndim != 3 or len(cut) != 1:
        return None
    positions = [(int(row), int(column)) for row, column in cut[0, :, :2].tolist() if row]
    if len(positions) > length or (len(positions) < length and cut.shape[1] != length):
        return None
    patches = [(0, row - 1, column - 1) for row, column in positions]
    return with_padding(patch_axis(patches, [""] * len(patches), [""]), length - len(patches))


def _placed(tokens: Tokens, found: PatchTokens, frames: PictureFrames) -> Tokens:
    """Return tokens with their boxes. Tokens that contain only padding have the kind "padding"."""
    height, width = found.size
    regions: list[Place | None] = []
    special = list(tokens.special)
    padding: set[int] = set()
    if frames.patches is not None and len(frames.patches) == len(tokens):
        padding = set(np.flatnonzero(frames.patches[:, 0] < 0).tolist())
    for token, patch in enumerate(found.patches):
        region = None
        if patch is not None and (frame := frames.frames[patch.frame]) is not None:
            left, top = patch.column * width, patch.row * height
            region = frame.box(left, top, left + width, top + height)
        if region is None and (patch is not None or token in padding):
            special[token] = "padding"
        regions.append(region)
    words = tuple(
        None if kind == "padding" else word
        for kind, word in zip(special, tokens.words, strict=True)
    )
    return replace(tokens, places=tuple(regions), special=tuple(special), words=words)


def _with_patches(
    tokens: Tokens, found: PatchTokens, is_part: Sequence[bool], frames: PictureFrames
) -> Tokens:
    """Return the tokens of a text, in which picture tokens have names and count as words."""
    names = _frame_names(frames)
    parts: dict[int, tuple[str | None, str]] = {
        i: (None, "other") for i, part in enumerate(is_part) if part
    }
    for i, number in _row_ends(found.patches, is_part).items():
        parts[i] = (f"[row end {number}]", "other")
    for i, patch in enumerate(found.patches):
        if patch is not None:
            parts[i] = (patch_name(patch, names), "")
    return with_parts(tokens, parts)


def _row_ends(patches: Sequence[Patch | None], is_part: Sequence[bool]) -> dict[int, int]:
    """Return the 1-based number of each token that a model inserts after a patch row."""
    ends = [
        i
        for i, patch in enumerate(patches)
        if is_part[i] and patch is None and i and patches[i - 1] is not None
    ]
    row_ends = [i for i in ends if i + 1 == len(patches) or not is_part[i + 1] or patches[i + 1]]
    return {i: number for number, i in enumerate(row_ends, 1)}


def _frame_names(frames: PictureFrames) -> list[str]:
    """Return the name prefix for the patches of each frame.

    The prefix numbers the pictures if there are several, and the tiles if a picture has several.
    """
    boxes = [None if frame is None else frame.whole for frame in frames.frames]
    n_pictures = len({box.picture for box in boxes if box is not None})
    names = []
    tiles: dict[int, int] = {}
    for box in boxes:
        if box is None:
            names.append("padding ")
            continue
        picture_boxes = [
            other for other in boxes if other is not None and other.picture == box.picture
        ]
        name = f"p{box.picture} " if n_pictures > 1 else ""
        if len(picture_boxes) > 1:
            if box.area >= _WHOLE * _hull_area(picture_boxes):
                name += "whole "
            else:
                tile = tiles.get(box.picture, 0)
                tiles[box.picture] = tile + 1
                name += f"t{tile} "
        names.append(name)
    return names


def _hull_area(boxes: Sequence[Box]) -> float:
    """Return the area of the smallest box that contains all boxes."""
    width = max(box.right for box in boxes) - min(box.left for box in boxes)
    height = max(box.bottom for box in boxes) - min(box.top for box in boxes)
    return width * height
