"""Kinds and names of the tokens of pictures."""

from __future__ import annotations

import pytest

from attnwidget.text.places import Box
from fixtures.picture_models import build, drawn

KINDS = {
    "ViT": (["cls"], []),
    "DeiT": (["cls", "register"], []),
    "DINOv2 with registers": (["cls", *["register"] * 4], []),
    "YOLOS": (["cls"], ["register"] * 5),
    "SigLIP vision": ([], []),
}


@pytest.mark.parametrize("name", KINDS)
def test_tokens_beside_the_patches_have_kinds_and_no_places(name: str) -> None:
    tokens, _ = build(name).tokens("self", [drawn(100, 80)])
    before, after = KINDS[name]
    patches = [""] * (len(tokens) - len(before) - len(after))
    assert list(tokens.special) == [*before, *patches, *after]
    assert [place is None for place in tokens.places] == [kind != "" for kind in tokens.special]
    assert [word is None for word in tokens.words] == [kind != "" for kind in tokens.special]
    assert tokens.text[len(before)] == "r0c0"


def test_padding_of_a_picture_is_no_patch() -> None:
    tokens, note = build("SigLIP 2 vision").tokens("self", [drawn(100, 80)])
    patches = [i for i, kind in enumerate(tokens.special) if kind == ""]
    assert note == "" and len(patches) == 20, "4 rows of 5 patches"
    assert set(tokens.special[20:]) == {"padding"} and len(tokens) == 24
    assert tokens.text[19] == "r3c4"


def test_the_boxes_of_a_tower_cover_a_squeezed_picture_once() -> None:
    tokens, _ = build("DINOv3").tokens("self", [drawn(150, 260)])
    boxes = [place for place in tokens.places if isinstance(place, Box)]
    assert len(boxes) == 24
    assert sum(box.area for box in boxes) == pytest.approx(150 * 260, rel=0.01)


def test_each_tile_of_a_tower_has_a_class_token() -> None:
    tokens, note = build("LLaVA-NeXT").tokens("vision", [drawn(150, 90)])
    classes = [i for i, kind in enumerate(tokens.special) if kind == "cls"]
    assert note == "" and len(tokens) % 17 == 0 and len(tokens) > 17
    assert classes == list(range(0, len(tokens), 17))
    assert tokens.text[:2] == ("[CLS]", "whole r0c0") and tokens.text[17:19] == ("[CLS]", "t0 r0c0")
    assert {tokens.places[i] for i in classes} == {None}
    padding = {tokens.places[i] for i, kind in enumerate(tokens.special) if kind == "padding"}
    assert padding <= {None}
