"""Lesson 6: heads of a model of pictures."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import torch

from attnwidget import Attention, load_model, measure
from attnwidget.demo import drawn_shapes
from attnwidget.metrics import MassInPlaces
from exercises.checking import Exercise, count, head, number

NAME = "attnwidget/shapes"


@cache
def drawn() -> Any:
    """The pictures of the lesson."""
    return drawn_shapes(24, seed=7)


@cache
def first() -> Attention:
    """The attention to the first picture."""
    return load_model(NAME).attend(images=drawn().images[0])


@cache
def places() -> Any:
    """The weight of [CLS] in the box of each shape."""
    found = measure(load_model(NAME), drawn().images, [MassInPlaces(drawn().boxes)], progress=False)
    return found["mass_in_places"]


def strongest(scores: np.ndarray) -> tuple[int, int]:
    """The head with the largest score."""
    layer, number = np.unravel_index(np.argmax(scores), scores.shape)
    return int(layer), int(number)


def control() -> np.ndarray:
    """The lift in the boxes of other pictures, [layer, head]."""
    return np.asarray(places().heads()["lift in other places"])


@cache
def right_shapes(off: tuple[int, int] | None) -> float:
    """The share of 100 new pictures whose shape is named right, with a head off."""
    model = load_model(NAME)
    test = drawn_shapes(100, seed=5)
    inputs = model.processor(images=list(test.images), return_tensors="pt")
    block = model.disabled([off]) if off else nullcontext()
    with block, torch.no_grad():
        answers = model.hf_model(**inputs).logits.argmax(-1).numpy()
    names = [model.hf_model.config.id2label[int(answer)] for answer in answers]
    pairs = zip(names, test.names, strict=True)
    return float(np.mean([name.split()[1] == true.split()[1] for name, true in pairs]))


def lost(off: tuple[int, int]) -> float:
    """What the share loses without a head."""
    return right_shapes(None) - right_shapes(off)


EXERCISES = {
    "6.1": Exercise(
        count(),
        lambda: len(first().tokens) - 1,
        (
            "Every patch is a token, and [CLS] is one more token.",
            "The picture has 32 x 32 pixels. How many patches of 4 x 4 pixels fit into it?",
            "`len(tokens) - 1`.",
        ),
        "A map of this model has a row and a column for each of these patches, and for [CLS].",
        [
            (
                lambda: len(first().tokens),
                "This is the number of tokens. [CLS] is a token without a patch.",
            ),
        ],
    ),
    "6.2": Exercise(
        head(),
        lambda: strongest(places().lift),
        (
            "`places.lift` has one number for each layer and head.",
            "Use `strongest_head`, as in lesson 2.",
            "`strongest_head(places.lift)`.",
        ),
        "This head gives the shape about 14 times as much as even attention would.",
    ),
    "6.3": Exercise(
        number(0.05),
        lambda: float(control()[0, 0]),
        (
            'The control is in `places.heads()["lift in other places"]`.',
            "Take the number of layer 0, head 0.",
            '`places.heads()["lift in other places"][0, 0]`.',
        ),
        "A tenth of the lift in the right boxes: the head follows the shape.",
        [
            (
                lambda: float(places().lift[0, 0]),
                "This is the lift in the right boxes. The control has the boxes of other pictures.",
            ),
        ],
    ),
    "6.4": Exercise(
        number(0.015),
        lambda: lost((1, 1)),
        (
            "Call `right_shapes()` inside `with model.disabled([(1, 1)]):`.",
            "Subtract the share without L1 H1 from the share of the intact model.",
            "`intact - right_shapes()` inside the block.",
        ),
        "The model needs this head more than L0 H0, which has the largest lift.",
        [
            (
                lambda: lost((0, 0)),
                "This is the loss without L0 H0. Switch L1 H1 off.",
            ),
            (
                lambda: right_shapes((1, 1)),
                "This is the share without L1 H1. Subtract it from the share of the intact model.",
            ),
        ],
    ),
}
