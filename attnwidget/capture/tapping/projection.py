"""Output projections, which turn a head's weighted values into its share of the output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.attention_sites import Site, find_sites
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.tap import LayerAttention, LongAttention, tap
from attnwidget.capture.tapping.weights_agree import spread_row_numbers
from attnwidget.kernels.norms import (
    head_projections,
    projection_factors,
    value_norms,
    value_products,
)
from attnwidget.model_facts.plain_forward import uncompiled
from attnwidget.model_facts.weight_placement import weight_of

# Names of the projection in transformers, as a child of the attention module...
_OWN = ("o_proj", "out_proj", "c_proj", "dense", "Wo", "out_lin", "o", "wo", "proj", "linear_out")
# ... or in a neighboring block (BERT and related models).
_BESIDE = ("output", "self_output")
# Differences that rounding explains, as a share of the largest output.
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}
_ROWS_CHECKED = 6


@dataclass(frozen=True, eq=False)
class _SummedValues:
    """Head outputs of a layer before the output projection, for some queries.

    Attributes:
        n_inputs: Number of inputs in the batch.
        n_query: Number of queries per input.
        values: Weighted values of the first input and the checked queries, [H, rows, Dv] float32.
    """

    n_inputs: int
    n_query: int
    values: Tensor


class Projections:
    """Output projections of a model's attention modules.

    f(x_j) = v_j W_O, for one head and key, is the vector that the attention weight a_ij scales: the
    value with its bias, multiplied by the head's share of the output projection (Kobayashi et al.
    2020). Each projection is found by name, and used after a check: the sum of a_ij f(x_j) over
    heads and keys, plus the output bias, must equal the projection's output.

    Example:
        >>> import torch
        >>> from attnwidget import load_model
        >>> model = load_model(device="cpu").hf_model
        >>> projections = Projections(model)
        >>> with torch.no_grad():
        ...     projections.check(model, {"input_ids": torch.tensor([[5, 6, 7]])})
        >>> attention = model.bert.encoder.layer[0].attention.self
        >>> projections.why_not(attention), len(projections.of_heads(attention, 12))
        ('', 12)
    """

    def __init__(self, hf_model: nn.Module) -> None:
        hf_model = uncompiled(hf_model)
        self._modules: dict[nn.Module, nn.Module] = {}
        self._parents: dict[nn.Module, nn.Module] = {}
        self._names: dict[nn.Module, str] = {}
        self._paths: dict[nn.Module, str] = {}
        self._why_not: dict[nn.Module, str] = {}
        self._latest: dict[nn.Module, _SummedValues] = {}
        self._seen: dict[nn.Module, None] = {}
        self._replaced = False
        names = {module: path for path, module in hf_model.named_modules()}
        for site in find_sites(hf_model):
            projection = projection_of(hf_model, site)
            self._parents[site.module] = block_of(hf_model, site)
            self._names[site.module] = site.path.rpartition(".")[2]
            self._paths[site.module] = names.get(projection, site.path)
            if projection is None:
                self._why_not[site.module] = (
                    f"{type(site.module).__name__} has no output projection that is known, or a "
                    "quantized one"
                )
            else:
                self._modules[site.module] = projection

    @property
    def outdated(self) -> bool:
        """Whether earlier checks may no longer hold, because a module was replaced.

        An adapter may be trained, merged or switched off at any time, and BigBird replaces its
        attention modules when it reads a short input.
        """
        return any(
            hasattr(self._modules.get(module), "base_layer")
            or find_projection(module, parent) is not self._modules.get(module)
            or parent.get_submodule(self._names[module]) is not module
            for module, parent in self._parents.items()
        )

    @property
    def all_checked(self) -> bool:
        """Whether every projection was checked."""
        return self._modules.keys() <= self._why_not.keys()

    def why_not(self, module: nn.Module) -> str:
        """Return the reason why `module` has no f(x); "" if it has one."""
        return self._why_not.get(module, "its output projection did not run")

    @property
    def refused(self) -> str:
        """Reason why the first recorded module without an f(x) has none; "" if all have one."""
        if self._replaced:
            return "an edit (mean or patch) replaced outputs of heads, which are no sum of values"
        return next((why for why in map(self.why_not, self._seen) if why), "")

    def of_heads(self, module: nn.Module, n_heads: int) -> Tensor | None:
        """Return each head's output projection, [H, Dv, d] float32; None if there is no f(x)."""
        projection = self._modules.get(module)
        if projection is None or self._why_not.get(module):
            return None
        return head_projections(projection_weight(projection).detach(), n_heads)

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Check unchecked projections during forward passes in the block.

        The passes must call `see` for each of their layers.
        """
        self._replaced = False
        unchecked: dict[nn.Module, list[nn.Module]] = {}
        for module, projection in self._modules.items():
            if module not in self._why_not:
                unchecked.setdefault(projection, []).append(module)

        def compare(projection: nn.Module, _: object, __: object, output: Any) -> None:
            for module in unchecked[projection]:
                self._compare(module, output)

        try:
            with hooked(unchecked, after=compare):
                yield
        finally:
            self._latest.clear()

    def see(self, seen: LayerAttention | LongAttention) -> None:
        """Record a layer whose projection is about to run."""
        self._seen[seen.module] = None
        if isinstance(seen, LongAttention):
            self._see_rows(seen)
            return
        if seen.outputs_replaced:
            self._replaced = True
            return
        if not self._is_unchecked(seen.module):
            return
        n_inputs, n_heads, n_query, _ = seen.weights.shape
        if seen.value is None:
            self._why_not[seen.module] = (
                f"{type(seen.module).__name__} shows its attention weights, but not the values "
                "they multiply"
            )
        elif self._takes_values(seen.module, n_heads, seen.value.shape[-1]):
            value = seen.value[0].detach().float()  # [Hkv, K, Dv]
            value = value.repeat_interleave(n_heads // value.shape[0], dim=0)
            checked_queries = spread_row_numbers(n_query, _ROWS_CHECKED, seen.weights.device)
            rows = seen.weights[0, :, checked_queries].detach().float()
            self._latest[seen.module] = _SummedValues(n_inputs, n_query, rows @ value)

    def _see_rows(self, seen: LongAttention) -> None:
        first = seen.items[0].output
        n_heads, n_query, width = first.shape
        if self._is_unchecked(seen.module) and self._takes_values(seen.module, n_heads, width):
            checked_queries = spread_row_numbers(n_query, _ROWS_CHECKED, first.device)
            rows = first[:, checked_queries].detach().float()
            self._latest[seen.module] = _SummedValues(len(seen.items), n_query, rows)

    def _is_unchecked(self, module: nn.Module) -> bool:
        return module in self._modules and module not in self._why_not

    def _takes_values(self, module: nn.Module, n_heads: int, width: int) -> bool:
        """Return whether the projection reads only the values of the heads."""
        if projection_weight(self._modules[module]).shape[1] == n_heads * width:
            return True
        self._why_not[module] = f"{self._where(module)} takes more than the values"
        return False

    def value_products(self, seen: LayerAttention) -> Tensor | None:
        """Return f_h(x_j) . f_g(x_j) of a layer, [B, K, H, H]; None if there is no f(x).

        For a layer that was not checked before, the check ends when its projection has run.
        """
        shares = self.of_heads(seen.module, seen.weights.shape[1])
        if shares is None or seen.value is None:
            return None
        return value_products(seen.value.detach(), shares)

    def value_norms(self, seen: LongAttention) -> list[Tensor] | None:
        """Return ||f(x_j)|| of a layer over long inputs, [H, K] per input; None without f(x).

        A long input has too many keys for the products of all head pairs.
        """
        shares = self.of_heads(seen.module, len(seen.items[0].output))
        if shares is None:
            return None
        factors = projection_factors(shares)
        return [value_norms(item.value, factors) for item in seen.items]

    def check(self, hf_model: nn.Module, inputs: dict[str, Tensor]) -> None:
        """Check every projection in one forward pass over `inputs`."""
        with self.checking(), tap(hf_model, self.see):
            hf_model(**inputs)

    def _compare(self, module: nn.Module, output: Any) -> None:
        weighted_values = self._latest.pop(module, None)
        if weighted_values is None:
            return
        projection = self._modules[module]
        weight = projection_weight(projection)
        if not isinstance(output, Tensor):
            self._why_not[module] = f"{self._where(module)} gives more than a tensor (quantized)"
            return
        rows = spread_row_numbers(weighted_values.n_query, _ROWS_CHECKED, output.device)
        outputs = output.detach().reshape(-1, weight.shape[0])
        if len(outputs) != weighted_values.n_inputs * weighted_values.n_query:
            self._why_not[module] = f"{self._where(module)} takes more than the values"
            return
        shares = head_projections(weight.detach(), len(weighted_values.values))
        expected = (weighted_values.values @ shares).sum(0)
        bias = projection_bias(projection)
        expected = expected if bias is None else expected + bias.detach().float()
        differences = (outputs[rows].float() - expected).abs().max()
        difference, largest = torch.stack([differences, expected.abs().max()]).tolist()
        tolerance = _TOLERANCE.get(outputs.dtype, 1e-5) * max(largest, 1e-6)
        self._why_not[module] = (
            ""
            if difference <= tolerance
            else f"something stands between the values and {self._where(module)} (a gate, a norm) "
            "or beside it (an adapter: merge it)"
        )

    def _where(self, module: nn.Module) -> str:
        return f"{type(module).__name__}'s output projection {self._paths[module]!r}"


def block_of(hf_model: nn.Module, site: Site) -> nn.Module:
    """Return the parent of an attention module."""
    return hf_model.get_submodule(site.path.rpartition(".")[0])


def projection_of(hf_model: nn.Module, site: Site) -> nn.Module | None:
    """Return the output projection of an attention module; None if unknown or quantized.

    Args:
        hf_model: Model, uncompiled.
        site: Attention module with its path in the model.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model(device="cpu").hf_model
        >>> projection_of(model, find_sites(model)[0])
        Linear(in_features=240, out_features=240, bias=True)
    """
    return find_projection(site.module, block_of(hf_model, site))


def find_projection(module: nn.Module, parent: nn.Module) -> nn.Module | None:
    """Return the projection by name: a child of the attention module, or of a neighboring block."""
    candidates = [getattr(module, name, None) for name in _OWN]
    candidates += [getattr(getattr(parent, name, None), "dense", None) for name in _BESIDE]
    for candidate in candidates:
        if isinstance(candidate, nn.Module) and is_plain_linear(candidate):
            return candidate
    return None


def is_plain_linear(module: nn.Module) -> bool:
    """Return whether a module has a weight matrix that is neither quantized nor integer."""
    weight: Any = getattr(module, "weight", None)
    # Weights of torchao and bitsandbytes have their own types.
    is_plain = type(weight) in (Tensor, nn.Parameter)
    return is_plain and weight.ndim == 2 and weight.is_floating_point()


def projection_weight(projection: Any) -> Tensor:
    """Return the weight [d, H * Dv] in the layout of `nn.Linear`; GPT-2's Conv1D transposes it."""
    projection = _base_layer(projection)
    weight = weight_of(projection, "weight")
    assert weight is not None
    return weight.T if type(projection).__name__ == "Conv1D" else weight


def projection_bias(projection: nn.Module) -> Tensor | None:
    """Return the bias of an output projection, [d], or None."""
    return weight_of(_base_layer(projection), "bias")


def _base_layer(projection: nn.Module) -> Any:
    """Return the linear layer inside an adapter, or the projection itself."""
    return getattr(projection, "base_layer", projection)
