"""`naming`: the patterns by which tests recognize a refusal."""

from __future__ import annotations

import re

import pytest

from refusals import naming

MESSAGE = "layer 17 is out of range\nthe model has 6: see model.n_layers, or pass layer=0.5"


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        (("17", "n_layers"), True),
        (("model.n_layers", "layer 17"), True),  # in any order, over several lines
        (("layer=0.5",), True),
        (("7",), False),
        (("5",), False),
        (("0",), False),
        (("layers",), False),
        (("17", "n_heads"), False),
        (("l.yer",), False),  # a part is no pattern
    ],
)
def test_every_part_is_in_the_message_as_a_whole(parts: tuple[str, ...], found: bool) -> None:
    assert (re.search(naming(*parts), MESSAGE) is not None) is found


@pytest.mark.parametrize("parts", [(), ("",), ("17", " ")])
def test_a_pattern_without_a_part_is_refused(parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming("part", "got")):
        naming(*parts)
