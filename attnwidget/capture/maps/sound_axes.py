"""Axes with sound tokens, and their spans of seconds in the user's sound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from attnwidget.capture.places.picture_places import NoPlaces
from attnwidget.capture.places.sound_strides import (
    SoundTokens,
    text_tokens_of_sound,
    tokens_of_sound,
)
from attnwidget.capture.tapping.attention_sites import Site
from attnwidget.capture.tapping.stack_names import is_cross
from attnwidget.inputs.token_axes import position_axis, with_parts
from attnwidget.text.places import Media, Place, Sound, Span
from attnwidget.text.tokens import Tokens


@dataclass(frozen=True)
class SoundAxes:
    """Maker of one input's sound tokens.

    Attributes:
        hf_model: Transformers model.
        sites: Attention modules of the model.
        inputs: Inputs of the model.
        media: Sounds of the user; empty if the caller passed tensors.
        extractor: Feature extractor that made the inputs from the sounds, or None.
        sound_token: Vocabulary id of placeholder tokens for sound parts, or None.
        reasons: Reason for missing spans, for each stack without spans.
    """

    hf_model: Any
    sites: Sequence[Site]
    inputs: Mapping[str, Tensor]
    media: Media = field(default_factory=Media)
    extractor: Any = None
    sound_token: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """The reasons for missing spans, for the note of an attention; "" if none is missing."""
        return ", ".join(
            f"the tokens of {stack!r} have no times in the sound: {reason}"
            for stack, reason in self.reasons.items()
        )

    def frames(self, stack: str, length: int) -> Tokens | None:
        """Return the tokens of a stack that reads a sound; None if their times are unknown."""
        first = next(site for site in self.sites if site.stack == stack)
        return self._placed(stack, tokens_of_sound, first, length)

    def in_text(self, stack: str, tokens: Tokens) -> Tokens:
        """Return the tokens of a text, with times for sound placeholders."""
        is_part = [i == self.sound_token for i in tokens.ids]
        if self.sound_token is None or not any(is_part):
            return tokens
        towers = (s for s in self.sites if s.reads == "sound" and not is_cross(s.stack))
        parts = self._placed(stack, text_tokens_of_sound, next(towers, None), sum(is_part))
        return tokens if parts is None else _placed_in(tokens, is_part, parts)

    def _placed(
        self,
        stack: str,
        times: Callable[[Any, Any, Mapping[str, Tensor], int], SoundTokens],
        encoder: Site | None,
        length: int,
    ) -> Tokens | None:
        """Return the tokens of a sound with the times that the encoder states, or None."""
        sound = self._only_sound(stack)
        if sound is None:
            return None
        module = None if encoder is None else encoder.module
        config = getattr(module, "config", None) or self.hf_model.config
        try:
            sound_tokens = times(config, self.extractor, self.inputs, length)
        except NoPlaces as reason:
            self.reasons[stack] = str(reason)
            return None
        return _placed(sound_tokens, sound, length)

    def _only_sound(self, stack: str) -> Sound | None:
        """Return the sound if there is only one; several sounds are a reason for missing times."""
        if len(self.media.sounds) > 1:
            self.reasons[stack] = "several sounds are read together"
        return self.media.sounds[0] if len(self.media.sounds) == 1 else None


def _placed(found: SoundTokens, sound: Sound, length: int) -> Tokens:
    """Return tokens named by their times. Tokens after the end of the sound are padding."""
    spans: list[Place | None] = []
    special: list[str] = []
    names: list[str] = []
    for token in range(length):
        cell = token - found.before
        if cell < 0:
            names.append("[CLS]" if token == 0 else f"[REG{token}]")
            special.append("cls" if token == 0 else "register")
            spans.append(None)
            continue
        band, step = divmod(cell, found.steps)
        center = found.first + step * found.step
        low, high = found.bands[band] if found.bands else (None, None)
        name = f"{center:.2f} s" if low is None else f"{center:.2f} s {low:,.0f} Hz"
        names.append(name)
        is_padding = center > sound.seconds
        special.append("padding" if is_padding else "")
        start = max(0.0, center - found.step / 2)
        end = min(sound.seconds, center + found.step / 2)
        spans.append(None if is_padding or end <= start else Span(0, start, end, low, high))
    return replace(
        position_axis(length, is_line=not found.bands),
        text=tuple(names),
        raw=tuple(names),
        special=tuple(special),
        words=tuple(None if kind else token for token, kind in enumerate(special)),
        places=tuple(spans),
        remark=found.remark(sound.seconds),
    )


def _placed_in(tokens: Tokens, is_part: Sequence[bool], parts: Tokens) -> Tokens:
    """Return the tokens of a text in which sound tokens have names and times, and are words."""
    indices = [i for i, part in enumerate(is_part) if part]
    spans: list[Place | None] = [None] * len(tokens)
    for i, span in zip(indices, parts.places, strict=True):
        spans[i] = span
    names = dict(zip(indices, zip(parts.text, parts.special, strict=True), strict=True))
    return replace(
        with_parts(tokens, names),
        places=tuple(spans),
        remark=", ".join(filter(None, [tokens.remark, parts.remark])),
    )
