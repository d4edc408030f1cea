"""The input of an attention, for further questions to its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnwidget.capture.maps.edited_attention import refuse_edited
from attnwidget.capture.predict import prediction_task
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.inputs.mask_token import mask_places
from attnwidget.model_facts.word_embeddings import reads_words
from attnwidget.text.counted import counted
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.maps.input_reading import Reading
    from attnwidget.capture.model import AttentionModel


def refuse_no_attention(attention: object) -> None:
    """Raise TypeError if `attention` is not an `Attention`, but for example a model or a text.

    Example:
        >>> from attnwidget.capture.model_reading import refuse_no_attention
        >>> refuse_no_attention("The cat sat.")
        Traceback (most recent call last):
        TypeError: expected an Attention, got str: make one with load_model(...).attend(text)
    """
    from attnwidget.capture.maps.attention import Attention

    if not isinstance(attention, Attention):
        raise TypeError(
            f"expected an Attention, got {type(attention).__name__}: make one with "
            "load_model(...).attend(text)"
        )


def reading_of(attention: Attention, what: str) -> Reading[Attention]:
    """Return the input of an attention, which its model reads again.

    Args:
        attention: Attention whose model is still open.
        what: Purpose of the request, to begin an error message.

    Raises:
        TypeError: `attention` is not an `Attention`.
        ValueError: The attention was made from weights, or with edited heads.

    Example:
        >>> from attnwidget import load_model
        >>> sorted(reading_of(load_model().attend("It sat."), "a score").inputs)
        ['attention_mask', 'input_ids', 'token_type_ids']
    """
    refuse_no_attention(attention)
    refuse_edited(attention, what)
    reading = attention.reading
    if reading is None:
        raise ValueError(
            f"{what} is read from a model, and this attention has none (given weights, given "
            "queries and keys, or heads switched off in a block of `disabled`): make one with "
            "load_model(...).attend(text), outside of `disabled`"
        )
    return reading


def whole_reading_of(attention: Attention, what: str) -> Reading[Attention]:
    """Return the input of an attention that has whole maps and no padding.

    Args:
        attention: Attention whose model is still open.
        what: Purpose of the request, to begin an error message.

    Raises:
        ValueError: As in `reading_of`; or the input is long or has padding.
        RuntimeError: The weights of the model have changed.
    """
    reading = reading_of(attention, what)
    reading.refuse_changed()
    if attention.is_long:
        raise ValueError(
            f"{what} needs whole maps, and this input was read without them: "
            "attend(text, long=False) reads it with whole maps"
        )
    for name, mask in reading.inputs.items():
        if name.endswith("attention_mask") and not bool(mask.bool().all()):
            raise ValueError(
                f"{what} is of inputs without padding; {name} hides tokens: leave the padding out"
            )
    return reading


def language_model(reading: Reading[Attention], what: str) -> AttentionModel:
    """Return the model of an input, if it predicts words.

    The model may have a vision tower in addition to the text layers.

    Args:
        reading: Input of the attention.
        what: Purpose of the request, to begin an error message.

    Raises:
        TypeError: The model has no head, predicts classes, labels or spans, or is an
            encoder-decoder.
    """
    model: Any = reading.model
    name = type(model.hf_model).__name__
    stacks = {site.stack for site in find_sites(model.hf_model)}
    if {"decoder", "cross"} & stacks:
        raise TypeError(
            f"{what} is of models with one stack of text, and {name} is an encoder-decoder: its "
            "decoder reads the encoder beside its own residual stream"
        )
    if "self" not in stacks:
        raise TypeError(
            f"{what} is of models whose layers read text, and the stacks of {name} are "
            f"{', '.join(sorted(stacks))}"
        )
    if not reads_words(model.hf_model):
        raise TypeError(
            f"{what} is about words, and {name} reads no words: pass the attention of a language "
            "model, such as BERT or GPT-2. explain_link(), score_sources() and head_writes() "
            "explain the heads of this model"
        )
    if (task := prediction_task(model.hf_model)) not in ("masked", "next"):
        kinds = {"class": "classes", "label": "labels", "span": "spans"}
        raise TypeError(
            f"{what} is about words, and {name} predicts {kinds[task]}: it has no unembedding"
        )
    attention_model: AttentionModel = model
    return attention_model


def predicted_position(
    reading: Reading[Attention],
    model: AttentionModel,
    position: int | None,
    option: str = "position=3",
) -> int:
    """Return the token to predict; by default the token after the text or the mask token.

    Args:
        reading: Input of the attention.
        model: Model that reads the input.
        position: Position of the token, or None for the default.
        option: Argument of the public function that selects another token, for the error message.

    Raises:
        ValueError: The input of a masked language model has no mask token, or several.
    """
    if position is not None:
        return whole_number("position", position)
    ids = reading.inputs["input_ids"][0].tolist()
    if prediction_task(model.hf_model) == "next":
        return len(ids)
    masks = mask_places(model.tokenizer, ids)
    if len(masks) != 1:
        raise ValueError(
            f"the text has {counted(len(masks), 'mask token')}: name the token to predict, {option}"
        )
    return masks[0]
