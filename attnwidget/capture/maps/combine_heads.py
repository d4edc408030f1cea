"""Means and maxima of heads: their choice, their maps and their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from attnwidget.capture.maps.given_maps import GivenMaps
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.stack_axes import Stack, chosen_stack
from attnwidget.capture.tapping.head import (
    Head,
    HeadName,
    is_one_head,
    named_head,
    names_head,
)
from attnwidget.kernels.array_library import Array, beside, library_of
from attnwidget.text.counted import counted
from attnwidget.text.whole_number import whole_number

Combination: TypeAlias = Literal["mean", "maximum"]
#: Heads by number, in every chosen layer, or a head or heads by name.
HeadsToCombine: TypeAlias = "int | Sequence[int] | HeadName | Sequence[HeadName] | None"
LayerChoice: TypeAlias = "int | Sequence[int] | None"
Each: TypeAlias = Literal["layer", "head"]

# Names for the margins of a grid.
_MARGIN: Mapping[Combination, str] = {"mean": "mean", "maximum": "max"}
# Heads or layers that a name lists.
_NAMED = 4
# Cells of the maps of single heads in memory at a time.
_CELLS_AT_ONCE = 16 * 1024 * 1024
# The (layer, head) of each head that a combined head is made of.
_Members: TypeAlias = Sequence[tuple[int, int]]

HIDES_HEADS = (
    "a mean hides what single heads do: heads that look at different tokens look like one head"
)
NO_SHARES = "a maximum: each weight is that of the strongest head, and rows do not sum to 1"


def combine_heads(
    combination: Combination,
    stacks: Mapping[str, Stack],
    layers: Mapping[str, Mapping[int, Layer]],
    *,
    heads: HeadsToCombine,
    of_layers: LayerChoice,
    each: Each | None,
    stack: str | None,
    model_name: str,
) -> dict[str, tuple[Stack, list[Layer]]]:
    """Return the combined heads of each stack, with their maps.

    Args:
        combination: "mean" or "maximum".
        stacks: The stacks of the attention.
        layers: The layers of each stack by number.
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
    listed = _chosen_heads(heads)
    wanted_layers = _listed(of_layers, "layers")
    if listed is not None and names_head(listed[0]):
        if wanted_layers is not None or each is not None:
            raise ValueError(
                "heads named as (layer, head) are combined into one head: pass neither layers nor "
                "each with them, or pass the numbers of heads alone"
            )
        return _of_named_heads(combination, chosen, layers, listed)
    combined = {}
    for name, axes in chosen.items():
        numbers = _layers_of(axes, wanted_layers)
        of_layer = _heads_of(axes, numbers[0], listed)
        members: list[list[_Members]]
        if each == "layer":
            members = [[[(layer, head) for head in of_layer]] for layer in numbers]
        elif each == "head":
            members = [[[(layer, head) for layer in numbers] for head in of_layer]]
        else:
            members = [[[(layer, head) for layer in numbers for head in of_layer]]]
        names = [tuple(_name(combination, axes, one) for one in row) for row in members]
        labels = [str(number) for number in numbers] if each == "layer" else [_MARGIN[combination]]
        keeps_numbers = each == "layer" and wanted_layers is None
        if keeps_numbers:
            named = dict(zip(numbers, names, strict=True))
            labels = [str(number) for number in range(axes.n_layers)]
            names = [named.get(i, (f"layer {i}",)) for i in range(axes.n_layers)]
        columns = [str(head) for head in of_layer] if each == "head" else [_MARGIN[combination]]
        made = replace(
            axes,
            n_layers=axes.n_layers if keeps_numbers else len(members),
            n_heads=len(members[0]),
            n_key_heads=len(members[0]),
            layers_without_attention=axes.layers_without_attention if keeps_numbers else (),
            head_names=tuple(names),
            layer_labels=tuple(labels),
            head_labels=tuple(columns),
        )
        combined[name] = made, [_layer(combination, layers[name], row) for row in members]
    return combined


def _chosen_heads(value: Any) -> list[Any] | None:
    """Return the heads as a list of numbers, or as a list of names; None for None."""
    if is_one_head(value):
        return [value]
    listed = _listed(value, "heads")
    named = [names_head(entry) for entry in listed or ()]
    if any(named) and not all(named):
        raise ValueError(f"heads are all numbers or all names such as 'L1 H3', got {value!r}")
    return listed


def _listed(value: Any, what: str) -> list[Any] | None:
    """Return a choice as a list; None for None."""
    if value is None:
        return None
    if isinstance(value, (str, Mapping)):
        raise TypeError(f"{what} are a number, a list of numbers or None for all, got {value!r}")
    chosen = list(value) if isinstance(value, Iterable) else [value]
    if not chosen:
        raise ValueError(f"{what} is empty: name some, or pass None for all")
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
    layers: Mapping[str, Mapping[int, Layer]],
    heads: Sequence[Any],
) -> dict[str, tuple[Stack, list[Layer]]]:
    """Return one head per stack, of heads that are named with their layers."""
    shapes = {name: (axes.n_layers, axes.n_heads) for name, axes in stacks.items()}
    numbers = {name: axes.layers for name, axes in stacks.items()}
    by_stack: dict[str, list[tuple[int, int]]] = {}
    for value in heads:
        head = named_head(value, shapes, numbers)
        members = by_stack.setdefault(head.stack, [])
        if (head.layer, head.head) in members:
            raise ValueError(f"{head} is chosen twice: name each head once")
        members.append((head.layer, head.head))
    combined = {}
    margin = _MARGIN[combination]
    for name, members in by_stack.items():
        named = [str(Head(*member, name)) for member in members]
        of = ", ".join(named) if len(named) <= _NAMED else f"{len(named)} chosen heads"
        made = replace(
            stacks[name],
            n_layers=1,
            n_heads=1,
            n_key_heads=1,
            layers_without_attention=(),
            head_names=((f"{combination} of {of}",),),
            layer_labels=(margin,),
            head_labels=(margin,),
        )
        combined[name] = made, [_layer(combination, layers[name], [sorted(members)])]
    return combined


def _layer(combination: Combination, layers: Mapping[int, Layer], row: Sequence[_Members]) -> Layer:
    """Return the layer of some combined heads."""
    first = layers[row[0][0][0]]

    def maps(quantity: str) -> GivenMaps:
        return GivenMaps(_maps(combination, layers, row, quantity))

    return Layer(
        n_heads=len(row),
        n_key_heads=len(row),
        n_query=first.n_query,
        n_key=first.n_key,
        weights=maps("weights"),
        mask=_mask(layers, row),
        norms=None if first.norms is None else maps("norms"),
        gradients=None if first.gradients is None else maps("gradients"),
    )


def _maps(
    combination: Combination,
    layers: Mapping[int, Layer],
    row: Sequence[_Members],
    quantity: str,
) -> Array:
    """Return the maps of combined heads, [heads, Q, K] float32.

    The maps of single heads are computed some at a time, and are not kept.
    """
    maps = []
    for members in row:
        total: Array = None
        for number, heads in _by_layer(members).items():
            layer = layers[number]
            most = max(1, _CELLS_AT_ONCE // (layer.n_query * layer.n_key))
            for run in _runs(sorted(heads), most):
                part = layer.rows(run, quantity=quantity)
                library = library_of(part)
                part = part.sum(0) if combination == "mean" else library.amax(part, 0)
                if total is None:
                    total = part
                elif combination == "mean":
                    total = total + beside(part, total)
                else:
                    total = library.maximum(total, beside(part, total))
        maps.append(total / len(members) if combination == "mean" else total)
    return library_of(maps[0]).stack(maps)


def _mask(layers: Mapping[int, Layer], row: Sequence[_Members]) -> Array | None:
    """Return the mask [1 or heads, Q, K]: a key is visible if one of the heads sees the key."""
    unions = [_union(layers, members) for members in row]
    if all(union is None for union in unions):
        return None
    example = next(union for union in unions if union is not None)
    library = library_of(example)
    masks = [library.ones_like(example) if union is None else union for union in unions]
    # Combined heads share one mask if they see the same keys.
    is_shared = not any(bool((mask ^ masks[0]).any()) for mask in masks)
    return library.stack(masks[:1] if is_shared else masks)


def _union(layers: Mapping[int, Layer], members: _Members) -> Array | None:
    """Return the keys that one of some heads sees, bool [Q, K]; None = all keys."""
    seen: Array = None
    known: set[tuple[int, int]] = set()
    for number, head in members:
        mask = layers[number].mask
        if mask is None:
            return None
        # Layers of a model share masks, so there are only a few.
        place = head if mask.shape[0] > 1 else 0
        if (id(mask), place) not in known:
            known.add((id(mask), place))
            seen = mask[place] if seen is None else seen | beside(mask[place], seen)
    return seen


def _by_layer(members: _Members) -> dict[int, list[int]]:
    heads: dict[int, list[int]] = {}
    for layer, head in members:
        heads.setdefault(layer, []).append(head)
    return heads


def _runs(heads: Sequence[int], most: int) -> Iterator[slice]:
    """Yield slices of consecutive heads, each of at most `most` heads."""
    first = 0
    for i in range(1, len(heads) + 1):
        ends = i == len(heads) or heads[i] != heads[i - 1] + 1 or i - first == most
        if ends:
            yield slice(heads[first], heads[i - 1] + 1)
            first = i


def _name(combination: Combination, axes: Stack, members: _Members) -> str:
    """Return the name of a combined head, for example "mean of 12 heads of layer 3"."""
    layers = list(dict.fromkeys(layer for layer, _ in members))
    heads = list(dict.fromkeys(head for _, head in members))
    kind = "head" if axes.name == "self" else f"{axes.name} head"
    is_all_heads = len(heads) == axes.n_heads
    is_all_layers = len(layers) == len(axes.layers.numbers)
    if is_all_heads and is_all_layers and len(layers) > 1:
        return f"{combination} of all {counted(len(members), kind)}"
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
