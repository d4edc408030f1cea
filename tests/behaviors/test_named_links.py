"""Which links of a text the names of heads are about."""

from __future__ import annotations

import numpy as np
import pytest

from attnwidget import load_model
from attnwidget.behaviors.named_links import named_links

TEXT = "The old captain told his men before the strike that she left it."


def links(name: str, text: str = TEXT, unit: str = "words") -> list[tuple[str, str]]:
    """The links of a name, as words."""
    axis = load_model().attend(text).stacks["self"].query
    found = named_links(axis, [name], unit)[name]
    words = axis.to_words().text if unit == "words" else axis.text
    return [(words[query], words[key]) for query, key in np.argwhere(found)]


def test_a_determiner_belongs_to_the_words_of_content_after_it() -> None:
    assert links("determiner to its noun") == [
        ("the", "old"),
        ("the", "captain"),
        ("the", "told"),
        ("the", "strike"),
        ("that", "left"),
    ]
    assert ("captain", "the") in links("noun to its determiner")
    assert ("before", "strike") in links("preposition to its noun")
    assert ("before", "strike") not in links("determiner to its noun")


def test_a_pronoun_belongs_to_earlier_words_of_content() -> None:
    found = links("pronoun to its person")
    assert ("she", "captain") in found and ("she", "left") not in found
    assert "it" not in {query for query, _ in found}
    spoken = links("pronoun to its person", "The captain replied that you and I know him.")
    assert {query for query, _ in spoken} == {"him"}


def test_links_that_the_tokens_tell_are_those_of_the_behavior() -> None:
    assert ("told", "captain") in links("previous token")
    assert ("captain", "told") in links("next token")
    assert {key for _, key in links("rests on [CLS]")} == {"[CLS]"}
    assert ("cat", "cat") in links("duplicate token", "A cat saw that the cat slept.")


def test_a_link_of_words_joins_any_of_their_tokens() -> None:
    text = "The mathematician left."
    assert ("the", "mathematician") in links("next token", text)
    tokens = links("next token", text, "tokens")
    assert ("the", "math") in tokens and ("the", "##ian") not in tokens


@pytest.mark.parametrize(
    "name", ["object to its verb", "rare words", "a name of your own", "copying"]
)
def test_names_that_need_more_than_tokens_are_left_out(name: str) -> None:
    axis = load_model().attend(TEXT).stacks["self"].query
    assert named_links(axis, [name]) == {}
