"""Which time of a sound each token of a model is, asked of the model itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from attnwidget.capture.hub_model.picture_places import NoPlaces, found_once
from attnwidget.capture.hub_model.plain_forward import uncompiled
from attnwidget.capture.latest_values import LatestValues
from attnwidget.capture.maps.first_states import states_before
from attnwidget.capture.maps.skipped_layers import SkippedLayers
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.stack_names import is_cross

# Numbers of tokens whose times are kept.
_KEPT = 64
# Seconds of silence in the noise that the model hears.
_PIECE = 0.04
# Largest number of tokens that change on each side of a silence.
_REACH = 4
# Largest distance, in tokens, between the found place of a silence and the line of all places.
_RESIDUAL = 1.0
# A model that shows its first layer the mean of many neighbours has tokens of no single time.
_LEAST_SHARE = 0.2
_NOISE = 0.1
# Seconds of noise for models that state the stride of their tokens and read sounds of any length.
_ENOUGH = 3.0
# Seconds of noise for models that fill a window of fixed length.
_LONGER = 8.0
# Seconds of noise for models whose window is shorter.
_SHORTER = 2.0
# Largest difference between the stated and the measured stride, as a share.
_SAME_STRIDE = 0.01


@dataclass(frozen=True)
class SoundTokens:
    """The tokens of a stack that reads a sound.

    Attributes:
        before: Number of tokens before the first that has a time.
        first: The middle of the first token with a time, in seconds.
        step: Seconds from one token to the next.
        steps: Number of tokens along the time.
        bands: Lowest and highest frequency of each band of tokens, in hertz; empty if every token
            has all frequencies. Tokens are listed band by band.
        remark: What a reader should know about the times; "" for nothing.
    """

    before: int
    first: float
    step: float
    steps: int
    bands: tuple[tuple[float, float], ...] = ()
    remark: str = ""


class SoundProbe:
    """Finder of the time of each token; the result is kept for each number of tokens.

    The model hears noise with a silent piece, and the tokens of this piece change before the first
    layer. The middles of the changes lie on a line, which gives the time of every token, also for
    models with unknown strides.

    Args:
        hf_model: A transformers model.
    """

    def __init__(self, hf_model: Any) -> None:
        self._hf_model = hf_model
        self._known = LatestValues[tuple[Any, ...], SoundTokens | str](_KEPT)

    def __call__(
        self,
        stack: str,
        length: int,
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
        extractor: Any,
        seconds: float,
    ) -> SoundTokens:
        """Return the times of the tokens of a stack.

        Args:
            stack: Name of the stack that reads the sound.
            length: Number of tokens of the stack.
            inputs: The inputs of the model.
            options: Further arguments of the model's forward.
            extractor: The feature extractor that made the inputs of a sound.
            seconds: Length of the sound.

        Raises:
            NoPlaces: The tokens are not made of pieces of the sound.
        """
        if extractor is None:
            raise NoPlaces("there is no feature extractor: pass it to load_model")
        model = uncompiled(self._hf_model)
        stated = _stated_step(model, int(extractor.sampling_rate))
        # The stride of a model does not depend on the sound. A processor that fills a window makes
        # as many tokens of a longer sound, whose times can be measured more exactly.
        heard = min(seconds, _ENOUGH) if stated is not None else _LONGER
        key = (stack, None if stated is not None else length, round(heard, 3))
        found = found_once(
            self._known,
            key,
            lambda: self._find(stack, length, inputs, options, extractor, seconds, stated),
        )
        steps = (length - found.before) // max(1, len(found.bands))
        remarks = []
        if steps * found.step + found.first < seconds - 2 * found.step:
            read = steps * found.step
            remarks.append(f"the model reads the first {read:.1f} s of {seconds:.1f} s")
        width = getattr(model.config, "num_conv_pos_embeddings", None)
        if isinstance(width, int) and width > 1:
            reach = width / 2 * found.step
            remarks.append(
                f"before its first layer, the model mixes tokens up to {reach:.2f} s apart"
            )
        return replace(found, steps=steps, remark=", ".join(remarks))

    def in_text(
        self,
        stack: str,
        is_part: Sequence[bool],
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
        extractor: Any,
        seconds: float,
    ) -> SoundTokens:
        """Return the times of the tokens of a text that stand for parts of a sound.

        The attention of the audio tower is off, so that tokens of the tower stay apart.

        Args:
            stack: Name of the stack that reads the text.
            is_part: Whether each token stands for a part of the sound.
            inputs: As for a call.
            options: As for a call.
            extractor: As for a call.
            seconds: Length of the sound.

        Raises:
            NoPlaces: The tokens are not made of pieces of the sound, or words depend on the sound.
        """
        if extractor is None:
            raise NoPlaces("there is no feature extractor: pass it to load_model")
        model = uncompiled(self._hf_model)
        sites = find_sites(model)
        towers = [site for site in sites if site.reads == "sound" and not is_cross(site.stack)]

        def find() -> SoundTokens:
            module = next(site.module for site in sites if site.stack == stack)
            listener = _Listener(
                model,
                module,
                inputs,
                options,
                extractor,
                skipped=SkippedLayers(model, towers),
                is_part=np.array(is_part),
            )
            # The text has as many tokens as this sound needs, and a longer noise needs others.
            listener.hear(seconds)
            first, step = _line(listener.changes, seconds, listener.steps, None)
            return SoundTokens(0, first, step, listener.steps)

        key = (stack, "text", sum(is_part), round(seconds, 3))
        return found_once(self._known, key, find)

    def _find(
        self,
        stack: str,
        length: int,
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
        extractor: Any,
        seconds: float,
        stated: float | None,
    ) -> SoundTokens:
        model = uncompiled(self._hf_model)
        bands = _bands(model, extractor)
        before = int(getattr(model.config, "num_extra_tokens", 2)) if bands else 0
        rows = max(1, len(bands))
        if (length - before) % rows:
            raise NoPlaces("its tokens are no plane of times and frequencies")
        module = next(site.module for site in find_sites(model) if site.stack == stack)
        listener = _Listener(model, module, inputs, options, extractor, before, rows)
        if stated is not None:
            listener.hear(min(seconds, _ENOUGH))
            first, step = _line(listener.changes, listener.seconds, listener.steps, stated)
            return SoundTokens(before, first, step, listener.steps, bands)
        listener.hear(_LONGER)
        if before + rows * listener.steps != length:
            listener.hear(seconds)
        if before + rows * listener.steps != length:
            raise NoPlaces("its first layer reads other tokens than the map shows")
        try:
            first, step = _line(listener.changes, listener.seconds, listener.steps, None)
        except NoPlaces:
            # The window of the model may end before most of the noise.
            listener.hear(min(_SHORTER, listener.seconds))
            first, step = _line(listener.changes, listener.seconds, listener.steps, None)
        return SoundTokens(before, first, step, listener.steps, bands)


@dataclass(eq=False)
class _Listener:
    """A model that hears noise, in which pieces are silent.

    Attributes:
        model: The model.
        module: Its first attention module behind the tokens of the sound.
        inputs: The inputs of the model.
        options: Further arguments of the model's forward.
        extractor: The feature extractor.
        before: Number of tokens before the first that has a time.
        rows: Number of bands of frequencies.
        skipped: Layers of a tower before the module that are skipped; None skips none.
        is_part: Whether each token of a text stands for a part of the sound, bool [n]; None if
            there is no text.
        seconds: Length of the noise.
        steps: Number of tokens along the time.
    """

    model: Any
    module: nn.Module
    inputs: Mapping[str, Tensor]
    options: Mapping[str, Any]
    extractor: Any
    before: int = 0
    rows: int = 1
    skipped: SkippedLayers | None = None
    is_part: NDArray[np.bool_] | None = None
    seconds: float = 0.0
    steps: int = 0
    _words: NDArray[np.float64] | None = None

    def hear(self, seconds: float) -> None:
        """Read noise of this length, with which later changes are compared."""
        count = max(1, round(seconds * self._rate))
        noise = np.random.default_rng(0).standard_normal(count)
        self._samples: NDArray[np.float32] = (_NOISE * noise).astype(np.float32)
        self.seconds = seconds
        if self.skipped is not None:  # the first pass finds the layers that later passes skip
            self._states(self._samples)
            self._words = None
        self._base = self._states(self._samples)
        self.steps = (len(self._base) - self.before) // self.rows

    def changes(self, pieces: Sequence[float]) -> NDArray[np.float64]:
        """Return how much the tokens of each time change, [steps], with silent pieces.

        Args:
            pieces: The start of each silent piece, in seconds.
        """
        heard = self._samples.copy()
        for piece in pieces:
            start = round(piece * self._rate)
            heard[start : start + max(1, round(_PIECE * self._rate))] = 0
        moved = np.linalg.norm(self._states(heard) - self._base, axis=-1)[self.before :]
        moved = moved.reshape(self.rows, self.steps).sum(axis=0)
        # The extractor scales a sound by its loudness, so that all tokens change a little.
        changed: NDArray[np.float64] = np.clip(moved - 2 * np.median(moved), 0, None)
        return changed

    @property
    def _rate(self) -> int:
        return int(self.extractor.sampling_rate)

    def _states(self, heard: NDArray[np.float32]) -> NDArray[np.float64]:
        made = self.extractor(heard, sampling_rate=self._rate, return_tensors="pt")
        given = dict(self.inputs)
        for name, value in made.items():
            if name in given:
                if self.is_part is not None and value.shape != given[name].shape:
                    raise NoPlaces("its processor cuts the sound in another way")
                given[name] = value.to(given[name].device, given[name].dtype)
        found = states_before(self.model, self.module, given, self.options, self.skipped)
        if found is None:
            raise NoPlaces("its first layer reads no tokens")
        states: NDArray[np.float64] = found.double().numpy()
        if self.is_part is None:
            return states
        if len(states) != len(self.is_part):
            raise NoPlaces("its first layer reads other tokens than the map shows")
        words = states[~self.is_part]
        if self._words is None:
            self._words = words
        elif not np.array_equal(words, self._words):
            raise NoPlaces("its words depend on the sound before the first layer")
        return states[self.is_part]


def _stated_step(model: Any, rate: int) -> float | None:
    """Return the seconds between tokens that a model of raw samples states, or None."""
    strides = getattr(model.config, "conv_stride", None)
    reads_samples = getattr(model, "main_input_name", "") == "input_values"
    if not isinstance(strides, (list, tuple)) or not reads_samples:
        return None
    return float(np.prod(strides)) / rate


def _line(
    changes: Callable[[Sequence[float]], NDArray[np.float64]],
    seconds: float,
    steps: int,
    stated: float | None,
) -> tuple[float, float]:
    """Return the middle of the first token and the step between tokens, in seconds.

    Args:
        changes: Function from the starts of silent pieces to the change of each token.
        seconds: Length of the sound that the model hears.
        steps: Number of tokens along the time.
        stated: The step that the model states, or None.

    Raises:
        NoPlaces: The changes do not lie on a line, or do not have the stated step.
    """
    times, places = _measured_places(changes, seconds, steps)
    slope, start = np.polyfit(times, places, 1)
    residual = np.abs(np.polyval((slope, start), times) - places)
    if slope <= 0 or float(np.median(residual)) > _RESIDUAL / 2:
        raise NoPlaces("its tokens do not follow the time of the sound")
    kept = residual <= _RESIDUAL
    if kept.mean() < 0.8:
        raise NoPlaces("its tokens do not follow the time of the sound")
    at, of = times[kept], places[kept]
    slope, start = np.polyfit(at, of, 1)
    if stated is None:
        return float(-start / slope), float(1 / slope)
    if abs(1 / slope - stated) > _SAME_STRIDE * stated:
        raise NoPlaces(
            f"it states {stated:.4f} s between tokens, and {1 / slope:.4f} s were measured"
        )
    return float(np.mean(at - of * stated)), stated


def _measured_places(
    changes: Callable[[Sequence[float]], NDArray[np.float64]], seconds: float, steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the middles of silent pieces in seconds, and the places among the tokens they change.

    Two pieces alone tell how many tokens stand for a second. Further passes have many pieces each.
    """
    last = seconds - _PIECE
    if last <= 2 * _PIECE:
        raise NoPlaces(f"the sound of {seconds:.2f} s is too short")
    ends = [0.1 * last, 0.45 * last]
    middles = [_middle(changes([piece]), None) for piece in ends]
    per_second = (middles[1] - middles[0]) / (ends[1] - ends[0])
    if per_second <= 0 or steps < 3:
        raise NoPlaces("its tokens do not follow the time of the sound")
    # One pass tells silent pieces apart if their tokens do not overlap.
    apart = max((2 * _REACH + 2) / per_second, 3 * _PIECE)
    count = max(2, min(40, int(last // apart)))
    times: list[float] = []
    places: list[float] = []
    for shift in (0.0, 0.5):
        pieces = [last * (number + shift) / count for number in range(count)]
        pieces = [piece for piece in pieces if piece <= last]
        changed = changes(pieces)
        for piece in pieces:
            expected = middles[0] + (piece - ends[0]) * per_second
            if not 0 <= expected < steps - 0.5:
                continue
            times.append(piece + _PIECE / 2)
            places.append(_middle(changed, expected))
    if len(times) < 2:
        raise NoPlaces(f"the sound of {seconds:.2f} s is too short")
    return np.array(times), np.array(places)


def _middle(changed: NDArray[np.float64], expected: float | None) -> float:
    """Return the middle of the tokens that changed most, near a place if one is expected."""
    tokens = np.arange(len(changed))
    near = changed
    if expected is not None:
        near = np.where(np.abs(tokens - expected) <= _REACH, changed, 0)
    if not near.any():
        raise NoPlaces("its tokens do not change with the sound")
    peak = int(near.argmax())
    window = np.where(np.abs(tokens - peak) <= _REACH, near, 0) ** 2
    if expected is None and (window.sum() / (changed**2).sum()) < _LEAST_SHARE:
        raise NoPlaces("each of its tokens is made of a long part of the sound")
    return float((window * tokens).sum() / window.sum())


def _bands(model: Any, extractor: Any) -> tuple[tuple[float, float], ...]:
    """Return the frequencies of each band of a model that reads patches of a spectrogram.

    The bins of the spectrogram are equally far apart in mel, 1127 ln(1 + f / 700), from 20 Hz to
    half of the sampling rate (Gong et al. 2021, section 2.1).
    """
    config = model.config
    if not all(hasattr(config, name) for name in ("frequency_stride", "patch_size")):
        return ()
    stride, size = int(config.frequency_stride), int(config.patch_size)
    n_bins = int(config.num_mel_bins)
    least, most = (1127 * np.log1p(hertz / 700) for hertz in (20, extractor.sampling_rate / 2))
    edges = 700 * np.expm1(np.linspace(least, most, n_bins + 2) / 1127)
    count = (n_bins - size) // stride + 1
    return tuple(
        (float(edges[band * stride + 1]), float(edges[band * stride + size]))
        for band in range(count)
    )
