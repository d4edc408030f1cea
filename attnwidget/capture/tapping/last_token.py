"""Passes over copies of the last token of a text, each with other changes.

In a causal model, a change of the last token's attention changes no other token. Their keys and
values come from one pass over the text, and only copies of the last token run again.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.model_lock import uninterrupted
from attnwidget.capture.tapping.edits import Edits
from attnwidget.capture.tapping.layer_outputs import CANNOT_START_ABOVE
from attnwidget.capture.tapping.replay import Changes, SwitchedEdits, UnitPass
from attnwidget.capture.tapping.tap import tap
from attnwidget.model_facts.answer_logits import answer_logits

# Largest size of the copied keys and values in a pass, in bytes.
_BYTES = 128 * 1024 * 1024
# Difference of two passes that rounding explains, as a share of the largest logit.
_SAME = {torch.float16: 2e-2, torch.bfloat16: 1e-1}


class LastToken:
    """Runner of a causal model's last token with different changes. Made by `running_last_token`.

    Attributes:
        works: Whether the last token can run separately; False after a pass in which it could not.
    """

    def __init__(self, hf_model: Any, edits: SwitchedEdits) -> None:
        self.works = True
        self._hf_model = hf_model
        self._running = edits.running
        self._ids: Tensor | None = None
        self._cache: Any = None
        self._logits: Tensor | None = None

    def intact(self, inputs: Mapping[str, Tensor]) -> Any:
        """Return the output over a text of one input, and store its keys and values."""
        output = uninterrupted(lambda: self._hf_model(**inputs, use_cache=True))
        self._ids = inputs["input_ids"]
        self._logits = answer_logits(output)[:, -1].float()
        self._cache = getattr(output, "past_key_values", None)
        try:
            self._cache.crop(-1)
            # Some caches, such as those of windows, cannot forget a token.
            self.works = self._cache.get_seq_length() == self._ids.shape[1] - 1
            copy.deepcopy(self._cache).batch_repeat_interleave(2)
        except CANNOT_START_ABOVE:
            self.works = False
        return output

    def with_units(self, units: Sequence[Changes]) -> Iterator[tuple[int, int, Tensor]]:
        """Yield the logits with each unit changed, as (first unit, end of the units, [k, V]).

        A copy without a change is compared with the complete pass first. If it differs, nothing is
        yielded, and `works` is False.
        """
        assert self._ids is not None and self._logits is not None
        limit = max(2, _BYTES // max(1, self._bytes()))
        start = 0
        while self.works and start < len(units):
            stop = min(start + limit - (start == 0), len(units))
            parts = [*units[start:stop], *([{}] if start == 0 else [])]
            try:
                logits = self._run(parts)
            except CANNOT_START_ABOVE:
                if start:
                    raise
                self.works = False
                return
            if start == 0:
                dtype = next(self._hf_model.parameters()).dtype
                allowed = _SAME.get(dtype, 1e-5) * max(1.0, float(self._logits.abs().max()))
                self.works = bool((logits[-1] - self._logits[0]).abs().max() <= allowed)
                if not self.works:
                    return
            yield start, stop, logits[: stop - start]
            start = stop

    def _bytes(self) -> int:
        """Return the size of the keys and values of one copy."""
        layers = getattr(self._cache, "layers", ())
        tensors = (getattr(layer, name, None) for layer in layers for name in ("keys", "values"))
        return sum(tensor.nbytes for tensor in tensors if isinstance(tensor, Tensor))

    def _run(self, parts: Sequence[Changes]) -> Tensor:
        ids = self._ids
        assert ids is not None
        count = len(parts)
        cache = copy.deepcopy(self._cache)
        cache.batch_repeat_interleave(count)

        def run() -> Tensor:
            self._running[0] = UnitPass(parts)
            try:
                output = self._hf_model(
                    input_ids=ids[:, -1:].repeat(count, 1),
                    attention_mask=ids.new_ones(count, ids.shape[1]),
                    past_key_values=cache,
                    use_cache=True,
                )
            finally:
                self._running[0] = UnitPass()
            return answer_logits(output)[:, -1].float()

        return uninterrupted(run)


@contextmanager
def running_last_token(hf_model: Any, outer: Edits, intact: Edits) -> Iterator[LastToken]:
    """Yield a `LastToken` of a causal model.

    Args:
        hf_model: Transformers model.
        outer: Edits that apply in all passes.
        intact: Heads and stacks of the model.
    """
    edits = SwitchedEdits(outer.changes, intact.heads_of, intact.stacks, outer.spell)
    with torch.no_grad(), tap(hf_model, lambda _: None, edits):
        yield LastToken(hf_model, edits)
