"""Check that a model gives the same outputs with and without a tap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.tap import implemented_as, open_edits, tap
from attnwidget.inputs.model_tensors import input_names, is_of_text
from attnwidget.model_facts.plain_forward import plain_forward, uncompiled
from attnwidget.model_facts.weights_seen import WeightsSeen

# Differences between eager and fused attention that rounding explains, as a share of the outputs'
# size. Half precision rounds in every layer, so there the eager implementation is the reference.
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-6, torch.float16: 2e-2, torch.bfloat16: 1e-1}
_HALF = (torch.float16, torch.bfloat16)
# Number of tokens that are compared for a long input. A second full pass would double the time.
_TOKENS_OF_LONG = 512


class OutputCheck:
    """Comparison of a model's outputs inside and outside a tap, once per model.

    A model may branch on the name of its attention implementation, and compute something else under
    the tap's name. The maps would then belong to another computation.

    The first input needs an additional forward pass. Later outputs are checked only for NaN, and
    for random numbers if the pass has drawn any.
    """

    def __init__(self) -> None:
        self._passed = False
        self._weights: WeightsSeen | None = None
        self._random_state: Tensor | None = None
        # Names of inputs for which random numbers do not change any model states.
        self._unaffected: set[frozenset[str]] = set()

    def start(self, model: nn.Module) -> None:
        """Record the random state and the weights before a tapped pass."""
        self._random_state = _random_state(model)
        if not self._passed:
            self._weights = WeightsSeen(model)

    def check(
        self,
        model: nn.Module,
        inputs: Mapping[str, Any],
        options: Mapping[str, Any],
        output: Any,
        *,
        by_rows: bool = False,
    ) -> None:
        """Compare a tapped pass's output with the output of the same pass without a tap.

        Nothing is compared while heads are switched off, or once a comparison has passed. A
        difference is ignored if another thread has changed the weights since `start`. Every
        output is checked for NaN, because maps of NaN look like empty maps.

        Args:
            model: Model that was run, or a part of a model.
            inputs: Inputs of the model.
            options: Further arguments of the model's forward.
            output: Output of the model inside the tap.
            by_rows: Whether the pass read a long input without whole maps. Passes over its first
                tokens are then compared.

        Raises:
            ValueError: The outputs are NaN, differ by more than rounding explains, or depend on
                random numbers.
        """
        _refuse_nan(model, inputs, output)
        if by_rows:
            inputs = _beginning(inputs)
        self._refuse_random(model, inputs, options)
        if self._passed or open_edits(model):
            return
        if by_rows:
            with torch.no_grad(), tap(model, lambda _: None, on_long=lambda _: None):
                output = model(**inputs, **options)
        if _difference(output, _plain_pass(model, inputs, options), inputs) > 1:
            if self._weights is not None and self._weights.changed(model):
                return  # The next input is compared.
            _judge_difference(model, inputs, options, output)
        self._passed = True

    def _refuse_random(
        self, model: nn.Module, inputs: Mapping[str, Any], options: Mapping[str, Any]
    ) -> None:
        """Refuse a model that has drawn random numbers since `start`, if states depend on them."""
        previous_state, self._random_state = self._random_state, None
        names = frozenset(inputs)
        if previous_state is None or names in self._unaffected:
            return
        if torch.equal(previous_state, _random_state(model)):
            return
        with torch.random.fork_rng(_gpus(model)):
            first, second = (_states(model, inputs, options) for _ in range(2))
        are_equal = len(first) == len(second) and all(
            _relative(state, other_state, None) <= 1
            for state, other_state in zip(first, second, strict=True)
        )
        if not are_equal:
            advice = "seed every pass, hf_model.register_forward_pre_hook(lambda *_: "
            advice += "torch.manual_seed(0) and None)"
            if "noise" in input_names(model):
                advice = 'pass these numbers as the input "noise", attend({..., "noise": noise})'
            raise ValueError(
                f"{type(uncompiled(model)).__name__} draws random numbers in every pass, so every "
                f"pass has other maps: {advice}"
            )
        self._unaffected.add(names)


def _refuse_nan(model: nn.Module, inputs: Mapping[str, Any], output: Any) -> None:
    """Raise ValueError if outputs at real tokens are NaN.

    Inputs with a four-dimensional mask are not checked. Such a mask may leave a query without keys,
    so that eager attention gives NaN, and the maps show this.
    """
    if any(isinstance(value, Tensor) and value.ndim == 4 for value in _masks(inputs)):
        return
    for name, tensor in float_tensors(output).items():
        if tensor.ndim < 2 or not tensor.numel():
            continue
        # A state with NaN makes all logits of its token NaN, so one column is enough.
        is_nan = tensor[..., 0].isnan()
        real = _real_tokens(name, inputs)
        if real is not None and real.shape == is_nan.shape:
            is_nan = is_nan & real
        elif real is not None and not bool(is_nan.all()):
            continue  # The positions of padding are unknown.
        if bool(is_nan.any()):
            # Some models return outputs for the last tokens only.
            has_all_tokens = any(
                tuple(value.shape[:2]) == is_nan.shape for value in inputs.values()
            )
            location = f" at token {int(is_nan.nonzero()[0, 1])}" if has_all_tokens else ""
            raise ValueError(
                f"{type(uncompiled(model)).__name__} gives NaN{location}: {_cause_of_nan(model)}"
            )


def float_tensors(output: Any) -> dict[str, Tensor]:
    """Return the floating-point tensors of an output by name, without tuples such as maps.

    Args:
        output: Output of a model.

    Example:
        >>> import torch
        >>> from attnwidget.capture.tapping.output_check import float_tensors
        >>> list(float_tensors({"logits": torch.zeros(2), "attentions": ()}))
        ['logits']
    """
    if isinstance(output, Tensor):
        output = (output,)
    outputs = output if isinstance(output, Mapping) else {str(i): v for i, v in enumerate(output)}
    return {
        name: value
        for name, value in outputs.items()
        if isinstance(value, Tensor) and value.is_floating_point()
    }


def _masks(inputs: Mapping[str, Any]) -> list[Any]:
    return [value for name, value in inputs.items() if name.endswith("mask")]


def _cause_of_nan(model: nn.Module) -> str:
    for name, weight in model.named_parameters():
        if weight.is_floating_point() and not bool(torch.isfinite(weight).all()):
            return f"the weights {name} are not finite, so load an earlier checkpoint"
    dtype = str(next(model.parameters()).dtype).removeprefix("torch.")
    return (
        f"its weights are finite, so numbers are too large for {dtype} on the way; "
        "load_model(..., dtype=torch.float32) has room for larger numbers"
    )


def _judge_difference(
    model: nn.Module, inputs: Mapping[str, Any], options: Mapping[str, Any], output: Any
) -> None:
    """Accept only differences between eager and fused attention in half precision.

    Raises:
        ValueError: There is another difference. The message names the likely cause.
    """
    with implemented_as(model, "eager"):
        eager_output = _plain_pass(model, inputs, options)
    equals_eager = _difference(output, eager_output, inputs) <= 1
    if equals_eager and next(model.parameters()).dtype in _HALF:
        return
    name = type(uncompiled(model)).__name__
    if equals_eager:
        raise ValueError(
            f"{name} gives different outputs with eager attention and with the loaded "
            "implementation, so the maps could be wrong: load the model with "
            'attn_implementation="eager"'
        )
    raise ValueError(
        f"{name} gives other outputs while its attention is read than otherwise, so the maps "
        "would be wrong: this model cannot be read"
    )


def _plain_pass(model: nn.Module, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    with torch.no_grad(), plain_forward(model):
        return uncompiled(model)(**inputs, **options)


def _gpus(model: nn.Module) -> list[int]:
    """Return the indices of a model's GPUs."""
    if not torch.cuda.is_available():
        return []
    devices = {parameter.device for parameter in model.parameters()}
    return [device.index or 0 for device in devices if device.type == "cuda"]


def _random_state(model: nn.Module) -> Tensor:
    """Return the state of the random generators that a model may use."""
    states = [torch.cuda.get_rng_state(index) for index in _gpus(model)]
    return torch.cat([torch.get_rng_state(), *states])


def _states(
    model: nn.Module, inputs: Mapping[str, Any], options: Mapping[str, Any]
) -> list[Tensor]:
    """Return the states that every attention module of a model reads, and the outputs."""
    states: list[Tensor] = []

    def note(_: nn.Module, args: Sequence[Any], named: Mapping[str, Any]) -> None:
        values = (value for value in (*args, *named.values()) if isinstance(value, Tensor))
        states.extend(value.detach() for value in values if value.is_floating_point())

    modules = [site.module for site in find_sites(uncompiled(model))]
    with hooked(dict.fromkeys(modules), before=note):
        output = _plain_pass(model, inputs, options)
    return [*states, *float_tensors(output).values()]


def _beginning(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the inputs for the first tokens; all inputs if a text has pictures or sounds.

    Patches or frames may be tokens of the text, so such a text is not cut.
    """
    if "input_ids" in inputs and not all(map(is_of_text, inputs)):
        return inputs
    return {name: _first_tokens(name, value) for name, value in inputs.items()}


def _first_tokens(name: str, value: Tensor) -> Tensor:
    """Return the part of an input for the first tokens: ids, embeddings, a mask, or pixels.

    A sound is not cut, because spectrogram models have positions for only one length.
    """
    if value.ndim < 4 and not is_of_text(name):
        return value
    if value.ndim == 4:
        return value[..., :_TOKENS_OF_LONG, :_TOKENS_OF_LONG]
    return value[:, :_TOKENS_OF_LONG] if value.ndim > 1 else value


def _difference(first: Any, second: Any, inputs: Mapping[str, Any]) -> float:
    """Return the largest difference of two outputs at real tokens, relative to the tolerance.

    The comparison covers the logits and states that both outputs have.
    """
    tensors = float_tensors(first)
    other_tensors = float_tensors(second)
    differences = [
        _relative(tensors[name], other_tensors[name], _real_tokens(name, inputs))
        for name in tensors.keys() & other_tensors.keys()
    ]
    return max(differences, default=0.0)


def _real_tokens(name: str, inputs: Mapping[str, Any]) -> Tensor | None:
    """Return False at padding, where implementations differ, bool [B, n]; None without padding."""
    is_decoder = "decoder_input_ids" in inputs and not name.startswith("encoder")
    mask = inputs.get("decoder_attention_mask" if is_decoder else "attention_mask")
    if not isinstance(mask, Tensor) or mask.ndim != 2 or bool(mask.all()):
        return None
    return mask != 0


def _relative(tensor: Tensor, other: Tensor, real: Tensor | None) -> float:
    if tensor.shape != other.shape:
        return inf
    if real is not None and tensor.shape[:2] == real.shape:
        tensor, other = tensor[real], other[real]
    if not torch.equal(tensor.isnan(), other.isnan()):
        return inf
    tolerance = _TOLERANCE.get(tensor.dtype, 1e-3)
    tensor, other = tensor.float().nan_to_num(), other.float().nan_to_num()
    return float((tensor - other).norm() / (tolerance * other.norm() + 1e-12))
