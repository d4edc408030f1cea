"""Times of the tokens of a sound, from the strides that configurations of speech models state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from torch import Tensor

from attnwidget.capture.places.picture_places import NoPlaces

# Encoders of Whisper's form, and the number of their tokens that become one token of a text.
_WHISPER_ENCODERS = {
    "whisper": 1,
    "qwen2_audio_encoder": 2,
    "audioflamingo3_encoder": 2,
    "voxtral_encoder": 4,
    "glmasr_encoder": 4,
}
# The second convolution of these encoders takes every second frame of the spectrogram.
_WHISPER_STRIDE = 2
# Frames of the spectrograms of AST, in seconds (Gong et al. 2021, section 2.1).
_AST_SHIFT = 0.01
_AST_FRAME = 0.025


@dataclass(frozen=True)
class SoundTokens:
    """The tokens of a stack that reads a sound.

    Attributes:
        first: The middle of the first token with a time, in seconds.
        step: Seconds from one token to the next.
        steps: Number of tokens along the time.
        before: Number of tokens before the first that has a time.
        bands: Lowest and highest frequency of each band of tokens, in hertz; empty if every token
            has all frequencies. Tokens are listed band by band.
        mixed: Distance in seconds up to which the model mixes tokens before its first layer.
    """

    first: float
    step: float
    steps: int
    before: int = 0
    bands: tuple[tuple[float, float], ...] = ()
    mixed: float = 0.0

    def remark(self, seconds: float) -> str:
        """Return what a reader should know about the times; "" for nothing.

        Args:
            seconds: Length of the sound.
        """
        remarks = []
        read = self.steps * self.step
        if read + self.first < seconds - 2 * self.step:
            remarks.append(f"the model reads the first {read:.1f} s of {seconds:.1f} s")
        if self.mixed:
            remarks.append(
                f"before its first layer, the model mixes tokens up to {self.mixed:.2f} s apart"
            )
        return ", ".join(remarks)

    def joined(self, count: int, length: int) -> SoundTokens:
        """Return tokens of which each is made of several of these.

        Args:
            count: Number of tokens that become one.
            length: Number of the new tokens.
        """
        middle = self.first + (count - 1) / 2 * self.step
        return replace(self, first=middle, step=count * self.step, steps=length)


def tokens_of_sound(
    config: Any, extractor: Any, inputs: Mapping[str, Tensor], length: int
) -> SoundTokens:
    """Return the times of the tokens of an encoder, from its configuration.

    Three families state what they need: convolutions over samples (Wav2Vec2, HuBERT and others),
    the encoder of Whisper, and the patches of a spectrogram of AST.

    Args:
        config: Configuration of the encoder.
        extractor: The feature extractor that made the inputs.
        inputs: The inputs of the model.
        length: Number of tokens of the encoder.

    Raises:
        NoPlaces: The configuration states no strides, or others than the number of tokens shows.

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
    """Return the times of the tokens of a text that stand for parts of a sound.

    Args:
        config: Configuration of the encoder of the sound.
        extractor: The feature extractor that made the inputs.
        inputs: The inputs of the model.
        count: Number of these tokens.

    Raises:
        NoPlaces: The configuration does not state how many tokens of the encoder become one token
            of the text, or the sound is cut.
    """
    joined = _WHISPER_ENCODERS.get(getattr(config, "model_type", ""))
    features = inputs.get("input_features")
    if extractor is None:
        raise NoPlaces("there is no feature extractor: pass it to load_model")
    if joined is None or features is None:
        raise NoPlaces("its configuration states no strides")
    if len(features) != 1:
        raise NoPlaces("its processor cuts the sound into several windows")
    encoder = _of_whisper(extractor, int(extractor.sampling_rate), inputs)
    if encoder is None or joined * count > encoder.steps:
        raise NoPlaces("its text has more tokens of the sound than its strides give")
    return encoder.joined(joined, count)


def _of_whisper(extractor: Any, rate: int, inputs: Mapping[str, Tensor]) -> SoundTokens | None:
    """Return tokens that are centered at every second frame of a spectrogram, from 0 s on."""
    features = inputs.get("input_features")
    if features is None:
        return None
    step = _WHISPER_STRIDE * int(extractor.hop_length) / rate
    return SoundTokens(0.0, step, features.shape[-1] // _WHISPER_STRIDE)


def _of_samples(config: Any, rate: int, inputs: Mapping[str, Tensor]) -> SoundTokens | None:
    """Return tokens that convolutions make of samples, each in the middle of its samples."""
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
    squeezed = int(getattr(config, "squeeze_factor", 1))
    return tokens.joined(squeezed, steps // squeezed)


def _reach(config: Any) -> float:
    """Return up to how many tokens away convolutions of positions mix tokens."""
    width = getattr(config, "num_conv_pos_embeddings", None)
    if not isinstance(width, int) or width < 2:
        return 0
    # Data2Vec states the number of its narrower convolutions under this name.
    kernel = getattr(config, "conv_pos_kernel_size", None)
    return width / 2 if kernel is None else width * (kernel - 1) / 2


def _of_patches(config: Any, rate: int) -> SoundTokens:
    """Return patches of a spectrogram, with their bands of frequencies.

    The bins of the spectrogram are equally far apart in mel, 1127 ln(1 + f / 700), from 20 Hz to
    half of the sampling rate (Gong et al. 2021, section 2.1).
    """
    stride, size = int(config.frequency_stride), int(config.patch_size)
    n_bins = int(config.num_mel_bins)
    least, most = (1127 * np.log1p(hertz / 700) for hertz in (20, rate / 2))
    edges = 700 * np.expm1(np.linspace(least, most, n_bins + 2) / 1127)
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
