"""Sounds as users give them: arrays with a rate, and WAV files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.places import Sound


def sound_of(sound: Any) -> Sound:
    """Return a sound of one channel, with samples between -1 and 1.

    Args:
        sound: A `Sound`, a pair (samples, rate), or the path of a WAV file. Samples are [n], or
            several channels [n, channels] of which the mean is taken; integers are divided by the
            largest number of their type.

    Raises:
        TypeError: Another kind of object.
        ValueError: The samples have another shape, are empty or not finite, or the rate is not
            positive.

    Example:
        >>> import numpy as np
        >>> from attnwidget.text.sound_file import sound_of
        >>> sound_of((np.zeros((160, 2), dtype=np.int16), 16000)).seconds
        0.01
    """
    if isinstance(sound, Sound):
        sound = (sound.samples, sound.rate)
    elif isinstance(sound, (str, Path)):
        from scipy.io import wavfile

        rate, samples = wavfile.read(sound)
        sound = (samples, rate)
    if not isinstance(sound, tuple) or len(sound) != 2:
        raise TypeError(
            "a sound is a pair (samples, rate) or the path of a WAV file, got "
            f"{type(sound).__name__}: a sampling rate is needed beside the samples"
        )
    samples, rate = np.asarray(sound[0]), int(sound[1])
    if rate <= 0:
        raise ValueError(f"the rate is the number of samples a second, got {rate}")
    if samples.ndim not in (1, 2) or not samples.size:
        raise ValueError(
            f"samples are an array [n] or [n, channels], got the shape {list(samples.shape)}"
        )
    if samples.ndim == 2 and samples.shape[0] < samples.shape[1]:
        raise ValueError(
            f"channels come last, [n, channels], got the shape {list(samples.shape)}: pass its "
            "transpose"
        )
    values: NDArray[Any]
    if samples.dtype == np.uint8:
        values = samples.astype(np.float32) / 128 - 1
    elif samples.dtype.kind in "iu":
        values = samples.astype(np.float32) / float(np.iinfo(samples.dtype).max)
    else:
        values = samples.astype(np.float32)
    if not np.isfinite(values).all():
        raise ValueError("samples are finite numbers, got NaN or infinity")
    if values.ndim == 2:
        values = values.mean(axis=1)
    return Sound(np.ascontiguousarray(values), rate)
