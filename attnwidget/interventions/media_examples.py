"""Pictures and sounds of the user as inputs of the model, with their questions."""

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
        model: The model.
        examples: Pictures and sounds, alone or with a label: (picture, label).
        answered: Whether the model's head answers.
        stack: Stack whose heads are studied; None = the default stack.

    Raises:
        TypeError: The model has no head that answers about pictures or sounds.
        ValueError: A label is missing or does not fit; there is no such stack.
    """
    task = prediction_task(model.hf_model) if answered else None
    if task is not None and task not in _TASKS:
        raise TypeError(
            f"{type(model.hf_model).__name__} answers by {task!r}, which has no score over "
            "pictures and sounds: pass a classifier or a model that writes words, or a function "
            "of the output as score"
        )
    counts: dict[object, int] = {}
    found = []
    for index, original in enumerate(examples):
        item, labels = (original, ()) if is_media(original) else (original[0], original[1:])
        given = media_input(item, index)
        decoded = _decoded(model, labels, index)
        if task not in (None, "class") and decoded is None and given.text is None:
            raise ValueError(
                f"example {index} has no text, and {type(model.hf_model).__name__} predicts the "
                "word after a text: pass ({'image': picture, 'text': question}, word)"
            )
        tensors = model.inputs.tensors_of(given, decoded)
        shapes = tuple((name, tuple(value.shape)) for name, value in tensors.items())
        places, targets = _question(model, task, dict(shapes), decoded, labels, index)
        if shapes not in counts:
            counts[shapes] = _n_queries(model, given, decoded, stack)
        encoded = EncodedMedia(
            given=given,
            digest=given.digest,
            decoded=None if decoded is None else tuple(decoded),
            shapes=shapes,
            n_tokens=counts[shapes],
        )
        found.append(Example(encoded, places, targets, index=index, original=original))
    return found


def attention_of(model: AttentionModel, encoded: EncodedMedia) -> Attention:
    """Return the attention of an input of a study."""
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
    """Return what the decoder of an encoder-decoder reads: its start, and the text of the label."""
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
    """Return the tokens whose logits answer, and the right answers if there is a label."""
    if task is None:
        return (), ()
    if decoded is not None:
        return _written(model, decoded, labeled=bool(labels))
    # The logits of the last token of the text are of the next token.
    places = () if task == "class" else (shapes["input_ids"][1] - 1,)
    targets = tuple(answer_id(model, task, label, index) for label in labels)
    return places, targets


def _written(
    model: AttentionModel, decoded: Sequence[int], *, labeled: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tokens after which the decoder writes the text, and the tokens of the text.

    Tokens of control, such as the language and the end, are no answers.
    """
    if not labeled:
        return (len(decoded) - 1,), ()
    written = [place for place in range(1, len(decoded)) if not _controls(model, decoded[place])]
    places = written or range(1, len(decoded))
    return tuple(place - 1 for place in places), tuple(decoded[place] for place in places)


def _controls(model: AttentionModel, token: int) -> bool:
    """Return whether a token is one of control; not every tokenizer lists <|en|> as special."""
    tokenizer = model.tokenizer
    if tokenizer is None:
        return False
    if token in getattr(tokenizer, "all_special_ids", ()):
        return True
    return _CONTROL.fullmatch(str(tokenizer.convert_ids_to_tokens(token))) is not None
