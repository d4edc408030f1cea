"""Means and maxima of heads: their selection, their maps and their names."""

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
    layer_of_name,
    named_head,
    names_head,
    names_layer,
)
from attnwidget.kernels.array_library import Array, beside, library_of
from attnwidget.text.counted import counted
from attnwidget.text.whole_number import whole_number

Combination: TypeAlias = Literal["mean", "maximum"]
#: Heads by number, in every selected layer, or one or more heads by name.
HeadsToCombine: TypeAlias = "int | Sequence[int] | HeadName | Sequence[HeadName] | None"
LayerChoice: TypeAlias = "int | str | Sequence[int | str] | None"
Each: TypeAlias = Literal["layer", "head"]

# Short names for the margins of a grid.
_MARGIN: Mapping[Combination, str] = {"mean": "mean", "maximum": "max"}
# Maximum number of heads or layers that a name lists.
_NAMED = 4
# Number of single-head map cells in memory at a time.
_CELLS_AT_ONCE = 16 * 1024 * 1024
# (layer, head) of each head in a combined head.
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
        stacks: Stacks of the attention.
        layers: Layers of each stack by number.
        heads: Heads to combine; None for all.
        of_layers: Layers to combine; None for all layers with attention.
        each: Axis of the result: "layer" for a head per layer, "head" for a layer with all heads,
            None for a single head.
        stack: Stack; None for every stack.
        model_name: Name of the model for error messages.

    Raises:
        ValueError: A stack, layer or head does not exist; a selection is empty or has an entry
            twice; or heads of single layers come with `of_layers` or `each`.
        TypeError: A number is not an integer.
    """
    if each not in ("layer", "head", None):
        raise ValueError(f"each must be 'layer', 'head' or None, got {each!r}")
    selected_stacks = dict(stacks)
    if stack is not None:
        selected_stacks = {stack: chosen_stack(stacks, stack, model_name)}
    selected_heads = _chosen_heads(heads)
    selected_layers = _listed([of_layers] if names_layer(of_layers) else of_layers, "layers")
    if selected_layers is not None:
        selected_layers = [layer_of_name(layer) for layer in selected_layers]
    if selected_heads is not None and names_head(selected_heads[0]):
        if selected_layers is not None or each is not None:
            raise ValueError(
                "heads named as (layer, head) are combined into one head: pass neither layers nor "
                "each with them, or pass the numbers of heads alone"
            )
        return _of_named_heads(combination, selected_stacks, layers, selected_heads)
    combined = {}
    for name, axes in selected_stacks.items():
        numbers = _layers_of(axes, selected_layers)
        head_numbers = _heads_of(axes, numbers[0], selected_heads)
        members: list[list[_Members]]
        if each == "layer":
            members = [[[(layer, head) for head in head_numbers]] for layer in numbers]
        elif each == "head":
            members = [[[(layer, head) for layer in numbers] for head in head_numbers]]
        else:
            members = [[[(layer, head) for layer in numbers for head in head_numbers]]]
        names = [tuple(_name(combination, axes, cell) for cell in row) for row in members]
        labels = [str(number) for number in numbers] if each == "layer" else [_MARGIN[combination]]
        keeps_numbers = each == "layer" and selected_layers is None
        if keeps_numbers:
            names_by_layer = dict(zip(numbers, names, strict=True))
            labels = [str(number) for number in range(axes.n_layers)]
            names = [names_by_layer.get(i, (f"layer {i}",)) for i in range(axes.n_layers)]
        columns = [str(head) for head in head_numbers] if each == "head" else [_MARGIN[combination]]
        combined_axes = replace(
            axes,
            n_layers=axes.n_layers if keeps_numbers else len(members),
            n_heads=len(members[0]),
            n_key_heads=len(members[0]),
            layers_without_attention=axes.layers_without_attention if keeps_numbers else (),
            head_names=tuple(names),
            layer_labels=tuple(labels),
            head_labels=tuple(columns),
        )
        combined[name] = combined_axes, [_layer(combination, layers[name], row) for row in members]
    return combined


def _chosen_heads(value: Any) -> list[Any] | None:
    """Return the heads as a list of numbers or names; None for None."""
    if is_one_head(value):
        return [value]
    entries = _listed(value, "heads")
    are_names = [names_head(entry) for entry in entries or ()]
    if any(are_names) and not all(are_names):
        raise ValueError(f"heads must be all numbers or all names such as 'L1 H3', got {value!r}")
    return entries


def _listed(value: Any, what: str) -> list[Any] | None:
    """Return a selection as a list; None for None."""
    if value is None:
        return None
    if isinstance(value, (str, Mapping)):
        raise TypeError(
            f"{what} must be an integer, a list of integers or None for all, got {value!r}"
        )
    selection = list(value) if isinstance(value, Iterable) else [value]
    if not selection:
        raise ValueError(f"{what} is empty: name some, or pass None for all")
    return selection


def _numbers(values: Sequence[Any], what: str) -> list[int]:
    """Return the values as integers; ValueError if one occurs twice."""
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
    """Return one combined head per stack, from heads that are named with their layers."""
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
        head_names = [str(Head(*member, name)) for member in members]
        listing = (
            ", ".join(head_names)
            if len(head_names) <= _NAMED
            else f"{len(head_names)} chosen heads"
        )
        combined_axes = replace(
            stacks[name],
            n_layers=1,
            n_heads=1,
            n_key_heads=1,
            layers_without_attention=(),
            head_names=((f"{combination} of {listing}",),),
            layer_labels=(margin,),
            head_labels=(margin,),
        )
        combined[name] = combined_axes, [_layer(combination, layers[name], [sorted(members)])]
    return combined


def _layer(combination: Combination, layers: Mapping[int, Layer], row: Sequence[_Members]) -> Layer:
    """Return a layer of combined heads."""
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

    The maps of single heads are computed some at a time, and are not stored.
    """
    maps = []
    for members in row:
        total: Array = None
        for number, heads in _by_layer(members).items():
            layer = layers[number]
            n_at_once = max(1, _CELLS_AT_ONCE // (layer.n_query * layer.n_key))
            for run in _runs(sorted(heads), n_at_once):
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
    """Return the mask [1 or heads, Q, K]: a key is visible if one of the members sees it."""
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
    """Return the keys that at least one of the heads sees, bool [Q, K]; None for all keys."""
    union: Array = None
    processed_masks: set[tuple[int, int]] = set()
    for number, head in members:
        mask = layers[number].mask
        if mask is None:
            return None
        # Layers of a model share masks, so there are only a few.
        index = head if mask.shape[0] > 1 else 0
        if (id(mask), index) not in processed_masks:
            processed_masks.add((id(mask), index))
            union = mask[index] if union is None else union | beside(mask[index], union)
    return union


def _by_layer(members: _Members) -> dict[int, list[int]]:
    heads: dict[int, list[int]] = {}
    for layer, head in members:
        heads.setdefault(layer, []).append(head)
    return heads


def _runs(heads: Sequence[int], most: int) -> Iterator[slice]:
    """Yield slices of consecutive heads, each with at most `most` heads."""
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
    heads_label = counted(len(heads), kind) if is_all_heads or len(heads) > _NAMED else ""
    heads_label = heads_label or f"{kind}{'s' if len(heads) > 1 else ''} {numbers}"
    layers_label = f"all {len(layers)} layers" if is_all_layers and len(layers) > 1 else ""
    layers_label = layers_label or _some("layer", layers)
    return f"{combination} of {heads_label} of {layers_label}"


def _some(kind: str, numbers: Sequence[int]) -> str:
    """Return "layer 3", "layers 3, 5" or "7 layers"."""
    if len(numbers) > _NAMED:
        return counted(len(numbers), kind)
    plural = "s" if len(numbers) > 1 and kind else ""
    return f"{kind}{plural} {', '.join(map(str, numbers))}"
