"""Norms of token states after each layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.stack_axes import chosen_stack
from attnwidget.capture.model_reading import whole_reading_of
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.layer_outputs import layers_of
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.kernels.arrays import Float32Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.mechanisms.module_calls import first_argument
from attnwidget.model_facts.plain_forward import plain_forward
from attnwidget.text.counted import counted
from attnwidget.text.index_among import index_among
from attnwidget.text.places import Box
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_WHAT = "norms of tokens"


@dataclass(frozen=True, eq=False, repr=False)
class TokenNorms(Result):
    """Norm of the state of each token after each layer. Made by `token_norms`.

    Attributes:
        norms: L2 norms, float32 [L + 1, T]: row 0 before the first layer, row l + 1 after layer l.
        tokens: Tokens of the stack (T).
        stack: Name of the stack.
        sizes: Height and width of each picture in pixels.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import token_norms
        >>> found = token_norms(load_model(device="cpu").attend("The cat sat on the mat."))
        >>> found.norms.shape, found.largest(1)
        ((7, 9), [0])
    """

    norms: Float32Array
    tokens: Tokens
    stack: str
    sizes: tuple[tuple[int, int], ...]

    def largest(self, n: int = 5, layer: int = -1) -> list[int]:
        """Return the tokens with the largest norms after a layer, largest first.

        Args:
            n: Number of tokens.
            layer: Number of the layer; -1 for the last layer.
        """
        row = self._row(layer)
        return np.argsort(-row, kind="stable")[:n].tolist()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per layer and token.

        Columns: layer (-1 before the first layer), index, token, kind ("register", "cls" and so on;
        "" for other tokens), norm, and left, top, right, bottom of the token's box in pixels if any
        token has a box. `attrs["model"]` is the name of the model.
        """
        import pandas as pd

        n_rows, n_tokens = self.norms.shape
        table = pd.DataFrame(
            {
                "layer": np.repeat(np.arange(n_rows) - 1, n_tokens),
                "index": np.tile(np.arange(n_tokens), n_rows),
                "token": np.tile(np.asarray(self.tokens.text, dtype=object), n_rows),
                "kind": np.tile(np.asarray(self.tokens.special, dtype=object), n_rows),
                "norm": self.norms.ravel(),
            }
        )
        boxes = [region if isinstance(region, Box) else None for region in self.tokens.places]
        if any(boxes):
            for side in ("left", "top", "right", "bottom"):
                edges = [np.nan if box is None else getattr(box, side) for box in boxes]
                table[side] = np.tile(edges, n_rows)
        return table

    def chart(self, layer: int = -1, picture: int = 0, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the norms of one layer at the positions of patches, or of all layers for a text.

        A text is drawn as a heat map with a row for each layer. If two boxes overlap (a tile and
        the whole picture), the smaller one is drawn on top.

        Args:
            layer: Number of the layer; -1 for the last layer. For pictures only.
            picture: Number of the picture.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If there is no such layer or picture.
        """
        name = f"Norms of tokens, {self.stack}\n{self.model_name}"
        if not self.sizes:
            from attnwidget.charts.token_heatmap import token_heatmap

            rows = ["before L0", *(f"L{i}" for i in range(len(self.norms) - 1))]
            return token_heatmap(
                self.norms,
                rows,
                self.tokens.text,
                title=name,
                value_title="L2 norm",
                row_title="layer",
                column_title="token",
                width=width,
            )
        from attnwidget.charts.box_values import box_values

        picture = index_among("picture", picture, len(self.sizes))
        row = self._row(layer)
        box_norms = [
            (region, float(norm))
            for region, norm in zip(self.tokens.places, row, strict=True)
            if isinstance(region, Box) and region.picture == picture
        ]
        box_norms.sort(key=lambda one: -one[0].area)
        others = [
            f"{token} {norm:.3g}"
            for token, region, norm in zip(self.tokens.text, self.tokens.places, row, strict=True)
            if region is None
        ]
        after = len(self.norms) - 2 if layer == -1 else layer
        description = ", ".join(others[:6]) + (", …" if len(others) > 6 else "")
        title = f"{name}\nafter layer {after}"
        return box_values(
            [box for box, _ in box_norms],
            [norm for _, norm in box_norms],
            size=self.sizes[picture],
            title=f"{title}; without a place: {description}" if description else title,
            value_title="L2 norm",
            width=width,
        )

    def _row(self, layer: int) -> Float32Array:
        n_layers = len(self.norms) - 1
        if not -1 <= layer < n_layers:
            raise ValueError(
                f"layer {layer} is not among 0 to {n_layers - 1}, and not -1 for the last layer"
            )
        return self.norms[-1 if layer == -1 else layer + 1]

    def __repr__(self) -> str:
        n_layers, n_tokens = len(self.norms) - 1, self.norms.shape[1]
        first = self.largest(1)[0]
        return (
            f"TokenNorms({self.model_name}, {self.stack}: {counted(n_tokens, 'token')}, "
            f"{counted(n_layers, 'layer')}, largest at {self.tokens.text[first]!r})"
        )


@in_plain_torch
@says_cuts
def token_norms(attention: Attention, stack: str | None = None) -> TokenNorms:
    """Return the L2 norm of the state of each token before the first layer and after each layer.

    In large vision transformers, a few patches of uniform background have norms many times larger
    than the others. Attention rests on these patches, which store information about the whole
    picture (Darcet et al. 2024, sections 2 and 3). `Sinks` measures which tokens the heads rest on.

    Args:
        attention: Attention of a text, a picture or a sound.
        stack: Stack, for example "vision" for a tower; None = the only stack or the language model.

    Raises:
        ValueError: If there is no such stack, or it is cross-attention; if the attention comes from
            given weights, edits or a long input; if there is padding; or if the layers are not in a
            list.
        RuntimeError: If the weights of the model have changed since.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import drawn_shapes
        >>> from attnwidget.mechanisms import token_norms
        >>> model = load_model("attnwidget/shapes", device="cpu")
        >>> found = token_norms(model.attend(images=drawn_shapes(1).images[0]))
        >>> found.norms.shape
        (5, 65)
    """
    reading = whole_reading_of(attention, _WHAT)
    axes = chosen_stack(attention.stacks, stack, attention.model_name)
    hf_model: Any = reading.model.hf_model
    layers = None if axes.name == "cross" else layers_of(hf_model, axes.name)
    if layers is None:
        raise ValueError(
            f"{_WHAT} are those of layers in a list, and the layers of {axes.name!r} in "
            f"{type(hf_model).__name__} are in none"
        )
    modules = [layer for layer, _ in layers]
    states: dict[int, Tensor] = {}

    def enter(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        states[-1] = first_argument(args, kwargs)

    def keep(module: nn.Module, _: object, __: object, output: Any) -> None:
        states[modules.index(module)] = output[0] if isinstance(output, tuple) else output

    with (
        reading.model.lock.in_turn(),
        plain_forward(hf_model),
        torch.no_grad(),
        hooked(modules[:1], before=enter),
        hooked(modules, after=keep),
    ):
        hf_model(**reading.inputs, **without_cache(hf_model))
    n_tokens = len(axes.query)
    for layer, state in states.items():
        if state.shape[:-1].numel() != n_tokens:
            raise ValueError(
                f"layer {layer} of {axes.name!r} has states of {list(state.shape)}, which are "
                f"not those of {n_tokens} tokens: its windows or tiles change their order"
            )
    norms = [states[layer].reshape(n_tokens, -1).float().norm(dim=-1) for layer in sorted(states)]
    return TokenNorms(
        norms=torch.stack([row.cpu() for row in norms]).numpy(),
        tokens=axes.query,
        stack=axes.name,
        sizes=_sizes(attention.images) if any(axes.query.places) else (),
        model_name=attention.model_name,
    )


def _sizes(pictures: Sequence[Any]) -> tuple[tuple[int, int], ...]:
    return tuple((picture.shape[0], picture.shape[1]) for picture in pictures)
