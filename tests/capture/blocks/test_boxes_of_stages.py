"""Boxes of tokens of models with windows: a change in the box of a token changes this token."""

from __future__ import annotations

from functools import cache

import pytest

from attnwidget.text.places import Box
from fixtures.block_models import build_blocks
from fixtures.occlusion import check, sampled
from fixtures.picture_models import SIZES, drawn

STACKS = {
    "Swin": ("stage 1", "stage 2"),
    "Swin with padding": ("stage 1", "stage 2"),
    "Swin 2": ("stage 1", "stage 2"),
    "SAM": ("self",),
    "SAM with padding": ("self",),
}

built = cache(build_blocks)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", STACKS)
def test_a_change_in_the_box_of_a_token_changes_this_token(
    name: str, size: tuple[int, int]
) -> None:
    family = built(name)
    pictures = [drawn(*size)]
    for stack in STACKS[name]:
        tokens, note = family.tokens(stack, pictures)
        assert note == ""
        for token in sampled(tokens, 3):
            check(family, stack, pictures, tokens, token)


@pytest.mark.parametrize("name", STACKS)
def test_tokens_are_the_whole_picture_and_padding_has_no_place(name: str) -> None:
    family = built(name)
    width, height = SIZES[0]
    for stack in STACKS[name]:
        tokens, _ = family.tokens(stack, [drawn(width, height)])
        boxes = [place for place in tokens.places if isinstance(place, Box)]
        area = sum((box.right - box.left) * (box.bottom - box.top) for box in boxes)
        assert area == pytest.approx(width * height, rel=0.02)
        padded = [kind == "padding" for kind in tokens.special]
        assert [place is None for place in tokens.places] == padded
        assert ("padding" in name and any(padded)) or stack == "stage 2" or not any(padded)
