"""The examples of an explorer, and the head that the explorer opens on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.text.demonstrations import DemoText, demo_texts


@dataclass(frozen=True)
class Story:
    """The head that an explorer opens on, and the word that explains its map.

    Attributes:
        head: The attention head.
        tokens: The locked word, as entries (side, index) of the axes in the shown unit.
    """

    head: Head
    tokens: tuple[tuple[str, int], ...] = ()


def is_embedded(model: AttentionModel) -> bool:
    """Whether a model is the embedded model, which the examples were chosen for."""
    return model.source == "embedded"


def reads_target(model: AttentionModel) -> bool:
    """Whether a model is an encoder-decoder, whose decoder reads a second text."""
    return bool(getattr(model.hf_model.config, "is_encoder_decoder", False))


def reads_pairs(model: AttentionModel) -> bool:
    """Whether the tokenizer of a model marks the beginning of a second sentence."""
    tokenizer = model.tokenizer
    if tokenizer is None or reads_target(model):
        return False
    marks = tokenizer.num_special_tokens_to_add
    return bool(marks(pair=True) > marks(pair=False))


def examples_for(model: AttentionModel) -> Mapping[str, DemoText]:
    """Return the examples that a model can read, by name; {} without a tokenizer."""
    if model.tokenizer is None:
        return {}
    pairs = reads_pairs(model)
    return {name: demo for name, demo in demo_texts().items() if pairs or demo.pair is None}


def story_of(attention: Attention, demo: DemoText, unit: str = "tokens") -> Story:
    """Return how to show an example on the embedded model.

    The locked word is the `demo.query` with the largest weight to a `demo.key`.

    Args:
        attention: The attention of the example.
        demo: The example.
        unit: "tokens" or "words".

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_texts
        >>> from attnwidget.widgets.explorer.examples import story_of
        >>> demo = demo_texts()["pronouns"]
        >>> story_of(load_model().attend(demo.text), demo).tokens
        (('query', 7),)
    """
    (axis,) = (stack.query for stack in attention.stacks.values())
    weights = attention.map("weights", *demo.head)
    places = {
        wanted: [i for i, text in enumerate(axis.text) if text == wanted]
        for wanted in (demo.query, demo.key)
    }
    pairs = [(i, j) for i in places[demo.query] for j in places[demo.key] if i != j]
    query, _ = max(pairs, key=lambda pair: float(weights[pair]))
    if unit == "words":
        query = next(word for word, group in enumerate(axis.word_groups()) if query in group)
    return Story(Head(*demo.head), (("query", query),))
