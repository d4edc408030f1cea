"""Processors, which make a model's inputs from texts, pictures and sounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnwidget.inputs.chat_text import is_chat
from attnwidget.inputs.media_chat import PICTURES, SOUNDS, MediaChat
from attnwidget.inputs.model_tensors import input_names
from attnwidget.text.places import Media, Sound

# Prefixes in the names of inputs that are made from pictures and sounds.
_MEDIA_INPUTS = ("pixel_values", "input_features", "input_values", "image", "audio", "flattened")


class MadeInputs(dict[str, Any]):
    """Model inputs that a processor made.

    Attributes:
        chat: Chat that the processor wrote; None for other inputs.
        media: Pictures and sounds from which the inputs were made.
    """

    chat: MediaChat | None = None
    media: Media = Media()


@dataclass(frozen=True, eq=False)
class Processor:
    """A transformers processor, with its parts.

    Attributes:
        given: Processor as the user passed it.
        tokenizer: Tokenizer of the processor, or None.
        pictures: Image processor, or None.
        sounds: Feature extractor, or None.

    Example:
        >>> from transformers import WhisperFeatureExtractor
        >>> from attnwidget.inputs.processor import Processor
        >>> processor = Processor.from_object(WhisperFeatureExtractor())
        >>> processor.tokenizer is None, processor.sounds.sampling_rate
        (True, 16000)
    """

    given: Any
    tokenizer: Any
    pictures: Any
    sounds: Any

    @classmethod
    def from_object(cls, given: Any) -> Processor | None:
        """Return the parts of a processor; None for a tokenizer and for None."""
        if given is None or hasattr(given, "convert_ids_to_tokens"):
            return None
        if isinstance(given, Processor):
            return given
        pictures = getattr(given, "image_processor", None)
        sounds = getattr(given, "feature_extractor", None)
        tokenizer = getattr(given, "tokenizer", None)
        if pictures is None and sounds is None and tokenizer is None:
            names = getattr(given, "model_input_names", ())
            if hasattr(given, "sampling_rate"):
                sounds = given
            elif callable(given) and any("pixel" in str(name) for name in names):
                pictures = given
            else:
                return None
        if sounds is not None and not hasattr(sounds, "sampling_rate"):
            # Older processors call their image processor a feature extractor.
            pictures, sounds = sounds, None
        return cls(given, tokenizer, pictures, sounds)

    def __call__(
        self,
        text: Any,
        media: Media,
        *,
        tools: Sequence[Any] | None = None,
        add_generation_prompt: bool | None = None,
    ) -> MadeInputs:
        """Return the model inputs, as a batch of one.

        If a text has no placeholders, placeholders for its pictures and sounds are added at its
        beginning, by the chat template if the processor has one.

        Args:
            text: String, chat, dict of other model inputs, or None.
            media: Pictures and sounds.
            tools: Tools that the chat template describes to the model.
            add_generation_prompt: Whether the chat template writes the beginning of the assistant's
                answer; True for a text outside of a chat.

        Raises:
            ValueError: The processor has no part for pictures or for sounds, or a text has more or
                fewer placeholders than pictures and sounds.
            TypeError: The text has another form.
        """
        self._check(media)
        sounds = [self._at_rate(sound) for sound in media.sounds]
        if text is None or isinstance(text, Mapping):
            return MadeInputs({**(text or {}), **self._apart(media, sounds)})
        if not isinstance(text, str) and not is_chat(text):
            raise TypeError(
                "beside pictures and sounds, the text must be a string, a chat, or a dict with "
                f"input_ids; got {type(text).__name__}"
            )
        if self.tokenizer is None:
            raise ValueError(
                f"{type(self.given).__name__} has no tokenizer for the text: pass the whole "
                "processor, load_model(model, processor), or no text"
            )
        if is_chat(text):
            written_text, chat = self._chat(text, media, tools, add_generation_prompt)
        else:
            written_text, chat = self._with_placeholders(text, media)
        parts: dict[str, Any] = {}
        if media.pictures:
            parts["images"] = _images(media)
        if sounds:
            parts["audio"] = sounds if len(sounds) > 1 else sounds[0]
            parts["sampling_rate"] = self.sounds.sampling_rate
        inputs = MadeInputs(self.given(text=[written_text], return_tensors="pt", **parts))
        if media and not any(name.startswith(_MEDIA_INPUTS) for name in inputs):
            raise ValueError(
                f"{type(self.given).__name__} leaves pictures and sounds beside a text out: pass a "
                'dict with the ids of its chat template, attend({"input_ids": ids}, audio=...)'
            )
        inputs.chat = chat
        return inputs

    def _check(self, media: Media) -> None:
        for kind, part, count in (
            ("picture", self.pictures, len(media.pictures)),
            ("sound", self.sounds, len(media.sounds)),
        ):
            if count and part is None:
                raise ValueError(
                    f"{type(self.given).__name__} reads no {kind}s: load the model with the "
                    "processor that it was trained with, load_model(model, processor)"
                )

    def _apart(self, media: Media, sounds: list[np.ndarray]) -> dict[str, Any]:
        """Return the inputs for pictures and sounds without a text."""
        inputs: dict[str, Any] = {}
        if media.pictures:
            inputs |= dict(self.pictures(images=_images(media), return_tensors="pt"))
        if sounds:
            sound_inputs = self.sounds(
                sounds if len(sounds) > 1 else sounds[0],
                sampling_rate=self.sounds.sampling_rate,
                return_tensors="pt",
            )
            inputs |= dict(sound_inputs)
        return inputs

    def _at_rate(self, sound: Sound) -> np.ndarray:
        """Return the samples at the sampling rate that the model reads."""
        from math import gcd

        from scipy.signal import resample_poly

        target_rate = int(self.sounds.sampling_rate)
        if sound.rate == target_rate:
            return sound.samples
        divisor = gcd(sound.rate, target_rate)
        samples = resample_poly(sound.samples, target_rate // divisor, sound.rate // divisor)
        return np.asarray(samples, dtype=np.float32)

    def _chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        media: Media,
        tools: Sequence[Any] | None,
        add_generation_prompt: bool | None,
    ) -> tuple[str, MediaChat | None]:
        """Return the text of a chat, with placeholders for pictures and sounds, and its roles."""
        if not getattr(self.given, "chat_template", None):
            raise ValueError(
                f"{type(self.given).__name__} has no chat template: pass the text of the chat as a "
                "string"
            )
        if add_generation_prompt is None:
            add_generation_prompt = messages[-1].get("role") != "assistant"
        options: dict[str, Any] = {} if tools is None else {"tools": list(tools)}
        options["add_generation_prompt"] = add_generation_prompt
        message_parts = _with_parts(messages, media)
        written_text: str = self.given.apply_chat_template(message_parts, tokenize=False, **options)
        placeholders = (
            self._placeholder("boi_token", "image_token"),
            self._placeholder("audio_token"),
        )
        chat = MediaChat.from_messages(
            self.given, message_parts, [token for token in placeholders if token], options
        )
        return written_text, chat if chat is not None and chat.text.text == written_text else None

    def _with_placeholders(self, text: str, media: Media) -> tuple[str, MediaChat | None]:
        """Return a text with a placeholder for each picture and sound, and the roles of a chat."""
        kinds = (
            (self._placeholder("boi_token", "image_token"), len(media.pictures)),
            (self._placeholder("audio_token"), len(media.sounds)),
        )
        if any(token and token in text for token, _ in kinds):
            return text, None
        if getattr(self.given, "chat_template", None):
            return self._chat([{"role": "user", "content": text}], media, None, True)
        return "".join((token or "") * count for token, count in kinds) + text, None

    def _placeholder(self, *names: str) -> str | None:
        for owner in (self.given, self.tokenizer):
            for name in names:
                token = getattr(owner, name, None)
                if token is not None and str(token):
                    return str(token)
        return None


def reads_media(hf_model: Any) -> bool:
    """Return whether a model reads pictures or sounds.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.processor import reads_media
        >>> reads_media(load_model().hf_model)
        False
    """
    names = input_names(hf_model)
    return any(name.startswith(_MEDIA_INPUTS) for name in names)


def load_processor(
    name: str | Path, revision: str | None, trust_remote_code: bool
) -> Processor | None:
    """Return the processor of a folder or hub name, or None."""
    from transformers import AutoProcessor

    try:
        hf_processor = AutoProcessor.from_pretrained(
            name, revision=revision or "main", trust_remote_code=trust_remote_code
        )
    except (OSError, ValueError, TypeError, ImportError, KeyError, AttributeError):
        # transformers finds no file, lacks a library for the class, or does not know the class.
        return None
    return Processor.from_object(hf_processor)


def processor_beside(
    name: str | Path, hf_model: Any, revision: str | None, trust_remote_code: bool
) -> Processor | None:
    """Return the processor in the folder of a model that reads pictures or sounds, or None."""
    if not reads_media(hf_model):
        return None
    return load_processor(name, revision, trust_remote_code)


def _with_parts(messages: Sequence[Mapping[str, Any]], media: Media) -> list[dict[str, Any]]:
    """Return messages whose contents are lists of parts, including pictures and sounds.

    If no message has a picture part, all pictures are added at the beginning of the user's first
    message. Sounds are treated in the same way.
    """
    complete_messages = []
    for message in messages:
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        complete_messages.append({**message, "content": parts})
    kinds = {
        part.get("type")
        for message in complete_messages
        for part in message["content"] or ()
        if isinstance(part, Mapping)
    }
    missing_parts = [{"type": "image"}] * (0 if kinds & {*PICTURES} else len(media.pictures))
    missing_parts += [{"type": "audio"}] * (0 if kinds & {*SOUNDS} else len(media.sounds))
    if missing_parts:
        user_indices = [
            index
            for index, message in enumerate(complete_messages)
            if message.get("role") == "user"
        ]
        if not user_indices:
            raise ValueError(
                "no message of the chat is the user's, so it is not known where the pictures are"
            )
        first_message = complete_messages[user_indices[0]]
        complete_messages[user_indices[0]] = {
            **first_message,
            "content": [*missing_parts, *first_message["content"]],
        }
    return complete_messages


def _images(media: Media) -> list[Any]:
    from PIL import Image

    return [Image.fromarray(picture) for picture in media.pictures]
