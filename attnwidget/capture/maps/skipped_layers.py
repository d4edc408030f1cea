"""Passes through a model that skip the layers of a tower."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.attention_sites import Site
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.model_facts.held_attributes import Hold, held
from attnwidget.text.thread_lock import this_thread


class SkippedLayers:
    """Skipper of a tower's layers, which keeps the tower's tokens separate.

    The first pass runs the layers without their attention. A layer whose output has the shape of
    its input returns its input in later passes, which saves nearly all their time.

    Args:
        model: Transformers model.
        sites: Attention modules of the layers.
    """

    def __init__(self, model: nn.Module, sites: Sequence[Site]) -> None:
        self._attention = [site.module for site in sites]
        self._layers = list(dict.fromkeys(layer_of(model, site) for site in sites))
        # Outputs of each layer in addition to the states; None if it returns only the states.
        self._beside: dict[nn.Module, tuple[Any, ...] | None] = {}
        self._has_run = False

    @contextmanager
    def block(self) -> Iterator[None]:
        """Skip the layers in passes of this thread through the model."""
        if self._has_run:
            holds = [
                Hold(layer, "forward", _skipping(layer.forward, beside))
                for layer, beside in self._beside.items()
            ]
            with held(holds), hooked(self._attention, after=_nothing):
                yield
            return
        with hooked(self._layers, after=self._note), hooked(self._attention, after=_nothing):
            yield
        self._has_run = True

    def _note(
        self, layer: nn.Module, args: tuple[Any, ...], named: Mapping[str, Any], output: Any
    ) -> None:
        """Record whether a layer returns only the states, or a tuple with the states.

        The other entries are attention weights, which nothing before the last layer reads.
        """
        states = _states_of(args, named)
        other_outputs = output[1:] if isinstance(output, tuple) else None
        new_states = output if other_outputs is None else next(iter(output), None)
        if not isinstance(states, Tensor) or not isinstance(new_states, Tensor):
            return
        if any(not (other is None or isinstance(other, Tensor)) for other in other_outputs or ()):
            return
        if states.shape == new_states.shape and states.dtype == new_states.dtype:
            self._beside[layer] = other_outputs


def layer_of(model: nn.Module, site: Site) -> nn.Module:
    """Return the layer of an attention module: the module with the last number in its path.

    Args:
        model: Transformers model.
        site: Attention module of the layer.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.maps.skipped_layers import layer_of
        >>> from attnwidget.capture.tapping.attention_sites import find_sites
        >>> model = load_model(device="cpu").hf_model
        >>> layer_of(model, find_sites(model)[0]) is model.bert.encoder.layer[0]
        True
    """
    parts = site.path.split(".")
    while parts and not parts[-1].isdigit():
        parts.pop()
    return model.get_submodule(".".join(parts)) if parts else site.module


def _states_of(args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    return args[0] if args else named.get("hidden_states")


def _skipping(forward: Callable[..., Any], beside: tuple[Any, ...] | None) -> Callable[..., Any]:
    """Return a forward function that skips a layer in this thread."""
    thread = this_thread()

    def skip(*args: Any, **named: Any) -> Any:
        if this_thread() is not thread:
            return forward(*args, **named)
        states = _states_of(args, named)
        return states if beside is None else (states, *beside)

    return skip


def _nothing(_: nn.Module, __: Any, ___: Any, output: Any) -> Any:
    """Return zeros in place of the attention output."""
    if isinstance(output, tuple):
        return (torch.zeros_like(output[0]), *output[1:])
    return torch.zeros_like(output)
