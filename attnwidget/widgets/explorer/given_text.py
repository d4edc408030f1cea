"""Texts that an explorer shows for ids, words, chats, dicts and attentions."""

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
    """The text of an input that is no string, and the input.

    The explorer keeps, compares and sends texts. This text brings its input along, so that a model
    reads the input itself: the text of a chat alone would not tell the roles.

    Example:
        >>> from attnwidget.widgets.explorer.given_text import GivenText, given
        >>> text = GivenText("Cats purr", ["Cats", "purr"])
        >>> text == "Cats purr", given(text), given("Cats purr")
        (True, ['Cats', 'purr'], 'Cats purr')
    """

    input: Any

    def __new__(cls, text: str, given_input: Any) -> GivenText:
        made = super().__new__(cls, text)
        made.input = given_input
        return made

    def __getnewargs__(self) -> tuple[str, Any]:  # type: ignore[override]
        return str(self), self.input


@dataclass(frozen=True, eq=False)
class WithMedia:
    """A text that is read with pictures or sounds.

    Attributes:
        text: The text, a chat, or None for models without a text.
        images: Pictures, as in `AttentionModel.attend`.
        audio: Sounds, as in `AttentionModel.attend`.
    """

    text: Any
    images: Any
    audio: Any

    def attention(
        self, model: AttentionModel, target: str | None, max_new_tokens: int | None
    ) -> Attention:
        """Return the attention of the input, and of the tokens that the model writes after it."""
        media = {"images": self.images, "audio": self.audio}
        if max_new_tokens is not None:
            return model.generate(self.text, max_new_tokens, **media)
        return model.attend(self.text, target=target, **media)


def with_media_of(text: str | None, before: Any) -> str | None:
    """Return a text with the pictures and sounds of the text that it replaces.

    Example:
        >>> from attnwidget.widgets.explorer.given_text import GivenText, WithMedia, with_media_of
        >>> before = GivenText("What?", WithMedia("What?", ["picture.png"], None))
        >>> with_media_of("Where?", before).input.images
        ['picture.png']
    """
    made_of = given(before)
    if isinstance(text, GivenText) or not isinstance(made_of, WithMedia):
        return text
    return GivenText(text or "", WithMedia(text or None, made_of.images, made_of.audio))


def given(text: Any) -> Any:
    """Return the input that a text was made of, or the text itself."""
    return text.input if isinstance(text, GivenText) else text


def as_argument(text: Any) -> Any:
    """Return the input that a text was made of as a caller passes it to `explore`."""
    made_of = given(text)
    return list(made_of.messages) if isinstance(made_of, Chat) else made_of


def model_and_text(model: Any, text: Any) -> tuple[AttentionModel | None, Any]:
    """Return the model of an explorer and its text or other input.

    An attention may be passed as the text, or in place of the model. If the caller names no model,
    the attention decides: its own model, or no model for given weights, given queries and keys, or
    a watched module.

    Raises:
        ValueError: An attention in place of the model, and a text.
        OSError, TypeError, ValueError: As `load_model`.
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
        model: The model; None for an attention that comes without a model.
        text: A string, a list of words, ids, a chat, a dict of inputs, an attention, or None.
        others: Further inputs of the explorer by name, which an attention excludes.

    Raises:
        ValueError: An attention of another model or beside further inputs, or a chat as in
            `AttentionModel.attend`.

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
    read = as_chat(listed(text))
    if isinstance(read, Chat):
        return GivenText(ChatText.from_chat(model.tokenizer, read).text, read)
    if isinstance(read, Mapping):
        inputs = given_inputs(read, model.hf_model)
        ids = unpadded(inputs, "input_ids", "attention_mask")
        return GivenText("" if ids is None else _decoded(model, ids), read)
    if is_ids(read):
        return GivenText(_decoded(model, read), read)
    # The model refuses what is no list of words.
    is_words = isinstance(read, (list, tuple)) and all(isinstance(word, str) for word in read)
    return GivenText(" ".join(read) if is_words else "", read)


def _check_attention(
    model: AttentionModel | None, attention: Attention, others: Mapping[str, Any]
) -> None:
    if named := [name for name, value in others.items() if value]:
        raise ValueError(
            f"an attention was read already, and {named[0]} needs the text: pass the text"
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
