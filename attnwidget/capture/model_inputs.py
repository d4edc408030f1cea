"""Model inputs from a text, a dict of inputs, a segment or an `Attention`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.text_positions import growing_text
from attnwidget.inputs.chat_text import as_chat, is_chat
from attnwidget.inputs.generate import decoder_ids, translation
from attnwidget.inputs.input_list import has_roles
from attnwidget.inputs.length_limit import LengthLimit
from attnwidget.inputs.listed_ids import is_array, listed
from attnwidget.inputs.media_input import (
    EncodedMedia,
    MediaInput,
    given_media,
    is_media,
    media_input,
    refuse_unnamed,
)
from attnwidget.inputs.model_tensors import (
    TEXTS,
    ModelBatch,
    given_inputs,
    input_names,
    is_of_text,
    padded_inputs,
    unpadded,
)
from attnwidget.inputs.processor import MadeInputs, Processor, reads_media
from attnwidget.inputs.text_encoder import Encoded, Encoder, Text
from attnwidget.model_facts.weight_placement import device_of
from attnwidget.text.places import Media
from attnwidget.text.segments import Segment
from attnwidget.text.tokens import Tokens
from attnwidget.text.whole_number import is_whole_number

Inputs = Mapping[str, Any]

# Largest number of tokens that an encoder-decoder generates without a target.
_GENERATED = 40


class ModelInputs:
    """Maker of one model's input tensors, with their token axis.

    Args:
        hf_model: Transformers model.
        tokenizer: Tokenizer of the model, or None.
        limit: Limit on the number of input tokens.
        processor: Processor for pictures and sounds, or None.

    Attributes:
        processor: Processor for pictures and sounds, or None.
        encoder: Text encoder, which returns vocabulary ids with their token axis.
        encodes_apart: Whether the model is an encoder-decoder whose decoder reads its own ids.

    Raises:
        ValueError: The tokenizer does not belong to the model.
    """

    def __init__(
        self,
        hf_model: Any,
        tokenizer: Any,
        limit: LengthLimit,
        processor: Processor | None = None,
    ) -> None:
        self._hf_model = hf_model
        self.processor = processor
        self._tokenizer = tokenizer
        self.encoder = Encoder(tokenizer, hf_model, limit)
        # DETR's decoder reads object queries, and Whisper's classifier has no decoder.
        is_pair = bool(getattr(hf_model.config, "is_encoder_decoder", False))
        self.encodes_apart = is_pair and "decoder_input_ids" in input_names(hf_model)

    def given(
        self,
        text: Any,
        images: Any,
        audio: Any,
        tools: Sequence[Any] | None = None,
        add_generation_prompt: bool | None = None,
        *,
        continues: bool = False,
    ) -> Any:
        """Return an input for `encode`, from the arguments of `AttentionModel.attend`.

        Args:
            text: Text; a list of messages becomes a `Chat`.
            images: Pictures. With pictures or sounds, the processor makes the inputs.
            audio: Sounds.
            tools: Tools of a chat.
            add_generation_prompt: Whether the chat template writes the beginning of the assistant's
                answer.
            continues: Whether the model continues the last message if it is the assistant's.

        Raises:
            ValueError, TypeError: As in `AttentionModel.attend`.
        """
        media = given_media(text, images, audio)
        if not media:
            refuse_unnamed(text)
            return as_chat(listed(text), tools, add_generation_prompt, continues=continues)
        return self.of_media(text, media, tools=tools, add_generation_prompt=add_generation_prompt)

    def of_media(
        self,
        text: Any,
        media: Media,
        *,
        tools: Sequence[Any] | None = None,
        add_generation_prompt: bool | None = None,
    ) -> MadeInputs:
        """Return a dict of inputs for a text with pictures and sounds, made by the processor.

        Raises:
            ValueError: The model has no processor, or the processor refuses the input.
            TypeError: The text has another form, or the model reads only texts.
        """
        name = type(self._hf_model).__name__
        if not reads_media(self._hf_model):
            raise TypeError(
                f"{name} reads texts, and no pictures or sounds: load_model(...) of a model that "
                "reads them, for example 'attnwidget/shapes'"
            )
        if self.processor is None:
            raise ValueError(
                f"this {name} has no processor for pictures and sounds: pass one to "
                "load_model(model, processor), or a dict of tensors such as pixel_values"
            )
        accepted_names = input_names(self._hf_model)
        if isinstance(text, str) and self.encodes_apart and "input_ids" not in accepted_names:
            raise TypeError(
                f"the encoder of {name} reads no text: pass the text that its decoder reads as "
                "target=..."
            )
        if (
            text is None
            and not self.encodes_apart
            and "input_ids" in accepted_names
            and self._is_placed()
        ):
            raise ValueError(
                f"{name} reads a text with places for pictures or sounds: pass a text beside them, "
                'attend("What is this?", images=...)'
            )
        processed = self.processor(
            text, media, tools=tools, add_generation_prompt=add_generation_prompt
        )
        user_inputs = text if isinstance(text, Mapping) else {}
        inputs = MadeInputs(
            (key, value)
            for key, value in processed.items()
            if (key in accepted_names and key != "labels") or key in user_inputs
        )
        inputs.chat = processed.chat
        inputs.media = media
        for kind, count, tensor in (
            ("picture", len(media.pictures), inputs.get("pixel_values")),
            ("sound", len(media.sounds), inputs.get("input_features", inputs.get("input_values"))),
        ):
            is_several = count > 1 and inputs.keys().isdisjoint(TEXTS)
            if is_several and getattr(tensor, "shape", (1,))[0] == count:
                raise ValueError(
                    f"{name} reads one {kind} at a time, got {count}: call attend for each {kind}"
                )
        return inputs

    def _is_placed(self) -> bool:
        """Return whether the text has placeholder tokens for parts of pictures or sounds."""
        names = ("image_token_id", "image_token_index", "audio_token_id", "audio_token_index")
        config = self._hf_model.config
        return any(isinstance(getattr(config, name, None), int) for name in names)

    def encode(
        self,
        text: Text | Inputs | None,
        pair: Text | None = None,
        *,
        target: Text | None = None,
        truncate: bool = False,
    ) -> ModelBatch:
        """Return a batch of one, without the decoder's inputs.

        Raises:
            ValueError, TypeError: As in `AttentionModel.attend`.
        """
        if target is not None and not self.encodes_apart:
            name = type(self._hf_model).__name__
            raise TypeError(f"target is for encoder-decoders, not {name}")
        if text is None:
            raise TypeError(
                "there is nothing to read: pass a string, a list of words or ids, a dict of "
                "inputs, images=... or audio=..."
            )
        if not isinstance(text, Mapping):
            self.refuse_text()
            encoded = self.encoder(text, pair, truncate=truncate)
            return ModelBatch(self.padded([encoded]), [encoded.tokens])
        if pair is not None:
            raise TypeError("pair goes with texts; a dict of inputs is taken as it is")
        inputs = given_inputs(text, self._hf_model)
        tokens = None
        ids = unpadded(inputs, "input_ids", "attention_mask")
        if ids is not None:
            token_types = inputs.get("token_type_ids")
            if token_types is not None and token_types.ndim == 3:
                # In models for tables, the first type separates the question from the table.
                token_types = token_types[..., 0]
            text_types = None
            # With pictures, the types separate pictures from text.
            if token_types is not None and all(map(is_of_text, inputs)):
                text_types = unpadded({**inputs, "types": token_types}, "types", "attention_mask")
            segments = None if text_types is None else [min(kind, 1) for kind in text_types]
            tokens = self.encoder.axis(ids, segments=segments)
            chat = text.chat if isinstance(text, MadeInputs) else None
            if chat is not None:
                tokens = chat.on(tokens, self.encoder.texts, self.encoder.axis)
        media = text.media if isinstance(text, MadeInputs) else Media()
        return ModelBatch(inputs, [tokens], media)

    def refuse_text(self) -> None:
        """Raise TypeError if the model reads pictures or sounds only."""
        if "input_ids" not in input_names(self._hf_model) and reads_media(self._hf_model):
            raise TypeError(
                f"{type(self._hf_model).__name__} reads pictures or sounds in place of texts: pass "
                "arrays or pathlib.Path objects of files, in attend as images=... or audio=..."
            )

    def padded(self, encoded: Sequence[Encoded]) -> dict[str, Tensor]:
        """Return the padded inputs of encoded texts, as `padded_inputs` does."""
        return padded_inputs(encoded, self._hf_model, self._tokenizer)

    def tensors_of(
        self, given: MediaInput, decoded: Sequence[int] | None = None
    ) -> dict[str, Tensor]:
        """Return the inputs for pictures and sounds, a batch of one.

        Args:
            given: Pictures, sounds and text.
            decoded: Ids that the decoder of an encoder-decoder reads; None for no decoder inputs.

        Raises:
            ValueError, TypeError: As in `of_media` and `encode`.
        """
        inputs = dict(self.encode(self.of_media(given.text, given.media)).tensors)
        if decoded is not None:
            inputs["decoder_input_ids"] = self._row(decoded)
        return inputs

    def batch(self, encoded: Sequence[Encoded | EncodedMedia]) -> dict[str, Tensor]:
        """Return the inputs for a batch of texts, or for pictures and sounds of one shape."""
        texts = [item for item in encoded if isinstance(item, Encoded)]
        if texts:
            return self.padded(texts)
        media = [item for item in encoded if isinstance(item, EncodedMedia)]
        parts = [self.tensors_of(item.given, item.decoded) for item in media]
        # The first dimension of pictures may be any number, so join the pictures in the batch.
        return {
            name: value if value.ndim == 0 else torch.cat([part[name] for part in parts])
            for name, value in parts[0].items()
        }

    def encoded_segment(self, segment: Segment) -> Encoded:
        """Return a segment with this model's special tokens.

        Raises:
            ValueError: A token is not in the vocabulary, or the segment is too long.
        """
        ids, types = self._of_segment(segment)
        return Encoded(self.encoder.within_limit(ids), types, self.encoder.axis(ids))

    def with_decoder(
        self, batch: ModelBatch, target: Text | None = None, truncate: bool = False
    ) -> ModelBatch:
        """Return `batch`; for an encoder-decoder, with the decoder's inputs.

        If `target` is None, the model generates it.
        """
        if not self.encodes_apart or "decoder_input_ids" in batch.tensors:
            return batch
        n_cut = 0
        if target is None:
            limit = self.encoder.limit
            n_new = _GENERATED if limit is None else max(1, min(_GENERATED, limit - 1))
            with growing_text():
                target_ids, _ = translation(self._hf_model, batch.tensors, n_new)
        else:
            ids, n_cut = self._target_ids(target, truncate)
            target_ids = self._row(ids)
        tensors = {**batch.tensors, "decoder_input_ids": target_ids}
        return replace(batch, tensors=tensors, n_cut_of_target=n_cut)

    def _target_ids(self, target: Text, truncate: bool) -> tuple[list[int], int]:
        """Return the ids of a text for the decoder, and the number of ids that were cut off.

        Raises:
            ValueError: The text is too long together with the start token of the decoder.
        """
        tokens = self.encoder(target, truncate=truncate, target=True).tokens
        ids = decoder_ids(self._hf_model, tokens.ids)
        ids_within_limit = self.encoder.within_limit(ids[: self.encoder.limit] if truncate else ids)
        return ids_within_limit, tokens.n_cut + len(ids) - len(ids_within_limit)

    def of_reference(self, reference: object) -> tuple[Mapping[str, Tensor], str]:
        """Return the input tensors and the name of a reference.

        Args:
            reference: Text, picture, sound, dict of inputs, `Segment` or `Attention`.

        Raises:
            ValueError: The model's vocabulary lacks a token, or an attention has no vocabulary ids.
            TypeError: The reference has another type.
        """
        if isinstance(reference, Attention):
            return self._of_attention(reference)
        if isinstance(reference, Segment):
            ids, types = self._of_segment(reference)
            encoded = Encoded(ids, types, self.encoder.axis(ids))
            batch = ModelBatch(self.padded([encoded]), [encoded.tokens])
            return self.with_decoder(batch).tensors, _shortened(
                " ".join(reference.first + reference.second)
            )
        if is_one_text(reference):
            batch = self.encode(listed(reference))
            return self.with_decoder(batch).tensors, _shortened(_text_of(batch))
        if is_media(reference):
            media_item = media_input(reference)
            kind = "picture" if media_item.media.pictures else "sound"
            batch = self.encode(self.of_media(media_item.text, media_item.media))
            return self.with_decoder(batch).tensors, kind
        if isinstance(reference, (str, Mapping)):
            batch = self.encode(reference)
            name = reference if isinstance(reference, str) else _text_of(batch)
            return self.with_decoder(batch).tensors, _shortened(name)
        raise TypeError(
            "a reference must be a text, a picture, a sound, an Attention, a Segment or a dict of "
            f"inputs, or a list of these; got {reference!r}"
        )

    def _of_attention(self, attention: Attention) -> tuple[dict[str, Tensor], str]:
        """Return the inputs and the name of an attention with this model's vocabulary."""
        reading = attention.reading
        if reading is not None and reading.model.hf_model is self._hf_model:
            # Return all inputs, because they may include boxes, types and pictures.
            text = reading.tokens
            name = " ".join(text.to_words().text) if text else attention.model_name
            return dict(reading.inputs), _shortened(name)
        axes = attention.stacks.get("encoder" if self.encodes_apart else "self")
        decoder = attention.stacks.get("decoder")
        if axes is None or self.encodes_apart != (decoder is not None) or not axes.query.ids:
            raise ValueError(
                f"the attention of {attention.model_name} does not say which ids of this model's "
                "vocabulary it is of: pass the text, or model.attend(text) of this model"
            )
        inputs = {}
        for name, tokens in (("input_ids", axes.query), ("decoder_input_ids", decoder)):
            if tokens is None:
                continue
            tokens = tokens if isinstance(tokens, Tokens) else tokens.query
            if self.encoder.axis(tokens.ids).raw != tokens.raw:
                raise ValueError(
                    f"the attention of {attention.model_name} is of another vocabulary than this "
                    "model's: pass model.attend(text) of this model"
                )
            inputs[name] = self._row(tokens.ids)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        names = input_names(self._hf_model)
        if getattr(self._hf_model.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = self._row(axes.query.segments)
        model_inputs = {name: value for name, value in inputs.items() if name in names}
        return model_inputs, _shortened(" ".join(axes.query.to_words().text))

    def _of_segment(self, segment: Segment) -> tuple[list[int], list[int] | None]:
        """Return the ids and token types of a segment with this model's special tokens."""
        template = self.encoder.texts.template_of(segment)
        parts = []
        for part in (segment.first, segment.second):
            ids = [self._tokenizer.convert_tokens_to_ids(token) for token in part]
            unknown_id = getattr(self._tokenizer, "unk_token_id", None)
            for token, token_id in zip(part, ids, strict=True):
                is_missing = token_id is None or token_id == unknown_id
                if is_missing and token != getattr(self._tokenizer, "unk_token", None):
                    raise ValueError(
                        f"token {token!r} is not in the model's vocabulary: cut segments with the "
                        "model that reads them (read_segments, make_segments)"
                    )
            parts.append(ids)
        types = template.token_types(len(parts[0]), len(parts[1])) if template.types else None
        return template.ids(*parts), types

    def _row(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor([list(ids)], dtype=torch.long, device=device_of(self._hf_model))


def is_one_text(item: Any) -> bool:
    """Return whether a list or an array is one text: vocabulary ids, words, or a chat.

    If a string in the list contains a space, the list is a list of texts.

    Example:
        >>> is_one_text(["The", "cat"]), is_one_text(["The cat", "It"]), is_one_text([2, 7])
        (True, False, True)
    """
    if is_array(item):
        shape: tuple[int, ...] = tuple(item.shape)
        return len(shape) == 1 or (len(shape) == 2 and shape[0] == 1)
    if not isinstance(item, (list, tuple, range)) or not item:
        return False
    if is_chat(item):
        return has_roles(item)
    is_words = all(isinstance(word, str) and len(word.split()) == 1 for word in item)
    return is_words or all(map(is_whole_number, item))


def _text_of(batch: ModelBatch) -> str:
    """Return the tokens of a batch of one, with spaces between them; "" if they are unknown."""
    tokens = batch.tokens[0]
    return " ".join(tokens.text if tokens else ())


def _shortened(text: str) -> str:
    """Return at most 40 characters of a text."""
    return text if len(text) <= 40 else f"{text[:39].rstrip()}…"
