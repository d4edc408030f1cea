"""Times of sound tokens, from the strides in the configurations of speech models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from torch import Tensor

from attnwidget.capture.places.picture_places import NoPlaces

# Encoders with Whisper's design, and the number of encoder tokens that form one text token.
_WHISPER_ENCODERS = {
    "whisper": 1,
    "qwen2_audio_encoder": 2,
    "audioflamingo3_encoder": 2,
    "voxtral_encoder": 4,
    "glmasr_encoder": 4,
}
# The second convolution of these encoders takes every second frame of the spectrogram.
_WHISPER_STRIDE = 2
# Frames of AST spectrograms, in seconds (Gong et al. 2021, section 2.1).
_AST_SHIFT = 0.01
_AST_FRAME = 0.025


@dataclass(frozen=True)
class SoundTokens:
    """Tokens of a stack that reads a sound.

    Attributes:
        first: Center of the first token with a time, in seconds.
        step: Seconds from one token to the next.
        steps: Number of tokens along the time axis.
        before: Number of tokens before the first token with a time.
        bands: Lowest and highest frequency of each token band, in hertz; empty if every token has
            all frequencies. Tokens are listed band by band.
        mixed: Distance in seconds up to which the model mixes tokens before its first layer.
    """

    first: float
    step: float
    steps: int
    before: int = 0
    bands: tuple[tuple[float, float], ...] = ()
    mixed: float = 0.0

    def remark(self, seconds: float) -> str:
        """Return a remark about the times for readers of figures; "" if there is none.

        Args:
            seconds: Length of the sound, in seconds.
        """
        remarks = []
        seconds_read = self.steps * self.step
        if seconds_read + self.first < seconds - 2 * self.step:
            remarks.append(f"the model reads the first {seconds_read:.1f} s of {seconds:.1f} s")
        if self.mixed:
            remarks.append(
                f"before its first layer, the model mixes tokens up to {self.mixed:.2f} s apart"
            )
        return ", ".join(remarks)

    def joined(self, count: int, length: int) -> SoundTokens:
        """Return tokens that each combine several of these tokens.

        Args:
            count: Number of tokens that are combined into one.
            length: Number of new tokens.
        """
        middle = self.first + (count - 1) / 2 * self.step
        return replace(self, first=middle, step=count * self.step, steps=length)


def tokens_of_sound(
    config: Any, extractor: Any, inputs: Mapping[str, Tensor], length: int
) -> SoundTokens:
    """Return the token times of an encoder, from its configuration.

    Three model families state the necessary values: convolutions over samples (Wav2Vec2, HuBERT and
    others), Whisper's encoder, and AST's spectrogram patches.

    Args:
        config: Configuration of the encoder.
        extractor: Feature extractor that made the inputs.
        inputs: Inputs of the model.
        length: Number of encoder tokens.

    Raises:
        NoPlaces: The configuration states no strides, or its strides do not give this number of
            tokens.

    Example:
        >>> import torch
        >>> from transformers import WhisperConfig, WhisperFeatureExtractor
        >>> from attnwidget.capture.places.sound_strides import tokens_of_sound
        >>> inputs = {"input_features": torch.zeros(1, 80, 3000)}
        >>> found = tokens_of_sound(WhisperConfig(), WhisperFeatureExtractor(), inputs, 1500)
        >>> found.first, found.step
        (0.0, 0.02)
    """
    if extractor is None:
        raise NoPlaces("there is no feature extractor: pass it to load_model")
    rate = int(extractor.sampling_rate)
    expected = None
    if getattr(config, "model_type", "") in _WHISPER_ENCODERS:
        expected = _of_whisper(extractor, rate, inputs)
    elif isinstance(getattr(config, "conv_stride", None), (list, tuple)):
        expected = _of_samples(config, rate, inputs)
    elif all(hasattr(config, name) for name in ("time_stride", "frequency_stride")):
        expected = _of_patches(config, rate)
    if expected is None:
        raise NoPlaces("its configuration states no strides")
    count = expected.before + max(1, len(expected.bands)) * expected.steps
    if count != length:
        raise NoPlaces(f"its strides give {count} tokens, and its layers read {length}")
    return expected


def text_tokens_of_sound(
    config: Any, extractor: Any, inputs: Mapping[str, Tensor], count: int
) -> SoundTokens:
    """Return the times of text tokens that represent parts of a sound.

    Args:
        config: Configuration of the sound encoder.
        extractor: Feature extractor that made the inputs.
        inputs: Inputs of the model.
        count: Number of these tokens.

    Raises:
        NoPlaces: The configuration does not state how many encoder tokens form one text token, or
            the sound is cut into windows.
    """
    n_joined = _WHISPER_ENCODERS.get(getattr(config, "model_type", ""))
    features = inputs.get("input_features")
    if extractor is None:
        raise NoPlaces("there is no feature extractor: pass it to load_model")
    if n_joined is None or features is None:
        raise NoPlaces("its configuration states no strides")
    if len(features) != 1:
        raise NoPlaces("its processor cuts the sound into several windows")
    encoder = _of_whisper(extractor, int(extractor.sampling_rate), inputs)
    if encoder is None or n_joined * count > encoder.steps:
        raise NoPlaces("its text has more tokens of the sound than its strides give")
    return encoder.joined(n_joined, count)


def _of_whisper(extractor: Any, rate: int, inputs: Mapping[str, Tensor]) -> SoundTokens | None:
    """Return tokens centered at every second frame of a spectrogram, from 0 s on."""
    features = inputs.get("input_features")
    if features is None:
        return None
    step = _WHISPER_STRIDE * int(extractor.hop_length) / rate
    return SoundTokens(0.0, step, features.shape[-1] // _WHISPER_STRIDE)


def _of_samples(config: Any, rate: int, inputs: Mapping[str, Tensor]) -> SoundTokens | None:
    """Return tokens that convolutions make from samples, each centered on its samples."""
    samples = inputs.get("input_values")
    kernels = getattr(config, "conv_kernel", None)
    if samples is None or samples.ndim != 2 or kernels is None:
        return None
    steps = samples.shape[-1]
    width = 1
    for kernel, stride in zip(kernels, config.conv_stride, strict=True):
        steps = (steps - kernel) // stride + 1
    for kernel, stride in zip(reversed(kernels), reversed(config.conv_stride), strict=True):
        width = (width - 1) * stride + kernel
    step = prod(config.conv_stride) / rate
    tokens = SoundTokens(width / 2 / rate, step, steps, mixed=_reach(config) * step)
    factor = int(getattr(config, "squeeze_factor", 1))
    return tokens.joined(factor, steps // factor)


def _reach(config: Any) -> float:
    """Return the distance, in tokens, up to which positional convolutions mix tokens."""
    width = getattr(config, "num_conv_pos_embeddings", None)
    if not isinstance(width, int) or width < 2:
        return 0
    # Data2Vec uses this name for the number of its narrower convolutions.
    kernel = getattr(config, "conv_pos_kernel_size", None)
    return width / 2 if kernel is None else width * (kernel - 1) / 2


def _of_patches(config: Any, rate: int) -> SoundTokens:
    """Return patches of a spectrogram, with their frequency bands.

    The bins of the spectrogram are evenly spaced in mel, 1127 ln(1 + f / 700), from 20 Hz to half
    the sampling rate (Gong et al. 2021, section 2.1).
    """
    stride, size = int(config.frequency_stride), int(config.patch_size)
    n_bins = int(config.num_mel_bins)
    lowest, highest = (1127 * np.log1p(hertz / 700) for hertz in (20, rate / 2))
    edges = 700 * np.expm1(np.linspace(lowest, highest, n_bins + 2) / 1127)
    bands = tuple(
        (float(edges[band * stride + 1]), float(edges[band * stride + size]))
        for band in range((n_bins - size) // stride + 1)
    )
    return SoundTokens(
        first=((size - 1) * _AST_SHIFT + _AST_FRAME) / 2,
        step=int(config.time_stride) * _AST_SHIFT,
        steps=(int(config.max_length) - size) // int(config.time_stride) + 1,
        before=int(getattr(config, "num_extra_tokens", 2)),
        bands=bands,
    )
