"""Gradients of a loss with respect to attention weights, from a forward and a backward pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from attnwidget.capture.answers.losses import LossTask
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.tap import LayerAttention, tap


@dataclass(frozen=True, eq=False)
class LayerGradient:
    """Gradient dL/da of one layer.

    Attributes:
        layer: Index of the layer in its stack.
        stack: "self", or "encoder", "decoder", "cross".
        values: Derivative with respect to each weight after the softmax, float32 [B, H, Q, K] with
            sign. Each weight is a separate variable.
        visible: Keys that each query may see, bool, broadcastable to [B, H, Q, K]; None for all
            keys.
    """

    layer: int
    stack: str
    values: Tensor
    visible: Tensor | None


def attention_gradients(
    hf_model: Any, task: LossTask, options: Mapping[str, Any] | None = None
) -> tuple[list[LayerGradient], Tensor]:
    """Return every layer's dL/da in computation order, and the loss of each input, [B].

    L is the sum of the inputs' losses. Parameters and their gradients do not change, and frozen
    parameters stay frozen. The gradients need the memory of all maps in all layers. If the loss
    depends only on a stack's first layers, the last layers have gradients of 0.

    Args:
        hf_model: Transformers model.
        task: Inputs and their losses.
        options: Further arguments of the model.

    Raises:
        ValueError: The loss is not a number, does not depend on a layer's weights, or must pass
            through layers that quantize their inputs; or the model was made under
            torch.inference_mode().

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.answers.losses import task_for
        >>> model = load_model(device="cpu")
        >>> inputs = model.tokenizer("The cat sat on the mat.", return_tensors="pt")
        >>> task = task_for(model.hf_model, model.tokenizer, inputs, "auto", seed=0)
        >>> gradients, loss = attention_gradients(model.hf_model, task)
        >>> gradients[5].values.shape, loss.shape
        (torch.Size([1, 12, 9, 9]), torch.Size([1]))
    """
    layers: list[LayerAttention] = []
    with torch.enable_grad():
        check_differentiable(hf_model)
    with torch.enable_grad(), differentiable(hf_model, task.inputs) as (inputs, _):
        with tap(hf_model, layers.append):
            output = hf_model(**inputs, **(options or {}))
        losses = losses_of(task, output)
        # A model that folds heads and batch into one dimension returns a view of the computed
        # weights.
        variables = [
            tensor
            for layer in layers
            for tensor in (layer.weights, layer.weights._base)
            if tensor is not None and tensor.requires_grad
        ]
        raw_gradients: tuple[Tensor | None, ...] = ()
        if losses.requires_grad and variables:
            raw_gradients = torch.autograd.grad(losses.sum(), variables, allow_unused=True)
    gradients_by_id = {
        id(t): gradient
        for t, gradient in zip(variables, raw_gradients, strict=False)
        if gradient is not None
    }
    layer_gradients = [_of(layer, gradients_by_id) for layer in layers]
    # A model may read a tower before its last layer. The loss does not depend on later layers.
    last = {
        layer.stack: layer.layer
        for layer, layer_gradient in zip(layers, layer_gradients, strict=True)
        if layer_gradient is not None
    }
    gradients = []
    for layer, layer_gradient in zip(layers, layer_gradients, strict=True):
        if layer_gradient is None:
            if layer.layer < last.get(layer.stack, math.inf):
                refuse_no_gradient(layer, hf_model)
            layer_gradient = torch.zeros_like(
                layer.weights, dtype=torch.float32, requires_grad=False
            )
        gradients.append(LayerGradient(layer.layer, layer.stack, layer_gradient, _visible(layer)))
    return gradients, losses.detach().float().reshape(-1)


def losses_of(task: LossTask, output: Any) -> Tensor:
    """Return the loss of every input; raise ValueError if the task returns anything else."""
    losses: object = task.losses(output)
    if not isinstance(losses, Tensor) or losses.ndim > 1 or not losses.is_floating_point():
        raise ValueError(f"a loss must be a tensor with one number per input; got {losses!r:.80}")
    return losses


def check_differentiable(hf_model: nn.Module) -> None:
    """Refuse weights and layers that stop gradients, because other gradients would be wrong."""
    if any(parameter.is_inference() for parameter in hf_model.parameters()):
        raise ValueError(
            f"the weights of this {type(hf_model).__name__} were made under "
            "torch.inference_mode(), so torch takes no gradient: load the model outside of it"
        )
    for path, module in hf_model.named_modules():
        if not _passes_gradients_on(module):
            raise ValueError(
                f"no gradient goes through {path!r} of {type(hf_model).__name__}, since it is "
                "quantized: load the model as it was before, or quantized in its weights alone"
            )


def _passes_gradients_on(module: nn.Module) -> bool:
    if type(module).__module__.startswith("torch.ao.nn.quantized"):
        return False
    weight: Any = getattr(module, "weight", None)
    if not isinstance(module, nn.Linear) or type(weight) in (Tensor, nn.Parameter):
        return True
    # Some other weight types also quantize the input, and stop gradients.
    probe = torch.ones(1, module.in_features, device=weight.device, dtype=weight.dtype)
    if not probe.is_floating_point():
        return True  # Weights of bitsandbytes pass gradients on.
    output = module(probe.requires_grad_())
    if not output.requires_grad:
        return False
    return torch.autograd.grad(output.sum(), probe, allow_unused=True)[0] is not None


@contextmanager
def differentiable(
    hf_model: Any, inputs: Mapping[str, Tensor]
) -> Iterator[tuple[dict[str, Tensor], list[Tensor]]]:
    """Turn float inputs and embeddings into variables, because frozen models have no others.

    Yield the inputs, and the list of these variables, which a forward pass fills.
    """
    options = {
        name: value.detach().clone().requires_grad_() if value.is_floating_point() else value
        for name, value in inputs.items()
    }

    variables = [value for value in options.values() if value.requires_grad]

    def into_graph(_: nn.Module, __: object, ___: object, output: Tensor) -> None:
        if not output.requires_grad:
            output.requires_grad_()
        variables.append(output)

    embeddings = [module for module in hf_model.modules() if isinstance(module, nn.Embedding)]
    with hooked(embeddings, after=into_graph):
        yield options, variables


def _of(seen: LayerAttention, by_tensor: Mapping[int, Tensor]) -> Tensor | None:
    """Return the gradient of a layer's weights, or None if no gradient reaches them."""
    gradient = by_tensor.get(id(seen.weights))
    if gradient is None and seen.weights._base is not None:
        gradient = by_tensor.get(id(seen.weights._base))
    if gradient is None or gradient.numel() != seen.weights.numel():
        return None
    return gradient.reshape(seen.weights.shape).float()


def refuse_no_gradient(seen: LayerAttention, hf_model: nn.Module) -> NoReturn:
    """Raise ValueError for a layer whose weights have no gradient."""
    raise ValueError(
        f"no gradient of the loss reaches the attention weights of layer {seen.layer} "
        f"({seen.stack!r}) of {type(hf_model).__name__}: either the loss does not depend on "
        "them, or the layer computes its output without them; then load the model with "
        'attn_implementation="eager"'
    )


def _visible(seen: LayerAttention) -> Tensor | None:
    mask = seen.mask
    if mask is None or mask.dtype == torch.bool:
        return mask
    return mask > torch.finfo(mask.dtype).min / 2
