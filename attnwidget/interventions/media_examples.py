"""Encoding of pictures and sounds as model inputs, with their questions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnwidget.capture.maps.stack_axes import chosen_stack
from attnwidget.capture.predict import prediction_task
from attnwidget.inputs.example import Example
from attnwidget.inputs.generate import decoder_ids
from attnwidget.inputs.media_input import EncodedMedia, MediaInput, is_media, media_input
from attnwidget.interventions.answer_ids import answer_id

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.model import AttentionModel

MediaExample = Example[EncodedMedia]
_TASKS = ("class", "next")
_CONTROL = re.compile(r"<\|.*\|>")


def media_examples(
    model: AttentionModel, examples: Sequence[Any], answered: bool, stack: str | None
) -> list[MediaExample]:
    """Return pictures and sounds with their questions, in the order of the user.

    Args:
        model: Model from `load_model`.
        examples: Pictures and sounds, without a label or with one: (picture, label).
        answered: Whether the model's head answers.
        stack: Stack whose heads are studied; None = the default stack.

    Raises:
        TypeError: If the model has no head that answers about pictures or sounds.
        ValueError: If a label is missing or does not fit, or there is no such stack.
    """
    task = prediction_task(model.hf_model) if answered else None
    if task is not None and task not in _TASKS:
        raise TypeError(
            f"{type(model.hf_model).__name__} answers by {task!r}, which has no score over "
            "pictures and sounds: pass a classifier or a model that writes words, or a function "
            "of the output as score"
        )
    counts: dict[object, int] = {}
    encoded_examples = []
    for index, original in enumerate(examples):
        item, labels = (original, ()) if is_media(original) else (original[0], original[1:])
        media_item = media_input(item, index)
        decoder_tokens = _decoded(model, labels, index)
        if task not in (None, "class") and decoder_tokens is None and media_item.text is None:
            raise ValueError(
                f"example {index} has no text, and {type(model.hf_model).__name__} predicts the "
                "word after a text: pass ({'image': picture, 'text': question}, word)"
            )
        tensors = model.inputs.tensors_of(media_item, decoder_tokens)
        shapes = tuple((name, tuple(value.shape)) for name, value in tensors.items())
        positions, targets = _question(model, task, dict(shapes), decoder_tokens, labels, index)
        if shapes not in counts:
            counts[shapes] = _n_queries(model, media_item, decoder_tokens, stack)
        encoded = EncodedMedia(
            given=media_item,
            digest=media_item.digest,
            decoded=None if decoder_tokens is None else tuple(decoder_tokens),
            shapes=shapes,
            n_tokens=counts[shapes],
        )
        encoded_examples.append(
            Example(encoded, positions, targets, index=index, original=original)
        )
    return encoded_examples


def attention_of(model: AttentionModel, encoded: EncodedMedia) -> Attention:
    """Return the attention of a study input."""
    return _attention(model, encoded.given, encoded.decoded)


def _attention(
    model: AttentionModel, given: MediaInput, decoded: Sequence[int] | None
) -> Attention:
    return model.attend(
        given.text,
        images=list(given.media.pictures) or None,
        audio=list(given.media.sounds) or None,
        target=None if decoded is None else list(decoded),
    )


def _n_queries(
    model: AttentionModel, given: MediaInput, decoded: Sequence[int] | None, stack: str | None
) -> int:
    attention = _attention(model, given, decoded)
    return len(chosen_stack(attention.stacks, stack, model.name).query)


def _decoded(model: AttentionModel, labels: Sequence[Any], index: int) -> list[int] | None:
    """Return the ids for the decoder of an encoder-decoder: its start and the label's text."""
    if not model.inputs.encodes_apart:
        return None
    if not labels:
        return decoder_ids(model.hf_model, [])
    (target,) = labels
    if not isinstance(target, (str, list, tuple)):
        raise ValueError(
            f"example {index} has the label {target!r}: {type(model.hf_model).__name__} writes a "
            "text, so the label is the text, or a list of its ids"
        )
    return decoder_ids(model.hf_model, model.inputs.encoder(target, target=True).ids)


def _question(
    model: AttentionModel,
    task: str | None,
    shapes: Mapping[str, tuple[int, ...]],
    decoded: Sequence[int] | None,
    labels: Sequence[Any],
    index: int,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tokens whose logits answer, and the correct answers if there is a label."""
    if task is None:
        return (), ()
    if decoded is not None:
        return _written(model, decoded, labeled=bool(labels))
    # The logits at the last token of the text predict the next token.
    positions = () if task == "class" else (shapes["input_ids"][1] - 1,)
    targets = tuple(answer_id(model, task, label, index) for label in labels)
    return positions, targets


def _written(
    model: AttentionModel, decoded: Sequence[int], *, labeled: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tokens after which the decoder writes the text, and the tokens of the text.

    Control tokens, such as the language and the end, are not answers.
    """
    if not labeled:
        return (len(decoded) - 1,), ()
    text_positions = [
        position for position in range(1, len(decoded)) if not _controls(model, decoded[position])
    ]
    positions = text_positions or range(1, len(decoded))
    return tuple(position - 1 for position in positions), tuple(
        decoded[position] for position in positions
    )


def _controls(model: AttentionModel, token: int) -> bool:
    """Return whether a token is a control token; some tokenizers do not list <|en|> as special."""
    tokenizer = model.tokenizer
    if tokenizer is None:
        return False
    if token in getattr(tokenizer, "all_special_ids", ()):
        return True
    return _CONTROL.fullmatch(str(tokenizer.convert_ids_to_tokens(token))) is not None
