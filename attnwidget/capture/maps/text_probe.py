"""Which tokens of a longer sequence are the tokens of a text, asked of the model itself."""

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

# Number of shapes of inputs whose positions are stored.
_KEPT = 64
# States that differ by less, as a share of the largest state, have not changed.
_SAME = 1e-6


class TextProbe:
    """Finder of the words of a sequence that also has patches, regions or entities.

    Document models read words, boxes and a page in one sequence. The model reads the input
    twice, with two sets of words. States that change before the first layer belong to words.

    Args:
        hf_model: A transformers model.
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
        """Return the index of each token of the text in the sequence of a stack; () if unknown.

        Args:
            stack: Name of the stack.
            length: Number of tokens of the sequence.
            n_tokens: Number of tokens of the text.
            inputs: The inputs of the model, with input_ids of one text.
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
        asked = [i for i, token_id in enumerate(ids[0].tolist()) if token_id != pad]
        others = {**inputs, "input_ids": _other_ids(ids, pad)}
        base = states_before(model, module, inputs, options)
        changed = states_before(model, module, others, options)
        if base is None or changed is None or base.shape != changed.shape or len(base) != length:
            return ()
        moved = (changed - base).abs().amax(-1) > _SAME * float(base.abs().max())
        places: list[int] = moved.nonzero()[:, 0].tolist()
        if not asked or len(ids[0]) != n_tokens:
            return ()
        first = places[0] - asked[0] if places else -1
        if first < 0 or places != [first + i for i in asked]:
            return ()
        return tuple(range(first, first + n_tokens))


def _other_ids(ids: Tensor, pad: int) -> Tensor:
    """Return other ids of the same vocabulary; padding stays, because positions may depend on it.

    Args:
        ids: The ids of one text, [1, n].
        pad: The id of padding.
    """
    given: list[int] = ids[0].tolist()
    known = [i for i in dict.fromkeys(given) if i != pad]
    if len(known) == 1:
        known.append(next(i for i in range(3) if i not in (pad, known[0])))
    following = dict(zip(known, [*known[1:], *known[:1]], strict=True))
    changed = [following.get(i, i) for i in given]
    return torch.tensor([changed], dtype=ids.dtype, device=ids.device)
