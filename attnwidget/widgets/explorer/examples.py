"""Examples of an explorer, and the head on which an example opens."""

from __future__ import annotations

from collections.abc import Mapping

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.text.demonstrations import DemoText, demo_texts
from attnwidget.widgets.explorer.opening import Opening


def is_embedded(model: AttentionModel | None) -> bool:
    """Return True if a model is the bundled model, for which the examples were chosen."""
    return model is not None and model.source == "embedded"


def reads_target(model: AttentionModel | None) -> bool:
    """Return True if a model is an encoder-decoder, whose decoder reads a second text."""
    return model is not None and bool(getattr(model.hf_model.config, "is_encoder_decoder", False))


def reads_pairs(model: AttentionModel | None) -> bool:
    """Return True if the tokenizer of a model separates two sentences."""
    tokenizer = None if model is None else model.tokenizer
    if tokenizer is None or reads_target(model):
        return False
    n_special = tokenizer.num_special_tokens_to_add
    return bool(n_special(pair=True) > n_special(pair=False))


def examples_for(model: AttentionModel | None) -> Mapping[str, DemoText]:
    """Return the examples that a model can read, by name; {} without a tokenizer."""
    if model is None or model.tokenizer is None:
        return {}
    pairs = reads_pairs(model)
    return {name: demo for name, demo in demo_texts().items() if pairs or demo.pair is None}


def opening_of_example(attention: Attention, demo: DemoText) -> Opening:
    """Return the head and the word on which an example of the bundled model opens.

    The link is the strongest link from a `demo.query` to a `demo.key`.

    Args:
        attention: Attention of the example.
        demo: Example of the bundled model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_texts
        >>> from attnwidget.widgets.explorer.examples import opening_of_example
        >>> demo = demo_texts()["pronouns"]
        >>> opening_of_example(load_model().attend(demo.text), demo).tokens
        (('query', 7),)
    """
    (axis,) = (stack.query for stack in attention.stacks.values())
    weights = attention.map("weights", *demo.head)
    positions = {
        word: [i for i, text in enumerate(axis.text) if text == word]
        for word in (demo.query, demo.key)
    }
    pairs = [(i, j) for i in positions[demo.query] for j in positions[demo.key] if i != j]
    query, key = max(pairs, key=lambda pair: float(weights[pair]))
    return Opening(Head(*demo.head), (query,), (key,), stands_out=True)
