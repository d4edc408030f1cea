"""Direct path at one token: from the residual stream to a logit difference, with frozen norms.

During the pass, the output of every module that writes to the stream is a variable at the token,
and every norm has constant statistics. The logit difference is then linear in the variables, so the
product of a variable and its gradient is its exact share. Other tokens reach this token only
through attention modules, whose outputs are variables. Outputs at other tokens can therefore be
constants, which saves most of the computation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.projection import is_plain_linear
from attnwidget.inputs.advised_error import AdvisedError
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.mechanisms.exact_linear import refuse_coarse_weights
from attnwidget.mechanisms.frozen_norm import FrozenNorm
from attnwidget.mechanisms.heads_at_token import HeadsWatch, watching_heads
from attnwidget.mechanisms.module_calls import first_argument
from attnwidget.mechanisms.stream_modules import StreamModules
from attnwidget.model_facts.answer_logits import answer_logits
from attnwidget.model_facts.weight_placement import weight_of

# Tolerance for rounding errors, as a share of the largest part.
_ROUNDING = 1e-4
_INSTEAD = (
    "gradient_effects(attention, answer, versus) gives effects to first order (gradient times "
    "output), and ablate(model, examples, scoring='loss') measures the score without each head"
)


@dataclass(frozen=True, eq=False)
class DirectPath:
    """Parts of a logit difference at a token.

    Attributes:
        heads: Record of the heads of each layer at the token.
        directions: Gradient of the difference with respect to the output of the layer's attention,
            by layer, float64 [d].
        mlps: Shares of MLPs and other modules, by layer.
        embeddings: Shares of "embeddings", "positions" and "token types".
        biases: Share of the norm and unembedding biases.
        difference: Logit difference at the output of the unembedding.
        model_difference: Logit difference in the model's logits.
        changed: Whether the model caps or scales the output of the unembedding.
    """

    heads: HeadsWatch
    directions: Mapping[int, Tensor]
    mlps: Mapping[int, float]
    embeddings: Mapping[str, float]
    biases: float
    difference: float
    model_difference: float
    changed: bool


def direct_path(
    hf_model: Any, inputs: Mapping[str, Tensor], row: int, answer: int, versus: int
) -> DirectPath:
    """Run a model once and split the difference of two logits at a token.

    Args:
        hf_model: Transformers model with one stack, in float32 or float64.
        inputs: Model inputs, a batch of one.
        row: Index of the token at which the logits are computed.
        answer: Vocabulary id of the answer.
        versus: Vocabulary id of the competing answer.

    Raises:
        ValueError: If the logits are not linear in the residual stream; or as in `linear_pass`.
    """
    run = linear_pass(hf_model, inputs, row)
    direction = run.unembedding[answer] - run.unembedding[versus]
    constant = 0.0 if run.bias is None else float(run.bias[answer] - run.bias[versus])
    shares = run.shares(direction)
    parts: dict[str, dict[Any, float]] = {"mlp": {}, "embeddings": {}, "bias": {}}
    for variable, _, share in shares:
        if variable.kind != "attention":
            kind_shares = parts[variable.kind]
            kind_shares[variable.key] = kind_shares.get(variable.key, 0.0) + share
    logits = run.logits
    return DirectPath(
        heads=run.heads,
        directions={v.layer: g[0] for v, g, _ in shares if v.kind == "attention"},
        mlps=parts["mlp"],
        embeddings=parts["embeddings"],
        biases=sum(parts["bias"].values()) + constant,
        difference=float((run.at_row.state * direction).sum().detach().double()) + constant,
        model_difference=float(logits[answer].double() - logits[versus].double()),
        changed=run.changed,
    )


def linear_pass(hf_model: Any, inputs: Mapping[str, Tensor], row: int) -> LinearPass:
    """Run a model once, with norms frozen and the outputs of writers as variables.

    Args:
        hf_model: Transformers model with one stack, in float32 or float64.
        inputs: Model inputs, a batch of one.
        row: Index of the token at which the logits are computed.

    Raises:
        ValueError: If weights have too little precision or are quantized, or there is no
            unembedding.
    """
    refuse_coarse_weights(hf_model)
    modules = StreamModules.from_model(hf_model)
    unembedding = hf_model.get_output_embeddings()
    if unembedding is None or not is_plain_linear(unembedding):
        raise ValueError(
            f"{type(hf_model).__name__} has no plain unembedding, a matrix from the residual "
            f"stream onto the vocabulary, so there are no direct effects on a logit; {_INSTEAD}"
        )
    weight = weight_of(unembedding, "weight")
    bias = weight_of(unembedding, "bias")
    assert weight is not None
    options = without_cache(hf_model)
    with torch.enable_grad(), watching_heads(hf_model, row, "self") as watch:
        token = _Token(row, inputs["input_ids"].shape[1])
        variables = _Variables(hf_model, modules, watch, token)
        with variables.opened(), _at_row(unembedding, row) as at_row:
            logits = answer_logits(hf_model(**inputs, **options)).detach()[0, 0]
    return LinearPass(
        hf_model=hf_model,
        modules=modules,
        heads=watch,
        unembedding=weight.detach(),
        bias=None if bias is None else bias.detach(),
        variables=variables,
        at_row=at_row,
        logits=logits,
    )


@dataclass(frozen=True, eq=False)
class LinearPass:
    """A pass in which the input of the unembedding is linear in the outputs of all writers.

    Attributes:
        hf_model: Transformers model.
        modules: Modules of the model that write to the stream.
        heads: Record of the heads of each layer at the token.
        unembedding: Matrix W_U, [V, d].
        bias: Bias of the unembedding, [V], or None.
        variables: Outputs of the writers.
        at_row: Input and output of the unembedding at the token.
        logits: Logits of the model at the token, [V].
    """

    hf_model: Any
    modules: StreamModules
    heads: HeadsWatch
    unembedding: Tensor
    bias: Tensor | None
    variables: _Variables
    at_row: _AtRow
    logits: Tensor

    @property
    def changed(self) -> bool:
        """Whether the model caps or scales the output of the unembedding."""
        unembedding_logits = self.at_row.logits.to(self.logits)
        return not torch.allclose(unembedding_logits, self.logits, rtol=1e-6, atol=1e-7)

    def shares(
        self, direction: Tensor, *, keep: bool = False
    ) -> list[tuple[_Variable, Tensor, float]]:
        """Return variables with their gradients and their shares of the state along a direction.

        Args:
            direction: Direction in the input space of the unembedding, [d].
            keep: Whether to keep the graph for further gradients of the pass.

        Raises:
            ValueError: If the shares do not sum to the state along the direction.
        """
        with torch.enable_grad():
            linear = (self.at_row.state * direction).sum()
        gradients = self.variables.gradients(linear, keep=keep)
        # Copy all numbers at once, because every copy waits for the GPU.
        sums = [(v.value.detach().double() * g).sum() for v, g in gradients]
        is_nonzero = [g.any().double() for _, g in gradients]
        numbers = [linear.detach().double(), *sums, *is_nonzero]
        total, *rest = torch.stack([number.to(linear.device) for number in numbers]).tolist()
        shares = rest[: len(sums)]
        scale = max(abs(total), *map(abs, shares))
        reached_layers = {
            v.layer
            for (v, _), is_reached in zip(gradients, rest[len(sums) :], strict=True)
            if v.kind == "attention" and is_reached
        }
        is_whole = reached_layers == set(self.heads.layer_of.values())
        if abs(sum(shares) - total) > _ROUNDING * scale or not is_whole:
            unembedding = self.hf_model.get_output_embeddings()
            raise _not_linear(self.hf_model, unembedding, self.modules)
        return [(v, g, share) for (v, g), share in zip(gradients, shares, strict=True)]

    def carried(self, layer: int, vector: Tensor) -> Tensor:
        """Return the part of the unembedding's input that a vector contributes, float64 [d].

        Args:
            layer: Layer whose attention writes the vector at the token.
            vector: Vector, [d].

        Raises:
            ValueError: If the input of the unembedding is not linear in the outputs of the writers.
        """
        state = self.at_row.state
        self.shares(state.detach(), keep=True)
        (variable,) = self.variables.of_attention(layer)
        with torch.enable_grad():
            # The path is linear, so the derivative of its gradient is the path itself.
            probe = torch.zeros_like(state, requires_grad=True)
            along = (state * probe).sum()
            (gradient,) = torch.autograd.grad(along, variable.value, create_graph=True)
            along_vector = (gradient[0] * vector.to(gradient)).sum()
            (carried,) = torch.autograd.grad(along_vector, probe)
        return carried.double()


@dataclass(frozen=True)
class _Token:
    """Token of an input whose logits are split.

    Attributes:
        row: Index of the token in the input.
        n_tokens: Length of the input.
    """

    row: int
    n_tokens: int

    def rows_at_token(self, states: Tensor) -> Tensor:
        """Return the states at the token, [1, d]; all states unless there is one row per token."""
        rows = states.reshape(-1, states.shape[-1])
        return rows[self.row : self.row + 1] if len(rows) == self.n_tokens else states

    def put(self, state: Tensor, states: Tensor) -> Tensor:
        """Return a copy of constant states with the variable `of(states)` inserted."""
        if state.shape == states.shape:
            return state.clone()
        rows = states.detach().reshape(-1, states.shape[-1])
        return torch.cat([rows[: self.row], state, rows[self.row + 1 :]]).reshape(states.shape)


@dataclass(frozen=True, eq=False)
class _Variable:
    """Output in the pass that counts as a variable.

    Attributes:
        kind: Kind of writer: "attention", "mlp", "embeddings" or "bias".
        value: Output at the token, [1, d].
        layer: Number of the layer, or -1.
        name: Kind of an embedding.
    """

    kind: str
    value: Tensor
    layer: int = -1
    name: str = ""

    @property
    def key(self) -> int | str:
        """Key of the variable's share within its kind."""
        return self.name or self.layer


class _Variables:
    """Variables of one pass."""

    def __init__(
        self, hf_model: nn.Module, modules: StreamModules, watch: HeadsWatch, token: _Token
    ) -> None:
        self._modules = modules
        self._watch = watch
        self._token = token
        self._paths = {module: path for path, module in hf_model.named_modules()}
        self._variables: list[_Variable] = []
        # Modules that add their input to their output, so that the path continues inside them.
        self._adding: set[nn.Module] = set()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Turn module outputs into variables in forward passes in the block."""
        modules = self._modules
        children = [child for module in modules.mlps for child in module.children()]
        with (
            hooked(modules.embeddings, after=self._embeds),
            hooked(modules.projections, before=_without_graph),
            hooked(modules.projections.values(), after=self._attends),
            hooked(children, after=self._computes_inside),
            hooked(modules.mlps, before=self._enter, after=self._computes),
            hooked(modules.norms, after=self._freeze),
        ):
            yield

    def of_attention(self, layer: int) -> list[_Variable]:
        """Return the attention outputs of a layer."""
        return [v for v in self._variables if v.kind == "attention" and v.layer == layer]

    def gradients(self, linear: Tensor, *, keep: bool) -> list[tuple[_Variable, Tensor]]:
        """Return each variable with the gradient of `linear`, float64; 0 if none reaches it.

        The graph of the pass is released unless `keep` is true.
        """
        values = [variable.value for variable in self._variables]
        raw = torch.autograd.grad(linear, values, allow_unused=True, retain_graph=keep)
        return [
            (v, torch.zeros_like(v.value).double() if g is None else g.double())
            for v, g in zip(self._variables, raw, strict=True)
        ]

    def _variable(self, kind: str, output: Any, layer: int = -1, name: str = "") -> Any:
        torch.set_grad_enabled(True)
        tensor = output[0] if isinstance(output, tuple) else output
        value = self._token.rows_at_token(tensor.detach()).clone().requires_grad_()
        self._variables.append(_Variable(kind, value, layer, name))
        new_output = self._token.put(value, tensor)
        return (new_output, *output[1:]) if isinstance(output, tuple) else new_output

    def _embeds(self, module: nn.Module, _: object, __: object, output: Any) -> Any:
        return self._variable("embeddings", output, name=self._modules.embeddings[module])

    def _attends(self, projection: nn.Module, _: object, __: object, output: Any) -> Any:
        layer = self._watch.layer_of.get(self._watch.modules[projection], -1)
        return self._variable("attention", output, layer)

    def _enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        states = [v for v in (*args, *kwargs.values()) if isinstance(v, Tensor) and v.ndim == 3]
        if len(states) > 1 and states[0].shape == states[1].shape:
            self._adding.add(module)
        else:
            _without_graph()

    def _computes(self, module: nn.Module, _: object, __: object, output: Any) -> Any:
        if module in self._adding:
            return output
        return self._variable("mlp", output, self._layer(module))

    def _computes_inside(self, child: nn.Module, _: object, __: object, output: Any) -> Any:
        parent = self._paths[child].rpartition(".")[0]
        is_inside = any(self._paths[module] == parent for module in self._adding)
        if not is_inside or next(child.parameters(), None) is None:
            return output
        return self._variable("mlp", output, self._layer(child))

    def _layer(self, module: nn.Module) -> int:
        numbers = [part for part in self._paths[module].split(".") if part.isdigit()]
        return int(numbers[0])

    def _freeze(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], output: Any
    ) -> Any:
        if not isinstance(output, Tensor):
            return output
        state = self._token.rows_at_token(first_argument(args, kwargs))
        with torch.no_grad():
            frozen = FrozenNorm.from_call(module, state, self._token.rows_at_token(output))
        if frozen is None:
            # The norm is inside of a variable; otherwise, the check of the sum fails.
            return output
        if frozen.bias is None:
            return self._token.put(frozen(state), output)
        bias = frozen.bias.detach().clone().requires_grad_()
        self._variables.append(_Variable("bias", bias))
        return self._token.put(replace(frozen, bias=None)(state) + bias, output)


def _without_graph(*_: object) -> None:
    """Compute without a graph until the next variable starts its own graph.

    Otherwise, torch would keep all maps and states of the pass for gradients of the weights.
    """
    torch.set_grad_enabled(False)


class _AtRow:
    """Input and output of the unembedding at a token.

    Attributes:
        state: Input of the unembedding, [d], in the graph.
        logits: Output of the unembedding, [V].
    """

    state: Tensor
    logits: Tensor

    def __init__(self, row: int) -> None:
        self._row = row

    def narrow(
        self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Pass only one token to the unembedding."""
        states = args[0][:, self._row : self._row + 1]
        self.state = states[0, 0]
        return (states.detach(), *args[1:]), kwargs

    def keep(self, _: nn.Module, __: object, ___: object, output: Tensor) -> None:
        """Store the logits."""
        self.logits = output.detach()[0, 0]


@contextmanager
def _at_row(unembedding: nn.Module, row: int) -> Iterator[_AtRow]:
    """Run the unembedding only at one token in forward passes in the block."""
    at_row = _AtRow(row)
    with hooked([unembedding], before=at_row.narrow, after=at_row.keep):
        yield at_row


def _not_linear(
    hf_model: nn.Module, unembedding: nn.Module, modules: StreamModules
) -> AdvisedError:
    """Return the error with the reason why a logit has no exact parts."""
    writers = {*modules.embeddings, *modules.mlps, *modules.projections.values(), unembedding}
    writer_parts = {part for module in (*writers, *modules.sites) for part in module.modules()}
    linears = [
        path
        for path, module in hf_model.named_modules()
        if isinstance(module, nn.Linear) and module not in writer_parts
    ]
    after_layers = [path for path in linears if not any(part.isdigit() for part in path.split("."))]
    reason = ""
    if after_layers:
        reason = f": {after_layers[0]} stands between the last layer and the logits"
    elif linears:
        reason = f": {linears[0].rpartition('.')[0]} is neither attention nor an MLP"
    return AdvisedError(
        f"the logits of {type(hf_model).__name__} are not linear in the residual stream, even with "
        f"frozen norms{reason}, so they have no exact direct effects",
        _INSTEAD,
    )
