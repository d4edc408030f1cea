"""Texts that an explorer shows for other inputs: ids, words, chats, dicts and attentions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attnwidget.capture.load import load_model
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.inputs.chat_text import Chat, ChatText, as_chat
from attnwidget.inputs.listed_ids import listed
from attnwidget.inputs.model_tensors import given_inputs, unpadded
from attnwidget.inputs.text_encoder import is_ids


class GivenText(str):
    """Text of an input that is not a string, together with the input.

    The explorer stores, compares and sends texts. This class also has the original input, which the
    model reads: for example, the text of a chat would not contain the roles.

    Example:
        >>> from attnwidget.widgets.explorer.given_text import GivenText, given
        >>> text = GivenText("Cats purr", ["Cats", "purr"])
        >>> text == "Cats purr", given(text), given("Cats purr")
        (True, ['Cats', 'purr'], 'Cats purr')
    """

    input: Any

    def __new__(cls, text: str, given_input: Any) -> GivenText:
        given_text = super().__new__(cls, text)
        given_text.input = given_input
        return given_text

    def __getnewargs__(self) -> tuple[str, Any]:  # type: ignore[override]
        return str(self), self.input


@dataclass(frozen=True, eq=False)
class WithMedia:
    """Text that is read together with pictures or sounds.

    Attributes:
        text: Text, a chat, or None for models without text input.
        images: Pictures, as in `AttentionModel.attend`.
        audio: Sounds, as in `AttentionModel.attend`.
    """

    text: Any
    images: Any
    audio: Any

    def attention(
        self, model: AttentionModel, target: str | None, max_new_tokens: int | None
    ) -> Attention:
        """Return the attention of the input, including generated tokens if they are requested."""
        media = {"images": self.images, "audio": self.audio}
        if max_new_tokens is not None:
            return model.generate(self.text, max_new_tokens, **media)
        return model.attend(self.text, target=target, **media)


def with_media_of(text: str | None, before: Any) -> str | None:
    """Return a text with the pictures and sounds of the text that it replaces.

    Args:
        text: New text.
        before: Text that is replaced.

    Example:
        >>> from attnwidget.widgets.explorer.given_text import GivenText, WithMedia, with_media_of
        >>> before = GivenText("What?", WithMedia("What?", ["picture.png"], None))
        >>> with_media_of("Where?", before).input.images
        ['picture.png']
    """
    input_before = given(before)
    if isinstance(text, GivenText) or not isinstance(input_before, WithMedia):
        return text
    return GivenText(text or "", WithMedia(text or None, input_before.images, input_before.audio))


def given(text: Any) -> Any:
    """Return the original input of a text, or the text itself."""
    return text.input if isinstance(text, GivenText) else text


def as_argument(text: Any) -> Any:
    """Return the original input of a text, in the form that `explore` accepts."""
    original = given(text)
    return list(original.messages) if isinstance(original, Chat) else original


def model_and_text(model: Any, text: Any) -> tuple[AttentionModel | None, Any]:
    """Return the model of an explorer, and its text or other input.

    An attention may be passed as the text or in place of the model. Without a model, the attention
    determines the model: its own model, or no model for given weights, given queries and keys, or a
    watched module.

    Args:
        model: Model, argument of `load_model`, attention, or None.
        text: Text or other input, or None.

    Raises:
        ValueError: If an attention is passed in place of the model together with a text, or if
            `load_model` raises it.
        OSError: If `load_model` raises it.
        TypeError: If `load_model` raises it.
    """
    if isinstance(model, Attention):
        if text is not None:
            raise ValueError(
                "an attention was read already, and another input needs a model: pass the model "
                "and the input, or the attention alone"
            )
        model, text = None, model
    if model is None and isinstance(text, Attention):
        model = None if text.reading is None else text.reading.model
        return model, text
    return (model if isinstance(model, AttentionModel) else load_model(model)), text


def shown_text(model: AttentionModel | None, text: Any, others: Mapping[str, Any]) -> str | None:
    """Return the text that an explorer shows for an input of `AttentionModel.attend`.

    Args:
        model: Model of the explorer; None for an attention without a model.
        text: String, list of words, ids, chat, dict of inputs, attention, or None.
        others: Further inputs of the explorer by name, which must be empty for an attention.

    Raises:
        ValueError: If an attention belongs to another model or has further inputs, or if
            `AttentionModel.attend` would raise it for a chat.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.explorer.given_text import shown_text
        >>> shown_text(load_model(), ["Cats", "purr"], {})
        'Cats purr'
    """
    if text is None or isinstance(text, str):
        return text
    if isinstance(text, WithMedia):
        return GivenText(text.text if isinstance(text.text, str) else "", text)
    if isinstance(text, Attention):
        _check_attention(model, text, others)
        return GivenText("", text)
    assert model is not None
    model_input = as_chat(listed(text))
    if isinstance(model_input, Chat):
        return GivenText(ChatText.from_chat(model.tokenizer, model_input).text, model_input)
    if isinstance(model_input, Mapping):
        inputs = given_inputs(model_input, model.hf_model)
        ids = unpadded(inputs, "input_ids", "attention_mask")
        return GivenText("" if ids is None else _decoded(model, ids), model_input)
    if is_ids(model_input):
        return GivenText(_decoded(model, model_input), model_input)
    # The model raises an error for anything that is not a list of words.
    is_words = isinstance(model_input, (list, tuple)) and all(
        isinstance(word, str) for word in model_input
    )
    return GivenText(" ".join(model_input) if is_words else "", model_input)


def _check_attention(
    model: AttentionModel | None, attention: Attention, others: Mapping[str, Any]
) -> None:
    if further_inputs := [name for name, value in others.items() if value]:
        raise ValueError(
            f"an attention was read already, and {further_inputs[0]} needs the text: pass the text"
        )
    if model is None:
        return
    if attention.reading is not None:
        is_own = attention.reading.model is model
    else:
        stack = next(iter(attention.stacks.values()))
        is_own = (stack.n_layers, stack.n_heads) == (model.n_layers, model.n_heads)
    if not is_own:
        raise ValueError(
            f"the attention is of {attention.model_name}, and the model is {model.name}: pass the "
            "model that made the attention, explore(model, model.attend(text))"
        )


def _decoded(model: AttentionModel, ids: Any) -> str:
    """Return the text of ids; "" if there is no tokenizer."""
    if model.tokenizer is None:
        return ""
    return str(model.tokenizer.decode([int(token_id) for token_id in ids]))
