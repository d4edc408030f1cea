"""Rotary encodings of a model: pairs of dimensions, and the frequency of each pair.

Frequencies come from the tables of the model. The layout of the pairs is found by experiment: the
same token is processed at several positions, and its queries must differ only by the rotation.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.inputs.model_tensors import input_names, is_of_text, without_cache
from attnwidget.kernels.rotary import turned

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.maps.input_reading import Reading
    from attnwidget.capture.tapping.head import Head

# Number of tokens of the experiment in models that do not take position_ids.
_CONSTANT = 12
# Tolerance for rounding errors of angles, as a share of the largest value.
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-3}
# Models compute angles and queries in float32, whose rounding errors grow with the position.
_ANGLE = 3e-7


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rotary encoding of one layer.

    At position p, queries and keys are rotated by p * frequency in each pair of dimensions.

    Attributes:
        pairs: Dimensions of each pair, int64 [F, 2]; F = 0 in a layer without rotation.
        frequencies: Frequency of each pair in radians per token, float64 [F].
        why_not: Reason why the encoding is unknown; "" if it is known.
    """

    pairs: Tensor
    frequencies: Tensor
    why_not: str = ""

    @property
    def periods(self) -> NDArray[np.float64]:
        """Number of tokens in a full turn of each pair, [F]; infinite without rotation."""
        with np.errstate(divide="ignore"):
            return 2 * np.pi / self.frequencies.abs().numpy()

    @classmethod
    def none(cls, why_not: str = "") -> Rotation:
        """Return the rotation of a layer that has none, or whose rotation is unknown."""
        pairs = torch.zeros(0, 2, dtype=torch.long, device="cpu")
        return cls(pairs, torch.zeros(0, dtype=torch.float64, device="cpu"), why_not)


_known: WeakKeyDictionary[Reading[Attention], dict[tuple[str, int], Rotation]] = WeakKeyDictionary()


def turn_name(period: float) -> str:
    """Return the name of a wavelength in tables and figures.

    Example:
        >>> turn_name(6.2831)
        'turn of 6.28 tokens'
    """
    return f"turn of {period:,.3g} tokens"


def rotation_of(attention: Attention, head: Head) -> Rotation:
    """Return the rotary encoding of the layer of a head.

    Example:
        >>> from attnwidget import load_model
        >>> attention = load_model(device="cpu").attend("The cat sat.")
        >>> rotation_of(attention, attention.head((0, 0))).why_not[:39]
        'queries of small BERT (in the package) '
    """
    reading = attention.reading
    if attention.intact is not attention:
        return Rotation.none(
            "how positions enter is asked of the unchanged model, and this attention is of "
            f"{attention.model_name}"
        )
    if reading is None:
        return Rotation.none(
            "how positions enter is asked of a model, and this attention is of given weights or "
            "of given queries and keys, or was made in a block of `disabled`"
        )
    if reading not in _known:
        reading.refuse_changed()
        with reading.model.lock.in_turn(), torch.no_grad():
            _known[reading] = _found(reading.model.hf_model, reading.inputs, attention)
    unmeasured = Rotation.none(f"{attention.model_name} was not read at several positions")
    return _known[reading].get((head.stack, head.layer), unmeasured)


def known_rotation(attention: Attention, head: Head) -> Rotation:
    """Return the rotary encoding of a head's layer, without a forward pass if there are no tables.

    A model without frequency tables has no rotation, and queries and keys of cross-attention have
    no common positions.

    Example:
        >>> from attnwidget import load_model
        >>> attention = load_model(device="cpu").attend("The cat sat.")
        >>> len(known_rotation(attention, attention.head((0, 0))).pairs)
        0
    """
    reading = attention.reading
    if head.stack == "cross":
        return Rotation.none()
    if reading is not None and next(_tables(reading.model.hf_model), None) is None:
        return Rotation.none()
    return rotation_of(attention, head)


def _found(
    hf_model: Any, inputs: Mapping[str, Tensor], attention: Attention
) -> dict[tuple[str, int], Rotation]:
    """Return the rotation of every layer, from the same token at several positions."""
    ids = inputs.get("input_ids")
    if ids is None:
        return {}
    n_tokens = ids.shape[1]
    is_encoder_decoder = getattr(hf_model.config, "is_encoder_decoder", False)
    records: list[LayerAttention] = []
    reader = hf_model if is_encoder_decoder else _reader_of_text(hf_model)
    if "position_ids" in input_names(reader) and not is_encoder_decoder:
        positions = sorted({0, 1, 2, 3, max(1, n_tokens - 1)})
        position_ids = torch.tensor(positions, dtype=torch.long, device=ids.device)[:, None]
        text_inputs = {
            "input_ids": ids[:1, :1].expand(len(positions), 1),
            "position_ids": position_ids,
        }
    else:
        # Use a sequence of one repeated token, so that all positions see the same values.
        positions = list(range(min(_CONSTANT, max(2, n_tokens))))
        repeated = ids[:1, :1].expand(1, len(positions))
        text_inputs = {"input_ids": repeated}
        if is_encoder_decoder:
            first = inputs.get("decoder_input_ids", ids)[:1, :1]
            text_inputs["decoder_input_ids"] = first.expand(1, len(positions))
    with tap(hf_model, records.append):
        # Without a separate text model, the whole model also needs its picture or sound.
        media_source = inputs if reader is hf_model and not is_encoder_decoder else {}
        count = len(text_inputs["input_ids"])
        media_inputs = {
            name: value.expand(count, *value.shape[1:]) if value.shape[:1] == (1,) else value
            for name, value in media_source.items()
            if not is_of_text(name)
        }
        reader(**text_inputs, **media_inputs, **without_cache(reader))
    tables = list(_tables(hf_model))
    rotations: dict[tuple[str, int], Rotation] = {}
    for layer in records:
        key = layer.stack, layer.layer
        if layer.stack == "cross" or layer.query is None or layer.key is None:
            continue
        # Records of other sizes come from towers that process the picture.
        if (layer.query.shape[0], layer.query.shape[2]) == tuple(text_inputs["input_ids"].shape):
            vectors = layer.query.detach(), layer.key.detach()
            states = [_by_place(state.cpu().double(), len(positions)) for state in vectors]
            rotations[key] = _fitting(states, positions, tables, layer.query.dtype, attention)
    return rotations


def _reader_of_text(hf_model: nn.Module) -> nn.Module:
    """Return the innermost module that only needs token ids and has all attention over text.

    Models such as CLIP process no text without a picture, but their text model does. Without such a
    module, return the whole model.
    """
    paths = [site.path.split(".") for site in find_sites(hf_model) if site.reads in ("", "text")]
    reader = module = hf_model
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        module = module.get_submodule(parts[0])
        parameters = inspect.signature(module.forward).parameters.values()
        required = [
            item.name
            for item in parameters
            if item.default is item.empty
            and item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)
        ]
        if "input_ids" in {item.name for item in parameters} and {*required} <= {"input_ids"}:
            reader = module
    return reader


def _by_place(states: Tensor, count: int) -> Tensor:
    """Return the states of the token at each position, [P, H, D]."""
    return states[:, :, 0] if states.shape[0] == count else states[0].transpose(0, 1)


def _fitting(
    states: list[Tensor],
    places: list[int],
    tables: list[Tensor],
    dtype: torch.dtype,
    attention: Attention,
) -> Rotation:
    """Return the rotation that explains the differences of queries and keys between positions."""
    tolerance = _TOLERANCE.get(dtype, 3e-2)
    if all(_same(state, state[:1], tolerance) for state in states):
        return Rotation.none()
    size = states[0].shape[-1]
    for frequencies in tables:
        for pairs in _layouts(len(frequencies), size):
            for sign in (1, -1):
                rotation = Rotation(pairs, sign * frequencies)
                if all(_explains(rotation, state, places, tolerance) for state in states):
                    return rotation
    return Rotation.none(
        f"queries of {attention.model_name} change with the position in another way than by a "
        "rotation whose frequencies the model holds (learned positions, for example)"
    )


def _explains(turning: Rotation, states: Tensor, places: list[int], tolerance: float) -> bool:
    for state, place in zip(states, places, strict=True):
        rotated = turned(states[0], turning.pairs, (place - places[0]) * turning.frequencies)
        if not _same(state, rotated, tolerance + _ANGLE * place):
            return False
    return True


def _same(states: Tensor, expected: Tensor, tolerance: float) -> bool:
    return bool((states - expected).abs().max() <= tolerance * states.abs().max())


def _layouts(n_pairs: int, size: int) -> Iterator[Tensor]:
    """Yield the ways in which models pair the dimensions of a head: halves or neighbors.

    Either the first or the last dimensions of the head rotate.
    """
    if 2 * n_pairs > size:
        return
    order = torch.arange(n_pairs, dtype=torch.long, device="cpu")
    for first in dict.fromkeys([0, size - 2 * n_pairs]):
        yield first + torch.stack([order, order + n_pairs], 1)
        yield first + torch.stack([2 * order, 2 * order + 1], 1)


def _tables(hf_model: nn.Module) -> Iterator[Tensor]:
    """Yield the distinct frequency tables of a model, float64 [F]."""
    tables: list[Tensor] = []
    for name, buffer in hf_model.named_buffers():
        last = name.rpartition(".")[2]
        if "inv_freq" in last and "original" not in last and buffer.ndim == 1:
            frequencies = buffer.detach().double().cpu()
        elif last == "embed_positions" and buffer.ndim == 2 and len(buffer) > 1:
            # The table has sines and cosines by position. Angles at position 1 are below half a
            # turn.
            sin, cos = buffer[1].detach().double().cpu().chunk(2)
            frequencies = torch.atan2(sin, cos)
        else:
            continue
        if not any(torch.equal(frequencies, table) for table in tables):
            tables.append(frequencies)
            yield frequencies
