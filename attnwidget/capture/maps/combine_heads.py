"""Choice of the heads that a mean or a maximum combines, and the names of the combined heads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from attnwidget.capture.maps.combined_heads import Combination, CombinedHeads, Members
from attnwidget.capture.maps.kept_layer import KeptLayer
from attnwidget.capture.maps.stack_axes import CombinedNames, Stack, chosen_stack
from attnwidget.capture.tapping.head import Head, named_head
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.text.counted import counted
from attnwidget.text.whole_number import whole_number

#: Heads by number, in every chosen layer, or as (layer, head) or (layer, head, stack).
HeadsToCombine: TypeAlias = "int | Sequence[int] | Sequence[Head | Sequence[Any]] | None"
LayerChoice: TypeAlias = "int | Sequence[int] | None"
Each: TypeAlias = Literal["layer", "head"]

# Names for the margins of a grid.
_MARGIN: Mapping[Combination, str] = {"mean": "mean", "maximum": "max"}
# Heads or layers that a name lists.
_NAMED = 4
# The places (layer, head) of the heads that each combined head stands for, by layer.
_Places: TypeAlias = list[list[list[tuple[int, int]]]]

HIDES_HEADS = (
    "a mean hides what single heads do: heads that look at different tokens look like one head"
)
NO_SHARES = "a maximum: each weight is that of the strongest head, and rows do not sum to 1"


@dataclass(frozen=True, eq=False)
class CombinedStack:
    """The layers of combined heads of one stack.

    Attributes:
        layers: The kept layers.
        numbers: Their numbers.
        names: The names of their heads.
    """

    layers: tuple[KeptLayer, ...]
    numbers: LayerNumbers
    names: CombinedNames


def combine_heads(
    combination: Combination,
    stacks: Mapping[str, Stack],
    layers: Mapping[str, Mapping[int, KeptLayer]],
    *,
    heads: HeadsToCombine,
    of_layers: LayerChoice,
    each: Each | None,
    stack: str | None,
    model_name: str,
) -> dict[str, CombinedStack]:
    """Return the combined heads of each stack; no map is computed.

    Args:
        combination: "mean" or "maximum".
        stacks: The stacks of the attention.
        layers: The kept layers of each stack by number.
        heads: The heads; None = all.
        of_layers: The layers; None = all layers with attention.
        each: "layer" for a head per layer, "head" for a layer with all heads, None for a head.
        stack: The stack; None = every stack.
        model_name: Name of the model for error messages.

    Raises:
        ValueError: No such stack, layer or head; nothing chosen, or a head or layer chosen twice;
            heads of single layers together with `of_layers` or `each`.
        TypeError: A number is no whole number.
    """
    if each not in ("layer", "head", None):
        raise ValueError(f"each is 'layer', 'head' or None, got {each!r}")
    chosen = dict(stacks)
    if stack is not None:
        chosen = {stack: chosen_stack(stacks, stack, model_name)}
    heads = _listed(heads, "heads")
    wanted_layers = _listed(of_layers, "layers")
    if heads is not None and any(isinstance(head, Sequence) for head in heads):
        if wanted_layers is not None or each is not None:
            raise ValueError(
                "heads named as (layer, head) are combined into one head: pass neither layers nor "
                "each with them, or pass the numbers of heads alone"
            )
        return _of_named_heads(combination, chosen, layers, heads)
    combined = {}
    for name, axes in chosen.items():
        numbers = _layers_of(axes, wanted_layers)
        of_layer = _heads_of(axes, numbers[0], heads)
        places: _Places
        if each == "layer":
            places = [[[(layer, head) for head in of_layer]] for layer in numbers]
        elif each == "head":
            places = [[[(layer, head) for layer in numbers] for head in of_layer]]
        else:
            places = [[[(layer, head) for layer in numbers for head in of_layer]]]
        texts = [[_name(combination, axes, cell) for cell in row] for row in places]
        keeps_numbers = each == "layer" and wanted_layers is None
        new_numbers = axes.layers if keeps_numbers else LayerNumbers.without((), len(places))
        rows = [str(number) for number in numbers] if each == "layer" else [_MARGIN[combination]]
        if keeps_numbers:
            rows = [str(number) for number in range(axes.n_layers)]
            named = dict(zip(numbers, texts, strict=True))
            texts = [named.get(i, [f"layer {i}"]) for i in range(axes.n_layers)]
        columns = [str(head) for head in of_layer] if each == "head" else [_MARGIN[combination]]
        combined[name] = CombinedStack(
            tuple(_layer(combination, layers[name], row) for row in places),
            new_numbers,
            CombinedNames(tuple(map(tuple, texts)), tuple(rows), tuple(columns)),
        )
    return combined


def _listed(value: Any, what: str) -> list[Any] | None:
    """Return a choice as a list; None for None."""
    if value is None:
        return None
    if isinstance(value, (str, Mapping)):
        raise TypeError(f"{what} are a number, a list of numbers or None for all, got {value!r}")
    if isinstance(value, Head):
        return [value]
    chosen = list(value) if isinstance(value, Iterable) else [value]
    if not chosen:
        raise ValueError(f"{what} is empty: name some, or pass None for all")
    kinds = {isinstance(entry, Sequence) for entry in chosen}
    if len(kinds) > 1:
        raise ValueError(f"{what} are all numbers or all (layer, head), got {value!r}")
    return chosen


def _numbers(values: Sequence[Any], what: str) -> list[int]:
    """Return whole numbers, each once."""
    numbers = []
    for value in values:
        number = whole_number(f"a {what}", value)
        if number in numbers:
            raise ValueError(f"{what} {number} is chosen twice: name each {what} once")
        numbers.append(number)
    return numbers


def _layers_of(axes: Stack, chosen: Sequence[Any] | None) -> list[int]:
    if chosen is None:
        return list(axes.layers.numbers)
    return [_head(axes, layer, 0).layer for layer in _numbers(chosen, "layer")]


def _heads_of(axes: Stack, layer: int, chosen: Sequence[Any] | None) -> list[int]:
    if chosen is None:
        return list(range(axes.n_heads))
    return [_head(axes, layer, head).head for head in _numbers(chosen, "head")]


def _head(axes: Stack, layer: int, head: int) -> Head:
    shapes = {axes.name: (axes.n_layers, axes.n_heads)}
    return named_head((layer, head, axes.name), shapes, {axes.name: axes.layers})


def _of_named_heads(
    combination: Combination,
    stacks: Mapping[str, Stack],
    layers: Mapping[str, Mapping[int, KeptLayer]],
    heads: Sequence[Any],
) -> dict[str, CombinedStack]:
    """Return one head per stack, of heads that are named with their layers."""
    shapes = {name: (axes.n_layers, axes.n_heads) for name, axes in stacks.items()}
    numbers = {name: axes.layers for name, axes in stacks.items()}
    by_stack: dict[str, list[tuple[int, int]]] = {}
    for value in heads:
        head = named_head(value, shapes, numbers)
        places = by_stack.setdefault(head.stack, [])
        if (head.layer, head.head) in places:
            raise ValueError(f"{head} is chosen twice: name each head once")
        places.append((head.layer, head.head))
    combined = {}
    margin = _MARGIN[combination]
    for name, places in by_stack.items():
        named = [str(Head(*place, name)) for place in places]
        of = ", ".join(named) if len(named) <= _NAMED else f"{len(named)} chosen heads"
        combined[name] = CombinedStack(
            (_layer(combination, layers[name], [sorted(places)]),),
            LayerNumbers.without((), 1),
            CombinedNames(((f"{combination} of {of}",),), (margin,), (margin,)),
        )
    return combined


def _layer(
    combination: Combination,
    layers: Mapping[int, KeptLayer],
    row: Sequence[Sequence[tuple[int, int]]],
) -> KeptLayer:
    """Return the kept layer of the combined heads of one row."""
    members: list[Members] = []
    for places in row:
        by_layer: dict[int, list[int]] = {}
        for layer, head in places:
            by_layer.setdefault(layer, []).append(head)
        members.append(
            tuple((layers[layer], tuple(sorted(heads))) for layer, heads in by_layer.items())
        )
    combined = CombinedHeads(combination, tuple(members))
    first = members[0][0][0]
    count = len(members)
    return KeptLayer(
        count, count, first.n_query, first.n_key, mask=combined.mask(), combined=combined
    )


def _name(combination: Combination, axes: Stack, places: Sequence[tuple[int, int]]) -> str:
    """Return the name of a combined head, for example "mean of 12 heads of layer 3"."""
    layers = list(dict.fromkeys(layer for layer, _ in places))
    heads = list(dict.fromkeys(head for _, head in places))
    kind = "head" if axes.name == "self" else f"{axes.name} head"
    is_all_heads = len(heads) == axes.n_heads
    is_all_layers = len(layers) == len(axes.layers.numbers)
    if is_all_heads and is_all_layers and len(layers) > 1:
        return f"{combination} of all {counted(len(places), kind)}"
    numbers = _some("", heads).strip()
    of_heads = counted(len(heads), kind) if is_all_heads or len(heads) > _NAMED else ""
    of_heads = of_heads or f"{kind}{'s' if len(heads) > 1 else ''} {numbers}"
    of_layers = f"all {len(layers)} layers" if is_all_layers and len(layers) > 1 else ""
    of_layers = of_layers or _some("layer", layers)
    return f"{combination} of {of_heads} of {of_layers}"


def _some(kind: str, numbers: Sequence[int]) -> str:
    """Return "layer 3", "layers 3, 5" or "7 layers"."""
    if len(numbers) > _NAMED:
        return counted(len(numbers), kind)
    plural = "s" if len(numbers) > 1 and kind else ""
    return f"{kind}{plural} {', '.join(map(str, numbers))}"
