"""Batches of segments with similar lengths, padded on the right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

import numpy as np
import torch
from torch import Tensor, nn

from attnwidget.corpus.accumulator import Batch
from attnwidget.corpus.token_classes import TokenClass, TokenClasses
from attnwidget.inputs.input_list import INPUTS
from attnwidget.inputs.model_tensors import input_names
from attnwidget.inputs.pad_id import pad_id_of
from attnwidget.inputs.token_axes import token_axis
from attnwidget.text.counted import counted
from attnwidget.text.segments import Segment
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

TokenTypes: TypeAlias = Literal["zero"] | None

# Number of batches within which segments are sorted by length. A larger number would read an
# iterator further ahead.
_BATCHES_SORTED = 32


def batched(segments: Iterable[Segment], batch_size: int) -> Iterator[list[Segment]]:
    """Yield batches of segments with similar lengths, always in the same way.

    Args:
        segments: Segments.
        batch_size: Largest number of segments per batch.

    Raises:
        TypeError: An item is not a segment.
    """
    remaining = _checked(segments)
    while window := list(islice(remaining, batch_size * _BATCHES_SORTED)):
        window.sort(key=len)
        for start in range(0, len(window), batch_size):
            yield window[start : start + batch_size]


def _checked(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments; raise TypeError for an item of another type."""
    for index, segment in enumerate(segments):
        if not isinstance(segment, Segment):
            raise TypeError(
                f"expected a list of Segment, got {type(segment).__name__} at {index}: {INPUTS}"
            )
        yield segment


class BatchMaker:
    """Conversion of segment lists to batches for one model.

    Args:
        model: Model with its tokenizer.
        backbone: Part of the model that runs.
        token_types: Token types of both texts: "zero" sets all types to 0, as in the maps of Clark
            et al.; None uses the tokenizer's types.
        classes: Token classes in addition to the standard classes.
        pad_to: Number of tokens to which every batch is padded; None = the length of its longest
            segment.

    Raises:
        ValueError: The model has no tokenizer or accepts fewer tokens than `pad_to`, `token_types`
            has another value, or a class is empty.
    """

    def __init__(
        self,
        model: AttentionModel,
        backbone: nn.Module,
        token_types: TokenTypes,
        classes: Mapping[str, TokenClass],
        pad_to: int | None = None,
    ) -> None:
        if model.tokenizer is None:
            raise ValueError(
                f"this {type(model.hf_model).__name__} has no tokenizer that could put special "
                "tokens around segments: pass one to load_model(model, tokenizer)"
            )
        if token_types not in (None, "zero"):
            raise ValueError(f"token_types must be None or 'zero', got {token_types!r}")
        self._tokenizer = model.tokenizer
        self._vocabulary = model.vocabulary
        self._pad_id = pad_id_of(model.hf_model, model.tokenizer)
        self._encoder = model.inputs.encoder
        self._device = model.device
        self._names = input_names(backbone)
        self._zero_types = token_types == "zero"
        self._texts = model.texts
        self._has_types = model.texts.template(pair=False).types is not None
        self._classes = TokenClasses(self._vocabulary, classes)
        self._limit = model.length_limit.tokens
        self._reads = model.length_limit.reads
        if pad_to is not None and self._limit is not None and pad_to > self._limit:
            raise ValueError(
                f"segments cannot be padded to {pad_to} tokens: {self._reads} {self._limit} at most"
            )
        self._pad_to = pad_to

    def __call__(self, segments: Sequence[Segment]) -> Batch:
        """Return a batch of segments, padded on the right.

        Args:
            segments: Segments.

        Raises:
            ValueError: A token is not in the model's vocabulary; or a segment has no tokens, or
                more tokens than the model or `pad_to` allows.
        """
        ids = []
        types = []
        sentences = []
        for segment in segments:
            if not segment.first:
                raise ValueError("a segment has no tokens: text A has at least one")
            template = self._texts.template_of(segment)
            parts = [self._vocabulary.ids_of(part) for part in (segment.first, segment.second)]
            ids.append(template.ids(*parts))
            self._encoder.refuse_unknown(ids[-1])
            if self._limit is not None and len(ids[-1]) > self._limit:
                raise ValueError(
                    f"a segment has "
                    f"{counted(len(ids[-1]), 'token')}; {self._reads} {self._limit} at most"
                )
            types.append(template.token_types(*map(len, parts)))
            sentences.append(template.sentences(*map(len, parts)))
        lengths = torch.tensor([len(row) for row in ids], dtype=torch.long, device="cpu")
        longest = int(lengths.max())
        width = self._pad_to or longest
        if longest > width:
            raise ValueError(
                f"a segment has {counted(longest, 'token')}, more than pad_to={width}: cut shorter "
                "segments, or raise pad_to"
            )
        real = torch.arange(width, dtype=torch.long, device="cpu") < lengths[:, None]
        inputs = {
            "input_ids": _padded(ids, self._pad_id, width),
            "attention_mask": real.long(),
        }
        if self._zero_types:
            inputs["token_type_ids"] = torch.zeros_like(real, dtype=torch.int64)
        elif self._has_types:
            inputs["token_type_ids"] = _padded(types, 0, width)
        tokens = _Axes(self._tokenizer, ids, sentences, segments)
        members = [
            self._classes.members(row, partial(tokens.__getitem__, i)) for i, row in enumerate(ids)
        ]
        device = self._device
        return Batch(
            segments=segments,
            tokens=tokens,
            inputs={k: v.to(device) for k, v in inputs.items() if k in self._names},
            lengths=lengths.to(device),
            real=real.to(device),
            row_weights=(real.float() / lengths[:, None]).to(device),
            classes={
                name: _padded([member[name] for member in members], False, width).to(device)
                for name in members[0]
            },
        )


class _Axes(Sequence[Tokens]):
    """Tokens of each segment, created on first access, because most studies do not need them."""

    def __init__(
        self,
        tokenizer: object,
        ids: list[list[int]],
        sentences: list[list[int]],
        segments: Sequence[Segment],
    ) -> None:
        self._tokenizer = tokenizer
        self._segments = segments
        self._ids = ids
        self._sentences = sentences
        self._made: dict[int, Tokens] = {}

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Tokens: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tokens]: ...
    def __getitem__(self, index: int | slice) -> Tokens | list[Tokens]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        if index not in self._made:
            axis = token_axis(self._tokenizer, self._ids[index], segments=self._sentences[index])
            segment = self._segments[index]
            if segment.roles:
                axis = axis.in_chat(segment.roles, segment.turns)
            self._made[index] = axis
        return self._made[index]


def _padded(rows: Sequence[Sequence[int]], filler: int, width: int) -> Tensor:
    """Return rows of different lengths as a tensor [B, width], padded on the right."""
    # torch takes five times as long as numpy to read nested lists.
    padded = np.full((len(rows), width), filler, type(filler))
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return torch.from_numpy(padded)
