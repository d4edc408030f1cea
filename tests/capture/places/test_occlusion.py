"""Boxes of tokens: a change in the box of a token changes this token, and a change outside none."""

from __future__ import annotations

from functools import cache

import pytest

from attnwidget.text.places import Box
from fixtures.occlusion import check, sampled
from fixtures.picture_models import SIZES, build, drawn

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
#: Language models whose tower reads tiles of the picture.
WITH_TILES = ("LLaVA-NeXT", "InternVL tiles", "Idefics3", "SmolVLM")
SEVERAL = ("LLaVA", "LLaVA-NeXT", "Gemma 3", "InternVL tiles", "Idefics3", "Qwen2.5-VL")

built = cache(build)


@pytest.mark.parametrize("name", [*TOWERS, *LANGUAGE_MODELS])
def test_a_change_in_the_box_of_a_token_changes_this_token(name: str) -> None:
    """In one picture; the slow test below checks every token of all sizes."""
    family = built(name)
    pictures = [drawn(*SIZES[0])]
    tokens, note = family.tokens("self", pictures)
    assert note == ""
    for token in sampled(tokens, 3):
        check(family, "self", pictures, tokens, token)


@pytest.mark.parametrize("name", [*WITH_TOWER, *WITH_TILES])
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
