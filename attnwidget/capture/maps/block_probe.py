"""Assignment of block entries to tokens, for layers that compute attention in blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnwidget.capture.maps.token_watch import MixedTokens, TokenWatch
from attnwidget.capture.tapping.attention_sites import Site
from attnwidget.capture.tapping.edits import Edits
from attnwidget.capture.tapping.hooked import hooked, tensors_before
from attnwidget.capture.tapping.lazy_mask import LazyMask
from attnwidget.capture.tapping.projection import projection_of
from attnwidget.capture.tapping.tap import LayerAttention, LongAttention, tap
from attnwidget.capture.tapping.torch_functions import summed_values
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.model_facts.plain_forward import plain_forward, uncompiled

# Number of layers and sizes whose blocks are cached.
_KEPT = 512
# Relative differences that rounding explains, as a share of the largest number.
_ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-6, torch.float16: 2e-2, torch.bfloat16: 6e-2}
# Exceptions of layers that cannot run by themselves, or on other states.
_CANNOT = (RuntimeError, TypeError, ValueError, IndexError, AttributeError, KeyError)
# Maximum number of token kinds in a check, and token count from which one check is enough.
_KINDS = 8
_ENOUGH = 256


class NotInBlocks(Exception):  # noqa: N818  it is a reason that an error or a note shows
    """Reason why the entries of blocks cannot be assigned to tokens."""


@dataclass(frozen=True, eq=False)
class LayerCall:
    """A layer call during a model pass.

    Attributes:
        layer: Layer, with its attention module inside.
        args: Positional arguments.
        named: Named arguments.
    """

    layer: nn.Module
    args: tuple[Any, ...]
    named: Mapping[str, Any]

    @property
    def states(self) -> Tensor | None:
        """The states that the layer reads: the first floating-point argument."""
        return next(filter(_is_states, (*self.args, *self.named.values())), None)

    @property
    def n_tokens(self) -> int:
        """Number of tokens that the layer reads; 0 without states."""
        return 0 if self.states is None else self.states[..., 0].numel()

    @property
    def has_lazy_mask(self) -> bool:
        """Whether the mask is computed on request, as for long inputs."""
        return any(isinstance(value, LazyMask) for value in (*self.args, *self.named.values()))

    def run(self, states: Tensor) -> Any:
        """Run the layer with other states."""
        original = self.states

        def with_states(value: Any) -> Any:
            return states if value is original else value

        args = [with_states(value) for value in self.args]
        kwargs = {name: with_states(value) for name, value in self.named.items()}
        return self.layer(*args, **kwargs)

    @property
    def key(self) -> str:
        """Arguments that the blocks may depend on in addition to the layer: shapes and numbers."""
        values = (*self.args, *self.named.values())
        return repr([v.shape if isinstance(v, Tensor) else _plain(v) for v in values])


@dataclass(frozen=True, eq=False)
class BlockTokens:
    """Tokens of the blocks in a layer.

    Attributes:
        tokens: Token of each entry, per block, int64. Tokens are counted in the order in which the
            layer reads them; numbers from the number of tokens on are padding.
        n_padding: Number of padding entries.
    """

    tokens: Sequence[NDArray[np.int64]]
    n_padding: int


class BlockProbe:
    """Finder of the tokens of each block; the result is stored for each layer and size.

    The layer runs again with random states, and some tokens change from run to run. The states that
    reach its attention module then show the token of every block entry. Entries that never change
    are padding. Two checks follow. First, tokens with equal states must have equal values in the
    attention. Second, the attention outputs are replaced by random vectors of a few kinds, and
    tokens whose vectors are of one kind must leave the layer with equal states. The probe needs no
    architecture table.

    Args:
        hf_model: Transformers model.
    """

    def __init__(self, hf_model: nn.Module) -> None:
        self._hf_model = hf_model
        self._known = LatestValues[tuple[Any, ...], BlockTokens | str](_KEPT)

    def __call__(self, site: Site, call: LayerCall, sizes: tuple[int, ...]) -> BlockTokens:
        """Return the tokens of the blocks in a layer.

        Args:
            site: Attention module of the layer.
            call: Call of the layer.
            sizes: Number of entries per block.

        Raises:
            NotInBlocks: An entry or a token cannot be assigned.
        """

        def find() -> BlockTokens | str:
            try:
                with torch.no_grad(), plain_forward(self._hf_model):
                    return self._find(site, call, sizes)
            except NotInBlocks as reason:
                return str(reason)
            except _CANNOT as error:
                return f"their layer does not run alone ({type(error).__name__}: {error})"

        key = (site.path, call.key, sizes)
        block_tokens = self._known.get_or_make(key, find)
        if isinstance(block_tokens, str):
            raise NotInBlocks(block_tokens)
        return block_tokens

    def _find(self, site: Site, call: LayerCall, sizes: tuple[int, ...]) -> BlockTokens:
        states = call.states
        if states is None:
            raise NotInBlocks("their layer reads no states of tokens")
        count, width = call.n_tokens, states.shape[-1]
        n_entries = sum(sizes)
        hidden_states, visible_states = (_noise(count, width, seed) for seed in (0, 1))

        def entries(visible: Tensor) -> Tensor:
            states_of_run = (
                torch.where(visible[:, None], visible_states, hidden_states)
                .reshape(states.shape)
                .to(states)
            )
            tensors = tensors_before(site.module, lambda: call.run(states_of_run))
            entry_states = next(filter(_is_states, tensors), None)
            if entry_states is None or entry_states[..., 0].numel() != n_entries:
                raise NotInBlocks("their entries are not what the attention module reads")
            return entry_states.reshape(n_entries, -1).float().cpu()

        numbers = torch.arange(count, dtype=torch.int64, device="cpu")
        try:
            codes = np.array(TokenWatch(entries, count).codes(numbers, count), np.int64)
        except MixedTokens:
            raise NotInBlocks("their entries are not one token each") from None
        padding = np.flatnonzero(codes < 0)
        if n_entries - len(padding) < count:
            raise NotInBlocks("some tokens are in no window or tile")
        codes[padding] = count + np.arange(len(padding))
        for seed in range(1 if count >= _ENOUGH else 4):
            self._check(site, call, codes, seed)
        blocks = np.split(codes, np.cumsum(sizes)[:-1])
        return BlockTokens(blocks, len(padding))

    def _check(
        self,
        site: Site,
        call: LayerCall,
        codes: NDArray[np.int64],
        seed: int,
    ) -> None:
        """Check the entries' tokens against the values, outputs and queries of a pass.

        Raises:
            NotInBlocks: The check fails.
        """
        states = call.states
        assert states is not None
        count, width = call.n_tokens, states.shape[-1]
        n_kinds = max(2, min(_KINDS, count // 16))
        generator = np.random.default_rng(seed)
        # Random kinds of the tokens before the layer and after its attention. Padding has its own.
        input_kinds, output_kinds = generator.integers(0, n_kinds, (2, count))
        entry_input_kinds, entry_output_kinds = (
            np.where(codes < count, kinds[np.minimum(codes, count - 1)], n_kinds)
            for kinds in (input_kinds, output_kinds)
        )
        input_states = _noise(n_kinds, width, seed + 2)[torch.from_numpy(input_kinds)]

        def noise(width: int) -> Tensor:
            return _noise(n_kinds + 1, width, seed + 3)[torch.from_numpy(entry_output_kinds)]

        records, output = self._run_with(
            site, call, input_states.reshape(states.shape).to(states), noise
        )
        values, outputs, read_outputs = records
        if sum(map(len, values)) != len(codes):
            raise NotInBlocks("their attention module does not show its values")
        if not _depends_on(torch.cat(values), entry_input_kinds):
            raise NotInBlocks("their values are in another order than their entries")
        if read_outputs and not _agree(torch.cat(outputs), read_outputs[0].reshape(len(codes), -1)):
            raise NotInBlocks("their outputs are not the values that the weights sum up")
        layer_output = next(
            filter(_is_states, output if isinstance(output, tuple) else (output,)), None
        )
        if layer_output is None or layer_output[..., 0].numel() != count:
            raise NotInBlocks("their layer puts out other tokens than it reads")
        pairs = input_kinds * (n_kinds + 1) + output_kinds
        if not _depends_on(layer_output.reshape(count, -1), pairs):
            raise NotInBlocks("their outputs go to other tokens than their entries")

    def _run_with(
        self, site: Site, call: LayerCall, states: Tensor, noise: Callable[[int], Tensor]
    ) -> tuple[tuple[list[Tensor], list[Tensor], list[Tensor]], Any]:
        """Run the layer on other states, with noise in place of its attention output.

        Args:
            site: Attention module of the layer.
            call: Call of the layer.
            states: States that the layer reads.
            noise: Function from an output width to the noise for each entry.

        Returns:
            Values of the entries, their weighted sums, and the outputs that the attention module or
            its projection read; then the layer output.
        """
        values: list[Tensor] = []
        outputs: list[Tensor] = []
        read_outputs: list[Tensor] = []

        def keep(seen: LayerAttention | LongAttention) -> None:
            if isinstance(seen, LongAttention):
                values.extend(_entries(item.value[None]) for item in seen.items)
                outputs.extend(_entries(item.output[None]) for item in seen.items)
            elif seen.value is not None:
                values.append(_entries(seen.value))
                outputs.append(_entries(summed_values(seen)))

        def replaced(_: nn.Module, __: Any, ___: Any, output: Any) -> Any:
            first = output[0] if isinstance(output, tuple) else output
            # The projection comes after the module.
            if projection is not None and projection not in modules_inside:
                read_outputs.append(first)
            replacement = noise(first.shape[-1])
            if len(replacement) != first[..., 0].numel():
                raise NotInBlocks("their attention module puts out other entries than it reads")
            replacement = replacement.reshape(first.shape).to(first)
            return (replacement, *output[1:]) if isinstance(output, tuple) else replacement

        model = uncompiled(self._hf_model)
        projection = projection_of(model, site)
        modules_inside = set(site.module.modules())

        def projected(_: nn.Module, args: tuple[Any, ...], __: Any) -> None:
            read_outputs.extend(args[:1])

        with ExitStack() as undo:
            on_long = keep if call.has_lazy_mask else None
            undo.enter_context(tap(self._hf_model, keep, Edits(), on_long, on_again=keep))
            undo.enter_context(hooked([site.module], after=replaced))
            if projection is not None and projection in modules_inside:
                undo.enter_context(hooked([projection], before=projected))
            output = call.run(states)
        return (values, outputs, read_outputs), output


def _entries(tensor: Tensor) -> Tensor:
    """Return numbers [blocks, heads, n, d] as a row for each entry of a block."""
    return tensor.transpose(1, 2).flatten(2).flatten(0, 1)


def _depends_on(rows: Tensor, kinds: NDArray[np.int64]) -> bool:
    """Return whether rows are equal exactly where their kinds are equal."""
    tolerance = _ROUNDING.get(rows.dtype, 1e-4)
    numbers = rows.detach().float().cpu()
    scale = float(numbers.abs().max())
    _, first, inverse = np.unique(kinds, return_index=True, return_inverse=True)
    kind_rows = numbers[torch.from_numpy(first)]
    within_kinds = (numbers - kind_rows[torch.from_numpy(inverse)]).abs().amax(-1)
    between_kinds = (kind_rows[:, None] - kind_rows[None]).abs().amax(-1)
    between_kinds.fill_diagonal_(torch.inf)
    return bool((within_kinds <= tolerance * scale).all()) and bool(
        (between_kinds > tolerance * scale).all()
    )


def _agree(first: Tensor, second: Tensor) -> bool:
    if first.shape != second.shape:
        return False
    tolerance = _ROUNDING.get(second.dtype, 1e-4) * float(second.abs().max())
    return float((first.to(second) - second).abs().max()) <= tolerance


def _noise(count: int, width: int, seed: int) -> Tensor:
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return torch.randn(count, width, generator=generator, dtype=torch.float32, device="cpu")


def _is_states(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 1


def _plain(value: Any) -> Any:
    """Return a number, or a tuple of numbers; "" for other objects."""
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    return tuple(map(_plain, value)) if isinstance(value, (tuple, list)) else ""
