"""Display of an example link in figures, which show its text with its two tokens locked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch

from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.shared.attention_widget import AttentionWidget

#: Stack whose heads have examples.
STACK = "self"


def figures_of_texts(figures: Sequence[object]) -> list[AttentionWidget]:
    """Return the figures that can show another text.

    A figure needs a model that reads the text. Figures that compare two attentions keep both, and
    panels receive their attention from the figure that contains them.
    """
    readers = [
        figure
        for figure in figures
        if isinstance(figure, AttentionWidget)
        and figure.attention.intact.reading is not None
        and STACK in figure.attention.stacks
        and getattr(figure, "versus", None) is None
    ]
    panels = [panel for figure in readers for panel in figure._attention_panels()]
    return [figure for figure in readers if not any(figure is panel for panel in panels)]


def open_example(figures: Sequence[AttentionWidget], example: ExampleLink) -> None:
    """Show the text of an example in figures, with its query and its key locked.

    Figures of the same model share one attention, so each model reads the text only once. All
    models read the text before the first figure changes.

    Args:
        figures: Figures that show the example.
        example: Example link.

    Raises:
        ValueError: If the example has another vocabulary than a model, or if a model cannot read
            its text.
    """
    attentions: dict[Any, tuple[Attention, str, str | None]] = {}
    readings = []
    for figure in figures:
        reading = figure.attention.intact.reading
        assert reading is not None
        key = id(reading.model), reading.loss, reading.seed
        if key not in attentions:
            model = cast("AttentionModel", reading.model)
            options = {"loss": reading.loss, "seed": reading.seed}
            attentions[key] = _read(model, example.tokens, options)
        readings.append(attentions[key])
    for figure, (attention, text, pair) in zip(figures, readings, strict=True):
        with figure._lock, figure.together():
            if figure.attention.intact.stacks[STACK].query != attention.stacks[STACK].query:
                figure._show_input(attention, text, pair)
            _lock(figure, example)


def _read(
    model: AttentionModel, tokens: Tokens, options: dict[str, Any]
) -> tuple[Attention, str, str | None]:
    """Return the attention of tokens, their text and the pair's second text.

    If the model splits the text into other tokens, the model reads the token ids, and the text is
    "".
    """
    if not tokens.ids:
        raise ValueError(
            "the example has no vocabulary ids, so that no model can read its text: make the atlas "
            "with atlas(model)"
        )
    tokenizer = model.tokenizer
    if tokenizer is not None and tokenizer.convert_ids_to_tokens(list(tokens.ids)) != list(
        tokens.raw
    ):
        raise ValueError(
            f"the example is of another vocabulary than {model.name}: link a figure of the model "
            "that the atlas describes"
        )
    text, pair = _texts(model, tokens)
    attention = None
    if text:
        attention = model.attend(text, pair, **options)
    if attention is None or attention.stacks[STACK].query.ids != tokens.ids:
        text, pair = "", None
        inputs = {"input_ids": torch.tensor([tokens.ids], dtype=torch.long, device="cpu")}
        if getattr(model.hf_model.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = torch.tensor(
                [tokens.segments], dtype=torch.long, device="cpu"
            )
        attention = model.attend(inputs, **options)
    return attention, text, pair


def _texts(model: AttentionModel, tokens: Tokens) -> tuple[str, str | None]:
    """Return the text of tokens and the pair's second text; "" without a tokenizer."""
    if model.tokenizer is None:
        return "", None
    parts = [
        model.tokenizer.decode(
            [
                token
                for token, token_segment in zip(tokens.ids, tokens.segments, strict=True)
                if token_segment == segment
            ],
            skip_special_tokens=True,
        ).strip()
        for segment in (0, 1)
    ]
    return parts[0], parts[1] or None


def _lock(figure: AttentionWidget, example: ExampleLink) -> None:
    """Lock both ends of a link, and show them if they are hidden special tokens."""
    axis = figure.attention.stacks[STACK].query
    ends = [example.query, example.key]
    kinds = {axis.special[end] for end in ends}
    figure.hidden = [kind for kind in figure.hidden if kind not in kinds]
    if figure.unit == "words":
        groups = axis.word_groups()
        ends = [next(word for word, group in enumerate(groups) if end in group) for end in ends]
    query, key = ends
    figure.tokens = [("query", query), ("key", key)]
