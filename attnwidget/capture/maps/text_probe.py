"""Assignment of sequence tokens to text tokens, by probing the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.maps.first_states import states_before
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.inputs.pad_id import pad_id_of
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.model_facts.plain_forward import uncompiled

# Number of input shapes whose positions are cached.
_KEPT = 64
# Relative difference, as a share of the largest state, up to which states have not changed.
_SAME = 1e-6


class TextProbe:
    """Finder of the words in a sequence that also has patches, regions or entities.

    Document models read words, boxes and a page image in one sequence. The model reads the input
    twice, with two sets of words. States that change before the first layer belong to words.

    Args:
        hf_model: Transformers model.
    """

    def __init__(self, hf_model: Any) -> None:
        self._hf_model = hf_model
        self._known = LatestValues[tuple[Any, ...], tuple[int, ...]](_KEPT)

    def __call__(
        self,
        stack: str,
        length: int,
        n_tokens: int,
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
    ) -> tuple[int, ...]:
        """Return the index of each text token in a stack's sequence; () if unknown.

        Args:
            stack: Name of the stack.
            length: Number of tokens in the sequence.
            n_tokens: Number of tokens in the text.
            inputs: Inputs of the model, with input_ids of one text.
            options: Further arguments of the model's forward.
        """
        shapes = tuple((name, tuple(value.shape)) for name, value in sorted(inputs.items()))
        return self._known.get_or_make(
            (stack, length, n_tokens, shapes),
            lambda: self._find(stack, length, n_tokens, inputs, options),
        )

    def _find(
        self,
        stack: str,
        length: int,
        n_tokens: int,
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
    ) -> tuple[int, ...]:
        model = uncompiled(self._hf_model)
        ids = inputs.get("input_ids")
        if ids is None or len(ids) != 1:
            return ()
        module = next(site.module for site in find_sites(model) if site.stack == stack)
        pad = pad_id_of(model, None)
        real_positions = [i for i, token_id in enumerate(ids[0].tolist()) if token_id != pad]
        changed_inputs = {**inputs, "input_ids": _other_ids(ids, pad)}
        base = states_before(model, module, inputs, options)
        changed_states = states_before(model, module, changed_inputs, options)
        if (
            base is None
            or changed_states is None
            or base.shape != changed_states.shape
            or len(base) != length
        ):
            return ()
        has_changed = (changed_states - base).abs().amax(-1) > _SAME * float(base.abs().max())
        positions: list[int] = has_changed.nonzero()[:, 0].tolist()
        if not real_positions or len(ids[0]) != n_tokens:
            return ()
        first = positions[0] - real_positions[0] if positions else -1
        if first < 0 or positions != [first + i for i in real_positions]:
            return ()
        return tuple(range(first, first + n_tokens))


def _other_ids(ids: Tensor, pad: int) -> Tensor:
    """Return other ids of the same vocabulary; padding stays, because positions may depend on it.

    Args:
        ids: Ids of one text, [1, n].
        pad: Id of padding.
    """
    text_ids: list[int] = ids[0].tolist()
    distinct_ids = [i for i in dict.fromkeys(text_ids) if i != pad]
    if len(distinct_ids) == 1:
        distinct_ids.append(next(i for i in range(3) if i not in (pad, distinct_ids[0])))
    following = dict(zip(distinct_ids, [*distinct_ids[1:], *distinct_ids[:1]], strict=True))
    new_ids = [following.get(i, i) for i in text_ids]
    return torch.tensor([new_ids], dtype=ids.dtype, device=ids.device)
