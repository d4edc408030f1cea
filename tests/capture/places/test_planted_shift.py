"""A head that looks k patches to the right, through a crop, tiles and merged patches."""

from __future__ import annotations

import re

import numpy as np
import pytest

from attnwidget import Attention, measure_attention
from fixtures.picture_models import build, drawn

#: Families with the stack that is read. The processors crop, cut tiles, and merge 2 x 2 patches.
FAMILIES = {"CLIP vision": "self", "LLaVA-NeXT": "self", "Qwen2-VL": "self"}
_NAME = re.compile(r"(?P<frame>.*?)r(?P<row>\d+)c(?P<column>\d+)$")


@pytest.mark.parametrize("right", [1, 2])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_boxes_show_how_far_the_head_looks(family: str, right: int) -> None:
    picture = drawn(320, 214)
    tokens, note = build(family).tokens(FAMILIES[family], [picture])
    assert not note
    named = {
        (found["frame"], int(found["row"]), int(found["column"])): at
        for at, text in enumerate(tokens.text)
        if tokens.places[at] is not None and (found := _NAME.match(text))
    }
    weights = np.eye(len(tokens))
    shifted = []
    for (frame, row, column), at in named.items():
        other = named.get((frame, row, column + right))
        if other is not None:
            weights[at] = 0
            weights[at, other] = 1
            shifted.append((at, other))
    assert len(shifted) >= 4
    for at, other in shifted:
        here, there = tokens.places[at], tokens.places[other]
        # The edge of the picture may cut the last patch of a row.
        assert there.left - here.left == pytest.approx(right * (here.right - here.left), rel=0.1)
        assert there.top == pytest.approx(here.top, abs=0.5)
    attention = Attention.from_weights(
        weights[None, None], tokens, places=tokens.places, images=[picture]
    )
    found = measure_attention(attention, ["attention_distance"])["attention_distance"]
    expected = right * len(shifted) / sum(place is not None for place in tokens.places)
    assert found.patches[0, 0] == pytest.approx(expected, rel=0.1)
