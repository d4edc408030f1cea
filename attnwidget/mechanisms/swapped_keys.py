"""Keys of a head, with the word, the place or the earlier heads of one token at other tokens.

The model runs again over its input. At every token, the outputs of the swapped parts are replaced
by the recorded outputs of one source token. Norms and MLPs are computed anew, because they act on
each token separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnwidget.capture.model_reading import reading_of
from attnwidget.capture.tapping.hooked import ReachedError
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.capture.tapping.thread_forwards import MakeForward, replaced_forwards
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.mechanisms.frozen_norm import record_axis
from attnwidget.mechanisms.input_positions import input_places
from attnwidget.mechanisms.residual_stream import stream_of
from attnwidget.mechanisms.stream_records import Record, StreamRecords

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.tapping.head import Head

# Largest number of elements in a state of all batch entries, or in the maps of a layer.
_NUMBERS_AT_ONCE = 16 * 1024 * 1024
# Kinds of writers that make up the word and the place of a token.
_WORD = ("embeddings",)
_PLACE = ("positions", "token types")

#: Whether the word, the place and the outputs of earlier heads are those of the source token.
Sources = tuple[bool, bool, bool]


#: Function from keys, [K, D], and whether the place is swapped, to scores, [K].
ScoreOfKeys = Callable[[Tensor, bool], Tensor]


@dataclass(frozen=True, eq=False)
class SwappedKeys:
    """Keys of a head for each choice of swapped parts.

    Attributes:
        keys: Keys after position encoding, at every token, for each choice of the parts that come
            from the source token, float64 [K, D].
        has_place: Whether a table of positions is a part of the keys.
        has_heads: Whether earlier heads wrote to the keys.
        same_word: Whether each token has the same word as the source token, bool [K].
    """

    keys: Mapping[Sources, Tensor]
    has_place: bool
    has_heads: bool
    same_word: Tensor


def swapped_keys(attention: Attention, head: Head, source: int) -> SwappedKeys:
    """Return the keys of a head with parts of one token swapped in at every token.

    Args:
        attention: Attention from an intact model, not from given weights.
        head: Head whose keys are returned.
        source: Index of the token from which the swapped parts come.

    Raises:
        ValueError: If no model can process the input again; if its words do not come from a table;
            otherwise as in `ResidualStream`.
        RuntimeError: If the model was closed, or its weights have changed.

    Example:
        >>> from attnwidget import Head, load_model
        >>> attention = load_model(device="cpu").attend("The cat sat.")
        >>> swapped = swapped_keys(attention, Head(1, 3), source=1)
        >>> len(swapped.keys), swapped.keys[True, False, False].shape
        (8, torch.Size([6, 20]))
    """
    stream = stream_of(attention)
    _, key_indices = input_places(attention, head.stack)
    reading = reading_of(attention, "a swapped key")
    with reading.model.lock.in_turn(), torch.no_grad():
        swap = _Swap(attention, head, stream.records, reading.inputs, key_indices[source])
        return swap.keys(key_indices)


def head_gradients(
    attention: Attention,
    head: Head,
    source: int,
    choices: Sequence[tuple[bool, bool]],
    shares: Sequence[float],
    score: ScoreOfKeys,
) -> dict[tuple[str, int], Tensor]:
    """Return the gradients of the scores of a head with respect to the outputs of earlier heads.

    At each token, the outputs of earlier heads lie on the line from its own outputs (share 0) to
    the outputs at the source token (share 1).

    Args:
        attention: Attention from an intact model, as in `swapped_keys`.
        head: Head whose scores are derived.
        source: Index of the source token.
        choices: Whether the word and the place are those of the source token (C pairs).
        shares: Positions on the line (T).
        score: Scores of keys.

    Returns:
        Gradients at every key by stack and layer of the earlier heads, float64 [C, T, K, width].

    Raises:
        ValueError, RuntimeError: As in `swapped_keys`; ValueError also if the outputs of the heads
            of a layer are not known.
    """
    stream = stream_of(attention)
    _, key_indices = input_places(attention, head.stack)
    reading = reading_of(attention, "a swapped key")
    with reading.model.lock.in_turn():
        swap = _Swap(attention, head, stream.records, reading.inputs, key_indices[source])
        return swap.gradients(choices, shares, score, key_indices)


class _Swap:
    """Swap of the parts of one token of an input.

    Args:
        attention: Attention of the input.
        head: Head whose keys are asked for.
        records: Recorded outputs of the model.
        inputs: Inputs of the model.
        source: Index of the token among all tokens of the input, including padding.
    """

    def __init__(
        self,
        attention: Attention,
        head: Head,
        records: StreamRecords,
        inputs: Mapping[str, Tensor],
        source: int,
    ) -> None:
        assert attention.reading is not None
        self._hf_model: Any = attention.reading.model.hf_model
        self._model_name = attention.model_name
        self._head = head
        self._records = records
        self._inputs = inputs
        self._source = source
        self._stack = "encoder" if head.stack == "cross" else head.stack
        self._check_words()
        words = [record.tensor for _, record in self._embedded(_WORD)]
        places = [record.tensor for _, record in self._embedded(_PLACE)]
        self._n_tokens = words[0].shape[-2]
        self._device = words[0].device
        self._has_place = not bool(self._is_same(places).all())
        self._has_heads = self._is_written()
        self._same_word = self._is_same(words)
        # Outputs of the heads of each layer in a pass with gradients.
        self._leaves: dict[tuple[str, int], Tensor] | None = None

    def keys(self, key_indices: Sequence[int]) -> SwappedKeys:
        """Return the keys of all choices, at some tokens of the input."""
        choices: list[Sources] = list(
            product(
                (False, True),
                (False, True) if self._has_place else (False,),
                (False, True) if self._has_heads else (False,),
            )
        )
        maps = self._records.n_heads * self._n_tokens**2
        step = max(1, _NUMBERS_AT_ONCE // max(maps, 1))
        keys: list[Tensor] = []
        for first in range(0, len(choices), step):
            keys.extend(self._run(choices[first : first + step]))
        at = torch.tensor(list(key_indices), dtype=torch.long, device="cpu")
        by_choice = zip(choices, keys, strict=True)
        return SwappedKeys(
            {choice: key.cpu().double()[at] for choice, key in by_choice},
            self._has_place,
            self._has_heads,
            self._same_word.cpu()[at],
        )

    def gradients(
        self,
        choices: Sequence[tuple[bool, bool]],
        shares: Sequence[float],
        score: ScoreOfKeys,
        key_indices: Sequence[int],
    ) -> dict[tuple[str, int], Tensor]:
        """Return the gradients of `head_gradients`."""
        entries = list(product(choices, shares))
        at = torch.tensor(list(key_indices), dtype=torch.long, device=self._device)
        maps = self._records.n_heads * self._n_tokens**2
        step = max(1, _NUMBERS_AT_ONCE // max(maps, 1))
        parts: dict[tuple[str, int], list[Tensor]] = {}
        for first in range(0, len(entries), step):
            some = entries[first : first + step]
            self._leaves = {}
            with torch.enable_grad():
                keys = self._run(
                    [(*choice, True) for choice, _ in some],
                    torch.tensor(
                        [share for _, share in some], dtype=torch.float32, device=self._device
                    ),
                )
                scores = [
                    score(key.cpu().double()[at.cpu()], choice[1])
                    for key, (choice, _) in zip(keys, some, strict=True)
                ]
                self._check_leaves()
                gradients = torch.autograd.grad(
                    torch.stack(scores).sum(), list(self._leaves.values()), allow_unused=True
                )
            for (site, leaf), gradient in zip(self._leaves.items(), gradients, strict=True):
                known = torch.zeros_like(leaf) if gradient is None else gradient
                by_token = known.reshape(len(some), self._n_tokens, -1)[:, at]
                parts.setdefault(site, []).append(by_token.detach().cpu().double())
        self._leaves = None
        shape = len(choices), len(shares)
        return {site: torch.cat(some).unflatten(0, shape) for site, some in parts.items()}

    def _embedded(self, kinds: Sequence[str]) -> list[tuple[nn.Module, Record]]:
        """Return the tables of some kinds in the stack of the keys, with their outputs."""
        return [
            (module, record)
            for module, kind in self._records.modules.embeddings.items()
            if kind in kinds
            for record in self._records.of_modules.get(module, [])
            if record.writers[0].stack == self._stack
        ]

    def _check_words(self) -> None:
        """Refuse a model whose words do not come from a table."""
        ids = self._inputs.get("decoder_input_ids" if self._stack == "decoder" else "input_ids")
        words = self._embedded(_WORD)
        is_table = len(words) == 1 and isinstance(words[0][0], nn.Embedding)
        if is_table and (ids is None or torch.equal(words[0][0](ids), words[0][1].tensor)):
            return
        raise ValueError(
            f"the words of {self._model_name} are not the rows of one table, so the word of a key "
            "cannot be swapped for that of another: use score_sources(), which splits the score by "
            "what wrote the query and the key"
        )

    def _is_same(self, outputs: Sequence[Tensor]) -> Tensor:
        """Return whether the outputs at each token equal those at the source, bool [n]."""
        same = torch.ones(self._n_tokens, dtype=torch.bool, device=self._device)
        for output in outputs:
            rows = self._rows(output)
            same = same & (rows == rows[self._source]).all(-1)
        return same

    def _rows(self, tensor: Tensor) -> Tensor:
        """Return the vectors of all tokens, [n, width]."""
        axis = record_axis(tuple(tensor.shape), self._n_tokens)
        return tensor.movedim(axis, 0).reshape(self._n_tokens, -1)

    def _is_written(self) -> bool:
        """Return whether earlier heads wrote to the states of the keys."""
        return bool(self._writing_layers())

    def _writing_layers(self) -> set[tuple[str, int]]:
        """Return the stack and the layer of the heads that wrote to the states of the keys."""
        is_cross = self._head.stack == "cross"
        return {
            (stack, layer)
            for stack, layer in self._records.calls
            if stack in self._stacks()
            and (is_cross or layer < self._head.layer)
            and self._records.writes(stack, layer)
        }

    def _check_leaves(self) -> None:
        """Refuse a model with a layer whose outputs of heads were not replaced."""
        if self._writing_layers() - set(self._leaves or {}):
            raise ValueError(
                f"the outputs of single heads of {self._model_name} are not known, so what earlier "
                "heads wrote cannot be divided among them"
            )

    def _stacks(self) -> set[str]:
        """Return the stacks whose heads write to the states of the keys."""
        return {self._stack} if self._stack == "encoder" else {self._stack, "cross"}

    def _run(self, choices: Sequence[Sources], shares: Tensor | None = None) -> Tensor:
        """Return the keys of the head in each entry of a batch, [B, n, D].

        Args:
            choices: Parts that come from the source token, in each entry.
            shares: Share of the source token in swapped outputs of heads, [B]; None = 1.
        """
        keys: list[Tensor] = []

        def on_layer(seen: LayerAttention) -> None:
            if (seen.layer, seen.stack) != (self._head.layer, self._head.stack):
                return
            if seen.key is not None:
                group = seen.weights.shape[1] // seen.key.shape[1]
                keys.append(seen.key[:, self._head.head // group])
            raise ReachedError

        own = torch.arange(self._n_tokens, dtype=torch.long, device=self._device)
        words, places, heads = (
            torch.stack([own * 0 + self._source if is_swapped else own for is_swapped in swapped])
            for swapped in zip(*choices, strict=True)
        )
        count = len(choices)
        inputs = {
            name: value.expand(count, *value.shape[1:]) if value.ndim else value
            for name, value in self._inputs.items()
        }
        options = without_cache(self._hf_model)
        with (
            self._replaced(words, places, heads, shares),
            suppress(ReachedError),
            tap(self._hf_model, on_layer),
        ):
            self._hf_model(**inputs, **options)
        if not keys:
            raise ValueError(
                f"{self._model_name} shows the weights of {self._head}, but not the keys of which "
                "they are made: its scores have no parts"
            )
        return keys[0]

    def _replaced(self, words: Tensor, places: Tensor, heads: Tensor, shares: Tensor | None) -> Any:
        """Replace the tables and the attention modules by their outputs at other tokens.

        Args:
            words: Index of the token whose word each token has, in each entry, [B, n].
            places: Index of the token whose place each token has, [B, n].
            heads: Index of the token whose outputs of earlier heads each token has, [B, n].
            shares: Share of these outputs, [B]; the rest is each token's own. None = 1.
        """
        calls: Counter[nn.Module] = Counter()
        target = self._records.calls[self._head.stack, self._head.layer]
        modules = self._records.modules

        def replacing(module: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
            def stand_in(*args: Any, **kwargs: Any) -> Any:
                call = calls[module]
                calls[module] += 1
                record = self._records.of_modules[module][call]
                if (module, call) == target:
                    return forward(*args, **kwargs)
                if kind := modules.embeddings.get(module):
                    if record.writers[0].stack != self._stack:
                        return forward(*args, **kwargs)
                    return record.with_tensor(
                        self._gathered(record.tensor, words if kind in _WORD else places)
                    )
                projection = modules.projections.get(module)
                written = record
                if projection is not None and projection in set(module.modules()):
                    written = self._records.of_modules[projection][call]
                if self._other_stack(module, written):
                    return forward(*args, **kwargs)
                moved = self._gathered(written.tensor, heads)
                if shares is not None:
                    moved = self._between(written, moved, shares)
                if written is not record:
                    moved = moved.reshape(-1, *record.tensor.shape[1:])
                return record.with_tensor(moved)

            return stand_in

        replaced_modules = [*modules.embeddings, *modules.sites, *modules.projections.values()]
        makers: dict[nn.Module, MakeForward] = {
            module: partial(replacing, module)
            for module in replaced_modules
            if module in self._records.of_modules
        }
        return replaced_forwards(makers)

    def _between(self, record: Record, moved: Tensor, shares: Tensor) -> Tensor:
        """Return outputs between a token's own and moved ones, as a leaf of the gradients."""
        if not record.writers:
            # The output projection, which comes later, is replaced too.
            return moved
        count = len(shares)
        own = torch.arange(self._n_tokens, dtype=torch.long, device=self._device)
        kept = self._gathered(record.tensor, own.expand(count, -1))
        weight = shares.to(moved.dtype).reshape(-1, *[1] * (moved.ndim - 1))
        leaf = (kept + weight * (moved - kept)).detach().requires_grad_()
        writer = record.writers[0]
        assert self._leaves is not None
        self._leaves[writer.stack, writer.layer] = leaf
        return leaf

    def _other_stack(self, module: nn.Module, record: Record) -> bool:
        """Return whether a module writes to another stack than that of the keys."""
        if record.writers:
            return record.writers[0].stack not in self._stacks()
        return self._records.modules.sites[module].stack not in self._stacks()

    def _gathered(self, tensor: Tensor, indices: Tensor) -> Tensor:
        """Return the vectors of a record at the tokens of each entry, [B, n, ...]."""
        axis = record_axis(tuple(tensor.shape), self._n_tokens)
        if axis == 0:
            return tensor[indices]
        return torch.stack([tensor[0].index_select(axis - 1, row) for row in indices])
