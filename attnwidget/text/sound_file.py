"""Conversion of user input to sounds: arrays with a rate, and WAV files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.given_paths import refuse_no_file
from attnwidget.text.places import Sound

# A smaller rate is probably in kilohertz, or a different number.
_LEAST_RATE = 1000
# Larger floating-point samples are probably integers that were not divided.
_LARGEST = 100.0
# Sample types of sound files. For other integer types, the full scale is unknown.
_WHOLE = (np.uint8, np.int8, np.int16, np.int32)
_EXPECTED = (
    "a pair (samples, rate), a dict with 'array' and 'sampling_rate', or the path of a WAV file"
)


def sound_of(sound: Any) -> Sound:
    """Return a sound of one channel, with samples between -1 and 1.

    Args:
        sound: A `Sound`, a pair (samples, rate), a dict with "array" and "sampling_rate" as in
            Hugging Face's datasets, or the path of a WAV file. Samples have the shape [n] or
            [n, channels], and channels are averaged. Integers are divided by the largest number of
            their type.

    Raises:
        TypeError: `sound` is another kind of object, or the samples are not numbers.
        ValueError: The samples have another shape, are empty, not finite or far outside -1 to 1,
            the rate is below 1,000, or the file is not a WAV file.
        OSError: The file does not exist or cannot be read, or the path is a folder.

    Example:
        >>> import numpy as np
        >>> from attnwidget.text.sound_file import sound_of
        >>> sound_of((np.zeros((160, 2), dtype=np.int16), 16000)).seconds
        0.01
    """
    is_file = isinstance(sound, (str, Path))
    if isinstance(sound, Sound):
        sound = (sound.samples, sound.rate)
    elif isinstance(sound, (str, Path)):
        sound = _opened(sound)
    elif isinstance(sound, Mapping) and {"array", "sampling_rate"} <= set(sound):
        sound = (sound["array"], sound["sampling_rate"])
    if not isinstance(sound, tuple) or len(sound) != 2:
        raise TypeError(
            f"a sound must be {_EXPECTED}, got {type(sound).__name__}: pass the samples with their "
            "sampling rate"
        )
    samples = np.asarray(sound[0])
    rate = _rate_of(sound[1])
    if samples.ndim not in (1, 2) or not samples.size:
        raise ValueError(
            f"samples must be an array [n] or [n, channels], got the shape {list(samples.shape)}"
        )
    if samples.ndim == 2 and samples.shape[0] < samples.shape[1]:
        raise ValueError(
            f"channels come last, [n, channels], got the shape {list(samples.shape)}: pass its "
            "transpose"
        )
    values = _between_ones(samples, is_file)
    if values.ndim == 2:
        values = values.mean(axis=1)
    return Sound(np.ascontiguousarray(values), rate)


def _opened(path: str | Path) -> tuple[NDArray[Any], int]:
    """Return the samples and the rate of a WAV file."""
    from scipy.io import wavfile

    refuse_no_file(path, "a sound (.wav)")
    try:
        rate, samples = wavfile.read(path)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{str(path)!r} cannot be read as a WAV file: {error}. Read other files with a library "
            "such as soundfile or librosa, and pass (samples, rate)"
        ) from error
    return samples, rate


def _rate_of(rate: Any) -> int:
    """Return the rate as an int; raise ValueError for an invalid rate."""
    try:
        integer = int(rate)
    except (TypeError, ValueError):
        integer = 0
    if isinstance(rate, bool) or integer < _LEAST_RATE or integer != rate:
        printable = rate if isinstance(rate, (int, float, str)) else type(rate).__name__
        raise ValueError(
            "the rate must be an integer, the number of samples per second such as 16000; got "
            f"{printable}: a sound is {_EXPECTED}"
        )
    return integer


def _between_ones(samples: NDArray[Any], is_file: bool) -> NDArray[np.float32]:
    """Return samples as numbers between -1 and 1."""
    if samples.dtype.kind == "f":
        values = samples.astype(np.float32)
        if not np.isfinite(values).all():
            raise ValueError("samples must be finite numbers, got NaN or infinity")
        largest = float(np.abs(values).max())
        if largest > _LARGEST:
            raise ValueError(
                f"samples of {samples.dtype} must be between -1 and 1, got up to {largest:,.0f}; "
                "divide them by 32768 if they were 16-bit integers"
            )
        return values
    if samples.dtype not in _WHOLE:
        raise TypeError(
            f"samples must be floating-point numbers, or integers of 8, 16 or 32 bits; got "
            f"{samples.dtype}"
        )
    if samples.dtype == np.uint8:
        return np.asarray(samples.astype(np.float32) / 128 - 1, dtype=np.float32)
    largest = float(np.abs(samples.astype(np.float64)).max())
    if samples.dtype == np.int32 and not is_file and 0 < largest <= 2**15:
        raise ValueError(
            f"samples of int32 are divided by 2,147,483,647, got only up to {largest:,.0f}: pass "
            "int16 if these are 16-bit numbers"
        )
    most = float(np.iinfo(samples.dtype).max)
    return np.asarray(samples.astype(np.float32) / most, dtype=np.float32)
