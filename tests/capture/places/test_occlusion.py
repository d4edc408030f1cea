"""Boxes of tokens: a change in the box of a token changes this token, and a change outside none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from torch import Tensor

from attnwidget.text.places import Box
from attnwidget.text.tokens import Tokens
from fixtures.picture_models import SIZES, Picture, PictureModel, build, drawn

TOWERS = (
    "ViT",
    "DeiT",
    "CLIP vision",
    "SigLIP vision",
    "SigLIP 2 vision",
    "DINOv2",
    "DINOv2 with registers",
    "DINOv3",
    "BEiT",
    "YOLOS",
    "Pixtral vision",
)
LANGUAGE_MODELS = (
    "LLaVA",
    "LLaVA-NeXT",
    "PaliGemma",
    "Gemma 3",
    "InternVL",
    "InternVL tiles",
    "Idefics3",
    "SmolVLM",
    "Qwen2-VL",
    "Qwen2.5-VL",
    "Qwen3-VL",
)
#: Language models whose tower reads the picture as one sequence.
WITH_TOWER = ("LLaVA", "PaliGemma", "Gemma 3", "InternVL", "Qwen2-VL", "Qwen2.5-VL", "Qwen3-VL")
SEVERAL = ("LLaVA", "LLaVA-NeXT", "Gemma 3", "InternVL tiles", "Idefics3", "Qwen2.5-VL")
# Processors blur the edges of a box: parts of a box end this share of its side inside of it.
MARGIN = 0.25

built = cache(build)


def changed(
    family: PictureModel, stack: str, pictures: Sequence[Picture], boxes: Sequence[Box]
) -> Tensor:
    """How much each token changes while parts of the pictures show inverse colours, [n]."""
    occluded = [picture.copy() for picture in pictures]
    for box in boxes:
        rows = slice(round(max(box.top, 0)), round(max(box.bottom, 0)))
        columns = slice(round(max(box.left, 0)), round(max(box.right, 0)))
        part = occluded[box.picture][rows, columns]
        part[:] = 255 - part
    before, after = (family.states(stack, family.inputs(shown)) for shown in (pictures, occluded))
    return (after - before).norm(dim=-1)


def grown(box: Box, share: float) -> Box:
    """The box with sides longer by a share of themselves at both ends."""
    x, y = (box.right - box.left) * share, (box.bottom - box.top) * share
    return Box(box.picture, box.left - x, box.top - y, box.right + x, box.bottom + y)


def around(box: Box, picture: Picture) -> list[Box]:
    """The picture without the box, as up to four boxes."""
    height, width = picture.shape[:2]
    left, top = max(box.left, 0), max(box.top, 0)
    right, bottom = min(box.right, width), min(box.bottom, height)
    parts = (
        (0, 0, width, top),
        (0, bottom, width, height),
        (0, top, left, bottom),
        (right, top, width, bottom),
    )
    return [Box(box.picture, *part) for part in parts if part[2] > part[0] and part[3] > part[1]]


def check(
    family: PictureModel, stack: str, pictures: Sequence[Picture], tokens: Tokens, token: int
) -> None:
    """Check the box of one token by changing the pictures inside and outside of it."""
    box = tokens.places[token]
    assert isinstance(box, Box)
    inner = grown(box, -MARGIN)
    inside = changed(family, stack, pictures, [inner])
    readers = [
        i
        for i, place in enumerate(tokens.places)
        if isinstance(place, Box) and place.picture == box.picture and overlap(place, inner)
    ]
    assert float(inside[readers].sum() / inside.sum()) > 0.98, f"inside of {tokens.text[token]}"
    assert float(inside[token]) > 0
    outside = changed(family, stack, pictures, around(grown(box, MARGIN), pictures[box.picture]))
    assert float(outside[token]) < 0.02 * float(outside.max()), f"outside {tokens.text[token]}"


def overlap(first: Box, second: Box) -> bool:
    """Whether two boxes share an area; a token of a tile shares its place with the whole."""
    return min(first.right, second.right) > max(first.left, second.left) and min(
        first.bottom, second.bottom
    ) > max(first.top, second.top)


def sampled(tokens: Tokens, count: int) -> list[int]:
    """Some tokens with a box, the first and the last among them."""
    placed = [i for i, place in enumerate(tokens.places) if place is not None]
    chosen = np.linspace(0, len(placed) - 1, count).round().astype(int)
    return [placed[i] for i in dict.fromkeys(chosen.tolist())]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [*TOWERS, *LANGUAGE_MODELS])
def test_a_change_in_the_box_of_a_token_changes_this_token(
    name: str, size: tuple[int, int]
) -> None:
    family = built(name)
    pictures = [drawn(*size)]
    tokens, note = family.tokens("self", pictures)
    assert note == ""
    for token in sampled(tokens, 3):
        check(family, "self", pictures, tokens, token)


@pytest.mark.parametrize("name", WITH_TOWER)
def test_the_tokens_of_a_tower_have_boxes_too(name: str) -> None:
    family = built(name)
    pictures = [drawn(*SIZES[1])]
    tokens, note = family.tokens("vision", pictures)
    assert note == ""
    for token in sampled(tokens, 3):
        check(family, "vision", pictures, tokens, token)


@pytest.mark.parametrize("name", SEVERAL)
def test_tokens_of_several_pictures_have_boxes_in_their_picture(name: str) -> None:
    family = built(name)
    pictures = [drawn(*size, seed) for seed, size in enumerate(SIZES)]
    tokens, note = family.tokens("self", pictures)
    assert note == ""
    boxes = [place for place in tokens.places if isinstance(place, Box)]
    assert [box.picture for box in boxes] == sorted(box.picture for box in boxes)
    assert {box.picture for box in boxes} == {0, 1, 2}
    for token in sampled(tokens, 3):
        check(family, "self", pictures, tokens, token)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [*TOWERS, *LANGUAGE_MODELS])
def test_every_box_is_the_part_that_its_token_reads(name: str, size: tuple[int, int]) -> None:
    family = built(name)
    pictures = [drawn(*size)]
    for stack in ("self", "vision") if name in WITH_TOWER else ("self",):
        tokens, _ = family.tokens(stack, pictures)
        for token in sampled(tokens, len(tokens)):
            check(family, stack, pictures, tokens, token)
