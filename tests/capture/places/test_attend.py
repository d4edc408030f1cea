"""Places on the axes of attentions of pictures."""

from __future__ import annotations

import numpy as np
import pytest

from attnwidget import load_model
from attnwidget.text.places import Box
from fixtures.picture_models import build, drawn


def test_the_attention_of_a_picture_has_places_in_it() -> None:
    family = build("CLIP vision")
    picture = drawn(150, 90)
    model = load_model(family.model, family.processor)
    attention = model.attend(images=picture)
    axis = attention.stacks["self"].key
    assert axis.text[:3] == ("[CLS]", "r0c0", "r0c1") and axis.places[0] is None
    first, last = axis.places[1], axis.places[-1]
    assert isinstance(first, Box) and isinstance(last, Box)
    assert first.left == pytest.approx(30, abs=1.5) and last.right == pytest.approx(120, abs=1.5)
    assert "boxes" not in attention.note
    assert attention.disabled([(0, 1)]).stacks["self"].key.places == axis.places
    with model.disabled((0, 1)):
        assert model.attend(images=picture).stacks["self"].key.places == axis.places


def test_pixels_without_a_picture_have_names_and_no_places() -> None:
    family = build("CLIP vision")
    model = load_model(family.model, family.processor)
    inputs = family.inputs([drawn(150, 90)])
    axis = model.attend(inputs).stacks["self"].key
    assert axis.text[:3] == ("[CLS]", "r0c0", "r0c1") and axis.places == ()


def test_the_note_says_why_there_are_no_boxes() -> None:
    family = build("ViT")

    class Turned(type(family.processor)):
        def __call__(self, images, **options):
            return super().__call__([image.rotate(30) for image in images], **options)

    attention = load_model(family.model, Turned(size={"height": 64, "width": 64})).attend(
        images=drawn(150, 90)
    )
    assert (
        "the tokens of 'self' have no boxes in the picture: the processor shows a part of a "
        "picture that is no rectangle" in attention.note
    )
    assert attention.stacks["self"].key.places == ()
    assert np.array_equal(attention.images[0], drawn(150, 90))
