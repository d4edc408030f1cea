"""Scaled links: a block in which a model computes with some attention weights multiplied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from math import isfinite
from typing import Any, TypeAlias

from attnwidget.capture.disabled import HeadChoice, chosen_heads, intact_edits, unseen
from attnwidget.capture.tapping.edits import Edits, link_change
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.link_edit import LinkEdit
from attnwidget.capture.tapping.link_factors import LinkFactors, links_name
from attnwidget.capture.tapping.pass_texts import Spell
from attnwidget.capture.tapping.stack_names import default_stack
from attnwidget.capture.tapping.tap import open_edits, tap
from attnwidget.text.link_ends import LinkName, end_positions, listed_links
from attnwidget.text.tokens import Tokens

#: Layers by number or name, such as [3] or ["L3"], or "L3" for one layer.
LayerNames: TypeAlias = "Iterable[int | str] | str"


def scaled_links(
    hf_model: Any,
    links: Iterable[LinkName],
    factor: float,
    heads: HeadChoice | None,
    *,
    layers: LayerNames | None,
    stack: str | None,
    axes: Mapping[str, tuple[Tokens, Tokens]] | None,
    keeps_sum: bool,
    spell: Spell,
    said: str = "",
) -> AbstractContextManager[None]:
    """Return the block that `AttentionModel.scaled_links` describes.

    Args:
        hf_model: Transformers model.
        links: Links, as in `AttentionModel.scaled_links`.
        factor: Factor of their weights.
        heads: Heads in which they are scaled; None for the heads of `layers`, or all heads.
        layers: Layers in which they are scaled.
        stack: Stack of the heads.
        axes: Tokens of queries and keys of each stack, in which names are looked up; None looks
            them up in each text.
        keeps_sum: Whether each row keeps its sum next to an attention sink.
        spell: Function that returns the token axis of ids.
        said: Links in captions; "" takes the names of `links`.
    """
    intact = intact_edits(hf_model)
    selected_heads = heads_of_links(intact, heads, layers, stack)
    names = listed_links(links)
    change = link_change(
        LinkFactors(
            names if axes is None else resolved(names, axes, selected_heads),
            checked_factor(factor),
            keeps_sum,
            said or links_name(names),
        )
    )
    inner = Edits(dict.fromkeys(selected_heads, change), intact.heads_of, intact.stacks, spell)
    return tap(hf_model, unseen, open_edits(hf_model).then(inner))


def link_edit(
    hf_model: Any,
    links: Iterable[LinkName],
    factor: float,
    heads: HeadChoice | None,
    *,
    layers: LayerNames | None,
    stack: str | None,
    axes: Mapping[str, tuple[Tokens, Tokens]],
    keeps_sum: bool,
) -> LinkEdit:
    """Return links of one input by position; the arguments are those of `scaled_links`."""
    selected_heads = heads_of_links(intact_edits(hf_model), heads, layers, stack)
    names = listed_links(links)
    return LinkEdit(
        resolved(names, axes, selected_heads),
        checked_factor(factor),
        tuple(selected_heads),
        keeps_sum,
        links_name(names),
    )


def heads_of_links(
    intact: Edits, heads: HeadChoice | None, layers: LayerNames | None, stack: str | None
) -> list[Head]:
    """Return the heads in which links are scaled: all heads unless some are named.

    Raises:
        ValueError: As in `chosen_heads`; or the model has several stacks and none is named.
    """
    if heads is None and layers is None:
        name = default_stack(intact.heads_of) if stack is None else stack
        if name is None:
            names = ", ".join(map(repr, intact.heads_of))
            raise ValueError(
                f"links are in one stack, and this model has {names}: pass one as stack=..."
            )
        counts = intact.heads_of.get(name, ())
        layers = [layer for layer, count in enumerate(counts) if count]
        stack = name
    selected_heads = chosen_heads(intact, heads, layers, stack)
    stacks = dict.fromkeys(head.stack for head in selected_heads)
    if len(stacks) > 1:
        raise ValueError(
            f"links are in one stack, and the heads are in {', '.join(map(repr, stacks))}: nest a "
            "block for each stack"
        )
    return selected_heads


def resolved(
    links: Sequence[LinkName], axes: Mapping[str, tuple[Tokens, Tokens]], heads: Sequence[Head]
) -> tuple[LinkName, ...]:
    """Return links by position, with names looked up in the tokens of the heads' stack.

    Raises:
        ValueError: A name is not found, or a position is outside of the input.
    """
    stack = heads[0].stack
    if stack not in axes:
        raise ValueError(
            f"the attention has no stack {stack!r}, but {', '.join(map(repr, axes))}: pass one as "
            "stack=..."
        )
    query, key = axes[stack]
    found = []
    for link in links:
        ends = end_positions("query", link[0], query), end_positions("key", link[1], key)
        for name, end, tokens in zip(("query", "key"), ends, (query, key), strict=True):
            if not isinstance(end, str) and max(end) >= len(tokens):
                raise ValueError(
                    f"the {name} {max(end)} of a link is not among the {len(tokens)} tokens of "
                    f"this input: positions are 0 to {len(tokens) - 1}"
                )
        found.append(ends)
    return tuple(found)


def checked_factor(factor: float) -> float:
    """Return the factor of links as a float.

    Raises:
        TypeError: It is not a number.
        ValueError: It is negative, infinite or NaN.

    Example:
        >>> from attnwidget.capture.scaled_links import checked_factor
        >>> checked_factor(0)
        0.0
    """
    hint = "0 cuts the links, 1 changes nothing, and 4 gives them 4 times the weight"
    if isinstance(factor, (bool, str)) or not hasattr(factor, "__float__"):
        raise TypeError(f"factor must be a number >= 0, got {factor!r}: {hint}")
    number = float(factor)
    if not isfinite(number) or number < 0:
        raise ValueError(f"factor must be a finite number >= 0, got {factor!r}: {hint}")
    return number
